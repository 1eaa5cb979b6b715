import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { violationsOf } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';
import { knownFiles } from '../../support/zarr/known-images.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('channel tones and pixel sizes on the page', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let browser: Browser;
  let page: Page;
  let admin: Client;
  let stack: string;
  let unsized: string;
  const requests: URL[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    const folder = await newFolder(admin, 'Tones', true);
    stack = await uploadItem(
      admin,
      folder,
      'stack.ome.tif',
      (await knownFiles.find(({ file }) => file === 'image.ome.tif')!.make()).bytes,
    );
    unsized = await uploadItem(admin, folder, 'unsized.tif', await pyramid());
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 } })).newPage();
    page.setDefaultTimeout(60_000);
    page.on('request', (request) => requests.push(new URL(request.url())));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  const waitForStyledTile = (expected: Record<string, unknown>) =>
    until(`a tile with ${JSON.stringify(expected)} is asked for`, () =>
      requests.some(({ pathname, searchParams }) => {
        if (!pathname.includes('/tiles/fzxy')) return false;
        const { bands } = JSON.parse(searchParams.get('style') ?? '{"bands":[]}') as { bands: Record<string, unknown>[] };
        return Object.entries(expected).every(([name, value]) => bands[0]?.[name] === value);
      }),
    );

  it('changes gamma, color map and inversion of a channel, and keeps them in the address', async () => {
    await page.goto(`${testHost.url}/#item/${stack}`);
    const channel = page.locator('.channel').first();
    await channel.getByText('Color map and gamma').click();
    await channel.getByLabel('Gamma', { exact: false }).fill('0.5');
    await channel.getByLabel('Gamma', { exact: false }).press('Enter');
    await waitForStyledTile({ gamma: 0.5 });
    await channel.getByRole('combobox').selectOption('viridis');
    await waitForStyledTile({ gamma: 0.5, palette: 'viridis' });
    await channel.getByRole('checkbox', { name: /^Invert/ }).check();
    await waitForStyledTile({ gamma: 0.5, palette: 'viridis', invert: true });
    await until('the address has them', () => decodeURIComponent(page.url()).includes('palette=viridis:gamma=0.5:invert'));
    expect(await violationsOf(page)).toEqual([]);
    requests.length = 0;
    await page.reload();
    await waitForStyledTile({ gamma: 0.5, palette: 'viridis', invert: true });
    expect(await channel.getByRole('combobox').inputValue()).toBe('viridis');
    // A gamma beyond the limits becomes the nearest allowed one.
    await channel.getByLabel('Gamma', { exact: false }).fill('1000');
    await channel.getByLabel('Gamma', { exact: false }).press('Enter');
    await waitForStyledTile({ gamma: 10 });
  });

  it('lets users with write access enter the pixel size, and marks it as entered', async () => {
    await page.goto(`${testHost.url}/#item/${unsized}`);
    const size = page.locator('dt', { hasText: 'Pixel size' }).locator('+ dd');
    await until('the size is unknown', async () => (await size.textContent()) === 'unknown');
    expect(await page.getByRole('button', { name: 'Enter pixel size' }).count()).toBe(0);
    await page.evaluate(`localStorage.setItem('token /api/v1', '${admin.token}')`);
    await page.reload();
    await page.getByRole('button', { name: 'Enter pixel size' }).click();
    const dialog = page.getByRole('dialog', { name: 'Enter pixel size' });
    await dialog.getByLabel('Width of a pixel').fill('0.25');
    expect(await violationsOf(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await until('the size is marked', async () => (await size.textContent()) === '250 nm × 250 nm (entered)');
    expect(await page.locator('.stage-footer').textContent()).toMatch(/µm|mm/);
    expect(await admin.ok('GET', `/item/${unsized}/tiles`)).toMatchObject({ mm_x: 0.00025, mm_y: 0.00025 });
    await page.getByRole('button', { name: 'Change pixel size' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await until('the size is unknown again', async () => (await size.textContent()) === 'unknown');
  });
});
