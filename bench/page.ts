/**
 * Measures the viewer in a headless Chromium that draws in software: how much longer a frame takes with annotations while the view is panned,
 * how long tasks keep the page busy, and how long the first picture takes. docs/benchmarks.md says what the lines mean.
 */
import type { Page, Request } from 'playwright-core';
import { chromiumPath, launchChromium } from '../test/support/pages/chromium.js';
import { median } from './support/measure.js';
import { randomNumbers } from './support/polygons.js';
import { slideSize, startSlideHost, type SlideHost } from './tiles/slide-host.js';

const [scale = '1'] = process.argv.slice(3);
const frames = 100;
const rounds = 3;
const maxWarmUps = 12;

/** Shapes all over the slide: nuclei of 12 corners, or boxes. */
function* shapeTexts(count: number, isNucleus: boolean): Generator<string, void, undefined> {
  const random = randomNumbers(11);
  for (let index = 0; index < count; index += 1) {
    const [x, y] = [Math.round(random() * slideSize), Math.round(random() * slideSize)];
    const style = { group: `group ${index % 3}`, lineColor: ['#0072b2', '#d55e00', '#009e73'][index % 3], lineWidth: 2 };
    const points = Array.from({ length: isNucleus ? 12 : 0 }, (_, at) => {
      const radius = 5 + 3 * random();
      return [Math.round(x + radius * Math.cos((at * Math.PI) / 6)), Math.round(y + radius * Math.sin((at * Math.PI) / 6)), 0];
    });
    yield JSON.stringify(
      isNucleus
        ? { type: 'polyline', closed: true, points, fillColor: 'rgba(0, 114, 178, 0.25)', ...style }
        : { type: 'rectangle', center: [x, y, 0], width: 6, height: 4, rotation: 0, ...style },
    );
  }
}

async function annotate(host: SlideHost, name: string, texts: Iterable<string>): Promise<string> {
  const encoder = new TextEncoder();
  const pieces = (async function* () {
    let piece = `{"name":${JSON.stringify(name)},"elements":[`;
    let isFirst = true;
    for (const text of texts) {
      piece += `${isFirst ? '' : ','}${text}`;
      isFirst = false;
      if (piece.length < 1 << 20) continue;
      yield encoder.encode(piece);
      piece = '';
    }
    yield encoder.encode(`${piece}]}`);
  })();
  const headers = { ...host.headers, 'Content-Type': 'application/json' };
  const init = { method: 'POST', headers, body: ReadableStream.from(pieces), duplex: 'half' as const };
  const response = await fetch(`${host.url}/api/v1/annotation?itemId=${host.itemId}`, init);
  if (!response.ok) throw new Error(await response.text());
  const head = /"_id":\s*"([0-9a-f]{24})"/.exec(await response.text());
  return head![1]!;
}

/** The result of a round of panning, in milliseconds. */
interface PanResult {
  frame: number;
  longest: number;
}

/**
 * Number of a line across the slide along which the view is panned, so that everything becomes visible for the first time; `null`
 * for a circle.
 */
type Line = number | null;

function startOf(width: number, line: Line): { x: number; y: number } {
  return line === null ? { x: slideSize / 2, y: slideSize / 2 } : { x: width / 2, y: (line + 0.5) * width };
}

/** Pans the view by a hundredth of its width per frame. */
function pan(page: Page, width: number, line: Line): Promise<PanResult> {
  const step = width / 100;
  const { x, y } = startOf(width, line);
  const at =
    line === null
      ? `{ x: ${x} + radius * Math.cos(angle), y: ${y} + radius * Math.sin(angle) }`
      : `{ x: ${x} + ${step} * (count + 20), y: ${y} }`;
  return page.evaluate<PanResult>(`new Promise((resolve) => {
    const viewer = document.querySelector('large-image-viewer');
    let longest = 0;
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
    });
    observer.observe({ type: 'longtask' });
    const radius = Math.min(${width * 0.4}, ${slideSize / 4});
    let angle = 0, count = -20, start = 0;
    const step = (now) => {
      if (count === 0) start = now;
      if (count === ${frames}) {
        observer.disconnect();
        return resolve({ frame: (now - start) / ${frames}, longest });
      }
      count += 1;
      angle += ${step} / radius;
      viewer.goTo({ ...${at}, width: ${width} });
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  })`);
}

/** Shows the place where panning begins with some annotations hidden, until nothing is loading. */
async function show(
  page: Page,
  at: { width: number; line: Line },
  hiddenAnnotations: readonly string[],
  isFirst: boolean,
): Promise<void> {
  const { width, line } = at;
  const { x, y } = startOf(width, line);
  await page.evaluate(
    `document.querySelector('large-image-viewer').view = 'at=${x},${y},${width}&hide=${hiddenAnnotations.join(',')}'`,
  );
  await page.waitForLoadState('networkidle');
  // The received tiles still have to be decoded and drawn.
  await page.waitForTimeout(1000);
  if (!isFirst) return;
  // The view is panned until all tiles along the way are loaded, because a server on the same processors must not make tiles while frames
  // are measured.
  for (let round = 0; round < maxWarmUps; round += 1) {
    let tileCount = 0;
    const countTile = (request: Request) => void (tileCount += request.url().includes('/tiles/') ? 1 : 0);
    page.on('request', countTile);
    await pan(page, width, line);
    await page.waitForLoadState('networkidle');
    page.off('request', countTile);
    if (tileCount === 0) break;
  }
  await show(page, at, hiddenAnnotations, false);
}

/**
 * The element on an otherwise empty page of the host. It is added by a script, because with a replaced page every request would
 * pass through this process, which is also the server, and the browser would cache nothing.
 */
async function openElement(page: Page, host: SlideHost): Promise<void> {
  const html = await (await fetch(host.url)).text();
  const script = /src="([^"]+)app\.js"/.exec(html)![1]!;
  const token = host.headers['Girder-Token'];
  // The network is never idle while an event stream is open. Without the stream, the viewer requests changes now and then.
  await page.addInitScript(`{
    const { fetch } = window;
    window.fetch = (url, init) => (String(url).includes('/annotation/events?') ? Promise.reject(new TypeError('No stream.')) : fetch(url, init));
  }`);
  await page.goto(`${host.url}/api/v1/system/version`);
  await page.evaluate(`{
    const script = Object.assign(document.createElement('script'), { type: 'module', src: new URL('${script}element.js', '${host.url}/') });
    const viewer = document.createElement('large-image-viewer');
    viewer.style.height = '96vh';
    for (const [name, value] of Object.entries({ item: '${host.itemId}', token: '${token}', panels: 'annotations' })) viewer.setAttribute(name, value);
    document.body.replaceChildren(script, viewer);
  }`);
  await page.getByRole('list', { name: 'Annotations' }).waitFor();
}

function report(name: string, value: string, target: string, reached: boolean): void {
  if (!reached) process.exitCode = 1;
  console.log(`${name.padEnd(52)} ${value.padStart(24)} (target: ${target}; ${reached ? 'reached' : 'NOT REACHED'})`);
}

async function panning(host: SlideHost, page: Page): Promise<void> {
  const cases = [
    { name: '230,000 nuclei', count: 230_000, isNucleus: true, target: 1.3, widths: [slideSize * 1.5, 2400, 700] },
    { name: '1,000,000 boxes', count: 1_000_000, isNucleus: false, target: 1.5, widths: [slideSize * 1.5, 2400, 350] },
  ];
  const ids: string[] = [];
  for (const { name, count, isNucleus } of cases)
    ids.push(await annotate(host, name, shapeTexts(Math.round(count * Number(scale)), isNucleus)));
  await openElement(page, host);
  for (const [index, { name, target, widths }] of cases.entries()) {
    const others = ids.toSpliced(index, 1);
    for (const [turn, width] of widths.entries()) {
      // Near views are also measured where nothing was visible before.
      const variants = turn < 2 ? [false] : [false, true];
      for (const isNew of variants) {
        const resultsAlone: PanResult[] = [];
        const resultsWithShapes: PanResult[] = [];
        for (let round = 0; round < rounds; round += 1) {
          const at = { width, line: isNew ? round : null };
          await show(page, at, ids, isNew || round === 0);
          resultsAlone.push(await pan(page, width, at.line));
          await show(page, at, others, !isNew && round === 0);
          resultsWithShapes.push(await pan(page, width, at.line));
        }
        const frame = (results: readonly PanResult[]) => median(results.map((each) => each.frame));
        const ratio = frame(resultsWithShapes) / frame(resultsAlone);
        const caseName = `${name}, ${Math.round(width)} px across${isNew ? ', new ground' : ''}`;
        report(caseName, `${ratio.toFixed(2)} x (${frame(resultsAlone).toFixed(1)} ms alone)`, `${target} x`, ratio <= target);
        const longest = Math.max(...resultsWithShapes.map((each) => each.longest));
        report(`${caseName}: longest task`, longest === 0 ? 'below 50 ms' : `${longest.toFixed(0)} ms`, '100 ms', longest <= 100);
      }
    }
  }
}

/** Measures the time from the click on an item to its picture, on the page of the host. */
async function firstPicture(host: SlideHost, page: Page): Promise<void> {
  const token = host.headers['Girder-Token']!;
  // Pictures are requested with the cookie, everything else with the header.
  await page.context().addCookies([{ name: 'girderToken', value: token, url: host.url }]);
  await page.goto(host.url);
  await page.evaluate(`localStorage.setItem('token /api/v1', '${token}')`);
  const times: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    await page.goto('about:blank');
    await page.goto(`${host.url}/#folder/${host.folderId}`);
    await page.locator(`a[href^="#item/${host.itemId}"]`).first().waitFor();
    await page.waitForLoadState('networkidle');
    const elapsedMs = await page.evaluate<number>(`new Promise((resolve) => {
      const start = performance.now();
      document.querySelector('a[href^="#item/${host.itemId}"]').click();
      const checkPicture = () => {
        const canvas = document.querySelector('.drawing .openseadragon-canvas canvas');
        const [, , , alpha] = canvas?.width > 0 ? canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data : [];
        if (alpha === 255) resolve(performance.now() - start);
        else requestAnimationFrame(checkPicture);
      };
      checkPicture();
    })`);
    times.push(elapsedMs);
  }
  // The first round warms up the server.
  const elapsedMs = median(times.slice(1));
  report('first picture after the click', `${elapsedMs.toFixed(0)} ms`, '1000 ms', elapsedMs <= 1000);
}

const executablePath = chromiumPath();
if (executablePath === null) throw new Error('There is no browser.');
const host = await startSlideHost();
// Frames are drawn as fast as possible, because at a fixed rate all cases would seem to cost the same.
const args = ['--disable-gpu', '--disable-frame-rate-limit', '--disable-gpu-vsync'];
const browser = await launchChromium(executablePath, args);
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1 });
  page.setDefaultTimeout(60_000);
  await firstPicture(host, page);
  await panning(host, page);
} finally {
  await browser.close();
  await host.close();
}
