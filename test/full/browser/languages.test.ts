import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useLanguage, type Texts } from '../../../src/viewer/languages/catalog.js';
import { german } from '../../../src/viewer/languages/german.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { addContent, mainViews } from '../../support/pages/main-views.js';
import { violationsOf } from '../../support/pages/violations.js';

const executablePath = chromiumPath();

/** Puts brackets around all texts, here and on the page. The values that a text contains are inside its brackets. */
function mark<T>(text: T): T {
  if (typeof text === 'string') return `⟦${text}⟧` as T;
  if (typeof text === 'function') return ((...values: unknown[]) => `⟦${text(...values)}⟧`) as T;
  if (Array.isArray(text)) return text.map(mark) as T;
  return Object.fromEntries(Object.entries(text as object).map(([name, part]) => [name, mark(part)])) as T;
}

/** Runs in the page: finds texts and accessible names outside of brackets, each with its element. */
const unmarked = `(() => {
  const isData = ${String(isData)};
  const outside = (text) => {
    let rest = text, before;
    do rest = (before = rest).replace(/⟦[^⟦⟧]*⟧/g, ' '); while (rest !== before);
    return rest.replace(/\\s+/g, ' ').trim();
  };
  const found = new Set();
  const look = (text, where) => text && !isData(outside(text)) && found.add(where + ': ' + outside(text));
  for (const element of document.querySelectorAll('html, body *')) {
    // Code, drawings, entered texts and the name of the server are not texts of the page.
    if (element.closest('script, style, noscript, svg, code, pre, kbd, textarea, .brand-name')) continue;
    // Keys and values of settings, languages by their own names, and columns of tables are data.
    if (element.matches('.setting') || element.closest('.setting option, .language option, .object-table th')) continue;
    for (const name of ['aria-label', 'title', 'placeholder', 'alt', 'aria-valuetext'])
      look(element.getAttribute(name), element.localName + ' ' + name);
    for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) look(node.data, element.localName);
  }
  look(document.title, 'title of the window');
  return [...found];
})()`;

/** Whether a text is a name from users or programs, a sentence of the server, a number with a unit, or a date. */
function isData(text: string): boolean {
  const words = text
    .replace(
      /(Sammlung|Ordner|Bild|Annotation|Gruppe)-1(\.svs)?|Bild-2\.tif|First anna|\S*@example\.org|\banna\b|nowhere|Large image/g,
      ' ',
    )
    .replace(/Truncated or corrupt TIFF:[^.]*\.|Create large image thumbnail files\.|(^| )\/\S+/g, ' ')
    .replace(
      /\b(SVS|TIF|TIFF|OME-TIFF|JPEG|PNG|WebP|SVG|PDF|CSV|Parquet|GeoJSON|image\/tiff|u?int8|macro|label|thumbnail|tags|viridis|magma|cividis|turbo|Blues|Reds|RdBu_r)\b/g,
      ' ',
    )
    .replace(/\d+\.\d+\.\d+(, \d+:\d+)?|\d+ ?(px|µm²?|nm|mm²?|[kMGT]?B|×|%)/g, ' ');
  return !/\p{L}{2}/u.test(words);
}

describe.skipIf(executablePath === null)('the page in other languages', () => {
  let work: string;
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let ids: Awaited<ReturnType<typeof addContent>>;

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'languages-'));
    testHost = await startHost();
    admin = await testHost.register('anna');
    ids = await addContent(admin, work);
    browser = await launchChromium(executablePath!);
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(work, { recursive: true, force: true });
  });

  /** Opens every view with the texts, first those for guests, and checks it. */
  async function visit(context: BrowserContext, texts: Texts, check: (page: Page, name: string) => Promise<unknown>) {
    const page = await context.newPage();
    page.setDefaultTimeout(300_000);
    for (const [name, title] of [
      ['sign-in', texts.accountTexts.signIn],
      ['register', texts.accountTexts.createAnAccount],
    ] as const) {
      await page.goto(`${testHost.url}/#${name}`);
      await page.getByRole('heading', { name: title, exact: true }).waitFor();
      await check(page, name);
    }
    await page.evaluate(`localStorage.setItem('token /api/v1', '${admin.token}')`);
    for (const [index, [address, ready]] of mainViews(ids, texts).entries()) {
      // Loads a new page, so that dialogs of the previous one are gone.
      await page.goto('about:blank');
      await page.setViewportSize({ width: 1200, height: 800 });
      await page.goto(`${testHost.url}/#${address}`);
      await ready(page);
      await check(page, `${index} ${address}`);
    }
  }

  it('takes all its texts from the catalog', async () => {
    const context = await browser.newContext({ locale: 'de' });
    try {
      await context.route(/\/viewer\/\w+\/german-\w+\.js$/, async (route) => {
        const answer = await route.fetch();
        const code = await answer.text();
        const [, name] = /export\{(\w+) as german\}/.exec(code)!;
        await route.fulfill({ response: answer, body: `${code};${mark.toString()};Object.assign(${name}, mark(${name}));` });
      });
      const marked = mark(german);
      const problems: Record<string, string[]> = {};
      await visit(context, marked, async (page, name) => {
        const outside = await page.evaluate<string[]>(unmarked);
        if (outside.length > 0) problems[name] = outside;
      });
      expect(problems).toEqual({});
    } finally {
      await context.close();
    }
  });

  it('fits in German, without violations that axe finds, at 390 and 1024 pixels', async () => {
    // Numbers in accessible names are written as on the page.
    await useLanguage('de');
    const context = await browser.newContext({ locale: 'de-AT', reducedMotion: 'reduce' });
    try {
      const problems: Record<string, string[]> = {};
      await visit(context, german, async (page, name) => {
        expect(await page.getAttribute('html', 'lang')).toBe('de');
        for (const [width, colorScheme] of [
          [390, 'light'],
          [1024, 'dark'],
        ] as const) {
          await page.setViewportSize({ width, height: 800 });
          await page.emulateMedia({ colorScheme });
          const wrong = await violationsOf(page);
          if ((await page.evaluate<number>('document.documentElement.scrollWidth')) > width) wrong.push('too wide');
          if (wrong.length > 0) problems[`${name} ${width}`] = wrong;
        }
      });
      expect(problems).toEqual({});
    } finally {
      await context.close();
      await useLanguage('en');
    }
  });

  it('is in English for unsupported languages, until the user chooses a language', async () => {
    const context = await browser.newContext({ locale: 'fr-FR' });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(300_000);
      const scripts: string[] = [];
      page.on('request', (request) => scripts.push(request.url()));
      await page.goto(testHost.url);
      await page.getByRole('heading', { name: 'Collections' }).waitFor();
      expect(await page.getAttribute('html', 'lang')).toBe('en');
      expect(scripts.filter((url) => /\/german-\w+\.js/.test(url))).toEqual([]);
      await page.getByLabel('Language').selectOption({ label: 'Deutsch' });
      await page.getByRole('heading', { name: german.browseTexts.collections }).waitFor();
      await page.goto(`${testHost.url}/#sign-in`);
      await page.reload();
      await page.getByRole('heading', { name: german.accountTexts.signIn }).waitFor();
      await page.getByLabel(german.commonTexts.language).selectOption({ label: 'English' });
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    } finally {
      await context.close();
    }
  });

  it('translates known errors of the server', async () => {
    const context = await browser.newContext({ locale: 'de' });
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(300_000);
      const refuse = (code: string, message: string) =>
        context.route('**/api/v1/collection?*', (route) =>
          route.fulfill({ status: 503, json: { message, type: 'rest', code }, headers: { 'Large-Image-Error': code } }),
        );
      await refuse('busy', 'The server is busy.');
      await page.goto(testHost.url);
      await page.getByText(german.accountTexts.errors.busy!).waitFor();
      await context.unrouteAll();
      await refuse('bad-value', 'This has no German sentence.');
      await page.reload();
      await page.getByText('This has no German sentence.').waitFor();
    } finally {
      await context.close();
    }
  });
});
