import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { batches } from '../../core/database/id-batches.js';
import { idText } from '../../core/database/id-text.js';
import { LargeImageError } from '../../errors.js';
import type { Caller, HostDirectory } from '../../host.js';
import type { AnnotationServices } from '../annotations/annotation-services.js';
import type { CommentDocument, CommentModel, CommentShape } from './comment.model.js';

/** Number of annotations that are read at the same time. */
const annotationsAtOnce = 4;

/** A user as shown to a caller. Login and name are `null` if the caller cannot see the user. */
export interface ShownPerson {
  id: string;
  login: string | null;
  name: string | null;
}

/** Data from other collections that views of comments need. Users and shapes that the caller cannot see are missing. */
interface ViewContext {
  peopleById: ReadonlyMap<string, ShownPerson>;
  /** Keys of existing shapes, see {@link shapeKeyOf}. */
  shapeKeys: ReadonlySet<string>;
  /** Number of replies by thread. */
  replyCounts: ReadonlyMap<string, number>;
  caller: Caller | null;
}

/** Comments as they are sent to a caller. */
export class CommentViews {
  constructor(
    private readonly options: {
      model: CommentModel;
      annotations: Pick<AnnotationServices, 'writer' | 'store'>;
      directory: HostDirectory | undefined;
    },
  ) {}

  async viewOf(comment: CommentDocument, caller: Caller | null) {
    const [view] = await this.viewsOf([comment], caller);
    return view!;
  }

  /** The views of comments, in the same order. */
  async viewsOf(comments: readonly CommentDocument[], caller: Caller | null) {
    const threadIds = comments.filter(({ threadId }) => threadId === null).map(({ _id }) => _id);
    const [peopleById, shapeKeys, replyCounts] = await Promise.all([
      this.#findPeople(comments, caller),
      this.#findVisibleShapes(comments, caller),
      threadIds.length === 0 ? new Map<string, number>() : this.options.model.countReplies(threadIds),
    ]);
    return comments.map((comment) => makeView(comment, { peopleById, shapeKeys, replyCounts, caller }));
  }

  /** The users that comments name, as far as the caller can see them. */
  async #findPeople(comments: readonly CommentDocument[], caller: Caller | null): Promise<Map<string, ShownPerson>> {
    const ids = new Set<string>();
    for (const { authorId, resolved, mentions } of comments) {
      for (const id of [authorId, resolved?.userId, ...mentions.map((mention) => mention.id)]) if (id != null) ids.add(id);
    }
    const people = new Map<string, ShownPerson>();
    for (const batch of batches([...ids])) {
      for (const { id, login, name } of (await this.options.directory?.users(batch, caller)) ?? []) {
        people.set(id, { id, login, name });
      }
    }
    return people;
  }

  /** Keys of the shapes that exist and that the caller can see. */
  async #findVisibleShapes(comments: readonly CommentDocument[], caller: Caller | null): Promise<Set<string>> {
    const { writer, store } = this.options.annotations;
    const elementIdsByAnnotation = new Map<string, string[]>();
    for (const { shape } of comments) {
      if (shape !== null)
        elementIdsByAnnotation.set(shape.annotationId, [
          ...(elementIdsByAnnotation.get(shape.annotationId) ?? []),
          shape.elementId,
        ]);
    }
    const visibleShapeKeys = new Set<string>();
    await mapConcurrently([...elementIdsByAnnotation], annotationsAtOnce, async ([annotationId, elementIds]) => {
      try {
        const annotation = await writer.load(annotationId, 0, caller);
        for (const elementId of (await store.find(annotation.elements, elementIds)).keys())
          visibleShapeKeys.add(shapeKeyOf({ annotationId, elementId }));
      } catch (error) {
        // The annotation was deleted, or the caller cannot see it.
        if (!(error instanceof LargeImageError) || !notVisibleCodes.has(error.code)) throw error;
      }
    });
    return visibleShapeKeys;
  }
}

const notVisibleCodes: ReadonlySet<string> = new Set(['unknown-id', 'not-found', 'access-denied']);

function shapeKeyOf({ annotationId, elementId }: CommentShape): string {
  return `${annotationId} ${elementId}`;
}

function makeView(comment: CommentDocument, { peopleById, shapeKeys, replyCounts, caller }: ViewContext) {
  const { _id, itemId, threadId, text, place, shape, authorId, created, edited, version, resolved, mentions } = comment;
  const personOf = (id: string | null): ShownPerson | null =>
    id === null ? null : (peopleById.get(id) ?? { id, login: null, name: null });
  const callerId = caller?.id ?? null;
  return {
    _id: idText(_id),
    itemId,
    threadId: threadId === null ? null : idText(threadId),
    text,
    place,
    shape: shape && { ...shape, available: shapeKeys.has(shapeKeyOf(shape)) },
    author: personOf(authorId),
    created,
    edited,
    version,
    state: resolved === null ? ('open' as const) : ('resolved' as const),
    resolved: resolved && { by: personOf(resolved.userId), at: resolved.at },
    deleted: comment.deleted !== undefined,
    replies: replyCounts.get(idText(_id)) ?? 0,
    mentions: mentions.map(({ id, login }) => ({ id, login, name: peopleById.get(id)?.name ?? null })),
    own: callerId !== null && callerId === authorId,
    unread: callerId !== null && comment.to.includes(callerId) && comment.unread.includes(callerId),
  };
}

/** A comment as it is sent. */
export type ShownComment = ReturnType<typeof makeView>;
