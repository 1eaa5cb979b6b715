import { batches } from '../../core/database/id-batches.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { Caller, HostAccess } from '../../host.js';
import type { CommentModel, InboxHead } from './comment.model.js';
import type { CommentViews } from './comment-views.js';

/** Maximum number of comments in an inbox, which limits the work of a request. Older comments can still be found on their items. */
const maxInbox = 1000;

/** A caller who is a user. */
type User = Caller & { id: string };

/** Comments that mention a user or reply to them, on items that they can currently read. */
export class Inbox {
  constructor(private readonly options: { model: CommentModel; views: CommentViews; records: HostRecords; access: HostAccess }) {}

  /** A part of the inbox, newest first, and the total number of comments. A `limit` of 0 means all. */
  async list(user: User, { onlyUnread, limit, offset }: { onlyUnread: boolean; limit: number; offset: number }) {
    const { heads, items } = await this.#findReadable(user);
    const shownHeads = onlyUnread ? heads.filter((head) => isUnread(head, user)) : heads;
    const headsOnPage = shownHeads.slice(offset, limit === 0 ? undefined : offset + limit);
    const comments = [];
    for (const batch of batches(headsOnPage)) comments.push(...(await this.options.model.findByIds(batch.map(({ _id }) => _id))));
    const commentViews = await this.options.views.viewsOf(comments, user);
    const entries = commentViews.map((comment) => {
      const { id: _id, name, folderId } = items.get(comment.itemId)!;
      return { ...comment, item: { _id, name, folderId } };
    });
    return { entries, total: shownHeads.length };
  }

  async count(user: User): Promise<{ total: number; unread: number }> {
    const { heads } = await this.#findReadable(user);
    return { total: heads.length, unread: heads.filter((head) => isUnread(head, user)).length };
  }

  async #findReadable(user: User): Promise<{ heads: InboxHead[]; items: Map<string, ItemRecord> }> {
    const { model, records, access } = this.options;
    const heads = await model.listInboxHeads(user.id, maxInbox);
    const items = new Map<string, ItemRecord>();
    if (heads.length === 0) return { heads, items };
    const filter = await access.filter(user, 'item', 0);
    for (const itemIds of batches([...new Set(heads.map(({ itemId }) => itemId))])) {
      for (const item of await records.findItems(itemIds, filter)) items.set(item.id, item);
    }
    return { heads: heads.filter(({ itemId }) => items.has(itemId)), items };
  }
}

function isUnread({ unread: userIds }: InboxHead, user: User): boolean {
  return userIds.includes(user.id);
}
