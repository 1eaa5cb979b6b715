import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dziMaxLevel, dziTileRegion, parseDziName, parseDziOptions } from '../../../src/tilesource/render/deep-zoom.js';
import {
  boxAtLevel,
  checkTile,
  croppedTileContent,
  finerLevel,
  levelCount,
  levelSize,
  preferredLevel,
  roundHalfEven,
  tileContent,
  tileGrid,
} from '../../../src/tilesource/geometry.js';
import { fitSize, parseUnits, planRegion, regionBox, requestedScale } from '../../../src/tilesource/region-plan.js';

const shapes = fc
  .record({
    sizeX: fc.integer({ min: 1, max: 200_000 }),
    sizeY: fc.integer({ min: 1, max: 200_000 }),
    tileWidth: fc.integer({ min: 1, max: 1024 }),
    tileHeight: fc.integer({ min: 1, max: 1024 }),
  })
  .map((shape) => ({ ...shape, levels: levelCount(shape), magnification: null, mmX: null, mmY: null }));

function shape(sizeX: number, sizeY: number, tile = 256) {
  const size = { sizeX, sizeY, tileWidth: tile, tileHeight: tile };
  return { ...size, levels: levelCount(size), magnification: 20, mmX: 0.0005, mmY: 0.0005 };
}

describe('levels', () => {
  it.each([
    [2220, 2967, 240, 5],
    [131_072, 131_072, 256, 10],
    [256, 256, 256, 1],
    [257, 1, 256, 2],
    [1, 1, 256, 1],
  ])('an image of %i x %i with tiles of %i has %i levels', (sizeX, sizeY, tile, levels) => {
    expect(shape(sizeX, sizeY, tile).levels).toBe(levels);
  });

  it('level 0 fits one tile and level 1 does not', () => {
    fc.assert(
      fc.property(shapes, (image) => {
        expect(tileGrid(image, 0)).toEqual({ columns: 1, rows: 1 });
        if (image.levels === 1) return;
        const grid = tileGrid(image, 1);
        expect(grid.columns * grid.rows).toBeGreaterThan(1);
      }),
    );
  });

  it('the contents of the tiles of a level add up to the level', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), (image, choice) => {
        const level = choice % image.levels;
        const { columns, rows } = tileGrid(image, level);
        fc.pre(columns < 2000 && rows < 2000);
        let width = 0;
        for (let x = 0; x < columns; x += 1) width += tileContent(image, { level, x, y: 0 }).width;
        let height = 0;
        for (let y = 0; y < rows; y += 1) height += tileContent(image, { level, x: 0, y }).height;
        expect({ width, height }).toEqual(levelSize(image, level));
      }),
    );
  });

  it('cropping leaves at least one pixel, and adds none', () => {
    fc.assert(
      fc.property(shapes, fc.nat(), (image, choice) => {
        const level = choice % image.levels;
        const { columns, rows } = tileGrid(image, level);
        const tile = { level, x: columns - 1, y: rows - 1 };
        const cropped = croppedTileContent(image, tile);
        const content = tileContent(image, tile);
        expect(cropped.width).toBeGreaterThanOrEqual(1);
        expect(cropped.height).toBeGreaterThanOrEqual(1);
        expect(cropped.width).toBeLessThanOrEqual(content.width);
        expect(cropped.height).toBeLessThanOrEqual(content.height);
      }),
    );
  });

  it('reads from the nearest level with data, in steps of three, and averages coarser levels', () => {
    expect(finerLevel([4], 3)).toBe(4);
    expect(finerLevel([9], 0)).toBe(3);
    expect(finerLevel([2, 4], 1)).toBe(2);
    expect(preferredLevel([0, 4], 3)).toBe(4);
    expect(preferredLevel([0, 4], 1)).toBe(1);
    expect(preferredLevel([0, 4], 2)).toBe(4);
    expect(preferredLevel([4], 3)).toBe(3);
    expect(preferredLevel([0, 4], -2)).toBe(-2);
    expect(preferredLevel([1, 4], 1)).toBe(1);
  });
});

describe('tile addresses', () => {
  it.each([
    [{ level: 5, x: 0, y: 0 }, 'z layer does not exist', 404],
    [{ level: 1, x: 2, y: 0 }, 'x is outside layer', 404],
    [{ level: 1, x: 1, y: 2 }, 'y is outside layer', 404],
    [{ level: -1, x: 0, y: 0 }, 'x, y, and z must be positive integers', 400],
    [{ level: 0, x: 0.5, y: 0 }, 'x, y, and z must be integers', 400],
    [{ level: NaN, x: 0, y: 0 }, 'x, y, and z must be integers', 400],
  ])('%j is refused: %s', (tile, message) => {
    expect(() => checkTile(shape(2220, 2967, 240), tile)).toThrow(message);
  });

  it('accepts the last tile of every level', () => {
    fc.assert(
      fc.property(shapes, (image) => {
        for (let level = 0; level < image.levels; level += 1) {
          const { columns, rows } = tileGrid(image, level);
          checkTile(image, { level, x: columns - 1, y: rows - 1 });
          expect(() => checkTile(image, { level, x: columns, y: 0 })).toThrow('x is outside layer');
        }
      }),
    );
  });

  it('refuses levels below the minimum', () => {
    expect(() => checkTile(shape(5000, 5000), { level: 0, x: 0, y: 0 }, 1)).toThrow('z layer does not exist');
  });
});

describe('regions', () => {
  it.each([
    [
      { width: 300, height: 200 },
      { width: 100, height: 100 },
      { width: 100, height: 66 },
    ],
    [{ width: 300, height: 10_000 }, { width: 100 }, { width: 48, height: 1600 }],
    [{ width: 1500, height: 1500 }, { width: 3000 }, { width: 3000, height: 3000 }],
    [
      { width: 290, height: 442 },
      { width: 256, height: 256 },
      { width: 167, height: 256 },
    ],
    [
      { width: 2220, height: 2967 },
      { width: 100, height: 100 },
      { width: 74, height: 100 },
    ],
    [
      { width: 10_000, height: 1 },
      { width: 100, height: 100 },
      { width: 100, height: 1 },
    ],
  ])('%j in %j becomes %j', (content, box, size) => {
    expect(fitSize(content, box)).toEqual(size);
  });

  it('a fitted size fills its box along one axis and never leaves it', () => {
    const side = fc.integer({ min: 1, max: 100_000 });
    fc.assert(
      fc.property(side, side, side, side, (width, height, maxWidth, maxHeight) => {
        const size = fitSize({ width, height }, { width: maxWidth, height: maxHeight });
        expect(size.width).toBeLessThanOrEqual(maxWidth);
        expect(size.height).toBeLessThanOrEqual(maxHeight);
        expect(size.width === maxWidth || size.height === maxHeight).toBe(true);
      }),
    );
  });

  it.each([
    [{}, [0, 0, 2000, 1000]],
    [{ left: 10, top: 20, right: 110, bottom: 70 }, [10, 20, 100, 50]],
    [{ right: 300, regionWidth: 100, bottom: 250, regionHeight: 50 }, [200, 200, 100, 50]],
    [{ left: -100, top: -50 }, [1900, 950, 100, 50]],
    [{ left: 0.25, right: 0.5, units: 'fraction' }, [500, 0, 500, 1000]],
    [{ left: 0.05, regionWidth: 0.1, units: 'mm' }, [100, 0, 200, 1000]],
    [{ left: 50, regionWidth: 100, units: 'microns' }, [100, 0, 200, 1000]],
    [{ left: 100, right: 200, regionWidth: 0.5, unitsWH: 'fraction' }, [100, 0, 1000, 1000]],
    [{ left: 3000 }, [2000, 0, 0, 1000]],
    [{ left: 500, right: 100 }, [500, 0, 0, 1000]],
    [{ left: 0.5, right: 1.5 }, [0, 0, 2, 1000]],
  ])('bounds %j select %j', (bounds, [left, top, width, height]) => {
    expect(regionBox(shape(2000, 1000), bounds)).toEqual({ left, top, width, height });
  });

  it('scales magnified pixels to the requested scale', () => {
    const box = regionBox(shape(2000, 1000), { left: 10, regionWidth: 50, units: 'mag_pixels' }, { magnification: 5 });
    expect(box).toMatchObject({ left: 40, width: 200 });
  });

  it('always keeps bounds inside the image', () => {
    const value = fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { nil: undefined });
    const anyBounds = fc.record({
      left: value,
      right: value,
      top: value,
      bottom: value,
      regionWidth: value,
      regionHeight: value,
    });
    fc.assert(
      fc.property(shapes, anyBounds, (image, bounds) => {
        const defined = Object.fromEntries(Object.entries(bounds).filter(([, each]) => each !== undefined));
        const box = regionBox(image, defined);
        expect(box.left).toBeGreaterThanOrEqual(0);
        expect(box.top).toBeGreaterThanOrEqual(0);
        expect(box.width).toBeGreaterThanOrEqual(0);
        expect(box.left + box.width).toBeLessThanOrEqual(image.sizeX);
        expect(box.top + box.height).toBeLessThanOrEqual(image.sizeY);
      }),
    );
  });

  it('a plan reads inside its level, at one to eight times the resolution of the output', () => {
    const side = fc.integer({ min: 1, max: 3000 });
    fc.assert(
      fc.property(shapes, side, side, fc.nat(), (image, width, height, seed) => {
        const populated = Array.from({ length: image.levels }, (_, level) => level).filter(
          (level) => level === image.levels - 1 || (seed >> level) % 2 === 0,
        );
        const plan = planRegion(image, populated, { width, height });
        expect(plan).not.toBeNull();
        if (!plan) return;
        const size = levelSize(image, plan.level);
        expect(plan.levelBox.left + plan.levelBox.width).toBeLessThanOrEqual(size.width);
        expect(plan.levelBox.top + plan.levelBox.height).toBeLessThanOrEqual(size.height);
        expect(plan.levelBox.width).toBeGreaterThanOrEqual(1);
        const ratio = plan.levelBox.width / plan.output.width;
        // An output smaller than the coarsest level is made from the coarsest level.
        const coarsest = levelSize(image, 0);
        const inside = plan.output.width >= coarsest.width && plan.output.height >= coarsest.height;
        if (inside && Math.min(plan.output.width, plan.output.height) > 64 && plan.level < image.levels - 1) {
          expect(ratio).toBeGreaterThan(0.9);
          expect(ratio).toBeLessThan(8.5);
        }
      }),
    );
  });

  it.each([
    [{ width: -1 }, 'Value Error: Invalid output width or height.  Minimum value is 0.'],
    [{ height: 1.5 }, 'Value Error: Invalid output width or height.  Minimum value is 0.'],
    [{ width: 0 }, 'Value Error: Invalid output width or height.'],
    [{ units: 'furlong' }, "Value Error: Invalid units 'furlong'"],
    [{ units: 'constructor' }, "Value Error: Invalid units 'constructor'"],
    [{ unitsWH: 'epsg:3857' }, "Value Error: Invalid units 'epsg:3857'"],
  ])('%j is refused: %s', (request, message) => {
    expect(() => planRegion(shape(2000, 1000), [3], request)).toThrow(message);
  });

  it('says which calibration is missing', () => {
    const bare = { ...shape(2000, 1000), magnification: null, mmX: null, mmY: null };
    expect(() => regionBox(bare, { left: 1, units: 'mm' })).toThrow('Value Error: No mm_x or mm_y to use for units');
    const magnified = { left: 7, units: 'mag_pixels' };
    expect(() => regionBox(bare, magnified, { magnification: 10 })).toThrow('Value Error: No magnification to use for units');
    // Without a scale, `mag_pixels` are pixels of the image, even if it has no magnification.
    expect(regionBox(bare, magnified)).toMatchObject({ left: 7 });
  });

  it('answers only stored levels when exact', () => {
    const image = shape(2000, 1000);
    const allLevels = [0, 1, 2, 3];
    expect(planRegion(image, allLevels, { magnification: 10, exact: true })).toMatchObject({
      level: 2,
      output: { width: 1000, height: 500 },
    });
    expect(planRegion(image, allLevels, { magnification: 7, exact: true })).toBeNull();
    expect(planRegion(image, [3], { magnification: 10, exact: true })).toBeNull();
    expect(planRegion(image, allLevels, { magnification: 40, exact: true })).toBeNull();
    expect(planRegion(image, allLevels, { exact: true })).toMatchObject({ level: 3, output: { width: 2000, height: 1000 } });
  });

  it('scales by magnification and by pixel size', () => {
    const image = shape(2000, 1000);
    expect(planRegion(image, [3], { magnification: 5 })?.output).toEqual({ width: 500, height: 250 });
    expect(planRegion(image, [3], { mmX: 0.001, mmY: 0.001 })?.output).toEqual({ width: 1000, height: 500 });
    expect(requestedScale(image, { magnification: 10, mmX: 0.002 })).toEqual({ octaves: -1.5, isExact: false });
  });

  it('rounds halves to even', () => {
    expect([0.5, 1.5, 2.5, -0.5, 2.4, 2.6].map((value) => roundHalfEven(value) + 0)).toEqual([0, 2, 2, 0, 2, 3]);
  });

  it('knows the aliases of units', () => {
    expect(parseUnits(undefined)).toEqual({ kind: 'base' });
    expect(parseUnits('base_pixel')).toEqual({ kind: 'base' });
    expect(parseUnits('pixels')).toEqual({ kind: 'magnified' });
    expect(parseUnits('μm')).toEqual({ kind: 'length', mm: 1e-3 });
  });
});

describe('Deep Zoom', () => {
  const wide = shape(58_368, 12_288);
  it.each([
    [8, 0, 0, 0, 228, 48],
    [12, 0, 0, 4, 260, 260],
    [12, 2, 1, 4, 264, 264],
    [12, 14, 2, 4, 68, 260],
    [0, 0, 0, 0, 1, 1],
  ])('level %i tile %i_%i with overlap %i is %i x %i', (level, x, y, overlap, width, height) => {
    const options = parseDziOptions({ overlap });
    expect(dziTileRegion(wide, options, { level, x, y }).output).toEqual({ width, height });
  });

  it('the highest level is the first that holds the image', () => {
    expect(dziMaxLevel(wide)).toBe(16);
    expect(dziMaxLevel(shape(1, 1))).toBe(0);
    expect(dziMaxLevel(shape(1024, 3))).toBe(10);
  });

  it.each([
    [{ overlap: -1 }, 'Invalid overlap'],
    [{ tilesize: 100 }, 'Invalid tilesize'],
    [{ tilesize: 0 }, 'Invalid tilesize'],
    [{ encoding: 'WEBP' }, 'Only JPEG and PNG encodings are supported'],
  ])('%j is refused: %s', (request, message) => {
    expect(() => parseDziOptions(request)).toThrow(message);
  });

  it('takes position and encoding from the name', () => {
    expect(parseDziName('3_4.png')).toEqual({ x: 3, y: 4, encoding: 'PNG' });
    expect(parseDziName('0_0.jpeg')).toEqual({ x: 0, y: 0, encoding: 'JPEG' });
    expect(parseDziName('0_0')).toEqual({ x: 0, y: 0, encoding: null });
    for (const name of ['a_b', '1', '1_2_3.png', '-1_0.png', '']) expect(() => parseDziName(name)).toThrow('Invalid tile name');
  });

  it('refuses regions outside the image', () => {
    const options = parseDziOptions({});
    expect(() => dziTileRegion(wide, options, { level: 17, x: 0, y: 0 })).toThrow('level must be between');
    expect(() => dziTileRegion(wide, options, { level: 8, x: 1, y: 0 })).toThrow('x is outside layer');
    expect(() => dziTileRegion(wide, options, { level: 8, x: 0, y: 1 })).toThrow('y is outside layer');
  });
});

describe('boxes at levels', () => {
  it.each([
    [
      { left: 7, top: 9, width: 16, height: 30 },
      { left: 1, top: 1, width: 2, height: 4 },
    ],
    [
      { left: 0, top: 0, width: 1100, height: 703 },
      { left: 0, top: 0, width: 138, height: 88 },
    ],
    [
      { left: 1099, top: 702, width: 1, height: 1 },
      { left: 137, top: 87, width: 1, height: 1 },
    ],
    [
      { left: 2, top: 2, width: 1, height: 1 },
      { left: 0, top: 0, width: 1, height: 1 },
    ],
  ])('%j takes the nearest whole pixels of a level of an eighth', (base, expected) => {
    const image = shape(1100, 703, 128);
    expect(boxAtLevel(image, base, image.levels - 4)).toEqual(expected);
  });
});
