import { makeZip } from 'client-zip';
import type { Types } from 'mongoose';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Caller } from '../../index.js';
import { eachInSlices, inParts, readInSlices, Reply, toWire, withoutReadLimit } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { accessFilter, principalOf, type Principal } from '../access/access.js';
import { contentDisposition } from './downloads.js';
import { loadFile, readFile } from './files.js';

/** One entry of an archive: the bytes of a file, or a text. A long text is a function, which is called when the entry is sent. */
export interface ZipEntry {
  path: string;
  date: Date;
  content: FileDocument | string | (() => Promise<string>);
}

/** A name as part of a path in an archive. The path never leads out of the folder in which the archive is unpacked. */
function segment(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what must go
  const safe = name.replace(/[/\\\u0000-\u001f]/g, '_');
  return /^\.+$/.test(safe) ? safe.replace(/\./g, '_') : safe;
}

const metadataName = 'girder-item-metadata.json';

/** The fields of an item that an archive includes. */
type ArchivedItem = Pick<ItemDocument, '_id' | 'name' | 'updated'>;

interface EntryOptions {
  prefix?: string;
  /** Leaves out files of other types, and metadata. */
  mimeTypes?: ReadonlySet<string> | undefined;
}

/** The files of an item, below its name, and its metadata if it has any. */
export function itemEntries(context: HostContext, item: ItemDocument): AsyncGenerator<ZipEntry> {
  return entriesOfItems(context, [item], {});
}

/**
 * The files of several items, found by one query, because an archive with many small items would otherwise mostly wait for the
 * database.
 */
async function* entriesOfItems(
  context: HostContext,
  items: readonly ArchivedItem[],
  { prefix = '', mimeTypes }: EntryOptions,
): AsyncGenerator<ZipEntry> {
  const query = context.models.file
    .find({ itemId: { $in: items.map(({ _id }) => _id) } }, null, withoutReadLimit)
    .sort({ name: 1, _id: 1 })
    .lean();
  const batch = await readInSlices<FileDocument>(items.length > 1 ? query.limit(filesAtOnce) : query);
  if (batch.length === filesAtOnce && items.length > 1) {
    for (const item of items) yield* entriesOfItems(context, [item], { prefix, mimeTypes });
    return;
  }
  const byItem = new Map(items.map(({ _id }): [string, FileDocument[]] => [_id.toHexString(), []]));
  for (const file of batch) byItem.get(String(file.itemId))?.push(file);
  for (const item of items) {
    const itemFiles = byItem.get(item._id.toHexString()) ?? [];
    const files = itemFiles.filter((file) => mimeTypes === undefined || mimeTypes.has(file.mimeType));
    const isAlone = files.length === 1 && files[0]!.name === item.name && prefix !== '';
    const base = isAlone ? prefix : `${prefix}${segment(item.name)}/`;
    for (const file of files) yield { path: base + segment(file.name), date: file.created, content: file };
    if (isAlone || mimeTypes !== undefined) continue;
    const text = await metadataText(context, item);
    // Metadata may be as long as a document can be. Long ones are read again when they are sent, instead of being kept in memory
    // until then.
    const content = text.length <= maxBufferedBytes ? text : () => metadataText(context, item);
    if (text !== '') yield { path: base + metadataName, date: item.updated, content };
  }
}

/** The metadata of an item as JSON; empty if it has none. */
async function metadataText({ models }: HostContext, { _id }: ArchivedItem): Promise<string> {
  const { meta = {} } = (await models.item.findById(_id, { meta: 1 }).lean<ItemDocument>()) ?? {};
  return Object.keys(meta).length > 0 ? JSON.stringify(toWire(meta)) : '';
}

/** Limits of one query: number of items, and of files. */
const itemsAtOnce = 100;
const filesAtOnce = 5000;

/** Everything in a folder that the caller can read, below the folder's name. */
export async function* folderEntries(
  context: HostContext,
  folder: FolderDocument,
  principal: Principal,
  { prefix = '', mimeTypes }: EntryOptions = {},
): AsyncGenerator<ZipEntry> {
  const base = `${prefix}${segment(folder.name)}/`;
  const items = context.models.item.find({ folderId: folder._id }, { name: 1, updated: 1 }).sort({ lowerName: 1, _id: 1 }).lean();
  for await (const batch of inParts(eachInSlices<ArchivedItem>(items), itemsAtOnce))
    yield* entriesOfItems(context, batch, { prefix: base, mimeTypes });
  yield* foldersIn(context, folder._id, principal, { prefix: base, mimeTypes });
}

/** Everything that the caller can read in the folders of a folder, collection or user. */
export async function* foldersIn(
  context: HostContext,
  parentId: Types.ObjectId,
  principal: Principal,
  options: EntryOptions,
): AsyncGenerator<ZipEntry> {
  const children = context.models.folder
    .find({ parentId, ...accessFilter(principal, 0) }, { meta: 0 })
    .sort({ lowerName: 1, _id: 1 })
    .lean();
  for (const child of await readInSlices<FolderDocument>(children)) yield* folderEntries(context, child, principal, options);
}

/**
 * An archive as a response, which is made while it is sent, for as long as the caller can read the entries. Entries are not
 * compressed, because images hardly get smaller.
 */
export function zipReply(context: HostContext, caller: Caller | null, name: string, entries: AsyncIterable<ZipEntry>): Reply {
  let sent: FileDocument | null = null;
  const archive = zipStream(entries, {
    open: async (file) => {
      try {
        return await readFile(context, file, { start: 0, end: file.size ?? 0 });
      } catch (error) {
        if ((await context.models.file.exists({ _id: file._id })) === null) return null;
        throw error;
      }
    },
    onSend: (file) => (sent = file),
  });
  return Reply.stream(archive, 'application/zip', {
    headers: { 'Content-Disposition': contentDisposition(`${name}.zip`, 'attachment') },
    permitted: async () => sent && loadFile(context, sent._id.toHexString(), await principalOf(context, caller), 0),
  });
}

/** Number of bytes, of one or several entries, that are collected before they are sent. */
const pieceBytes = 16_384;
/** How long the archive is made in one slice of the event loop, in milliseconds. */
const sliceMs = 8;
/** Years that an archive can express. */
const [firstYear, lastYear] = [1980, 2107];

/** Files up to this length are read completely and ahead of their turn, because opening one takes far longer than sending it. */
const maxBufferedBytes = 64 * 1024;
/** Number of entries that are prepared in advance. */
const readAhead = 16;

/**
 * An archive as bytes. Only one large file is open at a time, however many the archive contains.
 *
 * @param options `open` returns the bytes of a file, `null` if it was removed after it was listed; `onSend` is called with each
 * file that is sent.
 */
export function zipStream(
  entries: AsyncIterable<ZipEntry>,
  { open, onSend }: { open: (file: FileDocument) => Promise<Readable | null>; onSend?: (file: FileDocument) => void },
): Readable {
  let body: Readable | null = null;
  const ready = async ({ path, date, content }: ZipEntry) => {
    const isBuffered = typeof content === 'object' && content.linkUrl === undefined && (content.size ?? 0) <= maxBufferedBytes;
    const opened = isBuffered ? await open(content) : null;
    return { path, date, content, isBuffered, buffered: opened && (await buffer(opened)) };
  };
  async function* inputs() {
    const used = new Set<string>();
    for await (const { path, date, content, isBuffered, buffered } of mapAhead(entries, readAhead, ready)) {
      if (typeof content !== 'object') {
        body = Readable.from(slicesOf(typeof content === 'string' ? content : await content()));
      } else {
        if (content.linkUrl !== undefined) continue;
        onSend?.(content);
        body = isBuffered ? null : await open(content);
      }
      const input: Buffer | AsyncIterable<Buffer> | null = buffered ?? body;
      if (input === null) continue;
      try {
        yield { name: freePath(path, used), lastModified: dateInArchive(date), input };
      } catch {
        // The reader of the archive has disconnected.
        return;
      } finally {
        body?.destroy();
      }
    }
  }
  async function* bytes() {
    try {
      yield* inPieces(makeZip(inputs(), { buffersAreUTF8: true }));
    } finally {
      body?.destroy();
    }
  }
  return Readable.from(bytes(), { objectMode: false });
}

/** Calls `work` for each value, some of them in advance. Results are in the order of the values. */
async function* mapAhead<T, R>(values: AsyncIterable<T>, ahead: number, work: (value: T) => Promise<R>): AsyncGenerator<R> {
  const started: Promise<R>[] = [];
  for await (const value of values) {
    const result = work(value);
    // The error is thrown at its turn.
    result.catch(() => undefined);
    if (started.push(result) === ahead) yield await started.shift()!;
  }
  for (const result of started) yield await result;
}

function* slicesOf(text: string): Generator<Buffer> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += pieceBytes) yield bytes.subarray(start, start + pieceBytes);
}

function dateInArchive(date: Date): Date {
  if (date.getFullYear() < firstYear) return new Date(firstYear, 0, 1);
  return date.getFullYear() > lastYear ? new Date(lastYear, 11, 31) : date;
}

/** Joins small pieces, such as the entries of an archive's table of contents, and lets other work use the event loop in between. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let piece: Uint8Array[] = [];
  let length = 0;
  let sliceEnds = performance.now() + sliceMs;
  for await (const chunk of chunks) {
    piece.push(chunk);
    length += chunk.length;
    if (length >= pieceBytes) {
      yield Buffer.concat(piece);
      piece = [];
      length = 0;
    }
    if (performance.now() < sliceEnds) continue;
    await new Promise(setImmediate);
    sliceEnds = performance.now() + sliceMs;
  }
  if (length > 0) yield Buffer.concat(piece);
}

/** Two files of an item can have the same name, but two entries of an archive should not. */
function freePath(path: string, used: Set<string>): string {
  let free = path;
  for (let count = 1; used.has(free); count++) free = path.replace(/(\.[^./]*)?$/, (extension) => ` (${count})${extension}`);
  used.add(free);
  return free;
}
