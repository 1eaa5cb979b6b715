import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { inRuns } from '../../../../core/concurrency/slices.js';

/** Decoded pixels of 8 bits. */
export interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
  channels: number;
}

/**
 * Nodes of a grid along the axis of each ink. Colours between them are interpolated, which gives the colours of the profile within 3 of 255, nearly all
 * of them within 1.
 */
const nodes = 33;
/** Grids that are kept, of 3.6 MB each. */
const keptGrids = 4;
/** Pixels that are converted before the time is checked. */
const pixelsAtOnce = 16_384;

/** Where the samples of the nodes of an ink are. */
const nodeSamples = Uint8Array.from({ length: nodes }, (_, node) => Math.round((node * 255) / (nodes - 1)));
/** The node at or below each sample, and how far the sample is from it to the next. */
const below = new Int32Array(256);
const parts = new Float64Array(256);
for (let sample = 0, node = 0; sample < 256; sample += 1) {
  while (node < nodes - 2 && nodeSamples[node + 1]! <= sample) node += 1;
  below[sample] = node;
  parts[sample] = (sample - nodeSamples[node]!) / (nodeSamples[node + 1]! - nodeSamples[node]!);
}

const grids = new LRUCache<string, Promise<Uint8Array>>({ max: keptGrids });
const names = new WeakMap<Uint8Array, string>();

function nameOf(icc: Uint8Array | null): string {
  if (icc === null) return '';
  let name = names.get(icc);
  if (name === undefined) names.set(icc, (name = createHash('sha256').update(icc).digest('base64')));
  return name;
}

/** All combinations of the nodes as a picture. */
function inksOfNodes(): Uint8Array {
  const inks = new Uint8Array(nodes ** 4 * 4);
  for (let node = 0; node < nodes ** 4; node += 1) {
    for (let ink = 0; ink < 4; ink += 1) inks[node * 4 + ink] = nodeSamples[Math.floor(node / nodes ** (3 - ink)) % nodes]!;
  }
  return inks;
}

/**
 * Converts pixels of CMYK to RGB by a grid of colours, which is made once for each profile: making the conversion of a profile takes libvips as
 * long as converting a hundred tiles.
 *
 * @param convert converts a picture of CMYK by the profile.
 */
export async function cmykToRgb(
  { data: inks, width, height }: Pixels,
  icc: Uint8Array | null,
  convert: (inks: Uint8Array, width: number, height: number) => Promise<Pixels>,
): Promise<Pixels> {
  const name = nameOf(icc);
  let making = grids.get(name);
  if (making === undefined) {
    making = convert(inksOfNodes(), nodes ** 2, nodes ** 2).then(({ data }) => data);
    grids.set(name, making);
    making.catch(() => grids.delete(name));
  }
  const grid = await making;
  const data = new Uint8Array(width * height * 3);
  await inRuns(width * height, pixelsAtOnce, (from, to) => interpolate(grid, inks, data, { from, to }));
  return { data, width, height, channels: 3 };
}

/** Distance in the grid of the next node of each ink. */
const [nextC, nextM, nextY, nextK] = [3 * nodes ** 3, 3 * nodes ** 2, 3 * nodes, 3];

/**
 * Interpolates between the five nodes of the simplex around each color: from the node below, along the inks in the order of their parts. All in one
 * function, because a call for each pixel takes longer than the pixel.
 */
function interpolate(grid: Uint8Array, inks: Uint8Array, out: Uint8Array, { from, to }: { from: number; to: number }): void {
  for (let at = from * 4, o = from * 3; at < to * 4; at += 4, o += 3) {
    const [c, m, y, k] = [inks[at]!, inks[at + 1]!, inks[at + 2]!, inks[at + 3]!];
    const p0 = below[c]! * nextC + below[m]! * nextM + below[y]! * nextY + below[k]! * nextK;
    let [fa, fb, fc, fd] = [parts[c]!, parts[m]!, parts[y]!, parts[k]!];
    let [a, b, e, d] = [nextC, nextM, nextY, nextK];
    if (fa < fb) [fa, fb, a, b] = [fb, fa, b, a];
    if (fc < fd) [fc, fd, e, d] = [fd, fc, d, e];
    if (fa < fc) [fa, fc, a, e] = [fc, fa, e, a];
    if (fb < fd) [fb, fd, b, d] = [fd, fb, d, b];
    if (fb < fc) [fb, fc, b, e] = [fc, fb, e, b];
    const p1 = p0 + a;
    const p2 = p1 + b;
    const p3 = p2 + e;
    const p4 = p3 + d;
    const [w0, w1, w2, w3] = [1 - fa, fa - fb, fb - fc, fc - fd];
    for (let band = 0; band < 3; band += 1) {
      out[o + band] =
        grid[p0 + band]! * w0 +
        grid[p1 + band]! * w1 +
        grid[p2 + band]! * w2 +
        grid[p3 + band]! * w3 +
        grid[p4 + band]! * fd +
        0.5;
    }
  }
}
