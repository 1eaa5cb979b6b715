/** Measures the processor time of CMYK tiles in comparison with the same RGB tiles. docs/benchmarks.md says what the lines mean. */
import sharp from 'sharp';
import type { ByteReader, SourceInput } from '../src/tilesource/tile-source.js';
import { openLargeImage } from '../src/tilesource/large-image.js';
import { tiffSource } from '../src/tilesource/sources/tiff/tiff-source.js';

const side = 256;
const rounds = 7;
const tilesPerRound = 20;

/** A picture with edges, slopes and noise. */
function picture(): Uint8Array {
  let seed = 1;
  return Uint8Array.from({ length: side * side * 3 }, (_, at) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    const [x, y, band] = [Math.floor(at / 3) % side, Math.floor(at / 3 / side), at % 3];
    return (((x * (band + 1) + y) >> 1) % 200) | (seed >>> 29);
  });
}

async function tiffOf(space: 'srgb' | 'cmyk', compression: 'deflate' | 'jpeg'): Promise<Buffer> {
  return sharp(picture(), { raw: { width: side, height: side, channels: 3 } })
    .toColourspace(space)
    .tiff({ compression, tile: true, tileWidth: side, tileHeight: side, quality: 90 })
    .toBuffer();
}

function inputOf(bytes: Uint8Array): SourceInput {
  const reader: ByteReader = {
    size: bytes.length,
    read: async (offset, length) => bytes.slice(offset, offset + length),
    close: async () => {},
  };
  return { name: 'a.tif', path: null, open: async () => reader };
}

/**
 * The shortest of several measurements of a tile, in milliseconds of processor time. With this quality, stored tiles must be encoded again.
 */
async function measureTile(bytes: Uint8Array): Promise<number> {
  const source = await tiffSource.open(inputOf(bytes));
  const image = openLargeImage(source);
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const before = process.cpuUsage();
    for (let tile = 0; tile < tilesPerRound; tile += 1) {
      await image.tile({ level: 0, x: 0, y: 0, encoding: 'JPEG', jpegQuality: 80 });
    }
    const { user, system } = process.cpuUsage(before);
    // The first round does not count, because it also computes the colors of the profile.
    if (round > 0) times.push((user + system) / 1000 / tilesPerRound);
  }
  await source.close();
  return Math.min(...times);
}

sharp.concurrency(1);
for (const compression of ['deflate', 'jpeg'] as const) {
  const rgb = await measureTile(await tiffOf('srgb', compression));
  const cmyk = await measureTile(await tiffOf('cmyk', compression));
  const ratio = cmyk / rgb;
  console.log(
    `tile of CMYK, ${compression.padEnd(7)} ${cmyk.toFixed(2)} ms, of RGB ${rgb.toFixed(2)} ms: ${ratio.toFixed(2)} × ${ratio <= 3 ? 'ok' : 'TOO SLOW'} (at most 3)`,
  );
}
