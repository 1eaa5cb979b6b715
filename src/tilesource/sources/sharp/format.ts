import { bufferOf } from '../../../core/buffer-of.js';
import type { LossyCodec } from '../../tile-source.js';

/** Formats that are read with libvips. */
export type FileFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'tiff' | 'avif' | 'svg';

/** The lossy codec of a format; `null` for lossless formats. */
export function lossyCodecOf(format: FileFormat): LossyCodec | null {
  return format === 'jpeg' || format === 'webp' || format === 'avif' ? format : null;
}

/** The first bytes of files of each format, as Latin-1 text. */
const beginnings: readonly [start: string, format: FileFormat][] = [
  ['\xff\xd8\xff', 'jpeg'],
  ['\x89PNG\r\n\x1a\n', 'png'],
  ['GIF87a', 'gif'],
  ['GIF89a', 'gif'],
  ['II*\0', 'tiff'],
  ['MM\0*', 'tiff'],
  ['II+\0', 'tiff'],
  ['MM\0+', 'tiff'],
];

/** The first bytes of JPEG-LS. The first three of them are also the beginning of JPEG files. */
const jpegLs = '\xff\xd8\xff\xf7';

/**
 * Recognizes the format of a file by its first few thousand bytes; `null` for formats that are not read with libvips.
 */
export function recognizeFormat(head: Uint8Array): FileFormat | null {
  const text = bufferOf(head).toString('latin1');
  if (text.startsWith(jpegLs)) return null;
  const beginning = beginnings.find(([start]) => text.startsWith(start));
  if (beginning) return beginning[1];
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'webp';
  // An ISO container has its major brand at byte 8, and its compatible brands from byte 16.
  if (text.startsWith('ftyp', 4) && /avi[fs]/.test(text.slice(8, 64))) return 'avif';
  const isMarkup = /^(?:\xef\xbb\xbf)?\s*</.test(text);
  return isMarkup && /<(?:[\w-]+:)?svg[\s>/]/.test(text) ? 'svg' : null;
}

/** The first bytes of formats that no source reads, by the name of the format. */
const unsupportedBeginnings: readonly [start: string, name: string, kind?: 'microscope'][] = [
  ['8BPS\0', 'Photoshop'],
  ['\x76\x2f\x31\x01', 'OpenEXR'],
  ['DDS ', 'DDS (DirectDraw Surface)'],
  ['\x01\xda', 'SGI'],
  [jpegLs, 'JPEG-LS'],
  ['#?RADIANCE', 'Radiance'],
  ['#?RGBE', 'Radiance'],
  ['SDPX', 'DPX'],
  ['XPDS', 'DPX'],
  ['gimp xcf ', 'GIMP'],
  ['\x59\xa6\x6a\x95', 'Sun raster'],
  ['qoif', 'QOI'],
  ['icns', 'Apple icon'],
  ['Image type: ', 'IM'],
  ['AT&TFORM', 'DjVu'],
  ['\xda\xce\xbe\x0a', 'Nikon ND2', 'microscope'],
  ['\x0a\xbe\xce\xda', 'Nikon ND2', 'microscope'],
  ['\x70\0\0\0', 'Leica LIF', 'microscope'],
  ['SIS\0', 'Olympus ETS', 'microscope'],
  ['ics_version', 'ICS', 'microscope'],
  ['\x89HDF\r\n', 'HDF5 (Imaris and others)', 'microscope'],
  ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'Compound (OIB, ZVI and others)', 'microscope'],
];

/** The error message for a file whose first bytes belong to a known format that no source reads; `null` for other files. */
export function unsupportedFormatMessage(head: Uint8Array): string | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(16, head.byteLength)).toString('latin1');
  const match = unsupportedBeginnings.find(([start]) => text.startsWith(start));
  if (match === undefined) return null;
  const [, name, kind] = match;
  return `${name} files are not supported. ${kind === 'microscope' ? 'Export them as OME-TIFF' : 'Save the picture as PNG, JPEG or TIFF'}.`;
}
