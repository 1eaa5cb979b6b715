import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { violationsOf } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';
import { knownFiles } from '../../support/zarr/known-images.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('stacks in the page', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let browser: Browser;
  let page: Page;
  let item: string;
  let admin: Client;
  const requests: URL[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    const { bytes } = await knownFiles.find(({ file }) => file === 'image.ome.tif')!.make();
    item = await uploadItem(admin, await newFolder(admin, 'Stacks', true), 'stack.ome.tif', bytes);
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 } })).newPage();
    page.setDefaultTimeout(60_000);
    page.on('request', (request) => requests.push(new URL(request.url())));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const open = async (query = '') => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${item}${query}`);
    await page.getByLabel('Projection over z').waitFor();
  };
  /** Waits for a request of this kind with the parameters of a projection. */
  const waitForProjection = (path: string, zProject: string | null, from: number | null, to: number | null) => {
    const expected = [zProject, from, to].map((value) => value && `${value}`).join();
    const isRequested = ({ pathname, searchParams }: URL) =>
      pathname.includes(`/tiles/${path}`) &&
      ['zProject', 'zFrom', 'zTo'].map((name) => searchParams.get(name)).join() === expected;
    return until(`${path} of ${expected} is asked for`, () => requests.some(isRequested));
  };

  it('shows a projection of chosen planes, and keeps it in the address', async () => {
    await open();
    await page.getByLabel('Projection over z').selectOption('Maximum');
    await waitForProjection('fzxy', 'max', 0, 2);
    await waitForProjection('histogram', 'max', 0, 2);
    expect(await page.getByRole('slider', { name: 'Z', exact: true }).isVisible()).toBe(false);
    await page.getByLabel('First plane').fill('2');
    await page.getByLabel('First plane').press('Enter');
    await waitForProjection('fzxy', 'max', 1, 2);
    await until('the address names the projection', () => page.url().includes('project=max:1~2'));
    // If the last plane is set before the first one, the first one follows.
    await page.getByLabel('Last plane').fill('1');
    await page.getByLabel('Last plane').press('Enter');
    await until('both planes have moved', () => page.url().includes('project=max:0~0'));
    expect(await page.getByLabel('First plane').inputValue()).toBe('1');

    requests.length = 0;
    await open('?project=mean:1~2');
    await waitForProjection('fzxy', 'mean', 1, 2);
    expect(await page.getByLabel('Projection over z').inputValue()).toBe('mean');
    expect(await page.getByLabel('Last plane').inputValue()).toBe('3');
    await page.locator('.stage-drawing').hover();
    await waitForProjection('pixel', 'mean', 1, 2);

    await page.getByLabel('Projection over z').selectOption('None (single plane)');
    await until('the address names no projection', () => !page.url().includes('project='));
    await page.getByRole('slider', { name: 'Z', exact: true }).waitFor();
    requests.length = 0;
    await page.getByRole('slider', { name: 'Z', exact: true }).press('ArrowRight');
    await waitForProjection('fzxy', null, null, null);
  });

  it.each(['max:0~3', 'max:2~1', 'max:a~b', 'sum:0~1', ''])('shows one plane for the address project=%s', async (text) => {
    await open(`?project=${text}`);
    expect(await page.getByLabel('Projection over z').inputValue()).toBe('');
    expect(await page.getByRole('slider', { name: 'Z', exact: true }).isVisible()).toBe(true);
  });

  it('opens at the middle plane, and plays the planes until it is stopped', async () => {
    await open();
    const slider = page.getByRole('slider', { name: 'Z', exact: true });
    expect(await slider.inputValue()).toBe('1');
    expect(page.url()).not.toContain('frame=');
    const play = page.getByRole('button', { name: 'Play Z' });
    await play.click();
    for (const plane of ['2', '0', '1'])
      await until(`plane ${plane} is shown`, async () => (await slider.inputValue()) === plane);
    await play.click();
    expect(await play.getAttribute('aria-pressed')).toBe('false');
    await slider.fill('0');
    await until('the address names the first frame', () => page.url().includes('frame=0'));
    await open('?frame=0');
    expect(await slider.inputValue()).toBe('0');
  });

  it('reports no error when the image is left before the overview has followed', async () => {
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await open();
    // The overview follows a millisecond later. This test delays it.
    await page.evaluate(`(() => {
      const { setTimeout } = window;
      window.late = 0;
      window.setTimeout = (call, delay, ...rest) => {
        if (delay !== 1) return setTimeout(call, delay, ...rest);
        window.late += 1;
        return setTimeout(() => { window.late -= 1; call(...rest); }, 3000);
      };
    })()`);
    const delayedCount = () => page.evaluate<number>('late');
    await page.getByRole('slider', { name: 'Z', exact: true }).fill('2');
    await until('the overview is to follow', async () => (await delayedCount()) > 0);
    await page.evaluate(`location.hash = '#'`);
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await until('the time has passed', async () => (await delayedCount()) === 0);
    expect(errors).toEqual([]);
  });

  it('shows one channel alone with one click, and all of them with another', async () => {
    await open();
    const only = page.getByRole('button', { name: /^Show only/ }).first();
    await only.click();
    await until('one channel is on', () => /channels=0:[0-9a-f]{6}(&|$)/.test(page.url()));
    expect(await page.getByRole('list', { name: 'Channels' }).getByRole('checkbox', { checked: true }).count()).toBe(1);
    await only.click();
    await until('all channels are on', () => !page.url().includes('channels='));
  });

  it('saves the channels as a preset of the item for those who may write, and offers it', async () => {
    await open();
    expect(await page.getByRole('button', { name: 'Save as preset' }).count()).toBe(0);
    await page.evaluate(`localStorage.setItem('token /api/v1', '${admin.token}')`);
    await open('?channels=1:ff00ff:10~200');
    await page.getByRole('button', { name: 'Save as preset' }).click();
    await page.getByLabel('Name').fill('Only <b>magenta</b>');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await open();
    await page.getByLabel('Presets').selectOption('Only <b>magenta</b>');
    await until('the preset is applied', () => page.url().includes('channels=1:ff00ff:10~200'));
  });

  it('saves the channels as a preset of the folder, which its other images offer', async () => {
    await open('?channels=0:00ffff:5~100');
    for (const name of ['First', 'Of the folder', 'First']) {
      await page.getByRole('button', { name: 'Save as preset' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByLabel('For').selectOption('All images in this folder and its subfolders');
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    const { folderId } = await admin.ok('GET', `/item/${item}`);
    const { bytes } = await knownFiles.find(({ file }) => file === 'image.ome.tif')!.make();
    const below = await admin.create('/folder', {
      parentType: 'folder',
      parentId: String(folderId),
      name: 'Below',
      public: true,
    });
    const other = await uploadItem(admin, below, 'other.ome.tif', bytes);
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${other}`);
    const presets = page.getByLabel('Presets');
    await presets.selectOption('Of the folder');
    await until('the preset is applied', () => page.url().includes('channels=0:00ffff:5~100'));
    expect((await presets.locator('option').allTextContents()).filter((name) => name === 'First')).toEqual(['First']);
  });

  it('saves the samples of the view, of all channels or the visible ones', async () => {
    await open('?frame=8&channels=1:ff0000');
    const saved = async (button: string) => {
      await page.getByRole('button', { name: 'Save this view' }).click();
      await page.getByText('Full resolution, without annotations').click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
      expect(download.suggestedFilename()).toBe('stack_region_0_0.ome.tif');
      const { searchParams } = requests.findLast(({ pathname }) => pathname.endsWith('/tiles/region'))!;
      return ['encoding', 'frame', 'frameList', 'style'].map((name) => searchParams.get(name));
    };
    expect(await saved('OME-TIFF, all channels')).toEqual(['OMETIFF', '8', null, null]);
    expect(await saved('OME-TIFF, visible channels')).toEqual(['OMETIFF', '8', '9', null]);
  });

  it('shows composites of channels in lists', async () => {
    requests.length = 0;
    const { folderId } = await admin.ok('GET', `/item/${item}`);
    await page.goto(`${testHost.url}/#folder/${String(folderId)}`);
    await page.locator('.card img.loaded').waitFor();
    const thumbnail = requests.find(({ pathname }) => pathname.endsWith('/tiles/thumbnail'));
    expect(thumbnail?.searchParams.get('composite')).toBe('true');
  });

  it('has no violations that axe finds', async () => {
    await open('?project=min:0~2');
    expect(await violationsOf(page)).toEqual([]);
  });
});
