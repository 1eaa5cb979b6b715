import { readFile } from 'node:fs/promises';
import { inflateSync } from 'node:zlib';
import sharp from 'sharp';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { onErrors, stageOf } from '../../support/pages/stage.js';
import { violationsOf } from '../../support/pages/violations.js';
import { until } from '../../support/run/until.js';
import { knownFiles } from '../../support/zarr/known-images.js';

const executablePath = chromiumPath();
const [width, height] = [800, 600];

/** A square of one color, a label, a hole, and shapes of all kinds that the page draws. */
const shapes = [
  {
    type: 'rectangle',
    center: [200, 150, 0],
    width: 200,
    height: 100,
    fillColor: '#ff0000',
    lineColor: '#ff0000',
    lineWidth: 0,
    group: 'tumor <1>',
  },
  {
    type: 'polyline',
    closed: true,
    points: [
      [500, 100, 0],
      [700, 100, 0],
      [700, 300, 0],
      [500, 300, 0],
    ],
    holes: [
      [
        [550, 150, 0],
        [650, 150, 0],
        [650, 250, 0],
        [550, 250, 0],
      ],
    ],
    fillColor: 'rgba(0, 0, 255, 1)',
    lineColor: '#0000ff',
    group: 'stroma',
  },
  {
    type: 'ellipse',
    center: [200, 400, 0],
    width: 100,
    height: 60,
    rotation: 0.5,
    lineColor: '#00aa00',
    label: { value: 'A & <B> Ωλ', visibility: 'always' },
  },
  { type: 'circle', center: [400, 400, 0], radius: 30, label: { value: 'Größe 5 µm', visibility: 'always' } },
  { type: 'point', center: [400, 300, 0] },
  {
    type: 'arrow',
    points: [
      [300, 300, 0],
      [350, 350, 0],
    ],
  },
  { type: 'rectanglegrid', center: [600, 450, 0], width: 100, height: 100, widthSubdivisions: 4, heightSubdivisions: 4 },
];

describe.skipIf(executablePath === null)('the figure dialog', { timeout: 300_000 }, () => {
  let testHost: TestHost;
  let browser: Browser;
  let page: Page;
  let admin: Client;
  let folder: string;
  let slide: string;
  const complaints: string[] = [];

  const gray = (side: [number, number], level: number) =>
    sharp({ create: { width: side[0], height: side[1], channels: 3, background: { r: level, g: level, b: level } } }).tiff({
      tile: true,
      pyramid: true,
    });

  beforeAll(async () => {
    testHost = await startHost();
    admin = await testHost.register('anna');
    folder = await newFolder(admin, 'Figures', true);
    // 1000 pixels per millimeter.
    const scaled = await gray([width, height], 200).withMetadata({ density: 25_400 }).toBuffer();
    slide = await uploadItem(admin, folder, 'slide.v2.tif', scaled);
    await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: 'Areas', elements: shapes } });
    browser = await launchChromium(executablePath!);
    page = await (await browser.newContext({ viewport: { width: 1280, height: 850 }, reducedMotion: 'reduce' })).newPage();
    page.setDefaultTimeout(60_000);
    onErrors(page, (text) => complaints.push(text));
  }, 120_000);

  afterAll(async () => {
    await browser?.close();
    await testHost?.close();
  });

  async function open(id = slide, query = '') {
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${id}${query}`);
    await page.getByRole('button', { name: 'Save this view' }).click();
    await dialog().waitFor();
  }

  const dialog = () => page.getByRole('dialog', { name: 'Save this view' });

  /** Fills out the dialog, and saves the figure. */
  async function saved(entries: { format: string; width?: string; unit?: string; dpi?: string; title?: string; off?: string[] }) {
    const { format, width: wide = '800', unit = 'px', dpi = '300', title = '', off = [] } = entries;
    await dialog().getByLabel('Format').selectOption(format);
    await dialog().getByLabel('Width').fill(wide);
    await dialog().getByLabel('Unit').selectOption(unit);
    await dialog().getByLabel('Pixels per inch').fill(dpi);
    await dialog().getByLabel('Title').fill(title);
    for (const box of await dialog().getByRole('checkbox').all()) if (await box.isEnabled()) await box.check();
    for (const name of off) await dialog().getByLabel(name).uncheck();
    const download = page.waitForEvent('download');
    await dialog().getByRole('button', { name: 'Save figure' }).click();
    const file = await download;
    await dialog().waitFor({ state: 'detached' });
    return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
  }

  /** The size of a picture, and a function that returns the color of a pixel. */
  async function pixels(bytes: Buffer) {
    const { data, info } = await sharp(bytes).removeAlpha().raw().toBuffer({ resolveWithObject: true });
    return {
      size: [info.width, info.height],
      at: (x: number, y: number) => [...data.subarray((y * info.width + x) * 3, (y * info.width + x) * 3 + 3)],
    };
  }

  it.each([
    ['png', 'slide.v2_region_0_0.png'],
    ['tiff', 'slide.v2_region_0_0.tif'],
  ])('saves %s at its width and density, with shapes and scale bar', async (format, expected) => {
    await open();
    const { name, bytes } = await saved({ format, off: ['Legend'], dpi: '254' });
    expect(name).toBe(expected);
    const { density, width: wide, height: high } = await sharp(bytes).metadata();
    expect([wide, high, density]).toEqual([width, height, 254]);
    const { at } = await pixels(bytes);
    expect(at(200, 150)).toEqual([255, 0, 0]);
    expect(at(520, 120)).toEqual([0, 0, 255]);
    // The hole shows the image.
    expect(at(600, 200)).toEqual([200, 200, 200]);
    expect(at(780, 20)).toEqual([200, 200, 200]);
    // The background of the scale bar is lighter than the image.
    expect(at(20, 580)[0]).toBeGreaterThan(230);
  });

  it('saves pictures without annotations or scale bar', async () => {
    await open();
    const { bytes } = await saved({ format: 'png', width: '400', off: ['Annotations', 'Scale bar', 'Legend'] });
    const { channels } = await sharp(bytes).stats();
    for (const { min, max } of channels) expect([min >= 199, max <= 201]).toEqual([true, true]);
  });

  it('saves SVG with shapes, labels, scale bar and legend as vectors', async () => {
    await open();
    const { name, bytes } = await saved({ format: 'svg', title: 'Title & <more>' });
    expect(name).toBe('slide.v2_region_0_0.svg');
    const text = bytes.toString();
    const drawn = await page.evaluate<{ errors: number; paths: number; texts: string[]; images: number; width: string }>(`(() => {
      const svg = new DOMParser().parseFromString(${JSON.stringify(text)}, 'image/svg+xml');
      const all = (name) => [...svg.querySelectorAll(name)];
      return { errors: all('parsererror').length, paths: all('path').length, images: all('image').length, texts: all('text').map((one) => one.textContent), width: svg.documentElement.getAttribute('width') };
    })()`);
    expect(drawn.errors).toBe(0);
    expect(drawn.images).toBe(1);
    expect(drawn.paths).toBeGreaterThan(shapes.length + 2);
    expect(drawn.width).toBe('67.733mm');
    for (const label of ['Title & <more>', 'A & <B> Ωλ', 'Größe 5 µm', 'tumor <1>', 'stroma', 'Areas', '200 µm'])
      expect(drawn.texts).toContain(label);
    // Another program draws it, too, and not only one color.
    const { channels } = await sharp(bytes, { density: 300 }).stats();
    expect(channels[0]!.stdev).toBeGreaterThan(10);
  });

  it('saves PDF with vectors, and draws text that its fonts lack into the picture', async () => {
    await open();
    const { name, bytes } = await saved({ format: 'pdf', width: '8', unit: 'cm', dpi: '300' });
    expect(name).toBe('slide.v2_region_0_0.pdf');
    const text = bytes.toString('latin1');
    expect(text.startsWith('%PDF-1.4')).toBe(true);
    expect(text).toContain('/MediaBox [0 0 226.8 ');
    // Each entry of the table of objects leads to its object.
    const places = [...text.matchAll(/^(\d{10}) 00000 n /gm)].map(([, place]) => Number(place));
    expect(places.map((place, index) => text.startsWith(`${index + 1} 0 obj`, place))).toEqual(Array(7).fill(true));
    expect(text).toContain('/Font << /Helvetica 6 0 R /Helvetica-Bold 7 0 R >>');
    for (const object of [6, 7]) expect(text).toContain(`\n${object} 0 obj\n<< /Type /Font`);
    expect(text.startsWith('xref', Number(/startxref\n(\d+)/.exec(text)?.[1]))).toBe(true);
    const streams = [...text.matchAll(/\/Length (\d+) >>\nstream\n/g)].map((match) => {
      const start = match.index + match[0].length;
      return inflateSync(bytes.subarray(start, start + Number(match[1])));
    });
    const content = streams[0]!.toString();
    const hex = (words: string) => Buffer.from(words, 'latin1').toString('hex');
    for (const words of ['Größe 5 µm', 'tumor <1>', 'stroma']) expect(content).toContain(`<${hex(words)}>`);
    expect(content).not.toContain(hex('A & <B>'));
    expect(content).toMatch(/ f\*/);
    expect(streams[1]!.length).toBe(945 * Math.round(streams[1]!.length / 945 / 3) * 3);
  });

  it('saves the box that is drawn, and names the file after its corner', async () => {
    await open(slide, '?at=400,300,800');
    await dialog().getByRole('button', { name: 'Draw a box' }).click();
    await dialog().waitFor({ state: 'detached' });
    const zoom = (await page.locator('.drawing').boundingBox())!.width / 800;
    await stageOf(page).drag([-300 * zoom, -200 * zoom], [-100 * zoom, -100 * zoom]);
    await dialog()
      .getByText(/20\d × 10\d px of the image/)
      .waitFor();
    const { name, bytes } = await saved({ format: 'png', width: '201', off: ['Scale bar', 'Legend'] });
    expect(name).toMatch(/^slide\.v2_region_(99|100)_(99|100)\.png$/);
    const { at } = await pixels(bytes);
    expect(at(100, 80)).toEqual([255, 0, 0]);
    // The selection of a box can be canceled, and then the view can be used again.
    await page.getByRole('button', { name: 'Save this view' }).click();
    await dialog().getByRole('button', { name: 'Draw a box' }).click();
    await page.keyboard.press('Escape');
    await dialog()
      .getByText(/800 × \d+ px of the image/)
      .waitFor();
  });

  it('refuses impossible widths and densities, and states the limits', async () => {
    await open();
    const expectRefusal = async (label: string, value: string, words: string) => {
      const before = await dialog().getByLabel(label).inputValue();
      await dialog().getByLabel(label).fill(value);
      await dialog().getByRole('button', { name: 'Save figure' }).click();
      await dialog().getByRole('alert').getByText(words).waitFor();
      await dialog().getByLabel(label).fill(before);
    };
    await dialog().getByLabel('Unit').selectOption('px');
    for (const value of ['0', '', '49', '1000000000'])
      await expectRefusal('Width', value, 'Enter a width of 50 to 10\u2009000 pixels.');
    await expectRefusal('Width', '9000', 'The limit is 10\u2009000 per side and 40\u2009000\u2009000 in total.');
    for (const value of ['', '1', '100000'])
      await expectRefusal('Pixels per inch', value, 'Enter 30 to 2\u2009400 pixels per inch.');
    // The settings of the last figure are remembered.
    await saved({ format: 'svg', width: '333' });
    await open();
    expect(await dialog().getByLabel('Width').inputValue()).toBe('333');
    expect(await dialog().getByLabel('Format').inputValue()).toBe('svg');
  });

  it('says why there is no scale bar, and that a view beyond the image is empty', async () => {
    const plain = await uploadItem(
      admin,
      folder,
      'plain.png',
      await sharp({ create: { width: 300, height: 200, channels: 3, background: 'white' } })
        .png()
        .toBuffer(),
    );
    await open(plain);
    expect(await dialog().getByLabel('Scale bar').isDisabled()).toBe(true);
    await dialog().getByText('There is no scale bar, because the pixel size is not known.').waitFor();
    await saved({ format: 'png', width: '100' });
    await open(plain, '?at=-40,100,60');
    await dialog().getByText('No part of the image is in this box.').waitFor();
    await dialog().getByRole('button', { name: 'Save figure' }).click();
    await dialog().getByRole('alert').getByText('No part of the image is in this box.').waitFor();
  });

  it('saves annotations with many shapes, and heat maps, as a picture, and says so', async () => {
    const item = await uploadItem(admin, folder, 'many.tif', await gray([4000, 4000], 255).toBuffer());
    const elements = Array.from({ length: 20_500 }, (_, index) => ({
      type: 'rectangle',
      center: [(index % 150) * 25 + 20, Math.floor(index / 150) * 25 + 20, 0],
      width: 20,
      height: 20,
      lineColor: '#00ff00',
      fillColor: '#00ff00',
    }));
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Nuclei', elements } });
    const heat = {
      type: 'heatmap',
      points: [
        [2000, 3900, 0, 1],
        [300, 3900, 0, 0],
      ],
      radius: 80,
      scaleWithZoom: true,
      colorRange: ['rgba(255, 0, 0, 0)', '#ff0000'],
      rangeValues: [0, 1],
    };
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Heat', elements: [heat] } });
    await open(item);
    const { bytes } = await saved({ format: 'svg', width: '1000', off: ['Legend'] });
    expect(bytes.toString().match(/<path/g) ?? []).toEqual([]);
    for (const name of ['Nuclei', 'Heat'])
      await page.getByText(`“${name}” is in the figure as a picture, not as vectors`).waitFor();
    await open(item);
    const { at } = await pixels((await saved({ format: 'png', width: '1000', off: ['Legend'] })).bytes);
    expect(at(5, 5)).toEqual([0, 255, 0]);
    expect(at(500, 975)).not.toEqual([255, 255, 255]);
    expect(at(990, 500)).toEqual([255, 255, 255]);
  });

  it('draws overlays with their transform and opacity, below the shapes', async () => {
    const red = sharp({ create: { width: 200, height: 100, channels: 3, background: '#ff0000' } }).png();
    const overlay = await uploadItem(admin, folder, 'red.png', await red.toBuffer());
    const item = await uploadItem(admin, folder, 'white.tif', await gray([1000, 1000], 255).toBuffer());
    // A quarter turn: x runs down, y to the left.
    const turned = [
      [0, 1],
      [-1, 0],
    ];
    const elements = [
      { type: 'image', girderId: overlay, opacity: 0.5, transform: { xoffset: 500, yoffset: 100, matrix: turned } },
      { type: 'rectangle', center: [450, 200, 0], width: 40, height: 40, fillColor: '#0000ff', lineColor: '#0000ff' },
    ];
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Result', elements } });
    const colors = async (format: string) => {
      const { bytes } = await saved({ format, width: '500', off: ['Legend'] });
      const { at } = await pixels(format === 'svg' ? await sharp(bytes, { density: 300 }).resize(500).png().toBuffer() : bytes);
      return [at(225, 140), at(225, 100), at(275, 75)];
    };
    for (const format of ['png', 'svg']) {
      await open(item);
      expect(await colors(format)).toEqual([
        [255, 127, 127],
        [0, 0, 255],
        [255, 255, 255],
      ]);
    }
    await open(item);
    await page.keyboard.press('Escape');
    await page.getByRole('slider', { name: 'Opacity' }).fill('0.4');
    await page.getByRole('button', { name: 'Save this view' }).click();
    expect((await colors('png'))[0]).toEqual([255, 204, 204]);
  });

  it('draws overlays of an annotation with very many shapes below its tiles, on the page and in figures', async () => {
    const red = sharp({ create: { width: 200, height: 200, channels: 3, background: '#ff0000' } }).png();
    const overlay = await uploadItem(admin, folder, 'red square.png', await red.toBuffer());
    const item = await uploadItem(admin, folder, 'crowded.tif', await gray([1000, 1000], 255).toBuffer());
    const squares = Array.from({ length: 20_500 }, (_, index) => ({
      type: 'rectangle',
      center: [(index % 205) * 2 + 1, Math.floor(index / 205) * 4 + 302, 0],
      width: 2,
      height: 4,
      lineColor: '#00ff00',
      fillColor: '#00ff00',
    }));
    const elements = [...squares, { type: 'image', girderId: overlay, transform: { xoffset: 300, yoffset: 400 } }];
    await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Cells', elements } });
    const expected = [
      [0, 255, 0],
      [0, 255, 0],
      [255, 0, 0],
      [255, 255, 255],
    ];
    await open(item);
    const { bytes } = await saved({ format: 'png', width: '500', off: ['Legend', 'Scale bar'] });
    const { at } = await pixels(bytes);
    const places = [250, 350, 450, 550];
    expect(places.map((x) => at(x / 2, 250))).toEqual(expected);
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${item}?at=500,500,1000`);
    await until('the page shows the same', async () => {
      const shown = await page.evaluate(`(() => {
        const canvas = document.querySelector('.drawing .openseadragon-canvas canvas');
        const colorAt = (x) => canvas?.getContext('2d').getImageData((x * canvas.width) / 1000, canvas.height / 2, 1, 1).data;
        return ${JSON.stringify(places)}.map((x) => [...(colorAt(x) ?? [])].slice(0, 3));
      })()`);
      return JSON.stringify(shown) === JSON.stringify(expected);
    });
  });

  it('saves the visible channels in the legend, and uses the frame and projection of the view', async () => {
    const { bytes: stack } = await knownFiles.find(({ file }) => file === 'image.ome.tif')!.make();
    const item = await uploadItem(admin, folder, 'stack.ome.tif', stack);
    const regions: URL[] = [];
    page.on('request', (request) => request.url().includes('/tiles/region') && regions.push(new URL(request.url())));
    await open(item, '?frame=8&channels=1:ff00ff:10~200&project=max:0~1');
    const { name, bytes } = await saved({ format: 'svg', width: '400' });
    expect(name).toBe('stack_region_0_0.svg');
    const { searchParams } = regions.at(-1)!;
    expect(['frame', 'zProject', 'zFrom', 'zTo', 'encoding'].map((key) => searchParams.get(key))).toEqual([
      '8',
      'max',
      '0',
      '1',
      'PNG',
    ]);
    expect(searchParams.get('style')).toContain('#ff00ff');
    expect(bytes.toString()).toContain('fill="#ff00ff"');
  });

  it('saves both images of a comparison, each with its name and scale bar', async () => {
    const other = await uploadItem(
      admin,
      folder,
      'other.tif',
      await gray([width, height], 100).withMetadata({ density: 25_400 }).toBuffer(),
    );
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${slide}?with=${other}`);
    await page.getByRole('button', { name: 'Move both together' }).waitFor();
    await page.getByRole('button', { name: 'Save this view' }).first().click();
    await dialog().waitFor();
    const { bytes } = await saved({ format: 'png', width: '1200', off: ['Legend'] });
    const { at, size } = await pixels(bytes);
    expect(size[0]).toBe(1200);
    const middle = Math.round(size[1]! / 2);
    expect(at(290, middle)).not.toEqual(at(910, middle));
    expect(at(910, middle)).toEqual([100, 100, 100]);
    expect(at(600, middle)).toEqual([255, 255, 255]);
    await page.getByRole('button', { name: 'Save this view' }).first().click();
    const text = (await saved({ format: 'svg', width: '1200' })).bytes.toString();
    for (const label of ['slide.v2.tif', 'other.tif']) expect(text).toContain(`>${label}</text>`);
    expect(text.match(/ µm<\/text>/g)?.length).toBe(2 + 1);
  });

  it('prints the image and its metadata, and leaves the view unchanged', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto('about:blank');
    await page.goto(`${testHost.url}/#item/${slide}?at=300,200,400`);
    await page.getByTestId('scale-bar').waitFor();
    const before = page.url();
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const sheet = page.locator('.print-sheet');
    for (const words of ['slide.v2.tif', '800 × 600 px', '1 µm × 1 µm', before]) await sheet.getByText(words).waitFor();
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.print-sheet h1')).color`)).toBe('rgb(26, 28, 36)');
    await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`);
    await until('the sheet is empty', async () => (await sheet.locator('*').count()) === 0);
    // This is the browser's own printing, with its events.
    const pdf = await page.pdf();
    expect(pdf.toString('latin1')).toContain('/Subtype /Image');
    expect(await sheet.locator('*').count()).toBe(0);
    expect(page.url()).toBe(before);
  });

  it('has no violations that axe finds, and no errors in the console', async () => {
    await open();
    expect(await violationsOf(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
