import { describe, expect, it } from 'vitest';
import {
  measureCrowding,
  defaultGain,
  type LevelCrowding,
} from '../../../../src/features/annotations/overlay/draw/density/density-gain.js';
import { DensityCounter } from '../../../../src/features/annotations/overlay/draw/density/density.js';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';
import { marksOf, randomNumbers } from '../../../support/annotations/marks.js';

const side = 8192;
const box = { lowx: 0, lowy: 0, highx: side, highy: side };

function nuclei(count: number, seed: number): AnnotationElement[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, (): AnnotationElement => {
    const center: [number, number, number] = [random() * side, random() * side, 0];
    return { type: 'circle', center, radius: 6, fillColor: '#f00', lineWidth: 0 };
  });
}

function measureLevels(elements: readonly AnnotationElement[]): LevelCrowding[] {
  const counter = new DensityCounter();
  counter.add(marksOf(elements));
  return Array.from(counter.pyramid(), (level) => measureCrowding(level, counter.classes));
}

describe('the default gain', () => {
  it('shows an evenly covered level at 75%', () => {
    const level = 9;
    const gain = defaultGain([{ box, levelCrowdings: measureLevels(nuclei(20_000, 1)) }], level);
    const share = (20_000 * Math.PI * 36) / side ** 2;
    expect(1 - Math.exp(-gain * share)).toBeGreaterThan(0.7);
    expect(1 - Math.exp(-gain * share)).toBeLessThan(0.8);
  });

  it('is about the same for overlapping windows as for all their elements in one', () => {
    const elements = nuclei(20_000, 2);
    const together = [{ box, levelCrowdings: measureLevels(elements) }];
    const apart = [0, 1, 2, 3].map((i) => ({
      box: { ...box },
      levelCrowdings: measureLevels(elements.filter((_, at) => at % 4 === i)),
    }));
    for (const level of [5, 7, 9]) {
      const ratio = defaultGain(apart, level) / defaultGain(together, level);
      expect(ratio).toBeGreaterThan(0.9);
      expect(ratio).toBeLessThan(1.1);
    }
  });

  it('is the minimum when shapes fill their pixels, and when there is nothing', () => {
    const solid: AnnotationElement[] = Array.from({ length: 100 }, (_, i) => ({
      type: 'rectangle',
      center: [(i % 10) * 2 + 1, Math.floor(i / 10) * 2 + 1, 0],
      width: 2,
      height: 2,
      fillColor: '#f00',
      lineWidth: 0,
    }));
    expect(defaultGain([{ box, levelCrowdings: measureLevels(solid) }], 0)).toBe(4);
    expect(defaultGain([], 3)).toBe(4);
  });

  it('is bounded for a shape alone', () => {
    expect(defaultGain([{ box, levelCrowdings: measureLevels(nuclei(1, 3)) }], 13)).toBe(4096);
  });
});
