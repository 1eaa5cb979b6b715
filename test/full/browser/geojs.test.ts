/** geojs in a browser, as existing viewers use it: tiles of an item, centroids as points, GeoJSON in an annotation layer. */
import { existsSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, launchChromium } from '../../support/pages/chromium.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

const executablePath = chromiumPath();
/** GEOJS names `geo.min.js` of the package geojs, which only this test uses. */
const geojs = process.env.GEOJS ?? '';
const reason = existsSync(geojs)
  ? null
  : `GEOJS names no file: ${geojs || 'npm install --no-save --ignore-scripts geojs@1.19, and GEOJS=node_modules/geojs/geo.min.js'}`;
if (reason !== null) console.warn(`skipped: geojs in a browser, because ${reason}`);

const red = { lineColor: '#ff0000', lineWidth: 3 };
const elements = [
  { type: 'point', center: [200, 300, 0], ...red },
  { type: 'rectangle', center: [500, 400, 0], width: 200, height: 100, rotation: 0.5, ...red },
  { type: 'ellipse', center: [900, 400, 0], width: 300, height: 120, rotation: 0.3, ...red },
  { type: 'circle', center: [400, 800, 0], radius: 90, ...red },
  { type: 'polyline', closed: true, points: [[700, 700, 0], [900, 720, 0], [800, 900, 0]], ...red }, // prettier-ignore
];

/** Code that runs in the page before each script: `get`, `tiles` and a map of the item. */
const opening = (item: string) => `
  const get = async (path, init) => {
    const answer = await fetch('/api/v1' + path, init);
    if (!answer.ok) throw new Error(path + ' ' + answer.status + ' ' + await answer.text());
    return answer;
  };
  const tiles = await (await get('/item/${item}/tiles')).json();
  document.body.innerHTML = '<div id="map" style="width: 800px; height: 600px"></div>';
  const params = geo.util.pixelCoordinateParams('#map', tiles.sizeX, tiles.sizeY, tiles.tileWidth, tiles.tileHeight);
  const map = geo.map(params.map);
`;

describe.skipIf(executablePath === null || reason !== null)('geojs', () => {
  let started: TestHost;
  let admin: Client;
  let browser: Browser;
  let page: Page;
  let item: string;
  let annotation: string;

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'Slides', true), 'slide.tif', await pyramid(1500, 1100));
    const created = await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'shapes', elements } });
    annotation = String(created._id);
    browser = await launchChromium(executablePath!, ['--enable-unsafe-swiftshader']);
    page = await browser.newPage();
    await page.route(`${started.url}/geojs.html`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }),
    );
    await page.goto(`${started.url}/geojs.html`);
    await page.addScriptTag({ path: geojs });
  });
  afterAll(async () => {
    await browser?.close();
    await started?.close();
  });

  const inPage = <T>(text: string) => page.evaluate<T>(`(async () => { ${opening(item)} ${text} })()`);

  it('shows the tiles', async () => {
    const failed: string[] = [];
    let shown = 0;
    page.on('response', (response) => {
      if (!response.url().includes('/tiles/zxy/')) return;
      if (response.ok()) shown += 1;
      else failed.push(`${response.status()} ${response.url()}`);
    });
    const [size, color] = await inPage<[unknown, number[]]>(`
      Object.assign(params.layer, { url: '/api/v1/item/${item}/tiles/zxy/{z}/{x}/{y}', renderer: 'canvas' });
      const layer = map.createLayer('osm', params.layer);
      await new Promise((resolve) => layer.onIdle(resolve));
      map.zoom(map.zoom() + 1);
      await new Promise((resolve) => layer.onIdle(resolve));
      await new Promise((resolve) => map.onIdle(resolve));
      const canvas = document.querySelector('#map canvas');
      return [[tiles.sizeX, tiles.sizeY], [...canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data]];
    `);
    expect(size).toEqual([1500, 1100]);
    expect(failed).toEqual([]);
    expect(shown).toBeGreaterThan(1);
    expect(color[3]).toBe(255);
  });

  it('keeps every shape of an annotation in its annotation layer, and returns it unchanged', async () => {
    const [types, corners, stored] = await inPage<[string[], { x: number; y: number }[], { type: string }[]]>(`
      const layer = map.createLayer('annotation', { annotations: geo.listAnnotations() });
      layer.geojson(await (await get('/annotation/${annotation}/geojson')).json(), true, map.gcs());
      // geojs reads them in several turns of the event loop.
      while (layer.annotations().length < ${elements.length}) await new Promise((resolve) => setTimeout(resolve, 20));
      const all = layer.annotations();
      const sent = layer.geojson(undefined, undefined, map.gcs());
      const made = await (await get('/annotation?itemId=${item}', {
        method: 'POST', headers: { 'Content-Type': 'application/json', 'Girder-Token': '${admin.token}' }, body: JSON.stringify(sent),
      })).json();
      const back = await (await get('/annotation/' + made._id, { headers: { 'Girder-Token': '${admin.token}' } })).json();
      return [all.map((one) => one.type()), all.find((one) => one.type() === 'ellipse').coordinates(map.gcs()), back.annotation.elements];
    `);
    expect(types.toSorted()).toEqual(['circle', 'ellipse', 'point', 'polygon', 'rectangle']);
    const middle = { x: corners.reduce((sum, { x }) => sum + x / 4, 0), y: corners.reduce((sum, { y }) => sum + y / 4, 0) };
    expect([Math.round(middle.x), Math.round(middle.y)]).toEqual([900, 400]);
    // geojs groups shapes by how it draws them.
    const byType = new Map(stored.map((element) => [element.type, element]));
    expect([...byType.keys()].toSorted()).toEqual(elements.map(({ type }) => type).toSorted());
    const near = { width: expect.closeTo(300, 1), height: expect.closeTo(120, 1), rotation: expect.closeTo(0.3, 3) };
    expect(byType.get('ellipse')).toMatchObject(near);
    expect(byType.get('circle')).toMatchObject({ radius: expect.closeTo(90, 1) });
  });

  it('shows centroids as points where the shapes are', async () => {
    const positions = await inPage<number[]>(`
      const bytes = new Uint8Array(await (await get('/annotation/${annotation}?centroids=true')).arrayBuffer());
      const [first, last] = [bytes.indexOf(0), bytes.lastIndexOf(0)];
      const text = new TextDecoder().decode(bytes.slice(0, first)) + new TextDecoder().decode(bytes.slice(last + 1));
      const { _elementQuery: query } = JSON.parse(text);
      const view = new DataView(bytes.buffer, first + 1, last - first - 1);
      if (view.byteLength !== query.returned * 28) throw new Error(view.byteLength + ' bytes of ' + query.returned);
      const data = Array.from({ length: query.returned }, (_, i) => ({
        x: view.getFloat32(i * 28 + 12, true), y: view.getFloat32(i * 28 + 16, true), props: query.props[view.getInt32(i * 28 + 24, true)],
      }));
      const layer = map.createLayer('feature', { features: ['point'] });
      const points = layer.createFeature('point').data(data).position((d) => d);
      map.draw();
      return [[200, 300], [500, 400], [900, 400], [400, 800]].map(([x, y]) => points.pointSearch({ x, y }).found.length);
    `);
    expect(positions).toEqual([1, 1, 1, 1]);
  });
});
