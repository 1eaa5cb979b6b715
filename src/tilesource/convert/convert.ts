import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { TileSourceError } from '../../errors.js';
import { fileInput, openFileReader } from '../byte-reader.js';
import type { VipsFile } from '../sources/sharp/decode.js';
import { recognizeFormat } from '../sources/sharp/format.js';
import { isStoredInTiles } from '../sources/sharp/stored-in-tiles.js';
import { checkSvg, maxDrawingBytes } from '../sources/sharp/svg.js';
import { tiffSource } from '../sources/tiff/tiff-source.js';
import { convertByVips, maxUntiledSide } from './convert-by-vips.js';
import { applyEnteredScale } from '../apply-entered-scale.js';
import { isLossyTiff } from './lossy-tiff.js';
import type { ConversionTask } from './options.js';
import { isPlainStrips } from './plain-strips.js';
import { writeTiff, type ConversionCallbacks } from './write-tiff.js';

/**
 * Converts an image file to a tiled pyramid TIFF.
 *
 * @throws TileSourceError if the file cannot be read, and BadValueError if the image does not have the frame that `onlyFrame`
 * names.
 */
export async function convert(task: ConversionTask, callbacks: ConversionCallbacks): Promise<void> {
  sharp.cache(false);
  sharp.concurrency(1);
  if (task.remoteImage !== undefined && callbacks.openRemote !== undefined) {
    return writeTiff(callbacks.openRemote(task.remoteImage), { task, callbacks, isOriginalLossy: task.remoteImage.isLossy });
  }
  const input = fileInput(task.input.path, { name: task.input.name, mimeType: task.input.mimeType });
  const limits = { maxSmallImageSize: maxUntiledSide, maxDecodedPixels: Infinity, temporaryDirectory: task.directory };
  const tiffOrError = await tiffSource.open(input, limits).then(
    (opened) => applyEnteredScale(opened, task.scale),
    (error: unknown) => {
      if (error instanceof TileSourceError) return error;
      throw error;
    },
  );
  if (tiffOrError instanceof TileSourceError) {
    return convertByVips(task, callbacks, await recognizeFile(task.input.path, tiffOrError), null);
  }
  const isOriginalLossy = await isLossyTiff(task.input.path);
  if (await isPlainStrips(task.input.path, tiffOrError, maxUntiledSide)) {
    await tiffOrError.close();
    const { magnification, mmX, mmY, channels } = tiffOrError.metadata;
    const scaleAndChannels = { magnification, mmX, mmY, ...(channels && { channels }) };
    return convertByVips(task, callbacks, { input: task.input.path, format: 'tiff' }, scaleAndChannels);
  }
  await writeTiff(tiffOrError, { task, callbacks, isOriginalLossy });
}

/**
 * Recognizes the format of a file, and checks that libvips is allowed to read the file.
 *
 * @param tiffError the error with which the TIFF source refused the file.
 */
async function recognizeFile(path: string, tiffError: TileSourceError): Promise<VipsFile> {
  const reader = await openFileReader(path);
  try {
    const format = recognizeFormat(await reader.read(0, 4096));
    if (format === null) throw new TileSourceError(`No reader recognizes this file. As a TIFF: ${tiffError.message}`);
    if (format === 'tiff' && (await isStoredInTiles(reader))) throw tiffError;
    if (format === 'svg') {
      if (reader.size > maxDrawingBytes)
        throw new TileSourceError(`SVG files larger than ${maxDrawingBytes} bytes are not supported.`);
      await checkSvg(await readFile(path));
    }
    return { input: path, format };
  } finally {
    await reader.close();
  }
}
