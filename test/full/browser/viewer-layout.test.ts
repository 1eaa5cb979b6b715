import sharp from 'sharp';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { areOverlapping, signIn, type Box } from '../../support/pages/stage.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

describe.skipIf(executablePath === null)('the layout of the page', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let slide: string;
  let channels: string;

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('admin');
    folder = await newFolder(admin, 'Slides');
    slide = await uploadItem(admin, folder, 'a slide with a name that says what was stained.tif', await pyramid());
    const elements = [{ type: 'rectangle', center: [300, 200, 0], width: 100, height: 50, rotation: 0 }];
    await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: 'Regions', elements } });
    const gray = sharp(Buffer.alloc(100 * 100, 77), { raw: { width: 100, height: 100, channels: 1 } });
    await uploadItem(admin, folder, 'gray.png', await gray.toColourspace('b-w').png().toBuffer());
    const source = (channel: string) => ({ path: 'gray.png', channel });
    const described = { channels: ['DAPI', 'FITC'], sources: [source('DAPI'), { ...source('FITC'), z: 0 }] };
    channels = await uploadItem(admin, folder, 'channels.yaml', Buffer.from(JSON.stringify(described)));
    browser = await launchChromium(executablePath!);
  });
  afterEach(() => page?.context().close());
  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  /** Signs in on a screen of some size, and opens a page. */
  async function show(address: string, options: BrowserContextOptions = { viewport: { width: 1024, height: 768 } }) {
    page = await (await browser.newContext(options)).newPage();
    page.setDefaultTimeout(300_000);
    await signIn(page, testHost.url, 'admin');
    await page.goto(`${testHost.url}/#${address}`);
  }

  const boxOf = async (selector: string): Promise<Box> => (await page.locator(selector).first().boundingBox())!;
  const edit = () => page.getByRole('button', { name: 'Edit Regions' }).click();

  /** The distinct vertical positions of the visible elements. */
  async function rowsOf(selector: string): Promise<number[]> {
    const shown = await page.locator(selector).filter({ visible: true }).all();
    const boxes = await Promise.all(shown.map((element) => element.boundingBox()));
    expect(boxes.length).toBeGreaterThan(1);
    return [...new Set(boxes.map((box) => Math.round(box!.y)))];
  }

  it('centers the names of a path in their line', async () => {
    await show(`item/${slide}`);
    await page.locator('.breadcrumbs a').first().waitFor();
    const offsets = await page.evaluate<number[]>(`[...document.querySelectorAll('.breadcrumbs li')].map((step) => {
      const text = document.createRange();
      text.selectNodeContents(step.firstElementChild);
      const middle = ({ top, height }) => top + height / 2;
      return Math.abs(middle(text.getBoundingClientRect()) - middle(step.getBoundingClientRect()));
    })`);
    expect(offsets.length).toBeGreaterThan(2);
    expect(Math.max(...offsets)).toBeLessThan(1);
  });

  it.each([1400, 1024, 390])('keeps related buttons in one row when it is %i pixels wide', async (width) => {
    await show(`item/${slide}`, width === 390 ? phone : { viewport: { width, height: 800 } });
    await edit();
    expect(await rowsOf('.annotation-editor > .actions .button')).toHaveLength(1);
    expect(await rowsOf('.item-heading > .actions .button')).toHaveLength(1);
  });

  it.each([1400, 1024, 390])(
    'keeps the tools clear of the overview and other buttons when it is %i pixels wide',
    async (width) => {
      await show(`item/${slide}`, width === 390 ? phone : { viewport: { width, height: 800 } });
      await edit();
      const [tools, stage] = [await boxOf('.annotation-tools'), await boxOf('.stage')];
      for (const other of ['.navigator', '.stage-buttons', '.stage-footer'])
        expect(areOverlapping(tools, await boxOf(other)), other).toBe(false);
      expect(tools.x + tools.width).toBeLessThanOrEqual(stage.x + stage.width);
    },
  );

  it('places the ruler of a compared image at its edge on a phone', async () => {
    await show(`item/${slide}?with=${channels}`, phone);
    await page.locator('.stage + .stage .scale-row').waitFor();
    const stage = await boxOf('.stage + .stage');
    const ruler = await boxOf('.stage + .stage .annotation-tools');
    expect(ruler.y - stage.y).toBeLessThan(30);
    for (const other of ['.navigator', '.stage-buttons', '.stage-name'])
      expect(areOverlapping(ruler, await boxOf(`.stage + .stage ${other}`)), other).toBe(false);
  });

  it('closes the list of uploads on the next page when all files have arrived', async () => {
    await show(`folder/${folder}`);
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('text') });
    await page.locator('.upload').getByText('Uploaded').waitFor();
    await page.goto(`${testHost.url}/#`);
    await page.locator('#uploads').waitFor({ state: 'hidden' });
  });

  it('names the channels of the samples under the pointer', async () => {
    await show(`item/${channels}`);
    await page.locator('.channels li').nth(1).waitFor();
    const { x, y, width, height } = await boxOf('.stage');
    const value = page.getByTestId('pixel');
    const middle = [x + width / 2, y + height / 2] as const;
    await page.mouse.move(...middle);
    await until('both are named', async () => (await value.textContent()) === 'DAPI\u00A077  FITC\u00A077');
    // A hidden channel is left out.
    await page.getByRole('checkbox', { name: 'DAPI' }).uncheck();
    await page.mouse.move(...middle);
    await until('only one is named', async () => (await value.textContent()) === 'FITC\u00A077');
  });
});
