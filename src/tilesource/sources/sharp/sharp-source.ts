import { tmpdir } from 'node:os';
import sharp, { type SharpOptions } from 'sharp';
import {
  defaultMaxDecodedPixels,
  priorities,
  type SourceInput,
  type SourceOptions,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { toTileSourceError, readHeader } from './decode.js';
import { drawSvg } from './drawing.js';
import { prepareFile } from './prepared-file.js';
import { openPyramid } from './pyramid.js';
import { SmallImage } from './small-image.js';
import { isOnlyTooLarge } from './too-large.js';

/** Default maximum side of an image that is served as one tile. */
const defaultMaxSmallImageSize = 4096;

async function open(file: SourceInput, options: SourceOptions = {}): Promise<TileSource> {
  const { maxSmallImageSize = defaultMaxSmallImageSize, signal } = options;
  const directory = options.temporaryDirectory ?? tmpdir();
  let preparedFile = await prepareFile(file, directory, signal);
  try {
    const settings: SharpOptions = {
      limitInputPixels: options.maxDecodedPixels ?? defaultMaxDecodedPixels,
      failOn: 'error',
      // Sequential reading is never put into libvips' cache of operations.
      sequentialRead: true,
    };
    if (preparedFile.format === 'svg') {
      preparedFile = await drawSvg(preparedFile, directory, { signal, maxDecodedPixels: options.maxDecodedPixels });
    }
    const header = await readHeader(preparedFile, settings, options);
    signal?.throwIfAborted();
    const { width, height } = header.autoOrient;
    if (Math.max(width, height) > maxSmallImageSize) {
      return await openPyramid(preparedFile, settings, header, { directory, ...options });
    }
    return await SmallImage.open(preparedFile, settings, header, signal);
  } catch (error) {
    await preparedFile.release();
    throw toTileSourceError(error);
  }
}

/** Reads formats of libvips: JPEG, PNG, WebP, AVIF, GIF, SVG and untiled TIFF, up to a maximum number of pixels. */
export const sharpSource: TileSourceDefinition = {
  name: 'sharp',
  opensInConversion: true,
  readsWebPictures: true,
  isOnlyTooLarge,
  ...(sharp.versions.sharp !== undefined && { version: sharp.versions.sharp }),
  extensions: {
    default: priorities.fallbackHigh,
    jpg: priorities.low,
    jpeg: priorities.low,
    jpe: priorities.low,
    jfif: priorities.implicitHigh,
    mpo: priorities.implicitHigh,
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
