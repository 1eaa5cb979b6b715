import { makeZip } from 'client-zip';
import type { Types } from 'mongoose';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Caller } from '../../index.js';
import { iterateInSlices, groupInBatches, readInSlices, Reply, toWire, withoutReadLimit } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { createAccessFilter, loadPrincipal, type Principal } from '../access/access.js';
import { createContentDisposition } from './downloads.js';
import { loadFile, readFile } from './files.js';

/** One entry of an archive: the bytes of a file, or a text. A function that returns a text is called when the entry is sent. */
export interface ZipEntry {
  path: string;
  date: Date;
  content: FileDocument | string | (() => Promise<string>);
}

/** A name as part of a path in an archive. The path never leads out of the folder in which the archive is unpacked. */
function toSafeName(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are replaced
  const safeName = name.replace(/[/\\\u0000-\u001f]/g, '_');
  return /^\.+$/.test(safeName) ? safeName.replace(/\./g, '_') : safeName;
}

const metadataFileName = 'girder-item-metadata.json';

/** The fields of an item that an archive includes. */
type ItemForArchive = Pick<ItemDocument, '_id' | 'name' | 'updated'>;

interface EntryOptions {
  prefix?: string;
  /** If set, only files of these types are included, and no metadata. */
  mimeTypes?: ReadonlySet<string> | undefined;
}

/** Lists the files of an item, and its metadata if it has any. The paths begin with the name of the item. */
export function listItemEntries(context: HostContext, item: ItemDocument): AsyncGenerator<ZipEntry> {
  return listEntriesOfItems(context, [item], {});
}

/**
 * Lists the files of several items, found by one query, because an archive with many small items would otherwise mostly wait for the
 * database.
 */
async function* listEntriesOfItems(
  context: HostContext,
  items: readonly ItemForArchive[],
  { prefix = '', mimeTypes }: EntryOptions,
): AsyncGenerator<ZipEntry> {
  const query = context.models.file
    .find({ itemId: { $in: items.map(({ _id }) => _id) } }, null, withoutReadLimit)
    .sort({ name: 1, _id: 1 })
    .lean();
  const batch = await readInSlices<FileDocument>(items.length > 1 ? query.limit(maxQueryFiles) : query);
  if (batch.length === maxQueryFiles && items.length > 1) {
    for (const item of items) yield* listEntriesOfItems(context, [item], { prefix, mimeTypes });
    return;
  }
  const filesByItemId = new Map(items.map(({ _id }): [string, FileDocument[]] => [_id.toHexString(), []]));
  for (const file of batch) filesByItemId.get(String(file.itemId))?.push(file);
  for (const item of items) {
    const itemFiles = filesByItemId.get(item._id.toHexString()) ?? [];
    const files = itemFiles.filter((file) => mimeTypes === undefined || mimeTypes.has(file.mimeType));
    // An item whose only file has the item's name becomes this file instead of a folder.
    const standsForItem = files.length === 1 && files[0]!.name === item.name && prefix !== '';
    const pathPrefix = standsForItem ? prefix : `${prefix}${toSafeName(item.name)}/`;
    for (const file of files) yield { path: pathPrefix + toSafeName(file.name), date: file.created, content: file };
    if (standsForItem || mimeTypes !== undefined) continue;
    const text = await readMetadataText(context, item);
    // Metadata can be as long as a document can be. Long metadata are not kept in memory, but read again when they are sent.
    const content = text.length <= maxBufferedBytes ? text : () => readMetadataText(context, item);
    if (text !== '') yield { path: pathPrefix + metadataFileName, date: item.updated, content };
  }
}

/** The metadata of an item as JSON; empty if it has none. */
async function readMetadataText({ models }: HostContext, { _id }: ItemForArchive): Promise<string> {
  const { meta = {} } = (await models.item.findById(_id, { meta: 1 }).lean<ItemDocument>()) ?? {};
  return Object.keys(meta).length > 0 ? JSON.stringify(toWire(meta)) : '';
}

/** Maximum number of items whose files one query finds. */
const maxQueryItems = 100;
/** Maximum number of files that one query for several items finds. */
const maxQueryFiles = 5000;

/** Lists everything that the caller can read in a folder. The paths begin with the name of the folder. */
export async function* listFolderEntries(
  context: HostContext,
  folder: FolderDocument,
  principal: Principal,
  { prefix = '', mimeTypes }: EntryOptions = {},
): AsyncGenerator<ZipEntry> {
  const pathPrefix = `${prefix}${toSafeName(folder.name)}/`;
  const items = context.models.item.find({ folderId: folder._id }, { name: 1, updated: 1 }).sort({ lowerName: 1, _id: 1 }).lean();
  for await (const batch of groupInBatches(iterateInSlices<ItemForArchive>(items), maxQueryItems))
    yield* listEntriesOfItems(context, batch, { prefix: pathPrefix, mimeTypes });
  yield* listSubfolderEntries(context, folder._id, principal, { prefix: pathPrefix, mimeTypes });
}

/** Lists everything that the caller can read in the folders of a folder, collection or user. */
export async function* listSubfolderEntries(
  context: HostContext,
  parentId: Types.ObjectId,
  principal: Principal,
  options: EntryOptions,
): AsyncGenerator<ZipEntry> {
  const children = context.models.folder
    .find({ parentId, ...createAccessFilter(principal, 0) }, { meta: 0 })
    .sort({ lowerName: 1, _id: 1 })
    .lean();
  for (const child of await readInSlices<FolderDocument>(children)) yield* listFolderEntries(context, child, principal, options);
}

/**
 * Replies with an archive, which is made while it is sent. Sending stops if the caller can no longer read an entry. Entries are not
 * compressed, because images hardly get smaller.
 */
export function replyWithZip(context: HostContext, caller: Caller | null, name: string, entries: AsyncIterable<ZipEntry>): Reply {
  let lastSentFile: FileDocument | null = null;
  const archive = createZipStream(entries, {
    open: async (file) => {
      try {
        return await readFile(context, file, { start: 0, end: file.size ?? 0 });
      } catch (error) {
        if ((await context.models.file.exists({ _id: file._id })) === null) return null;
        throw error;
      }
    },
    onSend: (file) => (lastSentFile = file),
  });
  return Reply.stream(archive, 'application/zip', {
    headers: { 'Content-Disposition': createContentDisposition(`${name}.zip`, 'attachment') },
    checkPermission: async () =>
      lastSentFile && loadFile(context, lastSentFile._id.toHexString(), await loadPrincipal(context, caller), 0),
  });
}

/** Parts of an archive are joined until they have this many bytes, and texts are split into pieces of this many bytes. */
const pieceBytes = 16_384;
/** Time in milliseconds after which making an archive pauses for other work of the event loop. */
const sliceMs = 8;
/** The first and the last year of dates that an archive can contain. */
const [firstYear, lastYear] = [1980, 2107];

/** Files up to this length are read completely, and in advance, because opening a small file takes far longer than sending it. */
const maxBufferedBytes = 64 * 1024;
/** Number of entries that are prepared in advance. */
const maxPreparedEntries = 16;

/**
 * Creates a stream of the bytes of an archive. Only one large file is open at a time, however many the archive contains.
 *
 * @param options `open` returns the bytes of a file, or `null` if the file was removed after it was listed. `onSend` is called with each
 * file that is sent.
 */
export function createZipStream(
  entries: AsyncIterable<ZipEntry>,
  { open, onSend }: { open: (file: FileDocument) => Promise<Readable | null>; onSend?: (file: FileDocument) => void },
): Readable {
  let currentStream: Readable | null = null;
  const prepareEntry = async ({ path, date, content }: ZipEntry) => {
    const isBuffered = typeof content === 'object' && content.linkUrl === undefined && (content.size ?? 0) <= maxBufferedBytes;
    const stream = isBuffered ? await open(content) : null;
    return { path, date, content, isBuffered, buffered: stream && (await buffer(stream)) };
  };
  async function* zipInputs() {
    const usedPaths = new Set<string>();
    for await (const { path, date, content, isBuffered, buffered } of mapAhead(entries, maxPreparedEntries, prepareEntry)) {
      if (typeof content !== 'object') {
        currentStream = Readable.from(splitText(typeof content === 'string' ? content : await content()));
      } else {
        if (content.linkUrl !== undefined) continue;
        onSend?.(content);
        currentStream = isBuffered ? null : await open(content);
      }
      const input: Buffer | AsyncIterable<Buffer> | null = buffered ?? currentStream;
      if (input === null) continue;
      try {
        yield { name: claimFreePath(path, usedPaths), lastModified: toArchiveDate(date), input };
      } catch {
        // The reader of the archive has disconnected.
        return;
      } finally {
        currentStream?.destroy();
      }
    }
  }
  async function* archiveBytes() {
    try {
      yield* joinPieces(makeZip(zipInputs(), { buffersAreUTF8: true }));
    } finally {
      currentStream?.destroy();
    }
  }
  return Readable.from(archiveBytes(), { objectMode: false });
}

/** Calls `work` for each value, for up to `maxPending` values in advance. The results are in the order of the values. */
async function* mapAhead<T, R>(values: AsyncIterable<T>, maxPending: number, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  const pendingResults: Promise<R>[] = [];
  for await (const value of values) {
    const result = work(value);
    // The error is thrown when this result is awaited.
    result.catch(() => undefined);
    if (pendingResults.push(result) === maxPending) yield await pendingResults.shift()!;
  }
  for (const result of pendingResults) yield await result;
}

function* splitText(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}

function toArchiveDate(date: Date): Date {
  if (date.getFullYear() < firstYear) return new Date(firstYear, 0, 1);
  return date.getFullYear() > lastYear ? new Date(lastYear, 11, 31) : date;
}

/** Joins small pieces, such as the entries of an archive's table of contents, and lets other work use the event loop in between. */
async function* joinPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let piece: Uint8Array[] = [];
  let length = 0;
  let sliceEndMs = performance.now() + sliceMs;
  for await (const chunk of chunks) {
    piece.push(chunk);
    length += chunk.length;
    if (length >= pieceBytes) {
      yield Buffer.concat(piece);
      piece = [];
      length = 0;
    }
    if (performance.now() < sliceEndMs) continue;
    await new Promise(setImmediate);
    sliceEndMs = performance.now() + sliceMs;
  }
  if (length > 0) yield Buffer.concat(piece);
}

/** Changes a path that is already used, because two files of an item can have the same name. */
function claimFreePath(path: string, usedPaths: Set<string>): string {
  let uniquePath = path;
  for (let number = 1; usedPaths.has(uniquePath); number++)
    uniquePath = path.replace(/(\.[^./]*)?$/, (extension) => ` (${number})${extension}`);
  usedPaths.add(uniquePath);
  return uniquePath;
}
