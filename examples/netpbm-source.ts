import { createRaster, levelCount, OtherFormatError, priorities, tileContent, TileSourceError } from 'express-large-image';
import type { ByteReader, TileSource, TileSourceDefinition } from 'express-large-image';

/** Kind, width, height and maximum sample value, each followed by white space or comments. The samples begin after exactly one white-space character. */
const header = /^P([56])(?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,9})(?:\s|#[^\n]*\n)+(\d{1,5})\s/;

async function readPicture(reader: ByteReader, options: { signal?: AbortSignal }): Promise<TileSource> {
  const head = Buffer.from(await reader.read(0, 4096, options)).toString('latin1');
  const [headerText, kind, ...numbers] = header.exec(head) ?? [];
  if (headerText === undefined) throw new OtherFormatError('The file is not a binary PGM or PPM picture.');
  const [sizeX = 0, sizeY = 0, maxSample = 0] = numbers.map(Number);
  if (Math.min(sizeX, sizeY, maxSample) < 1 || maxSample > 65535)
    throw new TileSourceError(`The header is invalid: ${headerText.trim()}.`);
  const bandCount = kind === '5' ? 1 : 3;
  const pixelBytes = bandCount * (maxSample < 256 ? 1 : 2);
  const neededBytes = headerText.length + sizeX * sizeY * pixelBytes;
  if (reader.size < neededBytes)
    throw new TileSourceError(`The file has ${reader.size} of the ${neededBytes} bytes that its header needs.`);

  const shape = { sizeX, sizeY, tileWidth: 256, tileHeight: 256 };
  const levels = levelCount(shape);
  const dtype = maxSample < 256 ? 'uint8' : 'uint16';
  const metadata = { ...shape, levels, dtype, bandCount, magnification: null, mmX: null, mmY: null } as const;
  return {
    metadata,
    populatedLevels: [levels - 1], // The file contains only full resolution; the other levels are made from it.
    async readTile(tile, readOptions) {
      const raster = createRaster({ ...tileContent(metadata, tile), bands: bandCount, dtype });
      const rowSamples = raster.width * bandCount;
      const scale = (dtype === 'uint8' ? 255 : 65535) / maxSample;
      for (let row = 0; row < raster.height; row += 1) {
        const pixel = (tile.y * 256 + row) * sizeX + tile.x * 256;
        const bytes = Buffer.from(
          await reader.read(headerText.length + pixel * pixelBytes, raster.width * pixelBytes, readOptions),
        );
        if (bytes.length < raster.width * pixelBytes) throw new TileSourceError('The file has become shorter.');
        for (let i = 0; i < rowSamples; i += 1) {
          const sample = dtype === 'uint8' ? bytes[i]! : bytes.readUInt16BE(i * 2);
          raster.data[row * rowSamples + i] = Math.round(Math.min(sample, maxSample) * scale);
        }
      }
      return raster;
    },
    close: () => reader.close(),
  };
}

/** Reads binary PGM and PPM pictures of any size, with 8 or 16 bits per sample. Each row of a tile is read separately. */
export const netpbmSource: TileSourceDefinition = {
  name: 'netpbm',
  extensions: { default: priorities.manual, pgm: priorities.preferred, ppm: priorities.preferred },
  mimeTypes: { default: priorities.manual, 'image/x-portable-anymap': priorities.preferred },
  async open(input, options = {}) {
    const reader = await input.open();
    return readPicture(reader, options).catch(async (error: unknown) => {
      await reader.close();
      throw error;
    });
  },
};
