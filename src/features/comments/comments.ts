import { boundingBox } from '../../annotation-format/bounding-box.js';
import { idText } from '../../core/database/id-text.js';
import { batches } from '../../core/database/id-batches.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { HiddenItems } from '../../core/host/hidden-items.js';
import type { ItemRecord } from '../../core/host/records.js';
import { AccessDeniedError, InvalidError, LargeImageError, NotFoundError, UnknownIdError } from '../../errors.js';
import type { Caller, HostDirectory } from '../../host.js';
import type { AnnotationServices } from '../annotations/annotation-services.js';
import type { Items } from '../items/items.js';
import type { CommentDocument, CommentModel, CommentPlace, CommentShape } from './comment.model.js';
import { loginsIn, readPlace, readShape, readText, refuseUnknownMembers } from './comment-text.js';

/** Maximum number of threads about one item. */
const maxThreads = 10_000;
/** Maximum number of replies in a thread. */
const maxReplies = 1000;
/** Maximum number of users in whose inbox a reply appears because they wrote in the thread before. */
const maxParticipants = 100;

/** A comment with its item, which the caller may read. */
export interface LoadedComment {
  comment: CommentDocument;
  item: ItemRecord;
}

/** A caller who is a user. */
type User = Caller & { id: string };

/** The body of a request. */
type RequestBody = Readonly<Record<string, unknown>>;

/** Options of {@link Comments}. */
export interface CommentsOptions {
  model: CommentModel;
  items: Items;
  records: HostRecords;
  hidden: HiddenItems;
  annotations: Pick<AnnotationServices, 'permissions' | 'writer' | 'store'>;
  directory: HostDirectory | undefined;
}

/** Comments about items, at places or shapes. Users who may read an item can read its comments; users who may annotate it can write them. */
export class Comments {
  constructor(private readonly options: CommentsOptions) {}

  /** Loads a comment and its item, which the caller must be allowed to read. @throws UnknownIdError, AccessDeniedError */
  async load(id: string, caller: Caller | null): Promise<LoadedComment> {
    const comment = await this.options.model.find(id);
    if (comment === null) throw new UnknownIdError('comment', id);
    try {
      return { comment, item: await this.options.items.loadFresh(comment.itemId, 0, caller) };
    } catch (error) {
      if (error instanceof UnknownIdError) throw new UnknownIdError('comment', id);
      throw error;
    }
  }

  /** Like {@link load}, but the caller must be allowed to write comments about the item. @throws also LargeImageError `forbidden` */
  async loadToWrite(id: string, caller: Caller | null): Promise<LoadedComment> {
    const loadedComment = await this.load(id, caller);
    await this.options.annotations.permissions.requireAnnotate(loadedComment.item, caller);
    return loadedComment;
  }

  /** Like {@link loadToWrite}, but the caller must also be the author of the comment. */
  async loadToEdit(id: string, caller: Caller | null): Promise<LoadedComment> {
    const loadedComment = await this.loadToWrite(id, caller);
    if (loadedComment.comment.authorId === caller?.id) return loadedComment;
    throw new AccessDeniedError(`Comment ${id} was written by another user.`);
  }

  /** Like {@link load}, but the caller must be the author of the comment or administer the item. */
  async loadToDelete(id: string, caller: Caller | null): Promise<LoadedComment> {
    const loadedComment = await this.load(id, caller);
    if ((await this.options.annotations.permissions.findItemLevel(loadedComment.item, caller)) >= 2) return loadedComment;
    return this.loadToEdit(id, caller);
  }

  /** Loads an item about which the caller must be allowed to write comments. */
  async loadItemToComment(itemId: string, caller: Caller | null): Promise<ItemRecord> {
    const item = await this.options.items.loadFresh(itemId, 0, caller);
    await this.options.annotations.permissions.requireAnnotate(item, caller);
    return item;
  }

  /** Begins a thread. @throws InvalidError, LargeImageError `conflict` if the item has the maximum number of threads. */
  async beginThread(item: ItemRecord, body: RequestBody, author: User): Promise<CommentDocument> {
    refuseUnknownMembers(body, 'comment');
    const { model } = this.options;
    const text = readText(body.text);
    const requestedPlace = readPlace(body.place);
    const shape = readShape(body.shape);
    const shapeCenter = shape === null ? null : await this.#findCenter(item, shape, author);
    const place = requestedPlace ?? shapeCenter;
    if ((await model.countThreads(item.id)) >= maxThreads) {
      throw new LargeImageError('conflict', `An image can have at most ${maxThreads} comments. Delete some of them first.`);
    }
    return model.insertThread({ ...(await this.#newComment(item, text, author, [])), place, shape });
  }

  /** Adds a reply to the thread of a comment. @throws InvalidError, UnknownIdError, LargeImageError `conflict` */
  async reply({ comment, item }: LoadedComment, body: RequestBody, author: User): Promise<CommentDocument> {
    refuseUnknownMembers(body, 'reply');
    const { model } = this.options;
    const text = readText(body.text);
    const threadId = comment.threadId ?? comment._id;
    const thread = comment.threadId === null ? comment : await model.find(idText(threadId));
    if (thread === null) throw new UnknownIdError('comment', idText(threadId));
    const participants = new Set([
      ...(thread.authorId === null ? [] : [thread.authorId]),
      ...(await model.listReplierIds(threadId)),
    ]);
    participants.delete(author.id);
    const reply = await this.#newComment(item, text, author, [...participants].slice(0, maxParticipants));
    const storedReply = await model.insertReply(threadId, { ...reply, place: null, shape: null }, maxReplies);
    if (storedReply !== null) return storedReply;
    if ((await model.find(idText(threadId))) === null) throw new UnknownIdError('comment', idText(threadId));
    throw new LargeImageError('conflict', `A comment can have at most ${maxReplies} replies. Begin a new thread.`);
  }

  /** Changes the text of a comment. @throws InvalidError, LargeImageError `conflict` if it was changed or deleted in the meantime. */
  async edit({ comment }: LoadedComment, body: RequestBody, author: User): Promise<CommentDocument> {
    refuseUnknownMembers(body, 'edit');
    const text = readText(body.text);
    const { version } = body;
    if (version !== undefined && !Number.isSafeInteger(version)) {
      throw new InvalidError('version must be a whole number.', 'version');
    }
    const mentions = await this.#findMentions(text, author);
    const to = recipientIds(mentions, comment.answers, author);
    const newRecipients = to.filter((id) => !comment.to.includes(id));
    const expectedVersion = (version as number | undefined) ?? comment.version;
    const changedComment = await this.options.model.edit(comment._id, expectedVersion, { text, mentions }, newRecipients, to);
    if (changedComment !== null) return changedComment;
    throw new LargeImageError('conflict', 'Someone else has changed or deleted the comment. Nothing was stored.');
  }

  /** Resolves or reopens a thread. @throws InvalidError for a reply. */
  async setState({ comment }: LoadedComment, state: unknown, caller: User): Promise<CommentDocument> {
    if (state !== 'open' && state !== 'resolved') throw new InvalidError('state must be "open" or "resolved".', 'state');
    if (comment.threadId !== null) throw new InvalidError('Only the first comment of a thread can be resolved.', 'state');
    const resolved = state === 'open' ? null : { userId: caller.id, at: new Date() };
    const changedComment = await this.options.model.setResolved(comment._id, resolved);
    if (changedComment === null) throw new UnknownIdError('comment', idText(comment._id));
    return changedComment;
  }

  /** Deletes a comment. If the first comment of a thread has replies, the replies are kept, and only the text of the comment is removed. */
  async remove({ comment }: LoadedComment): Promise<void> {
    const { model } = this.options;
    await (comment.threadId === null ? model.removeThread(comment._id) : model.removeReply(comment));
  }

  /** Removes comments of items that no longer exist, and threads that a killed process has left empty. */
  async sweep(): Promise<Record<string, number>> {
    const { model, records, hidden } = this.options;
    let removedCount = await model.removeEmptyThreads(new Date(Date.now() - emptyThreadDelayMs));
    for await (const itemIds of model.iterateItemIds()) {
      for (const batch of batches(itemIds)) {
        const remainingIds = new Set([...(await records.filterExistingItems(batch)), ...(await hidden.filterHidden(batch))]);
        removedCount += await model.removeOfItems(batch.filter((id) => !remainingIds.has(id)));
      }
    }
    return { comments: removedCount };
  }

  async #newComment(item: ItemRecord, text: string, author: User, answeredIds: string[]) {
    const mentions = await this.#findMentions(text, author);
    const to = recipientIds(mentions, answeredIds, author);
    return {
      itemId: item.id,
      text,
      authorId: author.id,
      created: new Date(),
      edited: null,
      version: 1,
      resolved: null,
      mentions,
      answers: answeredIds,
      to,
      unread: to,
    };
  }

  /** The users that a text mentions and that its author can see. On hosts that cannot find users by login, nobody is mentioned. */
  async #findMentions(text: string, author: User): Promise<CommentDocument['mentions']> {
    const logins = loginsIn(text);
    if (logins.length === 0) return [];
    const users = (await this.options.directory?.usersByLogin?.(logins, author)) ?? [];
    const positionOf = ({ login }: { login: string }) => logins.indexOf(login.toLowerCase());
    return users.map(({ id, login }) => ({ id, login })).sort((a, b) => positionOf(a) - positionOf(b));
  }

  /**
   * The middle of a shape, which is stored because the shape may be deleted.
   *
   * @throws InvalidError, UnknownIdError, AccessDeniedError, NotFoundError if the caller cannot see this shape on this item.
   */
  async #findCenter(item: ItemRecord, { annotationId, elementId }: CommentShape, caller: Caller): Promise<CommentPlace> {
    const { writer, store } = this.options.annotations;
    const annotation = await writer.load(annotationId, 0, caller);
    if (annotation.itemId !== item.id) throw new InvalidError('The annotation of shape belongs to another item.', 'shape');
    const element = (await store.find(annotation.elements, [elementId])).get(elementId);
    if (element === undefined) throw new NotFoundError(`The annotation has no element ${elementId}.`);
    const { lowx, lowy, highx, highy } = boundingBox(element);
    return { x: (lowx + highx) / 2, y: (lowy + highy) / 2 };
  }
}

/** An empty thread is removed this many milliseconds after its first comment was deleted. By then, nobody is still writing a reply to it. */
const emptyThreadDelayMs = 24 * 60 * 60 * 1000;

/** Ids of the users in whose inbox a comment appears: the mentioned and answered users, without the author. */
function recipientIds(mentions: CommentDocument['mentions'], answeredIds: readonly string[], author: User): string[] {
  const ids = new Set([...mentions.map(({ id }) => id), ...answeredIds]);
  ids.delete(author.id);
  return [...ids];
}
