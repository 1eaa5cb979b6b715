import type { Core } from '../../core/core.js';
import { batches } from '../../core/database/id-batches.js';
import { idText } from '../../core/database/id-text.js';
import { onItemsRemoved } from '../../core/host/host-events.js';
import { bindRoutes } from '../../http/route.js';
import type { AnnotationOffers } from '../annotations/feature.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import { CommentModel } from './comment.model.js';
import { CommentViews } from './comment-views.js';
import { commentRoutes } from './comments.routes.js';
import { Comments } from './comments.js';
import { Inbox } from './inbox.js';

interface CommentNeeds extends Pick<AnnotationOffers, 'annotations'> {
  core: Core;
  items: Items;
}

/** Comments about items, at places and shapes, with an inbox for each user. */
export const commentsFeature: Feature<CommentNeeds, null> = {
  async open({ core: { host, access, ownCollections, events, records, hiddenItems }, items, annotations }, onClose) {
    const model = new CommentModel(ownCollections);
    await model.createIndexes();
    const { directory } = host;
    const comments = new Comments({ model, items, records, hidden: hiddenItems, annotations, directory });
    const views = new CommentViews({ model, annotations, directory });
    const inbox = new Inbox({ model, views, records, access });
    onClose(
      onItemsRemoved(events, async (removedItems) => {
        for (const batch of batches(removedItems)) await model.removeOfItems(batch.map(({ _id }) => idText(_id)));
      }),
    );
    onClose(events.on('user.removed', ({ userId }) => model.forgetUser(userId)));
    return {
      offers: null,
      routes: bindRoutes(commentRoutes, { comments, model, views, inbox, items }),
      sweep: async ({ full }) => (full ? comments.sweep() : {}),
    };
  },
};
