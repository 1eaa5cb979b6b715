import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeSyntheticSlide } from '../../../src/reference-host/synthetic-slide/slide.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { areOverlapping, type Box, colorsAt, inkOf, signIn, stageOf, watchInk } from '../../support/pages/stage.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the first slide in pixels of half a micrometer. The second slide has half as many pixels, twice as large. */
const size = 2048;

describe.skipIf(executablePath === null)('images that are rotated, compared, and changed by others', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let slide: string;
  let other: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'viewer-together-'));
    const path = join(folder, 'slide.tiff');
    await makeSyntheticSlide(path, { size });
    testHost = await startHost();
    admin = await testHost.register('anna');
    const folderId = await newFolder(admin, 'Slides', true);
    const parent = await testHost.host.context.models.folder.findById(folderId).lean();
    const { item } = await testHost.host.registerFileInPlace({ path, folder: parent!, itemName: 'slide', creatorId: null });
    slide = item._id.toHexString();
    const tiles = { tile: true, pyramid: true, tileWidth: 256, tileHeight: 256, xres: 1000, yres: 1000 };
    const background = { r: 220, g: 190, b: 210 };
    const bytes = await sharp({ create: { width: size / 2, height: size / 2, channels: 3, background } })
      .tiff(tiles)
      .toBuffer();
    other = await uploadItem(admin, folderId, 'other.tiff', bytes);
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 }, reducedMotion: 'reduce' })).newPage();
    await watchInk(page);
    page.setDefaultTimeout(300_000);
    await signIn(page, testHost.url, 'anna');
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const annotate = (name: string, elements: object[]) =>
    admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name, elements } });
  const row = (name: string) => page.locator('.annotation').filter({ hasText: name });
  const box = { type: 'rectangle', width: 60, height: 40, rotation: 0, fillColor: '#ff0000' };
  const part = (name: string) => new URLSearchParams(page.url().split('?')[1]).get(name);
  const open = async (query: string) => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${slide}${query}`);
    await page.getByRole('list', { name: 'Annotations' }).first().waitFor();
  };

  it('rotates the image and everything on it, by button, key and address', async () => {
    const { _id: id } = await annotate('Right', [{ ...box, center: [size / 2 + 250, size / 2, 0], label: { value: 'beside' } }]);
    await open('');
    const { width } = (await page.locator('.stage').boundingBox())!;
    await open(`?at=${size / 2},${size / 2},${width}`);
    const card = page.getByRole('region', { name: 'Shape' });
    const waitForShapeAt = async (x: number, y: number) => {
      await until('it is drawn', async () => (await inkOf(page)) > 0);
      await until(`the shape is at ${x}, ${y}`, async () => {
        await page.keyboard.press('Escape');
        await stageOf(page).click(x, y);
        return (await card.isVisible()) && (await card.innerText()).includes('beside');
      });
    };
    await waitForShapeAt(250, 0);
    await page.getByRole('button', { name: 'Rotate by 90°' }).click();
    await until('the address says so', () => part('rotation') === '90');
    await waitForShapeAt(0, 250);
    await page.locator('.openseadragon-canvas').first().focus();
    await page.keyboard.press('r');
    await until('the address says so', () => part('rotation') === '180');
    await waitForShapeAt(-250, 0);
    await open(`?at=${size / 2},${size / 2},${width}&rotation=270`);
    await waitForShapeAt(0, -250);
    await until('it is drawn there', async () => {
      const [[red, green] = []] = await colorsAt(page, [[0, -250]]);
      return red === 255 && green === 0;
    });
    await admin.ok('DELETE', `/annotation/${String(id)}`);
    // A rotated image without a position is fully visible, and stays so when the stage gets smaller.
    const scale = () => page.getByTitle('Magnification on screen').innerText();
    await open('?rotation=45');
    const fittedScale = await scale();
    await open('');
    expect(Number.parseFloat(fittedScale) / Number.parseFloat(await scale())).toBeCloseTo(Math.SQRT1_2, 1);
    await open('?rotation=45');
    await page.setViewportSize({ width: 900, height: 500 });
    await until('it is smaller', async () => (await scale()) !== fittedScale);
    expect(part('at')).toBe(null);
    await page.setViewportSize({ width: 1280, height: 850 });
    await until('it is as large as before', async () => (await scale()) === fittedScale);
  });

  it('moves two images together according to their scales, or one alone while the lock is off, and keeps their positions in the address', async () => {
    await open(`?at=1000,1000,800`);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'other.tiff' }).click();
    const second = page.getByRole('region', { name: 'Second image' });
    await until('it is in the address', () => part('with') === other);
    const at = () => (part('at') ?? '').split(',').map(Number);
    /** The pixel of the second image in the middle of its stage. */
    const middle = async () => {
      const { x, y, width, height } = (await second.boundingBox())!;
      await page.mouse.move(x + width / 2 + 1, y + height / 2 + 1);
      await page.mouse.move(x + width / 2, y + height / 2);
      const text = await second.getByTestId('position').textContent();
      return (/^([\d\u2009]+), ([\d\u2009]+) px/.exec(text ?? '') ?? [])
        .slice(1)
        .map((digits) => Number(digits.replace(/\D/g, '')));
    };
    const waitForMiddle = (expected: () => number[]) =>
      until('the second shows the place', async () => {
        const [actual, target] = [await middle(), expected()];
        if (actual.length === 2 && actual.every((value, index) => Math.abs(value - target[index]!) < 3)) return true;
        throw new Error(`${actual.join()} instead of ${target.join()}`);
      });
    const drag = async (of: number, across: number) => {
      const { x, y, width, height } = (await page.locator('.stages > .stage').nth(of).boundingBox())!;
      await page.mouse.move(x + width / 2, y + height / 2);
      await page.mouse.down();
      for (let step = 1; step <= 4; step += 1) await page.mouse.move(x + width / 2 + (across * step) / 4, y + height / 2);
      await page.mouse.up();
    };
    /** The view rests when the address stays the same for some frames. */
    const untilAtRest = async () => {
      let last = '';
      await until('the view rests', async () => {
        const before = last;
        last = page.url();
        await page.evaluate(`new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`);
        return last === before;
      });
    };
    const centerInSecond = () =>
      at()
        .slice(0, 2)
        .map((value) => value / 2);
    await waitForMiddle(centerInSecond);
    // The overview has become smaller.
    const centerOf = async (name: string) => {
      const { x, y, width, height } = (await page.locator(`.navigator ${name}`).first().boundingBox())!;
      return [x + width / 2, y + height / 2];
    };
    const [centerOfCanvas, centerOfRegion] = [await centerOf('canvas'), await centerOf('.displayregion')];
    centerOfRegion.forEach((value, axis) => expect(Math.abs(value - centerOfCanvas[axis]!)).toBeLessThan(6));
    await drag(0, 80);
    await until('the first has moved', () => at()[0]! < 950);
    await waitForMiddle(centerInSecond);
    await page.getByRole('button', { name: 'Move both together (Alt: only one)' }).click();
    await untilAtRest();
    const before = at();
    await drag(1, -100);
    await until('the second is elsewhere', () => part('offset') !== null);
    await untilAtRest();
    expect(at()).toEqual(before);
    const shift = Number(part('offset')!.split(',')[0]);
    expect(shift).toBeGreaterThan(20);
    // Micrometers are pixels of the second image.
    const shifted = () => [centerInSecond()[0]! + shift, centerInSecond()[1]!];
    await waitForMiddle(shifted);
    await page.getByRole('button', { name: 'Move both together (Alt: only one)' }).click();
    await drag(0, 60);
    await until('the first has moved', () => at()[0] !== before[0]);
    await waitForMiddle(shifted);
    await page.reload();
    await second.getByTestId('scale-bar').waitFor();
    await waitForMiddle(shifted);
    await page.getByRole('button', { name: 'Compare' }).click();
    await second.waitFor({ state: 'detached' });
    await until('the address forgets it', () => part('with') === null);
  });

  it('ignores impossible positions, brightness and offsets in the address', async () => {
    for (const [name, value] of [
      ['at', '1e300,0,100'],
      ['at', '0,0,1e300'],
      ['at', '-5000,-5000,10'],
      ['light', '999,0'],
      ['offset', '0,0,1e-300,0'],
      ['offset', '1e300,0,1,0'],
    ] as const) {
      await open(`?rotation=45.7&${name}=${value}&with=${other}`);
      await until(`${name}=${value} is gone`, () => part(name) !== value);
      expect(part(name)).toBe(null);
      expect(part('rotation')).toBe('45.7');
    }
  });

  it('retries parts of the image that failed to load when the user asks for it', async () => {
    await open('');
    const alert = page.getByRole('alert').filter({ hasText: 'Some parts of the image could not be loaded.' });
    const cut = { status: 404, json: { message: 'The file is cut off.' } };
    // The coarsest tile can still be loaded.
    await page.route('**/tiles/zxy/**', (route) =>
      route.request().url().includes('/zxy/0/0/0') ? route.continue() : route.fulfill(cut),
    );
    await page.getByRole('button', { name: 'Zoom in' }).click({ clickCount: 3 });
    await alert.getByText('The file is cut off.').waitFor();
    await page.unroute('**/tiles/zxy/**');
    const again = page.waitForResponse((response) => response.url().includes('/tiles/zxy/') && response.ok());
    await alert.getByRole('button', { name: 'Try again' }).click();
    await again;
    await alert.waitFor({ state: 'hidden' });
  });

  it.each([
    { width: 390, query: '' },
    { width: 390, query: '', height: 560 },
    { width: 390, query: 'with' },
    { width: 950, query: '' },
    { width: 1280, query: 'with' },
  ])('has no overlapping elements at $width pixels $query', async ({ width, query, height = 850 }) => {
    const { _id: id } = await annotate('Crowded', [{ ...box, center: [size / 2, size / 2, 0], width: size / 4 }]);
    await page.setViewportSize({ width, height });
    try {
      await open(query === '' ? '' : `?with=${other}`);
      const pencil = page.getByRole('button', { name: 'Edit Crowded' }).first();
      await pencil.click();
      await page.locator('.stage').first().scrollIntoViewIfNeeded();
      const card = page.getByRole('region', { name: 'Shape' });
      await until('the shape is selected', async () => {
        await stageOf(page).click(0, 0);
        return card.isVisible();
      });
      const names = ['.stage-buttons', '.navigator', '.annotation-tools', '.shape-card', '.scale-row', '.readout', '.side-panel'];
      // Measures all at the same moment, because the width of the scale may still be changing.
      const measure = 'names.map((name) => ({ name, at: document.querySelector(name)?.getBoundingClientRect().toJSON() }))';
      type Found = { name: string; at?: Box };
      const places = await page.evaluate<Found[]>(`{ const names = ${JSON.stringify(names)}; ${measure} }`);
      const covers = places.flatMap(({ name, at }, index) =>
        places.slice(index + 1).flatMap((next) => (at && next.at && areOverlapping(at, next.at) ? [`${name} ${next.name}`] : [])),
      );
      expect(covers).toEqual([]);
    } finally {
      await page.setViewportSize({ width: 1280, height: 850 });
      await admin.ok('DELETE', `/annotation/${String(id)}`);
    }
  });

  it('shows the image chosen for comparison even if it has nothing at the visible position', async () => {
    const far = await uploadItem(
      admin,
      (await admin.ok('GET', `/item/${slide}`)).folderId as string,
      'small.tiff',
      await sharp({ create: { width: 300, height: 200, channels: 3, background: '#336699' } })
        .tiff({ tile: true, tileWidth: 256, tileHeight: 256, xres: 1000, yres: 1000 })
        .toBuffer(),
    );
    await open('?at=1900,1900,200');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'small.tiff' }).click();
    await until('it is in the address', () => part('with') === far && part('offset') !== null);
    // In micrometers: both centers are at the same place. The view showed no part of the second image, so it now shows all of the
    // first one.
    expect(
      part('offset')!
        .split(',')
        .map((value) => Math.round(Number(value))),
    ).toEqual([150 - size / 4, 100 - size / 4, 1, 0]);
    await until('the whole first image is seen', () => part('at') === null);
    await page.getByRole('button', { name: 'Compare' }).click();
    await until('it is closed', () => part('with') === null);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'other.tiff' }).click();
    // The offset of another image does not apply to this one.
    await until('the other is in the address', () => part('with') === other);
    expect(part('offset')).toBe(null);
    await open('');
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'small.tiff' }).click();
    await until('both are centered on each other', () => part('with') === far && part('offset') !== null);
    const centered = part('offset');
    // The same is true for a view of a part that both images cover.
    await open(`?at=${size / 2 + 20},${size / 2 + 10},200`);
    await page.getByRole('button', { name: 'Compare' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'small.tiff' }).click();
    await until('both are centered again', () => part('with') === far && part('offset') === centered);
    expect(part('at')).not.toBe(null);
    await admin.ok('DELETE', `/item/${far}`);
  });

  it('stops opening the second image when the address has none, or when another one is chosen', async () => {
    const bytes = await sharp({ create: { width: 300, height: 200, channels: 3, background: '#336699' } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256 })
      .toBuffer();
    const slow = await uploadItem(admin, (await admin.ok('GET', `/item/${slide}`)).folderId as string, 'slow.tiff', bytes);
    const second = page.getByRole('region', { name: 'Second image' });
    const choose = async (name: string) => {
      await page.getByRole('button', { name: 'Compare' }).click();
      await page.getByRole('dialog').getByRole('button', { name }).click();
    };
    // It is being opened until the test ends, because it gets no answer.
    await page.route(`**/item/${slow}/tiles/item`, () => undefined);
    try {
      await open('');
      await choose('slow.tiff');
      await second.waitFor();
      await page.evaluate(`location.hash = '#item/${slide}?light=10,0'`);
      await second.waitFor({ state: 'detached' });
      await choose('slow.tiff');
      await second.waitFor();
      await choose('other.tiff');
      await until('the other is in the address', () => part('with') === other);
      await second.getByTestId('scale-bar').waitFor();
      expect(await second.count()).toBe(1);
    } finally {
      await page.unroute(`**/item/${slow}/tiles/item`);
      await admin.ok('DELETE', `/item/${slow}`);
    }
  });

  it("shows others' changes automatically, even after an outage, and keeps unsaved ones", async () => {
    const [first, second] = [1, 2].map((place) => ({ ...box, center: [300 * place, 300, 0] }));
    await open('');
    await page.getByText('No annotations yet.').waitFor();
    const path = `/annotation/${String((await annotate('Theirs', [first!]))._id)}`;
    await row('Theirs').locator('.annotation-row').getByText('1', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Edit Theirs' }).click();
    await page.getByRole('button', { name: 'Point', exact: true }).click();
    await stageOf(page).click(0, 0);
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await admin.ok('PATCH', `${path}/elements`, { json: { put: [second!], remove: [] } });
    await annotate('More', []);
    await page.context().setOffline(false);
    await row('Theirs').locator('.annotation-row').getByText('2', { exact: true }).waitFor();
    await row('More').waitFor();
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    await admin.ok('DELETE', path);
    await page.getByTestId('annotation-message').getByText('Somebody else has deleted “Theirs”').waitFor();
    await page.getByRole('button', { name: 'Restore it' }).click();
    await until('it is back', async () => (await admin.ok('GET', '/annotation', { query: { itemId: slide } })).length === 2);
    await until('the change is saved', async () => {
      const save = page.getByRole('button', { name: 'Save', exact: true });
      if (await save.isEnabled()) await save.click();
      return (await admin.ok('GET', path))._elementCount === 3;
    });
    await page.getByText('All changes are saved.').waitFor();
  });

  it('says that an image was deleted', async () => {
    const folderId = (await admin.ok('GET', `/item/${slide}`)).folderId as string;
    const doomed = await uploadItem(
      admin,
      folderId,
      'doomed.png',
      await sharp({ create: { width: 300, height: 200, channels: 3, background: '#336699' } })
        .png()
        .toBuffer(),
    );
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${doomed}`);
    await page.getByText('No annotations yet.').waitFor();
    await admin.ok('DELETE', `/item/${doomed}`);
    await page.getByRole('alert').getByText('Not found').waitFor();
    expect(await page.locator('.stage').count()).toBe(0);
  });

  it('shows without a reload what others rename, also in search results', async () => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${slide}`);
    await page.getByTestId('scale-bar').waitFor();
    await page.locator('.stage').evaluate((stage) => stage.setAttribute('data-kept', 'yes'));
    const finder = await page.context().newPage();
    await finder.goto(`${testHost.url}/#search?q=rena`);
    await finder.getByText('Nothing found for “rena”').waitFor();
    await admin.ok('PUT', `/item/${slide}`, { query: { name: 'renamed.tiff' } });
    await admin.ok('PUT', `/item/${slide}/metadata`, { json: { stain: 'PAS' } });
    await page.locator('.side-panel').getByText('PAS').waitFor();
    await page.locator('.breadcrumbs').getByText('renamed.tiff').waitFor();
    expect(await page.title()).toContain('renamed.tiff');
    expect(await page.locator('.stage').getAttribute('data-kept')).toBe('yes');
    await finder.bringToFront();
    await finder.getByRole('link', { name: 'renamed.tiff' }).waitFor();
    // An unchanged item is not sent again.
    const address = `/item/${slide}`;
    await page.bringToFront();
    await until('the browser has been told that nothing has changed', () =>
      page.evaluate<boolean>(`performance.getEntriesByType('resource').some(({ name, transferSize, encodedBodySize }) =>
        name.endsWith('${address}') && transferSize > 0 && transferSize < encodedBodySize)`),
    );
    await finder.close();
    await admin.ok('PUT', `/item/${slide}/metadata`, { json: { stain: null } });
    await page.getByText('PAS').waitFor({ state: 'detached' });
    await admin.ok('PUT', `/item/${slide}`, { query: { name: 'slide' } });
  });

  it('shows the title of the current page, even if a request of the previous one is pending', async () => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${slide}`);
    await page.getByTestId('scale-bar').waitFor();
    let isHeld = false;
    await page.route(`**/item/${slide}`, () => void (isHeld = true));
    await until('the page asks for changes', () => isHeld);
    await page.evaluate(`location.hash = '#search'`);
    await page.getByRole('heading', { name: 'Search' }).waitFor();
    await page.unroute(`**/item/${slide}`);
    expect(await page.title()).toMatch(/^Search/);
  });

  it('keeps an error page unchanged until there is something else to show', async () => {
    const folderId = (await admin.ok('GET', `/item/${slide}`)).folderId as string;
    let requestCount = 0;
    await page.route('**/rootpath', (route) => {
      requestCount += 1;
      return route.fulfill({ status: 500, json: { message: 'Broken.' } });
    });
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#folder/${folderId}`);
    const heading = page.getByRole('heading', { name: 'This cannot be shown' });
    await heading.evaluate((element) => Object.assign(element, { kept: 'yes' }));
    await until('it was tried twice more', () => requestCount >= 3);
    expect(await heading.evaluate((element) => 'kept' in element)).toBe(true);
    await page.unroute('**/rootpath');
    await page.getByRole('heading', { name: 'Slides' }).waitFor();
  });

  it('shows refused content after signing in on another tab', async () => {
    const owner = await testHost.register('otto');
    const secret = await owner.create('/folder', { parentType: 'user', parentId: owner.id!, name: 'Secret', public: false });
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    try {
      const [refused, signing] = [await context.newPage(), await context.newPage()];
      await refused.goto(`${testHost.url}/#folder/${secret}`);
      await refused.getByRole('heading', { name: 'Please sign in' }).waitFor();
      await signing.goto(`${testHost.url}/#sign-in?back=folder/${secret}`);
      await signing.getByRole('heading', { name: 'Sign in' }).waitFor();
      await signIn(await context.newPage(), testHost.url, 'otto');
      for (const tab of [refused, signing]) await tab.getByRole('heading', { name: 'Secret' }).waitFor();
    } finally {
      await context.close();
    }
  });

  it('shows granted and withdrawn access without a reload', async () => {
    const berta = await testHost.register('berta');
    const { _id: id } = await annotate('Shared', []);
    const guest = await (await browser.newContext()).newPage();
    try {
      await signIn(guest, testHost.url, 'berta');
      await guest.goto(`${testHost.url}/#item/${slide}`);
      const shared = guest.locator('.annotation').filter({ hasText: 'Shared' });
      await shared.waitFor();
      const pencil = guest.getByRole('button', { name: 'Edit Shared' });
      expect(await pencil.count()).toBe(0);
      const setLevel = (level: number) => {
        const access = JSON.stringify({ users: [{ id: berta.id, level }], groups: [] });
        return admin.ok('PUT', `/annotation/${String(id)}/access`, { query: { access } });
      };
      await setLevel(1);
      await pencil.waitFor();
      await setLevel(0);
      await pencil.waitFor({ state: 'detached' });
      await shared.waitFor();
    } finally {
      await guest.context().close();
    }
  });
});
