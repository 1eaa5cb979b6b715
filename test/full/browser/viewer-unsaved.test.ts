import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSyntheticSlide } from '../../../src/reference-host/synthetic-slide/slide.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { signIn, stageOf } from '../../support/pages/stage.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the slide, in pixels. */
const size = 1024;
const manyAnnotations = 220;

describe.skipIf(executablePath === null)('unsaved, hidden and long content of the page', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let collection: string;
  let folderId: string;
  /** Ids of items: a public one for most tests, and one with many annotations. */
  let slide: string;
  let crowded: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'viewer-unsaved-'));
    const path = join(folder, 'slide.tiff');
    await makeSyntheticSlide(path, { size });
    testHost = await startHost();
    admin = await testHost.register('anna');
    collection = await admin.create('/collection', { name: 'Open', public: true });
    folderId = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Slides', public: true });
    const parent = await testHost.host.context.models.folder.findById(folderId).lean();
    const register = async (itemName: string) => {
      const { item } = await testHost.host.registerFileInPlace({ path, folder: parent!, itemName, creatorId: null });
      return item._id.toHexString();
    };
    [slide, crowded] = [await register('slide'), await register('crowded')];
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 } })).newPage();
    page.setDefaultTimeout(60_000);
    await signIn(page, testHost.url, 'anna');
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const box = (x: number, group?: string) => ({
    type: 'rectangle',
    center: [x, 500, 0],
    width: 40,
    height: 40,
    rotation: 0,
    ...(group && { group }),
  });
  const annotate = async (item: string, json: object) =>
    String((await admin.ok('POST', '/annotation', { query: { itemId: item }, json }))._id);
  const row = (name: string, on = page) => on.locator('.annotation').filter({ hasText: name });
  const open = async (hash: string) => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#${hash}`);
  };
  const edit = (name: string) => page.getByRole('button', { name: `Edit ${name}` }).click();
  const waitUntilSaved = () => page.getByText('All changes are saved.').waitFor();

  async function drawRectangle(x: number) {
    const tool = page.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button', { name: 'Rectangle' });
    // A tool stays selected until it is clicked again.
    if ((await tool.getAttribute('aria-pressed')) !== 'true') await tool.click();
    await stageOf(page).drag([x, -200], [x + 60, -150]);
  }

  it('offers the groups of an annotation whose version is 0', async () => {
    await annotate(slide, { name: 'Nuclei', elements: [box(200, 'tumor'), box(300, 'stroma')] });
    // Versions of a fresh database begin at 0.
    const [record] = (await admin.ok('GET', '/annotation', { query: { itemId: slide } })) as unknown as { _version: number }[];
    expect(record?._version).toBe(0);
    await open(`item/${slide}`);
    await edit('Nuclei');
    await page.getByRole('radio', { name: 'stroma' }).waitFor();
    expect(await page.getByRole('radio', { name: 'tumor' }).count()).toBe(1);
  });

  it("saves new shapes on top of a colleague's changes, before and after the page knows of them", async () => {
    const id = await annotate(slide, { name: 'Shared', elements: [box(400)] });
    await row('Shared').waitFor();
    await edit('Shared');
    await drawRectangle(-300);
    await admin.ok('PATCH', `/annotation/${id}/elements`, { json: { put: [{ ...box(600), id: 'a'.repeat(24) }], remove: [] } });
    // The page has loaded the colleague's version, and counts its own new shape in it.
    await until('the page knows of it', async () => (await row('Shared').locator('.count').first().innerText()) === '3');
    const statuses: number[] = [];
    page.on('response', (response) => response.request().method() === 'PATCH' && statuses.push(response.status()));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await waitUntilSaved();
    expect(statuses).toEqual([200]);
    await drawRectangle(-100);
    await page.route(/\/annotation\?/, () => undefined);
    await admin.ok('PATCH', `/annotation/${id}/elements`, { json: { put: [{ ...box(700), id: 'b'.repeat(24) }], remove: [] } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await waitUntilSaved();
    await page.unroute(/\/annotation\?/);
    expect((await admin.ok('GET', `/annotation/${id}`))._elementCount).toBe(5);
    expect(await page.getByTestId('annotation-message').innerText()).toBe('');
  });

  it('shows unsaved changes after the session has ended on a public item, and saves them after signing in again', async () => {
    await drawRectangle(100);
    const ownToken = await page.evaluate<string>(`localStorage.getItem('token /api/v1')`);
    await new Client(testHost.url, ownToken, null).ok('DELETE', '/user/authentication');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const notice = page.locator('.session-notice');
    await notice.getByText('1 unsaved change is kept.').waitFor();
    await row('Shared').getByText('1 unsaved change', { exact: true }).waitFor();
    expect(await row('Shared').locator('.count').first().innerText()).toBe('6');
    await notice.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Login or email').fill('anna');
    await page.getByLabel('Password').fill('anna.password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await row('Shared').getByText('1 unsaved change', { exact: true }).waitFor();
    expect(await notice.isVisible()).toBe(false);
    await edit('Shared');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('status').getByText('Saved Shared').waitFor();
    expect(await page.locator('#announcer').isVisible()).toBe(true);
  });

  it('keeps a shape that a colleague has changed, and says so, when the user has deleted it', async () => {
    const id = 'c'.repeat(24);
    const annotation = await annotate(slide, { name: 'Contested', elements: [{ ...box(512), id }] });
    // The middle of the stage is on the left side of the shape.
    await open(`item/${slide}?at=492,500,400`);
    await edit('Contested');
    await until('the shape is selected', async () => {
      await stageOf(page).click(0, 0);
      return page.getByRole('button', { name: 'Delete shape' }).isVisible();
    });
    await page.getByRole('button', { name: 'Delete shape' }).click();
    await row('Contested').getByText('1 unsaved change', { exact: true }).waitFor();
    await admin.ok('PATCH', `/annotation/${annotation}/elements/${id}`, { json: { width: 77 } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const words = 'Somebody changed 1 shape that you deleted: it was kept.';
    await page.getByTestId('annotation-message').getByText(words).waitFor();
    await waitUntilSaved();
    expect(await admin.ok('GET', `/annotation/${annotation}`)).toMatchObject({ annotation: { elements: [{ id, width: 77 }] } });
  });

  it('lists 220 annotations in little space and with few requests, and finds them by name', async () => {
    for (let index = 0; index < manyAnnotations; index += 1)
      await annotate(crowded, { name: `Region ${index}`, elements: [box(10 + 4 * index)] });
    const requests: string[] = [];
    const recordRequest = (request: { url(): string }) => requests.push(request.url());
    page.on('request', recordRequest);
    await open(`item/${crowded}`);
    await row('Region 99').waitFor();
    await until('the shapes are loaded', () => requests.some((url) => url.includes('annotation/item/')));
    page.off('request', recordRequest);
    expect(requests.filter((url) => url.includes('/annotation')).length).toBeLessThan(12);
    const { height } = (await page.locator('.annotation-panel').boundingBox())!;
    expect(height).toBeLessThan(650);
    await page.getByText('and 120 more').waitFor();
    await page.getByRole('button', { name: 'Show 100 more' }).click();
    await row('Region 199').waitFor();
    expect(await page.locator('.annotation').count()).toBe(200);
    await page.getByRole('button', { name: 'Show 20 more' }).click();
    await row('Region 219').waitFor();
    await page.getByLabel('Find an annotation').fill('region 119');
    await row('Region 119').waitFor();
    expect(await page.locator('.annotation').count()).toBe(1);
    await page.getByRole('button', { name: 'Legend of Region 119' }).click();
    await page.getByLabel('Opacity').waitFor();
  });

  it('says why a file of a different kind is not imported', async () => {
    const [bytes, latin] = [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]), Buffer.from('{"name": "Ä"}', 'latin1')];
    const message = page.getByTestId('annotation-message');
    for (const [name, buffer, words] of [
      ['slide.json', bytes, 'this is not a JSON file'],
      ['latin.json', latin, 'this file is not UTF-8 text'],
      ['number.json', Buffer.from('5'), 'it contains no annotations'],
    ] as const) {
      await page.locator('.annotation-panel input[type=file]').setInputFiles({ name, mimeType: 'application/json', buffer });
      await message.getByText(`${name}: ${words}`).waitFor();
    }
    const wide = Buffer.from('\uFEFF{"name": "Wide", "elements": []}', 'utf16le');
    await page
      .locator('.annotation-panel input[type=file]')
      .setInputFiles({ name: 'wide.json', mimeType: 'application/json', buffer: wide });
    await page.getByRole('status').getByText('Imported wide.json: 1').waitFor();
  });

  it('imports tables of shapes, named after their files', async () => {
    const annotation = await annotate(slide, { name: 'Cells', elements: [box(10)] });
    await open(`item/${slide}`);
    await row('Cells').waitFor();
    const input = page.locator('.annotation-panel input[type=file]');
    const table = await admin.send('GET', `/annotation/${annotation}/table.parquet`);
    await input.setInputFiles({ name: 'Shapes again.parquet', mimeType: '', buffer: table.bytes });
    await page.getByRole('status').getByText('Imported Shapes again.parquet: 1').waitFor();
    await row('Shapes again').waitFor();
    await input.setInputFiles({ name: 'Cut.parquet', mimeType: '', buffer: table.bytes.subarray(0, -20) });
    await page.getByTestId('annotation-message').getByText('Cut.parquet: The Parquet file is incomplete').waitFor();
  });

  it('says that nothing is visible when content is hidden, not that nothing exists', async () => {
    const hidden = await admin.create('/folder', {
      parentType: 'collection',
      parentId: collection,
      name: 'Hidden',
      public: false,
    });
    await admin.ok('DELETE', `/annotation/item/${slide}`);
    const annotation = await annotate(slide, { name: 'Mine', elements: [] });
    const access = JSON.stringify({ users: [], groups: [] });
    await admin.ok('PUT', `/annotation/${annotation}/access`, { form: { access, public: 'false' } });
    const visitor = await (await browser.newContext()).newPage();
    await visitor.goto(`${testHost.url}/#item/${slide}`);
    await visitor.getByText('No public annotations.').waitFor();
    const empty = await admin.create('/collection', { name: 'Looks empty', public: true });
    await admin.create('/folder', { parentType: 'collection', parentId: empty, name: 'Private', public: false });
    await visitor.goto(`${testHost.url}/#collection/${empty}`);
    await visitor.getByText('No public folders').waitFor();
    await visitor.context().close();

    await open(`collection/${collection}`);
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page
      .getByRole('dialog')
      .getByText(/^Inside: 2 folders \(1 private\) and 222 annotations \(1 private\)/)
      .waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Permissions saved. Still private inside: 1 folder and 1 annotation.').waitFor();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByLabel('Apply to all 2 folders inside').check();
    await page.getByLabel('Apply to annotations inside').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Permissions saved.', { exact: true }).waitFor();
    expect((await testHost.anonymous.send('GET', `/folder/${hidden}`)).status).toBe(200);
    expect((await testHost.anonymous.send('GET', `/annotation/${annotation}`)).status).toBe(200);
  });

  it('restores the scroll position on return, and starts another page at its top', async () => {
    await page.setViewportSize({ width: 390, height: 500 });
    for (let index = 0; index < 20; index += 1)
      await admin.create('/folder', {
        parentType: 'folder',
        parentId: folderId,
        name: `Folder ${String(index).padStart(2, '0')}`,
      });
    await open(`folder/${folderId}`);
    const link = page.getByRole('link', { name: 'Folder 15' });
    await link.scrollIntoViewIfNeeded();
    const scrollTop = () => page.evaluate<number>('scrollY');
    const before = await until('it is scrolled', scrollTop);
    await link.click();
    await page.getByRole('heading', { name: 'Folder 15' }).waitFor();
    expect(await scrollTop()).toBe(0);
    await page.goBack();
    await page.getByRole('heading', { name: 'Slides' }).waitFor();
    await until('it is where it was', async () => Math.abs((await scrollTop()) - before) < 2);
    await page.setViewportSize({ width: 1280, height: 850 });
  });

  it('shows no results of other words while a search is running, and a hint only when letters are missing', async () => {
    await open('search');
    await page.getByText('Type at least two letters.').waitFor();
    const field = page.getByLabel('Search everything');
    await field.fill('slides');
    await page.getByRole('link', { name: 'Slides' }).waitFor();
    await page.route(/[/]item[?]find=/, () => undefined);
    await field.fill('crowded');
    await page.getByText('Searching…').waitFor();
    expect(await page.getByRole('link', { name: 'Slides' }).count()).toBe(0);
    expect(await page.getByText('Type at least two letters.').count()).toBe(0);
    await page.unroute(/[/]item[?]find=/);
  });

  it('has an opaque overview, and distinguishes pressed buttons and colors when the system forces its own colors', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await open(`item/${crowded}`);
    await page.getByLabel('Find an annotation').fill('Region 5');
    await page.getByRole('button', { name: 'Legend of Region 5', exact: true }).click();
    await page.locator('.swatch[data-color]').first().waitFor();
    const style = (selector: string, name: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)}))[${JSON.stringify(name)}]`);
    expect(await style('.navigator', 'opacity')).toBe('1');
    const ruler = '.annotation-tools .button:not([hidden])';
    const idle = await style(ruler, 'backgroundColor');
    await page.getByRole('button', { name: 'Measure' }).click();
    expect(await style(ruler, 'backgroundColor')).not.toBe(idle);
    expect(await style('.swatch[data-color]', 'forcedColorAdjust')).toBe('none');
    await page.emulateMedia({ forcedColors: 'none' });
  });
});
