import { BadValueError } from '../../errors.js';
import type { RemoteImage } from './remote-source.js';

/** Compressions by the names they have on the wire. */
export const writtenCompressions = ['none', 'jpeg', 'deflate', 'lzw', 'zstd', 'packbits', 'webp'] as const;
/** With the one that is known but not written. */
export const conversionCompressions = [...writtenCompressions, 'jp2k'] as const;
export const conversionPredictors = ['none', 'horizontal', 'float', 'yes'] as const;
export const conversionFormats = ['tiff', 'aperio'] as const;
export const reductions = ['mean', 'nearest'] as const;

/** What may be asked of a conversion. What is not given gets its usual value. */
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
  /** Side of a tile in pixels; `null`: that of the source where its tiles are copied, else {@link defaultTileSize}. */
  tileSize: number | null;
  /** `null`: JPEG for TIFFs that are lossy themselves and have samples of 8 bits, else LZW. */
  compression: (typeof writtenCompressions)[number] | null;
  /** 0 to 100. */
  quality: number;
  level: number | null;
  predictor: boolean;
  /** `null`: nearest where nothing is lossy, neither the source nor the result; else the mean. */
  reduction: (typeof reductions)[number] | null;
  /** The only frame that is converted; `null`: all. */
  onlyFrame: number | null;
  /** Threads; 0 and less: so many less than there are processors. `null`: one for each. */
  concurrent: number | null;
}

/** Side of a tile in pixels where nothing says otherwise. */
export const defaultTileSize = 256;
/** Quality of JPEG and WebP where nothing says otherwise. */
export const defaultQuality = 90;

const tileSizes = { least: 16, most: 4096, step: 16 };
const levels = { deflate: 9, zstd: 22 } as const;

/** Whether tiles may have sides of so many pixels. */
export function isTileSize(side: number): boolean {
  return side >= tileSizes.least && side <= tileSizes.most && side % tileSizes.step === 0;
}

/**
 * Checks what is asked of a conversion.
 *
 * @throws BadValueError naming what is wrong and what is allowed.
 */
export function checkConversion(request: ConversionRequest): ConversionOptions {
  const { tileSize = null, compression, quality = defaultQuality, level, predictor = 'horizontal', onlyFrame } = request;
  if (tileSize !== null && !isTileSize(tileSize)) {
    throw new BadValueError(
      `Invalid tileSize ${tileSize}: it must be a multiple of ${tileSizes.step} from ${tileSizes.least} to ${tileSizes.most}`,
    );
  }
  if (compression === 'jp2k') {
    throw new BadValueError(
      `JPEG 2000 is read but not written. Compressions that are written: ${writtenCompressions.join(', ')}`,
    );
  }
  if (request.format === 'aperio') {
    throw new BadValueError('The format aperio is read but not written. The format that is written: tiff');
  }
  if (quality < 0 || quality > 100) throw new BadValueError(`Invalid quality ${quality}: it must be from 0 to 100`);
  if (predictor === 'float') {
    throw new BadValueError(
      'The predictor float is for floating-point samples; converted images have whole ones. Use horizontal',
    );
  }
  if (level !== undefined && (compression === 'deflate' || compression === 'zstd')) {
    const most = levels[compression];
    if (level < 1 || level > most)
      throw new BadValueError(`Invalid level ${level}: for ${compression} it must be from 1 to ${most}`);
  }
  if (onlyFrame !== undefined && onlyFrame < 0) throw new BadValueError(`Invalid onlyFrame ${onlyFrame}: the first frame is 0`);
  return {
    tileSize,
    compression: compression ?? null,
    quality,
    // The others have no levels.
    level: compression === 'deflate' || compression === 'zstd' ? (level ?? null) : null,
    predictor: predictor !== 'none',
    reduction: request.reduction ?? null,
    onlyFrame: onlyFrame ?? null,
    concurrent: request.concurrent ?? null,
  };
}

/** Number of threads that {@link ConversionOptions.concurrent} means on a machine with so many processors. */
export function threadCount(concurrent: number | null, processors: number): number {
  if (concurrent === null) return processors;
  return Math.max(1, Math.min(concurrent > 0 ? concurrent : processors + concurrent, 64));
}

/** What is to be converted. Plain data: it goes to a process. */
export interface ConversionTask {
  input: { path: string; name: string; mimeType: string };
  /** The image, where it is open in another process that has to be asked for its tiles: the input is not looked at. */
  image?: RemoteImage | undefined;
  /** Path of the file to be made. */
  output: string;
  /** For temporary files; the caller removes it. */
  directory: string;
  options: ConversionOptions;
  threads: number;
  /** Of the program, for the description in the file. */
  version: string;
}
