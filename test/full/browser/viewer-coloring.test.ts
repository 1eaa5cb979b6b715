import sharp from 'sharp';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { interpolateColor, parsePalette } from '../../../src/tilesource/style/palette.js';
import { groupColor } from '../../../src/features/annotations/overlay/draw/colors.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { colorsAt, onErrors, signIn, watchInk } from '../../support/pages/stage.js';
import { violationsInLooks } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the image, in pixels. */
const size = 2048;
const [perRow, step] = [100, 20];
const count = perRow * perRow;

/** More squares than the page draws at once, with a measurement that grows from 0 to 9999. */
const elements = Array.from({ length: count }, (_, index) => ({
  type: 'rectangle',
  center: [(index % perRow) * step + 30, Math.floor(index / perRow) * step + 30, 0],
  width: 16,
  height: 16,
  lineWidth: 0,
  fillColor: '#ff0000',
  lineColor: '#ff0000',
  group: index % 3 === 0 ? 'tumor' : 'stroma',
  user: { score: index, isRound: index % 2 === 0, nucleus: { mean: 0.1 + 0.2 }, parts: [[1, 2]] },
}));

/** Squares around the middle of the image. */
const around = [4848, 4849, 5050, 5151].map((index) => elements[index]!);

type Color = readonly number[];

const categoryColor = (name: string): Color => groupColor(name).slice(0, 3);

function paletteColor(value: number, [low, high]: [number, number], name = 'viridis'): Color {
  return interpolateColor(parsePalette(name), Math.min(1, Math.max(0, (value - low) / (high - low)))).slice(0, 3);
}

describe.skipIf(executablePath === null)('colors and filters of shapes on the page', () => {
  let testHost: TestHost;
  let browser: Browser;
  let page: Page;
  let itemId: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    const admin = await testHost.register('anna');
    const folderId = await newFolder(admin, 'Slides', true);
    const picture = sharp({ create: { width: size, height: size, channels: 3, background: { r: 240, g: 240, b: 240 } } });
    itemId = await uploadItem(admin, folderId, 'slide.tiff', await picture.tiff({ tile: true, pyramid: true }).toBuffer());
    await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Cells', elements } });
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 }, reducedMotion: 'reduce' })).newPage();
    page.setDefaultTimeout(300_000);
    await watchInk(page);
    onErrors(page, (text) => complaints.push(text));
    await signIn(page, testHost.url, 'anna');
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const legend = () => page.locator('.annotation').filter({ hasText: 'Cells' });
  const table = () => page.locator('.objects-panel');
  const coloringOf = () => {
    const text = new URLSearchParams(page.url().split('?')[1]).get('coloring');
    return text === null ? null : (Object.values(JSON.parse(text) as object)[0] as unknown);
  };

  /** Opens a view of this width around the middle of the image. */
  async function open(width: number) {
    const query = new URLSearchParams(page.url().split('?')[1] ?? '');
    query.set('at', `${size / 2},${size / 2},${width}`);
    await page.goto(`${testHost.url}/#item/${itemId}?${query.toString()}`);
    await legend().waitFor();
  }

  /** Waits until squares have these colors; `null` if they are not visible. */
  async function colorsAre(description: string, expected: (Color | null)[]) {
    let shown: number[][] = [];
    try {
      await until(description, async () => {
        const at = new URLSearchParams(page.url().split('?')[1]).get('at')?.split(',').map(Number);
        const box = await page.locator('.drawing').boundingBox();
        if (!at || !box) return false;
        const scale = box.width / at[2]!;
        const places = around.map(({ center: [x, y] }) => [(x! - at[0]!) * scale, (y! - at[1]!) * scale] as [number, number]);
        shown = await colorsAt(page, places);
        return shown.every((color, i) => {
          const expectedColor = expected[i];
          if (!expectedColor) return color[3] === 0;
          return color[3]! > 60 && expectedColor.every((value, channel) => Math.abs(value - color[channel]!) < 30);
        });
      });
    } catch (error) {
      throw new Error(`${description}: ${JSON.stringify(shown)} instead of ${JSON.stringify(expected)}`, { cause: error });
    }
  }

  const scores = around.map(({ user }) => user.score);
  const red: Color = [255, 0, 0];

  it('change the color of a group in its list, in tiles, in shapes and in the address', async () => {
    await open(1800);
    await legend().getByLabel('Color of tumor').fill('#0000ff');
    const blue: Color = [0, 0, 255];
    const expected = around.map(({ group }) => (group === 'tumor' ? blue : red));
    await colorsAre('tiles have the color of the group', expected);
    expect(coloringOf()).toEqual({ colors: [['tumor', '#0000ff']] });
    await page.reload();
    await open(100);
    await colorsAre('shapes have the color of the group', expected);
    await legend().getByLabel('Color by').waitFor();
    await legend().getByLabel('Color by').selectOption('/isRound');
    await legend().getByLabel('Color of true').fill('#00ff00');
    await colorsAre(
      'a category has its color',
      around.map(({ user }) => (user.isRound ? [0, 255, 0] : null)).map((color) => color ?? categoryColor('false')),
    );
    await legend().getByLabel('Color by').selectOption({ label: 'Their own colors' });
    await colorsAre('shapes have their own colors again', [red, red, red, red]);
    await legend().getByLabel('Color of stroma').fill('#0000ff');
    await legend().getByRole('button', { name: 'Show the colors of the shapes' }).click();
    await colorsAre('the color of the group is gone', [red, red, red, red]);
    await until('the address has no colors', () => coloringOf() === null);
    await legend().getByText('Colors and heat map').click();
    expect(complaints).toEqual([]);
  });

  it('color shapes by a measurement, in tiles of the server and in shapes of the page', async () => {
    await open(1800);
    await colorsAre('shapes have their own colors', [red, red, red, red]);
    await legend().getByText('Colors and heat map').click();
    await legend().getByLabel('Color by').selectOption('/score');
    const colorsInFullRange = scores.map((score) => paletteColor(score, [0, count - 1]));
    await colorsAre('tiles are colored', colorsInFullRange);
    await legend().getByLabel('Min /score').fill('4800');
    await legend().getByLabel('Max /score').fill('5200');
    await legend().getByLabel('Max /score').press('Enter');
    await legend().getByLabel('Palette').selectOption('magma');
    const narrow = scores.map((score) => paletteColor(score, [4800, 5200], 'magma'));
    await colorsAre('tiles have the range and the palette', narrow);
    expect(coloringOf()).toEqual({ by: '/score', palette: 'magma', low: 4800, high: 5200 });
    await open(300);
    await colorsAre('shapes have the range and the palette', narrow);
    await page.reload();
    await legend().waitFor();
    await colorsAre('the address has the colors', narrow);
    expect(await legend().getByLabel('Palette').inputValue()).toBe('magma');
    expect(complaints).toEqual([]);
  });

  it('show only the shapes that match the filter of the table', async () => {
    await page.getByRole('button', { name: 'Table and plots of Cells' }).click();
    await table().getByLabel('Add a filter').selectOption('/score');
    await table().getByLabel('Lowest value of /score').fill('5000');
    await table().getByLabel('Lowest value of /score').press('Enter');
    const narrow = scores.map((score) => (score < 5000 ? null : paletteColor(score, [4800, 5200], 'magma')));
    await colorsAre('shapes are filtered', narrow);
    await legend().getByText('5 000 of 10 000 shapes are shown').waitFor();
    await open(1800);
    await colorsAre('tiles are filtered', narrow);
    await page.reload();
    await colorsAre('the address has the filter', narrow);
    await page.getByRole('button', { name: 'Table and plots of Cells' }).click();
    expect(await table().getByLabel('Lowest value of /score').inputValue()).toBe('5000');
    await table().getByText('5 000 shapes').waitFor();
    await legend().getByRole('button', { name: 'Remove the filter', exact: true }).click();
    await table().getByText('10 000 shapes').waitFor();
    await table().getByRole('button', { name: 'Close' }).click();
    expect(complaints).toEqual([]);
  });

  it('show groups, a heat map, and shapes in their own colors again', async () => {
    await legend().getByLabel('Color by').selectOption('group');
    await until(
      'the legend has their colors',
      async () => (await legend().locator('.legend-groups [data-color="#ff0000"]').count()) === 0,
    );
    const [tumor, stroma] = await Promise.all(
      ['tumor', 'stroma'].map((name) =>
        legend().locator('.legend-groups li').filter({ hasText: name }).locator('.swatch').getAttribute('data-color'),
      ),
    );
    const numbers = (text: string | null | undefined) => (text?.match(/[\da-f]{2}/g) ?? []).map((digits) => parseInt(digits, 16));
    const groups = around.map(({ group }) => numbers(group === 'tumor' ? tumor : stroma));
    await colorsAre('tiles have the colors of groups', groups);
    await legend().getByLabel('Shapes too small to draw').selectOption({ label: 'Heat map of the count' });
    await until('colors of groups are gone', async () => (await legend().getByLabel('Color by').inputValue()) === '');
    await legend().getByText('Shapes per million pixels').waitFor();
    expect(coloringOf()).toEqual({ palette: 'magma', heat: 'number' });
    await open(1800);
    await legend().getByLabel('Shapes too small to draw').selectOption({ label: 'Density (no heat map)' });
    await colorsAre('shapes have their own colors again', [red, red, red, red]);
    expect(coloringOf()).toBe(null);
    expect(complaints).toEqual([]);
  });

  it('show a card with measurements as rows and the rest collapsed', async () => {
    await open(300);
    const box = (await page.locator('.drawing').boundingBox())!;
    const card = page.locator('.shape-card');
    await until('a click on a shape opens its card', async () => {
      const at = new URLSearchParams(page.url().split('?')[1]).get('at')!.split(',').map(Number);
      const scale = box.width / at[2]!;
      const [x, y] = around[2]!.center;
      await page.mouse.click(box.x + box.width / 2 + (x! - at[0]!) * scale, box.y + box.height / 2 + (y! - at[1]!) * scale);
      return card.isVisible();
    });
    const text = await card.innerText();
    expect(text).toMatch(/score\s+5050/);
    expect(text).toMatch(/nucleus \/ mean\s+0\.3(\s|$)/);
    expect(text).not.toMatch(/[{}[\]"]/);
    await card.getByText('1 more field').click();
    await card.getByText('parts').click();
    await card.getByRole('button', { name: 'Close' }).click();
    await open(1800);
    expect(complaints).toEqual([]);
  });

  it('have no accessibility violations in light, in dark and at 390 pixels', async () => {
    await legend().getByLabel('Color by').selectOption('/score');
    await legend().getByLabel('Min /score').waitFor();
    expect(await violationsInLooks(page, { within: '.annotation-list' })).toEqual([]);
  });
});
