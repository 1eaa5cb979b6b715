import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metadata } from 'sharp';
import { TileSourceError } from '../../errors.js';
import { fileInput } from '../byte-reader.js';
import type { ImageMetadata, TileSource } from '../tile-source.js';
import { vipsReason } from '../process/vips-reason.js';
import { isLossy, type TileCompression } from '../pyramid/tiles.js';
import { readHeader, sampleFormOf, type VipsFile } from '../sources/sharp/decode.js';
import { sharpSource } from '../sources/sharp/sharp-source.js';
import { countFrames } from '../sources/sharp/small-image.js';
import { minResolution } from '../sources/tiff/descriptions.js';
import { tiffSource } from '../sources/tiff/tiff-source.js';
import { vipsSettings, type VipsPass } from './child/vips-pass.js';
import { describeConversion, replaceDescription } from './conversion-description.js';
import { isLossyTiff } from './lossy-tiff.js';
import { defaultTileSize, type ConversionTask } from './options.js';
import {
  framesToConvert,
  summarizeConversion,
  reducesByNearest,
  packingFor,
  writeTiff,
  type ConversionCallbacks,
  type WriteTiffOptions,
} from './write-tiff.js';

/** Maximum side, in pixels, of an image that is decoded as a whole. */
export const maxUntiledSide = 4096;
/** Side in pixels of the tiles of the uncompressed intermediate file. */
const intermediateTileSide = 512;
/** Share of the work that writing the intermediate files takes. */
const intermediateShare = 0.3;

/** Whether libvips can write a compression. */
function isVipsCompression(compression: TileCompression): compression is VipsPass['compression'] {
  return compression !== 'zstd';
}

/** Metadata that libvips does not report. */
type ScaleAndChannels = Pick<ImageMetadata, 'magnification' | 'mmX' | 'mmY' | 'channels'>;

const unknownScale: ScaleAndChannels = { magnification: null, mmX: null, mmY: null };

/** Scale of a file other than a TIFF, from its pixels per inch. Densities that are typical for screens and printers are ignored. */
function scaleOf({ density = 0 }: Metadata): ScaleAndChannels {
  if (density < minResolution) return unknownScale;
  return { ...unknownScale, mmX: 25.4 / density, mmY: 25.4 / density };
}

/**
 * Converts a file that only libvips can read, or that libvips reads faster than the TIFF source. If possible, one pass of libvips
 * writes the result. Otherwise, a small image is decoded as a whole, and for a large image, libvips first writes each frame to an
 * uncompressed tiled file, from which the result is made.
 *
 * @param tiffMetadata metadata of a TIFF, as the TIFF source reads it; `null` for other files.
 */
export async function convertByVips(
  task: ConversionTask,
  callbacks: ConversionCallbacks,
  file: VipsFile,
  tiffMetadata: ScaleAndChannels | null,
): Promise<void> {
  const { options, input } = task;
  const vipsMetadata = await readHeader(file, vipsSettings, { maxDecodedPixels: Infinity }).catch((error: unknown) => {
    if (error instanceof TileSourceError) throw error;
    throw new TileSourceError(`The image cannot be read: ${vipsReason(error)}.`, { cause: error });
  });
  const scaleAndChannels = { ...(tiffMetadata ?? scaleOf(vipsMetadata)), ...task.scale };
  const frames = framesToConvert(options.onlyFrame, await countFrames(file, vipsSettings, vipsMetadata));
  const isOriginalLossy =
    ['jpeg', 'webp', 'avif'].includes(file.format) || (file.format === 'tiff' && (await isLossyTiff(input.path)));
  const prefersJpeg = file.format === 'tiff' && isOriginalLossy;
  const packing = packingFor(options, { prefersJpeg, dtype: sampleFormOf(vipsMetadata).dtype });
  const pass: VipsPass = {
    input: input.path,
    format: file.format,
    output: task.output,
    page: frames[0] ?? 0,
    threads: task.threads,
    kind: 'pyramid',
    tileSide: options.tileSize ?? defaultTileSize,
    compression: 'none',
    quality: packing.quality,
    predictor: packing.predictor,
    pixelsPerMm: scaleAndChannels.mmX === null ? null : 1 / scaleAndChannels.mmX,
  };
  const { compression } = packing;
  const vipsSupportsOptions =
    isVipsCompression(compression) && !reducesByNearest(options, isOriginalLossy || isLossy(packing)) && packing.effort === null;
  const isLosslessWebp = compression === 'webp' && packing.quality === 0;
  const isUpright = (vipsMetadata.orientation ?? 1) === 1;
  if (frames.length === 1 && vipsSupportsOptions && !isLosslessWebp && isUpright) {
    return convertInOnePass({ ...pass, compression }, { task, callbacks, vipsMetadata, scaleAndChannels });
  }
  const writeOptions: WriteTiffOptions = { task, callbacks, isOriginalLossy, prefersJpeg, vipsMetadata };
  if (Math.max(vipsMetadata.width, vipsMetadata.height) <= maxUntiledSide) {
    const source = await sharpSource.open(fileInput(input.path, input), { maxSmallImageSize: maxUntiledSide });
    const internal = await source.internalMetadata?.();
    const icc = source.iccProfile?.(0) ?? null;
    return writeTiff(
      { ...replaceMetadata(source, scaleAndChannels, icc), internalMetadata: async () => internal ?? {} },
      writeOptions,
    );
  }
  const icc = sampleFormOf(vipsMetadata).mustConvert ? null : (vipsMetadata.icc ?? null);
  // The intermediate file of a frame replaces that of the previous frame.
  const intermediatePath = join(task.directory, 'base.tiff');
  const intermediate = {
    kind: 'base',
    output: intermediatePath,
    tileSide: intermediateTileSide,
    compression: 'none',
    predictor: false,
  } as const;
  const openers = frames.map((page, index) => async () => {
    await unlink(intermediatePath).catch(() => {});
    await callbacks.runVipsPass({ ...pass, ...intermediate, page }, (done) =>
      callbacks.onProgress((index + done * intermediateShare) / frames.length),
    );
    return replaceMetadata(await tiffSource.open(fileInput(intermediatePath)), scaleAndChannels, icc);
  });
  await writeTiff(openers, { ...writeOptions, openingShare: intermediateShare });
}

/** Lets libvips write the result, and adds the description of the conversion to the result. */
async function convertInOnePass(
  pass: VipsPass,
  {
    task,
    callbacks,
    vipsMetadata,
    scaleAndChannels,
  }: { task: ConversionTask; callbacks: ConversionCallbacks; vipsMetadata: Metadata; scaleAndChannels: ScaleAndChannels },
): Promise<void> {
  await callbacks.runVipsPass(pass, callbacks.onProgress);
  const source = await tiffSource.open(fileInput(task.output));
  const metadata = { ...source.metadata, ...scaleAndChannels };
  const levelCount = source.populatedLevels.length;
  await source.close();
  const text = describeConversion(summarizeConversion(task, pass, vipsMetadata, { metadata, levelCount, frameCount: 1 }), null);
  await replaceDescription(task.output, text, { keepsResolution: pass.pixelsPerMm !== null });
}

/**
 * Returns the source of a file that libvips has read or written, with the metadata of the original. libvips invents a resolution,
 * and drops the profile.
 */
function replaceMetadata(source: TileSource, scaleAndChannels: ScaleAndChannels, icc: Uint8Array | null): TileSource {
  return {
    metadata: { ...source.metadata, ...scaleAndChannels },
    populatedLevels: source.populatedLevels,
    readTile: (...args) => source.readTile(...args),
    iccProfile: () => icc,
    close: () => source.close(),
  };
}
