import { callerName } from '../../../core/concurrency/queues.js';
import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { NotFoundError } from '../../../errors.js';
import type { DicomFile, DicomJson } from '../../../tilesource/tile-source.js';
import type { Images } from '../../images/images.js';
import { transferSyntaxes } from '../format/dataset.js';
import type { FileInstance } from '../images/locator.js';
import type { CallerContext } from './slides.js';
import type { StreamedFile } from './streamed-file.js';

/** Number of bytes of a file that are read at a time. */
const pieceBytes = 2 ** 18;

/** Reads instances that are stored as DICOM files: their metadata, values and frames, and the unchanged files. */
export class DicomFiles {
  constructor(private readonly parts: { images: Images; queue: WorkQueue }) {}

  #useFile<R>(
    { item, uid }: FileInstance,
    { caller, signal }: CallerContext,
    use: (file: DicomFile) => Promise<R> | R,
  ): Promise<R> {
    const findAndUseFile = () =>
      this.parts.images.useOpened(
        item,
        ({ borrowed }) => {
          const file = borrowed.source.dicomFiles?.find(({ instanceUid }) => instanceUid === uid);
          if (file === undefined) throw new NotFoundError('The file of this instance no longer exists.');
          return use(file);
        },
        signal,
      );
    return this.parts.queue.run(findAndUseFile, { signal, caller: callerName(caller), isNeverRefused: true });
  }

  /** The transfer syntaxes in which the frames are available, the stored syntax first, and the number of frames. */
  loadSyntaxesAndFrameCount(instance: FileInstance, context: CallerContext): Promise<{ syntaxes: string[]; frameCount: number }> {
    return this.#useFile(instance, context, ({ transferSyntax, frames: frameCount, isEncapsulated }) => ({
      syntaxes: isEncapsulated ? [transferSyntax, transferSyntaxes.explicitLittle] : [transferSyntax],
      frameCount,
    }));
  }

  loadMetadata(instance: FileInstance, instanceAddress: string, context: CallerContext): Promise<DicomJson> {
    return this.#useFile(instance, context, async (file) => ({
      ...(await file.json(`${instanceAddress}/bulkdata`, context.signal)),
      '00083002': { vr: 'UI', Value: [file.transferSyntax] },
    }));
  }

  /** A long value by its name in the metadata; `null` if there is no such value. */
  loadBulkValue(instance: FileInstance, name: string, context: CallerContext): Promise<Uint8Array | null> {
    return this.#useFile(instance, context, (file) => file.value(name.split('.'), context.signal));
  }

  /** A frame, counted from 0. In the stored transfer syntax, the frame is unchanged; otherwise, it is decoded. */
  loadFrame(instance: FileInstance, frameIndex: number, syntax: string, context: CallerContext): Promise<Uint8Array> {
    return this.#useFile(instance, context, async (file) => {
      if (syntax === file.transferSyntax) return file.frame(frameIndex, context.signal);
      const { data } = await file.decoded(frameIndex, context.signal);
      return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    });
  }

  /** Streams the file unchanged. */
  async streamFile(instance: FileInstance, context: CallerContext): Promise<StreamedFile> {
    const size = await this.#useFile(instance, context, (file) => file.size);
    const pieceCount = Math.ceil(size / pieceBytes);
    return {
      head: Buffer.alloc(0),
      pieceCount,
      startOf: (piece) => Math.min(size, piece * pieceBytes),
      makePiece: (piece) =>
        this.#useFile(instance, context, (file) =>
          file.bytes(piece * pieceBytes, Math.min(pieceBytes, size - piece * pieceBytes), context.signal),
        ),
      tail: Buffer.alloc(0),
    };
  }
}
