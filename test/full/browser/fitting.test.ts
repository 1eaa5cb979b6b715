import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentTexts, type Texts } from '../../../src/viewer/languages/catalog.js';
import { german } from '../../../src/viewer/languages/german.js';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { addContent, mainViews, type Stop } from '../../support/pages/main-views.js';
import { keepToken } from '../../support/pages/stage.js';

const executablePath = chromiumPath();

/** Realistic names, one of them longer than any line. */
const names = {
  collection: 'Nephrologie Innsbruck 2026',
  folder: 'Kidney biopsies of the first study',
  slide: 'S26-01234 A1 kidney biopsy PAS 40x.svs',
  broken: `S26-01235 B1 ${'kidney biopsy '.repeat(10)} truncated.tif`,
  annotation: 'Glomeruli and vessels',
  group: 'Pathologists of the ward',
};

/** Runs in the page: finds what scrolls sideways, and controls and names that are cut, squeezed or covered. */
const misfits = `(() => {
  // Tables, code, and the tools on a phone scroll independently.
  const mayScroll = '.table-scroll, .table-frame, .object-views > *, .annotation-tools, textarea, input, pre, .editor';
  const pen = document.createElement('canvas').getContext('2d');
  const found = new Set();
  const nameOf = (element) =>
    element.localName + ' "' + (element.ariaLabel ?? element.textContent.trim()).replace(/\\s+/g, ' ').slice(0, 40) + '"';
  const tell = (element, what, by) => found.add(nameOf(element) + ' ' + what + (by === undefined ? '' : ' by ' + Math.round(by)));
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) found.add('the page scrolls sideways by ' + (page.scrollWidth - page.clientWidth));
  // Only the dialog can be used.
  const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body;
  for (const element of root.querySelectorAll('*')) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('svg, .visually-hidden, .skip-link')) continue;
    if (element.closest('.openseadragon-container')) continue;
    const style = getComputedStyle(element);
    const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element;
    if (/auto|scroll/.test(style.overflowX) && !element.matches(mayScroll) && scrollWidth > clientWidth)
      tell(element, 'scrolls sideways', scrollWidth - clientWidth);
    if (element.matches('select:not([multiple])')) {
      const text = element.selectedOptions[0]?.textContent.trim() ?? '';
      pen.font = style.font;
      // The arrow takes 18 pixels.
      const over = pen.measureText(text).width + parseFloat(style.paddingLeft) + parseFloat(style.paddingRight) + 18 - clientWidth;
      if (over > 1) tell(element, 'cuts "' + text + '"', over);
    }
    if (!element.matches('button, a, summary, label, legend, h1, h2, h3, [class*=-name], [aria-current]')) continue;
    if (element.matches('.brand, .brand *')) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0) continue;
    if (style.display !== 'inline' && scrollWidth > clientWidth + 1) tell(element, 'is wider than its box', scrollWidth - clientWidth);
    if (style.overflow === 'hidden' && scrollHeight > clientHeight + 2) tell(element, 'is cut below', scrollHeight - clientHeight);
    if (element.textContent.trim().length > 3 && box.width < 24) tell(element, 'is squeezed to ' + Math.round(box.width));
    let outer = element.parentElement;
    while (outer !== document.body && getComputedStyle(outer).overflowX === 'visible') outer = outer.parentElement;
    const edge = outer.getBoundingClientRect();
    if (!outer.matches(mayScroll) && (box.right > edge.right + 1 || box.left < edge.left - 1))
      tell(element, 'is cut at the side', Math.max(box.right - edge.right, edge.left - box.left));
    if (!element.matches('button, a')) continue;
    element.scrollIntoView({ block: 'center', inline: 'nearest', behavior: 'instant' });
    const at = element.getClientRects()[0];
    const hit = document.elementFromPoint(at.left + at.width / 2, at.top + at.height / 2);
    if (hit && !element.contains(hit) && !hit.contains(element)) tell(element, 'is covered by ' + nameOf(hit));
  }
  scrollTo(0, 0);
  return [...found];
})()`;

describe.skipIf(executablePath === null)('the page at all widths, in both languages', () => {
  let work: string;
  let testHost: TestHost;
  let token: string;
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof addContent>>;
  let channels: string;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'fitting-'));
    testHost = await startHost();
    const admin = await testHost.register('anna');
    token = admin.token!;
    ids = await addContent(admin, work, names);
    const old = await admin.create('/folder', { parentType: 'folder', parentId: ids.folder, name: 'Old' });
    await admin.ok('POST', '/resource/trash', { query: { resources: JSON.stringify({ folder: [old] }) } });
    const gray = sharp(Buffer.alloc(100 * 100, 77), { raw: { width: 100, height: 100, channels: 1 } });
    await uploadItem(admin, ids.folder, 'gray.png', await gray.toColourspace('b-w').png().toBuffer());
    const planes = ['DAPI', 'FITC'].flatMap((channel) => [0, 1].map((z) => ({ path: 'gray.png', channel, z })));
    const described = JSON.stringify({ channels: ['DAPI', 'FITC'], sources: planes });
    channels = await uploadItem(admin, ids.folder, 'channels.yaml', Buffer.from(described));
    browser = await launchChromium(executablePath!);
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(work, { recursive: true, force: true });
  });

  /** Views that are only checked for fitting. */
  function moreViews({ objectTexts }: Texts): Stop[] {
    const click = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
    const plot = async (page: Page) => {
      await click(page, objectTexts.openTable(names.annotation));
      await click(page, objectTexts.plot);
      await page.locator('.object-plot canvas').waitFor();
    };
    return [
      [`item/${channels}`, (page) => page.locator('.channels li').nth(1).waitFor()],
      [`item/${channels}?with=${ids.slide}`, (page) => page.locator('.stage + .stage .scale-row').waitFor()],
      [`item/${ids.slide}`, plot],
      ['inbox', (page) => page.getByRole('heading', { level: 1 }).waitFor()],
    ];
  }

  it.each([
    ['en', currentTexts],
    ['de', german as Texts],
  ])('neither scrolls sideways nor cuts off, squeezes or covers labels of controls: %s', async (locale, texts) => {
    const context = await browser.newContext({ locale, reducedMotion: 'reduce' });
    await keepToken(context, token);
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(300_000);
      const problems: Record<string, string[]> = {};
      for (const [index, [address, ready]] of [...mainViews(ids, texts), ...moreViews(texts)].entries()) {
        // Loads a new page, so that dialogs of the previous one are gone.
        await page.goto('about:blank');
        await page.setViewportSize({ width: 1400, height: 800 });
        await page.goto(`${testHost.url}/#${address}`);
        await ready(page);
        for (const width of [1400, 1024, 390, 320]) {
          await page.setViewportSize({ width, height: 800 });
          await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
          const wrong = await page.evaluate<string[]>(misfits);
          if (wrong.length > 0) problems[`${index} ${address} ${width}`] = wrong;
        }
      }
      expect(problems).toEqual({});
    } finally {
      await context.close();
    }
  });
});
