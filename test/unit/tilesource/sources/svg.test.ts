import { describe, expect, it } from 'vitest';
import { checkSvg } from '../../../../src/tilesource/sources/sharp/svg.js';
import { watchLoop } from '../../../support/run/loop-stretches.js';

const length = 2_000_000;
const filled = (part: string) => `<svg xmlns="http://www.w3.org/2000/svg">${part.repeat(length / part.length)}`;

/** The longest stretch of the processor in which nothing else has the event loop, in milliseconds. */
async function longestStretch(work: Promise<unknown>): Promise<number> {
  const loop = watchLoop();
  await work.catch(() => undefined);
  const { cpu } = loop.take();
  loop.stop();
  return cpu;
}

describe('drawings of any text', () => {
  it.each([
    ['a link with many attributes', `<svg xmlns="http://www.w3.org/2000/svg"><a ${'href="x" '.repeat(length / 9)}/></svg>`],
    ['attributes without values', filled('href= ')],
    ['inner references', filled('<g href="#a"/>')],
    ['unclosed addresses', filled('url(#')],
    ['tags without an end', filled('<a-')],
    ['white space', filled(' ')],
  ])('are looked through without holding the others up: %s', { retry: 2 }, async (_name, text) => {
    // Once more where a collection of garbage fell into it. Two million characters; half a second were some of them with a search that goes back to the tag for each attribute.
    expect(await longestStretch(checkSvg(Buffer.from(text)))).toBeLessThan(100);
  });

  it('with a reference behind two million characters are refused', async () => {
    await expect(checkSvg(Buffer.from(`${filled('<g/>')}<image href="a.png"/></svg>`))).rejects.toThrow(
      'SVG that refers to other files is not read: a.png',
    );
  });
});
