import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { prepareWireMetadata, wireFrames, wireMetadata } from '../../../src/tilesource/metadata.js';
import { quadInfo } from '../../../src/tilesource/quad-info.js';
import { parseFrameList, spriteGrid } from '../../../src/tilesource/render/tile-frames.js';

function stack(axes: Record<string, number>) {
  const frames: { axes: Record<string, number> }[] = [];
  const names = Object.keys(axes);
  const total = Object.values(axes).reduce((product, count) => product * count, 1);
  for (let frame = 0; frame < total; frame += 1) {
    let rest = frame;
    const place: Record<string, number> = {};
    for (const name of names) {
      const count = axes[name] ?? 1;
      place[name] = rest % count;
      rest = Math.floor(rest / count);
    }
    frames.push({ axes: place });
  }
  return frames;
}

const small = {
  sizeX: 439,
  sizeY: 167,
  tileWidth: 439,
  tileHeight: 256,
  levels: 1,
  magnification: null,
  mmX: null,
  mmY: null,
  dtype: 'int8',
  bandCount: 1,
} as const;

describe('frames on the wire', () => {
  it('numbers two channels of three planes as the contract shows', () => {
    const wire = wireFrames(stack({ C: 2, Z: 3 }));
    expect(wire.frames?.[3]).toEqual({ Frame: 3, Index: 1, IndexC: 1, IndexZ: 1 });
    expect(wire.IndexRange).toEqual({ IndexC: 2, IndexZ: 3 });
    expect(wire.IndexStride).toEqual({ IndexC: 1, IndexZ: 2 });
  });

  it('counts every plane as a separate set when channels are outermost', () => {
    const wire = wireFrames(stack({ Z: 5, C: 3 }));
    expect(wire.frames?.map((frame) => frame.Index)).toEqual(Array.from({ length: 15 }, (_, index) => index));
    expect(wire.IndexStride).toEqual({ IndexC: 5, IndexZ: 1 });
  });

  it('leaves out frames, ranges and channels that are not there', () => {
    expect(wireFrames([{ axes: {} }])).toEqual({});
    expect(wireFrames(stack({ C: 2, Z: 1 })).IndexRange).toEqual({ IndexC: 2 });
    expect(wireFrames(stack({ C: 3 }), ['DAPI'])).not.toHaveProperty('channels');
  });

  it('names channels when the file has enough names', () => {
    const wire = wireFrames(stack({ C: 2 }), ['DAPI', 'FITC', 'spare']);
    expect(wire.channels).toEqual(['DAPI', 'FITC']);
    expect(wire.channelmap).toEqual({ DAPI: 0, FITC: 1 });
    expect(wire.frames?.[1]).toMatchObject({ Channel: 'FITC' });
  });

  it('a frame number is the sum of positions times strides', () => {
    const count = fc.integer({ min: 1, max: 4 });
    fc.assert(
      fc.property(count, count, count, (C, Z, T) => {
        const wire = wireFrames(stack({ C, Z, T }));
        for (const frame of wire.frames ?? []) {
          const sum = Object.entries(wire.IndexStride ?? {}).reduce(
            (total, [key, stride]) => total + Number(frame[key]) * stride,
            0,
          );
          expect(sum).toBe(frame.Frame);
        }
      }),
    );
  });

  it('are described once, however many there are, without blocking the event loop', async () => {
    const image = { ...small, frames: stack({ C: 3, T: 100_000 }) };
    let turns = 0;
    let isGoing = true;
    const turn = (): void => {
      turns += 1;
      if (isGoing) setImmediate(turn);
    };
    setImmediate(turn);
    await prepareWireMetadata(image);
    isGoing = false;
    expect(turns).toBeGreaterThan(2);
    const described = wireMetadata(image);
    expect(wireMetadata(image)).toBe(described);
    expect(described.frames?.at(-1)).toEqual({ Frame: 299_999, Index: 99_999, IndexC: 2, IndexT: 99_999 });
  });

  it('estimates the magnification from the pixel size', () => {
    expect(wireMetadata({ ...small, mmX: 0.0005, mmY: 0.0005 }).magnification).toBe(20);
  });
});

describe('sprites', () => {
  it.each([
    [15, undefined, 4, 4],
    [15, 20, 15, 1],
    [5, 2, 2, 3],
    [1, undefined, 1, 1],
  ])('%i frames with %s across: %i columns, %i rows', (frames, across, columns, rows) => {
    expect(spriteGrid(frames, across)).toEqual({ columns, rows });
  });

  it('reads lists with and without brackets', () => {
    expect(parseFrameList('[0, 2,4]')).toEqual([0, 2, 4]);
    expect(parseFrameList('3')).toEqual([3]);
    expect(parseFrameList('')).toBeUndefined();
    expect(() => parseFrameList('1,x')).toThrow('Invalid frameList');
    expect(() => parseFrameList('1,,2')).toThrow('Invalid frameList');
  });
});

// Expected values: answers of Girder to GET tile_frames/quad_info.
describe('covering frames with textures', () => {
  const common = { exact: false, fill: 'corner:black' };
  const usual = { encoding: 'JPEG', jpegQuality: 85, jpegSubsampling: 1 };

  it('lays out 15 small planes', async () => {
    const info = await quadInfo(wireMetadata({ ...small, frames: stack({ Z: 5, C: 3 }) }));
    expect(info.src).toEqual([{ ...usual, ...common, framesAcross: 4, height: 176, width: 448 }]);
    expect(info.quads?.[0]?.crop).toEqual({ bottom: 704, left: 0, right: 448, top: 534, x: 439, y: 167 });
    expect(info.quads?.[14]?.crop).toEqual({ bottom: 176, left: 896, right: 1344, top: 6, x: 439, y: 167 });
    expect(info.quadsToIdx).toEqual(Array.from({ length: 15 }, () => 0));
    expect(info.minLevel).toBe(0);
    expect(info.framesToIdx).toMatchObject({ 0: 0, 14: 14 });
    expect(info.options).toEqual({
      alignment: 16,
      format: usual,
      frameBase: 0,
      frameGroup: 1,
      frameGroupFactor: 4,
      frameGroupStride: 1,
      frameStride: 1,
      maxFrameSize: null,
      maxTextureSize: 8192,
      maxTextures: 1,
      maxTotalTexturePixels: 1_073_741_824,
      query: {},
    });
  });

  it('lays out a single slide with a group of three', async () => {
    const slide = { ...small, sizeX: 2220, sizeY: 2967, tileWidth: 240, tileHeight: 240, levels: 5 };
    const info = await quadInfo(wireMetadata(slide), { frameGroup: 3 });
    expect(info.src).toEqual([{ ...usual, ...common, frameList: [0], framesAcross: 3, height: 2976, width: 2224 }]);
    expect(info.quads?.[0]?.crop).toEqual({ bottom: 2976, left: 0, right: 2224, top: 4, x: 2220, y: 2967 });
    expect(info.minLevel).toBe(4);
  });

  it('shrinks the texture of a small picture', async () => {
    const picture = { ...small, sizeX: 290, sizeY: 442, tileWidth: 290, tileHeight: 442 };
    const info = await quadInfo(wireMetadata(picture), { format: { encoding: 'PNG' } });
    expect(info.src).toEqual([{ encoding: 'PNG', ...common, frameList: [0], framesAcross: 2, height: 400, width: 256 }]);
    expect(info.quads?.[0]?.crop).toEqual({ bottom: 400, left: 0, right: 256, top: 10, x: 290, y: 442 });
    expect(info.minLevel).toBe(0);
  });

  it('iterates an axis passed as base', async () => {
    const info = await quadInfo(wireMetadata({ ...small, frames: stack({ C: 3, Z: 5 }) }), { frameBase: 'c', frameStride: 'c' });
    expect(Object.keys(info).sort()).toEqual(['metadata', 'options', 'src']);
    expect(info.src.map((src) => src.frameList)).toEqual([
      [0, 3, 6, 9, 12],
      [1, 4, 7, 10, 13],
      [2, 5, 8, 11, 14],
    ]);
  });

  it('ends and covers each frame once, whatever the options', async () => {
    const frames = fc.integer({ min: 2, max: 200 });
    const options = fc.record({
      maxTextureSize: fc.integer({ min: 16, max: 16_384 }),
      maxTextures: fc.integer({ min: 1, max: 20 }),
      frameGroup: fc.integer({ min: 1, max: 10 }),
      alignment: fc.constantFrom(1, 4, 16),
    });
    const side = fc.integer({ min: 1, max: 50_000 });
    await fc.assert(
      fc.asyncProperty(frames, side, side, options, async (count, sizeX, sizeY, chosen) => {
        const info = await quadInfo(wireMetadata({ ...small, sizeX, sizeY, frames: stack({ C: count }) }), chosen);
        expect(info.quads?.length).toBe(count);
        expect(new Set(info.frames).size).toBe(count);
      }),
    );
  });

  it.each([
    [{ frameBase: 99 }, 'Invalid frameBase: 99'],
    [{ maxTextureSize: 4 }, 'Invalid maxTextureSize'],
    [{ frameStride: 0 }, 'Invalid frameStride'],
    [{ alignment: -1 }, 'Invalid alignment'],
  ])('%j is refused', async (options, message) => {
    await expect(quadInfo(wireMetadata({ ...small, frames: stack({ C: 2 }) }), options)).rejects.toThrow(message);
  });
});
