import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { sampleFile } from '../../support/images/data.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { slideFile } from '../../support/images/slide.js';
import { grayTags, writeTiff } from '../../support/writers/tiff-writer.js';
import { until } from '../../support/run/until.js';
import { onErrors } from '../../support/pages/stage.js';

const executablePath = chromiumPath();
const omeSample = sampleFile('multi-channel-z-series.ome.tif');

interface ImageFacts {
  sizeX: number;
  sizeY: number;
  mm_x: number;
}

describe.skipIf(executablePath === null)('the page of the reference host', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let slide: string;
  /** Errors that the browser has reported since the test began, including violations of the security policy. */
  let complaints: string[] = [];
  const tileRequests: string[] = [];
  /** Requests of the page that have no response yet. */
  let pending = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'viewer-test-'));
    slide = await slideFile(folder);
    testHost = await startHost();
    browser = await launchChromium(executablePath!);
    page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
    page.setDefaultTimeout(300_000);
    onErrors(page, (text) => complaints.push(text));
    // Streams of changes have no end.
    const weight = (request: Request) => (request.url().includes('/annotation/events') ? 0 : 1);
    page.on('requestfinished', (request) => (pending -= weight(request)));
    page.on('requestfailed', (request) => (pending -= weight(request)));
    page.on('request', (request) => {
      pending += weight(request);
      if (request.url().includes('zxy/')) tileRequests.push(request.url());
    });
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    complaints = [];
  });

  const start = () => page.goto(`${testHost.url}/`);
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  const card = (name: string) => page.locator('.card').filter({ hasText: name });
  const upload = (name: string) => page.locator('.upload').filter({ hasText: name });
  const itemId = () => /#item\/([0-9a-f]{24})/.exec(page.url())![1]!;
  const folderId = () => /#folder\/([0-9a-f]{24})/.exec(page.url())![1]!;

  /** Color of the canvas that OpenSeadragon draws on, at a pixel of the stage. */
  const drawnColor = (x: number, y: number) =>
    page.evaluate<number[]>(`(() => {
      const canvas = document.querySelector('.drawing .openseadragon-canvas canvas');
      const scale = canvas.width / canvas.getBoundingClientRect().width;
      return [...canvas.getContext('2d').getImageData(${x} * scale, ${y} * scale, 1, 1).data];
    })()`);
  const picture = () => page.evaluate<string>(`document.querySelector('.drawing .openseadragon-canvas canvas').toDataURL()`);
  /** The picture, when it differs from an earlier one. A picture of the small stack is one tile. */
  const untilPictureChanges = (description: string, before: string) =>
    until(description, async () => ((await picture()) === before ? null : await picture()));
  const stageBox = async () => (await page.locator('.stage').boundingBox())!;

  /** Opens an item with the given image pixel in the center of the stage, at a zoom. */
  async function lookAt(id: string, at: { x: number; y: number }, zoom: number) {
    await page.goto(`${testHost.url}/#`);
    await heading('Collections');
    await page.goto(`${testHost.url}/#item/${id}`);
    await page.getByTestId('scale-bar').waitFor();
    const { width } = await stageBox();
    await page.goto(`${testHost.url}/#item/${id}?at=${at.x},${at.y},${width / zoom}`);
  }

  it('lets the first user register and be the administrator', async () => {
    await start();
    await page.locator('main').getByRole('link', { name: 'Create an account' }).click();
    await page.getByLabel('Login').fill('anna');
    await page.getByLabel('Email').fill('anna@example.org');
    await page.getByLabel('First name').fill('Anna');
    await page.getByLabel('Last name').fill('Arnold');
    await page.getByLabel('Password').fill('anna.password');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('No collections yet').waitFor();
    await page.getByRole('button', { name: 'New collection' }).waitFor();
    admin = await clientOfPage();
    expect((await admin.ok('GET', '/user/me')).admin).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('creates a collection and a folder in it', async () => {
    await page.getByRole('button', { name: 'New collection' }).click();
    await page.getByLabel('Name').fill('Private slides');
    await page.getByRole('button', { name: 'Create collection' }).click();
    await heading('Private slides Private');
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name').fill('Kidney');
    await page.getByRole('button', { name: 'Create folder' }).click();
    await heading('Kidney Private');
    expect(await page.getByRole('navigation', { name: 'Breadcrumb' }).innerText()).toMatch(
      /Collections.*Private slides.*Kidney/s,
    );
    expect(complaints).toEqual([]);
  });

  it('shows the server’s reason when something cannot be created', async () => {
    await page.goBack();
    await heading('Private slides Private');
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name').fill('Kidney');
    await page.getByRole('button', { name: 'Create folder' }).click();
    await page.getByRole('alert').getByText('A folder with that name already exists here.').waitFor();
    // This is longer than an address may be.
    await page.getByLabel('Name').fill('Long');
    await page.getByLabel('Description').fill('ü'.repeat(10_000));
    await page.getByRole('button', { name: 'Create folder' }).click();
    await heading('Long Private');
    await page.goBack();
    await page.getByRole('link', { name: 'Kidney' }).click();
    await heading('Kidney Private');
    expect(complaints).toEqual([expect.stringContaining('400')]);
  });

  it('uploads a slide while its progress is shown, and then shows its thumbnail', async () => {
    const network = await page.context().newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000 };
    await network.send('Network.emulateNetworkConditions', slow);
    await page.locator('input[type=file]').setInputFiles(slide);
    const bar = upload(basename(slide)).locator('progress');
    const part = await until('some, not all, of the slide is sent', async () => {
      const share = await bar.evaluate<number, HTMLProgressElementLike>((progress) => progress.value / progress.max);
      return share > 0 && share < 1 ? share : null;
    });
    expect(part).toBeLessThan(1);
    await network.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
    await upload(basename(slide)).getByText('Uploaded').waitFor();
    const thumbnail = card(basename(slide)).locator('img.loaded');
    await thumbnail.waitFor();
    expect(await thumbnail.evaluate<number, { naturalHeight: number }>((image) => image.naturalHeight)).toBeGreaterThan(200);
    expect(complaints).toEqual([]);
  });

  it('resumes an upload after the connection broke, and cancels one without leaving anything', async () => {
    const chunk = 32 * 1024 * 1024;
    const large = join(folder, 'large.bin');
    await writeFile(large, randomBytes(chunk + 100_000));
    const offsets: string[] = [];
    await page.route('**/file/chunk?*', async (route) => {
      const offset = new URL(route.request().url()).searchParams.get('offset')!;
      offsets.push(offset);
      if (offsets.length === 2) await route.abort('connectionreset');
      else await route.continue();
    });
    await page.locator('input[type=file]').setInputFiles(large);
    await upload('large.bin').getByText('Connection lost').waitFor();
    await upload('large.bin').getByText('Uploaded').waitFor();
    expect(offsets).toEqual(['0', String(chunk), String(chunk)]);
    await card('large.bin').getByText('33.7 MB').waitFor();

    await page.unroute('**/file/chunk?*');
    let sent = false;
    // The request is never answered, so the upload is running until it is canceled.
    await page.route('**/file/chunk?*', () => void (sent = true));
    await writeFile(join(folder, 'unwanted.bin'), randomBytes(1000));
    await page.locator('input[type=file]').setInputFiles(join(folder, 'unwanted.bin'));
    await until('the chunk is under way', () => sent);
    await page.getByRole('button', { name: 'Cancel unwanted.bin' }).click();
    await upload('unwanted.bin').getByText('Canceled').waitFor();
    await page.unroute('**/file/chunk?*');
    await until('the server has dropped the upload', async () => (await admin.ok('GET', '/system/uploads')).length === 0);
    expect(await card('unwanted.bin').count()).toBe(0);
    expect(complaints.filter((text) => !text.includes('net::ERR_CONNECTION_RESET'))).toEqual([]);
  });

  it('resumes an upload after the session ended', async () => {
    const chunk = 32 * 1024 * 1024;
    await writeFile(join(folder, 'ended.bin'), randomBytes(chunk + 1000));
    const offsets: string[] = [];
    const revoked = { status: 401, json: { message: 'You must be logged in.' } };
    let isSignedIn = true;
    await page.route(/\/file\/(chunk|offset)\?/, async (route) => {
      const address = new URL(route.request().url());
      if (address.pathname.endsWith('chunk') && offsets.push(address.searchParams.get('offset')!) === 2) isSignedIn = false;
      await (isSignedIn ? route.continue() : route.fulfill(revoked));
    });
    await page.locator('input[type=file]').setInputFiles(join(folder, 'ended.bin'));
    await upload('ended.bin').getByText('Your session has ended').waitFor();
    offsets.push('signed in');
    isSignedIn = true;
    await upload('ended.bin').getByText('Uploaded').waitFor();
    expect(offsets).toEqual(['0', String(chunk), 'signed in', String(chunk)]);
    await page.unroute(/\/file\/(chunk|offset)\?/);
  });

  it('shows the thumbnail of an image that the server recognizes only a moment after the upload', async () => {
    await writeFile(
      join(folder, 'late.png'),
      await sharp({ create: { width: 90, height: 60, channels: 3, background: 'teal' } })
        .png()
        .toBuffer(),
    );
    const itemAddress = /\/api\/v1\/item[/?]/;
    let isEarly = true;
    await page.route(itemAddress, async (route) => {
      const response = await route.fetch();
      if (!isEarly || !response.headers()['content-type']?.includes('json')) return route.fulfill({ response });
      return route.fulfill({ response, body: (await response.text()).replaceAll('"largeImage":', '"nothingYet":') });
    });
    try {
      await page.locator('input[type=file]').setInputFiles(join(folder, 'late.png'));
      await upload('late.png').getByText('Uploaded').waitFor();
      await card('late.png').getByText('PNG', { exact: true }).waitFor();
      isEarly = false;
      await card('late.png').locator('img.loaded').waitFor();
    } finally {
      await page.unroute(itemAddress);
    }
    expect(complaints).toEqual([]);
  });

  it('withdraws the message that a file is unreadable when the rest of the upload makes it readable', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 50 } as const;
    const bytes = await sharp({ create: { width: 200, height: 150, channels: 3, noise } as never })
      .png()
      .toBuffer();
    await writeFile(join(folder, 'whole.yml'), 'sources:\n- path: part.png\n');
    await writeFile(join(folder, 'between.txt'), 'x'.repeat(5000));
    await writeFile(join(folder, 'part.png'), bytes);
    const network = await page.context().newCDPSession(page);
    const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 20_000 };
    await network.send('Network.emulateNetworkConditions', slow);
    await page
      .locator('input[type=file]')
      .setInputFiles(['whole.yml', 'between.txt', 'part.png'].map((name) => join(folder, name)));
    await upload('whole.yml').getByText('Uploaded, but it cannot be read as an image.').waitFor();
    await network.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 });
    await upload('whole.yml').getByText('Uploaded', { exact: true }).waitFor();
    await card('whole.yml').locator('img.loaded').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says in a list why a recognized image cannot be shown', async () => {
    const thumbnailAddress = /\/tiles\/thumbnail/;
    const message = 'Corrupt file: its tiles cannot be decoded.';
    await page.route(thumbnailAddress, (route) => route.fulfill({ status: 422, json: { message, type: 'rest' } }));
    await page.reload();
    await card('late.png').getByText(`Not readable: ${message}`).waitFor();
    await page.unroute(thumbnailAddress);
    await page.reload();
    await card('late.png').locator('img.loaded').waitFor();
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([]);
  });

  it('accepts files dropped on the page, and reports one that is not an image', async () => {
    const transfer = await page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['one'], 'one.txt', { type: 'text/plain' }));
      transfer.items.add(new File([], 'empty.txt', { type: 'text/plain' }));
      return transfer;
    })()`);
    await page.dispatchEvent('main', 'dragenter', { dataTransfer: transfer });
    await page.getByText('Drop to upload to “Kidney”').waitFor();
    await page.dispatchEvent('main', 'drop', { dataTransfer: transfer });
    await card('one.txt').getByText('3 B').waitFor();
    await card('empty.txt').getByText('0 B').waitFor();
    await card('one.txt').getByText('TXT', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close the list of uploads' }).click();
    await page.getByLabel('Select empty.txt').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Move to trash', exact: true }).click();
    await card('empty.txt').waitFor({ state: 'detached' });
    expect(await card('one.txt').count()).toBe(1);
    expect(complaints).toEqual([]);
  });

  it('uploads the files of a dropped folder into folders of the same names', async () => {
    await mkdir(join(folder, 'slides', 'level 2'), { recursive: true });
    await writeFile(join(folder, 'slides', 'top.txt'), 'top');
    await writeFile(join(folder, 'slides', 'level 2', 'below.txt'), 'below');
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(folder, 'slides')], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', { type, x: 400, y: 400, data });
    }
    await upload('below.txt').getByText('Uploaded').waitFor();
    await upload('top.txt').getByText('Uploaded').waitFor();
    const paths = await Promise.all(
      ['slides/top.txt', 'slides/level 2/below.txt'].map((path) =>
        admin.send('GET', '/resource/lookup', { query: { path: `/collection/Private slides/Kidney/${path}` } }),
      ),
    );
    expect(paths.map(({ status }) => status)).toEqual([200, 200]);
    expect(complaints).toEqual([]);
  });

  it('says why a file cannot be shown as an image, in the list and on its page', async () => {
    const broken = join(folder, 'broken.tif');
    await writeFile(broken, 'II*\0 and nothing more');
    const cut = join(folder, 'cut.tif');
    // Its only tile begins after the end of the file.
    const tags = { ...grayTags(64, 64, 64), 324: { long: [1_000_000] }, 325: { long: [4096] } };
    await writeFile(cut, writeTiff([{ tags, chunks: [Buffer.alloc(4096)] }]));
    await page.locator('input[type=file]').setInputFiles(cut);
    await upload('cut.tif')
      .getByText(/^Uploaded, but it cannot be read as an image\. .* tile or strip 0 should be at byte 1000000/)
      .waitFor();
    await card('cut.tif').getByText('Not readable').waitFor();
    const part = join(folder, 'part.tif');
    // Its thumbnail is made from the reduced image, which is intact.
    const reduced = { tags: { ...grayTags(512, 512, 512), 254: { long: [1] } }, chunks: [Buffer.alloc(512 * 512, 90)] };
    const full = { ...grayTags(1024, 1024, 512), 324: { long: [8, 8, 8, 3_000_000] }, 325: { long: Array(4).fill(2 ** 18) } };
    await writeFile(part, writeTiff([{ tags: full, chunks: [Buffer.alloc(2 ** 18, 90)] }, reduced]));
    await page.locator('input[type=file]').setInputFiles(part);
    await upload('part.tif')
      .getByText(/^Uploaded, but the image is incomplete\. The file is truncated: tile 3 of directory 0 ends at byte 3262144,/)
      .waitFor();
    await page.getByLabel('Select part.tif').check();
    await page.getByLabel('Select cut.tif').check();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Move to trash', exact: true }).click();
    await card('cut.tif').waitFor({ state: 'detached' });
    await card('part.tif').waitFor({ state: 'detached' });
    complaints = complaints.filter((complaint) => !complaint.includes('422'));
    await page.locator('input[type=file]').setInputFiles(broken);
    await upload('broken.tif').getByText('Uploaded, but it cannot be read as an image.').waitFor();
    await card('broken.tif')
      .getByText(/^Not readable: Truncated or corrupt TIFF: [^.]*\.$/)
      .waitFor();
    await card('broken.tif').getByRole('link').first().click();
    const notice = page.getByRole('status').filter({ hasText: 'This file cannot be shown as an image.' });
    await notice.waitFor();
    await notice.getByRole('button', { name: 'Try again' }).click();
    await notice.getByRole('alert').waitFor();
    const rename = (name: string) => admin.ok('PUT', `/item/${itemId()}`, { query: { name } });
    await rename('still broken.tif');
    await heading('still broken.tif');
    await rename('broken.tif');
    await page.goBack();
    await heading('Kidney Private');
    expect(complaints).toEqual([expect.stringContaining('400')]);
  });

  it('shows an image that is being prepared when it is ready', async () => {
    const jobId = 'f'.repeat(24);
    let isReady = false;
    const isList = (url: URL) => url.pathname.endsWith('/api/v1/item');
    await page.route(isList, async (route) => {
      const response = await route.fetch();
      const items = await response.json();
      const shown = items.map((item: object) => (isReady ? item : { ...item, largeImage: { expected: true, jobId } }));
      await route.fulfill({ response, json: shown });
    });
    try {
      await page.reload();
      await card('broken.tif').getByText('Preparing…').waitFor();
      isReady = true;
      await card('broken.tif')
        .getByText(/^Not readable: Truncated or corrupt TIFF: [^.]*\.$/)
        .waitFor();
    } finally {
      await page.unroute(isList);
    }
    expect(complaints).toEqual([]);
  });

  it('shows the name that an administrator has given the server', async () => {
    const key = 'core.brand_name';
    await admin.ok('PUT', '/system/setting', { query: { key, value: 'Slides & Co' } });
    await page.reload();
    await page.getByRole('link', { name: 'Slides & Co: all collections' }).waitFor();
    await admin.ok('PUT', '/system/setting', { query: { key, value: 'Slides '.repeat(40) } });
    await page.reload();
    const boxOf = async (name: string) => (await page.locator(name).boundingBox())!;
    const brand = await boxOf('.brand-name');
    expect(brand.x + brand.width).toBeLessThanOrEqual((await boxOf('#account')).x);
    await admin.ok('DELETE', '/system/setting', { query: { key } });
    await page.reload();
    await page.getByRole('link', { name: 'Large image: all collections' }).waitFor();
    await heading('Kidney Private');
  });

  it('draws the tiles of an opened image in the colors that the API reports', async () => {
    await card(basename(slide)).getByRole('link').first().click();
    await page.getByTestId('scale-bar').waitFor();
    const id = itemId();
    const facts = (await admin.ok('GET', `/item/${id}/tiles`)) as unknown as ImageFacts;
    // At this zoom a pixel of the image is a square on the screen, without a blend with its neighbors.
    const at = { x: Math.floor(facts.sizeX * 0.55), y: Math.floor(facts.sizeY * 0.5) };
    await lookAt(id, { x: at.x + 0.5, y: at.y + 0.5 }, 16);
    const pixel = (await admin.ok('GET', `/item/${id}/tiles/pixel`, { query: { left: at.x, top: at.y } })) as unknown as {
      r: number;
      g: number;
      b: number;
    };
    const { width, height } = await stageBox();
    await until('the color is drawn', async () => {
      const [r = 0, g = 0, b = 0, a = 0] = await drawnColor(width / 2, height / 2);
      const worst = Math.max(Math.abs(r - pixel.r), Math.abs(g - pixel.g), Math.abs(b - pixel.b));
      if (a === 255 && worst <= 8) return true;
      throw new Error(`drawn ${r},${g},${b},${a}, stated ${pixel.r},${pixel.g},${pixel.b}`);
    });
    expect(tileRequests.some((url) => url.includes(`/item/${id}/tiles/zxy/`) && url.includes('edge=crop'))).toBe(true);
    expect(complaints).toEqual([]);
  });

  it('shows pixels as squares at a position that was pasted into the address', async () => {
    const id = itemId();
    await page.goto(`${testHost.url}/#item/${id}`);
    await until('the whole image is shown', async () => (await page.getByTestId('magnification').textContent())!.length > 0);
    const facts = (await admin.ok('GET', `/item/${id}/tiles`)) as unknown as ImageFacts;
    const { width } = await stageBox();
    // The view is in the tissue, because pixels of the background are like their neighbors at any size.
    await page.goto(`${testHost.url}/#item/${id}?at=${facts.sizeX * 0.55},${facts.sizeY * 0.5},${width / 3.6}`);
    await until('most pixels of the screen are like their neighbors', async () => {
      const share = await page.evaluate<number>(`(() => {
        const canvas = document.querySelector('.drawing .openseadragon-canvas canvas');
        const side = 200;
        const { data } = canvas.getContext('2d').getImageData((canvas.width - side) / 2, (canvas.height - side) / 2, side, side);
        let same = 0;
        for (let at = 4; at < data.length; at += 4)
          if ([0, 1, 2].every((channel) => data[at + channel] === data[at + channel - 4])) same += 1;
        return data[3] === 255 ? (same * 4) / data.length : 0;
      })()`);
      if (share > 0.5 && share < 0.99) return true;
      throw new Error(`${share} of them`);
    });
    expect(complaints).toEqual([]);
  });

  it('shows the same values of the pixel under the pointer as the API', async () => {
    const id = itemId();
    const { mm_x: mmX } = (await admin.ok('GET', `/item/${id}/tiles`)) as unknown as ImageFacts;
    const box = await stageBox();
    await page.mouse.move(box.x + box.width / 2 + 90, box.y + box.height / 2 - 70);
    const pixelBefore = await page.locator('.readout').getAttribute('data-pixel');
    const place = await until('the pixel is read', async () => {
      const position = await page.locator('.readout').getAttribute('data-pixel');
      return position !== pixelBefore || (await page.getByTestId('pixel').textContent()) !== '' ? position : null;
    });
    const [left, top] = place.split(',').map(Number) as [number, number];
    const { r, g, b } = await admin.ok('GET', `/item/${id}/tiles/pixel`, { query: { left, top } });
    expect(await page.getByTestId('pixel').textContent()).toContain(`R ${String(r)}  G ${String(g)}  B ${String(b)}`);
    const position = (await page.getByTestId('position').textContent())!.replaceAll('\u2009', '');
    expect(position).toContain(`${left}, ${top} px`);
    const [, micrometers] = /· ([\d.]+) µm/.exec(position)!;
    expect(Number(micrometers)).toBeCloseTo(left * mmX * 1000, 0);
    expect(complaints).toEqual([]);
  });

  it('draws a scale bar of the length in its label', async () => {
    const id = itemId();
    const facts = (await admin.ok('GET', `/item/${id}/tiles`)) as unknown as ImageFacts;
    expect(facts.mm_x).toBeCloseTo(0.0005, 5);
    await lookAt(id, { x: Math.floor(facts.sizeX / 2), y: Math.floor(facts.sizeY / 2) }, 1);
    // 150 screen pixels, the longest bar, are 75 µm here.
    await until('50 µm', async () => (await page.getByTestId('scale-bar').textContent()) === '50 µm');
    await until('the bar has its length', async () => {
      const { width } = (await page.locator('.scale-bar-line').boundingBox())!;
      return Math.abs(width - 0.05 / facts.mm_x) < 1;
    });
    await page.getByRole('button', { name: 'Zoom in' }).click();
    await until('20 µm', async () => (await page.getByTestId('scale-bar').textContent()) === '20 µm');
    await until('the address says where', () => /at=\d+,\d+,\d+/.test(page.url()));
  });

  it('shows the associated images', async () => {
    const names = (await admin.ok('GET', `/item/${itemId()}/tiles/images`)) as unknown as string[];
    const shown = page.locator('.associated-picture');
    expect(await shown.allInnerTexts()).toEqual(names);
    for (const name of names.slice(0, 1)) {
      await page.getByRole('button', { name: `Enlarge ${name}` }).click();
      await until('the picture is there', () =>
        page
          .getByRole('dialog')
          .locator('img')
          .evaluate<number, { naturalWidth: number }>((image) => image.naturalWidth),
      );
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.getByRole('link', { name: 'Kidney' }).click();
    await heading('Kidney Private');
    expect(complaints).toEqual([]);
  });

  it.skipIf(omeSample === null)(
    'moves through a stack with its sliders, mixes its channels, and keeps both in the address',
    async () => {
      await page.locator('input[type=file]').setInputFiles(omeSample!);
      await page.evaluate(`const start = window.setTimeout;
        window.times = new Set();
        window.setTimeout = (run, ms) => (times.add(ms), start(run, ms));`);
      await card(basename(omeSample!)).getByRole('link').first().click();
      await page.getByRole('slider', { name: 'Z' }).waitFor();
      await until('the middle plane is asked for', () => tileRequests.some((url) => url.includes('/tiles/fzxy/2/')));
      const blank = (await drawnColor(1, 1)).join();
      const { width, height } = await stageBox();
      await until('the first frame is drawn', async () => (await drawnColor(width / 2, height / 2)).join() !== blank);
      const first = await picture();
      await page.getByRole('slider', { name: 'Z' }).press('ArrowRight');
      await until('the next frame is asked for', () => tileRequests.some((url) => url.includes('/tiles/fzxy/3/')));
      const second = await untilPictureChanges('the picture has changed', first);
      await until('the next frame is fetched ahead', () => tileRequests.some((url) => url.includes('/tiles/fzxy/4/')));
      const channels = page.getByRole('list', { name: 'Channels' });
      expect(await page.getByRole('slider', { name: 'Channel', exact: true }).count()).toBe(0);
      await channels.getByRole('checkbox').first().uncheck();
      await until('the other channels are asked for', () =>
        tileRequests.some(
          (url) => /fzxy\/3\/.*style=/.test(url) && !url.includes('%22framedelta%22%3A0') && url.includes('%22framedelta%22%3A5'),
        ),
      );
      await until('the address names frame and channels', () => /frame=3&.*channels=1:/.test(page.url()));
      const drawn = await untilPictureChanges('the picture has changed again', second);
      // Tiles of other frames wait, including those of the overview, for which the library allows 30 s.
      const times = await page.evaluate<number[]>(`[...times]`);
      expect(times).toContain(2 ** 31 - 1);
      expect(times).not.toContain(30_000);
      await page.reload();
      await page.getByText('4 of 5').waitFor();
      expect(await channels.getByRole('checkbox').first().isChecked()).toBe(false);
      await until('the same picture is drawn again', async () => (await picture()) === drawn);
      await page.goBack();
      await heading('Kidney Private');
      expect(complaints).toEqual([]);
    },
  );

  it('shows an image of 16 bits by automatic contrast, by its sliders, and as the folder’s settings say', async () => {
    const name = 'dim.tif';
    const samples = Uint16Array.from({ length: 300 * 200 }, (_, at) => 100 + 2 * (at % 300));
    const raw = { width: 300, height: 200, channels: 1 } as const;
    const dim = sharp(samples, { raw }).toColourspace('grey16').tiff({ compression: 'lzw' });
    await writeFile(join(folder, name), await dim.toBuffer());
    const yaml = 'imageFramePresets:\n- name: Green\n  style: {bands: [{band: 1, palette: "#00ff00", min: 0, max: 200}]}\n';
    await admin.ok('PUT', `/folder/${folderId()}/yaml_config/.large_image_config.yaml`, { body: yaml });
    await page.locator('input[type=file]').setInputFiles(join(folder, name));
    await card(name).getByRole('link').first().click();
    await page.getByRole('checkbox', { name: 'Intensity' }).waitFor();
    const { width, height } = await stageBox();
    const middle = () => drawnColor(width / 2, height / 2);
    await until('the middle is gray', async () => {
      const [r = 0, g = 0, b = 0] = await middle();
      if (Math.abs(r - 128) < 12 && r === g && g === b) return true;
      throw new Error(`${r},${g},${b}`);
    });
    // Running requests of a style are canceled when another style replaces it.
    const isOldStyle = (url: URL) => url.pathname.includes('/tiles/') && decodeURIComponent(url.search).includes('"max":240');
    await page.route(isOldStyle, () => undefined);
    const sentRequest = page.waitForRequest((request) => isOldStyle(new URL(request.url())));
    await page.getByLabel('Maximum of Intensity').fill('240');
    const givenUp = page.waitForEvent('requestfailed', (request) => isOldStyle(new URL(request.url())));
    await sentRequest;
    await page.getByLabel('Maximum of Intensity').fill('250');
    await givenUp;
    await page.unroute(isOldStyle);
    await until('all above the maximum is white', async () => (await middle()).join() === '255,255,255,255');
    // By the keyboard: automatic contrast, then the preset after it.
    await page.getByLabel('Presets').press('ArrowDown');
    await page.getByLabel('Presets').press('ArrowDown');
    await until('the preset is shown', async () => {
      // Tiles are JPEG, which preserves only gray exactly.
      const [r = 0, g = 0, b = 0] = await middle();
      if (r < 8 && g > 247 && b < 8) return true;
      throw new Error(`${r},${g},${b}`);
    });
    await until('the address says so', () => page.url().includes('channels=0:00ff00:0~200'));
    await page.getByLabel('Presets').selectOption('Automatic contrast');
    await until('the contrast is automatic again', async () => (await middle())[1]! < 200);
    const [least, most] = [page.getByLabel('Min Intensity'), page.getByLabel('Max Intensity')];
    await most.fill('60000');
    await most.press('Enter');
    await until('a sample beyond the slider is taken', () => page.url().includes('channels=0:00ff00:~60000'));
    await most.fill('200');
    await least.fill('300');
    await least.press('Enter');
    await until('the minimum stops at the maximum', () => page.url().includes('channels=0:00ff00:200~200'));
    const automatic = page.getByRole('button', { name: 'Automatic contrast of Intensity' });
    await automatic.press('Enter');
    await until('it is automatic by the keyboard, too', () => /channels=0:00ff00(&|$)/.test(page.url()));
    expect(await automatic.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
    await page.evaluate(`location.replace('#item/${itemId()}?channels=garbage')`);
    await until('the address no longer says what names no channel', () => !page.url().includes('garbage'));
    expect(await page.getByRole('checkbox', { name: 'Intensity' }).isChecked()).toBe(true);
    await page.goBack();
    await heading('Kidney Private');
    await card(name).locator('img.loaded').waitFor();
    // Without contrast its lightest pixel is 2 of 255.
    const lightest = await page.evaluate<number>(`(() => {
      const image = [...document.querySelectorAll('.card')].find((each) => each.textContent.includes('${name}')).querySelector('img');
      const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
      canvas.getContext('2d').drawImage(image, 0, 0);
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.reduce((most, value, at) => (at % 4 === 0 ? Math.max(most, value) : most), 0);
    })()`);
    expect(lightest).toBeGreaterThan(200);
    expect(complaints).toEqual([]);
  });

  it('shows histograms of fractions, and of samples that are all equal, with their automatic maximum', async () => {
    const name = 'fractions.tif';
    const flat = 'flat.tif';
    const fractions = Float32Array.from({ length: 100 * 100 }, (_, at) => (at % 100) / 1000);
    const numbers = { 256: 100, 257: 100, 259: 1, 262: 1, 277: 1, 278: 100, 258: 32, 339: 3 };
    const tags = Object.fromEntries(Object.entries(numbers).map(([tag, value]) => [tag, { short: [value] }]));
    await writeFile(join(folder, name), writeTiff([{ tags, chunks: [Buffer.from(fractions.buffer)] }]));
    await writeFile(join(folder, flat), writeTiff([{ tags, chunks: [Buffer.from(fractions.fill(0.25).buffer)] }]));
    await page.locator('input[type=file]').setInputFiles([name, flat].map((file) => join(folder, file)));
    await card(flat).getByRole('link').first().click();
    const [least, most] = [page.getByLabel('Min Intensity'), page.getByLabel('Max Intensity')];
    await until('the maximum is twice the value', async () => (await most.inputValue()) === '0.5');
    await most.fill('0.4');
    await most.press('Enter');
    const { width, height } = await stageBox();
    await until('the minimum is as automatic as before, in the picture too', async () => {
      const [r = 0] = await drawnColor(width / 2, height / 2);
      return (await least.inputValue()) === '0' && Math.abs(r - (255 * 0.25) / 0.4) < 4;
    });
    await page.goBack();
    await card(name).getByRole('link').first().click();
    await until('the maximum is told', async () => {
      const most = Number(await page.getByLabel('Max Intensity').inputValue());
      return most > 0.098 && most < 0.1;
    });
    const curve = (await page.locator('.histogram path').getAttribute('d'))!;
    expect(curve.split('L').filter((step) => !/^\d+ 48\.0/.test(step)).length).toBeGreaterThan(90);
    await page.goBack();
    await heading('Kidney Private');
    expect(complaints).toEqual([]);
  });

  it('makes a color image brighter, and keeps that in the address', async () => {
    await card(basename(slide)).getByRole('link').first().click();
    await page.locator('summary', { hasText: 'Brightness and contrast' }).click();
    await page.getByRole('slider', { name: 'Brightness' }).fill('150');
    const filter = () =>
      page
        .locator('.drawing .openseadragon-canvas canvas')
        .first()
        .evaluate<string, { style: { filter: string } }>(({ style }) => style.filter);
    await until('the picture is brighter', async () => (await filter()).includes('brightness(150%)'));
    await until('the address says so', () => page.url().includes('light=150,100'));
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy link to this view' }).click();
    const notice = page.getByText('Link copied.');
    await notice.waitFor();
    // The message is visible, not only announced by screen readers.
    expect((await notice.boundingBox())!.height).toBeGreaterThan(15);
    await until('the link is copied', async () => (await page.evaluate<string>(`navigator.clipboard.readText()`)) === page.url());
    await page.getByRole('button', { name: 'As in the file' }).click();
    expect(await filter()).toContain('brightness(100%)');
    await page.goBack();
    await heading('Kidney Private');
    expect(complaints).toEqual([]);
  });

  it('can be used with the keyboard alone', async () => {
    await lookAt(await idOf(basename(slide)), { x: 1000, y: 700 }, 2);
    await page.locator('.openseadragon-canvas').first().focus();
    const before = page.url();
    await page.keyboard.press('ArrowRight');
    await until('the view has moved', () => page.url() !== before);
    await page.getByTestId('position').waitFor();
    expect(complaints).toEqual([]);
  });

  it('hides private content after signing out, and returns to it after signing in', async () => {
    const id = itemId();
    // Requests that were sent before and answered after would be refused, and the browser would report it.
    await until('nothing is being loaded', () => pending === 0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Nothing public here yet').waitFor();
    expect(complaints).toEqual([]);
    await page.goto(`${testHost.url}/#item/${id}`);
    await page.getByRole('alert').getByText('Sign in to view this. It is not public.').waitFor();
    expect(await page.locator('.stage').count()).toBe(0);
    expect(complaints).toEqual([expect.stringContaining('401')]);
    await page.locator('main').getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Login or email').fill('anna@example.org');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('Login failed.').waitFor();
    await page.getByLabel('Password').fill('anna.password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByTestId('scale-bar').waitFor();
    expect(itemId()).toBe(id);
    admin = await clientOfPage();
  });

  it('keeps the content of a dialog when the session ends, and continues after signing in on another tab', async () => {
    const id = itemId();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Description').fill('Written before the end');
    await admin.ok('DELETE', '/user/authentication');
    await until('the page has found out', () => page.evaluate<boolean>('localStorage.length === 0'));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    const tab = page.context().waitForEvent('page');
    await page.getByRole('link', { name: 'Open another tab to sign in' }).click();
    const other = await tab;
    await other.getByLabel('Login or email').fill('anna');
    await other.getByLabel('Password').fill('anna.password');
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('heading', { name: 'Collections' }).waitFor();
    await other.close();
    await until('this tab is signed in', () => page.evaluate<boolean>('localStorage.length > 0'));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    admin = await clientOfPage();
    expect((await admin.ok('GET', `/item/${id}`)).description).toBe('Written before the end');
    await page.getByTestId('scale-bar').waitFor();
  });

  it('says that the session has ended, and continues after signing in again', async () => {
    const id = itemId();
    // This is read before, because the page may notice on its own, and then the image is gone.
    const { x, y, width, height } = await stageBox();
    await admin.ok('DELETE', '/user/authentication');
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.move(x + width / 2 + 5, y + height / 2);
    await heading('Your session has ended');
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    await page.locator('main').getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Login or email').fill('anna@example.org');
    await page.getByLabel('Password').fill('anna.password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByTestId('scale-bar').waitFor();
    expect(itemId()).toBe(id);
    admin = await clientOfPage();
  });

  it('shows public content without sign-in, and no buttons that would fail', async () => {
    const collection = await admin.create('/collection', { name: 'Open slides', public: true });
    await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'For all' });
    const context = await browser.newContext();
    try {
      const visitor = await context.newPage();
      await visitor.goto(`${testHost.url}/`);
      await visitor.getByRole('link', { name: 'Open slides' }).click();
      await visitor.getByRole('link', { name: 'For all' }).click();
      await visitor.getByText('No items in this folder').waitFor();
      expect(await visitor.getByRole('button').count()).toBe(0);
      expect(await visitor.locator('input[type=file]').count()).toBe(0);
    } finally {
      await context.close();
    }
  });

  /** A client that sends requests as the user who is signed in on the page. */
  async function clientOfPage(): Promise<Client> {
    return new Client(testHost.url, await page.evaluate<string>(`localStorage.getItem('token /api/v1')`), null);
  }

  /** Id of the item of this name in the folder of the tests. */
  async function idOf(name: string): Promise<string> {
    const folders = await admin.ok('GET', '/folder', { query: { text: 'Kidney' } });
    const parent = page.url().includes('#folder/') ? folderId() : String((folders[0] as { _id: string })._id);
    const items = await admin.ok('GET', '/item', { query: { folderId: parent, name } });
    return (items[0] as { _id: string })._id;
  }

  it('says that administrators create accounts when registration is closed', async () => {
    const key = 'core.registration_policy';
    await admin.ok('PUT', '/system/setting', { form: { key, value: 'closed' } });
    const visitor = await (await browser.newContext()).newPage();
    await visitor.goto(`${testHost.url}/#register`);
    await visitor.getByText('Only administrators can create accounts here').waitFor();
    expect(await visitor.getByLabel('Login').count()).toBe(0);
    await visitor.locator('main').getByRole('link', { name: 'Sign in' }).click();
    await visitor.getByLabel('Login or email').waitFor();
    expect(await visitor.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
    await visitor.context().close();
    await admin.ok('DELETE', '/system/setting', { query: { key } });
  });
});

/** The part of a progress element that is read. The types of the DOM are only in the page's own type check. */
interface HTMLProgressElementLike {
  value: number;
  max: number;
}
