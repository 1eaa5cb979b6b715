import { describe, expect, it } from 'vitest';
import { Canvas } from '../../../../src/features/annotations/overlay/draw/canvas.js';
import { decodeDensity, encodeDensity } from '../../../../src/features/annotations/overlay/draw/density/density-codec.js';
import { DensityLayer, DensityPoints } from '../../../../src/features/annotations/overlay/draw/density/density-layer.js';
import {
  DensityCounter,
  firstDensityLevel,
  tileAddress,
  type DensityLevel,
} from '../../../../src/features/annotations/overlay/draw/density/density.js';
import { drawElement } from '../../../../src/features/annotations/overlay/draw/draw.js';
import { paint, paintInSlices, type PictureDrawing } from '../../../../src/features/annotations/overlay/draw/drawing.js';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';
import { marksOf, randomNumbers } from '../../../support/annotations/marks.js';

const side = 4096;

/** Ellipses, rectangles, lines and points of many sizes. */
function shapes(count: number, seed = 5): AnnotationElement[] {
  const random = randomNumbers(seed);
  return Array.from({ length: count }, (_, i): AnnotationElement => {
    const center: [number, number, number] = [50 + random() * (side - 100), 50 + random() * (side - 100), 0];
    const style = { fillColor: ['#f00', 'rgba(0, 255, 0, 0.5)'][i % 2]!, lineWidth: i % 3, group: `g${i % 4}` };
    const width = 2 + 28 * random() ** 2;
    if (i % 5 === 0) return { type: 'rectangle', center, width, height: width / 2, ...style };
    if (i % 5 === 1) return { type: 'point', center, ...style };
    return { type: 'ellipse', center, width, height: width * 0.8, ...style };
  });
}

function counted(elements: readonly AnnotationElement[], only?: number): DensityCounter {
  const counter = new DensityCounter();
  for (let start = 0; start < elements.length; start += 128) counter.add(marksOf(elements.slice(start, start + 128)), only);
  return counter;
}

/** The area that all classes cover, in pixels of the base layer. */
function coveredArea({ level, tiles }: DensityLevel): number {
  let sum = 0;
  for (const cells of tiles.values()) for (const share of cells.coverages) sum += share;
  return sum * 4 ** level;
}

function cellsOf({ tiles }: DensityLevel): Map<string, number> {
  return new Map(
    [...tiles].flatMap(([at, cells]) => Array.from(cells.keys, (key, i) => [`${at}:${key}`, cells.coverages[i]!] as const)),
  );
}

describe('densities', () => {
  it('give the same picture below elements, whether they are drawn at once or in slices', async () => {
    const elements = shapes(400);
    const counter = counted(elements, 4);
    const { classes } = counter;
    const tiles = Array.from(counter.densityLevel(4).tiles, ([key, cells]) => ({
      level: 4,
      ...tileAddress(key),
      content: encodeDensity(cells),
      classes,
    }));
    const text = Buffer.from(JSON.stringify({ type: 'circle', center: [2000, 2000, 0], radius: 900, fillColor: '#00f' }));
    const view = { left: 0, top: 0, scale: 16, width: 256, height: 256 };
    const drawing: PictureDrawing = {
      view,
      mode: 'element',
      groups: undefined,
      groupColors: new Map(),
      level: 4,
      elements: { text, ends: Uint32Array.of(text.length), colors: null },
      densities: { window: { level: 4, column: 0, row: 0, width: 256, height: 256 }, tiles: [...tiles, ...tiles], gain: 4 },
      sums: null,
      pixels: null,
    };
    const pixels = paint(drawing);
    expect(pixels.some((value) => value > 0)).toBe(true);
    expect(await paintInSlices(drawing)).toEqual(pixels);
  });

  it('count an element from the first level at which it is smaller than four pixels', () => {
    expect([0, 3.9, 4, 7.9, 8, 31, 32].map(firstDensityLevel)).toEqual([0, 0, 1, 1, 2, 3, 4]);
  });

  it('keep the area that shapes cover from level to level', () => {
    const circles = Array.from({ length: 500 }, (_, i): AnnotationElement => ({
      type: 'circle',
      center: [100 + (i % 25) * 40.3, 100 + Math.floor(i / 25) * 31.7, 0],
      radius: 5,
      fillColor: '#f00',
      lineWidth: 0,
    }));
    const levels = [...counted(circles).pyramid()].map((level) => ({ level: level.level, area: coveredArea(level) }));
    expect(levels[0]?.level).toBe(2);
    for (const { area } of levels) expect(area / (500 * Math.PI * 25)).toBeCloseTo(1, 2);
  });

  it('equal a direct count at each level', () => {
    const elements = shapes(3000);
    const pyramid = counted(elements).pyramid();
    let compared = 0;
    for (const level of pyramid) {
      const expected = cellsOf(counted(elements, level.level).densityLevel(level.level));
      const cells = cellsOf(level);
      expect(cells.size).toBeGreaterThan(0);
      // There are so many cells that an assertion for each would take too long.
      expect([...cells].filter(([key, share]) => !(Math.abs(share - (expected.get(key) ?? 0)) < 0.0005 + 0.01 * share))).toEqual(
        [],
      );
      expect([...expected].filter(([key, share]) => share > 0.0005 && !cells.has(key))).toEqual([]);
      compared += 1;
    }
    expect(compared).toBeGreaterThan(4);
  });

  it('end with a level of one cell', () => {
    const levels = [...counted(shapes(200)).pyramid()];
    expect([...(levels.at(-1)?.tiles.keys() ?? [])]).toEqual([0]);
    expect([...levels.at(-1)!.tiles.get(0)!.keys].every((key) => key % 65_536 === 0)).toBe(true);
    expect(levels.at(-1)?.level).toBeLessThan(14);
  });

  it('leave out elements that are invisible, outside, or without an outline', () => {
    const none: AnnotationElement[] = [
      { type: 'heatmap', points: [[5, 5, 0, 1]] },
      { type: 'circle', center: [5, 5, 0], radius: 1, fillColor: '#f000', lineWidth: 0 },
      { type: 'circle', center: [-50, 5, 0], radius: 1, fillColor: '#f00' },
      { type: 'circle', center: [1e300, 5, 0], radius: 1, fillColor: '#f00' },
      { type: 'circle', center: [5, 5, 0], radius: 1e300, fillColor: '#f00' },
    ];
    expect([...counted(none).pyramid()].map(coveredArea)).toEqual([]);
  });

  it('survive packing to within three percent for each cell, and far closer in sum', () => {
    for (const level of counted(shapes(2000)).pyramid()) {
      for (const cells of level.tiles.values()) {
        const unpacked = new Map<number, number>();
        decodeDensity(encodeDensity(cells), (index, places, shares, count) => {
          for (let i = 0; i < count; i += 1) unpacked.set(index * 65_536 + places[i]!, shares[i]!);
        });
        const sums = [0, 0];
        let worst = 0;
        for (const [i, key] of cells.keys.entries()) {
          const share = cells.coverages[i]!;
          if (share < 2e-5) continue;
          worst = Math.max(worst, Math.abs((unpacked.get(key) ?? 0) / share - 1));
          sums[0]! += share;
          sums[1]! += unpacked.get(key)!;
        }
        expect(worst).toBeLessThan(0.03);
        if (cells.size > 1000) expect(sums[1]! / sums[0]!).toBeCloseTo(1, 2);
      }
    }
  });

  it('look like the shapes themselves when both can be drawn', () => {
    const elements = shapes(400).filter((element) => element.type !== 'rectangle');
    for (const element of elements) Object.assign(element, { fillColor: '#f00', lineWidth: 0 });
    const view = { left: 0, top: 0, scale: 16, width: 256, height: 256 };
    const canvas = new Canvas(view);
    for (const element of elements) drawElement(canvas, element, null);
    const counter = counted(elements, 4);
    const layer = new DensityLayer(
      { level: 4, column: 0, row: 0, width: 256, height: 256 },
      { mode: 'element', groups: undefined, groupColors: new Map() },
    );
    for (const [key, content] of counter.densityLevel(4).tiles) {
      layer.add({ level: 4, ...tileAddress(key), content: content.byClass(), classes: counter.classes });
    }
    let drawn = 0;
    for (let at = 3; at < canvas.pixels.length; at += 4) drawn += canvas.pixels[at]!;
    expect(layer.totalWeight() / drawn).toBeGreaterThan(0.97);
    expect(layer.totalWeight() / drawn).toBeLessThan(1.06);
    const density = new Canvas(view);
    layer.drawOn(density, 1);
    let worst = 0;
    for (let at = 3; at < density.pixels.length; at += 4) {
      // With gain 1, opacity is 1 - exp(-share). It is converted back to the share for the comparison.
      const share = -Math.log(1 - density.pixels[at]!);
      if (share < 0.9) worst = Math.max(worst, Math.abs(share - canvas.pixels[at]!));
    }
    expect(worst).toBeLessThan(0.2);
  });

  it('show only the requested groups, in the requested colors', () => {
    const elements = shapes(1000);
    const counter = counted(elements, 5);
    const total = (groups?: ReadonlySet<string | null>) => {
      const window = { level: 5, column: 0, row: 0, width: 128, height: 128 };
      const layer = new DensityLayer(window, { mode: 'group', groups, groupColors: new Map() });
      const points = new DensityPoints(window, { mode: 'group', groups, groupColors: new Map() });
      for (const [key, content] of counter.densityLevel(5).tiles) {
        const tile = { level: 5, ...tileAddress(key), content: content.byClass(), classes: counter.classes };
        layer.add(tile);
        points.add(tile);
      }
      return { sum: layer.totalWeight(), groups: new Set(points.points(1e6).map(({ group }) => group)) };
    };
    const ofAllGroups = total();
    const parts = ['g0', 'g1', 'g2', 'g3'].map((group) => total(new Set([group])));
    expect(ofAllGroups.groups).toEqual(new Set(['g0', 'g1', 'g2', 'g3']));
    expect(parts[2]?.groups).toEqual(new Set(['g2']));
    expect(parts.reduce((sum, part) => sum + part.sum, 0) / ofAllGroups.sum).toBeCloseTo(1, 4);
    expect(total(new Set([null])).sum).toBe(0);
  });
});
