import { open, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import sharp, { type Metadata } from 'sharp';
import { BadValueError, TileSourceError } from '../../errors.js';
import { fileInput, openFileReader } from '../byte-reader.js';
import type { ImageMetadata, TileSource } from '../contract.js';
import { TiffContainer, tagOf, type DirectoryPlan, type Tag } from '../pyramid/container.js';
import { isLossy, type TileCompression, type TilePacking } from '../pyramid/tiles.js';
import { readFacts, sampleForm, type VipsFile } from '../sources/sharp/decode.js';
import { recognizeFormat } from '../sources/sharp/format.js';
import { countFrames } from '../sources/sharp/small-image.js';
import { isStoredInTiles } from '../sources/sharp/stored-in-tiles.js';
import { checkSvg, maxDrawingBytes } from '../sources/sharp/svg.js';
import { sharpSource } from '../sources/sharp/sharp-source.js';
import { leastResolution } from '../sources/tiff/descriptions.js';
import { tiffSource } from '../sources/tiff/tiff-source.js';
import { vipsReason } from '../process/vips-reason.js';
import { associatedDirectories } from './associated.js';
import { describeConversion, describeFrame, redescribe, type ConversionFacts } from './description.js';
import { writeLevels } from './frame-levels.js';
import { isLossyTiff } from './lossy-tiff.js';
import { defaultTileSize, type ConversionOptions, type ConversionTask } from './options.js';
import { isPlainStrips } from './plain-strips.js';
import type { RemoteImage } from './remote-source.js';
import { mapSamples } from './samples.js';
import { vipsSettings, type VipsPass } from './vips-pass.js';

/** What a conversion tells while it runs. */
export interface ConversionReport {
  /** How much is done, from 0 to 1. */
  progress: (done: number) => void;
  log: (text: string) => void;
  /** Has a pass of libvips run in another process. */
  vipsPass: (pass: VipsPass, progress: (done: number) => void) => Promise<void>;
  /** Reads an image that is open in another process. */
  remote?: (image: RemoteImage) => TileSource;
}

/** Longest side of a picture that is decoded as a whole. */
const maxUntiledSide = 4096;
/** Tiles of the uncompressed file between two passes. */
const baseTileSide = 512;
/** Share of the work that the pass before the writing has, where there are two. */
const baseShare = 0.3;

const vipsCompressions: readonly TileCompression[] = ['none', 'jpeg', 'deflate', 'lzw', 'packbits', 'webp'];

/**
 * Makes a pyramid of tiles of an image file.
 *
 * @throws TileSourceError when the file cannot be read; BadValueError when it has no such frame.
 */
export async function convert(task: ConversionTask, report: ConversionReport): Promise<void> {
  sharp.cache(false);
  sharp.concurrency(1);
  if (task.image !== undefined && report.remote !== undefined) {
    const first = report.remote(task.image);
    return writeFrom([{ open: async () => first, first }], { task, report, lossy: task.image.lossy, from: 0 });
  }
  const input = fileInput(task.input.path, { name: task.input.name, mimeType: task.input.mimeType });
  const limits = { maxSmallImageSize: maxUntiledSide, maxDecodedPixels: Infinity, temporaryDirectory: task.directory };
  const tiff = await tiffSource.open(input, limits).catch((error: unknown) => {
    if (error instanceof TileSourceError) return error;
    throw error;
  });
  if (tiff instanceof TileSourceError) {
    return convertByVips(task, report, await recognize(task.input.path, tiff), unscaled);
  }
  const lossy = await isLossyTiff(task.input.path);
  if (await isPlainStrips(task.input.path, tiff, maxUntiledSide)) {
    await tiff.close();
    const { magnification, mmX, mmY, channels } = tiff.metadata;
    const known = { magnification, mmX, mmY, ...(channels && { channels }) };
    return convertByVips(task, report, { input: task.input.path, format: 'tiff' }, known);
  }
  await writeFrom([{ open: async () => tiff, first: tiff }], { task, report, lossy, from: 0 });
}

/** What libvips does not know of a file. */
type KnownMetadata = Pick<ImageMetadata, 'magnification' | 'mmX' | 'mmY' | 'channels'>;

const unscaled: KnownMetadata = { magnification: null, mmX: null, mmY: null };

/** What files other than TIFF say of their scale: pixels per inch, which below some number are those of screens and printers. */
function scaleOf({ density = 0 }: Metadata): KnownMetadata {
  if (density < leastResolution) return unscaled;
  return { ...unscaled, mmX: 25.4 / density, mmY: 25.4 / density };
}

/** Files that only libvips reads, or that it reads as well and faster. */
async function convertByVips(
  task: ConversionTask,
  report: ConversionReport,
  file: VipsFile,
  described: KnownMetadata,
): Promise<void> {
  const { options, input } = task;
  const facts = await readFacts(file, vipsSettings, { maxDecodedPixels: Infinity }).catch((error: unknown) => {
    if (error instanceof TileSourceError) throw error;
    throw new TileSourceError(`The image cannot be read: ${vipsReason(error)}.`, { cause: error });
  });
  const known = described === unscaled ? scaleOf(facts) : described;
  const frames = await countFrames(file, vipsSettings, facts);
  const chosen = chosenFrames(options.onlyFrame, frames);
  const lossy = ['jpeg', 'webp', 'avif'].includes(file.format) || (file.format === 'tiff' && (await isLossyTiff(input.path)));
  const packing = packingFor(options, { lossyTiff: file.format === 'tiff' && lossy, dtype: sampleForm(facts).dtype });
  const nearest = isNearest(options, lossy || isLossy(packing));
  const pass: VipsPass = {
    input: input.path,
    format: file.format,
    output: task.output,
    page: chosen[0] ?? 0,
    threads: task.threads,
    kind: 'pyramid',
    tileSide: options.tileSize ?? defaultTileSize,
    compression: 'none',
    quality: packing.quality,
    predictor: packing.predictor,
    pixelsPerMm: known.mmX === null ? null : 1 / known.mmX,
  };
  const { compression } = packing;
  const plain = vipsCompressions.includes(compression) && !nearest && packing.level === null;
  const losslessWebp = compression === 'webp' && packing.quality === 0;
  const upright = (facts.orientation ?? 1) === 1;
  if (chosen.length === 1 && plain && !losslessWebp && upright) {
    await report.vipsPass({ ...pass, compression: compression as VipsPass['compression'] }, report.progress);
    const made = await tiffSource.open(fileInput(task.output));
    const metadata = { ...made.metadata, ...known };
    const levels = made.populatedLevels.length;
    await made.close();
    await redescribe(
      task.output,
      describeConversion(factsOf(task, { ...packing, tileSide: pass.tileSide }, facts, { metadata, levels, frames: 1 }), null),
      {
        keepsResolution: pass.pixelsPerMm !== null,
      },
    );
    return;
  }
  if (Math.max(facts.width, facts.height) <= maxUntiledSide) {
    const source = await sharpSource.open(fileInput(input.path, input), { maxSmallImageSize: maxUntiledSide });
    const internal = await source.internalMetadata?.();
    const scaled = { ...withKnown(source, known, source.iccProfile?.(0) ?? null), internalMetadata: async () => internal ?? {} };
    return writeFrom([{ open: async () => scaled, first: scaled }], { task, report, lossy, from: 0, facts });
  }
  // Through uncompressed tiles on disk, one frame after the other.
  const base = join(task.directory, 'base.tiff');
  const icc = sampleForm(facts).converted ? null : (facts.icc ?? null);
  const share = baseShare / chosen.length;
  const frameAt = (page: number, index: number) => async () => {
    await unlink(base).catch(() => {});
    const start = index / chosen.length;
    await report.vipsPass(
      { ...pass, kind: 'base', output: base, page, tileSide: baseTileSide, compression: 'none', predictor: false },
      (done) => report.progress(start + done * share),
    );
    const source = await tiffSource.open(fileInput(base));
    return withKnown(source, known, icc);
  };
  const opened = chosen.map((page, index) => ({ open: frameAt(page, index) }));
  await writeFrom(opened, { task, report, lossy, from: baseShare, facts });
}

/** libvips makes up a resolution; the profile is that of the file it read. */
function withKnown(source: TileSource, known: KnownMetadata, icc: Uint8Array | null): TileSource {
  return {
    metadata: { ...source.metadata, ...known },
    populatedLevels: source.populatedLevels,
    readTile: (...call) => source.readTile(...call),
    iccProfile: () => icc,
    close: () => source.close(),
  };
}

async function recognize(path: string, refused: TileSourceError): Promise<VipsFile> {
  const reader = await openFileReader(path);
  try {
    const format = recognizeFormat(await reader.read(0, 4096));
    if (format === null) throw new TileSourceError(`No reader knows this file. As a TIFF: ${refused.message}`);
    if (format === 'tiff' && (await isStoredInTiles(reader))) throw refused;
    if (format === 'svg') {
      if (reader.size > maxDrawingBytes)
        throw new TileSourceError(`SVG files of more than ${maxDrawingBytes} bytes are not read.`);
      await checkSvg(await readFile(path));
    }
    return { input: path, format };
  } finally {
    await reader.close();
  }
}

function chosenFrames(only: number | null, frames: number): number[] {
  if (only === null) return Array.from({ length: frames }, (_, frame) => frame);
  if (only >= frames) throw new BadValueError(`Frame ${only} does not exist; the image has ${frames}`);
  return [only];
}

function packingFor(
  options: ConversionOptions,
  source: { lossyTiff: boolean; dtype: ImageMetadata['dtype'] },
): TilePacking & { compression: TileCompression } {
  const usual = source.lossyTiff && source.dtype === 'uint8' ? 'jpeg' : 'lzw';
  return {
    compression: options.compression ?? usual,
    quality: options.quality,
    halfColor: options.quality < 90,
    predictor: options.predictor,
    level: options.level,
  };
}

function isNearest({ reduction }: ConversionOptions, lossy: boolean): boolean {
  return reduction === null ? !lossy : reduction === 'nearest';
}

interface Opened {
  open(): Promise<TileSource>;
  /** The source, where all frames are in one that is open already. */
  first?: TileSource;
}

interface Writing {
  task: ConversionTask;
  report: ConversionReport;
  lossy: boolean;
  /** Share of the work on each frame that is done before it is written. */
  from: number;
  facts?: Metadata;
}

/** Writes all chosen frames of one source, or the only frames of several. */
async function writeFrom(opened: readonly Opened[], writing: Writing): Promise<void> {
  const { task, report, lossy, from } = writing;
  const { options } = task;
  const first = opened[0]?.first;
  const frames = first ? chosenFrames(options.onlyFrame, first.metadata.frames?.length ?? 1) : opened.map(() => 0);
  const file = await open(task.output, 'wx+', 0o600);
  const container = new TiffContainer(file);
  const plans: DirectoryPlan[] = [];
  try {
    for (const [index, frame] of frames.entries()) {
      const source = first ?? (await opened[index]!.open());
      const { metadata } = source;
      const packing = packingFor(options, { lossyTiff: lossy && writing.facts === undefined, dtype: metadata.dtype });
      const mapping = await mapSamples(source, first ? frames : [0]);
      const { directories, tileSide, copied } = await writeLevels({
        source,
        frame,
        container,
        options,
        packing,
        mapping,
        nearest: isNearest(options, lossy || isLossy(packing)),
        threads: task.threads,
        progress: (done) => report.progress((index + from + (1 - from) * done) / frames.length),
      });
      if (copied > 0) report.log(`Copied the tiles of ${copied} of ${directories.length} levels of frame ${frame}\n`);
      const icc = source.iccProfile?.(frame) ?? null;
      const many = frames.length > 1;
      const associated = many || index > 0 ? [] : (source.associatedImages ?? []);
      const facts = factsOf(task, { ...packing, tileSide }, writing.facts, {
        metadata,
        levels: directories.length,
        frames: frames.length,
        internal: (await source.internalMetadata?.()) ?? {},
        associated,
      });
      const text = index === 0 ? describeConversion(facts, many ? frame : null) : describeFrame(metadata, frame);
      const dressed = directories.map((plan, level) => ({
        ...plan,
        tags: [
          ...plan.tags,
          ...resolution(metadata, level),
          ...(icc === null ? [] : [tagOf.bytes(34_675, icc)]),
          ...(level === 0 ? [tagOf.ascii(270, text)] : []),
        ],
      }));
      if (many) plans.push({ ...dressed[0]!, sub: dressed.slice(1) });
      else plans.push(...dressed, ...(await associatedDirectories(container, source, packing)));
      if (first === undefined) await source.close();
    }
    await container.finish(plans, { big: 'when needed' });
    await file.datasync();
  } finally {
    await file.close();
    await first?.close();
  }
}

function resolution({ mmX, mmY }: ImageMetadata, level: number): Tag[] {
  if (mmX === null || mmY === null) return [];
  const scale = 2 ** level;
  return [tagOf.rational(282, 10 / (mmX * scale)), tagOf.rational(283, 10 / (mmY * scale)), tagOf.short(296, 3)];
}

function factsOf(
  task: ConversionTask,
  { compression, tileSide: tileSize }: { compression: TileCompression; tileSide: number },
  facts: Metadata | undefined,
  made: Partial<ConversionFacts> & Pick<ConversionFacts, 'metadata' | 'levels' | 'frames'>,
): ConversionFacts {
  const { options, version } = task;
  const source = facts && { sharp: { format: facts.format, space: facts.space, channels: facts.channels, depth: facts.depth } };
  return {
    internal: source ?? {},
    associated: [],
    arguments: { ...options, compression, tileSize },
    version,
    ...made,
  };
}
