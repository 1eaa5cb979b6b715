import { describe, expect, it } from 'vitest';
import { cmykToRgb, type Pixels } from '../../../../src/tilesource/sources/tiff/decoding/cmyk.js';

const side = 128;

/** All combinations of some samples at the nodes of the color grid, next to nodes and between them, then random samples. */
function inks(): Uint8Array {
  const some = [0, 1, 7, 8, 100, 128, 254, 255];
  let seed = 3;
  const random = () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
  return Uint8Array.from({ length: side * side * 4 }, (_, at) => {
    const pixel = at >> 2;
    return pixel < some.length ** 4 ? some[Math.floor(pixel / some.length ** (at & 3)) % some.length]! : random();
  });
}

/** Ideal inks: each absorbs its color, and black absorbs all. */
function ideal(data: Uint8Array, width: number, height: number): Pixels {
  const rgb = Uint8Array.from({ length: width * height * 3 }, (_, at) => {
    const pixel = Math.floor(at / 3) * 4;
    return Math.round(((255 - data[pixel + (at % 3)]!) * (255 - data[pixel + 3]!)) / 255);
  });
  return { data: rgb, width, height, channels: 3 };
}

describe('pixels of CMYK', () => {
  it('have the colors of the profile within 1', async () => {
    const data = inks();
    const convert = async (...nodes: Parameters<typeof ideal>) => ideal(...nodes);
    const { data: converted } = await cmykToRgb(
      { data, width: side, height: side, channels: 4 },
      Buffer.from('ideal inks'),
      convert,
    );
    const right = ideal(data, side, side).data;
    expect(Math.max(...Array.from(converted, (sample, at) => Math.abs(sample - right[at]!)))).toBeLessThanOrEqual(1);
  });
});
