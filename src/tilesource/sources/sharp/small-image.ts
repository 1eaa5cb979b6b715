import { LRUCache } from 'lru-cache';
import sharp, { type Metadata, type SharpOptions } from 'sharp';
import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata, ImageMetadata, LossyCodec, TileSource } from '../../tile-source.js';
import type { Raster } from '../../raster.js';
import { decodePage, describeHeader, toTileSourceError, sampleFormOf, type SampleForm, type VipsFile } from './decode.js';
import { lossyCodecOf, type FileFormat } from './format.js';
import type { PreparedFile } from './prepared-file.js';

/** Maximum number of pages that are served as frames. */
const maxFrames = 1000;

/**
 * Maximum number of pixels of all frames of an animation. Each frame is drawn over the earlier frames, so decoding the last frame
 * costs as much as decoding all frames.
 */
const maxAnimationPixels = 2 ** 30;

/** Maximum number of bytes of decoded frames that an open image caches. One frame is always cached. */
const maxCachedBytes = 2 ** 26;

/** Formats whose pages are frames. */
const framedFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['gif', 'webp', 'tiff']);

/** An image of which each frame is a single tile. */
export class SmallImage implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels = [0];
  readonly retainedBytes: number;
  readonly #preparedFile: PreparedFile;
  readonly #settings: SharpOptions;
  readonly #form: SampleForm;
  readonly #header: Metadata;
  readonly #frames: LRUCache<number, Raster>;

  /** Decodes the first frame, so that a file that cannot be decoded is refused when it is opened. */
  static async open(
    preparedFile: PreparedFile,
    settings: SharpOptions,
    header: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<SmallImage> {
    const form = sampleFormOf(header);
    const firstFrame = await decodePage(preparedFile, settings, { form, page: 0, signal });
    return new SmallImage(preparedFile, settings, header, form, firstFrame, await countFrames(preparedFile, settings, header));
  }

  private constructor(
    preparedFile: PreparedFile,
    settings: SharpOptions,
    header: Metadata,
    form: SampleForm,
    firstFrame: Raster,
    frameCount: number,
  ) {
    this.#preparedFile = preparedFile;
    this.#settings = settings;
    this.#header = header;
    this.#form = form;
    const frameBytes = firstFrame.data.byteLength;
    const cacheBytes = frameCount > 1 ? Math.max(frameBytes, maxCachedBytes) : frameBytes;
    this.#frames = new LRUCache({ maxSize: cacheBytes, sizeCalculation: ({ data }) => data.byteLength });
    this.#frames.set(0, firstFrame);
    const { width, height, bands, dtype } = firstFrame;
    const frameMetadata = Array.from({ length: frameCount }, (): FrameMetadata => ({ axes: {} }));
    this.metadata = {
      sizeX: width,
      sizeY: height,
      tileWidth: width,
      tileHeight: height,
      levels: 1,
      magnification: null,
      mmX: null,
      mmY: null,
      dtype,
      bandCount: bands,
      ...(frameCount > 1 && { frames: frameMetadata }),
    };
    this.retainedBytes = cacheBytes + (Buffer.isBuffer(preparedFile.input) ? preparedFile.input.length : 0);
  }

  async readTile({ frame }: { frame: number }, options: { signal?: AbortSignal } = {}): Promise<Raster> {
    const cachedFrame = this.#frames.get(frame);
    if (cachedFrame) return cachedFrame;
    options.signal?.throwIfAborted();
    try {
      const raster = await decodePage(this.#preparedFile, this.#settings, {
        form: this.#form,
        page: frame,
        signal: options.signal,
      });
      if (raster.width !== this.metadata.sizeX || raster.height !== this.metadata.sizeY) {
        throw new TileSourceError(`Frame ${frame} has ${raster.width} x ${raster.height} pixels, unlike the first frame.`);
      }
      this.#frames.set(frame, raster);
      return raster;
    } catch (error) {
      throw toTileSourceError(error);
    }
  }

  async lossyCodec(): Promise<LossyCodec | null> {
    return lossyCodecOf(this.#preparedFile.format);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return describeHeader(this.#header);
  }

  iccProfile(): Uint8Array | null {
    return this.#form.mustConvert ? null : (this.#header.icc ?? null);
  }

  async close(): Promise<void> {
    this.#frames.clear();
    await this.#preparedFile.release();
  }
}

/** Number of pages that are served as frames. If the pages of a TIFF differ in size, only the first page is served. */
export async function countFrames(file: VipsFile, settings: SharpOptions, header: Metadata): Promise<number> {
  const { pages = 1 } = header;
  if (!framedFormats.has(file.format) || pages <= 1) return 1;
  if (pages > maxFrames) throw new TileSourceError(`The file has ${pages} pages; at most ${maxFrames} are served as frames.`);
  if (file.format !== 'tiff') {
    if (pages * header.width * header.height > maxAnimationPixels) {
      throw new TileSourceError(
        `The animation has ${pages} frames of ${header.width} x ${header.height} pixels; at most ${maxAnimationPixels} pixels are served in total.`,
      );
    }
    return pages;
  }
  for (let page = 1; page < pages; page += 1) {
    const { width, height } = await sharp(file.input, { ...settings, page }).metadata();
    if (width !== header.width || height !== header.height) return 1;
  }
  return pages;
}
