import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId } from '../../support/hosts/annotated.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { keepToken } from '../../support/pages/stage.js';
import { violationsOf } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();

describe.skipIf(executablePath === null)('comments on an image', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let anna: Client;
  let bert: Client;
  let rita: Client;
  let folder: string;
  let item: string;
  let browser: Browser;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    anna = await testHost.register('anna');
    bert = await testHost.register('bert');
    rita = await testHost.register('rita');
    folder = await newFolder(anna, 'Slides');
    const levels: [Client, number][] = [
      [anna, 2],
      [bert, 1],
      [rita, 0],
    ];
    const access = JSON.stringify({ users: levels.map(([{ id }, level]) => ({ id, level })), groups: [] });
    await anna.ok('PUT', `/folder/${folder}/access`, { query: { access, public: false } });
    browser = await launchChromium(executablePath!);
  });
  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  async function open(client: Client, address: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context: BrowserContext = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    await keepToken(context, client.token);
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${testHost.url}/${address}`);
    return page;
  }

  const newItem = async (name = 'slide.tif') => (item = await uploadItem(anna, folder, name, await pyramid()));
  const write = async (client: Client, json: object) => String((await client.ok('POST', `/item/${item}/comment`, { json }))._id);
  const stored = async () => (await anna.ok('GET', `/item/${item}/comment`)) as unknown as Record<string, unknown>[];
  const comments = (page: Page) => page.getByRole('list', { name: 'Comments' });
  const marks = (page: Page) => page.getByRole('toolbar', { name: 'Comments' });
  const openSection = async (page: Page) => {
    await page.getByText('Comments', { exact: true }).click();
    await page.getByRole('button', { name: 'New comment' }).waitFor();
  };
  /** The center of the image on the screen. */
  const middle = async (page: Page) => {
    const box = (await page.locator('.openseadragon-canvas').first().boundingBox())!;
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
  };

  it('are looked for every minute while there are none, and more often when there are some', async () => {
    await newItem();
    const page = await open(anna, '');
    await page.clock.install();
    await page.goto(`${testHost.url}/#item/${item}`);
    await page.reload();
    await openSection(page);
    let requests = 0;
    page.on('request', (request) => (requests += request.url().includes(`/item/${item}/comment?`) ? 1 : 0));
    await page.clock.runFor(30_000);
    expect(requests).toBe(0);
    await write(bert, { text: 'The first one' });
    await page.clock.runFor(31_000);
    await comments(page).getByText('The first one').waitFor();
    requests = 0;
    await page.clock.runFor(16_000);
    await until('it asked again', () => requests > 0);
    await page.context().close();
  });

  it('are written at the position of a click, with a suggested mention, and are text', async () => {
    await newItem();
    const page = await open(anna, `#item/${item}`);
    await openSection(page);
    await page.getByRole('button', { name: 'New comment' }).click();
    const at = await middle(page);
    await page.mouse.click(at.x + 40, at.y + 30);
    expect(await page.getByLabel('About', { exact: true }).inputValue()).toBe('place');
    await page.getByRole('img', { name: 'Position of the new comment' }).waitFor();
    const text = page.getByRole('textbox', { name: 'Comment' });
    await text.fill('<b>Mitosis?</b> ');
    await text.press('End');
    await text.pressSequentially('@be');
    await page.getByRole('list', { name: 'People to mention' }).getByRole('button').waitFor();
    await text.press('ArrowDown');
    await page.keyboard.press('Enter');
    expect(await text.inputValue()).toBe('<b>Mitosis?</b> @bert ');
    expect(await violationsOf(page)).toEqual([]);
    await page.getByRole('button', { name: 'Send' }).click();
    await comments(page).getByText('<b>Mitosis?</b>').waitFor();
    const [comment] = await stored();
    expect(comment).toMatchObject({ text: '<b>Mitosis?</b> @bert', mentions: [{ login: 'bert' }], shape: null });
    expect((comment!.place as { x: number }).x).toBeGreaterThan(0);
    await marks(page).getByRole('button', { name: 'Comment by First anna: <b>Mitosis?</b> @bert' }).waitFor();
    expect(page.url()).toContain(`comment=${String(comment!._id)}`);
    expect(await violationsOf(page)).toEqual([]);
    await page.context().close();
  });

  it('are written about the whole image and the middle of the view with the keyboard alone', async () => {
    await newItem();
    const page = await open(bert, `#item/${item}`);
    await openSection(page);
    await page.getByRole('button', { name: 'New comment' }).press('Enter');
    await page.keyboard.type('Out of focus');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await comments(page).getByText('Out of focus').waitFor();
    await page.getByRole('button', { name: 'New comment' }).press('Enter');
    await page.keyboard.type('Here');
    await page.getByLabel('About', { exact: true }).selectOption('The marked position');
    await page.getByRole('button', { name: 'Send' }).first().press('Enter');
    await comments(page).getByText('Here', { exact: true }).waitFor();
    expect((await stored()).map(({ place }) => place === null)).toEqual([false, true]);
    const mark = marks(page).getByRole('button', { name: 'Comment by First bert: Here' });
    await mark.focus();
    await page.keyboard.press('Enter');
    await page.context().close();
  });

  it('are attached to a shape, and say so when the shape is deleted', async () => {
    await newItem();
    const rectangle = { type: 'rectangle', center: [256, 256, 0], width: 400, height: 400, rotation: 0, id: elementId(1) };
    const json = { name: 'Tumor', elements: [{ ...rectangle, fillColor: 'rgba(255, 0, 0, 0.5)' }] };
    const annotation = await anna.ok('POST', '/annotation', { query: { itemId: item }, json });
    const page = await open(anna, `#item/${item}?at=256,256,600`);
    await openSection(page);
    await page.getByRole('list', { name: 'Annotations' }).getByText('Tumor').first().waitFor();
    await page.getByRole('button', { name: 'New comment' }).click();
    const at = await middle(page);
    await until('the shape is under the pointer', async () => {
      await page.mouse.click(at.x, at.y);
      return (await page.getByLabel('About', { exact: true }).inputValue()) === 'shape';
    });
    await page.getByRole('textbox', { name: 'Comment' }).fill('Too large');
    await page.getByRole('button', { name: 'Send' }).click();
    await comments(page).getByText('Too large').waitFor();
    expect(await stored()).toMatchObject([{ shape: { annotationId: annotation._id, elementId: elementId(1), available: true } }]);
    await anna.ok('DELETE', `/annotation/${String(annotation._id)}`);
    await page.reload();
    await comments(page).getByText('The shape was deleted, or you cannot see it.').waitFor();
    await page.context().close();
  });

  it('have replies, are resolved, edited and deleted, and changes of others appear', async () => {
    await newItem();
    await write(bert, { text: 'Old', place: { x: 10, y: 10 } });
    await write(bert, { text: 'Question', place: { x: 100, y: 100 } });
    const page = await open(anna, `#item/${item}`);
    const question = comments(page).getByRole('listitem').filter({ hasText: 'Question' });
    await question.getByRole('button', { name: 'Reply to First bert' }).click();
    await question.getByRole('textbox', { name: 'Reply' }).fill('Answer');
    await question.getByRole('button', { name: 'Send' }).click();
    const replies = page.getByRole('list', { name: '1 reply' });
    await replies.getByText('Answer').waitFor();
    await replies.getByRole('button', { name: 'Edit' }).click();
    await replies.getByRole('textbox', { name: 'Comment' }).fill('Better answer');
    await replies.getByRole('button', { name: 'Save' }).click();
    await replies.getByText('Better answer').waitFor();
    // Comments of others cannot be edited, but an administrator of the folder can delete them.
    expect(await question.getByRole('button', { name: 'Edit' }).count()).toBe(1);
    await question.getByRole('button', { name: 'Resolve' }).click();
    await question.getByText(/^Resolved by First anna/).waitFor();
    await page.getByLabel('Show comments').selectOption('Resolved');
    await comments(page).getByText('Question').waitFor();
    await comments(page).getByText('Old').waitFor({ state: 'detached' });
    await page.getByLabel('Show comments').selectOption('All');
    await comments(page).getByText('Old').waitFor();
    await comments(page).getByRole('button', { name: '1 reply' }).click();
    await page.getByRole('list', { name: '1 reply' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Better answer').waitFor({ state: 'detached' });
    await write(bert, { text: 'From elsewhere' });
    await comments(page).getByText('From elsewhere').waitFor();
    // A thread need not be opened for that.
    const old = comments(page).getByRole('listitem').filter({ hasText: 'Old' });
    await old.getByRole('button', { name: 'Resolve' }).click();
    await old.getByText(/^Resolved by First anna/).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.context().close();
  });

  it('are read-only for users who cannot annotate', async () => {
    await newItem();
    await write(anna, { text: 'Look', place: { x: 5, y: 5 } });
    const page = await open(rita, `#item/${item}`);
    await comments(page).getByText('Look').waitFor();
    expect(await page.getByRole('button', { name: /New comment|Reply|Resolve/ }).count()).toBe(0);
    const link = await anna.ok('POST', `/item/${item}/link`, { json: { opens: ['view'] } });
    const guest = await open(rita, `#view/${String(link.token)}`);
    await guest.getByRole('heading', { name: 'slide.tif' }).waitFor();
    await guest.getByText('Image', { exact: true }).waitFor();
    expect(await guest.getByText('Look').count()).toBe(0);
    expect(await guest.getByText('Comments', { exact: true }).count()).toBe(0);
    await guest.context().close();
    await page.context().close();
  });

  it('are counted in the inbox, and opened from there at their position', async () => {
    await newItem('inbox.tif');
    const id = await write(bert, { text: 'Please look, @rita', place: { x: 100, y: 120 } });
    const other = await write(bert, { text: 'And here, @rita' });
    const page = await open(rita, '#');
    const link = page.getByRole('link', { name: 'Inbox 2 unread' });
    await link.click();
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    const entry = page.getByRole('list', { name: 'Inbox' }).getByRole('listitem').filter({ hasText: 'Please look' });
    await entry.getByText('First bert mentioned you on').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await entry.getByRole('link', { name: 'inbox.tif' }).click();
    await comments(page).getByText('Please look').waitFor();
    await page.getByRole('link', { name: 'Inbox 1 unread' }).waitFor();
    await until('the address names the place', async () => /at=100,120/.test(decodeURIComponent(page.url())));
    expect(page.url()).toContain(`comment=${id}`);
    await page.getByRole('link', { name: 'Inbox 1 unread' }).click();
    await page.getByLabel('Only unread').check();
    await until('one is left', async () => (await page.getByRole('list', { name: 'Inbox' }).getByRole('listitem').count()) === 1);
    await page.getByRole('button', { name: 'Mark all as read' }).click();
    await page.getByText('No unread comments').waitFor();
    await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor();
    await page.goto(`${testHost.url}/#item/${item}?comment=${other}`);
    await comments(page).getByText('And here').waitFor();
    await anna.ok('DELETE', `/comment/${other}`);
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${item}?comment=${other}`);
    await page.getByText('This comment no longer exists.').waitFor();
    await page.context().close();
  });

  it('work by touch on a phone in dark mode', async () => {
    await newItem();
    await write(bert, { text: 'Here', place: { x: 256, y: 256 } });
    const options = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: 'dark' as const };
    const page = await open(anna, `#item/${item}`, options);
    await marks(page).getByRole('button', { name: 'Comment by First bert: Here' }).tap();
    await comments(page).getByRole('button', { name: 'Close' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect(await violationsOf(page)).toEqual([]);
    await page.context().close();
    await until('no complaints', async () => complaints.length === 0);
  });
});
