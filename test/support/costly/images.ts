import sharp from 'sharp';
import { asGet, mebibyte, repeated, type CostlyRow, type Send } from './place.js';
import { writeCzi } from '../writers/czi-writer.js';
import type { Answer } from '../hosts/reference-host.js';
import { grayTags, writeTiff, type TagValue } from '../writers/tiff-writer.js';
import { writeZip } from '../writers/zip-writer.js';

/** A gray TIFF of one tile, with further tags in its first directory. */
function grayTiff(tags: Record<number, TagValue>, directories = 1): Buffer {
  const tile = { tags: grayTags(256, 256, 256), chunks: [new Uint8Array(65_536).fill(100)] };
  const first = { ...tile, tags: { ...tile.tags, ...tags } };
  // All other directories show the tile of the first one, at the beginning of the file.
  const further = { tags: { ...grayTags(256, 256, 256), 324: { long: [8] }, 325: { long: [65_536] } }, chunks: [] };
  return writeTiff([first, ...Array.from({ length: directories - 1 }, () => further)]);
}

/** The first requests of a viewer for an image. Returns the first response that is not 200, or the last one. */
async function shown(send: Parameters<Send>[1], uploaded: Promise<string>): Promise<Answer> {
  const item = await uploaded;
  let answer = await send('GET', `/item/${item}/tiles`);
  for (const path of ['zxy/0/0/0', 'internal_metadata', 'tile_frames/quad_info']) {
    if (answer.status !== 200) break;
    answer = await send('GET', `/item/${item}/tiles/${path}`);
  }
  return answer;
}

/** Images and requests about them, of every kind, at their limits. */
export const costlyImages: readonly CostlyRow[] = [
  [
    'more textures than there are pixels',
    400,
    ({ slide }, send) =>
      send('GET', `/item/${slide}/tiles/tile_frames/quad_info`, { query: { maxTextures: 9e12, maxTextureSize: 1e9 } }),
  ],
  [
    'a stride beyond all frames',
    200,
    ({ slide }, send) => send('GET', `/item/${slide}/tiles/tile_frames/quad_info`, { query: { frameGroupStride: 1_000_000 } }),
  ],
  [
    'a picture of one frame, over and over',
    200,
    ({ slide }, send) => {
      const form = { frameList: repeated('0,', 32_000).slice(0, -1), width: '8', height: '8' };
      return send('POST', `/item/${slide}/tiles/tile_frames`, { form, headers: asGet });
    },
  ],
  [
    'a made-up tile of a million pixels, and one in 250 colors',
    200,
    (_place, send) => {
      const style = JSON.stringify({ bands: Array.from({ length: 250 }, () => ({ band: 1, palette: 'viridis' })) });
      const query = { tileWidth: 1024, tileHeight: 1024, fractal: true, sizeX: 9000, sizeY: 9000 };
      return send('GET', '/item/test/tiles/zxy/2/0/0', { query }).then((answer) =>
        answer.status === 200 ? send('GET', '/item/test/tiles/zxy/9/0/0', { query: { style } }) : answer,
      );
    },
  ],
  [
    'ten thousand frames of thousands of axes',
    400,
    (_place, send) => {
      const axes = Array.from({ length: 1500 }, (_, i) => `,A${i.toString(36)}=1`)
        .join('')
        .toUpperCase();
      return send('GET', '/item/test/tiles', { query: { frames: `C=100,Z=100${axes}` } });
    },
  ],
  [
    'a histogram of many bins of a thousand bands',
    400,
    async ({ upload }, send) => {
      const tags = { ...grayTags(16, 16, 16), 277: { short: [1000] }, 258: { short: Array<number>(1000).fill(8) } };
      const bytes = writeTiff([{ tags, chunks: [new Uint8Array(256_000).fill(7)] }]);
      const item = await upload('thousand-bands.tif', bytes);
      const few = await send('GET', `/item/${item}/tiles/histogram`, { query: { bins: 4 } });
      return few.status === 200 ? send('GET', `/item/${item}/tiles/histogram`, { query: { bins: 60_000 } }) : few;
    },
  ],
  [
    'a style of palettes of which no two are alike',
    200,
    (_place, send) => {
      const style = JSON.stringify({ bands: Array.from({ length: 200 }, (_, i) => ({ band: 1, palette: `turbo_${200 + i}` })) });
      return send('GET', '/item/test/tiles/zxy/9/0/0', { query: { style } });
    },
  ],
  [
    'OME-XML of 90,000 planes',
    200,
    ({ upload }, send) => {
      const planes = Array.from({ length: 90_000 }, (_, i) => `<Plane TheZ="${i}" TheC="0" TheT="0"/>`).join('');
      const pixels = `<Pixels DimensionOrder="XYCZT" Type="uint8" SizeX="256" SizeY="256" SizeC="1" SizeZ="1" SizeT="1">${planes}</Pixels>`;
      return shown(send, upload('planes.ome.tif', grayTiff({ 270: { ascii: `<OME><Image>${pixels}</Image></OME>` } })));
    },
  ],
  [
    'OME-XML of few words about 100,000 planes',
    200,
    ({ upload }, send) => {
      const channels = Array.from({ length: 100 }, (_, i) => `<Channel ID="Channel:0:${i}" Name="c${i}" Color="${i + 1}"/>`).join(
        '',
      );
      const sizes = 'DimensionOrder="XYCZT" Type="uint8" SizeX="256" SizeY="256" SizeC="100" SizeZ="100" SizeT="10"';
      const xml = `<OME><Image><Pixels ${sizes}>${channels}<TiffData IFD="0" PlaneCount="1"/></Pixels></Image></OME>`;
      return shown(send, upload('few-words.ome.tif', grayTiff({ 270: { ascii: xml } })));
    },
  ],
  [
    'OME-XML that places its planes a thousand times',
    200,
    ({ upload }, send) => {
      const sizes = 'Type="uint8" SizeX="256" SizeY="256" SizeC="1" SizeZ="100000" SizeT="1"';
      const xml = `<OME><Image><Pixels ${sizes}>${repeated('<TiffData IFD="0" PlaneCount="100000"/>', 32_000)}</Pixels></Image></OME>`;
      return shown(send, upload('again.ome.tif', grayTiff({ 270: { ascii: xml } })));
    },
  ],
  [
    'OME-XML of many labels of many planes',
    200,
    ({ upload }, send) => {
      const slide = '<Image><Pixels Type="uint8" SizeX="256" SizeY="256"/></Image>';
      const label = '<Image Name="label"><Pixels SizeZ="100000"/></Image>';
      return shown(send, upload('labels.ome.tif', grayTiff({ 270: { ascii: `<OME>${slide}${repeated(label, 30_000)}</OME>` } })));
    },
  ],
  [
    'a description of twelve megabytes',
    200,
    ({ upload }, send) =>
      shown(send, upload('slide.svs', grayTiff({ 270: { ascii: `Aperio Image Library\n|${'A = 1|'.repeat(2_000_000)}` } }))),
  ],
  ['a file of 30,000 directories', 200, ({ upload }, send) => shown(send, upload('frames.tif', grayTiff({}, 30_000)))],
  [
    'a picture of 16 bits with much around it',
    200,
    async ({ upload }, send) => {
      const samples = new Uint16Array(3000 * 3000).map((_, i) => i % 65_521);
      const image = sharp(samples, { raw: { width: 3000, height: 3000, channels: 1 } }).toColourspace('grey16');
      const item = await upload('gray16.tif', await image.tiff({ tile: true, compression: 'none' }).toBuffer());
      const region = await send('GET', `/item/${item}/tiles/region`, { query: { width: 5000, height: 4000, fill: '#ff0000' } });
      return region.status === 200
        ? send('GET', `/item/${item}/tiles/histogram`, { query: { width: 3000, height: 3000 } })
        : region;
    },
  ],
  [
    'a description in XML of many elements',
    400,
    ({ upload }, send) => {
      const xml = `<PerkinElmer-QPI-ImageDescription>${repeated('<a b="c">d</a>', 240_000)}</PerkinElmer-QPI-ImageDescription>`;
      return shown(send, upload('slide.qptiff', grayTiff({ 270: { ascii: xml } })));
    },
  ],
  [
    'a CZI file of 20,000 planes',
    400,
    async ({ upload }, send) => {
      const block = { left: 0, top: 0, storedWidth: 2, storedHeight: 2, pixelType: 0, compression: 0, data: new Uint8Array(4) };
      const { file } = writeCzi({
        blocks: Array.from({ length: 20_000 }, (_, i) => ({ ...block, axes: { C: i, Z: i % 7, T: i % 3 } })),
      });
      return shown(send, upload('planes.czi', file));
    },
  ],
  ...[1, 16].map((side): CostlyRow => [
    `a Zarr image whose chunks have ${side} by ${side} pixels`,
    404,
    async ({ upload }, send) => {
      const axes = ['y', 'x'].map((name) => ({ name, type: 'space' }));
      const array = {
        zarr_format: 2,
        shape: [60_000, 60_000],
        chunks: [side, side],
        dtype: '|u1',
        compressor: null,
        fill_value: 0,
      };
      const { file } = writeZip({
        'a.zarr/.zgroup': '{"zarr_format":2}',
        'a.zarr/.zattrs': JSON.stringify({ multiscales: [{ version: '0.4', axes, datasets: [{ path: '0' }] }] }),
        'a.zarr/0/.zarray': JSON.stringify({ ...array, order: 'C', filters: null, dimension_separator: '/' }),
      });
      const item = await upload(`chunks-${side}.zarr.zip`, file);
      const thumbnail = await send('GET', `/item/${item}/tiles/thumbnail`, { query: { width: 50 } });
      return thumbnail.status === 400 ? send('GET', `/item/${item}/tiles/zxy/0/0/0`) : thumbnail;
    },
  ]),
  [
    'a color profile of a million entries',
    200,
    ({ upload }, send) => {
      const profile = Buffer.alloc(20 * mebibyte, 3);
      profile.write('acsp', 36);
      return shown(send, upload('profile.tif', grayTiff({ 34675: { bytes: profile } })));
    },
  ],
  [
    'an image of ten thousand sources',
    200,
    ({ upload }, send) => {
      const sources = Array.from({ length: 10_000 }, (_, z) => ({ path: 'slide.tif', z }));
      return shown(send, upload('stack.json', JSON.stringify({ sources })));
    },
  ],
  [
    'a report on ten thousand textures, and on some of long parameters',
    400,
    async ({ upload }, send) => {
      const sources = Array.from({ length: 10_000 }, (_, z) => ({ path: 'slide.tif', z }));
      const path = `/item/${await upload('textures.json', JSON.stringify({ sources }))}/tiles/tile_frames/quad_info`;
      const many = { maxTextures: '1048576', maxTextureSize: '16', maxTotalTexturePixels: '1099511627776', cache: 'report' };
      const first = await send('POST', path, { form: many, headers: asGet });
      if (first.status !== 400) return first;
      const long = `style=${encodeURIComponent(JSON.stringify({ bands: Array.from({ length: 200 }, () => ({ band: 1 })) }))}`;
      return send('POST', path, { form: { ...many, maxTextures: '1000', maxTextureSize: '64', query: long }, headers: asGet });
    },
  ],
  [
    'a report on histograms of ten thousand frames, and on those of a long style',
    400,
    async ({ upload }, send) => {
      const sources = Array.from({ length: 10_000 }, (_, z) => ({ path: 'slide.tif', z }));
      const path = `/item/${await upload('histograms.json', JSON.stringify({ sources }))}/tiles/histogram`;
      const first = await send('GET', path, { query: { cache: 'report' } });
      if (first.status !== 200) return first;
      const style = JSON.stringify({ bands: Array.from({ length: 200 }, () => ({ band: 1 })) });
      return send('GET', path, { query: { cache: 'schedule', style } });
    },
  ],
  [
    'a tile that is made of a million',
    404,
    async ({ upload }, send) => {
      const tags: Record<number, TagValue> = { ...grayTags(16_000, 16_000, 16), 324: { long: Array<number>(1_000_000).fill(8) } };
      const bytes = writeTiff([{ tags: { ...tags, 325: { long: Array<number>(1_000_000).fill(256) } }, chunks: [] }]);
      return send('GET', `/item/${await upload('small-tiles.tif', bytes)}/tiles/zxy/0/0/0`);
    },
  ],
  // This must be last: its item waits, and checks again for each file that is added to the folder.
  [
    'patterns of names that stand for a hundred thousand letters',
    400,
    ({ upload }, send) => {
      const source = { path: '.', pathPattern: `${'(a?){1000}'.repeat(100)}zz` };
      return shown(send, upload('patterns.json', JSON.stringify({ sources: Array.from({ length: 4 }, () => source) })));
    },
  ],
];
