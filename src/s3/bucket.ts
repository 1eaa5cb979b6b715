import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { InvalidError } from '../errors.js';
import { asLargeImageError, isTransient, statusOf } from './errors.js';

/**
 * Minimum size of a part of a multipart upload, and maximum size of a file that is sent as a whole, in bytes. A part is in memory
 * while it is sent.
 */
const partBytes = 8 * 2 ** 20;
/** Maximum number of parts that a store accepts. */
const maxParts = 10_000;
/** Maximum number of objects that a store removes or lists in one request. */
const pageLength = 1000;
/** If a store sends nothing for this many milliseconds, the request fails. */
const silenceTimeoutMs = 30_000;
/** Timeout in milliseconds of requests that send a part or complete a multipart upload. */
const sendTimeoutMs = 10 * 60_000;
/** Maximum number of consecutive resumptions of an interrupted read that do not receive a byte. */
const maxResumptions = 3;
/** Pause in milliseconds before the first resumption. The pause doubles with each further resumption. */
const firstPauseMs = 100;
/** Name of the metadata that contains the owner of an object. */
const ownerKey = 'stored-by';
/** Storage classes whose objects must be restored before they can be read. */
const archiveClasses: ReadonlySet<string> = new Set(['GLACIER', 'DEEP_ARCHIVE']);

/** The current state of an object. */
export interface ObjectState {
  size: number;
  etag: string;
  modified?: Date;
  /** The owner that was stored with the object, if any. */
  owner?: string;
}

/** An object in a list. */
export interface ListedObject extends ObjectState {
  key: string;
  /** The object's storage class, if the object must be restored before it can be read. */
  archived?: string;
}

/** A file to be stored as an object. */
export interface NewObject {
  /** Name of the file, for messages. */
  name: string;
  mimeType: string;
  size: number;
  content: Readable;
  /** The owner, which is stored as metadata of the object. */
  owner?: string | undefined;
}

/** One bucket of an S3-compatible store. */
export class Bucket {
  constructor(
    private readonly client: S3Client,
    readonly name: string,
  ) {}

  /** The state of an object. @throws the error of the SDK. */
  async state(key: string, signal?: AbortSignal): Promise<ObjectState> {
    const object = await this.#send((options) => this.client.send(new HeadObjectCommand(this.#location(key)), options), signal);
    return {
      size: object.ContentLength ?? 0,
      etag: object.ETag ?? '',
      ...(object.LastModified && { modified: object.LastModified }),
      ...(object.Metadata?.[ownerKey] !== undefined && { owner: object.Metadata[ownerKey] }),
    };
  }

  /**
   * Lists the objects whose keys begin with `prefix`, in order of their keys. One page is in memory at a time. @throws the error
   * of the SDK.
   */
  async *list(
    prefix: string,
    { signal, perPage = pageLength }: { signal?: AbortSignal | undefined; perPage?: number } = {},
  ): AsyncGenerator<ListedObject> {
    let token: string | undefined;
    do {
      const query = {
        Bucket: this.name,
        Prefix: prefix,
        MaxKeys: perPage,
        ...(token !== undefined && { ContinuationToken: token }),
      };
      const page = await this.#send((options) => this.client.send(new ListObjectsV2Command(query), options), signal);
      for (const {
        Key: key,
        Size: size = 0,
        ETag: etag = '',
        LastModified: modified,
        StorageClass: storageClass = '',
      } of page.Contents ?? []) {
        const archived = archiveClasses.has(storageClass) ? { archived: storageClass } : {};
        if (key !== undefined) yield { key, size, etag, ...(modified && { modified }), ...archived };
      }
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  /**
   * Reads bytes of an object from `start` to `end`, not including `end`. If the connection breaks, the read is resumed, as long as
   * the object is the same.
   *
   * @param etag entity tag that the object must have; without it, any object with the key is read.
   * @throws ReplacedObjectError if the object has a different tag, NotFoundError if there is no object, or LargeImageError
   * `unavailable` if the store cannot be used. The stream fails with the same errors.
   */
  async read(
    { key, etag, name }: { key: string; etag?: string | undefined; name: string },
    { start, end }: { start: number; end: number },
    signal?: AbortSignal,
  ): Promise<Readable> {
    if (end <= start) return Readable.from([], { objectMode: false });
    const closeController = new AbortController();
    const combinedSignal = signal === undefined ? closeController.signal : AbortSignal.any([signal, closeController.signal]);
    const throwForReader = (error: unknown): never => {
      signal?.throwIfAborted();
      throw asLargeImageError(error, name);
    };
    const firstResponse = await this.#get(key, etag, { start, end }, combinedSignal).catch(throwForReader);
    const stream = Readable.from(
      this.#readChunks({ key, firstResponse, range: { start, end }, signal: combinedSignal, throwForReader }),
      {
        objectMode: false,
      },
    );
    // If the reader closes the stream early, the rest is not transferred.
    stream.once('close', () => closeController.abort());
    return stream;
  }

  async *#readChunks(reading: {
    key: string;
    firstResponse: OpenResponse;
    range: { start: number; end: number };
    signal: AbortSignal;
    throwForReader: (error: unknown) => never;
  }): AsyncGenerator<Uint8Array> {
    const { key, firstResponse, range, signal, throwForReader } = reading;
    let { start } = range;
    let response: OpenResponse | null = firstResponse;
    for (let resumptions = 0; start < range.end;) {
      try {
        response ??= await this.#get(key, firstResponse.etag, { start, end: range.end }, signal);
        for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
          response.setWaiting(false);
          start += chunk.length;
          resumptions = 0;
          yield chunk;
          response.setWaiting(true);
        }
        if (start < range.end) throw new Error('The response of the store ended early.');
      } catch (error) {
        if (signal.aborted || resumptions >= maxResumptions || !isTransient(error)) throwForReader(error);
        await wait(firstPauseMs * 2 ** resumptions, undefined, { signal });
        resumptions += 1;
      } finally {
        response?.close();
        response = null;
      }
    }
  }

  async #get(
    key: string,
    etag: string | undefined,
    range: { start: number; end: number },
    signal: AbortSignal,
  ): Promise<OpenResponse> {
    let body: Readable | null = null;
    const silenceController = new AbortController();
    const giveUp = () => {
      silenceController.abort(new Error('The bucket does not respond.'));
      body?.destroy(new Error('The bucket does not respond.'));
    };
    const cancel = () => void body?.destroy(signal.reason as Error);
    let timer = setTimeout(giveUp, silenceTimeoutMs);
    const close = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      body?.destroy();
    };
    try {
      const command = new GetObjectCommand({
        ...this.#location(key),
        Range: `bytes=${range.start}-${range.end - 1}`,
        ...(etag && { IfMatch: etag }),
      });
      const response = await this.client.send(command, { abortSignal: AbortSignal.any([signal, silenceController.signal]) });
      body = response.Body as Readable;
      signal.throwIfAborted();
      signal.addEventListener('abort', cancel, { once: true });
      if ((response.ContentLength ?? 0) > range.end - range.start)
        throw new Error('The store returned more than the requested range.');
      const setWaiting = (isWaiting: boolean) => {
        clearTimeout(timer);
        if (isWaiting) timer = setTimeout(giveUp, silenceTimeoutMs);
      };
      return { body, etag: response.ETag, setWaiting, close };
    } catch (error) {
      close();
      throw error;
    }
  }

  /** Sends a command, and aborts it if no response arrives within `timeoutMs`. */
  async #send<T>(
    send: (options: { abortSignal: AbortSignal }) => Promise<T>,
    signal?: AbortSignal,
    timeoutMs = silenceTimeoutMs,
  ): Promise<T> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(new Error('The bucket does not respond.')), timeoutMs);
    try {
      return await send({ abortSignal: signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]) });
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Stores a stream as a new object, and a long stream as a multipart upload. Nothing remains of an upload that fails or is
   * aborted.
   *
   * @throws InvalidError if the stream has more or fewer bytes than `size`, the error of the stream, or LargeImageError
   * `unavailable` if the store cannot be used.
   */
  async write(key: string, { name, mimeType, size, content, owner }: NewObject, signal?: AbortSignal): Promise<ObjectState> {
    const cancel = () =>
      void content.destroy(signal!.reason instanceof Error ? signal!.reason : new Error('The upload was canceled.'));
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const objectProperties = {
      ...this.#location(key),
      ContentType: mimeType,
      ...(owner !== undefined && { Metadata: { [ownerKey]: owner } }),
    };
    try {
      const parts = partsOf(content, { name, size, bytesPerPart: Math.max(partBytes, Math.ceil(size / maxParts)) });
      if (size <= partBytes) {
        const { value } = await parts.next();
        const Body = value ?? Buffer.alloc(0);
        await parts.next();
        const put = new PutObjectCommand({ ...objectProperties, Body, ContentLength: size });
        const { ETag = '' } = await this.#send((options) => this.client.send(put, options), signal, sendTimeoutMs);
        return { size, etag: ETag };
      }
      const create = new CreateMultipartUploadCommand(objectProperties);
      const { UploadId } = await this.#send((options) => this.client.send(create, options), signal);
      try {
        return { size, etag: await this.#sendParts(key, UploadId!, parts, signal) };
      } catch (error) {
        const abort = new AbortMultipartUploadCommand({ ...this.#location(key), UploadId });
        await this.#send((options) => this.client.send(abort, options)).catch(() => undefined);
        throw error;
      }
    } catch (error) {
      const streamError = content.errored;
      content.destroy();
      // Without a response it is unknown whether the store has created the object.
      if (statusOf(error) === null) await this.remove(key).catch(() => undefined);
      signal?.throwIfAborted();
      throw error === streamError ? error : asLargeImageError(error, name);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  async #sendParts(key: string, UploadId: string, parts: AsyncGenerator<Buffer, void>, signal?: AbortSignal): Promise<string> {
    const completedParts: CompletedPart[] = [];
    for await (const Body of parts) {
      signal?.throwIfAborted();
      const PartNumber = completedParts.length + 1;
      const command = new UploadPartCommand({ ...this.#location(key), UploadId, PartNumber, Body, ContentLength: Body.length });
      const { ETag } = await this.#send((options) => this.client.send(command, options), signal, sendTimeoutMs);
      completedParts.push({ PartNumber, ETag });
    }
    signal?.throwIfAborted();
    const complete = new CompleteMultipartUploadCommand({
      ...this.#location(key),
      UploadId,
      MultipartUpload: { Parts: completedParts },
    });
    const { ETag = '' } = await this.#send((options) => this.client.send(complete, options), signal, sendTimeoutMs);
    return ETag;
  }

  /**
   * Aborts multipart uploads that were started before a time and never completed, if their keys begin with `prefix`. @returns their
   * number.
   */
  async endUploads(prefix: string, before: Date, signal: AbortSignal): Promise<number> {
    let endedCount = 0;
    let nextRequest: ListMultipartUploadsCommandInput | null = { Bucket: this.name, Prefix: prefix };
    while (nextRequest !== null) {
      const list = new ListMultipartUploadsCommand(nextRequest);
      const response: ListMultipartUploadsCommandOutput = await this.#send((options) => this.client.send(list, options), signal);
      for (const { Key, UploadId, Initiated } of response.Uploads ?? []) {
        if (Key === undefined || Initiated === undefined || Initiated >= before) continue;
        const abort = new AbortMultipartUploadCommand({ ...this.#location(Key), UploadId });
        await this.#send((options) => this.client.send(abort, options), signal);
        endedCount += 1;
      }
      const { IsTruncated, NextKeyMarker, NextUploadIdMarker } = response;
      nextRequest =
        IsTruncated === true ? { ...nextRequest, KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : null;
    }
    return endedCount;
  }

  /** Removes an object. It is not an error if the object does not exist. */
  async remove(key: string): Promise<void> {
    await this.#send((options) => this.client.send(new DeleteObjectCommand(this.#location(key)), options));
  }

  /** Removes objects, a thousand in a request. @throws an error if the store does not remove all of them. */
  async removeMany(keys: readonly string[]): Promise<void> {
    for (let from = 0; from < keys.length; from += pageLength) {
      const Objects = keys.slice(from, from + pageLength).map((Key) => ({ Key }));
      const command = new DeleteObjectsCommand({ Bucket: this.name, Delete: { Objects, Quiet: true } });
      const { Errors = [] } = await this.#send((options) => this.client.send(command, options));
      const [firstError] = Errors.filter(({ Code }) => Code !== 'NoSuchKey');
      if (firstError !== undefined)
        throw new Error(
          `The store could not remove ${firstError.Key ?? 'an object'}: ${firstError.Message ?? firstError.Code ?? ''}`,
        );
    }
  }

  #location(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.name, Key: key };
  }
}

/** A response of the store that is being received. */
interface OpenResponse {
  body: Readable;
  etag: string | undefined;
  /** Starts or stops the timeout, which must run only while this process waits for bytes, not while the reader is slow. */
  setWaiting(isWaiting: boolean): void;
  /** Closes the connection. */
  close(): void;
}

/**
 * Splits a stream into parts of `bytesPerPart` bytes. The last part may be shorter.
 *
 * @throws InvalidError if the stream does not have `size` bytes.
 */
async function* partsOf(
  content: Readable,
  { name, size, bytesPerPart }: { name: string; size: number; bytesPerPart: number },
): AsyncGenerator<Buffer, void> {
  let receivedBytes = 0;
  let chunks: Uint8Array[] = [];
  let bufferedBytes = 0;
  const sizeError = (actual: string) =>
    new InvalidError(`The file ${name} should have ${size} bytes, but its stream has ${actual}.`, 'size');
  for await (const chunk of content as AsyncIterable<Uint8Array>) {
    receivedBytes += chunk.length;
    if (receivedBytes > size) throw sizeError('more');
    chunks.push(chunk);
    bufferedBytes += chunk.length;
    if (bufferedBytes >= bytesPerPart && receivedBytes < size) {
      const joinedChunks = Buffer.concat(chunks);
      let offset = 0;
      for (; joinedChunks.length - offset >= bytesPerPart; offset += bytesPerPart)
        yield joinedChunks.subarray(offset, offset + bytesPerPart);
      chunks = [joinedChunks.subarray(offset)];
      bufferedBytes = joinedChunks.length - offset;
    }
  }
  if (receivedBytes !== size) throw sizeError(`only ${receivedBytes}`);
  yield Buffer.concat(chunks);
}
