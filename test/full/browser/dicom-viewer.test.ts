/** The viewer that Slim and OHIF use, dicom-microscopy-viewer, in a browser. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const executablePath = chromiumPath();
/** DICOM_VIEWER names the `node_modules` that has dicom-microscopy-viewer and dicomweb-client, which only this test uses. */
const modules = process.env.DICOM_VIEWER ?? '';
const viewer = join(modules, 'dicom-microscopy-viewer/dist/dynamic-import');
const webClient = join(modules, 'dicomweb-client/build/dicomweb-client.js');
const isInstalled = modules !== '' && existsSync(viewer) && existsSync(webClient);
if (!isInstalled) {
  const how = 'npm install --no-save --ignore-scripts dicom-microscopy-viewer dicomweb-client, and DICOM_VIEWER=node_modules';
  console.warn(`skipped: dicom-microscopy-viewer in a browser, because DICOM_VIEWER names no folder that has it: ${how}`);
}

type Color = { r: number; g: number; b: number };
const [left, right]: [Color, Color] = [
  { r: 200, g: 40, b: 60 },
  { r: 40, g: 90, b: 180 },
];

/** A slide of two colors, one on each side. */
async function slide(compression: 'jpeg' | 'deflate'): Promise<Buffer> {
  const half = await sharp({ create: { width: 512, height: 768, channels: 3, background: right } })
    .png()
    .toBuffer();
  return sharp({ create: { width: 1024, height: 768, channels: 3, background: left } })
    .composite([{ input: half, left: 512, top: 0 }])
    .tiff({
      tile: true,
      tileWidth: 256,
      tileHeight: 256,
      pyramid: true,
      compression,
      quality: 95,
      xres: 2000,
      yres: 2000,
      resolutionUnit: 'cm',
    })
    .toBuffer();
}

describe.skipIf(executablePath === null || !isInstalled)('dicom-microscopy-viewer', () => {
  let started: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Slides');
    browser = await launchChromium(executablePath!, ['--enable-unsafe-swiftshader']);
    page = await browser.newPage({ viewport: { width: 1024, height: 768 } });
    await page.route(`${started.url}/viewer.html`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: '<!doctype html><meta charset="utf-8"><body style="margin: 0"><div id="view" style="width: 1024px; height: 768px"></div>',
      }),
    );
    // Its worker has another path than the viewer.
    for (const path of ['dicom-microscopy-viewer', 'static/js']) {
      await page.route(`${started.url}/${path}/*`, (route) =>
        route.fulfill({ path: join(viewer, basename(new URL(route.request().url()).pathname)) }),
      );
    }
  });
  afterAll(async () => {
    await browser?.close();
    await started?.close();
  });

  it.each(['jpeg', 'deflate'] as const)('shows a slide of %s tiles in its colors, and its annotation', async (compression) => {
    const item = await uploadItem(admin, folder, `${compression}.tif`, await slide(compression));
    const box = { type: 'rectangle', center: [512, 384, 0], width: 400, height: 300, group: 'box', lineColor: '#00ff00' };
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Shapes', elements: [box] } });
    const { token } = await admin.ok('POST', `/item/${item}/link`, { json: { opens: ['dicomweb'] } });
    const { studyInstanceUID } = await admin.ok('GET', `/item/${item}/dicomweb`);
    const failed: string[] = [];
    let points = 0;
    page.removeAllListeners('response');
    page.on('response', (response) => {
      if (response.status() >= 400 && response.url().includes('/dicomweb/'))
        failed.push(`${response.status()} ${response.url()}`);
      if (response.ok() && response.url().includes('/bulkdata/points-0')) points += 1;
    });
    await page.goto(`${started.url}/viewer.html`);
    await page.addScriptTag({ path: webClient });
    await page.addScriptTag({ url: '/dicom-microscopy-viewer/dicomMicroscopyViewer.min.js' });
    const groups = await page.evaluate<string[]>(`(async () => {
      const { viewer, metadata } = dicomMicroscopyViewer;
      const client = new DICOMwebClient.api.DICOMwebClient({ url: '${started.url}/api/v1/dicomweb/t/${String(token)}' });
      const studyInstanceUID = '${String(studyInstanceUID)}';
      const of = async (Modality) => {
        const series = await client.searchForSeries({ queryParams: { Modality, StudyInstanceUID: studyInstanceUID } });
        const all = series.map((each) => client.retrieveSeriesMetadata({ studyInstanceUID, seriesInstanceUID: each['0020000E'].Value[0] }));
        return (await Promise.all(all)).flat();
      };
      const images = (await of('SM')).map((each) => new metadata.VLWholeSlideMicroscopyImage({ metadata: each }));
      const volume = new viewer.VolumeImageViewer({
        client, controls: [], metadata: images.filter(({ ImageType }) => ['VOLUME', 'THUMBNAIL'].includes(ImageType[2])),
      });
      volume.render({ container: 'view' });
      const [annotation] = (await of('ANN')).map((each) => new metadata.MicroscopyBulkSimpleAnnotations({ metadata: each }));
      await volume.addAnnotationGroups(annotation);
      for (const { uid } of volume.getAllAnnotationGroups()) volume.showAnnotationGroup(uid);
      return volume.getAllAnnotationGroups().map(({ label }) => label);
    })()`);
    expect(groups).toEqual(['box']);
    const colorAt = async (picture: Buffer, x: number): Promise<Color> => {
      const [r = 0, g = 0, b = 0] = await sharp(picture).extract({ left: x, top: 300, width: 1, height: 1 }).raw().toBuffer();
      return { r, g, b };
    };
    const distance = (a: Color, b: Color) => Math.max(Math.abs(a.r - b.r), Math.abs(a.g - b.g), Math.abs(a.b - b.b));
    // It rotates slides by half a turn, because of their orientation on the glass. Tiles fade in.
    await expect
      .poll(
        async () => {
          const picture = await page.screenshot();
          const colors = [await colorAt(picture, 250), await colorAt(picture, 770)] as const;
          return distance(colors[0], right) < 12 && distance(colors[1], left) < 12 ? 'shown' : JSON.stringify(colors);
        },
        { timeout: 60_000 },
      )
      .toBe('shown');
    await expect.poll(() => points, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(failed).toEqual([]);
  });
});
