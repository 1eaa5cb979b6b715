import { ZipArchive } from 'archiver';
import type { Types } from 'mongoose';
import { Readable } from 'node:stream';
import { Reply, toWire, type Caller } from '../../index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import { accessFilter, principalOf, type Principal } from '../access/access.js';
import { contentDisposition } from './downloads.js';
import { loadFile, readFile } from './files.js';
import { filesOf } from '../tree/items.js';

/** One entry of an archive: bytes of a file, or text. */
export interface ZipEntry {
  path: string;
  date: Date;
  content: FileDocument | string;
}

/** A name as part of a path in an archive: never a way out of the folder it is unpacked in. */
function segment(name: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what must go
  const safe = name.replace(/[/\\\u0000-\u001f]/g, '_');
  return /^\.+$/.test(safe) ? safe.replace(/\./g, '_') : safe;
}

const metadataName = 'girder-item-metadata.json';

/** The files of an item, below its name, and its metadata where it has some. */
export async function* itemEntries(
  context: HostContext,
  item: ItemDocument,
  prefix = '',
  mimeTypes?: ReadonlySet<string>,
): AsyncGenerator<ZipEntry> {
  const files = (await filesOf(context, item)).filter((file) => mimeTypes === undefined || mimeTypes.has(file.mimeType));
  const isAlone = files.length === 1 && files[0]!.name === item.name && prefix !== '';
  const base = isAlone ? prefix : `${prefix}${segment(item.name)}/`;
  for (const file of files) yield { path: base + segment(file.name), date: file.created, content: file };
  if (!isAlone && mimeTypes === undefined && Object.keys(item.meta).length > 0) {
    yield { path: base + metadataName, date: item.updated, content: JSON.stringify(toWire(item.meta)) };
  }
}

/** Everything in a folder that somebody may read, below its name. */
export async function* folderEntries(
  context: HostContext,
  folder: FolderDocument,
  principal: Principal,
  { prefix = '', mimeTypes }: { prefix?: string; mimeTypes?: ReadonlySet<string> | undefined } = {},
): AsyncGenerator<ZipEntry> {
  const base = `${prefix}${segment(folder.name)}/`;
  const items = context.models.item.find({ folderId: folder._id }).sort({ lowerName: 1, _id: 1 }).lean<ItemDocument>().cursor();
  for await (const item of items) yield* itemEntries(context, item, base, mimeTypes);
  yield* foldersIn(context, folder._id, principal, { prefix: base, mimeTypes });
}

/** Everything in the folders of a folder, collection or user that somebody may read. */
export async function* foldersIn(
  context: HostContext,
  parentId: Types.ObjectId,
  principal: Principal,
  options: { prefix: string; mimeTypes?: ReadonlySet<string> | undefined },
): AsyncGenerator<ZipEntry> {
  const children = await context.models.folder
    .find({ parentId, ...accessFilter(principal, 0) })
    .sort({ lowerName: 1, _id: 1 })
    .lean<FolderDocument[]>();
  for (const child of children) yield* folderEntries(context, child, principal, options);
}

/**
 * An archive as an answer, made while it is sent, for as long as the caller may read what goes into it. Entries are stored as they are:
 * images hardly get smaller.
 */
export function zipReply(context: HostContext, caller: Caller | null, name: string, entries: AsyncIterable<ZipEntry>): Reply {
  const archive = new ZipArchive({ store: true });
  const fail = (error: unknown) => archive.destroy(error instanceof Error ? error : new Error(String(error)));
  let sent: FileDocument | null = null;
  const begun = (content: ZipEntry['content']) => (sent = typeof content === 'string' ? sent : content);
  append(context, archive, entries, begun).catch(fail);
  return Reply.stream(archive, 'application/zip', {
    headers: { 'Content-Disposition': contentDisposition(`${name}.zip`, 'attachment') },
    permitted: async () => sent && loadFile(context, sent._id.toHexString(), await principalOf(context, caller), 0),
  });
}

async function append(
  context: HostContext,
  archive: ZipArchive,
  entries: AsyncIterable<ZipEntry>,
  begun: (content: ZipEntry['content']) => void,
): Promise<void> {
  const used = new Set<string>();
  for await (const { path, date, content } of entries) {
    if (archive.destroyed) return;
    begun(content);
    if (typeof content !== 'string' && content.linkUrl !== undefined) continue;
    const body =
      typeof content === 'string' ? Buffer.from(content) : await readFile(context, content, { start: 0, end: content.size ?? 0 });
    // Whoever asked may have gone while the file was opened.
    if (!archive.destroyed) {
      // One entry at a time, so that one file is open at a time however many the archive holds.
      const done = untilEntryEnds(archive);
      archive.append(body, { name: freePath(path, used), date });
      await done;
    }
    if (body instanceof Readable) body.destroy();
  }
  await archive.finalize();
}

function untilEntryEnds(archive: ZipArchive): Promise<void> {
  const ends = ['entry', 'close', 'error'];
  return new Promise((resolve) => {
    const end = () => {
      for (const name of ends) archive.off(name, end);
      resolve();
    };
    for (const name of ends) archive.on(name, end);
  });
}

/** Two files of an item can have one name; two entries of an archive should not. */
function freePath(path: string, used: Set<string>): string {
  let free = path;
  for (let count = 1; used.has(free); count++) free = path.replace(/(\.[^./]*)?$/, (extension) => ` (${count})${extension}`);
  used.add(free);
  return free;
}
