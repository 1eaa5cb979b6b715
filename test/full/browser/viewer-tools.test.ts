import sharp from 'sharp';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { onErrors, signIn, stageOf } from '../../support/pages/stage.js';
import { until } from '../../support/run/until.js';

const executablePath = chromiumPath();
/** Side of the image, in pixels. */
const size = 2048;
const middle = size / 2;

interface Shape {
  id: string;
  type: string;
  closed?: boolean;
  points?: number[][];
  holes?: number[][][];
  center?: number[];
  width?: number;
  height?: number;
  group?: string;
  user?: { qupath?: { isLocked?: boolean } };
}

/** A square around a point, which is given from the middle of the image. */
const square = (x: number, y: number, side: number, members: object = {}) => ({
  type: 'polyline',
  closed: true,
  points: [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ].map(([across, down]) => [middle + x + (across! * side) / 2, middle + y + (down! * side) / 2, 0]),
  ...members,
});

/** The area of a polygon without its holes. */
function areaOf({ points = [], holes = [] }: Shape): number {
  const area = (ring: number[][]) =>
    Math.abs(
      ring.reduce((sum, [x, y], at) => {
        const [nextX, nextY] = ring[(at + 1) % ring.length]!;
        return sum + (x! * nextY! - nextX! * y!) / 2;
      }, 0),
    );
  return area(points) - holes.reduce((sum, hole) => sum + area(hole), 0);
}

describe.skipIf(executablePath === null)('drawing tools on the page', () => {
  let testHost: TestHost;
  let admin: Client;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let itemId: string;
  let annotationId: string;
  let stageWidth = 0;
  const complaints: string[] = [];

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    const folderId = await newFolder(admin, 'Slides', true);
    const background = { r: 240, g: 240, b: 240 };
    const picture = sharp({ create: { width: size, height: size, channels: 3, background } });
    itemId = await uploadItem(admin, folderId, 'slide.tiff', await picture.tiff({ tile: true }).toBuffer());
    browser = await launchChromium(executablePath!);
    context = await browser.newContext({ viewport: { width: 1280, height: 850 }, hasTouch: true });
    page = await context.newPage();
    page.setDefaultTimeout(300_000);
    onErrors(page, (text) => complaints.push(text));
    await signIn(page, testHost.url, 'anna');
  });

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  beforeEach(() => {
    complaints.length = 0;
  });

  /** Opens the image with an annotation of some shapes, which is edited; one pixel of the image is one of the screen. */
  async function edit(elements: object[]): Promise<void> {
    if (annotationId) await admin.ok('DELETE', `/annotation/${annotationId}`);
    const annotation = await admin.ok('POST', '/annotation', { query: { itemId }, json: { name: 'Shapes', elements } });
    annotationId = String(annotation._id);
    const open = async (query: string) => {
      await page.goto('about:blank');
      await page.goto(`${testHost.url}/#item/${itemId}${query}`);
      await page.getByRole('button', { name: 'Edit Shapes' }).waitFor();
    };
    if (stageWidth === 0) {
      await open('');
      ({ width: stageWidth } = await until('the stage is there', () => page.locator('.stage').boundingBox()));
    }
    await open(`?at=${middle},${middle},${stageWidth}`);
    await page.getByRole('button', { name: 'Edit Shapes' }).click();
    await page.getByText('All changes are saved.').waitFor();
    // Shapes can be selected when they are loaded.
    if (elements.length === 0) return;
    await until('shapes can be selected', async () => {
      await tool('Box selection');
      await drag([-330, -300], [330, 300]);
      return page.getByRole('button', { name: /^Delete shapes?$/ }).isVisible();
    });
    await page.locator('[role=application]').focus();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByText('Click a shape to select it').waitFor();
  }

  const drag = (...places: Parameters<ReturnType<typeof stageOf>['drag']>) => stageOf(page).drag(...places);
  const click = (x: number, y: number) => stageOf(page).click(x, y);
  const bar = () => page.getByRole('toolbar', { name: 'Drawing tools' });
  const tool = (name: string) => bar().getByRole('button', { name, exact: true }).click();
  const pressed = () => bar().locator('[aria-pressed=true]').getAttribute('aria-label');
  const waitForUnsaved = (count: number) =>
    page.getByText(`${count} unsaved change${count === 1 ? '' : 's'}`, { exact: true }).waitFor();

  async function at(x: number, y: number): Promise<[number, number]> {
    const box = (await page.locator('.stage').boundingBox())!;
    return [box.x + box.width / 2 + x, box.y + box.height / 2 + y];
  }

  async function save(): Promise<Shape[]> {
    await page.keyboard.press('Control+s');
    await page.getByText('All changes are saved.').waitFor();
    const { annotation } = (await admin.ok('GET', `/annotation/${annotationId}`)) as unknown as {
      annotation: { elements: Shape[] };
    };
    return annotation.elements;
  }

  it('keeps a tool until Escape, selects tools by keys, and saves with Ctrl-S', async () => {
    await edit([]);
    await tool('Rectangle');
    await drag([-300, -200], [-200, -140]);
    await drag([-100, -200], [0, -140]);
    expect(await pressed()).toBe('Rectangle');
    await page.keyboard.press('e');
    await drag([100, -200], [200, -140]);
    await page.keyboard.press('Escape');
    expect(await pressed()).toBe('Select');
    // The last shape is still selected, so it can be reshaped at once.
    await drag([200, -140], [220, -120]);
    await page.keyboard.press('o');
    await click(0, 100);
    await click(50, 100);
    await page.keyboard.press('p');
    for (const x of [-200, -150, -100]) await click(x, 100 + (x === -150 ? 60 : 0));
    await page.keyboard.press('Enter');
    await waitForUnsaved(6);
    const shapes = await save();
    expect(shapes.map(({ type }) => type)).toEqual(['rectangle', 'rectangle', 'ellipse', 'point', 'point', 'polyline']);
    expect(Math.round(shapes[2]!.width!)).toBe(120);

    // The keys work only on the image, and can be turned off.
    await page.getByLabel('Label').fill('verbs');
    expect(await pressed()).toBe('Polygon');
    await page.keyboard.press('Control+s');
    await page.getByText('All changes are saved.').waitFor();
    await page.locator('[role=application]').focus();
    await page.keyboard.press('?');
    await page.getByLabel('Choose drawing tools with single keys').uncheck();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.locator('[role=application]').focus();
    await page.keyboard.press('b');
    expect(await pressed()).toBe('Polygon');
    await page.keyboard.press('?');
    await page.getByLabel('Choose drawing tools with single keys').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.locator('[role=application]').focus();
    await page.keyboard.press('b');
    expect(await pressed()).toBe('Brush');
    expect(complaints).toEqual([]);
  });

  it('moves the image with Space and with the middle button while a tool is used', async () => {
    await edit([]);
    await tool('Rectangle');
    const place = () => /at=([-\d.]+),([-\d.]+)/.exec(page.url())?.slice(1).map(Number) ?? [middle, middle];
    const [x = 0, y = 0] = place();
    await page.locator('[role=application]').focus();
    await page.keyboard.down(' ');
    await drag([0, 0], [-100, -60]);
    await page.keyboard.up(' ');
    // The image keeps moving for a moment after a drag.
    await until('the image has moved', () => place()[0]! - x > 80 && place()[1]! - y > 40);
    const [movedX = 0] = place();
    await page.mouse.move(...(await at(0, 0)));
    await page.mouse.down({ button: 'middle' });
    await page.mouse.move(...(await at(50, 0)));
    await page.mouse.move(...(await at(120, 0)));
    await page.mouse.up({ button: 'middle' });
    await until('the image has moved back', () => Math.abs(place()[0]! - movedX + 120) < 5);
    // Nothing was drawn, and the tool is still selected.
    expect(await page.getByText('All changes are saved.').isVisible()).toBe(true);
    expect(await pressed()).toBe('Rectangle');
    expect(complaints).toEqual([]);
  });

  it('paints and erases polygons', async () => {
    await edit([square(-200, -150, 100)]);
    await tool('Brush');
    await drag([0, 0], [100, 0]);
    await waitForUnsaved(1);
    // The stroke begins on the selected shape, so it extends this shape.
    await drag([90, 0], [90, 100]);
    await waitForUnsaved(1);
    await drag([250, 0], [250, 50]);
    await waitForUnsaved(2);
    await page.keyboard.press('Control+z');
    await waitForUnsaved(1);
    await tool('Eraser');
    // Through the middle of the square, which leaves two shapes.
    await drag([-200, -230], [-200, -70]);
    await waitForUnsaved(3);
    const shapes = await save();
    expect(shapes).toHaveLength(3);
    const [square1, painted, square2] = shapes;
    expect(areaOf(painted!)).toBeGreaterThan(7000);
    expect(areaOf(painted!)).toBeLessThan(10_000);
    for (const half of [square1, square2]) {
      expect(areaOf(half!)).toBeGreaterThan(2500);
      expect(areaOf(half!)).toBeLessThan(3500);
    }
    // A shape can be erased completely.
    await page.getByRole('slider', { name: 'Size of the brush' }).fill('120');
    await click(-200, -150);
    await waitForUnsaved(1);
    // An eraser that begins next to a shape works on the first one that it reaches.
    await drag([-330, -150], [-140, -150]);
    await waitForUnsaved(2);
    expect(await save()).toHaveLength(1);
    expect(complaints).toEqual([]);
  });

  it('selects several shapes, and changes, merges, splits, simplifies and removes them', async () => {
    await edit([
      square(-200, -100, 100, { group: 'a' }),
      square(-140, -100, 100, { group: 'b' }),
      square(200, 100, 100),
      { type: 'point', center: [middle + 200, middle - 100, 0], group: 'a' },
    ]);
    await tool('Box selection');
    await drag([-280, -200], [-60, 0]);
    await page.getByText('2 shapes selected').waitFor();
    await page.getByLabel('Group', { exact: true }).selectOption({ label: 'b' });
    await waitForUnsaved(2);
    await page.getByRole('button', { name: 'Merge' }).click();
    await until('they are one', () => page.getByText('2 shapes selected').isHidden());
    await tool('Split');
    await drag([-170, -200], [-170, 0]);
    await page.getByText('2 shapes selected').waitFor();
    await tool('Lasso');
    for (const [x, y] of [
      [100, -200],
      [300, -200],
      [300, 200],
      [100, 200],
    ] as const)
      await click(x, y);
    await page.keyboard.press('Enter');
    await page.getByText('2 shapes selected').waitFor();
    await page.keyboard.press('v');
    await page.keyboard.down('Shift');
    await click(200, -100);
    await page.keyboard.up('Shift');
    await page.getByRole('button', { name: 'Simplify' }).click();
    const shapes = await save();
    expect(shapes.map(({ group = null, type }) => [group, type])).toEqual([
      ['b', 'polyline'],
      [null, 'polyline'],
      ['a', 'point'],
      ['b', 'polyline'],
    ]);
    expect([shapes[0]!, shapes[3]!].map(areaOf).map(Math.round)).toEqual([8000, 8000].map((area) => expect.closeTo(area, -2)));

    // Shapes that do not touch each other stay apart.
    await tool('Box selection');
    await drag([-320, -200], [320, 200]);
    await page.getByText('4 shapes selected').waitFor();
    await page.getByRole('button', { name: 'Merge' }).click();
    await page.getByText('Shapes that do not touch each other cannot be merged.').waitFor();
    await page.getByRole('button', { name: 'Delete shapes' }).click();
    await waitForUnsaved(4);
    expect(await save()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('does not change the outlines of shapes that QuPath has locked until they are unlocked', async () => {
    await edit([square(0, 0, 200, { user: { qupath: { isLocked: true } } })]);
    await click(0, 0);
    await page.getByText('This shape is locked in QuPath').waitFor();
    await drag([0, 0], [60, 0]);
    await tool('Eraser');
    await click(0, 0);
    await tool('Split');
    await drag([0, -150], [0, 150]);
    await page.getByText('Draw a line that crosses a shape').waitFor();
    expect(await page.getByText('All changes are saved.').isVisible()).toBe(true);
    await page.keyboard.press('v');
    // Dragging has moved the image, because the locked shape does not move.
    await page.getByRole('button', { name: 'Unlock' }).click();
    await tool('Eraser');
    await page.getByText('1 unsaved change', { exact: true }).waitFor();
    const [shape] = await save();
    expect(shape!.user!.qupath!.isLocked).toBe(false);
    expect(areaOf(shape!)).toBeCloseTo(40_000, 0);
    expect(complaints).toEqual([]);
  });

  it('draws with a finger or a pen, and moves the view with two fingers', async () => {
    await edit([]);
    const session: CDPSession = await context.newCDPSession(page);
    const touch = async (type: 'touchStart' | 'touchMove' | 'touchEnd', ...points: [number, number][]) => {
      const touchPoints = await Promise.all(points.map(async ([x, y], id) => ({ id, ...asPoint(await at(x, y)) })));
      await session.send('Input.dispatchTouchEvent', { type, touchPoints });
    };
    const asPoint = ([x, y]: [number, number]) => ({ x, y });
    await tool('Polygon');
    const before = page.url();
    await touch('touchStart', [-200, -100]);
    for (const [x, y] of [
      [-150, -150],
      [-100, -100],
      [-100, 0],
      [-190, 0],
    ] as const)
      await touch('touchMove', [x, y]);
    await touch('touchEnd');
    await waitForUnsaved(1);
    expect(page.url()).toBe(before);
    // Two fingers draw nothing.
    await touch('touchStart', [100, 0]);
    await touch('touchMove', [110, 0]);
    await touch('touchStart', [110, 0], [200, 0]);
    for (const x of [0, 10, 20, 30, 40]) await touch('touchMove', [110 - x, 0], [200 + x, 0]);
    await touch('touchEnd');
    await until('the view has changed', () => page.url() !== before);
    await waitForUnsaved(1);
    expect(await save()).toHaveLength(1);

    // Once a pen has drawn, a single finger moves the view.
    const pen = async (type: 'mousePressed' | 'mouseMoved' | 'mouseReleased', x: number, y: number) => {
      const buttons = type === 'mouseReleased' ? 0 : 1;
      const place = asPoint(await at(x, y));
      await session.send('Input.dispatchMouseEvent', {
        type,
        ...place,
        button: 'left',
        buttons,
        clickCount: 1,
        pointerType: 'pen',
      });
    };
    await pen('mousePressed', -100, 100);
    for (const x of [-60, -20, 20]) await pen('mouseMoved', x, 100 + Math.abs(x));
    await pen('mouseReleased', 20, 100);
    await waitForUnsaved(1);
    const place = page.url();
    await touch('touchStart', [0, -100]);
    for (const x of [20, 40, 60, 80]) await touch('touchMove', [x, -100]);
    await touch('touchEnd');
    await until('the view has moved', () => page.url() !== place);
    await waitForUnsaved(1);
    expect(complaints).toEqual([]);
  });
});
