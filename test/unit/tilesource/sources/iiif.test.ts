import { describe, expect, it } from 'vitest';
import { levelCount } from '../../../../src/tilesource/geometry.js';
import type { ImageMetadata } from '../../../../src/tilesource/tile-source.js';
import { iiifFacts, planIiif } from '../../../../src/tilesource/render/iiif.js';

/** 1000 by 600, two levels above the base. */
const image: ImageMetadata = {
  sizeX: 1000,
  sizeY: 600,
  tileWidth: 256,
  tileHeight: 256,
  levels: 3,
  magnification: null,
  mmX: null,
  mmY: null,
  dtype: 'uint8',
  bandCount: 3,
};
const maxArea = 4_000_000;

const plan = (request: Partial<Parameters<typeof planIiif>[1]>, metadata = image) =>
  planIiif(metadata, { region: 'full', size: 'max', rotation: '0', file: 'default.jpg', ...request }, maxArea);

describe('planIiif', () => {
  it.each([
    ['full', [0, 0, 1000, 600], 'full'],
    ['square', [200, 0, 600, 600], '200,0,600,600'],
    ['0,0,1000,600', [0, 0, 1000, 600], 'full'],
    ['0,0,5000,5000', [0, 0, 1000, 600], 'full'],
    ['900,500,200,200', [900, 500, 100, 100], '900,500,100,100'],
    ['999,599,1,1', [999, 599, 1, 1], '999,599,1,1'],
    ['pct:0,0,100,100', [0, 0, 1000, 600], 'full'],
    ['pct:41.6,7.5,40,70', [416, 45, 400, 420], '416,45,400,420'],
    ['pct:41.6,7.5,66.6,100', [416, 45, 584, 555], '416,45,584,555'],
    ['pct:.05,0,0.01,50', [1, 0, 1, 300], '1,0,1,300'],
  ])('finds the region %s', (region, [left, top, width, height], canonical) => {
    const planned = plan({ region });
    expect(planned.box).toEqual({ left, top, width, height });
    expect(planned.canonical.split('/')[0]).toBe(canonical);
  });

  it.each(['', 'Full', '1,2,3', '1,2,3,4,5', '0,0,0,10', '0,0,10,0', '1000,0,10,10', '0,600,1,1', '-1,0,10,10', '1.5,0,10,10'])(
    'refuses the region "%s"',
    (region) => expect(() => plan({ region })).toThrow(expect.objectContaining({ code: 'bad-parameter' })),
  );
  it.each(['pct:', 'pct:0,0,0,10', 'pct:100,0,1,1', 'pct:1e1,0,1,1', 'pct:+1,0,1,1', 'pct:0,0,NaN,1', 'px:0,0,1,1', '0x1,0,1,1'])(
    'refuses the region "%s"',
    (region) => expect(() => plan({ region })).toThrow(expect.objectContaining({ code: 'bad-parameter' })),
  );

  it.each([
    ['full', 'max', [1000, 600], 'max'],
    ['full', '500,', [500, 300], '500,300'],
    ['full', ',150', [250, 150], '250,150'],
    ['full', 'pct:50', [500, 300], '500,300'],
    ['full', '225,100', [225, 100], '225,100'],
    ['full', '!225,100', [167, 100], '167,100'],
    ['full', '!100,225', [100, 60], '100,60'],
    ['full', '1000,600', [1000, 600], 'max'],
    ['full', '!2000,3000', [1000, 600], 'max'],
    ['full', '^!2000,3000', [2000, 1200], '^2000,1200'],
    ['full', '^2000,', [2000, 1200], '^2000,1200'],
    ['full', '^,1200', [2000, 1200], '^2000,1200'],
    ['full', '^pct:200', [2000, 1200], '^2000,1200'],
    ['full', '^1500,100', [1500, 100], '^1500,100'],
    ['full', '^500,300', [500, 300], '500,300'],
    ['full', '^max', [2581, 1549], '^max'],
    ['10,10,100,100', '^max', [2000, 2000], '^max'],
    ['10,10,100,100', 'max', [100, 100], 'max'],
    ['0,0,1000,1', '100,', [100, 1], '100,1'],
  ])('scales %s to %s', (region, size, [width, height], canonical) => {
    const planned = plan({ region, size });
    expect(planned.output).toEqual({ width, height });
    expect(planned.canonical.split('/')[1]).toBe(canonical);
  });

  it('returns the largest allowed size for `max` when the image is larger', () => {
    const large = { ...image, sizeX: 100_000, sizeY: 50_000 };
    const { output, canonical } = plan({}, large);
    expect(output.width * output.height).toBeLessThanOrEqual(maxArea);
    expect(output.width / output.height).toBeCloseTo(2, 2);
    expect(canonical).toBe('full/max/0/default.jpg');
    expect(plan({ region: '0,0,100000,10', size: 'max' }, large).output).toEqual({ width: 65_500, height: 6 });
  });

  it.each([
    'full',
    '',
    ',',
    '^',
    '!',
    '!100,',
    '!,100',
    '0,',
    ',0',
    '0,0',
    '!0,10',
    'pct:0',
    'pct:-1',
    'pct:1e9',
    'pct:',
    '1.5,',
    '^^1,',
  ])('refuses the size "%s"', (size) => expect(() => plan({ size })).toThrow(expect.objectContaining({ code: 'bad-parameter' })));
  it.each(['1001,', ',601', '1001,600', 'pct:100.1', '1000,601', '^3000,3000', '^70000,1', '^pct:1000', '^999999999,'])(
    'refuses the size "%s", which is larger than allowed',
    (size) => expect(() => plan({ size })).toThrow(expect.objectContaining({ code: 'bad-parameter' })),
  );

  it.each([
    ['0', false, 0],
    ['90', false, 90],
    ['180.0', false, 180],
    ['!270', true, 270],
    ['360', false, 0],
    ['!360', true, 0],
  ])('rotates by %s', (rotation, mirror, degrees) => {
    const { transform, canonical } = plan({ rotation });
    expect(transform).toMatchObject({ mirror, degrees });
    expect(canonical.split('/')[2]).toBe(`${mirror ? '!' : ''}${degrees}`);
  });
  it.each(['', '-90', '45', '22.5', '450', '720', '!', '!!90', '90!', 'ninety', '9e1', '+90'])(
    'refuses the rotation "%s"',
    (rotation) => expect(() => plan({ rotation })).toThrow(expect.objectContaining({ code: 'bad-parameter' })),
  );

  it.each([
    ['default.jpg', 'asItIs', 'JPEG', 'default.jpg'],
    ['color.png', 'asItIs', 'PNG', 'default.png'],
    ['gray.webp', 'gray', 'WEBP', 'gray.webp'],
    ['bitonal.tif', 'bitonal', 'TIFF', 'bitonal.tif'],
    ['default.gif', 'asItIs', 'GIF', 'default.gif'],
  ])('understands %s', (file, tone, encoding, canonical) => {
    const planned = plan({ file });
    expect([planned.transform.tone, planned.encoding, planned.canonical.split('/')[3]]).toEqual([tone, encoding, canonical]);
  });
  it.each([
    'default',
    'default.',
    '.jpg',
    'default.jp2',
    'default.JPG',
    'grey.jpg',
    'native.jpg',
    'default.jpg.jpg',
    'default.toString',
  ])('refuses "%s"', (file) => expect(() => plan({ file })).toThrow(expect.objectContaining({ code: 'bad-parameter' })));

  it('uses gray as the default of an image without color', () => {
    const gray = { ...image, bandCount: 1 };
    expect(plan({ file: 'gray.jpg' }, gray)).toMatchObject({
      transform: { tone: 'asItIs' },
      canonical: 'full/max/0/default.jpg',
    });
    expect(iiifFacts(gray, maxArea).extraQualities).toEqual(['gray', 'bitonal']);
    expect(iiifFacts(image, maxArea).extraQualities).toEqual(['color', 'gray', 'bitonal']);
  });

  it.each([
    [16_383, ['webp', 'tif', 'gif']],
    [16_384, ['tif', 'gif']],
    [65_535, ['tif', 'gif']],
  ])('lists the formats that can hold an image of %i pixels', (sizeX, formats) => {
    const wide = { ...image, sizeX, sizeY: 2, levels: levelCount({ ...image, sizeX, sizeY: 2 }) };
    const facts = iiifFacts(wide, maxArea);
    expect(facts.extraFormats).toEqual(formats);
    expect([facts.maxWidth, facts.maxHeight]).toEqual([65_500, 65_500]);
    const { output } = plan({ file: 'default.jpg' }, wide);
    expect(output.width).toBe(Math.min(sizeX, 65_500));
    if (!formats.includes('webp')) {
      expect(() => plan({ file: 'default.webp' }, wide)).toThrow(/does not fit webp: at most 16383 pixels per side/);
    }
  });

  it('recognizes the tiles of the pyramid among the regions', () => {
    expect(plan({ region: '256,0,256,256', size: '256,256' }).tile).toEqual({ level: 2, x: 1, y: 0 });
    expect(plan({ region: '0,0,512,512', size: '256,' }).tile).toEqual({ level: 1, x: 0, y: 0 });
    expect(plan({ region: '256,0,256,256', size: 'max', file: 'gray.jpg' }).tile).toBeNull();
    expect(plan({ region: '255,0,256,256', size: 'max' }).tile).toBeNull();
    expect(plan({ region: '768,512,256,256', size: 'max' }).tile).toBeNull();
    expect(plan({ region: '0,0,128,128', size: '^256,256' }).tile).toBeNull();
  });

  it('refuses long texts', () => {
    for (const text of [
      '9'.repeat(100_000),
      `${'1,'.repeat(50_000)}`,
      `pct:${'0'.repeat(100_000)}`,
      `^!${'1'.repeat(99_999)},`,
    ]) {
      for (const part of ['region', 'size', 'rotation', 'file']) expect(() => plan({ [part]: text })).toThrow('Invalid');
    }
  });
});

describe('iiifFacts', () => {
  it('lists levels and tiles within the limits', () => {
    expect(iiifFacts(image, maxArea)).toMatchObject({
      width: 1000,
      height: 600,
      maxArea,
      sizes: [
        { width: 250, height: 150 },
        { width: 500, height: 300 },
        { width: 1000, height: 600 },
      ],
      tiles: [{ width: 256, height: 256, scaleFactors: [1, 2, 4] }],
    });
    expect(iiifFacts(image, 200_000).sizes.at(-1)).toEqual({ width: 500, height: 300 });
  });
});
