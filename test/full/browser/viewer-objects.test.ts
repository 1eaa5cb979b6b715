import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { onErrors, signIn } from '../../support/pages/stage.js';
import { violationsInLooks } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the image, in pixels. */
const size = 2048;
const count = 3000;

/** Squares in rows of 100, with a measurement that grows from 0 to 2999. */
const elements = Array.from({ length: count }, (_, index) => ({
  type: 'rectangle',
  center: [(index % 100) * 20 + 20, Math.floor(index / 100) * 60 + 100, 0],
  width: 10,
  height: 10 + (index % 7),
  group: index % 3 === 0 ? 'tumor' : 'stroma',
  user: { score: index, size: (index * 37) % 1000 },
}));

describe.skipIf(executablePath === null)('the table of shapes on the page', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let itemId: string;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    const folderId = await newFolder(admin, 'Slides', true);
    const picture = sharp({ create: { width: size, height: size, channels: 3, background: { r: 240, g: 240, b: 240 } } });
    itemId = await uploadItem(admin, folderId, 'slide.tiff', await picture.tiff({ tile: true }).toBuffer());
    await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Cells', elements } });
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 }, reducedMotion: 'reduce' })).newPage();
    page.setDefaultTimeout(300_000);
    onErrors(page, (text) => complaints.push(text));
    await signIn(page, testHost.url, 'anna');
    await page.goto(`${testHost.url}/#item/${itemId}`);
    await page.getByRole('button', { name: 'Table and plots of Cells' }).click();
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const panel = () => page.locator('.objects-panel');
  const row = (number: number) => panel().locator(`tr[data-index="${number - 1}"]`);
  const scores = async () => {
    const heads = await panel().locator('.object-scroll thead th').allInnerTexts();
    const column = heads.findIndex((text) => text.startsWith('/score'));
    const texts = await panel()
      .locator(`.object-scroll tbody tr[data-index] > :nth-child(${column + 1})`)
      .allInnerTexts();
    return texts.map(Number);
  };

  it('shows, sorts, filters and sums up rows, of which only the visible ones are on the page', async () => {
    await panel().getByText('3 000 shapes').waitFor();
    await row(1).waitFor();
    expect(await panel().locator('tr[data-index]').count()).toBeLessThan(40);
    // On a phone, the table scrolls too, instead of loading all rows.
    await page.setViewportSize({ width: 390, height: 800 });
    await until('the panel is narrow', async () => (await panel().boundingBox())!.width < 400);
    expect((await panel().locator('.object-scroll').boundingBox())!.height).toBeLessThan(800);
    await page.setViewportSize({ width: 1280, height: 850 });
    await panel().getByRole('button', { name: '/score' }).click();
    await panel().getByRole('button', { name: '/score' }).click();
    await until('the largest score is first', async () => (await scores())[0] === count - 1);
    // The last row is reached by scrolling.
    await panel()
      .locator('.object-scroll')
      .evaluate((scroll) => scroll.scrollTo(0, scroll.scrollHeight));
    await until('the smallest score is last', async () => (await scores()).at(-1) === 0);

    await panel().getByLabel('Add a filter').selectOption('/score');
    await panel().getByLabel('Lowest value of /score').fill('1000');
    await panel().getByLabel('Highest value of /score').fill('1099');
    await panel().getByLabel('Highest value of /score').press('Enter');
    await panel().getByText('100 shapes', { exact: true }).waitFor();
    await panel().getByRole('button', { name: 'Summary' }).click();
    const tumor = panel().locator('.object-summary tr').filter({ hasText: 'tumor' });
    const values = elements.slice(1000, 1100).flatMap(({ group, user }) => (group === 'tumor' ? [user.score] : []));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    await tumor.getByText(Number(mean.toPrecision(4)).toLocaleString('en').replace(',', '\u2009')).waitFor();
    expect(await tumor.locator('td').first().innerText()).toBe(String(values.length));
    expect(complaints).toEqual([]);
  });

  it('moves to the shape of a row, and finds the row of a shape', async () => {
    await panel().getByRole('button', { name: 'Table', exact: true }).click();
    await panel().getByRole('button', { name: 'Remove the filter /score' }).click();
    await panel().getByText('3 000 shapes').waitFor();
    await panel()
      .locator('.object-scroll')
      .evaluate((scroll) => scroll.scrollTo(0, 0));
    await panel().getByRole('button', { name: 'Show shape 1 on the image' }).click();
    await panel().getByText('1 selected').waitFor();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await page.getByRole('button', { name: 'Zoom in' }).click();
    const { center } = elements[count - 1]!;
    await until('the image shows the last element', () => {
      const at = new URLSearchParams(page.url().split('?')[1]).get('at')?.split(',').map(Number);
      return at !== undefined && Math.abs(at[0]! - center[0]!) < 5 && Math.abs(at[1]! - center[1]!) < 5;
    });
    // A click on it selects its row, which is the first again after the table was scrolled away.
    await panel()
      .locator('.object-scroll')
      .evaluate((scroll) => scroll.scrollTo(0, 30_000));
    await until('the first row is gone', async () => (await row(1).count()) === 0);
    const box = (await page.locator('.drawing').boundingBox())!;
    await until('the row is selected', async () => {
      await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
      return row(1).and(page.locator('.selected')).isVisible();
    });
    expect(complaints).toEqual([]);
  });

  it('marks the clicked shape in the plot, and sums up the view and an outline', async () => {
    await panel().getByRole('button', { name: 'Plot', exact: true }).click();
    await panel().getByLabel('Horizontal').selectOption('/score');
    await panel().getByText('The clicked shape: /score 2\u2009999', { exact: true }).waitFor();
    await panel().getByLabel('Vertical').selectOption('/size');
    // More shapes than a plot has points are shown in bins.
    await panel().getByRole('img', { name: '/size against /score' }).waitFor();
    const { size: last } = elements[count - 1]!.user;
    await panel().getByText(`The clicked shape: /score 2\u2009999, /size ${last}`, { exact: true }).waitFor();
    await panel().getByLabel('Vertical').selectOption('');

    await panel().getByRole('button', { name: 'Summary' }).click();
    const total = async () => {
      const texts = await panel().locator('.object-summary tbody td:nth-of-type(1)').allInnerTexts();
      return texts.reduce((sum, text) => sum + Number(text.replaceAll(/\D/g, '')), 0);
    };
    await panel().getByLabel('Which shapes').selectOption({ label: 'In the view' });
    await until('only the shapes in the view are summed up', async () => {
      const number = await total();
      return number > 0 && number < count;
    });
    await panel().getByLabel('Which shapes').selectOption({ label: 'Inside the drawn outline' });
    await panel().getByText('To get an outline, measure an area, or select a shape while editing.').waitFor();
    await page.getByRole('button', { name: 'Measure', exact: true }).click();
    const box = (await page.locator('.drawing').boundingBox())!;
    const corners = [
      [-80, -80],
      [80, -80],
      [80, 80],
      [-80, 80],
      [-80, -80],
    ] as const;
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 4];
    for (const [across, down] of corners) await page.mouse.click(x + across, y + down);
    await panel().getByLabel('Which shapes').selectOption({ label: 'All filtered shapes' });
    await until('all are summed up', async () => (await total()) === count);
    await panel().getByLabel('Which shapes').selectOption({ label: 'Inside the drawn outline' });
    await until('only the shapes inside the outline are summed up', async () => {
      const number = await total();
      return number > 0 && number < count;
    });
    await page.keyboard.press('Escape');
    await panel().getByLabel('Which shapes').selectOption({ label: 'All filtered shapes' });
    expect(complaints).toEqual([]);
  });

  it('selects shapes by a range of a plot, saves them, and makes an annotation of them', async () => {
    await panel().getByRole('button', { name: 'Plot', exact: true }).click();
    await panel().getByLabel('Horizontal').selectOption('/score');
    const drawn = panel().getByRole('img', { name: 'Histogram of /score' });
    // The plot is replaced while its values arrive, so its box can be missing for a moment.
    const over = await until('the plot is shown', () => drawn.locator('.u-over').boundingBox());
    await page.mouse.move(over.x + 2, over.y + 40);
    await page.mouse.down();
    await page.mouse.move(over.x + over.width / 4, over.y + 60);
    await page.mouse.move(over.x + over.width / 2, over.y + 60);
    await page.mouse.up();
    const selectedBetween = (least: number, most: number) =>
      until(`${least} to ${most} are selected`, async () => {
        const text = await panel().locator('.object-heading .link-button').innerText();
        const number = Number(text.replaceAll(/\D/g, ''));
        return number > least && number < most ? number : null;
      });
    await selectedBetween(1400, 1550);
    // With a finger, another quarter is selected.
    const session = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...shares: number[]) => {
      const touchPoints = shares.map((share) => ({ x: over.x + over.width * share, y: over.y + 50 }));
      return session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    await touch('touchStart', 0.75);
    for (const share of [0.8, 0.9, 0.99]) await touch('touchMove', share);
    await touch('touchEnd');
    await selectedBetween(650, 800);
    await touch('touchStart', 0.5);
    for (const share of [0.4, 0.2, 0.005]) await touch('touchMove', share);
    await touch('touchEnd');
    const selected = await selectedBetween(1400, 1550);
    expect(await panel().getByLabel('Highest value of /score').inputValue()).toMatch(/^14\d\d|^15\d\d/);

    await panel().getByLabel('Which shapes').selectOption({ label: 'The selected shapes' });
    const download = page.waitForEvent('download');
    await panel().getByRole('button', { name: 'CSV' }).click();
    const text = await readFile(await (await download).path(), 'utf8');
    expect(text.trim().split('\n')).toHaveLength(selected + 1);
    await panel().getByRole('button', { name: 'New annotation from these shapes' }).click();
    await page.locator('.annotation').filter({ hasText: 'Cells (selection)' }).waitFor();
    const [annotation] = (await admin.ok('GET', '/annotation', { query: { itemId, name: 'Cells (selection)' } })) as unknown as {
      _elementCount: number;
    }[];
    expect(annotation!._elementCount).toBe(selected);

    // With the keyboard, a range of two columns is selected.
    await panel().getByLabel('Vertical').selectOption('/size');
    await panel().getByRole('img', { name: '/size against /score' }).waitFor();
    await panel().getByLabel('Highest value of /score').fill('99');
    await panel().getByLabel('Highest value of /size').fill('500');
    // The plot then shows this part alone.
    const request = page.waitForRequest(/table.histogram[?].*high=99&.*yhigh=500/);
    await panel().getByRole('button', { name: 'Use as a filter' }).press('Enter');
    await request;
    const few = elements.slice(0, 100).filter(({ user }) => user.size <= 500).length;
    await panel().getByText(`${few} shapes`, { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('has no accessibility violations in light, in dark and at 390 pixels', async () => {
    const wrong: string[] = [];
    for (const view of ['Table', 'Summary', 'Plot']) {
      await page.setViewportSize({ width: 1280, height: 850 });
      await panel().getByRole('button', { name: view, exact: true }).click();
      await panel().locator({ Table: 'tr[data-index]', Summary: '.object-summary td', Plot: '.u-over' }[view]!).first().waitFor();
      const violations = await violationsInLooks(page, { within: '.objects-panel' });
      wrong.push(...violations.map((line) => `${view} ${line}`));
    }
    expect(wrong).toEqual([]);
    await panel().getByRole('button', { name: 'Close' }).click();
    await panel().waitFor({ state: 'detached' });
  });
});
