/** One session through the main functions of the page. The group `browser` has the rest. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, startHost, type TestHost } from '../support/hosts/reference-host.js';
import { slideFile } from '../support/images/slide.js';
import { chromiumPath, launchChromium } from '../support/pages/chromium.js';
import { onErrors, stageOf } from '../support/pages/stage.js';
import { until } from '../support/run/until.js';

const executablePath = chromiumPath();

interface Stored {
  annotation: { name: string; elements: { type: string }[] };
}

describe.skipIf(executablePath === null)('a session on the page', () => {
  let testHost: TestHost;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let slide: string;
  const complaints: string[] = [];
  const tiles: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'page-'));
    slide = await slideFile(folder);
    testHost = await startHost();
    browser = await launchChromium(executablePath!);
    page = await browser.newPage({ viewport: { width: 1280, height: 850 } });
    page.setDefaultTimeout(300_000);
    onErrors(page, (text) => complaints.push(text));
    page.on('response', (response) => {
      if (response.url().includes('/tiles/zxy/') && response.ok()) tiles.push(response.url());
    });
  });
  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();

  it('registers the first user, makes a collection and a folder, and uploads a slide', async () => {
    await page.goto(`${testHost.url}/`);
    await page.locator('main').getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Login').fill('anna');
    await page.getByLabel('Email').fill('anna@example.org');
    await page.getByLabel('First name').fill('Anna');
    await page.getByLabel('Last name').fill('Arnold');
    await page.getByLabel('Password').fill('anna.password');
    await button('Create account').click();
    await page.getByRole('button', { name: 'New collection' }).click();
    await page.getByLabel('Name').fill('Slides');
    await button('Create collection').click();
    await heading('Slides Private');
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name').fill('Kidney');
    await button('Create folder').click();
    await heading('Kidney Private');
    await page.locator('input[type=file]').setInputFiles(slide);
    const card = page.locator('.card').filter({ hasText: basename(slide) });
    await card.locator('img.loaded').waitFor();
    await card.getByRole('link').first().click();
    await page.getByTestId('scale-bar').waitFor();
    await until('tiles are shown', () => tiles.length > 0);
    expect(complaints).toEqual([]);
  });

  it('draws a shape, which is there after a reload', async () => {
    await page.getByRole('button', { name: 'New annotation' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Regions');
    await page.getByRole('button', { name: 'Create annotation' }).click();
    const row = page.locator('.annotation').filter({ hasText: 'Regions' });
    await row.waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button', { name: 'Rectangle' }).click();
    await stageOf(page).drag([-100, -80], [60, 40]);
    await button('Save').click();
    await page.getByText('All changes are saved.').waitFor();
    await page.reload();
    await row.waitFor();
    const token = (await page.context().cookies()).find(({ name }) => name === 'girderToken')!.value;
    const itemId = /#item\/([0-9a-f]{24})/.exec(page.url())![1]!;
    const [stored] = (await new Client(testHost.url, token, null).ok('GET', `/annotation/item/${itemId}`)) as unknown as Stored[];
    expect(stored?.annotation).toMatchObject({ name: 'Regions', elements: [{ type: 'rectangle' }] });
    expect(complaints).toEqual([]);
  });

  it('hides private content after signing out', async () => {
    const address = page.url();
    await button('Sign out').click();
    await page.getByText('Nothing public here yet').waitFor();
    await page.goto(address);
    await page.getByRole('alert').getByText('Sign in to view this').waitFor();
    expect(await page.locator('.stage').count()).toBe(0);
  });
});
