import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { makeSyntheticSlide } from '../../../src/reference-host/synthetic-slide/slide.js';
import { newFolder } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { signIn, stageOf } from '../../support/pages/stage.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('the page, which loses no work', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let directory: string;
  let folderId: string;
  let slide: string;
  let annotation: string;
  let count = 0;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'viewer-kept-'));
    const path = join(directory, 'slide.tiff');
    await makeSyntheticSlide(path, { size: 1024 });
    testHost = await startHost();
    admin = await testHost.register('anna');
    await testHost.register('bert');
    folderId = await newFolder(admin, 'Slides', true);
    const folder = (await testHost.host.context.models.folder.findById(folderId).lean())!;
    const { item } = await testHost.host.registerFileInPlace({ path, folder, itemName: 'slide', creatorId: null });
    slide = item._id.toHexString();
    browser = await launchChromium(executablePath!);
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(directory, { recursive: true, force: true });
  });

  beforeEach(async () => {
    const { _id } = await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: `Cells ${++count}` } });
    annotation = String(_id);
    await context?.close();
    context = await browser.newContext({ viewport: { width: 1280, height: 850 } });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
  });

  const open = async (hash: string) => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#${hash}`);
  };
  const edit = () => page.getByRole('button', { name: `Edit Cells ${count}`, exact: true }).click();
  const button = (name: string) => page.locator('.annotation-editor').getByRole('button', { name, exact: true });
  const row = () => page.locator('.annotation').filter({ hasText: `Cells ${count}` });
  const editorText = (words: string) => page.locator('.annotation-editor').getByText(words).waitFor();
  const shapeCount = async () => (await admin.ok('GET', `/annotation/${annotation}`))._elementCount;

  /** Saves two unsaved shapes, after which nothing is unsaved, not even after a reload. */
  async function saveBoth() {
    await edit();
    await button('Save').click();
    await editorText('All changes are saved.');
    expect(await shapeCount()).toBe(2);
    await page.reload();
    await row().waitFor();
    expect(await row().getByText('unsaved').count()).toBe(0);
  }

  async function draw(x: number) {
    const tool = page.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button', { name: 'Rectangle' });
    // A tool stays selected until it is clicked again.
    if ((await tool.getAttribute('aria-pressed')) !== 'true') await tool.click();
    await stageOf(page).drag([x, -100], [x + 50, -50]);
  }

  it('keeps unsaved shapes through a reload, says so, and then saves them', async () => {
    await signIn(page, testHost.url, 'anna');
    await open(`item/${slide}`);
    await edit();
    await draw(-200);
    await draw(-100);
    await row().getByText('2 unsaved changes', { exact: true }).waitFor();
    // The page is lost without any notice, as in a crash.
    await page.close({ runBeforeUnload: false });
    page = await context.newPage();
    await page.goto(`${testHost.url}/`);
    await page.locator('#announcer').getByText('2 unsaved changes from an earlier visit are kept in this browser.').waitFor();
    await page.locator('#announcer').getByRole('button', { name: 'Show' }).click();
    await row().getByText('2 unsaved changes', { exact: true }).waitFor();
    expect(await shapeCount()).toBe(0);
    await saveBoth();
  });

  const restart = async () => {
    await page.close({ runBeforeUnload: false });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
  };
  const waitForAnnouncement = (words: string) => page.locator('#announcer').getByText(words).waitFor();

  const losePage = async () => {
    await restart();
    await open(`item/${slide}`);
    await waitForAnnouncement('1 unsaved change from an earlier visit is kept in this browser.');
  };
  const leaveAndReturn = async () => {
    await page.evaluate(`location.hash = '#'`);
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await page.evaluate(`location.hash = '#item/${slide}'`);
  };

  it.each([
    ['was lost', losePage],
    ['showed something else', leaveAndReturn],
  ])('continues a polygon that is half drawn after the page %s', async (_, leave) => {
    await signIn(page, testHost.url, 'anna');
    await open(`item/${slide}`);
    await edit();
    await page.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button', { name: 'Polygon' }).click();
    const stage = stageOf(page);
    await stage.click(-200, -100);
    await stage.click(-100, -100);
    const storedCount = `(async () => {
      const result = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
      const database = await result(indexedDB.open('large-image'));
      const all = await result(database.transaction('unsaved').objectStore('unsaved').getAll());
      database.close();
      return all.find(({ annotationId }) => annotationId === '${annotation}')?.draft?.points.length;
    })()`;
    await until('both corners are kept', async () => (await page.evaluate(storedCount)) === 2);
    await leave();
    await row().getByText('1 unsaved change', { exact: true }).waitFor();
    await edit();
    await stageOf(page).click(-100, 0);
    await page.keyboard.press('Enter');
    await row().getByText('1 unsaved change', { exact: true }).waitFor();
    await button('Save').click();
    await editorText('All changes are saved.');
    const { annotation: saved } = (await admin.ok('GET', `/annotation/${annotation}`)) as never as {
      annotation: { elements: { points: number[][]; closed: boolean }[] };
    };
    expect(saved.elements.map(({ closed, points }) => [closed, points.length])).toEqual([[true, 3]]);
    await restart();
    await open(`item/${slide}`);
    await row().waitFor();
    expect(await row().getByText('unsaved').count()).toBe(0);
  });

  it('keeps the shapes of each tab, and takes over those of a tab that was closed', async () => {
    await signIn(page, testHost.url, 'anna');
    const drawFirst = async (x: number) => {
      await open(`item/${slide}`);
      await edit();
      await draw(x);
      await row().getByText('1 unsaved change', { exact: true }).waitFor();
    };
    await drawFirst(-200);
    const first = page;
    page = await context.newPage();
    await open(`item/${slide}`);
    await waitForAnnouncement('1 unsaved change is in another tab of this browser.');
    await row().waitFor();
    expect(await row().getByText('unsaved').count()).toBe(0);
    await drawFirst(-100);
    // Each tab has its own shapes after a reload, although the other one is open.
    for (const tab of [page, first, page]) {
      await tab.reload({ waitUntil: 'load' });
      await tab
        .locator('.annotation')
        .filter({ hasText: `Cells ${count}` })
        .getByText('1 unsaved change', { exact: true })
        .waitFor();
    }
    await first.close({ runBeforeUnload: false });
    await page.reload();
    await row().getByText('2 unsaved changes', { exact: true }).waitFor();
    await saveBoth();
  });

  /** Begins an upload. Its first part arrives before the page is lost. */
  async function interruptUpload() {
    const bytes = Buffer.alloc(33 * 1024 * 1024, 'bytes of a file');
    const path = join(directory, `upload ${count}.bin`);
    await writeFile(path, bytes);
    const folder = await newFolder(admin, `Uploads ${count}`);
    await signIn(page, testHost.url, 'anna');
    await open(`folder/${folder}`);
    const offsets: string[] = [];
    const continues = { isAllowed: false };
    await context.route(/[/]file[/]chunk/, async (route) => {
      offsets.push(new URL(route.request().url()).searchParams.get('offset')!);
      // The second part fails. A request that only waited here would be sent when its page is closed, and complete the upload.
      if (offsets.length === 1 || continues.isAllowed) await route.continue();
      else await route.abort();
    });
    await page.locator('input[type=file]').first().setInputFiles(path);
    await page.locator('.upload').getByText('Connection lost').waitFor();
    await restart();
    return { folder, path, size: bytes.length, offsets, continues };
  }

  const waitForOffer = () =>
    page.locator('.upload').getByText('of 34.6 MB uploaded. Choose the file again to continue.').waitFor();

  it('continues an upload after a reload when the same file is chosen', async () => {
    const { folder, path, size, offsets, continues } = await interruptUpload();
    const other = join(directory, 'other.bin');
    await writeFile(other, 'other');
    // A request that fails for another reason than an unknown upload forgets nothing.
    const offsetAddress = /[/]file[/]offset/;
    await context.route(offsetAddress, (route) => route.fulfill({ status: 429 }), { times: 1 });
    await Promise.all([page.waitForResponse(offsetAddress), open(`folder/${folder}`)]);
    await restart();
    await open(`folder/${folder}`);
    const upload = page.locator('.upload');
    await waitForOffer();
    await upload.locator('input').setInputFiles(other);
    await upload.getByText('This is a different file.').waitFor();
    continues.isAllowed = true;
    await upload.locator('input').setInputFiles(path);
    await upload.getByText('Uploaded', { exact: true }).waitFor();
    expect(offsets).toEqual(['0', ...offsets.slice(1).map(() => String(32 * 1024 * 1024))]);
    const [item] = (await admin.ok('GET', '/item', { query: { folderId: folder } })) as never as { _id: string; size: number }[];
    expect(item!.size).toBe(size);
    await restart();
    await open(`folder/${folder}`);
    await page.getByText(`upload ${count}.bin`).first().waitFor();
    expect(await page.locator('.upload').count()).toBe(0);
  });

  it('offers an upload, and keeps it, when the storage of the browser is full', async () => {
    const { folder, path, continues } = await interruptUpload();
    await page.addInitScript(`IDBObjectStore.prototype.put = () => { throw new DOMException('', 'QuotaExceededError'); };`);
    await open(`folder/${folder}`);
    await waitForOffer();
    await restart();
    await open(`folder/${folder}`);
    await waitForOffer();
    continues.isAllowed = true;
    await page.locator('.upload input').setInputFiles(path);
    await page.locator('.upload').getByText('Uploaded', { exact: true }).waitFor();
  });

  it('keeps unsaved shapes for the user who drew them when others use the page', async () => {
    await signIn(page, testHost.url, 'anna');
    await open(`item/${slide}`);
    await edit();
    await draw(-200);
    const unsaved = () => row().getByText('1 unsaved change', { exact: true });
    await unsaved().waitFor();
    const ownToken = await page.evaluate<string>(`localStorage.getItem('token /api/v1')`);
    await new Client(testHost.url, ownToken, null).ok('DELETE', '/user/authentication');
    await button('Save').click();
    const notice = page.locator('.session-notice');
    await notice.getByText('1 unsaved change is kept.').waitFor();
    const signInHere = async (login: string) => {
      await page.locator('.app-header').getByRole('link', { name: 'Sign in' }).click();
      await page.getByLabel('Login or email').fill(login);
      await page.getByLabel('Password').fill(`${login}.password`);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('.app-header').getByText(login).waitFor();
    };
    await signInHere('bert');
    // The address still names the image.
    await row().waitFor();
    expect(await unsaved().count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('#announcer').getByText('Signed out').waitFor();
    await signInHere('anna');
    await page.evaluate(`location.hash = '#item/${slide}'`);
    await unsaved().waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('#announcer').getByText('Signed out').waitFor();
    await page.evaluate(`location.hash = '#item/${slide}'`);
    await row().waitFor();
    expect(await unsaved().count()).toBe(0);
    await signInHere('anna');
    await unsaved().waitFor();
  });

  it('undoes Discard, and changes that were saved before', async () => {
    await signIn(page, testHost.url, 'anna');
    await open(`item/${slide}`);
    await edit();
    await draw(-200);
    await button('Discard').click();
    await editorText('All changes are saved.');
    await page.locator('#announcer').getByRole('button', { name: 'Undo' }).click();
    await row().getByText('1 unsaved change', { exact: true }).waitFor();
    await draw(-100);
    await button('Save').click();
    await editorText('All changes are saved.');
    expect(await shapeCount()).toBe(2);
    await button('Undo').click();
    await row().getByText('1 unsaved change', { exact: true }).waitFor();
    await button('Save').click();
    await editorText('All changes are saved.');
    expect(await shapeCount()).toBe(1);
    await button('Redo').click();
    await button('Save').click();
    await editorText('All changes are saved.');
    expect(await shapeCount()).toBe(2);
  });

  it('lists deleted annotations, and restores them', async () => {
    await admin.ok('DELETE', `/annotation/${annotation}`);
    await signIn(page, testHost.url, 'anna');
    await open(`item/${slide}`);
    await page.getByRole('button', { name: 'Deleted annotations' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `Restore Cells ${count}` })
      .click();
    await row().waitFor();
    expect((await admin.send('GET', `/annotation/${annotation}`)).status).toBe(200);
  });

  it('says when the browser stores nothing, and still saves to the server', async () => {
    await page.addInitScript(`
      const refuse = () => { throw new DOMException('not here', 'SecurityError'); };
      IDBFactory.prototype.open = refuse;
      for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse });
    `);
    await signIn(page, testHost.url, 'anna');
    // The session is not stored either: a page that is loaded again is signed out.
    await page.evaluate(`location.hash = '#item/${slide}'`);
    await edit();
    await draw(-200);
    await editorText('This browser cannot keep unsaved changes');
    await button('Save').click();
    await editorText('All changes are saved.');
    expect(await shapeCount()).toBe(1);
  });

  it('moves folders and items to the trash, and back by Undo and from there', async () => {
    const name = `Gone ${count}`;
    const trashedFolder = await admin.create('/folder', { parentType: 'folder', parentId: folderId, name });
    await admin.create('/item', { folderId: trashedFolder, name: 'in it' });
    await signIn(page, testHost.url, 'anna');
    await open(`folder/${folderId}`);
    const toTrash = async () => {
      await page.getByRole('checkbox', { name: `Select ${name}` }).click();
      await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('dialog').getByText('1 folder and 1 item.').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Move to trash' }).click();
    };
    await toTrash();
    await until('it is gone', async () => (await page.getByRole('link', { name }).count()) === 0);
    // The title of another page is announced, and leaves the message as it is.
    await page.evaluate(`location.hash = '#trash'`);
    await until('the trash is shown', async () => (await page.title()).startsWith('Trash'));
    await page.goBack();
    await until('the folder is shown again', async () => (await page.title()).startsWith('Slides'));
    await page.locator('#announcer').getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('link', { name }).waitFor();
    await toTrash();
    await until('it is gone again', async () => (await page.getByRole('link', { name }).count()) === 0);
    await open('trash');
    await page.getByRole('button', { name: `Restore “${name}”` }).click();
    await page.getByRole('heading', { name: 'The trash is empty.' }).waitFor();
    expect((await admin.send('GET', `/folder/${trashedFolder}`)).status).toBe(200);
    // A dialog about something that is no longer shown is closed.
    await admin.create('/folder', { parentType: 'folder', parentId: trashedFolder, name: 'empty' });
    await open(`folder/${trashedFolder}`);
    await page.getByRole('checkbox', { name: 'Select empty' }).click();
    await page.getByRole('region', { name: 'Selection' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByText('1 folder.').waitFor();
    await page.goBack();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await admin.ok('POST', '/resource/trash', { query: { resources: JSON.stringify({ folder: [trashedFolder] }) } });
    await open('trash');
    await page.getByRole('button', { name: 'Empty trash' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'The trash is empty.' }).waitFor();
    expect((await admin.send('GET', `/folder/${trashedFolder}`)).status).toBe(400);
  });
});
