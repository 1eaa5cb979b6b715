import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { FailedReadError, InvalidError, LargeImageError } from '../../errors.js';
import type { HostFiles } from '../../host.js';
import { outageErrorOf } from '../../core/database/outage.js';
import { isFullDiskCode } from '../../core/full-disk.js';
import { conversionField } from '../../core/host/schema-extension.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord } from '../../core/host/records.js';
import type { ConversionItems } from './conversion-items.js';
import { conversionJobName, createdMessage } from './conversion-work.js';
import type { Images } from '../images/images.js';
import type { LargeImageCreation } from './large-image-creation.js';
import { convertFile, type ConvertedFile } from '../../tilesource/convert/convert-file.js';
import type { JobContext, JobDefinition } from '../jobs/running/definition.js';
import { announceStep } from '../../core/steps.js';
import { createTemporaryDirectory } from '../../core/temporary-files.js';

/** Dependencies of the conversion job. */
export interface ConversionParts {
  creation: LargeImageCreation;
  images: Pick<Images, 'openForConversion'>;
  /** The items of converted copies. */
  conversionItems: ConversionItems;
  records: HostRecords;
  files: HostFiles;
  /** Directory for files that are not stored yet. */
  temporaryDirectory: string;
}

/** The job that converts an image to a pyramid of tiles, and stores it in the item of the image or in a new item. */
export function conversionJob(parts: ConversionParts): JobDefinition {
  return {
    name: conversionJobName,
    title: 'Large Image Conversion',
    type: conversionJobName,
    resumable: true,
    failureLog: (error) => `Failed in large image conversion (${failureReasonOf(error)})\n`,
    run: (context) => runConversion(parts, context),
  };
}

function failureReasonOf(error: unknown): string {
  if (error instanceof LargeImageError) return error.message;
  const outage = outageErrorOf(error);
  if (outage !== null) return outage.message;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? `The new file cannot be written (${code}).` : 'The log of the server says why.';
}

async function runConversion(parts: ConversionParts, { job, signal, log, setProgress, setResults }: JobContext): Promise<void> {
  const { creation, conversionItems } = parts;
  log('Started large image conversion\n');
  setProgress({ total: 100, current: 0, message: 'Converting' });
  // An earlier attempt may have stored its result before its process was killed.
  const { copy } = await conversionItems.removeLeftovers(job.id);
  const fileId = copy?.id ?? (await creation.findDeliveredFileId(job));
  if (fileId !== null) {
    setResults({ file: [fileId] });
    log('Finished large image conversion\n');
    return;
  }
  const { work, item, file, folder, requester } = await creation.loadWork(job);
  const directory = await createTemporaryDirectory(parts.temporaryDirectory);
  try {
    const openedImage = await parts.images.openForConversion(item, file, requester);
    let convertedFile: ConvertedFile;
    try {
      // An opened image is converted through its source, which needs no path.
      const localPath = openedImage === null ? await parts.files.localPath(file.doc) : '';
      const path = localPath ?? (await fetchFile(parts.files, file, directory.path, signal));
      convertedFile = await convertFile({ path, name: file.name, mimeType: file.mimeType }, directory.path, {
        options: work.options,
        signal,
        log,
        onProgress: (doneFraction) => setProgress({ current: Math.floor(doneFraction * 100) }),
        source: openedImage?.borrowed,
        scale: item.scale,
      });
    } finally {
      await openedImage?.close();
    }
    announceStep('conversion:converted');
    // The conversion may have taken long, so it is checked again whether the result is still needed and permitted.
    await creation.loadWork(job);
    log('Storing result\n');
    setProgress({ current: 100, message: 'Storing' });
    const name = outputName(file.name);
    let storedFile: FileRecord;
    if (folder === null) {
      storedFile = await storeFile(parts, { convertedFile, name, itemId: item.id, jobId: job.id, userId: job.userId, signal });
      if (signal.aborted || !(await creation.deliver(job, work, storedFile))) {
        await parts.files.remove(storedFile.doc);
        signal.throwIfAborted();
        throw new InvalidError(`The item ${item.name} no longer waits for this job.`);
      }
      setProgress({ message: createdMessage(item.name) });
    } else {
      const itemName = work.target?.name ?? name;
      const newItem = await conversionItems.create({ name: itemName, folder, creatorId: job.userId, jobId: job.id });
      try {
        storedFile = await storeFile(parts, {
          convertedFile,
          name: itemName,
          itemId: newItem.id,
          jobId: job.id,
          userId: job.userId,
          signal,
        });
        signal.throwIfAborted();
      } catch (error) {
        await conversionItems.remove(newItem);
        throw error;
      }
    }
    setResults({ file: [storedFile.id] });
    log('Finished large image conversion\n');
  } finally {
    await directory.remove();
  }
}

/** Copies a file that is stored elsewhere to this machine. @returns the path of the copy. */
async function fetchFile(files: HostFiles, file: FileRecord, directory: string, signal: AbortSignal): Promise<string> {
  const path = join(directory, 'input');
  const content = await files.read(file.doc, { start: 0, end: file.size }, { signal });
  try {
    await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal });
  } catch (cause) {
    signal.throwIfAborted();
    if (isFullDiskCode((cause as { code?: unknown }).code)) throw cause;
    throw new FailedReadError(`The bytes of ${file.name} could not be read.`, { cause });
  }
  return path;
}

interface StoreRequest {
  convertedFile: ConvertedFile;
  name: string;
  itemId: string;
  jobId: string;
  userId: string | null;
  signal: AbortSignal;
}

async function storeFile({ files, records }: ConversionParts, request: StoreRequest): Promise<FileRecord> {
  const { convertedFile, name, itemId, jobId, userId, signal } = request;
  const doc = await files.create(
    {
      name,
      mimeType: 'image/tiff',
      size: convertedFile.size,
      parent: { type: 'item', itemId },
      fields: { [conversionField]: jobId },
      creatorId: userId,
    },
    createReadStream(convertedFile.path),
    { signal },
  );
  announceStep('conversion:stored');
  return records.fileOf(doc);
}

/** Name of the converted file, which always differs from the original name. */
function outputName(name: string): string {
  const dot = name.lastIndexOf('.');
  const base = dot > 0 ? name.slice(0, dot) : name;
  const usualName = `${base}.tiff`;
  if (usualName !== name) return usualName;
  const [day = '', time = ''] = new Date().toISOString().slice(0, 19).split('T');
  return `${base}.${day.replaceAll('-', '')}-${time.replaceAll(':', '')}.tiff`;
}
