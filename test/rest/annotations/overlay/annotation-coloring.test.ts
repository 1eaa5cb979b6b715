import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groupColor } from '../../../../src/features/annotations/overlay/draw/colors.js';
import { interpolateColor, parsePalette } from '../../../../src/tilesource/style/palette.js';
import { elementId, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { uploadItem } from '../../../support/images/images.js';

type Query = Record<string, unknown>;
interface Legend {
  count: number;
  scale: { low: number; high: number; colors: string[] } | null;
  categories: unknown[] | null;
}
interface Cell {
  group?: string;
  user?: Record<string, unknown>;
  fillColor: string;
  [member: string]: unknown;
}

const side = 4096;
const step = 64;
const perSide = side / step;
/** Levels of tiles. `drawn` and `drawnSmaller` show shapes. The others show sums; those of `counted` are computed for each tile. */
const levels = { drawn: 4, drawnSmaller: 3, counted: 2, overview: 1, coarsest: 0 };
const scaleOf = (z: number) => 2 ** (levels.drawn - z);

/** Squares of 6 pixels that are far from each other, and not at a border of a pixel of any level. */
const cells: Cell[] = Array.from({ length: perSide * perSide }, (_, i) => ({
  id: elementId(i + 1),
  type: 'rectangle',
  center: [40 + step * (i % perSide), 40 + step * Math.floor(i / perSide), 0],
  width: 6,
  height: 6,
  lineWidth: 0,
  fillColor: 'rgba(255, 0, 0, 0.8)',
  ...(i % 3 === 0 ? { group: 'a' } : i % 3 === 1 ? { group: 'b' } : {}),
  user: {
    ...(i % 7 !== 6 && { score: (i * 37) % 1000 }),
    isRound: i % 2 === 0,
    mixed: i % 2 === 0 ? i : 'text',
  },
}));
/** Another square at the position of the first one. */
cells.push({ ...cells[0]!, id: elementId(cells.length + 1), user: { score: 600 } });

const scoreOf = (cell: Cell) => cell.user?.score as number | undefined;
const text = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

/** Color of a number, by the rule of the documentation. */
function paletteColor(value: number, [low, high]: [number, number], name = 'viridis'): number[] {
  const at = Math.round(Math.min(1, Math.max(0, (value - low) / (high - low))) * 255) / 255;
  return interpolateColor(parsePalette(name), at).slice(0, 3).map(Math.round);
}

describe('colors, filters and heat maps in tiles of annotations', () => {
  let at: Annotated;
  let item: string;
  let id: string;

  beforeAll(async () => {
    at = await startAnnotated();
    const picture = sharp({ create: { width: side, height: side, channels: 3, background: '#888' } });
    const tiff = await picture.tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true }).toBuffer();
    item = await uploadItem(at.admin, at.privateFolder, 'slide.tif', tiff);
    id = await annotate(cells);
  });
  afterAll(() => at?.close());

  const annotate = async (elements: Cell[]) => (await at.annotate({ elements }, { on: item }))._id;

  const send = (place: string, query: Query = {}, of = id) => {
    const sent = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, text(value)]));
    return at.reader.send('GET', `/annotation/${of}/tiles${place}`, { query: sent });
  };

  /** The pixels of a tile, by default the first one of the level. */
  async function tile(z: number, query: Query = {}, { of = id, x = 0, y = 0 } = {}) {
    const { status, bytes, body } = await send(`/zxy/${z}/${x}/${y}`, query, of);
    expect(status, JSON.stringify(body)).toBe(200);
    const data = await sharp(bytes).ensureAlpha().raw().toBuffer();
    const pixel = (column: number, row: number) => [...data.subarray((row * 256 + column) * 4, (row * 256 + column) * 4 + 4)];
    /** The pixel in the middle of a cell of the first tile. */
    const pixelOfCell = (i: number) => {
      const [cx, cy] = [40 + step * (i % perSide), 40 + step * Math.floor(i / perSide)];
      return pixel(Math.floor(cx / scaleOf(z)), Math.floor(cy / scaleOf(z)));
    };
    return { data, pixel, pixelOfCell };
  }

  /** The cells whose centers are in the first tile of a level. */
  const inFirst = (z: number) => {
    const most = 256 * scaleOf(z);
    return cells.flatMap((cell, i) => {
      const [x, y] = cell.center as [number, number];
      return x < most && y < most && i > 0 && i < cells.length - 1 ? [{ cell, i }] : [];
    });
  };

  it.each(Object.entries(levels))('color shapes by a number at the level %s', async (_name, z) => {
    const { pixelOfCell } = await tile(z, { colorBy: '/score', low: 100, high: 800 });
    for (const { cell, i } of inFirst(z)) {
      const score = scoreOf(cell);
      const expected = score === undefined ? groupColor(null).slice(0, 3) : paletteColor(score, [100, 800]);
      const shown = pixelOfCell(i);
      expect(shown[3]).toBeGreaterThan(0);
      for (const channel of [0, 1, 2]) expect(Math.abs(shown[channel]! - expected[channel]!)).toBeLessThanOrEqual(2);
    }
  });

  it.each([levels.counted, levels.overview, levels.coarsest])(
    'show the mean of shapes that share a pixel at level %i',
    async (z) => {
      const { pixelOfCell } = await tile(z, { colorBy: '/score', palette: 'magma', low: 0, high: 999 });
      const expected = paletteColor((0 + 600) / 2, [0, 999], 'magma');
      for (const channel of [0, 1, 2]) expect(Math.abs(pixelOfCell(0)[channel]! - expected[channel]!)).toBeLessThanOrEqual(2);
    },
  );

  it.each(Object.values(levels))('show the shapes that match a filter as if there were no others, at level %i', async (z) => {
    const filter = {
      and: [
        { column: '/score', gte: 300, lte: 420 },
        { column: 'group', in: ['a', 'b'] },
      ],
    };
    const matching = cells.filter((cell) => {
      const score = scoreOf(cell);
      return score !== undefined && score >= 300 && score <= 420 && cell.group !== undefined;
    });
    expect(matching.length).toBeGreaterThan(200);
    const alone = await annotate(matching);
    const filtered = await tile(z, { filter, gain: 1 });
    const expected = await tile(z, { gain: 1 }, { of: alone });
    let different = 0;
    for (const [i, value] of filtered.data.entries()) if (Math.abs(value - expected.data[i]!) > 2) different += 1;
    expect(different).toBe(0);
  });

  it.each(Object.values(levels))('color groups and other categories at level %i', async (z) => {
    const colors = [
      ['a', '#0000ff'],
      [null, '#00ff00'],
    ];
    const colorOf = (group: string | undefined) =>
      group === 'a' ? [0, 0, 255] : group === undefined ? [0, 255, 0] : groupColor(group).slice(0, 3);
    const filter = { column: '/score', gte: -1 };
    for (const query of [
      { colorBy: 'group', colors },
      { colorBy: 'group', colors, filter },
    ]) {
      const { pixelOfCell } = await tile(z, query);
      for (const { cell, i } of inFirst(z)) {
        const isHidden = 'filter' in query && scoreOf(cell) === undefined;
        if (isHidden) expect(pixelOfCell(i)[3]).toBe(0);
        else expect(pixelOfCell(i).slice(0, 3)).toEqual(colorOf(cell.group));
      }
    }
    const { pixelOfCell } = await tile(z, { colorBy: '/isRound', colors: [[true, '#ffffff']], without: ['b'] });
    for (const { cell, i } of inFirst(z)) {
      if (cell.group === 'b') expect(pixelOfCell(i)[3]).toBe(0);
      else expect(pixelOfCell(i).slice(0, 3)).toEqual(i % 2 === 0 ? [255, 255, 255] : groupColor('false').slice(0, 3));
    }
  });

  it.each(Object.values(levels))('color only the given groups, and leave other shapes unchanged, at level %i', async (z) => {
    const colors = [
      ['a', '#0000ff'],
      [null, '#00ff00'],
    ];
    const chosen = new Map<unknown, number[]>([
      ['a', [0, 0, 255]],
      [undefined, [0, 255, 0]],
    ]);
    for (const query of [{ colors }, { colors, filter: { column: '/score', gte: -1 } }]) {
      const { pixelOfCell } = await tile(z, query);
      for (const { cell, i } of inFirst(z)) {
        if ('filter' in query && scoreOf(cell) === undefined) expect(pixelOfCell(i)[3]).toBe(0);
        else expect(pixelOfCell(i).slice(0, 3)).toEqual(chosen.get(cell.group) ?? [255, 0, 0]);
      }
    }
  });

  it.each([levels.counted, levels.overview, levels.coarsest])('make heat maps of numbers and means at level %i', async (z) => {
    const square = 4 * scaleOf(z);
    const sums = new Map<string, { count: number; valued: number; sum: number }>();
    for (const cell of cells) {
      const [x, y] = cell.center as [number, number];
      if (x >= 256 * scaleOf(z) || y >= 256 * scaleOf(z)) continue;
      const key = `${Math.floor(x / square)}/${Math.floor(y / square)}`;
      const sum = sums.get(key) ?? { count: 0, valued: 0, sum: 0 };
      sums.set(key, sum);
      const score = scoreOf(cell);
      sum.count += 1;
      if (score !== undefined) [sum.valued, sum.sum] = [sum.valued + 1, sum.sum + score];
    }
    const high = (2 / (4 * 16) ** 2) * 1e6;
    const number = await tile(z, { heat: 'number', low: 0, high });
    const mean = await tile(z, { heat: 'mean', colorBy: '/score', low: 0, high: 999 });
    for (let row = 0; row < 256; row += 1) {
      for (let column = 0; column < 256; column += 1) {
        const sum = sums.get(`${column >> 2}/${row >> 2}`);
        if (sum === undefined) {
          if (number.pixel(column, row)[3] !== 0 || mean.pixel(column, row)[3] !== 0) expect.fail(`${column}, ${row}`);
          continue;
        }
        const density = paletteColor((sum.count / square ** 2) * 1e6, [0, high]);
        const value = sum.valued === 0 ? groupColor(null).slice(0, 3) : paletteColor(sum.sum / sum.valued, [0, 999]);
        const expected = [...density, 255, ...value, 255].join();
        const shown = [...number.pixel(column, row), ...mean.pixel(column, row)].join();
        if (shown !== expected) expect.fail(`${column}, ${row}: ${shown} instead of ${expected}`);
      }
    }
  });

  it('describe their colors in a legend', async () => {
    const legend = async (query: Query) => (await send('', query)).body.coloring as Legend;
    const number = await legend({ colorBy: '/score', filter: { column: 'group', in: ['a'] } });
    expect(number).toMatchObject({
      columns: { '/score': 'number', group: 'text' },
      scale: { low: 0, high: 999 },
      categories: null,
    });
    expect(number.count).toBe(cells.filter(({ group }) => group === 'a').length);
    expect(number.scale!.colors.length).toBe(256);
    const hex = (color: readonly number[]) => `#${color.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
    expect(number.scale!.colors[128]).toBe(hex(paletteColor(128, [0, 255])));
    const groups = await legend({ colorBy: 'group', colors: [['b', '#123456']] });
    expect(groups.scale).toBe(null);
    expect(groups.categories).toContainEqual({
      value: 'b',
      color: '#123456',
      count: cells.filter((cell) => cell.group === 'b').length,
    });
    expect(groups.categories).toContainEqual({
      value: null,
      color: hex(groupColor(null).slice(0, 3)),
      count: cells.filter((cell) => cell.group === undefined).length,
    });
    const heat = await legend({ heat: 'number' });
    // The first square of the smallest picture has two shapes, all others have one.
    expect(heat.scale!.low).toBe(0);
    expect(heat.scale!.high).toBeCloseTo((2 / 64 ** 2) * 1e6, 6);
    expect((await send('')).body.coloring).toBe(undefined);
  });

  it('follow the annotation, and are revalidated by their own tags', async () => {
    const mine = await annotate(cells.map((cell) => ({ ...cell })));
    const query = { colorBy: '/score', low: 0, high: 999 };
    const sendQuery = async (more: Query, headers = {}) => {
      const parameters = Object.fromEntries(Object.entries({ ...query, ...more }).map(([name, value]) => [name, text(value)]));
      return at.reader.send('GET', `/annotation/${mine}/tiles/zxy/1/0/0`, { query: parameters, headers });
    };
    const plain = await sendQuery({});
    const tags = new Set([plain.headers.get('etag')]);
    const others: Query[] = [
      { palette: 'magma' },
      { low: 1 },
      { high: 998 },
      { filter: { column: 'area', gte: 1 } },
      { heat: 'mean' },
    ];
    for (const more of others) tags.add((await sendQuery(more)).headers.get('etag'));
    expect(tags.size).toBe(1 + others.length);
    const revalidate = () => sendQuery({}, { 'If-None-Match': plain.headers.get('etag')! });
    expect((await revalidate()).status).toBe(304);
    const changed = { ...cells[5]!, user: { score: 999 } };
    await at.admin.ok('PATCH', `/annotation/${mine}/elements`, { json: { put: [changed] } });
    expect((await revalidate()).status).toBe(200);
    for (const z of Object.values(levels).filter((level) => level < levels.drawn)) {
      const { pixelOfCell } = await tile(z, query, { of: mine });
      const expected = paletteColor(999, [0, 999]);
      for (const channel of [0, 1, 2]) expect(Math.abs(pixelOfCell(5)[channel]! - expected[channel]!)).toBeLessThanOrEqual(2);
    }
  });

  it('color and filter vector tiles', async () => {
    const query = { colorBy: '/score', low: 0, high: 999, filter: { column: '/score', gte: 500 } };
    const layers = async (z: number) => new VectorTile(new PbfReader((await send(`/mvt/${z}/0/0`, query)).bytes)).layers;
    const { elements } = await layers(levels.drawnSmaller);
    const shown = Array.from({ length: elements!.length }, (_, i) => elements!.feature(i).properties);
    const expected = inFirst(levels.drawnSmaller).filter(({ cell }) => (scoreOf(cell) ?? -1) >= 500);
    // The second square at the position of the first one is also included.
    expect(shown.length).toBe(expected.length + 1);
    const byId = new Map(shown.map((properties) => [properties.id, properties.fillColor]));
    for (const { cell } of expected) {
      const color = paletteColor(scoreOf(cell)!, [0, 999]);
      expect(byId.get(cell.id as string)).toBe(`#${color.map((value) => value.toString(16).padStart(2, '0')).join('')}`);
    }
    for (const z of [levels.counted, levels.coarsest]) {
      const { density } = await layers(z);
      const matching = cells.filter((cell) => (scoreOf(cell) ?? -1) >= 500);
      const inside = matching.filter(({ center }) => (center as number[]).every((value) => value < 256 * scaleOf(z)));
      const keyOf = ([x, y]: number[]) => [x, y].map((value) => Math.floor(value! / (8 * scaleOf(z)))).join();
      expect(density!.length).toBe(new Set(inside.map(({ center }) => keyOf(center as number[]))).size);
    }
  });

  const nested = (depth: number): unknown => (depth === 0 ? { column: 'area', gte: 1 } : { not: nested(depth - 1) });

  it.each<[string, Query, RegExp]>([
    ['an unknown column', { colorBy: '/nothing' }, /no column "\/nothing"/],
    ['ids', { colorBy: 'id' }, /different value for each shape/],
    ['a text where a number is needed', { colorBy: 'group', heat: 'mean' }, /does not contain numbers/],
    ['a mean without a column', { heat: 'mean' }, /needs a numeric column/],
    ['a number of shapes by a column', { heat: 'number', colorBy: '/score' }, /cannot be combined/],
    ['a reversed range', { colorBy: '/score', low: 2, high: 1 }, /after its end/],
    ['a reversed range of a heat map', { heat: 'number', low: 2, high: 1 }, /after its end/],
    ['a range that is not a number', { colorBy: '/score', low: 'NaN' }, /numeric parameter low/],
    ['an infinite range', { colorBy: '/score', high: '1e999' }, /numeric parameter high/],
    ['an unknown palette', { colorBy: '/score', palette: 'constructor' }, /no palette named/],
    ['colors that are not pairs', { colorBy: 'group', colors: ['a'] }, /pairs/],
    ['invalid colors', { colorBy: 'group', colors: [['a', 'url(x)']] }, /pairs/],
    ['too many colors', { colorBy: 'group', colors: Array.from({ length: 1001 }, (_, i) => [`${i}`, '#fff']) }, /more than 1000/],
    ['a deep filter', { filter: nested(8) }, /deeper than 8/],
    ['a filter of another column', { filter: { column: 'none', gte: 1 } }, /no column/],
    ['a filter that is not one', { filter: { gte: 1 } }, /must have one of/],
  ])('refuse %s', async (_name, query, message) => {
    for (const place of ['/zxy/0/0/0', '/mvt/0/0/0', '']) {
      const { status, body } = await send(place, query);
      expect(status).toBe(400);
      expect(body.message).toMatch(message);
    }
  });

  it('refuse ten thousand categories', async () => {
    const named = Array.from({ length: 10_000 }, (_, i) => ({
      ...cells[0]!,
      id: elementId(i + 1),
      label: { value: `name ${i}` },
    }));
    const many = await annotate(named);
    for (const place of ['/zxy/4/0/0', '/zxy/4/9/9', '/zxy/0/0/0', '']) {
      const { status, body } = await send(place, { colorBy: 'label' }, many);
      expect(status).toBe(400);
      expect(body.message).toMatch(/more than 1000 categories/);
    }
  });
});
