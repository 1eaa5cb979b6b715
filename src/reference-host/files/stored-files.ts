import { Types } from 'mongoose';
import { InvalidError, isId, type NewFileContent, type StoredDocument } from '../../index.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import { insertFiles, registerAllBytes, releaseBytes, removeFile, type NewFileOfItem } from './files.js';

/** Bytes written, or removed, at the same time. */
const concurrency = 8;
/** Files removed together: a process that dies meanwhile may leave the bytes of so many. */
const removedTogether = 100;

interface Written {
  entry: NewFileOfItem;
  key: string;
}

/** Stores files of items, or attached to them: bytes, then records. Each succeeds or leaves nothing, whatever becomes of the others. */
export async function storeFiles(
  context: HostContext,
  files: readonly NewFileContent[],
  signal?: AbortSignal,
): Promise<PromiseSettledResult<StoredDocument>[]> {
  const items = await existingItems(context, files);
  const written = await settled(files, async (each) => {
    if (!items.has(each.file.parent.itemId)) {
      each.content.destroy();
      throw new InvalidError(`No such item: ${each.file.parent.itemId}`, 'id');
    }
    return writeBytes(context, each, signal);
  });
  const complete = written.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const recorded = await record(context, complete);
  let next = 0;
  return written.map((each) => (each.status === 'fulfilled' ? recorded[next++]! : each));
}

async function existingItems({ models }: HostContext, files: readonly NewFileContent[]): Promise<Set<string>> {
  const ids = [...new Set(files.map(({ file }) => file.parent.itemId))].filter(isId);
  const items = await models.item.find({ _id: { $in: ids } }, { _id: 1 }).lean();
  return new Set(items.map(({ _id }) => _id.toHexString()));
}

async function writeBytes(
  { store }: HostContext,
  { file, content }: NewFileContent,
  signal: AbortSignal | undefined,
): Promise<Written> {
  const _id = new Types.ObjectId();
  const key = _id.toHexString();
  try {
    const written = await store.write(key, { offset: 0, size: file.size, source: content, ...(signal && { signal }) });
    if (written.failure !== undefined) throw written.failure;
    if (written.tooMany || written.received !== file.size) {
      const found = written.tooMany ? 'more' : `only ${written.received}`;
      throw new InvalidError(`The file ${file.name} should have ${file.size} bytes, but its stream has ${found}.`, 'size');
    }
    await store.commit(key, key);
  } catch (error) {
    content.destroy();
    await store.discard(key);
    throw error;
  }
  const record = {
    _id,
    name: file.name,
    mimeType: file.mimeType,
    size: file.size,
    storage: { kind: 'stored' as const, key },
    creatorId: file.creatorId == null ? null : new Types.ObjectId(file.creatorId),
    attached: file.parent.type === 'attached',
    ...(file.fields && { fields: file.fields }),
  };
  return { key, entry: { itemId: new Types.ObjectId(file.parent.itemId), record } };
}

async function record(context: HostContext, written: readonly Written[]): Promise<PromiseSettledResult<StoredDocument>[]> {
  if (written.length === 0) return [];
  const release = (files: readonly Written[]) =>
    Promise.all(files.map(({ key }) => releaseBytes(context, { kind: 'stored', key })));
  try {
    const results = await recordAll(context, written);
    await release(written.filter((_, index) => results[index]!.status === 'rejected'));
    return results;
  } catch (reason) {
    // Some may have been recorded before the error. Where nobody can say, they keep their bytes: a record without would be half a file.
    const ids = written.map(({ key }) => key);
    const noRecords = await context.models.file.deleteMany({ _id: { $in: ids } }).then(
      () => true,
      () => false,
    );
    if (noRecords) await release(written);
    return written.map(() => ({ status: 'rejected', reason }));
  }
}

async function recordAll(context: HostContext, written: readonly Written[]): Promise<PromiseSettledResult<StoredDocument>[]> {
  await registerAllBytes(
    context,
    written.map(({ key, entry }) => ({ key, size: entry.record.size ?? 0 })),
  );
  const inserted = await insertFiles(
    context,
    written.map(({ entry }) => entry),
  );
  return inserted.map((each) => (each.status === 'fulfilled' ? { status: each.status, value: { ...each.value } } : each));
}

async function settled<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  for (let start = 0; start < items.length; start += concurrency) {
    results.push(...(await Promise.allSettled(items.slice(start, start + concurrency).map(work))));
  }
  return results;
}

/**
 * Removes files: records, then bytes, all in a few steps where nobody else uses the bytes. Another who removes the same files at the same
 * time does no harm.
 */
export async function removeFiles(context: HostContext, files: readonly FileDocument[]): Promise<void> {
  const isSimple = ({ itemId, storage }: FileDocument) => itemId === null && storage.kind === 'stored';
  const simple = files.filter(isSimple);
  for (let start = 0; start < simple.length; start += removedTogether) {
    await removeUnshared(context, simple.slice(start, start + removedTogether));
  }
  for (const file of files) if (!isSimple(file)) await removeFile(context, file._id);
}

/** Removes files that are in no item's list. */
async function removeUnshared(context: HostContext, files: readonly FileDocument[]): Promise<void> {
  if (files.length === 0) return;
  const { models, store, events } = context;
  const ids = files.map(({ _id }) => _id);
  const keys = files.flatMap(({ storage }) => (storage.kind === 'stored' ? [storage.key] : []));
  const { deletedCount } = await models.file.deleteMany({ _id: { $in: ids } });
  await models.blob.deleteMany({ _id: { $in: keys }, references: { $lte: 1 } });
  const shared = new Set((await models.blob.find({ _id: { $in: keys } }, { _id: 1 }).lean()).map(({ _id }) => _id));
  await settled(
    keys.filter((key) => !shared.has(key)),
    (key) => store.remove(key),
  );
  // Whoever removes the same files now counts those down that it removed itself: one that is not sure leaves the bytes.
  if (deletedCount === files.length) for (const key of shared) await releaseBytes(context, { kind: 'stored', key });
  const attached = await models.file.find({ attachedToType: 'file', attachedToId: { $in: ids } }, { _id: 1 }).lean();
  for (const { _id } of attached) await removeFile(context, _id);
  for (const file of files) await events.emit('file.removed', { file: { ...file } });
}
