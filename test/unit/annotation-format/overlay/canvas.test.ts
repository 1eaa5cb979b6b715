import { describe, expect, it } from 'vitest';
import { Canvas, type View } from '../../../../src/features/annotations/overlay/draw/canvas.js';
import { drawElement } from '../../../../src/features/annotations/overlay/draw/draw.js';
import { colorOfGroup } from '../../../../src/features/annotations/overlay/draw/shape.js';
import type { Coordinate } from '../../../../src/annotation-format/schema/common.js';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';
import { randomNumbers } from '../../../support/annotations/marks.js';

const view: View = { left: 0, top: 0, scale: 1, width: 64, height: 64 };

function drawn(elements: AnnotationElement[], where: Partial<View> = {}, mode: 'element' | 'group' = 'element') {
  const canvas = new Canvas({ ...view, ...where });
  for (const element of elements)
    drawElement(canvas, element, colorOfGroup(element.group ?? null, { mode, groupColors: new Map() }));
  const bytes = canvas.toRgba();
  const { width } = canvas.view;
  return {
    at: (x: number, y: number) => Array.from(bytes.subarray((y * width + x) * 4, (y * width + x) * 4 + 4)),
    /** Sum of opacities in pixels. */
    area: () => canvas.pixels.reduce((sum, value, i) => (i % 4 === 3 ? sum + value : sum), 0),
    pixels: canvas.pixels,
  };
}

const ring = (...points: [number, number][]): Coordinate[] => points.map(([x, y]) => [x, y, 0]);
const square = (low: number, high: number) => ring([low, low], [high, low], [high, high], [low, high]);
const filled = { closed: true, fillColor: 'rgb(255, 0, 0)', lineWidth: 0 } as const;

describe('drawing elements', () => {
  it('covers whole pixels fully, parts of pixels partly, and nothing else', () => {
    const { at, area } = drawn([{ type: 'polyline', points: square(10.5, 20), ...filled }]);
    expect(at(15, 15)).toEqual([255, 0, 0, 255]);
    expect(at(10, 15)).toEqual([255, 0, 0, 128]);
    expect(at(10, 10)).toEqual([255, 0, 0, 64]);
    expect(at(9, 15)).toEqual([0, 0, 0, 0]);
    expect(at(20, 15)).toEqual([0, 0, 0, 0]);
    expect(area()).toBeCloseTo(9.5 * 9.5, 3);
  });

  it.each([
    ['the same way', square(20, 30)],
    ['the other way', square(20, 30).toReversed()],
  ])('leaves holes open whose vertices turn %s', (_, hole) => {
    const { at, area } = drawn([{ type: 'polyline', points: square(10, 40), holes: [hole], ...filled }]);
    expect(at(25, 25)).toEqual([0, 0, 0, 0]);
    expect(at(15, 25)).toEqual([255, 0, 0, 255]);
    expect(area()).toBeCloseTo(900 - 100, 2);
  });

  it('fills a star by the even-odd rule', () => {
    const points = Array.from({ length: 5 }, (_, i): [number, number] => {
      const angle = (i * 4 * Math.PI) / 5;
      return [32 + 30 * Math.sin(angle), 32 - 30 * Math.cos(angle)];
    });
    const { at } = drawn([{ type: 'polyline', points: ring(...points), ...filled }]);
    expect(at(32, 32)[3]).toBe(0);
    expect(at(32, 10)[3]).toBe(255);
  });

  it('draws lines in image pixels, at least one pixel wide', () => {
    const line: AnnotationElement = { type: 'polyline', points: ring([8, 16], [56, 16]), lineColor: '#00ff00', lineWidth: 4 };
    const near = drawn([line]);
    expect([near.at(30, 13)[3], near.at(30, 14), near.at(30, 17), near.at(30, 18)[3]]).toEqual([
      0,
      [0, 255, 0, 255],
      [0, 255, 0, 255],
      0,
    ]);
    expect(near.area()).toBeCloseTo(48 * 4, 2);
    const far = drawn([line], { scale: 8 });
    expect(far.area()).toBeCloseTo(6, 3);
  });

  it('does not darken a transparent line that crosses itself', () => {
    const points = ring([10, 10], [50, 10], [50, 50], [10, 50], [10, 10], [50, 50]);
    const { pixels } = drawn([{ type: 'polyline', points, lineColor: 'rgba(0, 0, 255, 0.5)', lineWidth: 6 }]);
    expect(Math.max(...pixels.filter((_, i) => i % 4 === 3))).toBeCloseTo(0.5, 5);
  });

  it.each<[string, AnnotationElement, number]>([
    ['circle', { type: 'circle', center: [32, 32, 0], radius: 20, fillColor: '#f00', lineWidth: 0 }, Math.PI * 400],
    [
      'ellipse',
      { type: 'ellipse', center: [32, 32, 0], width: 50, height: 20, rotation: 0.5, fillColor: '#f00', lineWidth: 0 },
      Math.PI * 250,
    ],
    [
      'rectangle',
      { type: 'rectangle', center: [32, 32, 0], width: 40, height: 10, rotation: 1, fillColor: '#f00', lineWidth: 0 },
      400,
    ],
    ['point', { type: 'point', center: [32, 32, 0], fillColor: '#f00', lineWidth: 0 }, Math.PI * 16],
  ])('draws a %s of the right area', (_, element, area) => {
    expect(drawn([element]).area() / area).toBeGreaterThan(0.97);
    expect(drawn([element]).area() / area).toBeLessThan(1.01);
  });

  it('draws the part of a shape inside a tile as in a larger picture', () => {
    const random = randomNumbers(3);
    const elements = Array.from({ length: 60 }, (): AnnotationElement => {
      const points = ring(...Array.from({ length: 7 }, (): [number, number] => [random() * 160 - 16, random() * 160 - 16]));
      return { type: 'polyline', points, closed: true, fillColor: 'rgba(0, 128, 255, 0.2)', lineColor: '#c00', lineWidth: 3 };
    });
    const largePicture = drawn(elements, { width: 128, height: 128 });
    const part = drawn(elements, { left: 64, top: 64 });
    let worst = 0;
    for (let y = 0; y < 64; y += 1) {
      for (let x = 0; x < 64; x += 1) {
        const [a, b] = [largePicture.at(x + 64, y + 64), part.at(x, y)];
        if (a[3]! < 8) continue;
        for (let i = 0; i < 4; i += 1) worst = Math.max(worst, Math.abs(a[i]! - b[i]!));
      }
    }
    expect(worst).toBeLessThanOrEqual(2);
  });

  it('stays finite with coordinates as large as numbers get', () => {
    const points = ring([-1e308, -1e308], [1e308, -1e308], [1e308, 1e308], [-1e308, 1e308]);
    const { at, pixels } = drawn([{ type: 'polyline', points, ...filled, lineWidth: 5 }]);
    expect(at(30, 30)).toEqual([255, 0, 0, 255]);
    expect(pixels.every(Number.isFinite)).toBe(true);
  });

  it('colors by group, with the opacity of the element', () => {
    const element = (group?: string): AnnotationElement => ({
      type: 'rectangle',
      center: [32, 32, 0],
      width: 64,
      height: 64,
      fillColor: 'rgba(1, 2, 3, 0.5)',
      lineWidth: 0,
      ...(group !== undefined && { group }),
    });
    const [tumor, other] = [drawn([element('tumor')], {}, 'group').at(9, 9), drawn([element('stroma')], {}, 'group').at(9, 9)];
    expect(tumor).not.toEqual(other);
    expect(tumor[3]).toBe(128);
    expect(drawn([element()], {}, 'group').at(9, 9)).toEqual([128, 128, 128, 128]);
  });

  it('draws the lines of a grid and the head of an arrow', () => {
    const grid = drawn([
      {
        type: 'rectanglegrid',
        center: [32, 32, 0],
        width: 40,
        height: 40,
        widthSubdivisions: 2,
        heightSubdivisions: 4,
        lineColor: '#000',
      },
    ]);
    expect([grid.at(32, 27)[3], grid.at(22, 22)[3], grid.at(22, 27)[3]]).toEqual([255, 255, 0]);
    const arrow = drawn([
      {
        type: 'arrow',
        points: [
          [50, 32, 0],
          [10, 32, 0],
        ],
        lineColor: '#000',
      },
    ]);
    expect([arrow.at(30, 32)[3], arrow.at(44, 29)[3]! > 0, arrow.at(16, 29)[3]]).toEqual([255, true, 0]);
  });

  it('draws a choropleth as cells, and interpolates the colors of a surface between its values', () => {
    const grid = { type: 'griddata' as const, gridWidth: 2, dx: 16, dy: 16, colorRange: ['#000', '#fff'] };
    const cells = drawn([{ ...grid, values: [0, 1, 1, 0], interpretation: 'choropleth' }]);
    expect([cells.at(5, 5), cells.at(20, 5), cells.at(40, 5)]).toEqual([
      [0, 0, 0, 255],
      [255, 255, 255, 255],
      [0, 0, 0, 0],
    ]);
    const surface = drawn([{ ...grid, values: [0, 1, 0, 1], interpretation: 'contour' }]);
    expect(surface.at(7, 5)[0]).toBeGreaterThan(110);
    expect(surface.at(7, 5)[0]).toBeLessThan(145);
  });

  it('draws a heatmap whose points reach the color of their value at the center', () => {
    const { at } = drawn([
      {
        type: 'heatmap',
        points: [[32, 32, 0, 10]],
        radius: 12,
        colorRange: ['rgba(255, 0, 0, 0)', 'rgba(255, 0, 0, 1)'],
        rangeValues: [0, 10],
      },
    ]);
    expect(at(32, 32)[3]).toBeGreaterThan(235);
    expect(at(38, 32)[3]).toBeGreaterThan(100);
    expect(at(38, 32)[3]).toBeLessThan(200);
    expect(at(60, 60)[3]).toBe(0);
  });

  it('draws a heatmap in tiles as it does in one picture', () => {
    const values = Array.from({ length: 100 }, (_, i) => 1 + (i % 7));
    const heatmap: AnnotationElement = {
      type: 'griddata',
      interpretation: 'heatmap',
      gridWidth: 10,
      dx: 16,
      dy: 16,
      values,
      radius: 40,
      colorRange: ['rgba(255, 0, 0, 0)', 'rgba(255, 0, 0, 1)'],
      rangeValues: [0, 100],
    };
    const largePicture = drawn([heatmap], { width: 128 });
    const tiles = [0, 64].map((left) => drawn([heatmap], { left }));
    for (let y = 0; y < 64; y += 3) {
      for (let x = 0; x < 128; x += 1) {
        const [, , , opacity] = tiles[x < 64 ? 0 : 1]!.at(x % 64, y);
        expect(Math.abs(opacity! - largePicture.at(x, y)[3]!), `${x}, ${y}`).toBeLessThanOrEqual(1);
      }
    }
    expect(largePicture.at(64, 32)[3]).toBeGreaterThan(20);
  });
});
