import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
const hostile = '<b onclick="x">"quoted" & 慢 %2F';

describe.skipIf(executablePath === null)('files, sharing and accounts on the page', () => {
  let testHost: TestHost;
  let admin: Client;
  let otto: Client;
  let collection: string;
  let folder: string;
  let target: string;
  let browser: Browser;
  let page: Page;
  let complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    otto = await testHost.register('otto');
    collection = await admin.create('/collection', { name: 'Slides', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Kidney' });
    target = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Archive' });
    for (const name of ['block 10', 'block 9']) await admin.create('/folder', { parentType: 'folder', parentId: folder, name });
    for (const name of ['slide 10.txt', 'slide 9.txt', 'slide 11.txt', hostile])
      await admin.create('/item', { folderId: folder, name });
    browser = await launchChromium(executablePath!);
    page = await pageOf(admin);
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  beforeEach(() => {
    complaints = [];
  });

  /** A page on which a user is signed in. */
  async function pageOf(client: Client) {
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
    const storeToken = `localStorage.getItem('token /api/v1') ?? localStorage.setItem('token /api/v1', '${client.token}')`;
    await context.addInitScript(`if (location.protocol === 'http:') ${storeToken}`);
    const opened = await context.newPage();
    opened.setDefaultTimeout(300_000);
    opened.on('pageerror', (error) => complaints.push(error.message));
    return opened;
  }

  const open = async (address: string, heading: string) => {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#${address}`);
    await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
  };
  const dialog = () => page.getByRole('dialog');
  const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true }).click();
  const closed = () => dialog().waitFor({ state: 'detached' });
  const bar = () => page.getByRole('region', { name: 'Selection' });
  const select = (name: string) => page.getByLabel(`Select ${name}`, { exact: true });
  const names = (list: string) => page.locator(list).allInnerTexts();
  const itemNames = async (id: string) => {
    const items = (await admin.ok('GET', '/item', { query: { folderId: id, sort: 'naturalName' } })) as unknown as {
      name: string;
    }[];
    return items.map(({ name }) => name);
  };

  const loginsOf = async (group?: string) => {
    const members = (await admin.ok('GET', `/group/${group}/member`)) as unknown as { login: string }[];
    return members.map(({ login }) => login).toSorted();
  };

  it('sorts numbers in names by their value', async () => {
    await open(`folder/${folder}`, 'Kidney');
    await page.locator('.card').nth(3).waitFor();
    expect(await names('.place-name')).toEqual(['block 9', 'block 10']);
    expect((await names('.card-name')).slice(1)).toEqual(['slide 9.txt', 'slide 10.txt', 'slide 11.txt']);
  });

  it('tries only those selected files again that have a reason why they are not shown', async () => {
    const items = testHost.host.context.models.item.collection;
    const refuse = (name: string, reason: string) => items.updateOne({ name }, { $set: { largeImageRefused: reason } });
    await refuse('slide 9.txt', 'It is no image.');
    await refuse('slide 10.txt', '');
    await open(`folder/${folder}`, 'Kidney');
    await select('slide 9.txt').check();
    await select('slide 10.txt').check();
    await bar().getByRole('button', { name: 'Try again' }).click();
    await dialog().getByText('slide 9.txt', { exact: true }).waitFor();
    await items.updateMany({}, { $unset: { largeImageRefused: 1 } });
  });

  it('selects with checkboxes, Shift and keys, wherever the focus is, and shows the last page for an address beyond it', async () => {
    await open(`folder/${folder}?items=7`, 'Kidney');
    await page.waitForURL(/#folder\/\w+$/);
    await page.getByText('4 items').waitFor();
    await page.locator('.card').nth(3).waitFor();
    await page.locator('main').focus();
    await page.keyboard.press('Control+a');
    await bar().getByText('6 selected').waitFor();
    await page.keyboard.press('Escape');
    await bar().waitFor({ state: 'hidden' });
    await select('slide 9.txt').check();
    await bar().getByText('1 selected').waitFor();
    await select('slide 11.txt').click({ modifiers: ['Shift'] });
    await bar().getByText('3 selected').waitFor();
    await page.keyboard.press('Escape');
    await bar().waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+a');
    await bar().getByText('6 selected').waitFor();
    const href = await bar().getByRole('link', { name: 'Download' }).getAttribute('href');
    const zip = await fetch(`${testHost.url}${href}`, { headers: { 'Girder-Token': admin.token! } });
    expect([zip.status, zip.headers.get('content-type')]).toEqual([200, 'application/zip']);
    await zip.arrayBuffer();
    await page.keyboard.press('Escape');
    expect(complaints).toEqual([]);
  });

  it('renames and edits metadata of the selection, and keeps refused entries selected', async () => {
    await select(hostile).check();
    await page.keyboard.press('F2');
    await dialog().getByLabel('Name', { exact: true }).fill('renamed & more');
    for (const [key, value] of [
      ['stain', 'H&E'],
      ['thickness', '4'],
      // A number would lose digits.
      ['block', '20231234567890123456'],
      // `null` would remove the value.
      ['stage', 'null'],
      ['a.b', hostile],
    ] as const) {
      await inDialog('Add a value');
      await dialog().locator('.metadata-rows li').last().locator('input').fill(key);
      await dialog().locator('.metadata-rows li').last().locator('textarea').fill(value);
    }
    await page.setViewportSize({ width: 1200, height: 400 });
    await inDialog('Save');
    const reason = dialog().getByRole('alert').getByText('keys must not contain the "." character');
    await reason.waitFor();
    const isSeen = 'document.querySelector(".form-error").getBoundingClientRect().bottom <= innerHeight';
    await until('the reason is in sight', () => page.evaluate<boolean>(isSeen));
    await page.setViewportSize({ width: 1200, height: 900 });
    await inDialog('Remove value 5');
    await inDialog('Add a value');
    await dialog().locator('.metadata-rows li').last().locator('input').fill('stain');
    await inDialog('Save');
    await dialog().getByText('The name “stain” is used twice.').waitFor();
    await inDialog('Remove value 5');
    await inDialog('Save');
    await closed();
    await page.getByRole('link', { name: 'renamed & more' }).waitFor();
    const [item] = (await admin.ok('GET', '/item', {
      query: { folderId: folder, name: 'renamed & more' },
    })) as unknown as object[];
    expect(item).toMatchObject({ meta: { stain: 'H&E', thickness: 4, block: '20231234567890123456', stage: 'null' } });
    const rename = async (name: string, to: string) => {
      await select(name).check();
      await page.keyboard.press('F2');
      await dialog().getByLabel('Name', { exact: true }).fill(to);
      await inDialog('Save');
      await closed();
    };
    await rename('renamed & more', 'slide 9.txt');
    await page.getByText('That name is taken. It is now called “slide 9.txt (1)”.').waitFor();
    await rename('slide 9.txt (1)', 'renamed & more');
    await page.getByRole('link', { name: 'renamed & more' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('copies, moves and deletes several at once', async () => {
    const place = async (...chosen: string[]) => {
      for (const name of chosen) await select(name).check();
      await bar().getByRole('button', { name: 'Move or copy' }).click();
      await inDialog('Copy here');
      await dialog().getByRole('alert').getByText('Choose a folder first.').waitFor();
      await inDialog('Slides');
      await inDialog('Archive');
      await dialog().getByTestId('picker-path').getByText('Archive').waitFor();
    };
    // The renamed file is still selected.
    await bar().getByText('1 selected').waitFor();
    await page.keyboard.press('Escape');
    await place('slide 9.txt', 'block 9');
    await inDialog('Copy here');
    await closed();
    expect(await itemNames(target)).toEqual(['slide 9.txt']);
    await page.keyboard.press('Escape');
    await open(`folder/${folder}`, 'Kidney');
    await place('slide 10.txt', 'slide 11.txt');
    await inDialog('Move here');
    await closed();
    expect(await itemNames(target)).toEqual(['slide 9.txt', 'slide 10.txt', 'slide 11.txt']);
    await select('slide 10.txt').waitFor({ state: 'detached' });
    await select('slide 9.txt').check();
    await page.keyboard.press('Delete');
    await dialog().getByText('Move “slide 9.txt” to the trash?').waitFor();
    await inDialog('Move to trash');
    await closed();
    await select('slide 9.txt').waitFor({ state: 'detached' });
    expect(await itemNames(folder)).toEqual(['renamed & more']);
    // Folders, unlike items, may also go into a collection itself.
    await select('block 10').check();
    await bar().getByRole('button', { name: 'Move or copy' }).click();
    await inDialog('Slides');
    await inDialog('Move here');
    await closed();
    const moved = { query: { path: '/collection/Slides/block 10' } };
    expect((await admin.ok('GET', '/resource/lookup', moved)).name).toBe('block 10');
    expect(complaints).toEqual([]);
  });

  it('keeps the folders of an upload', async () => {
    await page.evaluate(`(() => {
      const input = document.querySelector('input[type=file]');
      const file = new File(['x'], 'deep.txt', { type: 'text/plain' });
      Object.defineProperty(file, 'webkitRelativePath', { value: 'case 7/block A/deep.txt' });
      Object.defineProperty(input, 'files', { value: [file], configurable: true });
      input.dispatchEvent(new Event('change'));
    })()`);
    await page.locator('.upload').filter({ hasText: 'deep.txt' }).getByText('Uploaded').waitFor();
    const uploaded = await admin.ok('GET', '/resource/lookup', {
      query: { path: '/collection/Slides/Kidney/case 7/block A/deep.txt' },
    });
    expect(uploaded.name).toBe('deep.txt');
    await page.getByRole('link', { name: 'case 7' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('requests thumbnails one after the other when many images are uploaded', async () => {
    let [open, most, requestCount] = [0, 0, 0];
    await page.route(/tiles\/thumbnail/, async (route) => {
      if (route.request().resourceType() !== 'fetch') return route.continue();
      open += 1;
      requestCount += 1;
      most = Math.max(most, open);
      const answer = await route.fetch();
      await wait(400);
      open -= 1;
      await route.fulfill({ response: answer });
    });
    const background = { r: 90, g: 40, b: 120 };
    const buffer = await sharp({ create: { width: 64, height: 64, channels: 3, background } })
      .png()
      .toBuffer();
    const names = [1, 2, 3, 4, 5, 6].map((number) => `many ${number}.png`);
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles(names.map((name) => ({ name, mimeType: 'image/png', buffer })));
    await until('the page has asked for each', () => requestCount === names.length && open === 0);
    expect(most).toBe(1);
    await page.unroute(/tiles\/thumbnail/);
    for (const name of names) await page.getByLabel(`Select ${name}`).check();
    await page.keyboard.press('Delete');
    await inDialog('Move to trash');
    await closed();
    expect(complaints).toEqual([]);
  });

  it('states the size limit of files in the same units as the rest of the page', async () => {
    const key = 'core.upload_maximum_size';
    await admin.ok('PUT', '/system/setting', { query: { key, value: '1000' } });
    const file = { name: 'long.txt', mimeType: 'text/plain', buffer: Buffer.alloc(2000) };
    await page.locator('input[type=file]').first().setInputFiles(file);
    await page.getByText(`A file may have at most 1 kB (${key}), not 2 kB.`).first().waitFor();
    await admin.ok('DELETE', '/system/setting', { query: { key } });
    expect(complaints).toEqual([]);
  });

  it('finds by words and by the start of names, and shows the path of each result', async () => {
    await page.keyboard.press('/');
    await page.getByLabel('Search everything').fill('sli');
    await page.locator('.card').filter({ hasText: 'slide 10.txt' }).getByText('Slides / Archive').waitFor();
    await page.getByRole('link', { name: 'Slides', exact: true }).waitFor();
    const years = await admin.create('/folder', { parentType: 'folder', parentId: target, name: '25/26 \\ left' });
    await admin.create('/item', { folderId: years, name: 'sliver.txt' });
    await page.getByLabel('Search everything').fill('sliv');
    await page.getByText('Slides / Archive / 25/26 \\ left', { exact: true }).waitFor();
    await page.getByLabel('Search everything').fill(hostile);
    await page.getByText(`Nothing found for “${hostile}”`).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shares a folder with a user, and shows others their permissions', async () => {
    await admin.ok('PUT', `/folder/${folder}/access`, {
      form: { access: JSON.stringify({ users: [{ id: admin.id, level: 2, flags: [] }], groups: [] }), public: 'false' },
    });
    const theirs = await pageOf(otto);
    await theirs.goto(`${testHost.url}/#folder/${folder}`);
    await theirs.getByRole('heading', { name: 'You have no access to this' }).waitFor();
    expect(await theirs.locator('main').innerText()).toContain('You are signed in as First otto.');
    expect(await theirs.locator('main').innerText()).not.toContain(folder);

    const [first] = (await admin.ok('GET', '/item', { query: { folderId: folder } })) as unknown as {
      _id: string;
      name: string;
    }[];
    const json = { name: 'Regions', elements: [] };
    const { _id: annotation } = await admin.ok('POST', '/annotation', { query: { itemId: first!._id }, json });
    await admin.ok('PUT', `/folder/${folder}/access`, {
      form: { access: JSON.stringify({ users: [admin, otto].map(({ id }) => ({ id, level: 2 })), groups: [] }) },
    });
    const { _id: his } = await otto.ok('POST', '/annotation', { query: { itemId: first!._id }, json });
    await admin.ok('PUT', `/folder/${folder}/access`, {
      form: { access: JSON.stringify({ users: [{ id: admin.id, level: 2, flags: [] }], groups: [] }) },
    });
    await open(`folder/${folder}`, 'Kidney Private');
    await page.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog().getByLabel('Apply to annotations inside').check();
    await dialog().getByLabel('Add a person or group').fill('Ott');
    await dialog().getByRole('button', { name: 'First otto (otto)' }).click();
    await dialog().getByLabel('Permissions of First otto').selectOption({ label: 'Can view and annotate' });
    await inDialog('Save');
    await closed();
    const { users } = (await admin.ok('GET', `/folder/${folder}/access`)) as unknown as { users: object[] };
    expect(users).toContainEqual(expect.objectContaining({ login: 'otto', level: 0, flags: ['large_image_create_annotations'] }));
    expect((await otto.send('GET', `/annotation/${String(annotation)}`)).status).toBe(200);
    // He may change his own annotation, although he has fewer rights in the folder.
    expect((await otto.send('PATCH', `/annotation/${String(annotation)}`, { json: [] })).status).toBe(403);
    expect((await otto.send('PATCH', `/annotation/${String(his)}`, { json: [] })).status).toBe(204);
    await theirs.getByRole('heading', { name: 'Kidney Private' }).waitFor();
    expect(await theirs.getByRole('button', { name: 'Share' }).count()).toBe(0);

    await theirs.getByLabel(`Select ${first!.name}`).focus();
    const sub = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Made by somebody else' });
    await theirs.getByRole('link', { name: 'Made by somebody else' }).waitFor();
    await until('the focus is where it was', () =>
      theirs.evaluate(`document.activeElement.ariaLabel === ${JSON.stringify(`Select ${first!.name}`)}`),
    );
    await admin.ok('DELETE', `/folder/${sub}`);
    await admin.ok('PUT', `/item/${first!._id}`, { query: { name: 'renamed by somebody else' } });
    await theirs.getByRole('link', { name: 'renamed by somebody else' }).first().waitFor();
    expect(await theirs.getByRole('link', { name: 'Made by somebody else' }).count()).toBe(0);
    await admin.ok('PUT', `/item/${first!._id}`, { query: { name: first!.name } });
    await admin.ok('PUT', `/folder/${folder}/access`, {
      form: { access: JSON.stringify({ users: [{ id: admin.id, level: 2, flags: [] }], groups: [] }), public: 'false' },
    });
    await theirs.getByRole('heading', { name: 'You have no access to this' }).waitFor();
    await theirs.context().close();
    expect(complaints).toEqual([]);
  });

  it('creates users and groups, and adds a user to a group', async () => {
    await open('admin/people', 'Administration');
    await page.getByRole('button', { name: 'New user' }).click();
    await dialog().getByLabel('Login').fill('x');
    for (const [label, value] of [
      ['Email', 'pia@example.org'],
      ['First name', 'Pia'],
      ['Last name', 'Pohl'],
      ['Password', 'pia.password'],
    ] as const)
      await dialog().getByLabel(label).fill(value);
    await dialog().getByLabel('Login').fill('pia.pohl');
    await inDialog('Create account');
    await closed();
    await page.setViewportSize({ width: 390, height: 700 });
    const box = (locator: Locator) => locator.boundingBox();
    const edit = (await box(page.getByRole('button', { name: 'Edit “Pia Pohl”' })))!;
    const frame = (await box(page.locator('.table-frame')))!;
    expect(edit.x + edit.width, 'the actions are within sight').toBeLessThanOrEqual(frame.x + frame.width);
    await page.keyboard.press('?');
    expect((await box(dialog().locator('dd').first()))!.width, 'explanations have room').toBeGreaterThan(150);
    await page.keyboard.press('Escape');
    await closed();
    await page.setViewportSize({ width: 1200, height: 900 });
    await page.getByRole('button', { name: 'Edit “Pia Pohl”' }).click();
    await dialog().getByLabel('Status').selectOption({ label: 'Disabled' });
    await inDialog('Save');
    await closed();
    await page
      .getByRole('row', { name: /Pia Pohl/ })
      .getByText('Disabled')
      .waitFor();
    await page.getByRole('button', { name: 'Edit “Pia Pohl”' }).click();
    await dialog().getByLabel('Status').selectOption({ label: 'Active' });
    await inDialog('Save');
    await closed();
    await page.getByRole('button', { name: 'Edit “Pia Pohl”' }).click();
    await inDialog('Set password');
    await dialog().getByLabel('New password').fill('another one');
    await inDialog('Set password');
    await closed();
    const basic = `Basic ${Buffer.from('pia.pohl:another one').toString('base64')}`;
    const signedIn = await fetch(`${testHost.url}/api/v1/user/authentication`, { headers: { Authorization: basic } });
    expect(signedIn.status).toBe(200);

    await page.getByRole('link', { name: 'Groups' }).click();
    await page.getByRole('button', { name: 'New group' }).click();
    await dialog().getByLabel('Name').fill(hostile);
    await inDialog('Create group');
    await closed();
    await page.getByRole('button', { name: `Members of “${hostile}”` }).click();
    await dialog().getByLabel('Add a person').fill('Pia');
    await dialog().getByRole('button', { name: 'Pia Pohl (pia.pohl)' }).click();
    await dialog().getByRole('button', { name: 'Remove Pia Pohl' }).waitFor();
    const [group] = (await admin.ok('GET', '/group')) as unknown as { _id: string }[];
    expect(await loginsOf(group?._id)).toEqual(['anna', 'pia.pohl']);
    await dialog().getByLabel('Invite only').check();
    await dialog().getByLabel('Add a person').fill('ott');
    await dialog().getByRole('button', { name: 'First otto (otto)' }).click();
    await dialog().getByText('is invited').waitFor();
    const theirs = await pageOf(otto);
    await theirs.goto(`${testHost.url}/#user/${otto.id}`);
    await theirs.getByText(`You are invited to join the group “${hostile}”.`).waitFor();
    await theirs.getByRole('button', { name: 'Join' }).click();
    await theirs.getByRole('button', { name: 'Join' }).waitFor({ state: 'detached' });
    await theirs.context().close();
    expect(await loginsOf(group?._id)).toEqual(['anna', 'otto', 'pia.pohl']);
    await inDialog('Close');
    expect(complaints).toEqual([]);
  });

  it('describes the state and capacity of the server in plain words', async () => {
    await page.getByRole('link', { name: 'Server', exact: true }).click();
    const panel = page.getByRole('region', { name: 'Server' });
    await until('it is told', async () => /OK[\s\S]* free of /.test(await panel.innerText()));
  });

  it('changes one’s own password and stays signed in', async () => {
    await open(`user/${admin.id}`, 'First anna');
    await page.getByRole('button', { name: 'Change password' }).click();
    await dialog().getByLabel('Current password').fill('wrong one');
    await dialog().getByLabel('New password').fill('anna.other');
    await inDialog('Change password');
    await dialog().getByRole('alert').getByText('Old password is incorrect.').waitFor();
    await dialog().getByLabel('Current password').fill('anna.password');
    await inDialog('Change password');
    await closed();
    await open('admin', 'Administration');
    expect(complaints).toEqual([]);
  });
});
