import { BadValueError } from '../../errors.js';
import type { RemoteImage } from './child/remote-source.js';
import type { EnteredScale } from '../../core/entered-scale.js';

/** Compressions that conversions can write, by their names in requests. */
export const writtenCompressions = ['none', 'jpeg', 'deflate', 'lzw', 'zstd', 'packbits', 'webp'] as const;
/** All compressions that requests may name. `jp2k` is refused with an explanation. */
export const conversionCompressions = [...writtenCompressions, 'jp2k'] as const;
export const conversionPredictors = ['none', 'horizontal', 'float', 'yes'] as const;
export const conversionFormats = ['tiff', 'aperio'] as const;
export const reductions = ['mean', 'nearest'] as const;

/** The options of a conversion that a request states. */
export interface ConversionRequest {
  tileSize?: number | undefined;
  compression?: (typeof conversionCompressions)[number] | undefined;
  quality?: number | undefined;
  level?: number | undefined;
  predictor?: (typeof conversionPredictors)[number] | undefined;
  psnr?: number | undefined;
  cr?: number | undefined;
  concurrent?: number | undefined;
  onlyFrame?: number | undefined;
  format?: (typeof conversionFormats)[number] | undefined;
  reduction?: (typeof reductions)[number] | undefined;
}

/** Checked options of a conversion. They are plain data: jobs store them. */
export interface ConversionOptions {
  /**
   * Side of a tile in pixels. `null` means the tile size of the source if its tiles are copied, otherwise {@link defaultTileSize}.
   */
  tileSize: number | null;
  /** `null` means JPEG for lossy TIFFs with samples of 8 bits, otherwise LZW. */
  compression: (typeof writtenCompressions)[number] | null;
  /** Quality of JPEG and WebP, 0 to 100. For WebP 0 means lossless. */
  quality: number;
  /** Effort of deflate (1 to 9) or zstd (1 to 22). `null` means the default of the compression. */
  level: number | null;
  predictor: boolean;
  /** How four pixels become one. `null` means `nearest` if neither the source nor the result is lossy, otherwise `mean`. */
  reduction: (typeof reductions)[number] | null;
  /** The frame to convert. `null` means all frames. */
  onlyFrame: number | null;
  /** Number of threads. 0 or a negative number is added to the number of processors. `null` means one for each processor. */
  concurrent: number | null;
}

/** Default side of a tile in pixels. */
export const defaultTileSize = 256;
/** Default quality of JPEG and WebP. */
export const defaultQuality = 90;

const tileSizeLimits = { min: 16, max: 4096, step: 16 };
const maxEffortLevels = { deflate: 9, zstd: 22 } as const;

/** Whether the tiles of a converted file may have sides of this many pixels. */
export function isTileSize(side: number): boolean {
  return side >= tileSizeLimits.min && side <= tileSizeLimits.max && side % tileSizeLimits.step === 0;
}

/**
 * Checks the options of a request.
 *
 * @throws BadValueError that names the wrong value and the allowed values.
 */
export function checkConversion(request: ConversionRequest): ConversionOptions {
  const { tileSize = null, compression, quality = defaultQuality, level, predictor = 'horizontal', onlyFrame } = request;
  if (tileSize !== null && !isTileSize(tileSize)) {
    throw new BadValueError(
      `Invalid tileSize ${tileSize}: it must be a multiple of ${tileSizeLimits.step} from ${tileSizeLimits.min} to ${tileSizeLimits.max}`,
    );
  }
  if (compression === 'jp2k') {
    throw new BadValueError(`JPEG 2000 is read but not written. Allowed values: ${writtenCompressions.join(', ')}`);
  }
  if (request.format === 'aperio') {
    throw new BadValueError('Invalid format aperio: it is read but not written. Allowed value: tiff');
  }
  if (quality < 0 || quality > 100) throw new BadValueError(`Invalid quality ${quality}: it must be from 0 to 100`);
  if (predictor === 'float') {
    throw new BadValueError(
      'The predictor float is for floating-point samples; converted images have integer samples. Use horizontal',
    );
  }
  if (level !== undefined && (compression === 'deflate' || compression === 'zstd')) {
    const maxLevel = maxEffortLevels[compression];
    if (level < 1 || level > maxLevel)
      throw new BadValueError(`Invalid level ${level}: for ${compression} it must be from 1 to ${maxLevel}`);
  }
  if (onlyFrame !== undefined && onlyFrame < 0) throw new BadValueError(`Invalid onlyFrame ${onlyFrame}: the first frame is 0`);
  return {
    tileSize,
    compression: compression ?? null,
    quality,
    // Only these two compressions have levels of effort.
    level: compression === 'deflate' || compression === 'zstd' ? (level ?? null) : null,
    predictor: predictor !== 'none',
    reduction: request.reduction ?? null,
    onlyFrame: onlyFrame ?? null,
    concurrent: request.concurrent ?? null,
  };
}

/** Number of threads for a value of {@link ConversionOptions.concurrent}; at most 64 if the value is not `null`. */
export function threadCount(concurrent: number | null, processors: number): number {
  if (concurrent === null) return processors;
  return Math.max(1, Math.min(concurrent > 0 ? concurrent : processors + concurrent, 64));
}

/** Everything a conversion needs, as plain data that can be sent to a child process. */
export interface ConversionTask {
  input: { path: string; name: string; mimeType: string };
  /** Description of the image, if the parent process has it open. The parent then provides the tiles, and the input file is not read. */
  remoteImage?: RemoteImage | undefined;
  /** Path of the new file. */
  output: string;
  /** Folder for temporary files; the caller removes it. */
  directory: string;
  options: ConversionOptions;
  /** The size of a pixel that a user has entered. Not needed for an image that the parent has open. */
  scale?: EnteredScale | null;
  threads: number;
  /** Version of the program, for the description in the file. */
  version: string;
}
