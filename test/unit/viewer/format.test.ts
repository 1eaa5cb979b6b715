import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatLength,
  formatMagnification,
  formatNumber,
  niceStep,
  scaleBar,
} from '../../../src/viewer/format.js';

describe('scale bar', () => {
  it.each([
    { mmPerPixel: 0.000499, zoom: 1, label: '50 µm', width: 50 / 0.499 },
    { mmPerPixel: 0.000499, zoom: 0.05, label: '1 mm', width: (1000 / 0.499) * 0.05 },
    { mmPerPixel: 0.00025, zoom: 24, label: '1 µm', width: 96 },
    { mmPerPixel: 0.00001, zoom: 2, label: '500 nm', width: 100 },
    { mmPerPixel: 25, zoom: 1, label: '2 m', width: 80 },
    { mmPerPixel: null, zoom: 1, label: '100 px', width: 100 },
    { mmPerPixel: null, zoom: 0.01, label: '10\u2009000 px', width: 100 },
    { mmPerPixel: null, zoom: 400, label: '1 px', width: 400 },
  ])('shows $label at zoom $zoom with $mmPerPixel mm per pixel', ({ mmPerPixel, zoom, label, width }) => {
    const bar = scaleBar({ zoom, mmPerPixel, maxWidth: 150 });
    expect(bar.label).toBe(label);
    expect(bar.width).toBeCloseTo(width, 6);
  });

  it('is never wider than allowed, never below two fifths of that, and as long as it says', () => {
    const mmPer = { nm: 1e-6, µm: 1e-3, mm: 1, m: 1000 };
    const magnitude = fc.double({ min: -7, max: 2, noNaN: true }).map((exponent) => 10 ** exponent);
    const zooms = fc.double({ min: -4, max: 1.4, noNaN: true }).map((exponent) => 10 ** exponent);
    fc.assert(
      fc.property(magnitude, zooms, (mmPerPixel, zoom) => {
        const { width, label } = scaleBar({ zoom, mmPerPixel, maxWidth: 150 });
        expect(width).toBeLessThanOrEqual(150.001);
        expect(width).toBeGreaterThanOrEqual(59.99);
        const [number, unit] = label.replaceAll('\u2009', '').split(' ') as [string, keyof typeof mmPer];
        expect(label).not.toMatch(/e/);
        expect((Number(number) * mmPer[unit] * zoom) / mmPerPixel / width).toBeCloseTo(1, 6);
      }),
    );
  });
});

describe('nice steps', () => {
  it.each([
    [1, 1],
    [1.99, 1],
    [2, 2],
    [4.9, 2],
    [5, 5],
    [9.99, 5],
    [10, 10],
    [0.049, 0.02],
    [0.001, 0.001],
    [123_456, 100_000],
  ])('of at most %d is %d', (limit, step) => {
    expect(niceStep(limit)).toBeCloseTo(step, 12);
  });
});

describe('formatted numbers', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1 kB'],
    [1_938_955, '1.94 MB'],
    [999_600, '1 MB'],
    [5e13, '50 TB'],
  ])('writes %d bytes as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [0, '0 µm'],
    [0.0123, '12.3 µm'],
    [0.001, '1 µm'],
    [0.000_25, '250 nm'],
    [1.1078, '1.108 mm'],
    [-0.5, '-500 µm'],
  ])('writes %d mm as %s', (mm, text) => expect(formatLength(mm)).toBe(text));

  it('groups digits', () => {
    expect([formatCount(7), formatCount(46_000), formatCount(1_234_567)]).toEqual(['7', '46\u2009000', '1\u2009234\u2009567']);
    expect([formatNumber(52_340.7, 4), formatNumber(0.123_456, 4), formatLength(12_345_600)]).toEqual([
      '52\u2009340',
      '0.1235',
      '12\u2009350 m',
    ]);
  });

  it('gives the magnification on the screen, or the zoom if the objective is unknown', () => {
    expect(formatMagnification(0.5, 40)).toBe('20×');
    expect(formatMagnification(0.031, 20)).toBe('0.62×');
    expect(formatMagnification(0.25, null)).toBe('25\u202f%');
  });
});
