import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { Client } from '../../support/hosts/reference-host.js';
import { startServer, type ServerProcess } from '../../support/hosts/server-process.js';
import { slideFile } from '../../support/images/slide.js';
import { until } from '../../support/run/until.js';
import { onErrors } from '../../support/pages/stage.js';

const executablePath = chromiumPath();
const hostile = '<img src=x onerror="document.title=1">';

describe.skipIf(executablePath === null)('the administration page', () => {
  let work: string;
  let configFile: string;
  let server: ServerProcess;
  let database: Awaited<ReturnType<typeof startTestDatabase>>;
  let url: string;
  let admin: Client;
  let other: Client;
  let folder: string;
  let browser: Browser;
  let page: Page;
  let complaints: string[] = [];

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), 'admin-page-'));
    configFile = join(work, 'server.cfg');
    await writeFile(configFile, '[large_image]\ncache_sources = True\n');
    await mkdir(join(work, 'data'));
    database = await startTestDatabase();
    const env = { MONGODB_URI: database.uri, DATA_DIR: join(work, 'data'), SERVICE_CONFIG: configFile };
    // Starts the real program, which can restart.
    server = startServer(['--bare'], env);
    url = await server.url();
    admin = await register('anna');
    other = await register('otto');
    const collection = await admin.create('/collection', { name: 'Slides', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: hostile });
    browser = await launchChromium(executablePath!);
    page = await openPage(admin);
  });

  afterAll(async () => {
    await browser?.close();
    server?.kill('SIGTERM');
    await server?.ended;
    await database?.stop();
    await rm(work, { recursive: true, force: true });
  });

  beforeEach(() => {
    complaints = [];
  });

  async function register(login: string): Promise<Client> {
    const query = { login, email: `${login}@example.org`, firstName: 'First', lastName: login, password: `${login}.password` };
    const user = await new Client(url, null, null).ok('POST', '/user', { query });
    return new Client(url, (user.authToken as { token: string }).token, String(user._id));
  }

  /** A page on which a user has signed in with the form. */
  async function openPage(client: Client): Promise<Page> {
    const { login } = await client.ok('GET', '/user/me');
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    const opened = await context.newPage();
    opened.setDefaultTimeout(300_000);
    onErrors(opened, (text) => complaints.push(text));
    await opened.goto(`${url}/#sign-in`);
    await opened.getByLabel('Login or email').fill(String(login));
    await opened.getByLabel('Password').fill(`${String(login)}.password`);
    await opened.getByRole('button', { name: 'Sign in' }).click();
    await opened.getByRole('button', { name: 'Sign out' }).waitFor();
    return opened;
  }

  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const tab = (name: string) => page.getByRole('navigation', { name: 'Administration' }).getByRole('link', { name });
  const panel = (name: string) => page.getByRole('region', { name });
  const outcomeText = (where: string, text: string | RegExp) => panel(where).getByTestId('outcome').getByText(text).waitFor();

  async function addSlide(name: string): Promise<string> {
    const bytes = await readFile(await slideFile(work));
    const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
    return String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
  }

  it('is for administrators only', async () => {
    const theirs = await openPage(other);
    expect(await theirs.getByRole('link', { name: 'Administration' }).count()).toBe(0);
    await theirs.goto(`${url}/#admin/settings`);
    await theirs.getByRole('alert').getByText('This page is for administrators.').waitFor();
    await theirs.context().close();
    await page.getByRole('link', { name: 'Administration' }).click();
    await page.getByRole('heading', { name: 'Administration' }).waitFor();
    await panel('Caches').waitFor();
    expect(complaints).toEqual([]);
  });

  it('saves settings, says what is allowed when one is refused, and restores defaults', async () => {
    await tab('Settings').click();
    const definitions = (await admin.ok('GET', '/system/setting/definitions')) as { key: string }[];
    await button('Save').waitFor();
    expect(await page.locator('.setting').count()).toBe(definitions.length);
    const setting = (key: string) => page.locator(`.setting[data-key="${key}"]`);
    const stored = (key: string) => admin.ok('GET', '/system/setting', { query: { key } });
    // The settings of images are shown first. Others are collapsed, and can be found by their words.
    const files = setting('large_image.max_thumbnail_files');
    const chunk = setting('core.upload_minimum_chunk_size');
    await files.waitFor();
    expect(await chunk.isVisible()).toBe(false);
    const find = page.getByLabel('Find a setting');
    await find.fill('minimum CHUNK');
    await chunk.waitFor();
    expect(await files.isVisible()).toBe(false);
    await find.fill('no such words');
    await page.getByText('No setting contains these words.').waitFor();
    await find.fill('');
    await files.waitFor();
    expect(await chunk.isVisible()).toBe(false);
    await page.getByText('Server', { exact: true }).and(page.locator('summary *')).click();
    await chunk.getByLabel('Upload minimum chunk size (bytes)', { exact: true }).waitFor();
    await setting('core.upload_minimum_chunk_size').getByText('Default: 5\u2009242\u2009880 (5.24 MB).').waitFor();
    await setting('core.add_to_group_policy')
      .getByRole('option', { name: 'administrators', exact: true })
      .waitFor({ state: 'attached' });

    const save = async (words: string) => {
      await button('Save').click();
      await page.locator('.settings-end').getByText(words, { exact: true }).waitFor();
    };
    const label = files.getByLabel('Max thumbnail files', { exact: true });
    const set = setting('large_image.auto_set').getByLabel('Open uploaded images automatically', { exact: true });
    await label.fill('-3');
    await set.selectOption('false');
    await save('1 setting saved. 1 setting refused. See the reason below each.');
    expect(await files.getByRole('alert').innerText()).toBe(
      'Max thumbnail files must be a non-negative integer. Allowed: a whole number, 0 or more; fractions are cut off.',
    );
    expect(await stored('large_image.max_thumbnail_files')).toBe(10);
    expect(await stored('large_image.auto_set')).toBe(false);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Save');
    await files.getByRole('button', { name: 'Default of Max thumbnail files' }).click();
    await save('Nothing changed.');
    expect(await files.getByRole('alert').count()).toBe(0);

    // A text that reads as a number stays a text.
    const name = setting('core.brand_name');
    await label.fill('5000.7');
    await name.getByRole('textbox').fill('2026');
    await setting('large_image.show_viewer').getByLabel('Show viewer', { exact: true }).uncheck();
    await save('3 settings saved.');
    expect(await label.inputValue()).toBe('5000');
    expect(await stored('large_image.max_thumbnail_files')).toBe(5000);
    expect(await stored('core.brand_name')).toBe('2026');
    expect(await stored('large_image.show_viewer')).toBe(false);
    await name.getByRole('button', { name: 'Default of Server name' }).click();
    await save('1 setting saved.');
    expect(await stored('core.brand_name')).toBe('Girder');
    await save('Nothing changed.');
  });

  it('makes large images in a folder of any name, and shows the counts', async () => {
    const item = await addSlide('first.tiff');
    expect((await admin.ok('GET', `/item/${item}`)).largeImage).toBeUndefined();
    await tab('Maintenance').click();
    await button('Create large images').click();
    await outcomeText('Create large images in a folder', 'Choose a folder first.');
    await button('Slides').click();
    await button(hostile).click();
    await page.getByText('No folders here that you can see.').waitFor();
    await button('Create large images').click();
    await outcomeText('Create large images in a folder', 'Done: 1 item in');
    const count = async (words: string) =>
      page.getByTestId('counters').getByRole('row').filter({ hasText: words }).getByRole('cell').last().innerText();
    expect([await count('Large images created'), await count('Items skipped')]).toEqual(['1', '0']);
    await button('Create large images').click();
    await until('the second run is told', async () => (await count('Items skipped')) === '1');
    expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ tileWidth: expect.any(Number) });
    await button('Remove incomplete large images').click();
    await outcomeText('Incomplete large images', '0 incomplete large images removed.');
    expect(complaints).toEqual([]);
  });

  it('makes thumbnails in a job, and shows its progress', async () => {
    await tab('Maintenance').click();
    const pictures = page.getByRole('group', { name: 'Pictures' }).getByRole('checkbox');
    await pictures.first().waitFor();
    for (const box of await pictures.all()) await box.uncheck();
    await button('Create thumbnails').click();
    await panel('Create thumbnails').getByRole('alert').getByText('Choose at least one picture.').waitFor();
    await page.getByLabel('Image', { exact: true }).check();
    const sizes = page.getByLabel('Maximum sizes in pixels');
    await sizes.fill('100 by 100');
    await button('Create thumbnails').click();
    await panel('Create thumbnails').getByRole('alert').getByText('Enter sizes as width × height').waitFor();
    await sizes.fill('100 × 100');
    const count = async () => Number(await page.getByTestId('count-thumbnails').innerText());
    const before = await count();
    await button('Create thumbnails').click();
    const job = page.locator('.job').first();
    await job.getByText('Success').waitFor();
    const log = await job.getByTestId('job-log').innerText();
    expect(log).toContain('Started creating large image thumbnails');
    expect(log).toMatch(/Finished: Checked \d+, created 1 thumbnail files/);
    await until('they are counted', async () => (await count()) === before + 1);
    expect(await job.getByRole('button', { name: 'Cancel job' }).isVisible()).toBe(false);
  });

  it('cancels a running job', async () => {
    const spec = JSON.stringify(Array.from({ length: 500 }, (_none, index) => ({ width: 20 + index, encoding: 'PNG' })));
    await admin.ok('PUT', '/large_image/thumbnails', { form: { spec, concurrent: '1', logInterval: '0' } });
    await page.reload();
    const job = page.locator('.job').first();
    await job.getByText('Running').waitFor();
    await until('the log grows without a reload', async () => {
      const log = await job.getByTestId('job-log').innerText();
      return /created [1-9]\d* thumbnail files/.test(log);
    });
    expect(await job.getByRole('progressbar', { name: 'Progress' }).isVisible()).toBe(true);
    await job.getByRole('button', { name: 'Cancel job' }).click();
    await job.getByText('Canceled').waitFor();
    const [stored] = (await admin.ok('GET', '/job/all', { query: { limit: 1 } })) as unknown as { status: number }[];
    expect(stored?.status).toBe(5);
    expect(await job.getByTestId('job-log').innerText()).not.toContain('Finished');
  });

  it('lists jobs with their logs', async () => {
    await tab('Jobs').click();
    const rows = page.getByRole('list', { name: 'Jobs' }).getByRole('listitem');
    await until('both jobs are listed', async () => (await rows.count()) === 2);
    expect(await rows.first().innerText()).toContain('Canceled');
    await rows.last().locator('summary').click();
    await rows
      .last()
      .getByTestId('job-log')
      .getByText(/Finished: Checked \d+, created 1 thumbnail files/)
      .waitFor();
    expect(complaints).toEqual([]);
  });

  it('reports caches and cached files, clears and deletes them', async () => {
    const [item] = (await admin.ok('GET', '/item', { query: { folderId: folder } })) as unknown as { _id: string }[];
    expect((await admin.send('GET', `/item/${item?._id}/tiles/zxy/0/0/0`)).status).toBe(200);
    await admin.ok('GET', `/item/${item?._id}/tiles/histogram`, { query: { width: 64 } });
    await tab('Server').click();
    const cell = (label: string, name: string) =>
      page.getByRole('table', { name: label }).getByRole('row').filter({ hasText: name }).getByRole('cell').nth(1).innerText();
    await until('files are open', async () => (await cell('Caches', 'Open images')) !== '0');
    await button('Clear caches').click();
    await outcomeText('Caches', 'Caches cleared.');
    expect([await cell('Before', 'Open images'), await cell('After', 'Open images')]).toEqual(['1', '0']);

    await tab('Maintenance').click();
    const thumbnails = page.getByTestId('count-thumbnails');
    await thumbnails.waitFor();
    const before = Number(((await admin.ok('GET', '/large_image/thumbnails')) as unknown as number).toString());
    expect(before).toBeGreaterThanOrEqual(2);
    await button('Delete thumbnails').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await admin.ok('GET', '/large_image/thumbnails')).toBe(before);
    await button('Delete thumbnails').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await outcomeText('Cached files', /thumbnail files? removed/);
    expect(await thumbnails.innerText()).toBe('0');
    expect(await admin.ok('GET', '/large_image/thumbnails')).toBe(0);

    expect(await page.getByTestId('count-histograms').innerText()).toBe('1');
    await button('Delete histograms').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await outcomeText('Cached files', '1 histogram removed.');
    await button('Delete associated images').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await outcomeText('Cached files', '0 associated images removed.');
    expect(complaints).toEqual([]);
  });

  it('updates the list when jobs change', async () => {
    const spec = JSON.stringify(Array.from({ length: 500 }, (_none, index) => ({ width: 600 + index, encoding: 'PNG' })));
    const job = await admin.ok('PUT', '/large_image/thumbnails', { form: { spec, concurrent: '1' } });
    await tab('Jobs').click();
    const first = page.getByRole('list', { name: 'Jobs' }).getByRole('listitem').first();
    await first.getByText(/Queued|Running/).waitFor();
    await admin.ok('PUT', `/job/${String(job._id)}/cancel`);
    await first.getByText('Canceled', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  describe('the configuration', () => {
    const editor = () => page.getByRole('textbox', { name: 'Configuration' });

    it('marks the line with the error', async () => {
      await tab('Configuration').click();
      expect(await editor().inputValue()).toBe('[large_image]\ncache_sources = True\n');
      await editor().fill(`[large_image]\ncache_sources = True\n# ${hostile}\ncache_backend = memory please\n`);
      await page.getByRole('button', { name: 'Line 4: Config values must be valid Python.' }).waitFor();
      expect(await page.locator('.line-numbers .failing').allInnerTexts()).toEqual(['4']);
      const top = 'area.getBoundingClientRect().top + area.clientTop + parseFloat(getComputedStyle(area).backgroundPositionY)';
      const band = await page.evaluate<number>(`{ const area = document.querySelector('.editor-text'); ${top} }`);
      const number = (await page.locator('.line-numbers .failing').boundingBox())!;
      expect(Math.abs(band - number.y)).toBeLessThan(1);
      await button('Replace').click();
      await outcomeText('Configuration file', 'Nothing was saved, because the text is invalid.');
      await button('Format').click();
      await outcomeText('Configuration file', 'Nothing was saved, because the text is invalid.');
      expect(await readFile(configFile, 'utf8')).toBe('[large_image]\ncache_sources = True\n');
    });

    it('formats the text without storing it', async () => {
      await editor().fill('[large_image]\ncache_sources=True\ncache_backend:"memory"\n');
      await button('Format').click();
      await outcomeText('Configuration file', 'Formatted. Nothing is saved yet.');
      expect(await editor().inputValue()).toContain("cache_backend = 'memory'");
      expect(await page.locator('.line-numbers .failing').count()).toBe(0);
      expect(await readdir(work)).not.toContainEqual(expect.stringMatching(/^server\.cfg\./));
    });

    it('replaces the file, names the backup, and says when nothing changes', async () => {
      const text = await editor().inputValue();
      await page.getByRole('checkbox', { name: 'Restart the server afterwards' }).uncheck();
      await button('Replace').click();
      await outcomeText('Configuration file', /^Updated\. The previous file is kept as server\.cfg\.\d{8}-\d{6}\.$/);
      expect(await readFile(configFile, 'utf8')).toBe(text);
      expect(await readdir(work)).toContainEqual(expect.stringMatching(/^server\.cfg\.\d{8}-\d{6}$/));
      await button('Replace').click();
      await outcomeText('Configuration file', 'No change: the file already contains this text.');
      expect(complaints.filter((complaint) => !complaint.includes('400'))).toEqual([]);
    });

    it('says that there is no file until one exists', async () => {
      await rm(configFile);
      await page.reload();
      const missingNote = page.getByText('(does not exist yet)');
      await missingNote.waitFor();
      await editor().fill('[large_image]\n');
      await page.getByRole('checkbox', { name: 'Restart the server afterwards' }).uncheck();
      await button('Replace').click();
      await outcomeText('Configuration file', 'Updated.');
      expect(await missingNote.count()).toBe(0);
      expect(complaints).toEqual([]);
    });

    it('does not replace a text that someone else has just written, unless forced', async () => {
      await writeFile(configFile, '[large_image]\ncache_sources = False\n');
      await editor().fill('[large_image]\ncache_tilesource_maximum = 9\n');
      await button('Replace').click();
      await outcomeText('Configuration file', /^Somebody else has changed the file since you opened it/);
      expect(await readFile(configFile, 'utf8')).toContain('cache_sources = False');
      await button('Replace').click();
      await outcomeText('Configuration file', /^Updated\./);
      expect(await readFile(configFile, 'utf8')).toContain('cache_tilesource_maximum = 9');
      complaints = complaints.filter((complaint) => !complaint.includes('409'));
      expect(complaints).toEqual([]);
    });

    it('replaces the file and restarts the server, which then uses it', async () => {
      const maxsize = async () => ((await admin.ok('GET', '/large_image/cache')).tilesource as { maxsize: number }).maxsize;
      expect(await maxsize()).toBe(64);
      await editor().fill('[large_image]\ncache_tilesource_maximum = 7\n');
      await page.getByRole('checkbox', { name: 'Restart the server afterwards' }).check();
      await button('Replace').click();
      await outcomeText('Configuration file', 'Updated. The server has restarted.');
      expect(await maxsize()).toBe(7);
      expect(complaints).toEqual([]);
    });
  });
});
