import { createHash } from 'node:crypto';
import { AccessDeniedError, BadParameterError, InvalidError, LargeImageError } from '../../../errors.js';
import type { Caller, HostEventPayloads, HostFiles, HostLogger, HostNotification } from '../../../host.js';
import type { AnnotationUploadModel, Batch, UploadTask } from './upload.model.js';
import type { Leases } from '../../../core/database/leases/leases.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../../core/host/records.js';
import type { AnnotationServices } from '../annotation-services.js';
import type { ImageMarking } from '../../images/image-marking.js';
import type { Callers } from '../../../core/host/callers.js';
import type { Items } from '../../items/items.js';
import type { JobStarter } from '../../jobs/running/job-starter.js';
import { normalizeAnnotationFile, isItemId, maxNameLength, OverlayReferences, parseReference } from './references.js';
import { isTemporary } from '../../../core/database/outage.js';
import { announceStep } from '../../../core/steps.js';

/** Name and type of the job that reads an uploaded file of annotations. */
export const uploadJobName = 'large_image_annotation_upload';
/** The identifiers of annotation uploads end with this text. Applications can put other text before it. */
const annotationIdentifierEnd = 'LargeImageAnnotationUpload';
/** Time in milliseconds for which a file waits for other uploads of its batch, and for which identifiers are kept. */
const maxWaitMs = 24 * 3600 * 1000;
const sweepEveryMs = 3600 * 1000;
/** Time in milliseconds for which clients can fetch the message about a failure. */
const failureLifetimeMs = 3600 * 1000;
/** Maximum number of annotation ids, or of missing identifiers, in the result of a job. */
const maxListed = 1000;

/** Options of {@link AnnotationUploads}. */
export interface AnnotationUploadsOptions {
  model: AnnotationUploadModel;
  leases: Leases;
  annotations: Pick<AnnotationServices, 'lifecycle' | 'permissions' | 'brand'>;
  records: HostRecords;
  items: Items;
  callers: Pick<Callers, 'loadRequester'>;
  imageMarking: ImageMarking;
  files: HostFiles;
  runner: JobStarter;
  /** Maximum size of a file that is read, in bytes. */
  maxBytes: number;
  notify: ((notification: HostNotification) => Promise<void>) | undefined;
  logger: HostLogger;
}

/** The context in which a job reads a file. */
export interface IngestContext {
  jobId: string;
  log: (text: string) => void;
  setResults: (results: Record<string, unknown>) => void;
  signal: AbortSignal;
  /** Whether this is the last attempt: the job is not tried again, even if it fails only because the database is too busy. */
  isLastTry: boolean;
}

/** Thrown if elements refer to uploads that have not arrived yet. */
class MissingUploadsError extends LargeImageError {
  constructor(readonly identifiers: readonly string[]) {
    super(
      'bad-parameter',
      `No item found for ${identifiers
        .slice(0, 10)
        .map((name) => JSON.stringify(name))
        .join(', ')}.`,
    );
  }
}

/**
 * Turns uploaded files into annotations. If the identifier of an upload ends with {@link annotationIdentifierEnd}, a job reads the file with
 * the rights of its uploader. Image and pixelmap elements can refer to items by the identifiers of other uploads with the same `uuid`. The
 * file then waits for these uploads.
 */
export class AnnotationUploads {
  readonly #timer: NodeJS.Timeout;

  constructor(private readonly options: AnnotationUploadsOptions) {
    this.#timer = setInterval(() => {
      this.sweep().catch((err: unknown) => options.logger.warn({ err }, 'Annotation:Upload:SweepFailed'));
    }, sweepEveryMs);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Handles a finished upload: starts a job if it contains annotations, or stores its identifier. */
  async handleFinished({ file: doc, caller, reference, id }: HostEventPayloads['upload.finished']): Promise<void> {
    const uploadReference = parseReference(reference);
    if (uploadReference === null) return;
    const { model, records } = this.options;
    const file = records.fileOf(doc);
    const userId = caller?.id ?? null;
    const { identifier, itemId, uuid } = uploadReference;
    if (identifier.endsWith(annotationIdentifierEnd)) {
      const ingestionId = id === undefined ? '' : ingestionIdOf(id);
      const admin = caller?.admin === true;
      const task = { ingestion: ingestionId, fileId: file.id, itemId, uuid, userId, admin, last: false };
      await this.#startJob(task, id === undefined ? {} : { id: ingestionId });
    } else if (uuid !== null && userId !== null && file.itemId !== null) {
      const batch = { userId, uuid };
      await model.storeIdentifier(batch, identifier, file.itemId);
      await this.#startReadyUploads(batch, caller);
    }
  }

  /**
   * Creates and starts a job.
   *
   * @param options `id`: id of the job. With an id, no second job is made if the host announces the same upload again.
   */
  async #startJob(task: UploadTask, options: { id?: string } = {}): Promise<void> {
    const { runner } = this.options;
    const kwargs = { ...task };
    const itemId = await this.#findJobItem(task);
    const job = await runner.create(uploadJobName, { ...options, userId: task.userId, itemId, asynchronous: true, kwargs });
    announceStep('annotation-upload:job-stored');
    await runner.start(job);
  }

  /** Finds the id of the job's item. Users who may read the item see the job. Returns `null` if the uploader may not annotate the item. */
  async #findJobItem(task: UploadTask): Promise<string | null> {
    try {
      return (await this.#loadTarget(task)).item.id;
    } catch (error) {
      if (error instanceof LargeImageError) return null;
      throw error;
    }
  }

  /** Starts each waiting upload whose identifiers all have items now. Looks only at one batch if `batch` is given. */
  async #startReadyUploads(batch?: Batch, caller?: Caller | null): Promise<void> {
    const { model } = this.options;
    for await (const { task, identifiers } of model.listWaiting({ ...(batch && { batch }) })) {
      if (!(await this.#canResolveAll(task, identifiers))) continue;
      // Since the upload, the uploader may have become a site administrator, or may have ceased to be one.
      await this.#startWaitingUpload({ ...task, ...(caller && { admin: caller.admin }) });
    }
  }

  /** Starts a waiting upload, unless another process has started it. */
  async #startWaitingUpload(task: UploadTask): Promise<void> {
    const { model, leases } = this.options;
    await leases.run(`annotation upload ${task.ingestion}`, { subject: task.fileId }, async () => {
      if (!(await model.isWaiting(task.ingestion))) return;
      await this.#startJob(task);
      announceStep('annotation-upload:started-again');
      await model.removeWaiting(task.ingestion);
    });
  }

  async #canResolveAll(task: UploadTask, identifiers: readonly string[]): Promise<boolean> {
    for (const identifier of identifiers) if ((await this.#findItemIdByName(task, identifier)) === null) return false;
    return true;
  }

  /**
   * Starts each waiting upload that is ready but was not started, because a process died. An upload that has waited too long gets a last
   * attempt. Must be called at regular intervals.
   *
   * @returns the number of removed identifiers of old batches.
   */
  async sweep(): Promise<number> {
    const { model } = this.options;
    const before = new Date(Date.now() - maxWaitMs);
    for await (const { task } of model.listWaiting({ before })) await this.#startWaitingUpload({ ...task, last: true });
    const removedCount = await model.removeIdentifiers(before);
    await this.#startReadyUploads();
    return removedCount;
  }

  /** Reads the file of a task and creates its annotations. @throws an error whose message the client sees. */
  async ingest(queuedTask: UploadTask, context: IngestContext): Promise<void> {
    // If the upload had no id, its ingestion gets the id of its first job. Later jobs for the upload get this id with the task, so that they
    // make annotations with the same ids.
    const task = queuedTask.ingestion === '' ? { ...queuedTask, ingestion: context.jobId } : queuedTask;
    const { signal } = context;
    const request = { subject: task.fileId, signal };
    try {
      // Two jobs can run for the same file: a resumed job, and a job that was started when the missing uploads had arrived.
      await this.options.leases.run(`annotation ingestion ${task.ingestion}`, request, () => this.#ingest(task, context));
    } catch (error) {
      if (!signal.aborted && (context.isLastTry || !isTemporary(error))) await this.#notify(task, context.jobId, error);
      throw error;
    }
  }

  async #ingest(task: UploadTask, { log, setResults, signal, isLastTry }: IngestContext): Promise<void> {
    const { records, files, annotations, maxBytes } = this.options;
    const { item, caller } = await this.#loadTarget(task);
    const file = await records.findFile(task.fileId);
    // In this case, the work is done already, but the process was killed before the job was marked as done.
    if (file === null && (await annotations.lifecycle.exists(annotationIdAt(task.ingestion, 0)))) return;
    if (file === null) throw new InvalidError(`No such file: ${task.fileId}`, 'fileId');
    if (file.size > maxBytes) {
      throw new LargeImageError(
        'too-large',
        `The file has ${file.size} bytes; annotation files may have at most ${maxBytes} bytes.`,
      );
    }
    if (task.last) log('No longer waiting for other uploads; reading the file one last time.\n');
    // Some users who see the job cannot see the folder of the file, so the message does not name it.
    log(`Reading ${file.itemId === item.id ? file.name : 'a file'} (${file.size} bytes)\n`);
    const references = new OverlayReferences(annotations.brand, (name) => this.#findItemIdByName(task, name, caller));
    const bytes = await files.read(file.doc, { start: 0, end: file.size }, { signal });
    try {
      const { created, skippedCount } = await annotations.lifecycle.create(item, normalizeAnnotationFile(bytes), 'file', {
        caller,
        signal,
        transform: references.replaceIdentifiers,
        confirm: () => {
          if (references.unresolvedNames.length > 0) throw new MissingUploadsError(references.unresolvedNames);
        },
        idAt: (index) => annotationIdAt(task.ingestion, index),
      });
      log(`Created ${created.length} ${created.length === 1 ? 'annotation' : 'annotations'}\n`);
      if (skippedCount > 0) log(`Skipped ${skippedCount} ${skippedCount === 1 ? 'feature' : 'features'} without a shape\n`);
      setResults({ count: created.length, annotations: created.slice(0, maxListed).map(({ id }) => id) });
    } catch (error) {
      if (!(error instanceof MissingUploadsError) || !(await this.#storeIfItCanWait(task, error))) throw aboutFile(error);
      log(`Waiting for other uploads. ${error.message}\n`);
      setResults({ waitingFor: error.identifiers.slice(0, maxListed) });
      return;
    } finally {
      bytes.destroy();
    }
    announceStep('annotation-upload:read');
    await this.#removeUpload(file, item, isLastTry);
    announceStep('annotation-upload:removed');
  }

  /** Loads the item to annotate, and the uploader. @throws an error if the uploader may not annotate the item. */
  async #loadTarget({ itemId, userId, admin }: UploadTask): Promise<{ item: ItemRecord; caller: Caller }> {
    const { items, annotations, callers } = this.options;
    if (userId === null) throw new AccessDeniedError('You must be logged in.');
    if (itemId === null) throw new BadParameterError('Reference does not contain required information: itemId.');
    if (!isItemId(itemId.toLowerCase())) throw new InvalidError(`Invalid ObjectId: ${itemId.slice(0, maxNameLength)}`, 'itemId');
    const caller = await callers.loadRequester({ id: userId, admin });
    const item = await items.loadFresh(itemId.toLowerCase(), 0, caller);
    await annotations.permissions.requireAnnotate(item, caller);
    return { item, caller };
  }

  /**
   * Finds the id of the item for a name in an element. The name is an item id, or an identifier of the batch. With a `caller`, the item
   * becomes a large image if possible.
   */
  async #findItemIdByName({ userId, uuid }: UploadTask, name: string, caller?: Caller): Promise<string | null> {
    const { records, model } = this.options;
    if (isItemId(name) && (await records.findItem(name)) !== null) return name;
    if (userId === null || uuid === null) return null;
    const itemId = await model.findItemId({ userId, uuid }, name);
    const item = itemId === null ? null : await records.findItem(itemId);
    if (item === null) return null;
    if (caller !== undefined && item.largeImage === null) await this.#tryMakeLargeImage(item, caller);
    return item.id;
  }

  /** Makes an item a large image if possible, because the box of an image or pixelmap element is computed from the size of its image. */
  async #tryMakeLargeImage({ id }: ItemRecord, caller: Caller): Promise<void> {
    const { imageMarking, items, logger } = this.options;
    try {
      const item = await items.loadFresh(id, 1, caller);
      await imageMarking.create(item, await imageMarking.chooseFile(item, undefined));
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      logger.info({ itemId: id, reason: error.message }, 'Annotation:Upload:NoLargeImage');
    }
  }

  /** Stores the task until the other uploads of its batch have arrived. @returns false if the task cannot wait for other uploads. */
  async #storeIfItCanWait(task: UploadTask, { identifiers }: MissingUploadsError): Promise<boolean> {
    const { userId, uuid, last: hasWaitedTooLong } = task;
    if (userId === null || uuid === null || hasWaitedTooLong) return false;
    const batch = { userId, uuid };
    await this.options.model.storeWaiting(batch, { task, identifiers: [...identifiers] });
    announceStep('annotation-upload:parked');
    // The missing uploads may have arrived just before the task was stored.
    await this.#startReadyUploads(batch);
    return true;
  }

  /** Removes the uploaded file if it is in the annotated item. A file in another item may be needed there. */
  async #removeUpload(file: FileRecord, item: ItemRecord, isLastTry: boolean): Promise<void> {
    const { files, logger } = this.options;
    const { fileId, originalId } = item.largeImage ?? {};
    if (file.itemId !== item.id || file.id === fileId || file.id === originalId) return;
    try {
      await files.remove(file.doc);
    } catch (err) {
      // The next attempt of the job finds the annotations and removes the file.
      if (isTemporary(err) && !isLastTry) throw err;
      logger.warn({ err, fileId: file.id }, 'Annotation:Upload:NotRemoved');
    }
  }

  async #notify({ userId, fileId, itemId }: UploadTask, jobId: string, error: unknown): Promise<void> {
    const { notify, logger } = this.options;
    if (notify === undefined || userId === null) return;
    const message = error instanceof LargeImageError ? error.message : 'The file could not be read.';
    const type = 'large_image_annotation.upload_failed';
    const expires = new Date(Date.now() + failureLifetimeMs);
    try {
      await notify({ userId, type, data: { fileId, itemId, jobId, message }, expires });
    } catch (err) {
      logger.warn({ err, fileId, type }, 'Annotation:NotificationFailed');
    }
  }
}

/** The error with a message about a file, if the message is about a request body. */
function aboutFile(error: unknown): unknown {
  if (!(error instanceof LargeImageError) || !error.message.includes('request body')) return error;
  const { code, message, details } = error;
  return new LargeImageError(code, message.replace('request body', 'file'), { cause: error, details });
}

/** The {@link UploadTask.ingestion id of the ingestion} of an upload: 24 hexadecimal digits. */
function ingestionIdOf(uploadId: string): string {
  return isItemId(uploadId) ? uploadId : createHash('sha256').update(uploadId).digest('hex').slice(0, 24);
}

/**
 * Makes the id of the annotation at an index in a file. Higher indices have higher ids. The ids begin with the first 8 digits of the ingestion's
 * id, which are the time of the upload if its id is an ObjectId.
 */
function annotationIdAt(ingestionId: string, index: number): string {
  const hash = createHash('sha256').update(ingestionId).digest('hex').slice(0, 10);
  return ingestionId.slice(0, 8) + hash + index.toString(16).padStart(6, '0');
}
