/** A number in [0, 1) that depends only on its arguments (integers). */
export function hash(seed: number, x: number, y: number, channel = 0): number {
  let h =
    Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^
    Math.imul(x | 0, 0xc2b2ae35) ^
    Math.imul(y | 0, 0x27d4eb2f) ^
    Math.imul(channel, 0x165667b1);
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  h ^= h >>> 15;
  return (h >>> 0) / 4294967296;
}

/** Smooth noise in [0, 1) with features of about one unit. */
export function noise(seed: number, x: number, y: number): number {
  const left = Math.floor(x);
  const top = Math.floor(y);
  const u = smooth(x - left);
  const v = smooth(y - top);
  const above = mix(hash(seed, left, top), hash(seed, left + 1, top), u);
  const below = mix(hash(seed, left, top + 1), hash(seed, left + 1, top + 1), u);
  return mix(above, below, v);
}

/** Noise in [0, 1) from several layers. The features of each layer are half as large and half as strong as those of the previous layer. */
export function layeredNoise(seed: number, x: number, y: number, layers: number): number {
  let sum = 0;
  let weight = 0;
  for (let layer = 0, scale = 1, strength = 1; layer < layers; layer++, scale *= 2, strength /= 2) {
    sum += strength * noise(seed + layer * 101, x * scale, y * scale);
    weight += strength;
  }
  return sum / weight;
}

/** Interpolates between `a` (at 0) and `b` (at 1). */
export function mix(a: number, b: number, at: number): number {
  return a + (b - a) * at;
}

/** 0 below `from`, 1 above `to`, smooth between. */
export function smoothStep(from: number, to: number, value: number): number {
  return smooth(Math.min(1, Math.max(0, (value - from) / (to - from))));
}

function smooth(t: number): number {
  return t * t * (3 - 2 * t);
}

/** Sum of the weights of the three layers of a texture. */
const textureWeight = 1 + 1 / 2 + 1 / 4;

/**
 * A square texture of 2^`bits` × 2^`bits` bytes that repeats without a seam. `along` and `across` are the width and the height of its features
 * in pixels.
 */
export function makeTexture(seed: number, bits: number, along: number, across: number): Uint8Array {
  const size = 1 << bits;
  const columns = Math.max(1, Math.round(size / along));
  const rows = Math.max(1, Math.round(size / across));
  const bytes = new Uint8Array(size * size);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      let sum = 0;
      for (let layer = 1; layer <= 4; layer *= 2) {
        const gx = (x * columns * layer) / size;
        const gy = (y * rows * layer) / size;
        const left = Math.floor(gx);
        const top = Math.floor(gy);
        const right = (left + 1) % (columns * layer);
        const bottom = (top + 1) % (rows * layer);
        const u = smooth(gx - left);
        const above = mix(hash(seed, left, top, layer), hash(seed, right, top, layer), u);
        const below = mix(hash(seed, left, bottom, layer), hash(seed, right, bottom, layer), u);
        sum += mix(above, below, smooth(gy - top)) / layer;
      }
      bytes[y * size + x] = (sum / textureWeight) * 255;
    }
  }
  return bytes;
}
