import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compress, decompressTexts } from '../../../src/features/annotations/elements/packs/codec.js';

async function survives(texts: readonly Buffer[], order: readonly number[] = [...texts.keys()]): Promise<void> {
  const packs = await Promise.all(texts.map((text) => compress(text)));
  const chosen = order.map((i) => ({ pack: packs[i]!, textBytes: texts[i]!.length }));
  const read = await decompressTexts(chosen);
  for (const [at, i] of order.entries()) expect(Buffer.compare(read[at]!, texts[i]!)).toBe(0);
}

describe('texts of packs', () => {
  it('can be read alone and joined in any order, even when many are compressed at once', async () => {
    // Text that occurs in many elements makes a compressor refer from one to another.
    const words = fc.constantFrom('{"type":"point","center":[', '1.25,', 'é', '"label":{"value":"', '\0');
    const text = fc
      .tuple(fc.array(words, { maxLength: 60 }), fc.integer({ min: 0, max: 400 }))
      .map(([parts, times]) => Buffer.from(parts.join('').repeat(times)));
    const texts = fc.array(text, { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(texts, fc.infiniteStream(fc.nat()), async (sampleTexts, numbers) => {
        const order = [...sampleTexts.keys()].map(() => numbers.next().value! % sampleTexts.length);
        await survives(sampleTexts, order);
      }),
      { numRuns: 40 },
    );
  });

  it('may be long, and need not be compressible', async () => {
    await survives([randomBytes(3_000_000), Buffer.alloc(20_000_000, 'abc'), randomBytes(70_000), Buffer.alloc(257)]);
  });
});
