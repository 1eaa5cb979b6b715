import { bufferOf } from '../../core/buffer-of.js';
import sharp from 'sharp';
import type { OpenedPicture } from './encode.js';
import type { Box, Size } from '../geometry.js';
import { runProcessing } from '../process/processing.js';
import type { Raster } from '../raster.js';

/** The properties that JPEG pictures must share to be tiles of one TIFF. */
interface JpegForm {
  components: number;
  /** Sampling factors of the first component. */
  horizontal: number;
  vertical: number;
  /** Whether the components are red, green and blue instead of YCbCr. */
  isRgb: boolean;
}

/** Reads the form of a JPEG from its markers; `null` if a TIFF cannot contain it. */
export function readJpegForm(bytes: Uint8Array): (JpegForm & Size) | null {
  const view = bufferOf(bytes);
  let transform: number | null = null;
  for (let at = 2; at + 9 < view.length && view[at] === 0xff;) {
    const marker = view[at + 1] ?? 0;
    const length = view.readUInt16BE(at + 2);
    if (marker === 0xee && length >= 14 && view.toString('latin1', at + 4, at + 9) === 'Adobe') transform = view[at + 15] ?? null;
    // Headers of baseline and extended sequential frames. libtiff reads no other kinds.
    if (marker === 0xc0 || marker === 0xc1) {
      const components = view[at + 9] ?? 0;
      if (view[at + 4] !== 8 || at + 10 + components * 3 > view.length) return null;
      const ids = Array.from({ length: components }, (_, index) => view[at + 10 + index * 3]).join();
      const factors = view[at + 11] ?? 0x11;
      const otherFactors = Array.from({ length: Math.max(0, components - 1) }, (_, index) => view[at + 14 + index * 3]);
      if (otherFactors.some((factor) => factor !== 0x11)) return null;
      return {
        width: view.readUInt16BE(at + 7),
        height: view.readUInt16BE(at + 5),
        components,
        horizontal: factors >> 4,
        vertical: factors & 15,
        isRgb: components === 3 && (transform === 0 || (transform === null && ids === '82,71,66')),
      };
    }
    if (marker === 0xda || (marker >= 0xc2 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc))
      return null;
    at += 2 + length;
  }
  return null;
}

/** Stored JPEG tiles that together show a part of a level. */
export interface StoredMosaic {
  /** The tiles row by row; `null` for missing tiles. */
  tiles: readonly (Uint8Array | null)[];
  /** Number of tiles in a row. */
  columns: number;
  /** Size of a tile. */
  tile: Size;
  bands: number;
  /** Size of the part of the mosaic that shows the image, from the upper left corner. */
  shown: Size;
}

/**
 * Opens a rectangle of a mosaic of JPEG tiles as one input of libvips, which is several times as fast as one input for each tile.
 * For that, the tiles become a TIFF in memory. In place of a missing tile, the TIFF shows another tile. A corrupt tile is noticed
 * when the picture is used.
 *
 * @returns `null` if the tiles do not fit into one TIFF.
 */
export function openMosaic(mosaic: StoredMosaic, box: Box): OpenedPicture | null {
  const firstTile = mosaic.tiles.find((tile) => tile !== null);
  const form = firstTile && readJpegForm(firstTile);
  const bands = form?.components === 1 || form?.components === 3 ? form.components : null;
  if (!form || bands === null || bands !== mosaic.bands) return null;
  for (const tile of mosaic.tiles) {
    if (tile === null || tile === firstTile) continue;
    const otherForm = readJpegForm(tile);
    if (!otherForm || JSON.stringify(otherForm) !== JSON.stringify(form)) return null;
  }
  if (form.width !== mosaic.tile.width || form.height !== mosaic.tile.height) return null;
  // TIFF requires tile sides that are multiples of 16.
  if (form.width % 16 !== 0 || form.height % 16 !== 0) return null;
  const input = sharp(mosaicToTiff(mosaic, form, firstTile), { limitInputPixels: false, failOn: 'error', sequentialRead: true });
  const image = input.extract(box);
  return { image: bands === 1 ? image.toColourspace('b-w') : image, width: box.width, height: box.height, bands };
}

/** Decodes a rectangle of a mosaic; `null` if the tiles do not fit into one TIFF. @throws Error of libvips if a tile is corrupt. */
export async function decodeMosaic(mosaic: StoredMosaic, box: Box, signal?: AbortSignal): Promise<Raster | null> {
  const opened = openMosaic(mosaic, box);
  if (opened === null) return null;
  const raw = opened.image.raw();
  const { data, info } = await runProcessing(() => raw.toBuffer({ resolveWithObject: true }), signal);
  if (info.channels !== mosaic.bands) return null;
  return { data, width: info.width, height: info.height, bands: info.channels, dtype: 'uint8' };
}

function mosaicToTiff(mosaic: StoredMosaic, form: JpegForm, placeholder: Uint8Array): Buffer {
  const { tiles, columns, tile } = mosaic;
  const isGray = form.components === 1;
  const entryCount = isGray || form.isRgb ? 11 : 12;
  const bitsAt = 8 + 2 + entryCount * 12 + 4;
  const offsetsAt = bitsAt + 8;
  const countsAt = offsetsAt + tiles.length * 4;
  const dataAt = countsAt + tiles.length * 4;
  const head = Buffer.alloc(dataAt);
  head.write('II*\0', 0, 'latin1');
  head.writeUInt32LE(8, 4);
  head.writeUInt16LE(entryCount, 8);
  let at = 10;
  const writeEntry = (tag: number, type: 3 | 4, count: number, value: number) => {
    head.writeUInt16LE(tag, at);
    head.writeUInt16LE(type, at + 2);
    head.writeUInt32LE(count, at + 4);
    head.writeUInt32LE(value, at + 8);
    at += 12;
  };
  const isSingle = tiles.length === 1;
  const parts: Uint8Array[] = [head];
  let end = dataAt;
  let placeholderAt = -1;
  const positions = tiles.map((bytes) => {
    const tileBytes = bytes ?? placeholder;
    const { length } = tileBytes;
    if (tileBytes === placeholder && placeholderAt >= 0) return { offset: placeholderAt, length };
    const offset = end;
    if (tileBytes === placeholder) placeholderAt = offset;
    parts.push(tileBytes);
    end += length;
    return { offset, length };
  });
  writeEntry(256, 4, 1, columns * tile.width);
  writeEntry(257, 4, 1, (tiles.length / columns) * tile.height);
  if (isGray) writeEntry(258, 3, 1, 8);
  else writeEntry(258, 3, 3, bitsAt);
  writeEntry(259, 3, 1, 7);
  writeEntry(262, 3, 1, isGray ? 1 : form.isRgb ? 2 : 6);
  writeEntry(277, 3, 1, form.components);
  writeEntry(284, 3, 1, 1);
  writeEntry(322, 4, 1, tile.width);
  writeEntry(323, 4, 1, tile.height);
  writeEntry(324, 4, tiles.length, isSingle ? (positions[0]?.offset ?? 0) : offsetsAt);
  writeEntry(325, 4, tiles.length, isSingle ? (positions[0]?.length ?? 0) : countsAt);
  if (entryCount === 12) writeEntry(530, 3, 2, form.horizontal | (form.vertical << 16));
  for (let band = 0; band < 3; band += 1) head.writeUInt16LE(8, bitsAt + band * 2);
  positions.forEach(({ offset, length }, index) => {
    head.writeUInt32LE(offset, offsetsAt + index * 4);
    head.writeUInt32LE(length, countsAt + index * 4);
  });
  return Buffer.concat(parts);
}
