/** Small images of the formats that `samples.ts` does not write, for the measurement of memory. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { memoryFolder } from '../../test/support/images/folder-input.js';
import { writePcx } from '../../test/support/writers/pcx-writer.js';
import type { SourceInput, TileSource, TileSourceDefinition } from '../../src/tilesource/tile-source.js';
import { fileInput } from '../../src/tilesource/byte-reader.js';
import { TileSourceRegistry } from '../../src/tilesource/registry/registry.js';
import { multiSource } from '../../src/tilesource/sources/multi/multi-source.js';
import { openSlideSource } from '../../src/tilesource/sources/openslide/openslide-source.js';
import { icoSource } from '../../src/tilesource/sources/pictures/ico-source.js';
import { pcxSource } from '../../src/tilesource/sources/pictures/pcx-source.js';
import { sharpSource } from '../../src/tilesource/sources/sharp/sharp-source.js';

/** Opens one of the files of a format. */
export interface Openable {
  name: string;
  open: () => Promise<TileSource>;
}

const side = 512;
const data = Buffer.from(Uint8Array.from({ length: side * side * 3 }, (_, at) => (at * 7 + (at >> 9) * 3) % 251));
const picture = () => sharp(data, { raw: { width: side, height: side, channels: 3 } });

function createIco(png: Buffer): Buffer {
  const head = Buffer.alloc(22);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(1, 4);
  head.writeUInt16LE(32, 12);
  head.writeUInt32LE(png.length, 14);
  head.writeUInt32LE(head.length, 18);
  return Buffer.concat([head, png]);
}

/** Writes this number of files of each format into a folder. */
export async function* smallImages(folder: string, count: number): AsyncGenerator<Openable> {
  const [png, jpeg, tiff] = await Promise.all([
    picture().png().toBuffer(),
    picture().jpeg().toBuffer(),
    picture().tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'jpeg' }).toBuffer(),
  ]);
  const smallPng = await picture().resize(256, 256).png().toBuffer();
  const kinds: [name: string, source: TileSourceDefinition, extension: string, bytes: Uint8Array][] = [
    ['PNG', sharpSource, 'png', png],
    ['JPEG', sharpSource, 'jpg', jpeg],
    ['WebP', sharpSource, 'webp', await picture().webp().toBuffer()],
    ['GIF', sharpSource, 'gif', await picture().gif({ effort: 1 }).toBuffer()],
    ['ICO', icoSource, 'ico', createIco(smallPng)],
    ['PCX', pcxSource, 'pcx', writePcx({ width: side, height: side }, data)],
    ['OpenSlide, tiles of a TIFF', openSlideSource, 'svs', tiff],
  ];
  const openWith = (source: TileSourceDefinition, input: SourceInput) => () => source.open(input, { temporaryDirectory: folder });
  for (const [name, source, extension, bytes] of kinds) {
    for (let index = 0; index < count; index += 1) {
      const path = join(folder, `small-${index}.${extension}`);
      await writeFile(path, bytes);
      yield { name, open: openWith(source, fileInput(path)) };
    }
  }
  const registry = new TileSourceRegistry().register(sharpSource);
  const sources = [0, 1].map((z) => ({ path: z === 0 ? 'a.png' : 'b.jpg', z }));
  const description = Buffer.from(JSON.stringify({ tileWidth: 256, tileHeight: 256, sources }));
  const files = memoryFolder({ 'multi.yaml': description, 'a.png': png, 'b.jpg': jpeg }, registry);
  for (let index = 0; index < count; index += 1) yield { name: 'multi', open: openWith(multiSource, files.input('multi.yaml')) };
}
