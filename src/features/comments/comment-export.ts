import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { groupInBatches } from '../../core/database/id-batches.js';
import { formatDate, toWire } from '../../core/wire.js';
import type { Caller } from '../../host.js';
import { csvCell } from '../annotations/table/csv.js';
import type { CommentModel } from './comment.model.js';
import type { CommentViews, ShownComment } from './comment-views.js';

/** Formats of the export, with their media types. */
export const exportFormats = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  geojson: 'application/geo+json',
} as const;

/** One of {@link exportFormats}. */
export type ExportFormat = keyof typeof exportFormats;

/** Number of comments that are in memory at a time. */
const commentsAtOnce = 100;

const csvColumns = [
  'comment',
  'thread',
  'state',
  'author',
  'name',
  'created',
  'edited',
  'resolved by',
  'resolved at',
  'x',
  'y',
  'frame',
  'annotation',
  'element',
  'mentions',
  'text',
] as const;

/** Yields the exported text in pieces. Threads follow one another, each from its first comment to its last reply. */
export async function* exportComments(
  itemId: string,
  format: ExportFormat,
  { model, views, caller }: { model: CommentModel; views: CommentViews; caller: Caller | null },
): AsyncGenerator<string> {
  if (format === 'csv') yield `${csvColumns.join(',')}\r\n`;
  else yield format === 'json' ? '[' : '{"type":"FeatureCollection","features":[';
  let separator = '';
  for await (const comments of groupInBatches(iterateComments(model, itemId), commentsAtOnce)) {
    for (const comment of await views.viewsOf(comments, caller)) {
      if (format === 'csv') yield csvRow(comment);
      else yield `${separator}${JSON.stringify(format === 'json' ? exportedMembers(comment) : featureOf(comment))}`;
      separator = ',\n';
      if (isSliceOver()) await nextSlice();
    }
  }
  if (format === 'json') yield ']';
  if (format === 'geojson') yield ']}';
}

async function* iterateComments(model: CommentModel, itemId: string) {
  for await (const thread of model.iterateThreads(itemId)) {
    yield thread;
    if (thread.replies > 0) yield* model.iterateReplies(thread._id);
  }
}

/** A comment without the members that only the viewer needs, such as whether the caller has read it. */
function exportedMembers({ own: _own, unread: _unread, version: _version, ...comment }: ShownComment) {
  return toWire(comment) as Record<string, unknown>;
}

function featureOf(comment: ShownComment) {
  const { _id: id, place, ...properties } = exportedMembers(comment);
  const { x, y, frame } = (place ?? {}) as { x?: number; y?: number; frame?: number };
  const geometry = place === null ? null : { type: 'Point', coordinates: [x, y] };
  return { type: 'Feature', id, geometry, properties: { ...properties, ...(frame !== undefined && { frame }) } };
}

function csvRow({ _id, threadId, state, author, created, edited, resolved, place, shape, mentions, text }: ShownComment): string {
  const cells: Record<(typeof csvColumns)[number], string | number | null | undefined> = {
    comment: _id,
    thread: threadId ?? _id,
    state: threadId === null ? state : null,
    author: escapeFormula(author?.login),
    name: escapeFormula(author?.name),
    created: formatDate(created),
    edited: edited && formatDate(edited),
    'resolved by': escapeFormula(resolved?.by?.login),
    'resolved at': resolved && formatDate(resolved.at),
    x: place?.x,
    y: place?.y,
    frame: place?.frame,
    annotation: shape?.annotationId,
    element: shape?.elementId,
    mentions: mentions.map(({ login }) => login).join(' ') || null,
    text: escapeFormula(text),
  };
  return `${csvColumns.map((column) => csvCell(cells[column] ?? null)).join(',')}\r\n`;
}

/** Prefixes an apostrophe to a text that a spreadsheet program would run as a formula. Any user who may annotate could write one. */
function escapeFormula(text: string | null | undefined): string | null {
  return text == null ? null : /^[=+\-@\t]/.test(text) ? `'${text}` : text;
}

/** Name of the downloaded file. */
export function exportFileName(itemName: string, format: ExportFormat): string {
  return `${itemName.replace(/\.[^.]*$/, '')}-comments.${format}`;
}
