import { LRUCache } from 'lru-cache';
import sharp, { type Metadata, type SharpOptions } from 'sharp';
import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata, ImageMetadata, LossyCodec, TileSource } from '../../tile-source.js';
import type { Raster } from '../../raster.js';
import { decode, describeFacts, explain, sampleForm, type SampleForm, type VipsFile } from './decode.js';
import { lossyCodecOf, type FileFormat } from './format.js';
import type { Material } from './material.js';

/** Maximum number of pages that are served as frames. */
const maxFrames = 1000;

/**
 * Maximum number of pixels of all frames of an animation. Each frame is drawn over those before it, so decoding the last one costs
 * as much as decoding all.
 */
const maxAnimationPixels = 2 ** 30;

/** Maximum number of bytes of decoded frames that an open image caches. One frame is always cached. */
const maxCachedBytes = 2 ** 26;

/** Formats whose pages are frames. */
const framedFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['gif', 'webp', 'tiff']);

/** An image whose frames are single tiles. */
export class SmallImage implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels = [0];
  readonly retainedBytes: number;
  readonly #material: Material;
  readonly #settings: SharpOptions;
  readonly #form: SampleForm;
  readonly #facts: Metadata;
  readonly #frames: LRUCache<number, Raster>;

  /** Decodes the first frame, so that a file that cannot be decoded is refused when it is opened. */
  static async open(
    material: Material,
    settings: SharpOptions,
    facts: Metadata,
    signal: AbortSignal | undefined,
  ): Promise<SmallImage> {
    const form = sampleForm(facts);
    const first = await decode(material, settings, { form, page: 0, signal });
    return new SmallImage(material, settings, facts, form, first, await countFrames(material, settings, facts));
  }

  private constructor(
    material: Material,
    settings: SharpOptions,
    facts: Metadata,
    form: SampleForm,
    first: Raster,
    frames: number,
  ) {
    this.#material = material;
    this.#settings = settings;
    this.#facts = facts;
    this.#form = form;
    const frameBytes = first.data.byteLength;
    const maxSize = frames > 1 ? Math.max(frameBytes, maxCachedBytes) : frameBytes;
    this.#frames = new LRUCache({ maxSize, sizeCalculation: ({ data }) => data.byteLength });
    this.#frames.set(0, first);
    const { width, height, bands, dtype } = first;
    const list = Array.from({ length: frames }, (): FrameMetadata => ({ axes: {} }));
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
      ...(frames > 1 && { frames: list }),
    };
    this.retainedBytes = maxSize + (Buffer.isBuffer(material.input) ? material.input.length : 0);
  }

  async readTile({ frame }: { frame: number }, options: { signal?: AbortSignal } = {}): Promise<Raster> {
    const cached = this.#frames.get(frame);
    if (cached) return cached;
    options.signal?.throwIfAborted();
    try {
      const raster = await decode(this.#material, this.#settings, { form: this.#form, page: frame, signal: options.signal });
      if (raster.width !== this.metadata.sizeX || raster.height !== this.metadata.sizeY) {
        throw new TileSourceError(`Frame ${frame} has ${raster.width} x ${raster.height} pixels, unlike the first one.`);
      }
      this.#frames.set(frame, raster);
      return raster;
    } catch (error) {
      throw explain(error);
    }
  }

  async lossyCodec(): Promise<LossyCodec | null> {
    return lossyCodecOf(this.#material.format);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return describeFacts(this.#facts);
  }

  iccProfile(): Uint8Array | null {
    return this.#form.converted ? null : (this.#facts.icc ?? null);
  }

  async close(): Promise<void> {
    this.#frames.clear();
    await this.#material.release();
  }
}

/** Number of pages that are served as frames. It is only the first one if the pages of a TIFF differ in size. */
export async function countFrames(material: VipsFile, settings: SharpOptions, facts: Metadata): Promise<number> {
  const { pages = 1 } = facts;
  if (!framedFormats.has(material.format) || pages <= 1) return 1;
  if (pages > maxFrames) throw new TileSourceError(`The file has ${pages} pages; at most ${maxFrames} are served as frames.`);
  if (material.format !== 'tiff') {
    if (pages * facts.width * facts.height > maxAnimationPixels) {
      throw new TileSourceError(
        `The animation has ${pages} frames of ${facts.width} x ${facts.height} pixels; at most ${maxAnimationPixels} pixels are served in total.`,
      );
    }
    return pages;
  }
  for (let page = 1; page < pages; page += 1) {
    const { width, height } = await sharp(material.input, { ...settings, page }).metadata();
    if (width !== facts.width || height !== facts.height) return 1;
  }
  return pages;
}
