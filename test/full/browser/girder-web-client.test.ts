/** Tests Girder's own web client, as included in its Python package, in front of the reference host. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

/** The folder of its built pages; `null` if the package is not installed. The reason is then printed once. */
function webClient(): string | null {
  const code = 'import importlib.util as u; print(u.find_spec("girder").submodule_search_locations[0])';
  try {
    const output = execFileSync(process.env.PYTHON ?? 'python3', ['-c', code], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const folder = join(output.trim(), 'web', 'dist');
    if (existsSync(join(folder, 'index.html'))) return folder;
  } catch {
    // Python or the package is missing, which is printed below.
  }
  console.warn("skipped: Girder's web client, the Python package girder is not installed (pip install --no-deps girder; PYTHON)");
  return null;
}
const pages = executablePath === null ? null : webClient();

describe.skipIf(pages === null)("Girder's own web client", () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  let server: Server | undefined;
  let url: string;
  let browser: Browser | undefined;
  let page: Page;
  /** Ids by their placeholders in addresses. */
  let ids: Record<'USER' | 'COLLECTION' | 'FOLDER' | 'ITEM' | 'GROUP', string>;
  /** Problems since this list was last emptied. */
  let failures: string[] = [];
  /** Unanswered requests. When a response arrives, the client redraws its views, which closes open menus. */
  const pendingRequests = new Set<Request>();

  beforeAll(async () => {
    started = await startHost({ viewer: false });
    admin = await started.register('admin');
    other = await started.register('other');
    const folder = await newFolder(admin, 'Shown');
    const { parentId } = await admin.ok('GET', `/folder/${folder}`);
    ids = {
      USER: admin.id!,
      COLLECTION: String(parentId),
      FOLDER: folder,
      ITEM: await uploadItem(admin, folder, 'image.tif', await pyramid()),
      GROUP: await admin.create('/group', { name: 'People', public: true }),
    };
    const outer = express();
    outer.use(express.static(pages!));
    outer.use(started.host.app);
    server = await new Promise<Server>((resolve) => {
      const opened = outer.listen(0, '127.0.0.1', () => resolve(opened));
    });
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium(executablePath!);
    page = await browser.newPage();
    page.setDefaultTimeout(300_000);
    page.on('pageerror', (error) => failures.push(error.message));
    page.on('request', (request) => request.resourceType() !== 'eventsource' && pendingRequests.add(request));
    page.on('requestfinished', (request) => pendingRequests.delete(request));
    page.on('requestfailed', (request) => pendingRequests.delete(request));
    page.on('domcontentloaded', () => pendingRequests.clear());
    page.on('response', (response) => {
      if (response.status() >= 400) failures.push(`${response.status()} ${response.request().method()} ${response.url()}`);
    });
  });
  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
    await started?.close();
  });

  const dialog = '#g-dialog-container';
  const body = () => page.locator('#g-app-body-container');
  const waitForText = (text: string | RegExp) => body().getByText(text).first().waitFor();
  /** Waits for pending requests, but not forever, because each action is retried anyway. */
  const waitForResponses = () =>
    until('every request has its response', () => pendingRequests.size === 0, 5_000).catch(() => undefined);
  async function press(selector: string): Promise<void> {
    await waitForResponses();
    await page.locator(selector).first().click();
  }
  /** Opens a menu and chooses an entry. Repeats this if a late response has closed the menu. */
  const choose = (menu: string, entry: string) =>
    until(`${entry} is chosen`, async () => {
      await waitForResponses();
      if (!(await page.locator(entry).first().isVisible())) await press(menu);
      const chosen = page.locator(entry).first().click({ timeout: 5_000 });
      return chosen.then(
        () => true,
        () => false,
      );
    });
  /** Fills the fields of a dialog, by their ids. Repeats this if the client has redrawn the dialog. */
  const fill = (fields: Record<string, string>) =>
    until('the dialog is filled', async () => {
      const located = Object.entries(fields).map(([id, text]) => [page.locator(`${dialog} #g-${id}`), text] as const);
      for (const [field, text] of located) await field.fill(text);
      await waitForResponses();
      const values = await Promise.all(located.map(([field]) => field.inputValue()));
      return values.every((value, index) => value === located[index]![1]);
    });
  const submit = () => press(`${dialog} button[type=submit]`);
  const closed = (timeout?: number) =>
    page.locator(`${dialog} .modal-dialog`).waitFor({ state: 'hidden', ...(timeout !== undefined && { timeout }) });
  /** Presses the button that saves the list of a dialog. Repeats this if the client was redrawing the dialog. */
  const saveDialog = (selector: string) =>
    until('the dialog is closed', async () => {
      await waitForResponses();
      await page
        .locator(`${dialog} ${selector}`)
        .first()
        .click({ timeout: 5_000 })
        .catch(() => undefined);
      return closed(5_000).then(
        () => true,
        () => false,
      );
    });

  async function open(hash: string, text: string | RegExp): Promise<void> {
    await waitForResponses();
    await page.goto(`${url}/#${hash.replaceAll(/[A-Z]{4,}/g, (name) => ids[name as keyof typeof ids])}`);
    // A late response to a request of the previous page may replace this page in the client. It is then loaded again.
    const shown = body().getByText(text).first();
    await shown.waitFor({ timeout: 20_000 }).catch(async () => {
      await page.reload();
      await shown.waitFor();
    });
  }

  /** Does something on the pages, and fails if one of their requests or scripts fails. */
  async function withoutFailures(work: () => Promise<unknown>): Promise<void> {
    failures = [];
    await work().catch(async (error: unknown) => {
      const address = page.url();
      const shown = await page.locator(dialog).innerText();
      // When this is repeated, no dialog is open.
      await page.reload();
      throw new Error(`At ${address}, failed: [${failures.join(', ')}]; the dialog says: ${shown.trim()}`, { cause: error });
    });
    expect(failures).toEqual([]);
  }

  async function signIn(login: string): Promise<void> {
    await page.goto(url);
    await press('.g-login');
    await fill({ login, password: `${login}.password` });
    await press('#g-login-button');
    await page.locator('.g-user-dropdown-link').waitFor();
  }

  it('starts, and signs in', () => withoutFailures(() => signIn('admin')));

  it.each<[string, string | RegExp]>([
    ['collections', /./],
    ['users', 'other'],
    ['groups', 'People'],
    ['search/results?query=image&mode=text', 'image.tif'],
    ['useraccount/USER/info', 'Profile'],
    ['useraccount/USER/password', 'Password'],
    ['useraccount/USER/apikeys', 'API keys'],
    ['useraccount/USER/otp', /./],
    ['user/USER', 'Public'],
    ['collection/COLLECTION', 'Shown'],
    ['folder/FOLDER', 'image.tif'],
    ['collection/COLLECTION/folder/FOLDER', 'image.tif'],
    ['item/ITEM', 'image.tif'],
    ['group/GROUP', 'People'],
    ['group/GROUP/pending', 'People'],
    ['group/GROUP/members', 'admin'],
    ['admin', 'Server configuration'],
    ['settings', /Registration policy/],
    ['assetstores', 'Data directory'],
    ['plugins', 'Large images'],
  ])('opens #%s', (hash, text) => withoutFailures(() => open(hash, text)));

  it('creates collections, and shows and stores the permissions of collections and folders', () =>
    withoutFailures(async () => {
      // When this is repeated, the collection may already exist.
      const name = `Made here at ${Date.now()}`;
      await open('collections', /./);
      await press('.g-collection-create-button');
      await fill({ name });
      await submit();
      await waitForText(name);
      await choose('.g-folder-actions-button', '.g-create-subfolder');
      await fill({ name: 'Made there' });
      await submit();
      await waitForText('Made there');
      for (const [hash, text, menu, entry] of [
        ['collection/COLLECTION', 'Shown', '.g-collection-actions-button', '.g-collection-access-control'],
        ['folder/FOLDER', 'image.tif', '.g-folder-actions-button', '.g-folder-access-button'],
      ] as const) {
        await open(hash, text);
        await choose(menu, entry);
        await saveDialog('.g-save-access-list');
      }
    }));

  it('uploads files, and edits, describes and removes items', () =>
    withoutFailures(async () => {
      await open('folder/FOLDER', 'image.tif');
      await press('.g-upload-here-button');
      const file = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('a note') };
      await page.locator(`${dialog} #g-files`).setInputFiles([file]);
      await press(`${dialog} .g-start-upload`);
      await waitForText('note.txt');
      const [noteItem] = (await admin.ok('GET', '/item', { query: { folderId: ids.FOLDER, name: 'note.txt' } })) as unknown as {
        _id: string;
        size: number;
      }[];
      expect(noteItem?.size).toBe(6);
      await page.goto(`${url}/#item/${noteItem!._id}`);
      await waitForText('note.txt');
      await choose('.g-widget-metadata-add-button', '.g-add-simple-metadata');
      await page.locator('.g-widget-metadata-key-input').fill('stain');
      await page.locator('.g-widget-metadata-value-input').fill('HE');
      await press('.g-widget-metadata-save-button');
      await until('metadata are stored', async () => {
        const { meta } = await admin.ok('GET', `/item/${noteItem!._id}`);
        return JSON.stringify(meta) === '{"stain":"HE"}';
      });
      await choose('.g-item-actions-button', '.g-edit-item');
      await fill({ name: 'renamed.txt' });
      await submit();
      await waitForText('renamed.txt');
      await press('.g-show-info');
      await page.locator(`${dialog} .modal-body`).waitFor();
      await press(`${dialog} .modal-footer a`);
      await closed();
      await choose('.g-item-actions-button', '.g-delete-item');
      await press('#g-confirm-button');
      await until('the item is gone', async () => (await admin.send('GET', `/item/${noteItem!._id}`)).status === 400);
      // The client opens the folder automatically. Waits for this, so that it does not happen while another page is opened.
      await page.waitForURL((address) => !address.hash.includes(noteItem!._id));
      await waitForText('image.tif');
    }));

  it('creates groups, and invites users to them', () =>
    withoutFailures(async () => {
      await open('groups', 'People');
      await press('.g-group-create-button');
      const name = `Made here at ${Date.now()}`;
      await fill({ name });
      await submit();
      await page.locator('.g-group-name', { hasText: name }).waitFor();
      await open('group/GROUP/members', 'admin');
      // The pages look alike, and text typed too early is lost when the page of the new group is shown.
      await page.locator('.g-group-name', { hasText: 'People' }).waitFor();
      const result = page.locator('.g-group-invite-container .g-search-result a').first();
      await until('the other is found', async () => {
        await page.locator('.g-group-invite-container .g-search-field').fill('');
        await page.locator('.g-group-invite-container .g-search-field').pressSequentially('other');
        return result.waitFor({ timeout: 10_000 }).then(
          () => true,
          () => false,
        );
      });
      await result.click();
      await press(`${dialog} .g-invite-as-member`);
      await until('the other is invited', async () => {
        const { groupInvites } = await other.ok('GET', '/user/me');
        return (groupInvites as unknown[]).length === 1;
      });
    }));

  it('stores the settings, the account, and API keys', () =>
    withoutFailures(async () => {
      await open('settings', /Registration policy/);
      await press('.g-submit-settings');
      await page.getByText('Settings saved.').first().waitFor();
      await open('useraccount/USER/info', 'Profile');
      await page.locator('#g-firstName').fill('Ada');
      await press('#g-user-info-form button[type=submit]');
      await page.getByText('Info saved.').first().waitFor();
      await open('useraccount/USER/apikeys', 'API keys');
      await press('a[name=apikeys]');
      await press('.g-api-key-new');
      await fill({ 'api-key-name': 'for scripts' });
      await submit();
      await waitForText('for scripts');
    }));

  it('signs out, registers a user, and requests group membership', () =>
    withoutFailures(async () => {
      // When this is repeated, nobody may be signed in.
      await page.locator('.g-user-dropdown-link, .g-register').first().waitFor();
      if (await page.locator('.g-user-dropdown-link').isVisible()) await choose('.g-user-dropdown-link', '.g-logout');
      await page.locator('.g-register').waitFor();
      // The client opens a page after signing out. Waits for this, because it would redraw an open dialog.
      await waitForResponses();
      await page.goto(`${url}/#collections`);
      await page.reload();
      await press('.g-register');
      const login = `newbie${Date.now()}`;
      const password = 'newbie.password';
      await fill({ login, email: `${login}@example.org`, firstName: 'New', lastName: 'Bie', password, password2: password });
      await press(`${dialog} #g-register-button`);
      await page.locator('.g-user-dropdown-link').waitFor();
      await open('group/GROUP', 'People');
      await choose('.g-group-actions-button', '.g-group-request-invite');
      await until('the request is stored', async () => {
        const { requests } = await admin.ok('GET', `/group/${ids.GROUP}/access`);
        return (requests as unknown as { login: string }[]).some((asking) => asking.login === login);
      });
    }));
});
