import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as zarrita from 'zarrita';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { pattern } from '../../support/images/pattern.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { keepToken } from '../../support/pages/stage.js';
import type { ReadStore } from '../../support/pages/read-store.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const executablePath = chromiumPath();

const reader = fileURLToPath(new URL('../../support/pages/read-store.ts', import.meta.url));

describe.skipIf(executablePath === null)('opening an image in other programs', () => {
  const [width, height] = [700, 450];
  let started: TestHost;
  let admin: Client;
  let item: string;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('anna');
    const folder = await newFolder(admin, 'Private');
    const tiff = await sharp(pattern(width, height, 3), { raw: { width, height, channels: 3 } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, compression: 'deflate', xres: 1000, yres: 1000 })
      .toBuffer();
    item = await uploadItem(admin, folder, 'A slide (1).tif', tiff);
    browser = await launchChromium(executablePath!);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    await keepToken(context, admin.token);
    page = await context.newPage();
    page.setDefaultTimeout(25_000);
  });
  afterAll(async () => {
    await browser?.close();
    await started?.close();
  });

  /** Makes a link on the page. @returns the address that is shown for a program */
  async function addressFor(program: string): Promise<string> {
    await page.goto('about:blank');
    await page.goto(`${started.url}/#item/${item}`);
    await page.getByRole('button', { name: 'Open in…' }).click();
    await page.getByRole('button', { name: 'Create a link' }).click();
    const lines = page.getByTestId('open-in-lines');
    const text = await lines
      .locator('div', { has: page.getByRole('heading', { name: program, exact: true }) })
      .locator('pre')
      .first()
      .innerText();
    return /https?:\/\/[^"\s]+/.exec(text)![0];
  }

  it('shows a link that opens the image until it is revoked', async () => {
    const address = await addressFor('Python');
    expect(address).toMatch(/\/zarr\/t\/[\w-]{43}\/A_slide_1_.tif\.ome\.zarr$/);
    expect((await fetch(`${address}/zarr.json`)).status).toBe(200);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: /^Revoke the link/ }).click();
    await dialog.getByText('The link no longer works.').waitFor();
    await dialog.getByText('There are no links to this image yet.').waitFor();
    expect((await fetch(`${address}/zarr.json`)).status).toBe(401);
  });

  it('offers DICOMweb when the pixel size is known', async () => {
    const address = await addressFor('DICOMweb');
    const studies = await fetch(`${address}/studies`, { headers: { Accept: 'application/dicom+json' } });
    expect(await studies.json()).toHaveLength(1);
  });

  it.each(['Python', 'QuPath'])(
    'lets zarrita and Viv on pages of other origins read it, at the address for %s',
    async (program) => {
      const address = await addressFor(program);
      const bundled = await build({
        entryPoints: [reader],
        bundle: true,
        write: false,
        format: 'iife',
        target: 'es2022',
        loader: { '.wasm': 'binary' },
      });
      const other = await browser.newPage();
      try {
        await other.setContent('<title>viewer</title>');
        await other.addScriptTag({ content: bundled.outputFiles[0]!.text });
        const read = await other.evaluate(
          (url) => (globalThis as unknown as { readStore(url: string): Promise<ReadStore> }).readStore(url),
          address,
        );
        const group = await zarrita.open(new zarrita.FetchStore(address), { kind: 'group' });
        const array = await zarrita.open(group.resolve('1'), { kind: 'array' });
        const { data } = await zarrita.get(array, [1, zarrita.slice(0, 4), zarrita.slice(0, 256)]);
        expect(read.zarrita).toEqual([...(data as Uint8Array)]);
        expect(read.viv).toEqual(read.zarrita);
        expect(read).toMatchObject({ shape: [3, 225, 350], levels: 3, channels: ['red', 'green', 'blue'] });
      } finally {
        await other.close();
      }
    },
  );
});
