/** `npm run picture`: makes the pictures of README and docs, which show the page of the reference host in a browser, and a figure that it saves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { createReferenceHost, startDatabase } from '../src/reference-host/index.js';
import { addSyntheticSlide, ensureAdmin } from '../src/reference-host/start/content/content.js';
import { addNuclei, nucleiName } from '../src/reference-host/start/content/nuclei.js';
import { makeSyntheticSlide } from '../src/reference-host/synthetic-slide/slide.js';
import { chromiumPath, launchChromium } from '../test/support/pages/chromium.js';

const size = { slide: 8192, width: 1280, height: 760 };
const targetOf = (name: string) => fileURLToPath(new URL(`../docs/images/${name}.webp`, import.meta.url));

const executablePath = chromiumPath();
if (executablePath === null) throw new Error('There is no browser.');
const folder = await mkdtemp(join(tmpdir(), 'readme-picture-'));
const database = await startDatabase({ env: process.env, directory: null });
const host = await createReferenceHost({ mongoUri: database.uri, dataDirectory: join(folder, 'data'), passwordMemoryKiB: 8 });
const browser = await launchChromium(executablePath);
try {
  const { url } = await host.listen();
  const { user } = await ensureAdmin(host.context, 'of.no.importance');
  const path = join(folder, 'slide.tiff');
  await makeSyntheticSlide(path, { size: size.slide });
  const creatorId = user?._id ?? null;
  const itemId = await addSyntheticSlide(host.context, {
    path,
    creatorId,
    isPublic: true,
    register: (file) => host.registerFileInPlace(file),
  });
  await addNuclei(host.context, { url, itemId, onProgress: () => undefined, signal: new AbortController().signal });
  const page = await browser.newPage({ viewport: size, deviceScaleFactor: 1 });
  await page.route('**/annotation/events?*', (route) => route.abort());
  await page.goto(`${url}/#item/${itemId.toHexString()}?at=${size.slide / 2},${size.slide / 2},1400`);
  await page.getByText(nucleiName).first().waitFor();
  await page.getByTestId('scale-bar').waitFor();
  await page.waitForLoadState('networkidle');
  const savePicture = async (name: string, picture: Buffer | string) => {
    await sharp(picture).webp({ quality: 74 }).toFile(targetOf(name));
    console.log(targetOf(name));
  };
  await savePicture('viewer', await page.screenshot());
  await page.getByRole('button', { name: 'Save this view' }).click();
  await page.getByLabel('Width').fill('800');
  await page.getByLabel('Title').fill('Nuclei by type');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save figure' }).click();
  await savePicture('figure', await (await download).path());
} finally {
  await browser.close();
  await host.close();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
