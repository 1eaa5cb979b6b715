import { expect, it } from 'vitest';
import { compositeRequest } from '../../../src/tilesource/render/composite.js';
import type { FrameMetadata, ImageMetadata } from '../../../src/tilesource/tile-source.js';

const image = (frames: FrameMetadata[], more: Partial<ImageMetadata> = {}): ImageMetadata => ({
  sizeX: 10,
  sizeY: 10,
  tileWidth: 10,
  tileHeight: 10,
  levels: 1,
  magnification: null,
  mmX: null,
  mmY: null,
  dtype: 'uint16',
  bandCount: 1,
  frames,
  ...more,
});

const colorsOf = (metadata: ImageMetadata) => {
  const { style } = compositeRequest(metadata);
  if (style === undefined) return null;
  const { bands } = JSON.parse(style as string) as { bands: { framedelta: number; palette: string }[] };
  return bands.map(({ framedelta, palette }) => `${framedelta} ${palette}`);
};

it.each<[string, ImageMetadata, string[] | null]>([
  ['no frames', image([]), null],
  ['one channel of several planes', image([{ axes: { Z: 0 } }, { axes: { Z: 1 } }]), null],
  ['colors in each channel', image([{ axes: { C: 0 } }, { axes: { C: 1 } }], { bandCount: 3 }), null],
  [
    'colors of the file, a dye, and neither',
    image([
      { axes: { C: 0 }, color: '#123456', channel: 'DAPI' },
      { axes: { C: 1 }, channel: 'Hoechst 33342' },
      { axes: { C: 2 }, color: 'none of them' },
    ]),
    ['0 #123456', '1 #0000ff', '2 #0000ff'],
  ],
  [
    'names of the image',
    image([{ axes: { C: 0 } }, { axes: { C: 1 } }], { channels: ['FITC', 'Cy5'] }),
    ['0 #00ff00', '1 #ff00ff'],
  ],
  ['a channel that is left out', image([{ axes: { C: 0 } }, { axes: { C: 2 } }]), ['0 #ff0000', '1 #0000ff']],
  [
    'more channels than colors',
    image(Array.from({ length: 9 }, (_, C) => ({ axes: { C } }))),
    ['0 #ff0000', '1 #00ff00', '2 #0000ff', '3 #ffff00', '4 #ff00ff', '5 #00ffff'],
  ],
])('chooses the channels and colors of a composite of an image with %s', (_name, metadata, expected) => {
  expect(colorsOf(metadata)).toEqual(expected);
});

it.each([
  [[], undefined],
  [[2], undefined],
  [[3], 1],
  [[4], 1],
  [[5], 2],
])('shows the middle of %s planes in a composite', (depths, expected) => {
  const frames = depths.flatMap((depth) => Array.from({ length: depth }, (_, Z) => ({ axes: { Z, T: 0 } })));
  expect(compositeRequest(image(frames)).frame).toBe(expected);
});
