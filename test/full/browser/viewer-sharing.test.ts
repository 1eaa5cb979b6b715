import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { keepToken } from '../../support/pages/stage.js';
import { violationsOf } from '../../support/pages/violations.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('sharing an image', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let admin: Client;
  let reader: Client;
  let item: string;
  let other: string;
  let browser: Browser;
  let page: Page;
  let guests: BrowserContext;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    reader = await testHost.register('bert');
    const folder = await newFolder(admin, 'Private');
    const access = JSON.stringify({
      users: [
        { id: admin.id, level: 2 },
        { id: reader.id, level: 0 },
      ],
      groups: [],
    });
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access, public: false } });
    item = await uploadItem(admin, folder, 'slide.tif', await pyramid());
    other = await uploadItem(admin, folder, 'other.tif', await pyramid());
    await admin.ok('PUT', `/item/${item}/metadata`, { json: { stain: 'HE' } });
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Tumor', elements: [] } });
    browser = await launchChromium(executablePath!);
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await keepToken(context, admin.token);
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    // A user who was signed in here opens a link without their account.
    guests = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await keepToken(guests, 'old');
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const dialog = () => page.getByRole('dialog');

  async function openDialog() {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${item}`);
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog().getByRole('table', { name: 'Who has access' }).waitFor();
  }

  /** Makes a link on the page. @returns its address */
  async function makeLink(): Promise<string> {
    await dialog().getByRole('button', { name: 'Create a link' }).click();
    return dialog().getByLabel('Address of the link').inputValue();
  }

  async function visit(address: string): Promise<Page> {
    const guest = await guests.newPage();
    guest.setDefaultTimeout(120_000);
    guest.on('pageerror', (error) => complaints.push(error.message));
    await guest.goto(address);
    return guest;
  }

  it('lists who has access to the image, and counts the other items of the folder', async () => {
    await openDialog();
    await dialog().getByText('People with access also see 1 other item.').waitFor();
    const rows = await dialog().locator('tbody tr').allInnerTexts();
    expect(rows.map((row) => row.split('\t'))).toEqual([
      ['First anna (anna)', 'Can manage', 'Permissions of the folder'],
      ['First bert (bert)', 'Can view', 'Permissions of the folder'],
      ['Administrators of this server', 'Can manage', 'Full access to everything'],
    ]);
    expect(await violationsOf(page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Permissions of the folder' }).click();
    await page.getByRole('dialog', { name: 'Share “Private”' }).waitFor();
  });

  it('creates a link that opens a page with the image and nothing else, until it is revoked', async () => {
    await openDialog();
    const address = await makeLink();
    expect(address).toMatch(/#view\/[\w-]{43}/);
    await dialog()
      .getByRole('row', { name: /Anyone with the link/ })
      .waitFor();
    const guest = await visit(address);
    await guest.getByRole('heading', { name: 'slide.tif' }).waitFor();
    await guest.getByText('Tumor').waitFor();
    await guest.getByText('stain').waitFor();
    expect(await guest.locator('header, .breadcrumbs, a[href^="#"]:not(.skip-link)').count()).toBe(0);
    expect(await guest.getByRole('button', { name: /Edit|Download|Delete|New annotation/ }).count()).toBe(0);
    expect(await violationsOf(guest)).toEqual([]);
    await guest.setViewportSize({ width: 390, height: 844 });
    expect(await guest.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await dialog()
      .getByRole('button', { name: /^Revoke the link/ })
      .click();
    await dialog().getByText('There are no links to this page yet.').waitFor();
    await guest.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    expect(await guest.locator('.stage').count()).toBe(0);
    await guest.close();
  });

  it('omits the annotations if its creator chose so', async () => {
    await openDialog();
    await dialog().getByLabel('Show the annotations').uncheck();
    const guest = await visit(await makeLink());
    await guest.getByText('stain').waitFor();
    expect(await guest.getByText('Annotations', { exact: true }).count()).toBe(0);
    expect(await guest.getByText('Tumor').count()).toBe(0);
    await guest.close();
  });

  it('lists folders that others have shared', async () => {
    const token = reader.token!;
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await keepToken(context, token);
    const readers = await context.newPage();
    readers.setDefaultTimeout(120_000);
    await readers.goto(`${testHost.url}/#`);
    await readers.getByRole('link', { name: 'Shared with me' }).click();
    await readers.getByRole('heading', { name: 'Shared with me' }).waitFor();
    expect(await readers.getByRole('list', { name: 'Shared with me' }).innerText()).toMatch(/Private.*Can view/s);
    expect(await violationsOf(readers)).toEqual([]);
    await readers.getByRole('link', { name: /Private/ }).click();
    await readers.getByText('slide.tif').first().waitFor();
    await readers.goto(`${testHost.url}/#item/${item}`);
    await readers.getByRole('button', { name: 'Share', exact: true }).click();
    await readers.getByText('Only people who can manage the folder see the other permissions.').waitFor();
    expect(await readers.getByRole('button', { name: 'Permissions of the folder' }).count()).toBe(0);
    await context.close();
  });

  it('reports an invalid link, and opens nothing with it', async () => {
    await openDialog();
    const address = await makeLink();
    const guest = await visit(`${address.replace(/#view\/.{5}/, '#view/wrong')}`);
    await guest.getByRole('heading', { name: 'This link no longer works' }).waitFor();
    await guest.close();
    const curious = await visit(address);
    await curious.getByRole('heading', { name: 'slide.tif' }).waitFor();
    // The page no longer uses the link, and no user is signed in.
    await curious.goto(`${testHost.url}/#item/${other}`);
    await curious.getByRole('heading', { name: /sign in/i }).waitFor();
    await curious.close();
    await until('no complaints', async () => complaints.length === 0);
  });

  it('lets readers who can annotate draw the first shape', async () => {
    const [{ folderId }] = [await admin.ok('GET', `/item/${other}`)] as [{ folderId?: unknown }];
    const users = [
      { id: admin.id, level: 2 },
      { id: reader.id, level: 0, flags: ['large_image_create_annotations'] },
    ];
    const access = JSON.stringify({ users, groups: [] });
    await admin.ok('PUT', `/folder/${String(folderId)}/access`, { query: { access, public: false } });
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    await keepToken(context, reader.token);
    const drawing = await context.newPage();
    drawing.setDefaultTimeout(120_000);
    await drawing.goto(`${testHost.url}/#item/${other}`);
    await drawing.getByRole('button', { name: 'Rectangle' }).waitFor();
    await context.close();
  });
});
