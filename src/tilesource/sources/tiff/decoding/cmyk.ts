import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { forEachRange } from '../../../../core/concurrency/slices.js';

/** Decoded pixels of 8 bits. */
export interface Pixels {
  data: Uint8Array;
  width: number;
  height: number;
  channels: number;
}

/**
 * Number of nodes of a grid along the axis of each ink. Colors between nodes are interpolated. The interpolated colors differ from
 * the profile's colors by at most 3 of 255, and nearly all of them by at most 1.
 */
const nodesPerAxis = 33;
/** Maximum number of cached grids, of 4.7 MB each. */
const maxCachedGrids = 4;
/** Number of pixels that are converted between checks of the time. */
const pixelsPerTimeCheck = 16_384;
/** The sum of the weights of all nodes for a pixel. */
const fullWeight = 256;

/** The sample of an ink, 0 to 255, at each of its nodes. */
const nodeSamples = Uint8Array.from({ length: nodesPerAxis }, (_, node) => Math.round((node * 255) / (nodesPerAxis - 1)));

/** For each sample of an ink, its position in the grid. */
interface GridPositions {
  /** The part of the index in the grid that comes from this ink, for the node at or below the sample. */
  indexBelow: Int32Array;
  /** The weight of the next node in the upper 16 bits, and the distance to it in the lower 16 bits, so that sorting these numbers sorts the weights. */
  weightAndStep: Int32Array;
}

/** @param step distance between neighboring nodes of the ink in the grid. */
function gridPositionsOf(step: number): GridPositions {
  const positions: GridPositions = { indexBelow: new Int32Array(256), weightAndStep: new Int32Array(256) };
  for (let sample = 0, node = 0; sample < 256; sample += 1) {
    while (node < nodesPerAxis - 2 && nodeSamples[node + 1]! <= sample) node += 1;
    const fraction = (sample - nodeSamples[node]!) / (nodeSamples[node + 1]! - nodeSamples[node]!);
    positions.indexBelow[sample] = node * step;
    positions.weightAndStep[sample] = (Math.round(fraction * fullWeight) << 16) | step;
  }
  return positions;
}

const [cyan, magenta, yellow, black] = [
  gridPositionsOf(nodesPerAxis ** 3),
  gridPositionsOf(nodesPerAxis ** 2),
  gridPositionsOf(nodesPerAxis),
  gridPositionsOf(1),
];

const grids = new LRUCache<string, Promise<Uint32Array>>({ max: maxCachedGrids });
const keyByProfile = new WeakMap<Uint8Array, string>();

function profileKey(icc: Uint8Array | null): string {
  if (icc === null) return '';
  let key = keyByProfile.get(icc);
  if (key === undefined) keyByProfile.set(icc, (key = createHash('sha256').update(icc).digest('base64')));
  return key;
}

/** The inks of all nodes of the grid, as CMYK pixels. */
function inksOfNodes(): Uint8Array {
  const inks = new Uint8Array(nodesPerAxis ** 4 * 4);
  for (let node = 0; node < nodesPerAxis ** 4; node += 1) {
    for (let ink = 0; ink < 4; ink += 1)
      inks[node * 4 + ink] = nodeSamples[Math.floor(node / nodesPerAxis ** (3 - ink)) % nodesPerAxis]!;
  }
  return inks;
}

/**
 * Converts pixels of CMYK to RGB by a grid of colors. The grid is made only once for each profile, because libvips takes as long to
 * prepare the conversion of a profile as to convert a hundred tiles.
 *
 * @param convert converts a picture of CMYK by the profile.
 */
export async function cmykToRgb(
  { data: inks, width, height }: Pixels,
  icc: Uint8Array | null,
  convert: (inks: Uint8Array, width: number, height: number) => Promise<Pixels>,
): Promise<Pixels> {
  const key = profileKey(icc);
  let gridPromise = grids.get(key);
  if (gridPromise === undefined) {
    gridPromise = convert(inksOfNodes(), nodesPerAxis ** 2, nodesPerAxis ** 2).then(({ data }) => packColors(data));
    grids.set(key, gridPromise);
    gridPromise.catch(() => grids.delete(key));
  }
  const grid = await gridPromise;
  const data = new Uint8Array(width * height * 3);
  await forEachRange(width * height, pixelsPerTimeCheck, (from, to) => interpolate(grid, inks, data, { from, to }));
  return { data, width, height, channels: 3 };
}

/** Packs each color into one number, 0xRRGGBB. */
function packColors(rgb: Uint8Array): Uint32Array {
  return Uint32Array.from(
    { length: rgb.length / 3 },
    (_, at) => (rgb[at * 3]! << 16) | (rgb[at * 3 + 1]! << 8) | rgb[at * 3 + 2]!,
  );
}

const redAndBlue = 0xff00ff;
const green = 0x00ff00;

/**
 * Interpolates between the five nodes of the simplex around each color: from the node below, along the inks in the order of their
 * weights. The code is not split into functions, because calling a function takes longer than converting a pixel. Red and
 * blue share one multiplication.
 */
function interpolate(grid: Uint32Array, inks: Uint8Array, out: Uint8Array, { from, to }: { from: number; to: number }): void {
  for (let at = from * 4, outAt = from * 3; at < to * 4; at += 4, outAt += 3) {
    const c = inks[at]!;
    const m = inks[at + 1]!;
    const y = inks[at + 2]!;
    const k = inks[at + 3]!;
    const highOfPair = Math.max(cyan.weightAndStep[c]!, magenta.weightAndStep[m]!);
    const lowOfPair = Math.min(cyan.weightAndStep[c]!, magenta.weightAndStep[m]!);
    const highOfOther = Math.max(yellow.weightAndStep[y]!, black.weightAndStep[k]!);
    const lowOfOther = Math.min(yellow.weightAndStep[y]!, black.weightAndStep[k]!);
    const first = Math.max(highOfPair, highOfOther);
    const fourth = Math.min(lowOfPair, lowOfOther);
    const oneBetween = Math.min(highOfPair, highOfOther);
    const otherBetween = Math.max(lowOfPair, lowOfOther);
    const second = Math.max(oneBetween, otherBetween);
    const third = Math.min(oneBetween, otherBetween);

    let node = cyan.indexBelow[c]! + magenta.indexBelow[m]! + yellow.indexBelow[y]! + black.indexBelow[k]!;
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
    out[outAt] = rb >>> 24;
    out[outAt + 1] = g >>> 16;
    out[outAt + 2] = rb >>> 8;
  }
}
