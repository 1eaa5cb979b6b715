import type { Model, QueryFilter, Types } from 'mongoose';
import { batches } from '../../core/database/id-batches.js';
import { idText } from '../../core/database/id-text.js';
import { createIndexesOf } from '../../core/database/indexes.js';
import type { OwnCollections } from '../../core/database/own-collections.js';
import { iterateInSlices, iterateIdBatches, readInSlices } from '../../core/database/read-limits.js';
import { announceStep } from '../../core/steps.js';

/** A position on the image, in pixels of its full size. */
export interface CommentPlace {
  x: number;
  y: number;
  /** The frame that was shown. */
  frame?: number;
}

/** A shape of an annotation. It may no longer exist. */
export interface CommentShape {
  annotationId: string;
  elementId: string;
}

/** A stored comment: the first of a thread, or a reply. */
export interface CommentDocument {
  _id: Types.ObjectId;
  itemId: string;
  /** The first comment of the thread; `null` for that comment itself. */
  threadId: Types.ObjectId | null;
  /** Empty if the comment was deleted. */
  text: string;
  place: CommentPlace | null;
  shape: CommentShape | null;
  /** `null` if the account of the author was removed. */
  authorId: string | null;
  created: Date;
  edited: Date | null;
  version: number;
  resolved: { userId: string | null; at: Date } | null;
  /** When the comment was deleted. Only the first comment of a thread has this member; the replies of the thread are kept. */
  deleted?: Date;
  /** Number of replies. It may be too large after a process was killed, but never too small, so that no reply can lose its thread. */
  replies: number;
  /** Users that the text mentions, with the logins that they had when the text was written. */
  mentions: { id: string; login: string }[];
  /** Ids of the other users who had written in the thread before this reply. */
  answers: string[];
  /** Ids of the users with this comment in their inbox: those of {@link mentions} and {@link answers}. */
  to: string[];
  /** Ids of the users who have not read the comment. Ids that are not in {@link to} are ignored. */
  unread: string[];
}

/** The fields of a comment that its author can change. */
export type CommentContent = Pick<CommentDocument, 'text' | 'mentions'>;

/** Whether somebody has resolved a thread. */
export type ThreadState = 'open' | 'resolved';

/** The fields of a comment that are needed to count the comments of an inbox. */
export type InboxHead = Pick<CommentDocument, '_id' | 'itemId' | 'unread'>;

/** The part of a list to read. */
interface ListPage {
  limit: number;
  offset: number;
}

/** The filter for threads that lists show: all except those whose first comment was deleted and that have no replies. */
const shownThreadsFilter = { threadId: null, $or: [{ deleted: null }, { replies: { $gt: 0 } }] };

/** The collection of comments, and all queries on it. */
export class CommentModel {
  readonly #model: Model<CommentDocument>;
  readonly #newId: () => Types.ObjectId;

  constructor(ownCollections: OwnCollections) {
    const { Schema, Types: HostTypes } = ownCollections.connection.base;
    this.#newId = () => new HostTypes.ObjectId();
    const { Mixed, ObjectId } = Schema.Types;
    const schema = new Schema<CommentDocument>(
      {
        itemId: String,
        threadId: ObjectId,
        text: String,
        place: Mixed,
        shape: Mixed,
        authorId: String,
        created: Date,
        edited: Date,
        version: Number,
        resolved: Mixed,
        deleted: Date,
        replies: Number,
        mentions: Mixed,
        answers: [String],
        to: [String],
        unread: [String],
      },
      { minimize: false },
    );
    schema
      .index({ itemId: 1, threadId: 1, _id: -1 })
      .index({ threadId: 1, _id: 1 })
      .index({ to: 1, _id: -1 })
      .index({ authorId: 1 })
      .index({ deleted: 1 }, { sparse: true });
    this.#model = ownCollections.model<CommentDocument>('LargeImageComment', 'comment', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  find(id: string): Promise<CommentDocument | null> {
    return this.#model.findById(id).lean<CommentDocument>().exec();
  }

  /** Stores the first comment of a thread. */
  async insertThread(comment: Omit<CommentDocument, '_id' | 'threadId' | 'replies'>): Promise<CommentDocument> {
    const storedComment = { ...comment, _id: this.#newId(), threadId: null, replies: 0 };
    await this.#model.collection.insertOne(storedComment);
    return storedComment;
  }

  /** Stores a reply. @returns `null` if the thread no longer exists, or has `maxReplies` replies. */
  async insertReply(
    threadId: Types.ObjectId,
    comment: Omit<CommentDocument, '_id' | 'threadId' | 'replies'>,
    maxReplies: number,
  ): Promise<CommentDocument | null> {
    // The thread counts the reply before it is stored, because a thread that counts replies is not removed.
    const result = await this.#model.updateOne({ _id: threadId, replies: { $lt: maxReplies } }, { $inc: { replies: 1 } });
    if (result.matchedCount === 0) return null;
    announceStep('comment:counted');
    const storedComment = { ...comment, _id: this.#newId(), threadId, replies: 0 };
    await this.#model.collection.insertOne(storedComment);
    return storedComment;
  }

  /** Changes the text of a comment. @returns `null` if the comment no longer exists, or has another version. */
  edit(
    id: Types.ObjectId,
    version: number,
    content: CommentContent,
    newRecipients: readonly string[],
    recipients: readonly string[],
  ) {
    const change = {
      $set: { ...content, to: recipients, edited: new Date() },
      $inc: { version: 1 },
      $addToSet: { unread: { $each: newRecipients } },
    };
    const filter = { _id: id, version, deleted: null } as QueryFilter<CommentDocument>;
    return this.#model.findOneAndUpdate(filter, change, { returnDocument: 'after' }).lean<CommentDocument>().exec();
  }

  /**
   * Resolves or reopens a thread. If several users resolve a thread, the first of them stays recorded.
   *
   * @returns `null` if the thread no longer exists.
   */
  async setResolved(id: Types.ObjectId, resolved: CommentDocument['resolved']): Promise<CommentDocument | null> {
    const filter = resolved === null ? { _id: id } : { _id: id, resolved: null };
    await this.#model.updateOne(filter as QueryFilter<CommentDocument>, { $set: { resolved } });
    return this.find(idText(id));
  }

  /** Removes a thread. If there are replies, only the text of the first comment is removed. */
  async removeThread(id: Types.ObjectId): Promise<void> {
    const { deletedCount } = await this.#model.deleteOne({ _id: id, replies: 0 });
    if (deletedCount > 0) return;
    const emptyFields = { text: '', mentions: [], answers: [], to: [], unread: [], deleted: new Date() };
    await this.#model.updateOne({ _id: id }, { $set: emptyFields, $inc: { version: 1 } });
  }

  /** Removes a reply. If no other replies remain and the first comment was deleted, the thread is removed too. */
  async removeReply({ _id, threadId }: Pick<CommentDocument, '_id' | 'threadId'>): Promise<void> {
    const { deletedCount } = await this.#model.deleteOne({ _id });
    if (deletedCount === 0) return;
    announceStep('comment:reply-removed');
    await this.#model.updateOne({ _id: threadId! }, { $inc: { replies: -1 } });
    await this.#model.deleteOne({ _id: threadId!, replies: 0, deleted: { $type: 'date' } });
  }

  /** A part of the threads of an item, newest first, and the number of all its threads. */
  async listThreads(
    itemId: string,
    state: ThreadState | undefined,
    { limit, offset }: ListPage,
  ): Promise<{ threads: CommentDocument[]; total: number }> {
    const query = threadsFilter(itemId, state);
    const cursor = this.#model.find(query).sort({ _id: -1 }).skip(offset).limit(limit).lean();
    return { threads: await readInSlices<CommentDocument>(cursor), total: await this.#model.countDocuments(query) };
  }

  /** Yields all threads of an item, oldest first. */
  iterateThreads(itemId: string): AsyncGenerator<CommentDocument> {
    return iterateInSlices<CommentDocument>(this.#model.find(threadsFilter(itemId)).sort({ _id: 1 }).lean());
  }

  /** The places of the threads of an item, newest first. */
  listPlaces(itemId: string, state: ThreadState | undefined): Promise<Pick<CommentDocument, '_id' | 'place' | 'resolved'>[]> {
    const query = { ...threadsFilter(itemId, state), place: { $ne: null } } as QueryFilter<CommentDocument>;
    return readInSlices(this.#model.find(query, { place: 1, resolved: 1 }).sort({ _id: -1 }).lean());
  }

  countThreads(itemId: string): Promise<number> {
    return this.#model.countDocuments({ itemId, threadId: null }).exec();
  }

  /** Number of replies of each thread. Threads without replies are missing. */
  async countReplies(threadIds: readonly Types.ObjectId[]): Promise<Map<string, number>> {
    const rows = await this.#model.aggregate<{ _id: Types.ObjectId; count: number }>([
      { $match: { threadId: { $in: [...threadIds] } } },
      { $group: { _id: '$threadId', count: { $sum: 1 } } },
    ]);
    return new Map(rows.map(({ _id, count }) => [idText(_id), count]));
  }

  /** A part of the replies of a thread, oldest first. */
  listReplies(threadId: Types.ObjectId, { limit, offset }: ListPage): Promise<CommentDocument[]> {
    return readInSlices(this.#model.find({ threadId }).sort({ _id: 1 }).skip(offset).limit(limit).lean());
  }

  /** Yields all replies of a thread, oldest first. */
  iterateReplies(threadId: Types.ObjectId): AsyncGenerator<CommentDocument> {
    return iterateInSlices<CommentDocument>(this.#model.find({ threadId }).sort({ _id: 1 }).lean());
  }

  /** Ids of the users who have replied in a thread. */
  async listReplierIds(threadId: Types.ObjectId): Promise<string[]> {
    return (await this.#model.distinct('authorId', { threadId })).flatMap((id) => id ?? []);
  }

  /** The newest comments in the inbox of a user. */
  listInboxHeads(userId: string, limit: number): Promise<InboxHead[]> {
    const cursor = this.#model.find({ to: userId }, { itemId: 1, unread: 1 }).sort({ _id: -1 }).limit(limit).lean();
    return readInSlices<InboxHead>(cursor);
  }

  /** The comments with these ids, newest first. */
  findByIds(ids: readonly Types.ObjectId[]): Promise<CommentDocument[]> {
    return readInSlices(
      this.#model
        .find({ _id: { $in: [...ids] } })
        .sort({ _id: -1 })
        .lean(),
    );
  }

  /** Marks comments as read or unread for a user: all in their inbox, or only the comments with these ids, or in this thread. */
  async setRead(
    userId: string,
    isRead: boolean,
    { ids, threadId }: { ids?: readonly string[]; threadId?: string },
  ): Promise<void> {
    const query = {
      to: userId,
      ...(ids !== undefined && { _id: { $in: [...ids] } }),
      ...(threadId !== undefined && { $or: [{ _id: threadId }, { threadId }] }),
    } as QueryFilter<CommentDocument>;
    await this.#model.updateMany(query, isRead ? { $pull: { unread: userId } } : { $addToSet: { unread: userId } });
  }

  /** Removes all comments on these items. @returns the number of removed comments. */
  async removeOfItems(itemIds: readonly string[]): Promise<number> {
    return (await this.#model.deleteMany({ itemId: { $in: [...itemIds] } })).deletedCount;
  }

  /** Removes a user from all comments. The texts of the comments stay. */
  async forgetUser(id: string): Promise<void> {
    // Users who mention themselves do not receive the comment.
    const authorUpdate = { $set: { authorId: null }, $pull: { mentions: { id } } };
    await this.#model.updateMany({ authorId: id }, authorUpdate as object);
    const recipientUpdate = { $pull: { mentions: { id }, answers: id, to: id, unread: id } };
    await this.#model.updateMany({ to: id }, recipientUpdate as object);
  }

  /** Yields the ids of the items with comments, in batches. */
  iterateItemIds(): AsyncGenerator<string[]> {
    return iterateIdBatches(this.#model.aggregate<{ _id: string }>([{ $group: { _id: '$itemId' } }]));
  }

  /**
   * Removes threads without replies whose first comment was deleted before a time. Such threads remain when a process is killed while it
   * adds or removes a reply.
   *
   * @returns the number of removed threads.
   */
  async removeEmptyThreads(deletedBefore: Date): Promise<number> {
    const emptyThreads = await this.#model.find({ deleted: { $lt: deletedBefore } }, { replies: 1 }).lean<CommentDocument[]>();
    let removedCount = 0;
    for (const batch of batches(emptyThreads)) {
      const counts = await this.countReplies(batch.map(({ _id }) => _id));
      for (const { _id, replies } of batch) {
        // The number that was read is compared, because somebody may be replying.
        if (!counts.has(idText(_id))) removedCount += (await this.#model.deleteOne({ _id, replies })).deletedCount;
      }
    }
    return removedCount;
  }
}

function threadsFilter(itemId: string, state?: ThreadState): QueryFilter<CommentDocument> {
  const stateFilter = state === undefined ? {} : { resolved: state === 'open' ? null : { $ne: null } };
  return { itemId, ...shownThreadsFilter, ...stateFilter } as QueryFilter<CommentDocument>;
}
