import type { TileSource } from '../../../src/tilesource/tile-source.js';

/** The samples of all tiles of a level, joined, as numbers. */
export async function wholeLevel(source: TileSource, level = source.metadata.levels - 1, frame = 0): Promise<number[]> {
  const { sizeX, sizeY, tileWidth, tileHeight, levels, bandCount } = source.metadata;
  const scale = 2 ** (levels - 1 - level);
  const [columns, rows] = [Math.ceil(sizeX / scale), Math.ceil(sizeY / scale)];
  const pixels = Array<number>(columns * rows * bandCount).fill(0);
  for (let y = 0; y * tileHeight < rows; y++) {
    for (let x = 0; x * tileWidth < columns; x++) {
      const { data, width, height } = await source.readTile({ level, x, y, frame });
      const samples = width * bandCount;
      for (let j = 0; j < height; j++) {
        const row = ((y * tileHeight + j) * columns + x * tileWidth) * bandCount;
        for (let i = 0; i < samples; i++) pixels[row + i] = data[j * samples + i] ?? Number.NaN;
      }
    }
  }
  return pixels;
}

/** The largest difference between samples at the same position. @throws if their numbers differ */
export function worstDifference(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) throw new Error(`${actual.length} samples where ${expected.length} are expected`);
  let difference = 0;
  for (let i = 0; i < expected.length; i++) difference = Math.max(difference, Math.abs((actual[i] ?? 0) - (expected[i] ?? 0)));
  return difference;
}
