import { readFile } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { violationsInLooks } from '../../support/pages/violations.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { slideFile } from '../../support/images/slide.js';

const executablePath = chromiumPath();
const kinds = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** A checked page: an address, and a function that waits until its page is complete. */
type Stop = [address: string, ready: (page: Page) => Promise<unknown>];

describe.skipIf(executablePath === null)('every page and dialog, checked with axe', () => {
  let work: string;
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let stops: Stop[];

  const heading = (name: string) => (on: Page) => on.getByRole('heading', { name }).first().waitFor();
  const button = (name: string) => (on: Page) => on.getByRole('button', { name, exact: true }).first().waitFor();
  /** Opens a dialog by the button of this name. */
  const dialog = (name: string) => async (on: Page) => {
    await on.getByRole('button', { name, exact: true }).first().click();
    await on.getByRole('dialog').waitFor();
  };

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'accessibility-'));
    testHost = await startHost();
    admin = await testHost.register('anna');
    const collection = await admin.create('/collection', { name: 'Slides', public: true });
    const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Kidney' });
    const add = async (name: string, bytes: Buffer) => {
      const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
      return String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
    };
    const slide = await add('slide.svs', await readFile(await slideFile(work)));
    const broken = await add('broken.tif', Buffer.from('II*\0 and nothing more'));
    const elements = [
      { type: 'rectangle', center: [600, 600, 0], width: 300, height: 200, group: 'a', label: { value: 'one' } },
      { type: 'point', center: [900, 900, 0], group: 'b' },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: 'Glands', elements } });
    await admin.create('/group', { name: 'Pathologists' });
    await admin.ok('PUT', '/large_image/thumbnails', { query: { spec: '[{"width":64}]' } });
    await admin.ok('PUT', `/item/${slide}/metadata`, { json: { tags: ['a', 'b'], stain: { name: 'H&E' } } });
    const associated = (await admin.ok('GET', `/item/${slide}/tiles/images`)) as unknown as string[];
    stops = [
      ['', button('New collection')],
      ['', dialog('New collection')],
      [`collection/${collection}`, heading('Slides')],
      [`folder/${folder}`, heading('Kidney')],
      [`item/${broken}`, heading('broken.tif')],
      [`item/${slide}`, (on) => on.getByRole('checkbox', { name: 'Glands' }).waitFor()],
      // A generated slide has no label.
      ...(associated.includes('label') ? [[`item/${slide}`, dialog('Enlarge label')] as Stop] : []),
      [`item/${slide}`, dialog('New annotation')],
      [`item/${slide}`, async (on) => (await button('Edit Glands')(on), on.getByRole('button', { name: 'Edit Glands' }).click())],
      [`item/${slide}`, dialog('Delete')],
      [`item/${slide}`, dialog('Save this view')],
      [`item/${slide}`, dialog('Compare')],
      [
        `item/${slide}?with=${slide}&rotation=90`,
        (on) => on.getByText('Move both').or(on.getByLabel('Move both together')).first().waitFor(),
      ],
      [`item/${slide}`, dialog('Download, share or restore Glands')],
      [
        `item/${slide}`,
        async (on) => (await button('Edit Glands')(on), await on.keyboard.press('?'), on.getByRole('dialog').waitFor()),
      ],
      [`item/${slide}`, dialog('Edit')],
      [`folder/${folder}`, dialog('Share')],
      [
        `folder/${folder}`,
        async (on) => {
          await on.getByLabel('Select slide.svs').check();
          await dialog('Move or copy')(on);
        },
      ],
      [
        `folder/${folder}`,
        async (on) => {
          await on.getByLabel('Select slide.svs').check();
          await dialog('Tags')(on);
        },
      ],
      [
        `folder/${folder}?sort=meta.stain`,
        async (on) => {
          await dialog('Columns')(on);
          for (const name of ['tags', 'stain', 'Size']) await on.getByRole('checkbox', { name }).check();
          await on.getByRole('button', { name: 'Show', exact: true }).click();
          await on.getByRole('columnheader', { name: 'stain' }).waitFor();
        },
      ],
      [`folder/${folder}`, dialog('Columns')],
      ['search?q=slide', (on) => on.getByRole('link', { name: 'slide.svs' }).waitFor()],
      ['admin', button('Clear caches')],
      ['admin/maintenance', dialog('Delete thumbnails')],
      ['admin/people', dialog('Edit “First anna”')],
      ['admin/groups', dialog('Members of “Pathologists”')],
      ['admin/settings', button('Save')],
      ['admin/maintenance', button('Create thumbnails')],
      ['admin/maintenance', button('Create large images')],
      ['admin/jobs', (on) => on.getByText('Success').first().waitFor()],
      ['admin/configuration', heading('Administration')],
      ['nothing', heading('This cannot be shown')],
    ];
    browser = await launchChromium(executablePath!);
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(work, { recursive: true, force: true });
  });

  it('has no violations at 1200 pixels, in light and dark, and at 390 pixels', async () => {
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    try {
      page = await context.newPage();
      page.setDefaultTimeout(300_000);
      const violations: string[] = [];
      // Width and colors depend only on the style sheets, so what has been opened once is checked in all of them.
      const checkView = async (name: string) => {
        const wrong = await violationsInLooks(page, { kinds });
        violations.push(...wrong.map((line) => `${name} ${line}`));
      };
      for (const [name, title] of [
        ['sign-in', 'Sign in'],
        ['register', 'Create an account'],
      ] as const) {
        await page.goto(`${testHost.url}/#${name}`);
        await heading(title)(page);
        await checkView(name);
      }
      await page.evaluate(`localStorage.setItem('token /api/v1', '${admin.token}')`);
      for (const [index, [address, ready]] of stops.entries()) {
        // Loads a new page, so that dialogs of the previous one are gone.
        await page.goto('about:blank');
        await page.setViewportSize({ width: 1200, height: 800 });
        await page.goto(`${testHost.url}/#${address}`);
        await ready(page);
        await checkView(`${index} ${address}`);
      }
      await page.goto(`${testHost.url}/api/v1/describe`);
      await page.locator('.opblock-tag').first().waitFor();
      await checkView('describe');
      expect(violations).toEqual([]);
    } finally {
      await context.close();
    }
  });

  it('fits the image page into a narrow window, even with long names and metadata', async () => {
    const name = `${'N'.repeat(400)} ${'ü'.repeat(300)} <b>"&${'x'.repeat(290)}`;
    const [, slide] = /item\/([0-9a-f]{24})$/.exec(
      stops.map(([address]) => address).findLast((address) => /^item\/[0-9a-f]+$/.test(address))!,
    )!;
    const { name: former, folderId } = await admin.ok('GET', `/item/${slide}`);
    await admin.ok('PUT', `/item/${slide}`, { query: { name } });
    await admin.ok('PUT', `/item/${slide}/metadata`, {
      json: { ['k'.repeat(250)]: 'v'.repeat(1000), ['o'.repeat(250)]: { inner: 1 } },
    });
    const context = await browser.newContext({ viewport: { width: 390, height: 800 } });
    try {
      const narrow = await context.newPage();
      await narrow.goto(`${testHost.url}/#item/${slide}`);
      await narrow.getByRole('checkbox', { name: 'Glands' }).waitFor();
      expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390);
      expect((await narrow.locator('.drawing').boundingBox())!.y).toBeLessThan(400);
      await narrow.goto(`${testHost.url}/#folder/${String(folderId)}`);
      await narrow.getByRole('link', { name }).first().waitFor();
      expect(await narrow.evaluate('document.documentElement.scrollWidth')).toBe(390);
    } finally {
      await context.close();
      await admin.ok('PUT', `/item/${slide}`, { query: { name: String(former) } });
    }
  });
});
