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
 * Nodes of a grid along the axis of each ink. Colors between them are interpolated, which gives the colors of the profile within
 * 3 of 255, nearly all of them within 1.
 */
const nodes = 33;
/** Grids that are kept, of 4.7 MB each. */
const keptGrids = 4;
/** Pixels that are converted before the time is checked. */
const pixelsAtOnce = 16_384;
/** The sum of the weights of all nodes for a pixel. */
const fullWeight = 256;

/** The sample of an ink, 0 to 255, at each of its nodes. */
const nodeSamples = Uint8Array.from({ length: nodes }, (_, node) => Math.round((node * 255) / (nodes - 1)));

/** For each sample of an ink, its position among the nodes. */
interface Places {
  /** The part of the index in the grid that comes from this ink, for the node at or below the sample. */
  below: Int32Array;
  /** The weight of the next node in the upper 16 bits, and in the lower ones the step to it, so that sorting these numbers sorts the weights. */
  next: Int32Array;
}

/** @param step distance of neighboring nodes in the grid. */
function placesOf(step: number): Places {
  const places: Places = { below: new Int32Array(256), next: new Int32Array(256) };
  for (let sample = 0, node = 0; sample < 256; sample += 1) {
    while (node < nodes - 2 && nodeSamples[node + 1]! <= sample) node += 1;
    const part = (sample - nodeSamples[node]!) / (nodeSamples[node + 1]! - nodeSamples[node]!);
    places.below[sample] = node * step;
    places.next[sample] = (Math.round(part * fullWeight) << 16) | step;
  }
  return places;
}

const [cyan, magenta, yellow, black] = [placesOf(nodes ** 3), placesOf(nodes ** 2), placesOf(nodes), placesOf(1)];

const grids = new LRUCache<string, Promise<Uint32Array>>({ max: keptGrids });
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
 * Converts pixels of CMYK to RGB by a grid of colors, which is made once for each profile: making the conversion of a profile
 * takes libvips as long as converting a hundred tiles.
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
    making = convert(inksOfNodes(), nodes ** 2, nodes ** 2).then(({ data }) => packed(data));
    grids.set(name, making);
    making.catch(() => grids.delete(name));
  }
  const grid = await making;
  const data = new Uint8Array(width * height * 3);
  await inRuns(width * height, pixelsAtOnce, (from, to) => interpolate(grid, inks, data, { from, to }));
  return { data, width, height, channels: 3 };
}

/** Colors as one number each, 0xRRGGBB. */
function packed(rgb: Uint8Array): Uint32Array {
  return Uint32Array.from(
    { length: rgb.length / 3 },
    (_, at) => (rgb[at * 3]! << 16) | (rgb[at * 3 + 1]! << 8) | rgb[at * 3 + 2]!,
  );
}

const redAndBlue = 0xff00ff;
const green = 0x00ff00;

/**
 * Interpolates between the five nodes of the simplex around each color: from the node below, along the inks in the order of their
 * weights. All in one function, because a call for each pixel takes longer than the pixel. Red and blue are multiplied together.
 */
function interpolate(grid: Uint32Array, inks: Uint8Array, out: Uint8Array, { from, to }: { from: number; to: number }): void {
  for (let at = from * 4, o = from * 3; at < to * 4; at += 4, o += 3) {
    const c = inks[at]!;
    const m = inks[at + 1]!;
    const y = inks[at + 2]!;
    const k = inks[at + 3]!;
    const highOfPair = Math.max(cyan.next[c]!, magenta.next[m]!);
    const lowOfPair = Math.min(cyan.next[c]!, magenta.next[m]!);
    const highOfOther = Math.max(yellow.next[y]!, black.next[k]!);
    const lowOfOther = Math.min(yellow.next[y]!, black.next[k]!);
    const first = Math.max(highOfPair, highOfOther);
    const fourth = Math.min(lowOfPair, lowOfOther);
    const oneBetween = Math.min(highOfPair, highOfOther);
    const otherBetween = Math.max(lowOfPair, lowOfOther);
    const second = Math.max(oneBetween, otherBetween);
    const third = Math.min(oneBetween, otherBetween);

    let node = cyan.below[c]! + magenta.below[m]! + yellow.below[y]! + black.below[k]!;
    let color = grid[node]!;
    let weight = fullWeight - (first >>> 16);
    let rb = Math.imul(color & redAndBlue, weight);
    let g = (color & green) * weight;
    color = grid[(node += first & 0xffff)]!;
    weight = (first >>> 16) - (second >>> 16);
    rb += Math.imul(color & redAndBlue, weight);
    g += (color & green) * weight;
    color = grid[(node += second & 0xffff)]!;
    weight = (second >>> 16) - (third >>> 16);
    rb += Math.imul(color & redAndBlue, weight);
    g += (color & green) * weight;
    color = grid[(node += third & 0xffff)]!;
    weight = (third >>> 16) - (fourth >>> 16);
    rb += Math.imul(color & redAndBlue, weight);
    g += (color & green) * weight;
    color = grid[node + (fourth & 0xffff)]!;
    weight = fourth >>> 16;
    rb = (rb + Math.imul(color & redAndBlue, weight) + 0x800080) >>> 0;
    g += (color & green) * weight + 0x8000;
    out[o] = rb >>> 24;
    out[o + 1] = g >>> 16;
    out[o + 2] = rb >>> 8;
  }
}
