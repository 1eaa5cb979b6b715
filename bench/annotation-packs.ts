/**
 * Measures the layout of stored elements in memory, without a database: windows are in original order, their elements are sorted
 * along a Hilbert curve and cut into packs, and each pack is compressed separately. `npx tsx bench/annotation-packs.ts [N]
 * [order] [windows] [packs] [codecs]` with order `random` or `scan` (row by row of 1000-pixel fields, as detectors write), and
 * lists such as `16384,65536`.
 *
 * Times are processor time. A pack contains the joined JSON texts of its elements, the lengths of these texts, and the indices of the elements
 * in the window.
 */
import { createRequire } from 'node:module';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { boundingBox, type BoundingBox } from '../src/annotation-format/bounding-box.js';
import type { AnnotationElement } from '../src/annotation-format/schema/document.js';
import { createElementValidator } from '../src/annotation-format/validate.js';

interface Codec {
  pack(content: Buffer): Buffer;
  unpack(content: Buffer): Buffer;
}

interface Pack {
  content: Buffer;
  lengths: Uint32Array;
  places: Uint16Array;
  box: BoundingBox;
}

const [countText = '1000000', order = 'random', windowList = '65536', packList = '64,128,256,512', codecList = 'none,deflate1'] =
  process.argv.slice(2);
const count = Number(countText);
const [slideWidth, slideHeight] = [90_000, 70_000];

const codecs: Record<string, Codec> = {
  none: { pack: (content) => content, unpack: (content) => content },
  deflate1: { pack: (content) => deflateRawSync(content, { level: 1 }), unpack: (content) => inflateRawSync(content) },
};
// This package is not a dependency. It is measured if it can be found from the current folder.
try {
  const snappy = createRequire(`${process.cwd()}/`)('snappy') as {
    compressSync(b: Buffer): Buffer;
    uncompressSync(b: Buffer): Buffer;
  };
  codecs.snappy = { pack: (content) => snappy.compressSync(content), unpack: (content) => snappy.uncompressSync(content) };
} catch {
  // Only the other codecs are measured.
}

/** A repeatable stream of numbers from 0 to 1. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

function makeTexts(): string[] {
  const random = randomNumbers(7);
  const centers = Array.from({ length: count }, () => [random() * slideWidth, random() * slideHeight] as const);
  const field = ([x, y]: readonly [number, number]) => Math.floor(y / 1000) * 1000 + Math.floor(x / 1000);
  if (order === 'scan') centers.sort((a, b) => field(a) - field(b));
  return centers.map(([x, y], index) => {
    const points = Array.from({ length: 12 }, (_, at) => {
      const angle = (at * Math.PI) / 6;
      const radius = 6 + 5 * random();
      return [Number((x + radius * Math.cos(angle)).toFixed(2)), Number((y + radius * Math.sin(angle)).toFixed(2)), 0];
    });
    const id = (0x6740_0000_0000 + index).toString(16).padStart(24, '6');
    const group = `group ${index % 5}`;
    return JSON.stringify({
      type: 'polyline',
      id,
      group,
      closed: true,
      fillColor: 'rgba(0,0,0,0)',
      lineColor: '#00ff00',
      lineWidth: 2,
      points,
    });
  });
}

/** Place along a Hilbert curve through 65,536 × 65,536 cells. */
function hilbert(cellX: number, cellY: number): number {
  let [x, y, place] = [cellX, cellY, 0];
  for (let side = 32_768; side > 0; side >>= 1) {
    const right = (x & side) > 0 ? 1 : 0;
    const low = (y & side) > 0 ? 1 : 0;
    place += side * side * ((3 * right) ^ low);
    if (low === 0) {
      if (right === 1) [x, y] = [65_535 - x, 65_535 - y];
      [x, y] = [y, x];
    }
  }
  return place;
}

/** The size class of a box, in powers of 4, so that a view of the whole slide first reads a few packs of large shapes. */
function sizeClass(size: number): number {
  return Math.max(0, Math.min(15, Math.floor(Math.log2(size + 1) / 2)));
}

function cell(value: number, extent: number): number {
  return Math.max(0, Math.min(65_535, Math.floor((value / extent) * 65_536)));
}

function packWindow(texts: readonly Buffer[], boxes: readonly BoundingBox[], packSize: number, codec: Codec): Pack[] {
  const keys = new Float64Array(texts.length);
  for (let i = 0; i < texts.length; i += 1) {
    const box = boxes[i] as BoundingBox;
    const place = hilbert(cell((box.lowx + box.highx) / 2, slideWidth), cell((box.lowy + box.highy) / 2, slideHeight));
    // The key consists of the size class, 32 bits of the place on the curve and 16 bits of the index in the window. A double holds these 52
    // bits exactly. Larger shapes come first.
    keys[i] = (15 - sizeClass(box.size)) * 2 ** 48 + place * 2 ** 16 + i;
  }
  keys.sort();
  const packs: Pack[] = [];
  for (let start = 0; start < texts.length; start += packSize) {
    const places = Uint16Array.from(keys.subarray(start, start + packSize), (key) => key % 65_536);
    const parts = Array.from(places, (place) => texts[place] as Buffer);
    const box: BoundingBox = { ...(boxes[places[0] as number] as BoundingBox), details: 0 };
    for (const place of places) {
      const other = boxes[place] as BoundingBox;
      if (other.lowx < box.lowx) box.lowx = other.lowx;
      if (other.lowy < box.lowy) box.lowy = other.lowy;
      if (other.highx > box.highx) box.highx = other.highx;
      if (other.highy > box.highy) box.highy = other.highy;
      if (other.size > box.size) box.size = other.size;
      box.details += other.details;
    }
    packs.push({
      content: codec.pack(Buffer.concat(parts)),
      lengths: Uint32Array.from(parts, (part) => part.length),
      places,
      box,
    });
  }
  return packs;
}

/** The texts of a window in original order, joined as in a JSON list. */
function readWindow(packs: readonly Pack[], codec: Codec): Buffer {
  const size = packs.reduce((sum, { places }) => sum + places.length, 0);
  const slices: Buffer[] = Array.from({ length: size });
  for (const { content, lengths, places } of packs) {
    const text = codec.unpack(content);
    let at = 0;
    for (let i = 0; i < places.length; i += 1) {
      const end = at + (lengths[i] as number);
      slices[places[i] as number] = text.subarray(at, end);
      at = end;
    }
  }
  const joinedTexts = Buffer.allocUnsafe(slices.reduce((sum, slice) => sum + slice.length + 1, 0));
  let at = 0;
  for (const slice of slices) {
    slice.copy(joinedTexts, at);
    at += slice.length;
    joinedTexts[at] = 44;
    at += 1;
  }
  return joinedTexts;
}

interface View {
  lowx: number;
  lowy: number;
  highx: number;
  highy: number;
}

function overlaps(box: BoundingBox, view: View): boolean {
  return box.highx >= view.lowx && box.lowx < view.highx && box.highy >= view.lowy && box.lowy < view.highy;
}

function readView(packs: readonly Pack[], view: View, codec: Codec): { elementCount: number; packCount: number } {
  let [elementCount, packCount] = [0, 0];
  for (const { content, lengths, box } of packs) {
    if (!overlaps(box, view)) continue;
    packCount += 1;
    const text = codec.unpack(content).toString('latin1');
    let at = 0;
    for (const length of lengths) {
      const element = JSON.parse(text.slice(at, at + length)) as AnnotationElement;
      if (overlaps(boundingBox(element), view)) elementCount += 1;
      at += length;
    }
  }
  return { elementCount, packCount };
}

/** Returns the result of `run` and its processor time in milliseconds, which other programs affect less than the time on the clock. */
function timed<T>(run: () => T): [T, number] {
  const start = process.cpuUsage();
  const result = run();
  const { user, system } = process.cpuUsage(start);
  return [result, (user + system) / 1000];
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

const texts = makeTexts();
const bytes = texts.reduce((sum, text) => sum + text.length, 0);
const check = createElementValidator('service');
const boxes: BoundingBox[] = [];
let parseMs = 0;
let checkMs = 0;
// Elements are parsed in slices, so that a million of them are not in memory at the same time.
for (let start = 0; start < count; start += 65_536) {
  const slice = texts.slice(start, start + 65_536);
  const [elements, sliceParseMs] = timed(() => JSON.parse(`[${slice.join(',')}]`) as unknown[]);
  const [, sliceCheckMs] = timed(() => {
    for (const [at, element] of elements.entries()) boxes.push(boundingBox(check(element, start + at)));
  });
  parseMs += sliceParseMs;
  checkMs += sliceCheckMs;
}
const buffers = texts.map((text) => Buffer.from(text, 'latin1'));
console.log(`${count} polygons of 12 points in ${order} order, ${(bytes / 1e6).toFixed(0)} MB`);
console.log(`JSON.parse ${parseMs.toFixed(0)} ms, check and boxes ${checkMs.toFixed(0)} ms`);

// Views that contain about 50 elements if these are spread evenly.
const side = Math.sqrt((50 * slideWidth * slideHeight) / count);
const random = randomNumbers(99);
const views = Array.from({ length: 40 }, (): View => {
  const [lowx, lowy] = [random() * (slideWidth - side), random() * (slideHeight - side)];
  return { lowx, lowy, highx: lowx + side, highy: lowy + side };
});

console.log('window  pack  codec     packs    MB  pack ms (x parse)  read MB/s  view: packs  ms    repack ms');
for (const windowSize of windowList.split(',').map(Number)) {
  for (const packSize of packList.split(',').map(Number)) {
    for (const name of codecList.split(',')) {
      const codec = codecs[name];
      if (codec === undefined) continue;
      const [windows, packMs] = timed(() => {
        const packsOfWindows: Pack[][] = [];
        for (let start = 0; start < count; start += windowSize) {
          packsOfWindows.push(
            packWindow(buffers.slice(start, start + windowSize), boxes.slice(start, start + windowSize), packSize, codec),
          );
        }
        return packsOfWindows;
      });
      const packs = windows.flat();
      const storedBytes = packs.reduce((sum, { content }) => sum + content.length, 0);
      const [readBytes, readMs] = timed(() => windows.reduce((sum, window) => sum + readWindow(window, codec).length, 0));
      const firstText = readWindow(windows[0] as Pack[], codec).toString('latin1', 0, 10_000);
      if (readBytes !== bytes + count || !texts.slice(0, 100).join(',').startsWith(firstText.slice(0, 9000)))
        throw new Error('the order was lost');
      const results = views.map((view) => timed(() => readView(packs, view, codec)));
      const viewMs = median(results.map(([, ms]) => ms));
      const packsPerView = median(results.map(([result]) => result.packCount));
      const [, repackMs] = timed(() => {
        for (const pack of packs.slice(0, 50)) codec.pack(codec.unpack(pack.content));
      });
      const columns = [
        String(windowSize).padStart(6),
        String(packSize).padStart(5),
        ` ${name.padEnd(9)}`,
        String(packs.length).padStart(5),
        (storedBytes / 1e6).toFixed(0).padStart(5),
        packMs.toFixed(0).padStart(8),
        `(${(packMs / parseMs).toFixed(2)})`.padStart(8),
        (bytes / 1e3 / readMs).toFixed(0).padStart(11),
        String(packsPerView).padStart(11),
        viewMs.toFixed(1).padStart(7),
        (repackMs / 50).toFixed(2).padStart(9),
      ];
      console.log(columns.join(' '));
    }
  }
}
