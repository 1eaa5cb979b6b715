import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { axesOf, frameAt, positionOf, readFrame } from '../../../src/viewer/image/image-metadata.js';

const framesOf = (count: number) => Array.from({ length: count }, (_, Frame) => ({ Frame }));

describe('axes', () => {
  it('come in the order channel, z, time, position, others, with the names of channels', () => {
    const axes = axesOf({
      frames: framesOf(2 * 3 * 4 * 2),
      IndexRange: { IndexS: 2, IndexT: 4, IndexZ: 3, IndexC: 2 },
      IndexStride: { IndexS: 24, IndexT: 6, IndexZ: 2, IndexC: 1 },
      channels: ['DAPI', 'GFP'],
    });
    expect(axes.map(({ label, range, names }) => ({ label, range, names }))).toEqual([
      { label: 'Channel', range: 2, names: ['DAPI', 'GFP'] },
      { label: 'Z', range: 3, names: [] },
      { label: 'Time', range: 4, names: [] },
      { label: 'S', range: 2, names: [] },
    ]);
  });

  it('name positions as the file does', () => {
    const frames = ['Left', 'Left', undefined, undefined].map((Position, Frame) => ({ Frame, ...(Position && { Position }) }));
    const axes = axesOf({ frames, IndexRange: { IndexXY: 2, IndexZ: 2 }, IndexStride: { IndexXY: 2, IndexZ: 1 } });
    expect(axes.map(({ key, names }) => [key, names])).toEqual([
      ['IndexZ', []],
      ['IndexXY', ['Left', undefined]],
    ]);
  });

  it('tell how far a position is from the first one, if the file states the steps', () => {
    const sizes = { frames: framesOf(6), IndexRange: { IndexZ: 3, IndexT: 2 }, IndexStride: { IndexZ: 1, IndexT: 3 } };
    const [depth, time] = axesOf({ ...sizes, mm_z: 0.0005, seconds_t: 1.5 });
    expect([depth!.distanceOf?.(2), time!.distanceOf?.(1), depth!.distanceOf?.(0)]).toEqual(['1 µm', '1.5 s', '0 µm']);
    expect(axesOf(sizes).map(({ distanceOf }) => distanceOf)).toEqual([undefined, undefined]);
  });

  it('are none for one frame, and a plain count for frames without axes', () => {
    expect(axesOf({})).toEqual([]);
    expect(axesOf({ frames: framesOf(1), IndexRange: {}, IndexStride: {} })).toEqual([]);
    expect(axesOf({ frames: framesOf(7) })).toEqual([{ key: 'Frame', label: 'Frame', range: 7, stride: 1, names: [] }]);
  });

  it('moving along one axis leaves every other where it was', () => {
    const sizes = fc.tuple(fc.integer({ min: 2, max: 5 }), fc.integer({ min: 2, max: 5 }), fc.integer({ min: 2, max: 5 }));
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), fc.nat({ max: 2 }), ([c, z, t], frameSeed, positionSeed, which) => {
        const axes = axesOf({
          frames: framesOf(c * z * t),
          IndexRange: { IndexC: c, IndexZ: z, IndexT: t },
          IndexStride: { IndexC: z, IndexZ: 1, IndexT: c * z },
        });
        const frame = frameSeed % (c * z * t);
        const moved = axes[which]!;
        const position = positionSeed % moved.range;
        const next = frameAt(moved, frame, position);
        expect(next).toBeGreaterThanOrEqual(0);
        expect(next).toBeLessThan(c * z * t);
        for (const axis of axes) expect(positionOf(axis, next)).toBe(axis === moved ? position : positionOf(axis, frame));
      }),
    );
  });
});

describe('frame number of an address', () => {
  it.each([
    ['3', 3],
    ['0', 0],
    [null, 0],
    ['15', 0],
    ['-1', 0],
    ['1.5', 0],
    ['abc', 0],
  ])('%s is frame %d of 15', (text, frame) => expect(readFrame(text, { frames: framesOf(15) })).toBe(frame));
});
