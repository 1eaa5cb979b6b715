import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { AnnotationHead } from '../../annotation-format/schema/document.js';
import { LargeImageError } from '../../errors.js';
import type { AccessLevel } from '../../host.js';
import type { AnnotationRecord } from './documents/annotation-record.js';
import type { AnnotationVersion } from './history/history.js';
import type { CheckPrecondition } from './documents/annotation-dependencies.js';
import type { ReplyHeaders } from '../../http/reply.js';

type Json = Record<string, unknown>;

/** An annotation without its elements, as a response shows it. */
export interface AnnotationView {
  /** All members of the response except `annotation`. */
  record: Json;
  /** Name, description, attributes and display. */
  head: AnnotationHead;
}

/** Returns the members of a stored version, with the names that existing clients expect. */
function storedMembers(state: Omit<AnnotationVersion, 'isCurrent' | 'annotationId'>): Json {
  return {
    _id: state.id,
    itemId: state.itemId,
    creatorId: state.creatorId,
    created: state.created,
    updated: state.updated,
    updatedId: state.updatedId,
    groups: state.elements.groups,
    _version: state.version,
    _elementCount: state.elements.count,
    _detailsCount: state.elements.detailsCount,
    ...(!state.active && { _active: false }),
  };
}

/**
 * Makes the view for everyone who can read the annotation. It leaves out the access list. `level` is the level to show, which may
 * differ from the caller's level.
 */
export function filteredView(annotation: AnnotationRecord, level: AccessLevel): AnnotationView {
  const record = {
    ...storedMembers(annotation),
    ...(annotation.fileChanged && { fileChanged: annotation.fileChanged }),
    ...(annotation.elements.references.length > 0 && { _overlays: true }),
    public: annotation.public,
    ...(annotation.publicFlags && { publicFlags: annotation.publicFlags }),
    _accessLevel: level,
    _modelType: 'annotation',
  };
  return { record, head: annotation.head };
}

/** Makes the view for lists of folders and of the history. It includes the access list only on request. */
export function storedView(annotation: AnnotationRecord, { access: includesAccess }: { access: boolean }): AnnotationView {
  const record = {
    ...storedMembers(annotation),
    public: annotation.public,
    ...(includesAccess && { access: annotation.access }),
  };
  return { record, head: annotation.head };
}

/** Makes the view of a version for the history. */
export function versionView(version: AnnotationVersion, annotation: AnnotationRecord): AnnotationView {
  const record = {
    ...storedMembers(version),
    public: annotation.public,
    ...(!version.isCurrent && { _annotationId: version.annotationId }),
  };
  return { record, head: version.head };
}

/** Converts a view to one JSON value. Its member `annotation` has no elements. */
export function jsonWithoutElements({ record, head }: AnnotationView): Json {
  return sortKeys({ ...record, annotation: sortKeys({ ...head }) });
}

/** Returns the members sorted by name. */
export function sortKeys(members: Json): Json {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Makes the first half of an entity tag, which identifies the version. It is the same in all responses about the version. */
function versionDigest({ id, version, updated }: AnnotationRecord): string {
  return shortDigest(`${id}:${version}:${updated.getTime()}`);
}

/**
 * Makes the entity tag of a response: 16 digits that identify the version, and 16 digits for everything else on which the response
 * depends (route, permissions, parameters).
 */
export function annotationTag(
  annotation: AnnotationRecord,
  level: AccessLevel,
  { route = '', sentParameters = {} }: { route?: string; sentParameters?: Readonly<Record<string, string>> } = {},
): string {
  const parameters = Object.entries(sentParameters)
    // Clients send `_` with changing values to bypass caches.
    .filter(([name]) => name !== '_')
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const dependencies = JSON.stringify([route, annotation.accessStamp, annotation.active, level, parameters]);
  return `"${versionDigest(annotation)}${shortDigest(dependencies)}"`;
}

/** Headers of responses without an entity tag. Clients cannot revalidate such a response, so they request it each time. */
export const privateHeaders: ReplyHeaders = { 'Cache-Control': 'private, no-cache' };

/** Makes the headers of a response about an annotation. The caller's browser may cache the response, and revalidates it before each use. */
export function annotationHeaders(tag: string): ReplyHeaders {
  return { ETag: tag, 'Cache-Control': 'private, no-cache' };
}

/**
 * Reads the `If-Match` header of a change. It names the current version by the entity tag of any response about it or by its `_version`
 * in quotes. Returns `undefined` if the header allows any version.
 */
export function readPrecondition(headers: IncomingMessage['headers']): CheckPrecondition | undefined {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return undefined;
  const tags = header.split(',').map((entry) => entry.trim());
  return (annotation) => {
    const currentDigest = versionDigest(annotation);
    const matches = (tag: string) =>
      tag === `"${annotation.version}"` || (/^"[0-9a-f]{32}"$/.test(tag) && tag.startsWith(`"${currentDigest}`));
    if (tags.some(matches)) return;
    throw new LargeImageError(
      'precondition-failed',
      `If-Match does not name the current version, which is ${annotation.version}. Nothing was changed.`,
    );
  };
}
