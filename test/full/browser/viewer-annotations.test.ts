import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addNuclei } from '../../../src/reference-host/start/content/nuclei.js';
import { makeSyntheticSlide } from '../../../src/reference-host/synthetic-slide/slide.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { onErrors, colorsAt, inkOf, signIn, stageOf, watchInk } from '../../support/pages/stage.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the slide, in pixels. */
const size = 2048;

interface Shape {
  id: string;
  type: string;
  closed?: boolean;
  points?: number[][];
  center?: number[];
  width?: number;
  height?: number;
  group?: string;
  label?: { value: string };
  lineColor?: string;
}

interface Stored {
  _id: string;
  _version: number;
  _elementCount: number;
  annotation: { name: string; elements: Shape[] };
}

describe.skipIf(executablePath === null)('the page of an image with annotations', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let folder: string;
  let folderId: string;
  let itemId: string;
  let complaints: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'viewer-annotations-'));
    const path = join(folder, 'slide.tiff');
    await makeSyntheticSlide(path, { size });
    testHost = await startHost();
    admin = await testHost.register('anna');
    folderId = await newFolder(admin, 'Slides', true);
    const { context } = testHost.host;
    const parent = await context.models.folder.findById(folderId).lean();
    const { item } = await testHost.host.registerFileInPlace({ path, folder: parent!, itemName: 'slide', creatorId: null });
    itemId = item._id.toHexString();
    browser = await launchChromium(executablePath!);
    page = await open();
    await signIn(page, testHost.url, 'anna');
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(() => {
    complaints = [];
  });

  async function open(): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 850 } });
    await watchInk(context);
    const opened = await context.newPage();
    opened.setDefaultTimeout(300_000);
    onErrors(opened, (text) => complaints.push(text));
    return opened;
  }

  /** Width of the stage: the width of the window without the panel. */
  let stageWidth: number | null = null;

  /** Reopens the slide with its center in the center of the stage, at a zoom. */
  async function openCentered(on: Page, zoom: number, { anew = true } = {}) {
    const open = async (query: string) => {
      if (anew) await on.goto('about:blank');
      await on.goto(`${testHost.url}/#item/${itemId}${query}`);
      await on.getByRole('list', { name: 'Annotations' }).waitFor();
    };
    if (stageWidth === null) {
      await open('');
      ({ width: stageWidth } = await until('the stage is there', () => on.locator('.stage').boundingBox()));
    }
    await open(`?at=${size / 2},${size / 2},${stageWidth / zoom}`);
  }

  const drag = (...places: Parameters<ReturnType<typeof stageOf>['drag']>) => stageOf(page).drag(...places);
  const click = (x: number, y: number) => stageOf(page).click(x, y);
  const tool = (name: string) => page.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button', { name }).click();
  const row = (name: string) => page.locator('.annotation').filter({ hasText: name });

  async function stored(name: string, of = itemId): Promise<Stored> {
    const [annotation] = (await admin.ok('GET', '/annotation', { query: { itemId: of, name } })) as unknown as Stored[];
    if (annotation === undefined) throw new Error(`There is no annotation ${name}.`);
    return (await admin.ok('GET', `/annotation/${annotation._id}`)) as unknown as Stored;
  }

  /** All annotations of the item, without elements. */
  async function allAnnotations() {
    return (await admin.ok('GET', '/annotation', { query: { itemId, limit: 0 } })) as unknown as Stored[];
  }

  async function save() {
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('All changes are saved.').waitFor();
  }

  it('creates an annotation and draws shapes of every kind in groups, which are there after a reload', async () => {
    await openCentered(page, 1);
    await page.getByText('No annotations yet.').waitFor();
    // The first shape needs no annotation: one is created, and removed again if nothing is drawn.
    expect(await page.getByRole('button', { name: 'Eraser' }).isVisible()).toBe(false);
    await tool('Rectangle');
    await row('Annotation 1').getByText('All changes are saved.').waitFor();
    await page.getByRole('button', { name: 'Stop editing Annotation 1' }).click();
    await page.getByText('No annotations yet.').waitFor();
    await until('the empty annotation is gone', async () => (await allAnnotations()).length === 0);
    await page.locator('[role=application]').focus();
    // A shape that is drawn before the annotation has been made is not lost.
    let make: () => void;
    const untilDrawn = new Promise<void>((resolve) => (make = resolve));
    await page.route(/annotation[?]itemId=[^&]*$/, (route) => untilDrawn.then(() => route.continue()), { times: 1 });
    await page.keyboard.press('r');
    await drag([-300, -200], [-200, -140]);
    make!();
    await row('Annotation 1').getByText('1 unsaved change', { exact: true }).waitFor();
    await save();
    expect((await stored('Annotation 1'))._elementCount).toBe(1);
    await page.getByRole('button', { name: 'Stop editing Annotation 1' }).click();
    await admin.ok('DELETE', `/annotation/${(await stored('Annotation 1'))._id}`);
    await page.getByText('No annotations yet.').waitFor();
    await page.getByRole('button', { name: 'New annotation' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Regions <b>&');
    await page.getByRole('button', { name: 'Create annotation' }).click();
    await row('Regions <b>&').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('New annotation');

    await tool('Rectangle');
    await drag([-300, -200], [-200, -140]);
    await page.getByLabel('Name of a new group').fill('tumor');
    await page.getByRole('button', { name: 'Add group' }).click();
    await tool('Ellipse');
    await drag([-100, -200], [20, -120]);
    await tool('Polygon');
    for (const [x, y] of [
      [100, -200],
      [220, -190],
      [160, -100],
    ] as const)
      await click(x, y);
    await page.keyboard.press('Enter');
    await page.getByLabel('Label').fill('a <i>triangle</i>');
    await page.getByLabel('Label').press('Enter');
    await tool('Line');
    for (const [x, y] of [
      [-300, 50],
      [-250, 120],
      [-180, 60],
    ] as const)
      await click(x, y);
    await page.keyboard.press('Enter');
    await tool('Point');
    await click(0, 80);
    await page.keyboard.press('Escape');
    await page.getByText('5 unsaved changes').waitFor();
    await save();

    const { annotation, _elementCount } = await stored('Regions <b>&');
    expect(_elementCount).toBe(5);
    const [rectangle, ellipse, polygon, line, point] = annotation.elements;
    expect(rectangle).toMatchObject({ type: 'rectangle', lineColor: '#ffb000' });
    const middle = size / 2;
    expect(Math.abs(rectangle!.center![0]! - (middle - 250))).toBeLessThan(2);
    expect(Math.abs(rectangle!.center![1]! - (middle - 170))).toBeLessThan(2);
    expect(Math.abs(rectangle!.width! - 100)).toBeLessThan(2);
    expect(rectangle!.group).toBeUndefined();
    expect(ellipse).toMatchObject({ type: 'ellipse', group: 'tumor', lineColor: '#0072b2' });
    expect(polygon).toMatchObject({ type: 'polyline', closed: true, label: { value: 'a <i>triangle</i>' } });
    expect(polygon!.points).toHaveLength(3);
    expect(line).toMatchObject({ type: 'polyline', closed: false });
    expect(line!.points).toHaveLength(3);
    expect(point).toMatchObject({ type: 'point', group: 'tumor' });

    await page.reload();
    await row('Regions <b>&').getByText('5', { exact: true }).waitFor();
    await until('the shapes are drawn', async () => (await inkOf(page)) > 1000);
    await page.getByRole('checkbox', { name: 'Regions' }).uncheck();
    await until('nothing is drawn', async () => (await inkOf(page)) === 0);
    await page.getByRole('checkbox', { name: 'Regions' }).check();
    await until('the shapes are drawn', async () => (await inkOf(page)) > 1000);
    expect(complaints).toEqual([]);
  });

  it('notices that someone else deleted a new annotation before the server reported it', async () => {
    const other = await open();
    // The server compares states every two seconds, and says nothing if they are equal.
    await other.addInitScript(`{
      const ask = window.fetch;
      window.fetch = async (address, init) => {
        const response = await ask(address, init);
        if (!String(address).includes('annotation/events')) return response;
        const reader = response.body.getReader();
        const { value } = await reader.read();
        void reader.cancel();
        return new Response(new ReadableStream({
          start(stream) {
            stream.enqueue(value);
            setInterval(() => stream.enqueue(new TextEncoder().encode(': still here\\n\\n')), 10_000);
          },
        }));
      };
    }`);
    await signIn(other, testHost.url, 'anna');
    await openCentered(other, 1);
    await other.getByRole('button', { name: 'New annotation' }).click();
    await other.getByLabel('Name', { exact: true }).fill('Short-lived');
    await other.getByRole('button', { name: 'Create annotation' }).click();
    const shortLived = other.locator('.annotation').filter({ hasText: 'Short-lived' });
    await shortLived.waitFor();
    await admin.ok('DELETE', `/annotation/${(await stored('Short-lived'))._id}`);
    await shortLived.waitFor({ state: 'detached' });
    await other.context().close();
  });

  it('changes the color of a group and its shapes while it is edited, and counts shapes by group', async () => {
    const box = {
      type: 'rectangle',
      width: 20,
      height: 20,
      lineColor: '#ff0000',
      fillColor: 'rgba(255, 0, 0, 0.4)',
      group: 'dyed',
    };
    const elements = [
      { ...box, center: [40, 40, 0] },
      { ...box, center: [80, 40, 0] },
      { ...box, center: [120, 40, 0], group: 'other' },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Recolored', elements } });
    await row('Recolored').waitFor();
    await page.getByRole('button', { name: 'Edit Recolored' }).click();
    const dyed = row('Recolored').getByRole('listitem').filter({ hasText: 'dyed' });
    await dyed.getByText('2', { exact: true }).waitFor();
    await dyed.getByRole('radio').check();
    await tool('Point');
    await click(0, 300);
    await page.keyboard.press('Escape');
    await dyed.getByText('3', { exact: true }).waitFor();
    const color = page.getByLabel('Color of dyed');
    await color.fill('#0000ff');
    await row('Recolored').getByText('3 unsaved changes').waitFor();
    await row('Recolored').getByRole('button', { name: 'Undo' }).click();
    await row('Recolored').getByText('1 unsaved change', { exact: true }).waitFor();
    expect(await color.inputValue()).toBe('#ff0000');
    await row('Recolored').getByRole('button', { name: 'Redo' }).click();
    await until('the group has its color again', async () => (await color.inputValue()) === '#0000ff');
    await save();
    const { annotation, _id: id } = await stored('Recolored');
    expect(annotation.elements.map(({ lineColor }) => lineColor)).toEqual(['#0000ff', '#0000ff', '#ff0000', '#0000ff']);
    expect(annotation.elements[0]).toMatchObject({ fillColor: '#0000ff66' });
    await page.getByRole('button', { name: 'Stop editing Recolored' }).click();
    await admin.ok('DELETE', `/annotation/${id}`);
    await row('Recolored').waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });

  it('moves, reshapes and removes shapes, and sends only these changes', async () => {
    const before = (await stored('Regions <b>&')).annotation.elements;
    await page.getByRole('button', { name: 'Edit Regions' }).click();
    await click(-250, -170);
    await page.getByLabel('Label').waitFor();
    await drag([-250, -170], [-230, -130]);
    await click(160, -160);
    await drag([160, -100], [160, -60]);
    await click(-215, 85);
    await page.getByRole('button', { name: 'Delete shape' }).waitFor();
    await page.keyboard.press('Delete');
    await page.getByText('3 unsaved changes').waitFor();
    const sending = page.waitForRequest((request) => request.method() === 'PATCH');
    await save();
    const sent = (await sending).postDataJSON() as { put: Shape[]; remove: string[] };
    expect(sent.put.map(({ id }) => id)).toEqual([before[0]!.id, before[2]!.id]);
    expect(sent.remove).toEqual([before[3]!.id]);
    const after = (await stored('Regions <b>&')).annotation.elements;
    expect(after.map(({ id }) => id)).toEqual([0, 1, 2, 4].map((index) => before[index]!.id));
    expect(after[0]!.center![0]! - before[0]!.center![0]!).toBeCloseTo(20, 0);
    expect(after[0]!.center![1]! - before[0]!.center![1]!).toBeCloseTo(40, 0);
    expect(after[2]!.points![2]![1]! - before[2]!.points![2]![1]!).toBeCloseTo(40, 0);
    expect(after[2]!.points!.slice(0, 2)).toEqual(before[2]!.points!.slice(0, 2));
    expect(complaints).toEqual([]);
  });

  it('adds vertices and undoes changes, even while they are being saved', async () => {
    const polygon = async () => (await stored('Regions <b>&')).annotation.elements[2]!.points!;
    const before = await polygon();
    await click(160, -160);
    await page.getByLabel('Label').waitFor();
    await drag([160, -195], [160, -240]);
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    await page.keyboard.press('Control+z');
    await page.getByText('All changes are saved.').waitFor();
    await page.keyboard.press('Control+Shift+z');
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    await save();
    const added = await polygon();
    expect(added.filter((_, index) => index !== 1)).toEqual(before);
    expect(Math.hypot(added[1]![0]! - size / 2 - 160, added[1]![1]! - size / 2 + 240)).toBeLessThan(2);
    let sendRequest = () => {};
    const untilSent = new Promise<void>((resolve) => (sendRequest = resolve));
    await page.route('**/elements', (route) => untilSent.then(() => route.continue()));
    await drag([160, -240], [190, -260]);
    const sentRequest = page.waitForRequest((request) => request.method() === 'PATCH');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await sentRequest;
    await page.keyboard.press('Control+z');
    sendRequest();
    await until('the change is stored', async () => JSON.stringify(await polygon()) !== JSON.stringify(added));
    await save();
    await page.unroute('**/elements');
    expect(await polygon()).toEqual(added);
    // A half-drawn shape is kept until the user comes back.
    await tool('Polygon');
    for (const x of [100, 150, 200]) await click(x, x - 100);
    await page.goto(`${testHost.url}/#`);
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await openCentered(page, 1, { anew: false });
    await page.getByRole('button', { name: 'Edit Regions <b>&' }).click();
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    expect(complaints).toEqual([]);
  });

  it("reports someone else's change, keeps both, and adds conflicting shapes next to it", async () => {
    const { _id: id, annotation } = await stored('Regions <b>&');
    const [rectangle] = annotation.elements;
    await click(-230, -130);
    await drag([-230, -130], [-230, -110]);
    await tool('Point');
    await click(50, 150);
    await page.keyboard.press('Escape');
    await admin.ok('PATCH', `/annotation/${id}/elements/${rectangle!.id}`, { json: { width: 55 } });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const message = page.getByTestId('annotation-message');
    await message.getByText('Somebody else has changed this annotation').waitFor();
    expect(await message.innerText()).not.toContain('If-Match');
    await page.getByText('2 unsaved changes', { exact: true }).waitFor();
    await save();
    const after = (await stored('Regions <b>&')).annotation.elements;
    expect(after[0]).toMatchObject({ id: rectangle!.id, width: 55, center: rectangle!.center });
    expect(after).toHaveLength(6);
    const ours = after.at(-1)!;
    expect(ours).toMatchObject({ type: 'rectangle', width: rectangle!.width });
    expect(ours.center![1]).toBeGreaterThan(rectangle!.center![1]!);
    await admin.ok('PATCH', `/annotation/${id}/elements`, { json: { put: [], remove: [ours.id] } });
    await until('the page knows', async () => (await row('Regions <b>&').locator('.annotation-row').innerText()).includes('5'));
    // Whether the page learns of the change before it saves depends on timing.
    expect(complaints.filter((text) => !text.includes('412'))).toEqual([]);
    // If the response to a stored change is lost, the change is not stored twice.
    await click(-230, -130);
    await drag([-230, -130], [-230, -120]);
    await page.route('**/elements', async (route) => (await route.fetch(), await route.abort()));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await message.getByText('The server cannot be reached').waitFor();
    await page.unroute('**/elements');
    await until('all is saved', async () => {
      const button = page.getByRole('button', { name: 'Save', exact: true });
      if (await button.isEnabled()) await button.click();
      return page.getByText('All changes are saved.').isVisible();
    });
    expect((await stored('Regions <b>&'))._elementCount).toBe(5);
    await click(-230, -120);
    await drag([-230, -120], [-230, -130]);
    await save();
  });

  it("renames and deletes annotations without losing others' changes", async () => {
    const { _id: id, annotation } = await stored('Regions <b>&');
    await click(-230, -130);
    await drag([-230, -130], [-230, -110]);
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    // The page does not learn of it before it has sent the change.
    const lists = /\/annotation\?/;
    const heldRoutes: Route[] = [];
    await page.route(lists, (route) => void heldRoutes.push(route));
    await admin.ok('PATCH', `/annotation/${id}/elements/${annotation.elements[0]!.id}`, { json: { width: 77 } });
    await page.getByRole('button', { name: 'Rename annotation' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Areas');
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await page.getByRole('dialog').getByText('Both of you changed 1 shape').waitFor();
    for (const route of heldRoutes) await route.continue();
    await page.unroute(lists);
    await page.getByRole('button', { name: 'Rename', exact: true }).click();
    await row('Areas').waitFor();
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    const theirs = { _elementCount: 5, annotation: { elements: [{ width: 77 }, {}, {}, {}, {}] } };
    expect(await stored('Areas')).toMatchObject(theirs);
    const remove = async (question: string) => {
      await page.getByRole('button', { name: 'Delete annotation' }).click();
      await page.getByRole('dialog').getByText(question, { exact: true }).waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
      await page.getByText('No annotations yet.').waitFor();
    };
    await remove('This deletes the annotation with its 5 shapes.');
    await page.getByRole('button', { name: 'Restore it' }).click();
    await page.getByRole('button', { name: 'Edit Areas' }).click();
    expect(await stored('Areas')).toMatchObject(theirs);
    const setHistory = (value: string) =>
      admin.ok('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value } });
    await setHistory('false');
    await remove('This deletes the annotation with its 5 shapes permanently: this server keeps no earlier versions.');
    await setHistory('true');
    await page.getByTestId('annotation-message').getByText('Deleted Areas').waitFor();
    expect(await page.getByRole('button', { name: 'Restore it' }).count()).toBe(0);
    await until('nothing is drawn', async () => (await inkOf(page)) === 0);
    expect(await admin.ok('GET', '/annotation', { query: { itemId } })).toEqual([]);
    // Whether the page learns of the change before it saves depends on timing.
    expect(complaints.filter((text) => !text.includes('412'))).toEqual([]);
  });

  it('shows the server’s picture of many shapes, and the shapes themselves when few are visible', async () => {
    const { context } = testHost.host;
    const item = await context.models.item.findById(itemId).lean();
    const { signal } = new AbortController();
    const nuclei = { url: testHost.url, itemId: item!._id, onProgress: () => undefined, signal };
    const count = await addNuclei(context, nuclei);
    expect(count).toBeGreaterThan(1000);
    // The nuclei are added only once.
    expect(await addNuclei(context, nuclei)).toBe(0);
    const grid = Array.from({ length: 20_000 }, (_, index) => ({
      type: 'rectangle',
      center: [100 + (index % 200) * 9, 100 + Math.floor(index / 200) * 18, 0],
      width: 8,
      height: 16,
      rotation: 0,
      lineColor: '#00ff00',
      fillColor: '#00ff00',
    }));
    await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Grid', elements: grid } });
    await page.goto(`${testHost.url}/#`);
    const tiles: string[] = [];
    page.on('response', (response) => {
      if (response.ok() && /\/annotation\/[0-9a-f]+\/tiles\/zxy/.test(response.url())) tiles.push(response.url());
    });
    await page.goto(`${testHost.url}/#item/${itemId}`);
    await row('Nuclei').waitFor();
    await page.getByRole('checkbox', { name: 'Nuclei' }).uncheck();
    await until('green is drawn on the image', async () => {
      const [[r = 0, g = 0, b = 0] = []] = await colorsAt(page, [[0, 0]]);
      return g > r + 60 && g > b + 60;
    });
    expect(tiles.length).toBeGreaterThan(0);
    await until('no shapes are drawn', async () => (await inkOf(page)) === 0);
    await drag([0, 0], [90, 60]);
    await until('the view is moved through the picture', () => page.url().includes('at='));
    // The nearest level is enlarged at this zoom; panning copies pictures of the displayed size.
    const { width } = (await page.locator('.stage').boundingBox())!;
    await page.evaluate(`{
      const { drawImage } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.drawImage = function (picture, ...place) {
        if (picture instanceof ImageBitmap) copied.push(place[2] === picture.width && place[3] === picture.height);
        return drawImage.call(this, picture, ...place);
      };
    }`);
    let x = size / 2;
    await until('pictures are copied as they are', async () => {
      await page.evaluate('globalThis.copied = []');
      x += 10;
      await page.goto(`${testHost.url}/#item/${itemId}?at=${x},${size / 2},${width / 0.3}`);
      // On a busy machine, the next frame comes late.
      await until('a frame is drawn', () => page.evaluate<boolean>('copied.length > 0'));
      return page.evaluate<boolean>('copied.every(Boolean)');
    });
    await openCentered(page, 4);
    await page.getByRole('checkbox', { name: 'Nuclei' }).uncheck();
    await until('shapes are drawn', async () => (await inkOf(page)) > 10_000);
    expect(complaints).toEqual([]);
  });

  it('requests the shapes again when fewer are visible than before', async () => {
    const requests: URL[] = [];
    page.on('response', (response) => {
      const url = new URL(response.url());
      if (/\/annotation\/[0-9a-f]+$/.test(url.pathname) && url.searchParams.has('left')) requests.push(url);
    });
    await openCentered(page, 1);
    await page.getByRole('checkbox', { name: 'Nuclei' }).uncheck();
    await until('there were too many', () => requests.length > 0);
    await until('the picture is shown', async () => (await inkOf(page)) === 0);
    for (let turn = 0; turn < 4; turn += 1) await page.getByRole('button', { name: 'Zoom in' }).click();
    await until('shapes are drawn', async () => (await inkOf(page)) > 10_000);
    expect(complaints).toEqual([]);
  });

  it('requests only the shapes that come into view while panning, and shows all of them', async () => {
    const areas: number[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams: query } = new URL(request.url());
      if (!/\/annotation\/[0-9a-f]+$/.test(pathname) || !query.has('left')) return;
      const difference = (from: string, to: string) => Number(query.get(to)) - Number(query.get(from));
      areas.push(difference('left', 'right') * difference('top', 'bottom'));
    });
    await openCentered(page, 4);
    await page.getByRole('checkbox', { name: 'Nuclei' }).uncheck();
    await until('shapes are drawn', async () => (await inkOf(page)) > 10_000);
    const first = Math.max(...areas);
    areas.length = 0;
    for (let turn = 0; turn < 3; turn += 1) await drag([100, 60], [-100, -60]);
    await until('it was asked for more', () => areas.length > 0);
    expect(Math.max(...areas)).toBeLessThan(first / 2);
    const finalInk = async () => {
      let last = -1;
      return until('nothing more is drawn', async () => {
        const before = last;
        last = await inkOf(page);
        return last > 0 && last === before ? last : null;
      });
    };
    const panned = await finalInk();
    // Visible pictures are kept, so going there and back requests narrow strips at most, because a fast drag moves the view
    // farther.
    areas.length = 0;
    for (let turn = 0; turn < 3; turn += 1) await drag([-100, -60], [100, 60]);
    await finalInk();
    for (let turn = 0; turn < 3; turn += 1) await drag([100, 60], [-100, -60]);
    await until('the same is drawn', async () => Math.abs((await finalInk()) - panned) < panned / 50);
    expect(areas.reduce((sum, area) => sum + area, 0)).toBeLessThan(first / 2);
    await page.reload();
    await row('Nuclei').waitFor();
    await until('shapes are drawn', async () => (await inkOf(page)) > 10_000);
    await until('the same is drawn', async () => Math.abs((await finalInk()) - panned) < panned / 50);
    expect(complaints).toEqual([]);
  });

  it('draws overlapping shapes in their order, regardless of the order in which they came into view', async () => {
    const raw = { create: { width: 4096, height: 1024, channels: 3, background: '#f0f0f0' } } as const;
    const bytes = await sharp(raw).tiff({ tile: true, tileWidth: 256, tileHeight: 256 }).toBuffer();
    const item = await uploadItem(admin, folderId, 'over one another.tiff', bytes);
    const box = (x: number, width: number, color: string) => {
      const style = { rotation: 0, fillColor: color, lineColor: color };
      return { type: 'rectangle', center: [x, 512, 0], width, height: 100, ...style };
    };
    // The first shape is below the second, which extends to the left edge of the view. With this many others, not all are loaded.
    const many = Array.from({ length: 6000 }, (_, index) => box(3000 + (index % 1000), 1, '#0000ff'));
    const json = { name: 'Over one another', elements: [box(850, 60, '#ff0000'), box(700, 400, '#00ff00'), ...many] };
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json });
    await page.goto(`${testHost.url}/#item/${item}?at=400,512,400`);
    await row('Over one another').waitFor();
    await until('the second is drawn', async () => (await inkOf(page)) > 1000);
    for (let turn = 0; turn < 3; turn += 1) await drag([180, 0], [-180, 0]);
    const colors = await until('the first is in sight', async () => {
      const [x = 0, , width = 1] = /at=([\d.,]+)/.exec(page.url())![1]!.split(',').map(Number);
      const { width: screen } = (await page.locator('.drawing').boundingBox())!;
      const colors = await colorsAt(
        page,
        [850, 895].map((at) => [((at - x) / width) * screen, 0]),
      );
      return colors.every(([, , , opacity = 0]) => opacity > 0) && colors;
    });
    for (const [red = 0, green = 0] of colors) expect([red > 100, green > 100]).toEqual([false, true]);
  });

  it('keeps groups hidden after navigation, after a reload, and in shared links', async () => {
    const isShown = (on: Page) => on.getByRole('checkbox', { name: 'Nuclei' }).isChecked();
    await openCentered(page, 1);
    await page.getByRole('checkbox', { name: 'Nuclei' }).uncheck();
    await until('the address says so', () => page.url().includes('hide='));
    const address = page.url();
    await page.goto(`${testHost.url}/#`);
    await page.getByRole('heading', { name: 'Collections' }).waitFor();
    await page.goto(`${testHost.url}/#item/${itemId}`);
    await row('Nuclei').waitFor();
    expect(await isShown(page)).toBe(false);
    await page.reload();
    await row('Nuclei').waitFor();
    expect(await isShown(page)).toBe(false);
    const visitor = await open();
    try {
      await visitor.goto(address);
      await visitor.getByRole('checkbox', { name: 'Grid' }).waitFor();
      expect(await isShown(visitor)).toBe(false);
    } finally {
      await visitor.context().close();
    }
    expect(complaints).toEqual([]);
  });

  it('opens an address that is entered just before the page writes its own', async () => {
    await openCentered(page, 1);
    await row('Nuclei').waitFor();
    // Both are done in one task, so the page learns of the new address after it has written its own.
    await page.evaluate(`{
      location.hash = '#item/${itemId}?at=700,600,300';
      document.querySelector('.annotation-row input[type=checkbox]').click();
    }`);
    await until('the place is shown', () => page.url().includes('?at=700,600,300'));
    await page.locator('.annotation-row input[type=checkbox]').first().check();
    expect(page.url()).toContain('?at=700,600,300');

    // Groups that are hidden at that moment stay hidden, in addition to those that the address hides.
    const id = await page.evaluate<string>(`(() => {
      const [, second] = document.querySelectorAll('.annotation-row input[type=checkbox]');
      second.click();
      const id = new URLSearchParams(location.hash.split('?')[1]).get('hide');
      second.click();
      return id;
    })()`);
    await page.evaluate(`{
      location.hash = '#item/${itemId}?at=700,600,301&hide=${id}';
      document.querySelector('.annotation-row input[type=checkbox]').click();
    }`);
    const boxes = page.locator('.annotation-row input[type=checkbox]');
    await until('the address is shown', async () => !(await boxes.nth(1).isChecked()));
    expect(await boxes.first().isChecked()).toBe(false);
    await boxes.first().check();
    await boxes.nth(1).check();
    expect(complaints).toEqual([]);
  });

  it('offers the colors that groups have on the slide', async () => {
    const { annotation } = await stored('Nuclei');
    const countIn = (group: string) => annotation.elements.filter((element) => element.group === group).length;
    const legend = row('Nuclei').getByRole('list', { name: 'Groups' });
    const colors = new Map(annotation.elements.map(({ group, lineColor }) => [group!, lineColor!]));
    expect(colors.size).toBeGreaterThan(1);
    for (const [group, color] of colors) {
      const line = legend.getByRole('listitem').filter({ hasText: group });
      await line.getByText(new RegExp(`^${String(countIn(group)).replace(/(?=(...)+$)/, '\\D?')}$`)).waitFor();
      const [, r, g, b] = /(\d+), (\d+), (\d+)/.exec(color)!;
      const hex = `#${[r, g, b].map((channel) => Number(channel).toString(16).padStart(2, '0')).join('')}`;
      expect(await line.locator('.swatch').getAttribute('data-color')).toBe(hex);
    }
    await page.getByRole('button', { name: 'Edit Nuclei' }).click();
    for (const [group, color] of colors) {
      const input = page.getByLabel(`Color of ${group}`, { exact: true });
      await until(`${group} has its color`, async () => {
        const channels = (await input.inputValue()).match(/[0-9a-f]{2}/g)!.map((digits) => Number.parseInt(digits, 16));
        return `rgb(${channels.join(', ')})` === color;
      });
    }
    // Another user adds a group.
    const { _id: id } = await stored('Nuclei');
    const added = { type: 'point', center: [0, 0, 0], group: 'added', fillColor: '#12ab34', lineColor: '#12ab34' };
    await admin.ok('POST', `/annotation/${id}/elements`, { json: [added] });
    const input = page.getByLabel('Color of added', { exact: true });
    await until('it has its color', async () => (await input.inputValue()) === '#12ab34');
    await admin.ok('PUT', `/annotation/${id}`, { json: annotation });
    await page.getByRole('button', { name: 'Stop editing Nuclei' }).click();
    expect(complaints).toEqual([]);
  });

  it('shows and hides groups, and describes the shape under the pointer', async () => {
    const { context } = testHost.host;
    const item = await context.models.item.findById(itemId).lean();
    const path = join(folder, 'facts.tiff');
    await makeSyntheticSlide(path, { size: 1024 });
    const parent = await context.models.folder.findById(item!.folderId).lean();
    const registered = await testHost.host.registerFileInPlace({ path, folder: parent!, itemName: 'facts', creatorId: null });
    const id = registered.item._id.toHexString();
    const { mm_x: mm } = (await admin.ok('GET', `/item/${id}/tiles`)) as unknown as { mm_x: number };
    const box = { type: 'rectangle', width: 200, height: 100, rotation: 0, lineColor: '#ff0000', lineWidth: 2 };
    const elements = [
      { ...box, center: [512, 512, 0], group: 'one', label: { value: 'First' }, user: { grade: 3 } },
      { ...box, center: [512, 800, 0], group: 'two' },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId: id }, json: { name: 'Facts', elements } });
    await page.goto(`${testHost.url}/#item/${id}`);
    await until('the shapes are drawn', async () => (await inkOf(page)) > 100);
    const card = page.getByRole('region', { name: 'Shape' });
    await click(0, 0);
    await card.getByText('First').waitFor();
    const facts = await card.innerText();
    for (const fact of [
      'one',
      'grade',
      '3',
      'Rectangle',
      `${Number((200 * 100 * mm * mm * 1e6).toPrecision(4))
        .toLocaleString('en')
        .replace(',', '\u2009')} µm²`,
      `${Number((600 * mm * 1000).toPrecision(4))} µm`,
    ])
      expect(facts).toContain(fact);
    await card.getByRole('button', { name: 'Close' }).click();
    const inkOfBoth = await inkOf(page);
    await page.getByRole('checkbox', { name: 'two' }).uncheck();
    await until('one group is drawn', async () => (await inkOf(page)) < inkOfBoth * 0.7);
    await page.getByRole('button', { name: 'Hide all' }).click();
    await until('nothing is drawn', async () => (await inkOf(page)) === 0);
    await page.getByRole('button', { name: 'Show all' }).click();
    await until('all is drawn', async () => (await inkOf(page)) > inkOfBoth * 0.8);

    // Measures a length, then an area. Neither is stored.
    await tool('Measure');
    await click(-200, -200);
    await click(-100, -200);
    await page.keyboard.press('Enter');
    await card.getByText('µm').waitFor();
    const length = await card.innerText();
    await click(-200, -150);
    await click(-100, -150);
    // The pointer leaves and comes back between two frames. The length is measured to its current position.
    const { x: left, y: top, width, height } = (await page.locator('.stage').boundingBox())!;
    const places = [200, -100].map((across) => [left + width / 2 + across, top + height / 2 - 150]);
    await page.evaluate(`(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      await frame();
      for (const [clientX, clientY] of ${JSON.stringify(places)})
        document.querySelector('.stage-drawing canvas').dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX, clientY }));
      for (let count = 0; count < 3; count += 1) await frame();
    })()`);
    expect(await card.innerText()).toBe(length);
    await click(-100, -50);
    await click(-200, -150);
    await card.getByText('Area').waitFor();
    await page.keyboard.press('Escape');
    await tool('Measure');

    // A hole in a polygon.
    await page.getByRole('button', { name: 'Edit Facts' }).click();
    await tool('Polygon');
    for (const [x, y] of [
      [-300, -300],
      [-150, -300],
      [-150, -200],
      [-300, -200],
      [-300, -300],
    ] as const)
      await click(x, y);
    await tool('Hole');
    for (const [x, y] of [
      [-260, -270],
      [-200, -270],
      [-200, -230],
      [-260, -270],
    ] as const)
      await click(x, y);
    await page.getByRole('button', { name: 'Fill the holes' }).waitFor();
    await save();
    const { annotation } = await stored('Facts', id);
    expect(annotation.elements[2]).toMatchObject({ type: 'polyline', closed: true, holes: [expect.any(Array)] });
    expect(annotation.elements).toHaveLength(3);
    expect(complaints).toEqual([]);
  });

  it('shows other images over this one, rotated and colored as in the annotation', async () => {
    const gray = (width: number, height: number, value: (x: number) => number) =>
      sharp(
        Uint8Array.from({ length: width * height }, (_, at) => value(at % width)),
        { raw: { width, height, channels: 1 } },
      )
        .png()
        .toBuffer();
    const red = sharp({ create: { width: 200, height: 100, channels: 3, background: '#f00' } }).png();
    const image = await uploadItem(admin, folderId, 'red.png', await red.toBuffer());
    const map = await uploadItem(admin, folderId, 'map.png', await gray(100, 100, (x) => (x < 50 ? 1 : 4)));
    const slide = await uploadItem(admin, folderId, 'white.png', await gray(1000, 1000, () => 255));
    // A quarter turn: x runs down, y to the left.
    const turned = [
      [0, 1],
      [-1, 0],
    ];
    const elements = [
      { type: 'image', girderId: image, opacity: 1, transform: { xoffset: 500, yoffset: 100, matrix: turned } },
      {
        type: 'pixelmap',
        girderId: map,
        values: [2, 0, 2, 2, 1],
        categories: [{ fillColor: '#0f0' }, { fillColor: 'rgba(0, 0, 255, 1)' }, { fillColor: '#000' }],
        boundaries: false,
        transform: { xoffset: 700, yoffset: 700 },
      },
      { type: 'image', girderId: slide.replace(/^.{8}/, 'ffffffff') },
      { type: 'rectangle', center: [450, 200, 0], width: 40, height: 40, lineColor: '#ff0', fillColor: '#ff0' },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: 'Overlays', elements } });
    await page.goto(`${testHost.url}/#item/${slide}`);
    await row('Overlays').waitFor();
    const expected = [
      [255, 0, 0, 255],
      [255, 255, 0, 255],
      [0, 0, 0, 0],
      [0, 255, 0, 255],
      [0, 0, 255, 255],
    ];
    const overlayColors = async () => {
      // The image is fitted in the stage.
      const { width, height } = (await page.locator('.stage').boundingBox())!;
      const onStage = (x: number, y: number): [number, number] =>
        [x, y].map((value) => (value / 1000 - 0.5) * Math.min(width, height)) as [number, number];
      return colorsAt(page, [onStage(450, 280), onStage(450, 200), onStage(550, 150), onStage(720, 750), onStage(780, 750)]);
    };
    await until('the overlays are drawn', async () => {
      const colors = await overlayColors();
      if (JSON.stringify(colors) === JSON.stringify(expected)) return true;
      throw new Error(JSON.stringify(colors));
    });
    const opacity = page.getByRole('slider', { name: 'Opacity' });
    await opacity.fill('0.5');
    await until('overlays are as transparent as their annotation', async () => {
      const [red, , , green] = await overlayColors();
      return [red, green].every((color) => Math.abs(color![3]! - 128) < 3);
    });
    await opacity.fill('1');
    await page.getByTestId('annotation-message').getByText('An overlay cannot be shown: Not found').waitFor();
    // Brightness and contrast change only the image.
    await page.locator('summary', { hasText: 'Brightness and contrast' }).click();
    await page.getByRole('slider', { name: 'Brightness' }).fill('150');
    const veiled = `(() => {
      const { width, height, offsetWidth } = document.querySelector('.veil');
      if (offsetWidth === 0) return false;
      const { data } = document.querySelector('.veil').getContext('2d').getImageData(0, 0, width, height);
      return data.some((value, index) => index % 4 === 3 && value === 255);
    })()`;
    await until('annotations have a canvas of their own', () => page.evaluate<boolean>(veiled));
    await page.getByRole('slider', { name: 'Brightness' }).fill('100');
    await until('they are in that of the image again', async () => !(await page.evaluate<boolean>(veiled)));
    await page.getByRole('checkbox', { name: 'Overlays' }).uncheck();
    await until('nothing is drawn', async () => (await inkOf(page)) === 0);
    expect(complaints).toEqual([expect.stringContaining('400')]);
  });

  it("imports QuPath's files, explains refusals, saves an annotation as a file, and restores a previous version", async () => {
    const feature = {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [900, 900] },
      properties: { objectType: 'annotation' },
    };
    const written = join(folder, 'qupath.json');
    await writeFile(written, JSON.stringify([feature, feature], null, 2));
    const refused = join(folder, 'refused.json');
    await writeFile(refused, '{"nonsense": 1}');
    await openCentered(page, 1);
    const before = await allAnnotations();
    await page.locator('.annotation-panel input[type=file]').setInputFiles([written, refused]);
    await page.getByTestId('annotation-message').getByText('refused.json: ').waitFor();
    const created = await until('one annotation is made', async () => {
      const annotations = await allAnnotations();
      return annotations.length === before.length + 1
        ? annotations.find(({ _id }) => !before.some((former) => former._id === _id))
        : null;
    });
    expect([created._elementCount, created.annotation.name]).toEqual([2, 'qupath']);
    const dataTransfer = await page.evaluateHandle(`(() => {
      const files = new DataTransfer();
      files.items.add(new File(['{"name": "Dropped", "elements": []}'], 'dropped.json'));
      return files;
    })()`);
    await page.locator('.stage').dispatchEvent('drop', { dataTransfer });
    await row('Dropped').waitFor();
    await admin.ok('DELETE', `/annotation/${(await stored('Dropped'))._id}`);

    const path = `/annotation/${created._id}`;
    const { annotation } = (await admin.ok('GET', path)) as unknown as { annotation: { elements: object[] } };
    await admin.ok('PUT', path, { json: { ...annotation, name: 'Taken', elements: annotation.elements.slice(0, 1) } });
    await openCentered(page, 1);
    await row('Taken').getByRole('button', { name: 'Download, share or restore Taken' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'GeoJSON', exact: true }).click();
    const saved = JSON.parse(await readFile(await (await download).path(), 'utf8')) as { features: object[] };
    expect([(await download).suggestedFilename(), saved.features.length]).toEqual(['Taken.geojson', 1]);
    await page.getByRole('list', { name: 'Versions' }).getByRole('button').first().click();
    await until('both shapes are back', async () => {
      const { _elementCount: count } = (await admin.ok('GET', path)) as unknown as { _elementCount: number };
      return count === 2;
    });
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    await admin.ok('DELETE', path);
  });

  it('says that an imported file is empty, or that its shapes are outside the image', async () => {
    const [empty, marked] = [join(folder, 'empty.json'), join(folder, 'marked.geojson')];
    const features = [{ type: 'Feature', properties: {}, geometry: { type: 'Point', coordinates: [-900, 900] } }];
    await writeFile(empty, '[]');
    // As editors of Windows save a file.
    await writeFile(marked, `\uFEFF${JSON.stringify({ type: 'FeatureCollection', features })}`);
    await openCentered(page, 1);
    const before = await allAnnotations();
    const input = page.locator('.annotation-panel input[type=file]');
    const message = page.getByTestId('annotation-message');
    await input.setInputFiles(empty);
    await message.getByText('empty.json: it contains no annotations.').waitFor();
    await input.setInputFiles(marked);
    await message.getByText('is on the image').waitFor();
    const exportedFile = join(folder, 'own.geojson');
    await writeFile(exportedFile, JSON.stringify({ type: 'FeatureCollection', features, name: 'Its own name' }));
    await input.setInputFiles(exportedFile);
    await row('Its own name').waitFor();
    const imported = (await allAnnotations()).filter(({ _id: id }) => !before.some(({ _id }) => _id === id));
    expect(imported.map(({ annotation }) => annotation.name).toSorted()).toEqual(['Its own name', 'marked']);
    for (const { _id: id } of imported) await admin.ok('DELETE', `/annotation/${id}`);
  });

  it('stays usable with many groups and with names of any length, while others change them', async () => {
    const background = { r: 240, g: 240, b: 240 };
    const bytes = await sharp({ create: { width: 1024, height: 1024, channels: 3, background } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256 })
      .toBuffer();
    const item = await uploadItem(admin, folderId, 'many groups.tiff', bytes);
    const count = 9000;
    const box = { type: 'rectangle', width: 8, height: 8, rotation: 0, fillColor: '#00ff00', lineColor: '#00ff00' };
    const elements: object[] = Array.from({ length: count }, (_, index) => ({
      ...box,
      center: [(index % 100) * 10 + 5, Math.floor(index / 100) * 10 + 5, 0],
      group: `group ${index}`,
    }));
    elements[0] = {
      ...box,
      center: [512, 960, 0],
      width: 800,
      height: 50,
      fillColor: '#ff0000',
      group: 'g'.repeat(500),
      label: { value: 'L'.repeat(5000), visibility: 'hidden' },
      user: { ['k'.repeat(4000)]: 'v'.repeat(5000) },
    };
    const created = (await admin.ok('POST', '/annotation', {
      query: { itemId: item },
      json: { name: 'Many', elements },
    })) as unknown as Stored;
    await page.goto(`${testHost.url}/#item/${item}?at=512,800,1024`);
    const groups = page.getByRole('list', { name: 'Groups' });
    await groups.getByText('and 8 900 more').waitFor();

    // One group of many can be hidden, even if the server draws the shapes.
    const isRed = async () => {
      const { width } = (await page.locator('.drawing').boundingBox())!;
      const [[red = 0, green = 0] = []] = await colorsAt(page, [[0, (160 / 1024) * width]]);
      return red > 200 && green < 100;
    };
    await until('the group is drawn', isRed);
    const find = page.getByLabel('Find a group');
    const focused = () => page.evaluate<string>(`document.activeElement.getAttribute('aria-label')`);
    await find.fill('ggg');
    await groups.getByRole('checkbox').uncheck();
    await until('the group is hidden', async () => !(await isRed()));
    await groups.getByRole('checkbox').check();
    await until('the group is drawn again', isRed);

    // A search continues when another version arrives.
    await find.fill('group 59');
    const more = { ...box, center: [1000, 1000, 0], group: 'group 59 of somebody else' };
    await admin.ok('PATCH', `/annotation/${created._id}/elements`, { json: { put: [more], remove: [] } });
    await groups.getByText('group 59 of somebody else').waitFor();
    expect(await find.inputValue()).toBe('group 59');
    expect(await focused()).toBe('Find a group');

    // The keyboard focus stays on the pencil. The group of new shapes can be chosen in the legend.
    await page.getByRole('button', { name: 'Edit Many' }).press('Enter');
    expect(await focused()).toBe('Stop editing Many');
    await page.goto(`${testHost.url}/#item/${item}?at=512,960,60`);
    await until('the shapes are at hand', async () => {
      await click(0, 0);
      return page.getByLabel('Group', { exact: true }).isVisible();
    });
    // The text of the card fits there.
    const text = await page.getByRole('region', { name: 'Shape' }).innerText();
    expect(text.length).toBeLessThan(1500);
    for (const letter of ['g', 'L', 'v']) expect(text).toContain(`${letter.repeat(300)}…`);
    await find.fill('group 5432');
    await page.getByRole('radio', { name: 'group 5432' }).check();
    await page.getByLabel('Group', { exact: true }).selectOption({ label: 'group 5432' });
    await page.getByLabel('Group', { exact: true }).press('Control+z');
    await page.getByText('All changes are saved.').waitFor();
    await page.keyboard.press('Control+y');
    await save();
    const { annotation } = await stored('Many', item);
    expect(annotation.elements.filter(({ group }) => group === 'group 5432').length).toBe(2);
    expect(complaints).toEqual([]);
  });

  it('saves the view as a picture with its scale bar, and lists the keyboard shortcuts', async () => {
    await openCentered(page, 1);
    await page.getByRole('button', { name: 'Save this view' }).click();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save figure' }).click();
    const { format, width } = await sharp(await (await download).path()).metadata();
    expect([format, width]).toEqual(['png', 1600]);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Undo').waitFor();
    await page.keyboard.press('Escape');
  });

  it('shows annotations to visitors and readers, without tools', async () => {
    const visitor = await open();
    try {
      await openCentered(visitor, 2);
      await visitor.locator('.annotation').filter({ hasText: 'Grid' }).waitFor();
      await until('shapes are drawn', async () => (await inkOf(visitor)) > 1000);
      expect(await visitor.getByRole('button', { name: /^Edit|New annotation/ }).count()).toBe(0);
      const rita = await testHost.register('rita');
      await signIn(visitor, testHost.url, 'rita');
      await openCentered(visitor, 2);
      await visitor.locator('.annotation').filter({ hasText: 'Grid' }).waitFor();
      expect(await visitor.getByRole('button', { name: /^Edit|New annotation/ }).count()).toBe(0);
      expect(await visitor.getByRole('toolbar', { name: 'Drawing tools' }).getByRole('button').count()).toBe(1);
      // Users who may change one annotation can do so even if they may not create any.
      const users = [
        { id: admin.id, level: 2, flags: [] },
        { id: rita.id, level: 1, flags: [] },
      ];
      await admin.ok('PUT', `/annotation/${(await stored('Grid'))._id}/access`, {
        form: { access: JSON.stringify({ users, groups: [] }) },
      });
      await openCentered(visitor, 2);
      await visitor.getByRole('button', { name: 'Edit Grid' }).click();
      await visitor.getByRole('button', { name: 'Stop editing Grid' }).waitFor();
      expect(await visitor.getByRole('button', { name: /^Edit|New annotation/ }).count()).toBe(0);
    } finally {
      await visitor.context().close();
    }
    expect(complaints).toEqual([]);
  });

  it('draws, selects, moves and removes shapes with the keyboard alone', async () => {
    await openCentered(page, 1);
    const keys = async (...names: string[]) => {
      for (const name of names) await page.keyboard.press(name);
    };
    /**
     * Moves the image with arrow keys, and waits after each until the image has stopped, because on a busy machine it may stop
     * between two.
     */
    const move = async (...names: string[]) => {
      await page.locator('.stage canvas').first().waitFor();
      await page.locator('[role=application]').focus();
      for (const name of names) {
        const before = page.url();
        await keys(name);
        await until('the view has moved', () => page.url() !== before);
      }
    };
    await page.getByRole('button', { name: 'New annotation' }).press('Enter');
    await page.getByLabel('Name', { exact: true }).fill('By keys');
    await keys('Enter');
    await row('By keys').waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Rectangle' }).press('Enter');
    await page.locator('[role=application]').focus();
    await keys(' ');
    await move('ArrowRight', 'ArrowRight', 'ArrowDown', 'ArrowDown');
    await keys(' ');
    await page.getByRole('button', { name: 'Line' }).press('Enter');
    await page.locator('[role=application]').focus();
    await keys(' ');
    await move('ArrowRight', 'ArrowRight');
    await keys(' ', 'Enter', 'Escape');
    await page.getByText('2 unsaved changes').waitFor();
    await save();
    const [rectangle, line] = (await stored('By keys')).annotation.elements;
    expect(rectangle).toMatchObject({ type: 'rectangle' });
    expect(rectangle!.width).toBeGreaterThan(30);
    expect(rectangle!.center![0]! - rectangle!.width! / 2).toBeCloseTo(size / 2, 0);
    expect(line).toMatchObject({ type: 'polyline', closed: false });
    expect(line!.points).toHaveLength(2);

    // The cross is on the end of the selected line, so its vertex is picked up, moved and put down.
    await page.locator('[role=application]').focus();
    await keys(' ');
    await move('ArrowDown', 'ArrowDown');
    await keys(' ');
    await save();
    const [, movedLine] = (await stored('By keys')).annotation.elements;
    expect(movedLine!.points![0]).toEqual(line!.points![0]);
    expect(movedLine!.points![1]![1]! - line!.points![1]![1]!).toBeGreaterThan(30);
    await page.locator('[role=application]').focus();
    await keys('Delete');
    await save();
    expect((await stored('By keys')).annotation.elements.map(({ id }) => id)).toEqual([rectangle!.id]);
    expect(complaints).toEqual([]);
  });
});
