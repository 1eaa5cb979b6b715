import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import express from 'express';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addSlidePages } from '../../../examples/viewer-page.js';
import { writeViewer } from '../../../src/reference-host/viewer-bundle.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { slideFile } from '../../support/images/slide.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('the viewer on a page of another host', () => {
  let work: string;
  let testHost: TestHost;
  let admin: Client;
  let server: Server;
  let url: string;
  let browser: Browser;
  let page: Page;
  let item: string;
  const complaints: string[] = [];
  const cookies: (string | undefined)[] = [];

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'viewer-element-'));
    await writeViewer(join(work, 'scripts'));
    testHost = await startHost({ viewer: false });
    admin = await testHost.register('anna');
    const collection = await admin.create('/collection', { name: 'Private' });
    const parentId = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Slides' });
    const bytes = await readFile(await slideFile(work));
    const query = { parentType: 'folder', parentId, name: 'slide.svs', size: bytes.length };
    item = String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
    const app = express();
    app.use(({ headers }, _response, next) => {
      cookies.push(headers.cookie);
      next();
    });
    addSlidePages(app, join(work, 'scripts'));
    // This is like a server that has only the plugin's routes.
    app.use('/api/v1', ({ path }, response, next) =>
      /^\/(annotation|large_image|item\/\w+\/tiles|folder\/\w+\/yaml_config)\b/.test(path) ? next() : response.sendStatus(404),
    );
    app.use(testHost.host.app);
    server = createServer(app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    browser = await launchChromium(executablePath!);
    page = await browser.newPage({ viewport: { width: 1000, height: 700 } });
    page.setDefaultTimeout(300_000);
    page.on('console', (message) => {
      // Browsers request an icon of the site, which this site does not have.
      if (message.type() === 'error' && !message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
  });

  afterAll(async () => {
    await browser?.close();
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
    await testHost?.close();
    await rm(work, { recursive: true, force: true });
  });

  /** Runs a script in the page, in which `viewer` is the element. */
  const inPage = <T>(script: string) =>
    page.evaluate<T>(`(() => { const viewer = document.querySelector('large-image-viewer'); ${script} })()`);
  const drawn = () =>
    inPage<number[]>(`const canvas = viewer.shadowRoot.querySelector('.drawing .openseadragon-canvas canvas');
      return [...(canvas?.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data ?? [])];`);

  it('says that a sign-in is needed, and opens with a token from the page, without a cookie', async () => {
    await page.goto(`${url}/slides/${item}`);
    await page.getByRole('alert').getByText('Sign in to view this. It is not public.').waitFor();
    await until('both questions, of the item and of its image, are refused', () => complaints.length === 2);
    expect(complaints).toEqual([expect.stringContaining('401'), expect.stringContaining('401')]);
    complaints.length = 0;
    const facts = (await admin.ok('GET', `/item/${item}/tiles`)) as unknown as { sizeX: number; sizeY: number };
    const at = { x: Math.floor(facts.sizeX * 0.55), y: Math.floor(facts.sizeY * 0.5) };
    await inPage(`viewer.addEventListener('image-open', ({ detail }) => (window.opened = detail));
      viewer.view = 'at=${at.x + 0.5},${at.y + 0.5},40'; viewer.token = '${admin.token}';`);
    await page.getByTestId('scale-bar').waitFor();
    await until('the page is told', () =>
      page.evaluate(`window.opened?.sizeX === ${facts.sizeX} && window.opened.name === 'slide.svs'`),
    );
    const { r, g, b } = await admin.ok('GET', `/item/${item}/tiles/pixel`, { query: { left: at.x, top: at.y } });
    await until('the pixel of that place is drawn', async () => {
      const color = await drawn();
      const expected = [r, g, b].map(Number);
      if (color[3] === 255 && expected.every((value, index) => Math.abs(value - color[index]!) <= 8)) return true;
      throw new Error(`drawn ${color.join()}, stated ${expected.join()}`);
    });
    expect(cookies.filter((cookie) => cookie !== undefined)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('also takes the token from a cookie that the page names', async () => {
    await inPage(
      `window.opened = null; document.cookie = 'girderToken=${admin.token}; path=/'; viewer.token = null; viewer.cookie = 'girderToken';`,
    );
    await until('the image is open', () => page.evaluate(`window.opened?.name === 'slide.svs'`));
    await inPage(
      `document.cookie = 'girderToken=; path=/; max-age=0'; viewer.cookie = null; viewer.token = '${admin.token}'; window.opened = null;`,
    );
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    expect(cookies.splice(0)).toContain(`girderToken=${admin.token}`);
    expect(complaints).toEqual([]);
  });

  it('opens as soon as a refused user gets access', async () => {
    const reader = await testHost.register('reader');
    await inPage(`window.opened = null; viewer.token = '${reader.token}';`);
    await page.getByRole('alert').getByText('You do not have permission to view this.').waitFor();
    complaints.length = 0;
    const { folderId } = await admin.ok('GET', `/item/${item}`);
    const { users } = (await admin.ok('GET', `/folder/${String(folderId)}/access`)) as unknown as {
      users: { id: string; level: number }[];
    };
    const give = (list: object[]) =>
      admin.ok('PUT', `/folder/${String(folderId)}/access`, { query: { access: JSON.stringify({ users: list, groups: [] }) } });
    const entries = users.map(({ id, level }) => ({ id, level }));
    await give([...entries, { id: reader.id, level: 0 }]);
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    await give(entries);
    await inPage(`window.opened = null; viewer.token = '${admin.token}';`);
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    complaints.length = 0;
  });

  it('stops requesting a refused image when that image is removed', async () => {
    const stranger = await testHost.register('stranger');
    const { folderId } = await admin.ok('GET', `/item/${item}`);
    const doomed = await admin.create('/item', { folderId: String(folderId), name: 'doomed' });
    await inPage(`viewer.item = '${doomed}'; viewer.token = '${stranger.token}';`);
    await page.getByRole('alert').getByText('You do not have permission to view this.').waitFor();
    await admin.ok('DELETE', `/item/${doomed}`);
    await page.getByRole('alert').getByText('Not found').waitFor();
    const requestCount = cookies.length;
    await wait(6000);
    expect(cookies.length).toBe(requestCount);
    await inPage(`window.opened = null; viewer.item = '${item}'; viewer.token = '${admin.token}';`);
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    complaints.length = 0;
  });

  it('reports the view to the page, and shows requested views', async () => {
    await page.getByRole('button', { name: 'Show the whole image' }).click();
    await until('the page is told', async () => (await page.locator('#place').textContent()) === '');
    await inPage(`viewer.goTo({ x: 1000, y: 700, width: 300 })`);
    await until('the page is told the place', async () =>
      (await page.locator('#place').textContent())!.startsWith('at=1000,700,300'),
    );
    expect(await inPage(`return viewer.view`)).toMatch(/^at=1000,700,300/);
    expect(complaints).toEqual([]);
  });

  it('shows its panels below the image when it is narrow, and says when an item does not exist', async () => {
    await page.setViewportSize({ width: 390, height: 700 });
    const [image, panel] = await Promise.all(['.stage', '.side-panel'].map((name) => page.locator(name).boundingBox()));
    expect(Math.min(image!.width, panel!.width)).toBeGreaterThan(330);
    expect(panel!.y).toBeGreaterThanOrEqual(image!.y + image!.height);
    await page.setViewportSize({ width: 1000, height: 700 });
    await inPage(`viewer.item = 'nonsense'`);
    await page.getByRole('alert').getByText('Not found: it was removed, or the link is incomplete.').waitFor();
    await inPage(`viewer.item = '${item}'`);
    await page.getByTestId('scale-bar').waitFor();
    expect(complaints.splice(0)).toEqual([expect.stringContaining('400'), expect.stringContaining('400')]);
  });

  it('shows the whole image at any size until it is moved', async () => {
    const view = () => inPage<string>(`return viewer.view`);
    await inPage(`viewer.view = ''; viewer.goHome()`);
    await until('the image is whole', async () => (await view()) === '');
    const narrow = { width: 390, height: 700 };
    for (const size of [narrow, { width: 1000, height: 700 }]) {
      const { width: before } = (await page.locator('.stage').boundingBox())!;
      await page.setViewportSize(size);
      await until('it has other room', async () => (await page.locator('.stage').boundingBox())!.width !== before);
      await page.waitForTimeout(1000);
      expect(await view()).toBe('');
    }
    await inPage(`viewer.goTo({ x: 1000, y: 700, width: 300 })`);
    await page.setViewportSize(narrow);
    await page.waitForTimeout(1000);
    expect(await view()).toMatch(/^at=1000,700,/);
    await page.setViewportSize({ width: 1000, height: 700 });
    await inPage(`viewer.goHome()`);
    expect(complaints).toEqual([]);
  });

  it('creates an annotation in a dialog with its own style, and shows the panels and the theme that the page requests', async () => {
    await page.getByRole('button', { name: 'New annotation' }).click();
    const dialog = page.getByRole('dialog', { name: 'New annotation' });
    expect(await dialog.evaluate((element) => element.getRootNode() !== element.ownerDocument)).toBe(true);
    await dialog.getByLabel('Name').fill('Glands');
    await dialog.getByRole('button', { name: 'Create annotation' }).click();
    await page.getByRole('checkbox', { name: 'Glands' }).waitFor();
    expect((await admin.ok('GET', '/annotation', { query: { itemId: item } })).length).toBe(1);
    await page.getByRole('button', { name: 'Download, share or restore Glands' }).click();
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await page.getByLabel('Add a person or group').fill('an');
    await page.getByRole('alert').getByText('This server cannot search for people.').waitFor();
    expect(complaints.splice(0).every((text) => text.includes('404'))).toBe(true);
    await page.getByRole('checkbox', { name: 'Public: everybody can see it' }).check();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Permissions saved.').waitFor();
    const scheme = () => inPage<string>(`viewer.theme = 'dark'; return getComputedStyle(viewer).colorScheme`);
    expect(await scheme()).toBe('dark');
    await inPage(`viewer.panels = ''`);
    await until('there is no panel', async () => (await page.getByText('Annotations', { exact: true }).count()) === 0);
    await page.getByTestId('scale-bar').waitFor();
    expect(complaints).toEqual([]);
  });

  it("shows the server's picture of annotations with too many shapes, requested with the token", async () => {
    const { sizeX, sizeY } = (await admin.ok('GET', `/item/${item}/tiles`)) as unknown as { sizeX: number; sizeY: number };
    const elements = Array.from({ length: 80 * 80 }, (_, index) => ({
      type: 'rectangle',
      center: [((index % 80) + 0.5) * (sizeX / 80), (Math.floor(index / 80) + 0.5) * (sizeY / 80), 0],
      width: sizeX / 80,
      height: sizeY / 80,
      rotation: 0,
      fillColor: '#0000ff',
      lineColor: '#0000ff',
    }));
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Grid', elements } });
    await inPage(`viewer.view = ''; viewer.panels = 'annotations'`);
    await page.getByRole('checkbox', { name: 'Grid' }).waitFor();
    await until('blue is drawn on the image', () =>
      inPage(`const canvas = viewer.shadowRoot.querySelector('.drawing .openseadragon-canvas canvas');
        const [red, , blue] = canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data;
        return blue > 100 && red < 100;`),
    );
    expect(cookies.filter((cookie) => cookie !== undefined)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('uses the language of its attribute or of the surrounding page, and keeps the view when that changes', async () => {
    await inPage(`window.opened = null; viewer.panels = ''; viewer.view = 'at=1000,700,300';`);
    const waitForButton = (name: string) => page.getByRole('button', { name, exact: true }).waitFor();
    await waitForButton('Show the whole image');
    await inPage(`viewer.lang = 'de-CH'`);
    await waitForButton('Ganzes Bild zeigen');
    await until('the view is as before', () => inPage<boolean>(`return viewer.view.startsWith('at=1000,700,300')`));
    expect(await inPage(`return viewer.shadowRoot.querySelector('.viewer').lang`)).toBe('de');
    await inPage(`viewer.removeAttribute('lang')`);
    await waitForButton('Show the whole image');
    await inPage(`document.documentElement.lang = 'de'`);
    await waitForButton('Ganzes Bild zeigen');
    // The second change comes while the image is being opened.
    await inPage(`viewer.goTo({ x: 1200, y: 800, width: 320 })`);
    await until('the view has moved', () => inPage<boolean>(`return viewer.view.startsWith('at=1200,800,320')`));
    await inPage(`viewer.lang = 'en'; setTimeout(() => (viewer.lang = 'fr'), 0)`);
    await waitForButton('Show the whole image');
    await until('the view is still as before', () => inPage<boolean>(`return viewer.view.startsWith('at=1200,800,320')`));
    await page.evaluate(`import('/large-image-viewer/element.js').then(({ translate }) =>
      translate('fr', { imageTexts: { whole: 'Toute l’image' } }))`);
    await waitForButton('Toute l’image');
    await waitForButton('Zoom in');
    await inPage(`viewer.removeAttribute('lang'); document.documentElement.lang = 'en';`);
    await waitForButton('Show the whole image');
    expect(complaints).toEqual([]);
  });

  // When a session ends, the page of the example leaves the image, so the event is not passed on to it.
  it('tells the page once that the token has expired, and continues with another one', async () => {
    const credentials = { Authorization: `Basic ${Buffer.from('anna:anna.password').toString('base64')}` };
    const anonymous = new Client(testHost.url, null, null);
    const { authToken } = await anonymous.ok('GET', '/user/authentication', { headers: credentials });
    const { token } = authToken as { token: string };
    await inPage(
      `window.opened = null; window.ends = 0; document.addEventListener('session-end', (event) => (event.stopPropagation(), (window.ends += 1)), true); viewer.token = '${token}';`,
    );
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    await new Client(testHost.url, token, null).ok('DELETE', '/user/authentication');
    await until('the page is told', async () => {
      await inPage(`viewer.zoomBy(1.5)`);
      return page.evaluate(`window.ends === 1`);
    });
    await inPage(`window.opened = null; viewer.token = '${admin.token}'`);
    await until('the image is open', () => page.evaluate(`window.opened !== null`));
    expect(await page.evaluate(`window.ends`)).toBe(1);
  });
});
