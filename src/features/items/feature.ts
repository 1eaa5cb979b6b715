import type { Core } from '../../core/core.js';
import { idText } from '../../core/database/id-text.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import { internalMetadataRoutes } from './internal-metadata.routes.js';
import { ItemLists } from './item-lists.js';
import { ItemQueries } from './item-queries.model.js';
import { Items } from './items.js';
import { MetadataSearch } from './metadata-search.js';

/** Finds items of the host that a caller can see: by id, in lists, and by searching their metadata. */
export const itemsFeature: Feature<{ core: Core }, { items: Items; itemLists: ItemLists; metadataSearch: MetadataSearch }> = {
  open({ core: { host, access, records, events, queues } }, onClose) {
    const items = new Items(records, access);
    onClose(events.on('item.saved', ({ item }) => items.forget(idText(item._id))));
    for (const name of ['item.hidden', 'item.shown'] as const) {
      onClose(events.on(name, ({ items: affectedItems }) => affectedItems.forEach(({ _id }) => items.forget(idText(_id)))));
    }
    for (const name of ['folder.saved', 'folder.removed', 'access.changed'] as const) {
      onClose(events.on(name, () => items.forget()));
    }
    const queries = new ItemQueries(records);
    return {
      offers: {
        items,
        itemLists: new ItemLists(queries, items, access, queues.searches),
        metadataSearch: new MetadataSearch(queries, access, queues.searches),
      },
      routes: bindRoutes(internalMetadataRoutes, { items, records, host }),
    };
  },
};
