import { LRUCache } from 'lru-cache';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, stat, symlink, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import sharp, { type Metadata, type Sharp, type SharpOptions } from 'sharp';
import { TileSourceError } from '../../errors.js';
import { fileInput } from '../byte-reader.js';
import { Gate } from '../concurrency.js';
import {
  priorities,
  type ByteReader,
  type FrameMetadata,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileSource,
  type TileSourceDefinition,
} from '../contract.js';
import { levelCount } from '../geometry.js';
import type { Raster } from '../raster.js';
import { recognizeFormat, type FileFormat } from './sharp/format.js';
import { checkSvg } from './sharp/svg.js';
import { tiffSource } from './tiff.js';

/** Where the options do not say: longest side of an image served as one tile, and most pixels that are decoded at all. */
const defaultMaxSmallImageSize = 4096;
const defaultMaxDecodedPixels = 0x3fff * 0x3fff;

/** Most pixels of formats of which libvips holds the whole picture while it decodes. */
const maxHeldPixels = 2 ** 26;

/** Files up to this length are handed to libvips as bytes, so that its cache of operations holds neither the file nor its name. */
const maxBufferedBytes = 2 ** 26;

/** Most pages that are served as frames. */
const maxFrames = 1000;

/** Bytes of decoded frames kept per open image. */
const keptFrameBytes = 2 ** 26;

/** Longest that a conversion may take, in seconds; files older than that are left behind by a process that was killed. */
const conversionSeconds = 900;

const filePrefix = 'large-image-sharp-';
const tileSide = 256;

/** Formats of which libvips needs the whole picture in memory. */
const heldFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['avif', 'gif', 'svg', 'webp']);
/** Formats whose pages are frames. */
const framedFormats: ReadonlySet<FileFormat> = new Set<FileFormat>(['gif', 'webp', 'tiff']);

/** A file as libvips is given it. */
interface Material {
  input: Buffer | string;
  format: FileFormat;
  /** Removes what was made on disk. */
  release(): Promise<void>;
}

/** One conversion to a pyramid at a time: each uses all the threads that libvips has. */
const conversions = new Gate(1);

async function open(file: SourceInput, options: SourceOptions = {}): Promise<TileSource> {
  const { maxSmallImageSize = defaultMaxSmallImageSize, signal } = options;
  const directory = options.temporaryDirectory ?? tmpdir();
  const material = await prepare(file, directory, signal);
  try {
    const settings: SharpOptions = {
      limitInputPixels: options.maxDecodedPixels ?? defaultMaxDecodedPixels,
      failOn: 'error',
      // Sequential reading is never put into libvips' cache of operations.
      sequentialRead: true,
    };
    const facts = await readFacts(material, settings, options);
    signal?.throwIfAborted();
    const { width, height } = facts.autoOrient;
    if (Math.max(width, height) > maxSmallImageSize) {
      return await openPyramid(material, settings, facts, { directory, ...options });
    }
    return await SmallImage.open(material, settings, facts);
  } catch (error) {
    await material.release();
    throw explain(error);
  }
}

/** Errors of libvips as what they mean for the file. */
function explain(error: unknown): unknown {
  if (error instanceof TileSourceError || !(error instanceof Error) || error.name === 'AbortError') return error;
  const [first = ''] = error.message.split('\n');
  return new TileSourceError(`The image cannot be read: ${first}`, { cause: error });
}

async function prepare(file: SourceInput, directory: string, signal: AbortSignal | undefined): Promise<Material> {
  const reader = await file.open();
  try {
    if (reader.size === 0) throw new TileSourceError('The file is empty.');
    const head = await reader.read(0, 4096, signal && { signal });
    const format = recognizeFormat(head);
    if (format === null)
      throw new TileSourceError('The file is no image that libvips reads (JPEG, PNG, WebP, AVIF, GIF, SVG or TIFF).');
    if (reader.size <= maxBufferedBytes) {
      const input = Buffer.from(await reader.read(0, reader.size, signal && { signal }));
      if (format === 'svg') checkSvg(input);
      return { input, format, release: async () => {} };
    }
    if (format === 'svg') throw new TileSourceError(`SVG files of more than ${maxBufferedBytes} bytes are not read.`);
    // A name of its own: libvips must never take another file, or another state of it, for this one.
    const path = join(directory, `${filePrefix}${randomUUID()}`);
    const release = () => unlink(path).catch(() => {});
    try {
      if (file.path !== null) await symlink(resolve(file.path), path);
      else await pipeline(Readable.from(chunks(reader, signal)), createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    } catch (error) {
      await release();
      throw error;
    }
    return { input: path, format, release };
  } finally {
    await reader.close();
  }
}

async function* chunks(reader: ByteReader, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const length = 2 ** 20;
  for (let offset = 0; offset < reader.size; offset += length) {
    yield await reader.read(offset, Math.min(length, reader.size - offset), signal && { signal });
  }
}

/** What libvips says of a file, checked against the limits before anything is decoded. */
async function readFacts(material: Material, settings: SharpOptions, options: SourceOptions): Promise<Metadata> {
  const facts = await sharp(material.input, settings).metadata();
  const { width, height } = facts.autoOrient;
  if (!(width >= 1 && height >= 1)) throw new TileSourceError('The image has no pixels.');
  const held = heldFormats.has(material.format) || facts.isProgressive === true;
  const usual = options.maxDecodedPixels ?? defaultMaxDecodedPixels;
  const limit = held ? Math.min(usual, maxHeldPixels) : usual;
  if (width * height > limit) {
    throw new TileSourceError(`The image has ${width} x ${height} pixels; at most ${limit} are decoded in a file of this kind.`);
  }
  return facts;
}

/** How samples are decoded: bands and type, and whether libvips has to convert colours (CMYK and the like) itself. */
interface SampleForm {
  bands: 1 | 2 | 3 | 4;
  dtype: 'uint8' | 'uint16';
  converted: boolean;
}

function sampleForm(facts: Metadata): SampleForm {
  const gray = facts.channels <= 2;
  const alpha = facts.hasAlpha === true;
  const converted = !['srgb', 'rgb', 'rgb16', 'b-w', 'grey16', 'scrgb'].includes(facts.space ?? '');
  return {
    bands: gray && !converted ? (alpha ? 2 : 1) : alpha ? 4 : 3,
    dtype: facts.depth === 'ushort' ? 'uint16' : 'uint8',
    converted,
  };
}

/** Opens the picture upright, colours untouched where they can be. */
function upright(material: Material, settings: SharpOptions, form: SampleForm, page: number): Sharp {
  const image = sharp(material.input, { ...settings, ...(page > 0 && { page }), ignoreIcc: !form.converted }).autoOrient();
  if (form.dtype === 'uint16') return image.toColourspace(form.bands === 1 ? 'grey16' : 'rgb16');
  return image.toColourspace(form.bands === 1 ? 'b-w' : 'srgb');
}

/** Decodes one page as a whole. */
async function decode(material: Material, settings: SharpOptions, form: SampleForm, page: number): Promise<Raster> {
  const image = upright(material, settings, form, page);
  const { data, info } = await image
    .raw({ depth: form.dtype === 'uint16' ? 'ushort' : 'uchar' })
    .toBuffer({ resolveWithObject: true });
  const samples = form.dtype === 'uint16' ? new Uint16Array(data.buffer, data.byteOffset, data.length / 2) : new Uint8Array(data);
  const raster: Raster = { data: samples, width: info.width, height: info.height, bands: info.channels, dtype: form.dtype };
  return raster.bands === form.bands ? raster : chooseBands(raster, form.bands);
}

/** Gray with alpha comes from libvips as RGB with alpha. */
function chooseBands(raster: Raster, bands: SampleForm['bands']): Raster {
  if (bands > raster.bands) throw new TileSourceError(`The image has ${raster.bands} bands where its header says ${bands}.`);
  const kept = bands === 2 ? [0, raster.bands - 1] : Array.from({ length: bands }, (_, band) => band);
  const count = raster.width * raster.height;
  const data = raster.dtype === 'uint16' ? new Uint16Array(count * bands) : new Uint8Array(count * bands);
  for (let pixel = 0; pixel < count; pixel += 1) {
    kept.forEach((band, position) => {
      data[pixel * bands + position] = raster.data[pixel * raster.bands + band] ?? 0;
    });
  }
  return { ...raster, data, bands };
}

/** An image of which each frame is a single tile. */
class SmallImage implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels = [0];
  readonly retainedBytes: number;
  readonly #material: Material;
  readonly #settings: SharpOptions;
  readonly #form: SampleForm;
  readonly #facts: Metadata;
  readonly #frames = new LRUCache<number, Raster>({
    maxSize: keptFrameBytes * 2,
    sizeCalculation: (raster) => Math.max(1, raster.data.byteLength),
  });

  /** Decodes the first frame, so that a file that cannot be shown is refused at once. */
  static async open(material: Material, settings: SharpOptions, facts: Metadata): Promise<SmallImage> {
    const form = sampleForm(facts);
    const first = await decode(material, settings, form, 0);
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
    const kept = frames > 1 ? Math.max(first.data.byteLength, keptFrameBytes) : first.data.byteLength;
    this.retainedBytes = kept + (Buffer.isBuffer(material.input) ? material.input.length : 0);
  }

  async readTile({ frame }: { frame: number }, options: { signal?: AbortSignal } = {}): Promise<Raster> {
    const kept = this.#frames.get(frame);
    if (kept) return kept;
    options.signal?.throwIfAborted();
    try {
      const raster = await decode(this.#material, this.#settings, this.#form, frame);
      if (raster.width !== this.metadata.sizeX || raster.height !== this.metadata.sizeY) {
        throw new TileSourceError(`Frame ${frame} has ${raster.width} x ${raster.height} pixels, unlike the first one.`);
      }
      this.#frames.set(frame, raster);
      return raster;
    } catch (error) {
      throw explain(error);
    }
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

function describeFacts({ format, space, channels, depth, density, pages, orientation, width, height }: Metadata) {
  return { sharp: { format, space, channels, depth, density, pages, orientation, width, height } };
}

/** Pages that can be served as frames: those of equal size. */
async function countFrames(material: Material, settings: SharpOptions, facts: Metadata): Promise<number> {
  const { pages = 1 } = facts;
  if (!framedFormats.has(material.format) || pages <= 1) return 1;
  if (pages > maxFrames) throw new TileSourceError(`The file has ${pages} pages; at most ${maxFrames} are served as frames.`);
  if (material.format !== 'tiff') return pages;
  for (let page = 1; page < pages; page += 1) {
    const { width, height } = await sharp(material.input, { ...settings, page }).metadata();
    if (width !== facts.width || height !== facts.height) return 1;
  }
  return pages;
}

/** Turns a large picture into a temporary pyramid of tiles and reads that. */
async function openPyramid(
  material: Material,
  settings: SharpOptions,
  facts: Metadata,
  options: SourceOptions & { directory: string },
): Promise<TileSource> {
  const { directory, signal } = options;
  const path = join(directory, `${filePrefix}${randomUUID()}.tiff`);
  const form = sampleForm(facts);
  const lossy = ['jpeg', 'webp', 'avif'].includes(material.format) && form.dtype === 'uint8' && form.bands % 2 === 1;
  try {
    await conversions.run(async () => {
      await removeLeftovers(directory);
      await upright(material, settings, form, 0)
        .timeout({ seconds: conversionSeconds })
        .tiff({
          tile: true,
          tileWidth: tileSide,
          tileHeight: tileSide,
          pyramid: true,
          bigtiff: true,
          ...(lossy ? { compression: 'jpeg', quality: 92 } : { compression: 'lzw', predictor: 'horizontal' }),
        })
        .toFile(path);
    }, signal);
    const pyramid = await tiffSource.open(fileInput(path), options);
    await material.release();
    // The open file needs no name; where the system insists on one, it goes when the image is closed.
    const unlinked = await unlink(path).then(
      () => true,
      () => false,
    );
    return new PyramidImage(pyramid, facts, form.converted ? null : (facts.icc ?? null), async () => {
      if (!unlinked) await unlink(path).catch(() => {});
    });
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  }
}

/** Removes what processes that were killed in the middle of a conversion left behind. */
async function removeLeftovers(directory: string): Promise<void> {
  const oldest = Date.now() - 2 * conversionSeconds * 1000;
  for (const name of await readdir(directory)) {
    if (!name.startsWith(filePrefix) || !name.endsWith('.tiff')) continue;
    const path = join(directory, name);
    const old = await stat(path).then(
      ({ mtimeMs }) => mtimeMs < oldest,
      () => false,
    );
    if (old) await unlink(path).catch(() => {});
  }
}

/** A temporary pyramid that answers for the file it was made from. */
class PyramidImage implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly readStoredTile: TileSource['readStoredTile'];
  readonly retainedBytes: number;
  readonly #pyramid: TileSource;
  readonly #facts: Metadata;
  readonly #profile: Uint8Array | null;
  readonly #discard: () => Promise<void>;

  constructor(pyramid: TileSource, facts: Metadata, profile: Uint8Array | null, discard: () => Promise<void>) {
    this.#pyramid = pyramid;
    this.#facts = facts;
    this.#profile = profile;
    this.#discard = discard;
    // The resolution that libvips writes is made up.
    this.metadata = { ...pyramid.metadata, levels: levelCount(pyramid.metadata), magnification: null, mmX: null, mmY: null };
    this.populatedLevels = pyramid.populatedLevels;
    this.readStoredTile = pyramid.readStoredTile && ((address, options) => pyramid.readStoredTile!(address, options));
    this.retainedBytes = pyramid.retainedBytes ?? 0;
  }

  readTile(...call: Parameters<TileSource['readTile']>): Promise<Raster> {
    return this.#pyramid.readTile(...call);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return describeFacts(this.#facts);
  }

  iccProfile(): Uint8Array | null {
    return this.#profile;
  }

  async close(): Promise<void> {
    await this.#pyramid.close();
    await this.#discard();
  }
}

/** What libvips reads: JPEG, PNG, WebP, AVIF, GIF, SVG and untiled TIFF, within limits of pixels. */
export const sharpSource: TileSourceDefinition = {
  name: 'sharp',
  ...(sharp.versions.sharp !== undefined && { version: sharp.versions.sharp }),
  extensions: {
    default: priorities.fallbackHigh,
    jpg: priorities.low,
    jpeg: priorities.low,
    jpe: priorities.low,
    jfif: priorities.implicitHigh,
    png: priorities.implicitHigh,
    webp: priorities.implicitHigh,
    avif: priorities.implicitHigh,
    gif: priorities.implicitHigh,
    svg: priorities.implicitHigh,
    tif: priorities.implicitHigh,
    tiff: priorities.implicitHigh,
  },
  mimeTypes: {
    default: priorities.fallbackHigh,
    'image/jpeg': priorities.low,
    'image/png': priorities.implicitHigh,
    'image/webp': priorities.implicitHigh,
    'image/avif': priorities.implicitHigh,
    'image/gif': priorities.implicitHigh,
    'image/svg+xml': priorities.implicitHigh,
    'image/tiff': priorities.implicitHigh,
  },
  ignoredNames: /(\.mrxs|\.vsi)$/i,
  open,
};
