import { describe, expect, it } from 'vitest';
import { checkSvg } from '../../../../src/tilesource/sources/sharp/svg.js';
import { slicesOf } from '../../../support/run/slices.js';

const length = 2_000_000;
const filled = (part: string) => `<svg xmlns="http://www.w3.org/2000/svg">${part.repeat(length / part.length)}`;

describe('drawings', () => {
  it.each([
    [
      'a link with many attributes',
      `<svg xmlns="http://www.w3.org/2000/svg"><a ${'href="x" '.repeat(length / 9)}/></svg>`,
      200_000,
    ],
    ['attributes without values', filled('href= '), 3],
    ['inner references', filled('<g href="#a"/>'), 100_000],
    ['unclosed addresses', filled('url(#'), 3],
    ['tags without an end', filled('<a-'), 3],
    ['white space', filled(' '), 3],
  ])('are scanned without blocking the event loop: %s', async (_name, text, least) => {
    const slices = await slicesOf(() => checkSvg(Buffer.from(text)).catch(() => undefined));
    expect(slices).toBeGreaterThanOrEqual(least);
  });

  it('are refused with a reference after two million characters', async () => {
    await expect(checkSvg(Buffer.from(`${filled('<g/>')}<image href="a.png"/></svg>`))).rejects.toThrow(
      'SVG that refers to other files is not supported: a.png',
    );
  });
});
