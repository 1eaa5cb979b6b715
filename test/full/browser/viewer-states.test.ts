import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { keepToken } from '../../support/pages/stage.js';
import { violationsOf } from '../../support/pages/violations.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('the state of an image', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let admin: Client;
  let folder: string;
  let item: string;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    folder = await newFolder(admin, 'Slides');
    item = await uploadItem(admin, folder, 'a.tif', await pyramid());
    await admin.create('/item', { folderId: folder, name: 'b' });
    browser = await launchChromium(executablePath!);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await keepToken(context, admin.token);
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const names = () => page.locator('[data-item] .card-name').allInnerTexts();

  it('is set next to the image, and says who did it', async () => {
    await page.goto(`${testHost.url}/#item/${item}`);
    await page.getByLabel('State', { exact: true }).selectOption({ label: 'In review' });
    await page.getByText(/^Set by anna, /).waitFor();
    expect((await admin.ok('GET', `/item/${item}`)).meta).toMatchObject({ reviewState: 'review', reviewStateBy: 'anna' });
    expect(await violationsOf(page)).toEqual([]);
  });

  it('is set for selected items, and filters the folder', async () => {
    await page.goto(`${testHost.url}/#folder/${folder}`);
    await page.getByLabel('Select b').check();
    await page.getByRole('button', { name: 'State', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'State of 1 item' });
    await dialog.getByLabel('State').selectOption({ label: 'Done' });
    await dialog.getByRole('button', { name: 'Save state' }).click();
    await page.getByText('State saved.').waitFor();
    await page.getByLabel('Show items in this state').selectOption({ label: 'Done' });
    await until('only b is shown', async () => (await names()).join() === 'b');
    expect(await page.getByLabel('Filter', { exact: true }).inputValue()).toBe('reviewState:done');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByLabel('Show items in this state').selectOption({ label: 'Any state' });
    await until('both are shown', async () => (await names()).join() === 'a.tif,b');
    expect(complaints).toEqual([]);
  });
});
