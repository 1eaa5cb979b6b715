import { Types } from 'mongoose';
import type { NewFileContent, StoredDocument } from '../../index.js';
import { InvalidError, isId, announceStep } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { FileDocument } from './file.model.js';
import { registerWithinCapacity } from '../uploads/capacity.js';
import { registerBytes, releaseBytes } from './blobs.js';
import { removeFilesInBatches, insertFiles, removeFile, type NewFileOfItem } from './files.js';

/** Number of files that are written, or removed, at the same time. */
const maxConcurrentWrites = 8;

/** A file to store: its future record, the key of its bytes, and where the bytes come from. */
interface PlannedFile {
  entry: NewFileOfItem;
  key: string;
  source: NewFileContent;
}

/**
 * Stores files in items, or files attached to items: first the bytes, then the records. Each file succeeds, or fails and leaves
 * nothing behind, independent of the others.
 */
export async function storeFiles(
  context: HostContext,
  files: readonly NewFileContent[],
  signal?: AbortSignal,
): Promise<PromiseSettledResult<StoredDocument>[]> {
  const itemIds = await findExistingItemIds(context, files);
  const plannedFiles = files.filter(({ file }) => itemIds.has(file.parent.itemId)).map(planFile);
  const resultsBySource = new Map<NewFileContent, PromiseSettledResult<StoredDocument>>();
  const results = await storePlannedFiles(context, plannedFiles, signal);
  for (const [index, { source }] of plannedFiles.entries()) resultsBySource.set(source, results[index]!);
  return files.map((each) => resultsBySource.get(each) ?? rejectMissingItem(each));
}

async function storePlannedFiles(
  context: HostContext,
  plannedFiles: readonly PlannedFile[],
  signal: AbortSignal | undefined,
): Promise<PromiseSettledResult<StoredDocument>[]> {
  try {
    await registerPlannedFiles(context, plannedFiles);
  } catch (reason) {
    for (const { source } of plannedFiles) source.content.destroy();
    return plannedFiles.map(() => ({ status: 'rejected', reason }));
  }
  announceStep('storing:registered');
  const writeResults = await settleInBatches(plannedFiles, (each) => writeBytes(context, each, signal));
  announceStep('storing:moved');
  const recordResults = await insertRecords(
    context,
    plannedFiles.filter((_, index) => writeResults[index]!.status === 'fulfilled'),
  );
  let recordIndex = 0;
  return writeResults.map((each) => (each.status === 'fulfilled' ? recordResults[recordIndex++]! : each));
}

function rejectMissingItem({ file, content }: NewFileContent): PromiseRejectedResult {
  content.destroy();
  return { status: 'rejected', reason: new InvalidError(`No such item: ${file.parent.itemId}`, 'id') };
}

async function findExistingItemIds({ models }: HostContext, files: readonly NewFileContent[]): Promise<Set<string>> {
  const ids = [...new Set(files.map(({ file }) => file.parent.itemId))].filter(isId);
  const items = await models.item.find({ _id: { $in: ids } }, { _id: 1 }).lean();
  return new Set(items.map(({ _id }) => _id.toHexString()));
}

function planFile(source: NewFileContent): PlannedFile {
  const { file } = source;
  const _id = new Types.ObjectId();
  const key = _id.toHexString();
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
  return { key, source, entry: { itemId: new Types.ObjectId(file.parent.itemId), record } };
}

async function registerPlannedFiles(context: HostContext, plannedFiles: readonly PlannedFile[]): Promise<void> {
  if (plannedFiles.length === 0) return;
  const newBytes = plannedFiles.map(({ key, entry: { record } }) => {
    return { key, size: record.size ?? 0, fileId: record._id!, userId: record.creatorId };
  });
  try {
    const users = new Map(newBytes.map(({ userId }) => [String(userId), userId]));
    for (const [key, userId] of users) {
      const bytesOfUser = newBytes.filter((each) => String(each.userId) === key);
      const quotaRequest = { userId, bytes: bytesOfUser.reduce((sum, { size }) => sum + size, 0), isUpload: false };
      await registerWithinCapacity(context, quotaRequest, () => registerBytes(context, bytesOfUser));
    }
  } catch (error) {
    await releasePlannedFiles(context, plannedFiles).catch(() => undefined);
    throw error;
  }
}

async function writeBytes(context: HostContext, plannedFile: PlannedFile, signal: AbortSignal | undefined): Promise<void> {
  const { store } = context;
  const { key, source } = plannedFile;
  const { file, content } = source;
  try {
    const result = await store.write(key, { offset: 0, uploadSize: file.size, source: content, ...(signal && { signal }) });
    if (result.failure !== undefined) throw result.failure;
    if (result.isTooLong || result.received !== file.size) {
      const received = result.isTooLong ? 'more' : `only ${result.received}`;
      throw new InvalidError(`The file ${file.name} should have ${file.size} bytes, but its stream has ${received}.`, 'size');
    }
    await store.commit(key, { key, size: file.size });
  } catch (error) {
    content.destroy();
    await store.discard(key);
    await releasePlannedFiles(context, [plannedFile]);
    throw error;
  }
}

function releasePlannedFiles(context: HostContext, plannedFiles: readonly PlannedFile[]): Promise<void> {
  const references = plannedFiles.map(({ entry: { record } }) => ({ fileId: record._id!, storage: record.storage }));
  return releaseBytes(context, references);
}

async function insertRecords(
  context: HostContext,
  writtenFiles: readonly PlannedFile[],
): Promise<PromiseSettledResult<StoredDocument>[]> {
  if (writtenFiles.length === 0) return [];
  try {
    const results = await insertFiles(
      context,
      writtenFiles.map(({ entry }) => entry),
    );
    await releasePlannedFiles(
      context,
      writtenFiles.filter((_, index) => results[index]!.status === 'rejected'),
    );
    return results.map((each) => (each.status === 'fulfilled' ? { status: each.status, value: { ...each.value } } : each));
  } catch (reason) {
    // Some records may have been stored before the error. If they cannot be removed, the bytes are kept, because a stored record needs its
    // bytes.
    const ids = writtenFiles.map(({ key }) => key);
    const areRecordsRemoved = await context.models.file.deleteMany({ _id: { $in: ids } }).then(
      () => true,
      () => false,
    );
    if (areRecordsRemoved) await releasePlannedFiles(context, writtenFiles);
    return writtenFiles.map(() => ({ status: 'rejected', reason }));
  }
}

async function settleInBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  for (let start = 0; start < items.length; start += maxConcurrentWrites) {
    results.push(...(await Promise.allSettled(items.slice(start, start + maxConcurrentWrites).map(work))));
  }
  return results;
}

/**
 * Removes files: first the records, then the bytes. Another process can safely remove the same files at the same time.
 */
export async function removeFiles(context: HostContext, files: readonly FileDocument[]): Promise<void> {
  // Attached files do not count in the sizes of items, so they can be removed together.
  const isStoredAttachment = ({ itemId, storage }: FileDocument) => itemId === null && storage.kind === 'stored';
  await removeFilesInBatches(context, files.filter(isStoredAttachment));
  for (const file of files) if (!isStoredAttachment(file)) await removeFile(context, file._id);
}
