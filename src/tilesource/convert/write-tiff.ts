import { open } from 'node:fs/promises';
import type { Metadata } from 'sharp';
import { BadValueError } from '../../errors.js';
import type { ImageMetadata, TileSource } from '../tile-source.js';
import { TiffContainer, tagOf, type DirectoryPlan, type Tag } from '../pyramid/container.js';
import { isLossy, type TileCompression, type TilePacking } from '../pyramid/tiles.js';
import { tags } from '../sources/tiff/file/tags.js';
import { writeAssociatedImages } from './associated.js';
import type { RemoteImage } from './child/remote-source.js';
import type { VipsPass } from './child/vips-pass.js';
import { describeConversion, describeFrame, type ConversionSummary } from './conversion-description.js';
import { writeLevels } from './frame-levels.js';
import type { ConversionOptions, ConversionTask } from './options.js';
import { findSampleMapping } from './samples.js';

export interface ConversionCallbacks {
  /** Called with the share of the work that is done, from 0 to 1. */
  onProgress: (done: number) => void;
  log: (text: string) => void;
  /** Runs a pass of libvips in another process. */
  runVipsPass: (pass: VipsPass, onProgress: (done: number) => void) => Promise<void>;
  /** Creates a tile source for an image that another process has open. */
  openRemote?: (image: RemoteImage) => TileSource;
}

export interface WriteTiffOptions {
  task: ConversionTask;
  callbacks: ConversionCallbacks;
  /** Whether the original is stored with a lossy compression. */
  isOriginalLossy: boolean;
  /** Whether the default compression of 8-bit samples is JPEG. Default: `isOriginalLossy`. */
  prefersJpeg?: boolean;
  /** Share of the work on a frame, from 0 to 1, that opening its source takes; by default none. */
  openingShare?: number;
  /** The metadata that libvips reports, if libvips reads the original. */
  vipsMetadata?: Metadata;
}

/**
 * Writes the converted TIFF. If there is one frame, the levels and the associated images are directories of the file. If there are
 * several frames, each frame is a directory with its reduced levels as SubIFDs.
 *
 * @param input a source with all frames, which is closed at the end, or one function per frame that opens a source with this frame
 * alone.
 */
export async function writeTiff(
  input: TileSource | readonly (() => Promise<TileSource>)[],
  writeOptions: WriteTiffOptions,
): Promise<void> {
  const { task, callbacks, isOriginalLossy, prefersJpeg = isOriginalLossy, openingShare = 0 } = writeOptions;
  const { options } = task;
  const [sharedSource, openers] = 'metadata' in input ? [input, []] : [null, input];
  const frames = sharedSource
    ? framesToConvert(options.onlyFrame, sharedSource.metadata.frames?.length ?? 1)
    : openers.map(() => 0);
  const file = await open(task.output, 'wx+', 0o600);
  const container = new TiffContainer(file);
  const plans: DirectoryPlan[] = [];
  try {
    for (const [index, frame] of frames.entries()) {
      const source = sharedSource ?? (await openers[index]!());
      const { metadata } = source;
      const packing = packingFor(options, { prefersJpeg, dtype: metadata.dtype });
      const mapping = await findSampleMapping(source, sharedSource ? frames : [0]);
      const { directories, tileSide, copiedCount } = await writeLevels({
        source,
        frame,
        container,
        options,
        packing,
        mapping,
        nearest: reducesByNearest(options, isOriginalLossy || isLossy(packing)),
        threads: task.threads,
        onProgress: (done) => callbacks.onProgress((index + openingShare + (1 - openingShare) * done) / frames.length),
      });
      if (copiedCount > 0)
        callbacks.log(`Copied the tiles of ${copiedCount} of ${directories.length} levels of frame ${frame}\n`);
      const icc = source.iccProfile?.(frame) ?? null;
      const isMultiFrame = frames.length > 1;
      const associatedNames = isMultiFrame || index > 0 ? [] : (source.associatedImages ?? []);
      const summary = summarizeConversion(task, { ...packing, tileSide }, writeOptions.vipsMetadata, {
        metadata,
        levelCount: directories.length,
        frameCount: frames.length,
        internal: (await source.internalMetadata?.()) ?? {},
        associatedNames,
      });
      const description = index === 0 ? describeConversion(summary, isMultiFrame ? frame : null) : describeFrame(metadata, frame);
      const keepsSamples = mapping.convert === null && mapping.dtype === metadata.dtype && !isLossy(packing);
      const taggedDirectories = addLevelTags(directories, {
        metadata,
        icc,
        description,
        nodata: keepsSamples ? metadata.nodata : undefined,
      });
      if (isMultiFrame) plans.push({ ...taggedDirectories[0]!, subDirectories: taggedDirectories.slice(1) });
      else plans.push(...taggedDirectories, ...(await writeAssociatedImages(container, source, packing)));
      if (sharedSource === null) await source.close();
    }
    await container.writeDirectories(plans, { bigTiff: 'when needed' });
    await file.datasync();
  } finally {
    await file.close();
    await sharedSource?.close();
  }
}

/**
 * Adds the tags that do not concern tiles to the directories of a frame, finest first: resolution, profile, the nodata value and,
 * for the first directory, a description.
 */
function addLevelTags(
  directories: readonly DirectoryPlan[],
  {
    metadata,
    icc,
    description,
    nodata,
  }: { metadata: ImageMetadata; icc: Uint8Array | null; description: string; nodata: number | undefined },
): DirectoryPlan[] {
  return directories.map((plan, halvings) => ({
    ...plan,
    tags: [
      ...plan.tags,
      ...resolutionTagsOf(metadata, halvings),
      ...(icc === null ? [] : [tagOf.bytes(34_675, icc)]), // ICCProfile
      ...(halvings === 0 ? [tagOf.ascii(270, description)] : []), // ImageDescription
      ...(nodata === undefined ? [] : [tagOf.ascii(tags.gdalNodata, String(nodata))]),
    ],
  }));
}

/** XResolution, YResolution and ResolutionUnit (centimeters) of a level; no tags if the scale is unknown. */
function resolutionTagsOf({ mmX, mmY }: ImageMetadata, halvings: number): Tag[] {
  if (mmX === null || mmY === null) return [];
  const scale = 2 ** halvings;
  return [tagOf.rational(282, 10 / (mmX * scale)), tagOf.rational(283, 10 / (mmY * scale)), tagOf.short(296, 3)];
}

/** Collects the contents of the file's description. `vipsMetadata` is set if libvips reads the original. */
export function summarizeConversion(
  task: ConversionTask,
  { compression, tileSide: tileSize }: { compression: TileCompression; tileSide: number },
  vipsMetadata: Metadata | undefined,
  result: Partial<ConversionSummary> & Pick<ConversionSummary, 'metadata' | 'levelCount' | 'frameCount'>,
): ConversionSummary {
  const { options, version } = task;
  const internal = vipsMetadata && {
    sharp: { format: vipsMetadata.format, space: vipsMetadata.space, channels: vipsMetadata.channels, depth: vipsMetadata.depth },
  };
  return {
    internal: internal ?? {},
    associatedNames: [],
    arguments: { ...options, compression, tileSize },
    version,
    ...result,
  };
}

/** The frames to convert: all, or the requested one. @throws BadValueError if the image does not have that frame. */
export function framesToConvert(onlyFrame: number | null, frameCount: number): number[] {
  if (onlyFrame === null) return Array.from({ length: frameCount }, (_, frame) => frame);
  if (onlyFrame >= frameCount) throw new BadValueError(`Frame ${onlyFrame} does not exist; the image has ${frameCount}`);
  return [onlyFrame];
}

/** How tiles are packed with these options. */
export function packingFor(
  options: ConversionOptions,
  { prefersJpeg, dtype }: { prefersJpeg: boolean; dtype: ImageMetadata['dtype'] },
): TilePacking & { compression: TileCompression } {
  const defaultCompression = prefersJpeg && dtype === 'uint8' ? 'jpeg' : 'lzw';
  return {
    compression: options.compression ?? defaultCompression,
    quality: options.quality,
    halvesChroma: options.quality < 90,
    predictor: options.predictor,
    effort: options.level,
  };
}

/**
 * Whether a reduced pixel is one of four pixels instead of their mean.
 *
 * @param hasLoss whether the source or the result is lossy.
 */
export function reducesByNearest({ reduction }: ConversionOptions, hasLoss: boolean): boolean {
  return reduction === null ? !hasLoss : reduction === 'nearest';
}
