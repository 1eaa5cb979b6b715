import { createReadStream } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';

const executablePath = chromiumPath();
const viewer = join(dirname(createRequire(import.meta.url).resolve('openseadragon')), 'openseadragon.min.js');

describe.skipIf(executablePath === null)('OpenSeadragon on a page of another origin', () => {
  let started: TestHost;
  let browser: Browser;
  let page: Page;
  let site: Server;
  let item: string;

  beforeAll(async () => {
    started = await startHost();
    const admin = await started.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'Slides', true), 'slide.tif', await pyramid(1500, 1100));
    site = createServer((request, response) => {
      response.setHeader('Content-Type', request.url === '/viewer.js' ? 'text/javascript' : 'text/html');
      if (request.url === '/viewer.js') createReadStream(viewer).pipe(response);
      else
        response.end(
          '<!doctype html><div id="view" style="width: 800px; height: 600px"></div><script src="/viewer.js"></script>',
        );
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    browser = await launchChromium(executablePath!);
    page = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    site?.close();
    await started?.close();
  });

  it('opens info.json, and shows the tiles of the image', async () => {
    const failed: string[] = [];
    const tiles: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400 && response.url().includes('/iiif/')) failed.push(response.url());
      if (response.url().endsWith('default.jpg')) tiles.push(response.url());
    });
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    const size = await page.evaluate<{ x: number; y: number }>(`new Promise((resolve, reject) => {
      const viewer = OpenSeadragon({ id: 'view', tileSources: '${started.url}/api/v1/iiif/${item}/info.json', crossOriginPolicy: 'Anonymous',
        showNavigationControl: false, drawer: 'canvas' });
      viewer.addHandler('open-failed', ({ message }) => reject(new Error(message)));
      viewer.addHandler('tile-load-failed', ({ message }) => reject(new Error(message)));
      viewer.addHandler('open', () => {
        const image = viewer.world.getItemAt(0);
        const settled = () => { if (image.getFullyLoaded()) resolve(image.getContentSize()); };
        viewer.viewport.zoomTo(2);
        image.addHandler('fully-loaded-change', settled);
        settled();
      });
    })`);
    expect({ x: size.x, y: size.y }).toEqual({ x: 1500, y: 1100 });
    expect(failed).toEqual([]);
    expect(tiles.length).toBeGreaterThan(1);
    // This would throw if pages of other origins were not allowed to read the canvas.
    const color = await page.evaluate<number[]>(
      `[...document.querySelector('#view canvas').getContext('2d').getImageData(400, 300, 1, 1).data]`,
    );
    expect(color[3]).toBe(255);
  });
});
