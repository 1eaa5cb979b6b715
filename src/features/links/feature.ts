import { idText } from '../../core/database/id-text.js';
import type { Core } from '../../core/core.js';
import { onItemsRemoved } from '../../core/host/host-events.js';
import type { StoredDocument } from '../../host.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { LinkModel } from './link.model.js';
import { linkRoutes } from './links.routes.js';
import { Links } from './links.js';

/**
 * Links that open an item or a folder without an account. A feature that serves a kind of link calls `links.addKind(kind)` once and
 * declares routes with the token in their path (`…/t/:token/…`, `token-route.ts`). In `authorize`, these routes call
 * `links.requireGrant(token, kind, request)` and `links.requireItem(grant, itemId)` or `links.requireFolder`. They then use
 * `grant.caller` instead of the caller of the request.
 */
export const linksFeature: Feature<{ core: Core; settings: Settings; items: Items; images: Images }, { links: Links }> = {
  async open({ core: { host, ownCollections, events, logger, records }, settings, items, images }, onClose) {
    const model = new LinkModel(ownCollections);
    await model.createIndexes();
    const links = new Links({ model, auth: host.auth, items, images, settings, logger });
    const idsOf = (docs: readonly StoredDocument[]) => docs.map(({ _id }) => idText(_id));
    onClose(onItemsRemoved(events, (removedItems) => links.removeOf('item', idsOf(removedItems))));
    onClose(events.on('folder.removed', ({ folder }) => links.removeOf('folder', idsOf([folder]))));
    onClose(events.on('user.removed', ({ userId }) => links.removeOfMaker(userId)));
    onClose(events.on('access.changed', () => links.forgetVerdicts()));
    // The maker of a link may have been disabled.
    onClose(events.on('token.revoked', () => links.forgetVerdicts()));
    return { offers: { links }, routes: bindRoutes(linkRoutes, { links, items, records }), sweep: () => links.sweep() };
  },
};
