import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { keepToken } from '../../support/pages/stage.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('finding images on the page', () => {
  let testHost: TestHost;
  let admin: Client;
  let folder: string;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    const collection = await admin.create('/collection', { name: 'Slides', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Kidney' });
    const bytes = await pyramid();
    const stains = { 'a.tif': 'PAS', 'b.tif': 'HE', 'c.tif': 'HE' };
    for (const [index, [name, stain]] of Object.entries(stains).entries()) {
      const item = await uploadItem(admin, folder, name, bytes);
      await admin.ok('PUT', `/item/${item}/metadata`, { json: { stain, 'scan order': 3 - index } });
      await until('a large image', async () => (await admin.ok('GET', `/item/${item}`)).largeImage !== undefined);
    }
    browser = await launchChromium(executablePath!);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    await keepToken(context, admin.token);
    page = await context.newPage();
    page.setDefaultTimeout(300_000);
    page.on('pageerror', (error) => complaints.push(error.message));
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const open = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#${address}`);
  };
  const names = () => page.locator('[data-item] :is(.card-name, th)').allInnerTexts();
  const shows = (expected: string[]) =>
    until(`the list shows ${expected.join()}`, async () => (await names()).join() === expected.join());
  const heading = () => page.locator('.breadcrumbs [aria-current]').innerText();

  it('filters a folder while the user types, and keeps the filter in the address', async () => {
    await open(`folder/${folder}`);
    await shows(['a.tif', 'b.tif', 'c.tif']);
    await page.getByLabel('Filter').fill('stain:he');
    await shows(['b.tif', 'c.tif']);
    expect(new URL(page.url()).hash).toContain('find=stain:he');
    await page.getByLabel('Filter').fill('stain:he nothing');
    await page.getByText('Nothing found for “stain:he nothing”').waitFor();
    await page.getByLabel('Filter').fill('');
    await shows(['a.tif', 'b.tif', 'c.tif']);
  });

  it('shows chosen metadata in columns, sorts by them, and remembers the choice', async () => {
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'scan order' }).check();
    await page.getByRole('checkbox', { name: 'stain' }).check();
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('button', { name: 'scan order' }).click();
    await shows(['c.tif', 'b.tif', 'a.tif']);
    await page.getByRole('button', { name: 'scan order' }).click();
    await shows(['a.tif', 'b.tif', 'c.tif']);
    expect(await page.getByRole('columnheader', { name: 'scan order' }).getAttribute('aria-sort')).toBe('descending');
    await open(`folder/${folder}?sort=meta.scan+order&find=HE`);
    await shows(['c.tif', 'b.tif']);
    await page.getByRole('cell', { name: 'HE' }).first().waitFor();
  });

  it('sets the tags of several items at once', async () => {
    await page.getByLabel('Select b.tif').check();
    await page.getByLabel('Select c.tif').check();
    await page.getByRole('button', { name: 'Tags' }).click();
    await page.getByLabel('Add tags').fill('to do, <b>second</b>');
    await page.getByRole('button', { name: 'Save tags' }).click();
    await page.getByText('Tags saved.').waitFor();
    await page.getByText('2 selected').waitFor();
    await page.getByLabel('Filter').fill('tag:"to do" stain:HE');
    await shows(['c.tif', 'b.tif']);
    expect(await page.getByLabel('Select b.tif').isChecked()).toBe(true);
    await page.getByLabel('Select c.tif').uncheck();
    await page.getByRole('button', { name: 'Tags' }).click();
    await page.getByRole('checkbox', { name: 'to do' }).uncheck();
    await page.getByRole('button', { name: 'Save tags' }).click();
    await shows(['c.tif']);
    await page.getByLabel('Filter').fill('');
    await shows(['c.tif', 'b.tif', 'a.tif']);
  });

  it('opens the next and previous image in the order of the list, and keeps the view if asked', async () => {
    await page.getByRole('link', { name: 'c.tif' }).click();
    await page.getByRole('link', { name: 'Next image: b.tif' }).click();
    await page.getByText('2 of 3').waitFor();
    expect(await heading()).toBe('b.tif');
    await page.keyboard.press('n');
    await page.getByText('3 of 3').waitFor();
    expect(await heading()).toBe('a.tif');
    expect(await page.getByRole('link', { name: /^Next image/ }).count()).toBe(0);
    await page.getByRole('button', { name: 'Keep the view in the next image' }).click();
    // The closest view of this image is wider.
    const at = '300,200,100';
    await page.evaluate(`location.hash += '&at=${at}'`);
    // The keys of drawing tools, which work while the image has the focus, are others.
    await page.locator('[role=application]').focus();
    await page.keyboard.press('Shift+n');
    await page.getByText('2 of 3').waitFor();
    expect(new URLSearchParams(page.url().split('?')[1]).get('at')).toMatch(/^300,200,1/);
    await page.getByRole('button', { name: 'Keep the view in the next image' }).click();
  });

  it('uses the order and the columns of the configuration of a folder', async () => {
    const text = [
      'itemList:',
      '  columns: [{type: metadata, value: stain}]',
      '  defaultSort: [{type: metadata, value: stain, dir: down}, {type: record, value: name, dir: up}]',
    ].join('\n');
    await admin.ok('PUT', `/folder/${folder}/yaml_config/.large_image_config.yaml`, { body: text });
    await page.evaluate('localStorage.removeItem("columns " + location.hash.slice(8, 32)), localStorage.clear()');
    await open(`folder/${folder}?find=tif`);
    await shows(['c.tif', 'b.tif', 'a.tif']);
    await page.getByRole('columnheader', { name: 'stain' }).waitFor();
    await page.getByRole('link', { name: 'c.tif' }).click();
    await page.getByRole('link', { name: 'Next image: b.tif' }).waitFor();
  });

  it('searches names, descriptions, metadata and tags everywhere', async () => {
    await open('search?q=stain:HE');
    await shows(['b.tif', 'c.tif']);
    await page.getByLabel('Search everything').fill('kidn');
    await page.getByRole('link', { name: 'Kidney' }).waitFor();
    expect(complaints).toEqual([]);
  });
});
