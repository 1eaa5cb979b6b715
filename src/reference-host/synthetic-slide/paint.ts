import { mix, noise, smoothStep, makeTexture } from './noise.js';
import { directionCount, nucleusReach, type Gland, type Nucleus, type Tissue } from './tissue.js';

type Color = readonly [number, number, number];

/** Distance in pixels between the points at which slowly varying values are computed. Values in between are interpolated. */
const gridStep = 16;
const textureBits = 9;
const textureMask = (1 << textureBits) - 1;

const glass: Color = [243, 242, 244];
const stromaRamp: readonly Color[] = [
  [214, 128, 172],
  [226, 152, 190],
  [234, 176, 205],
  [242, 206, 224],
  [246, 228, 238],
];
const cytoplasm: Color = [205, 150, 196];
const apical: Color = [226, 186, 214];
const mucus: Color = [226, 222, 238];
const paleNucleus: Color = [146, 104, 172];
const darkNucleus: Color = [74, 44, 116];

/** Paints blocks of tissue as it looks under the microscope, stained with hematoxylin and eosin. */
export class Painter {
  private readonly fiber: Uint8Array;
  private readonly grain: Uint8Array;
  private readonly ramp: Uint8Array;

  constructor(
    private readonly tissue: Tissue,
    private readonly seed: number,
  ) {
    this.fiber = makeTexture(seed + 50, textureBits, 60, 7);
    this.grain = makeTexture(seed + 51, textureBits, 5, 5);
    this.ramp = interpolateRamp(stromaRamp);
  }

  /** RGB bytes, row by row, of a square block; `left`, `top` and `size` are multiples of 16 base-layer pixels. */
  paintBlock(left: number, top: number, size: number): Buffer {
    const pixels = Buffer.alloc(size * size * 3);
    const hasTissue = this.paintGlassAndStroma(pixels, left, top, size);
    if (!hasTissue) return pixels;
    const { tissue } = this;
    for (const gland of tissue.glandsIn(left, top, left + size, top + size)) this.paintGland(pixels, gland, left, top, size);
    const reach = nucleusReach;
    for (const nucleus of tissue.nucleiIn(left - reach, top - reach, left + size + reach, top + size + reach)) {
      this.paintNucleus(pixels, nucleus, left, top, size);
    }
    return pixels;
  }

  /** Paints glass and stroma. @returns whether there is any tissue. */
  private paintGlassAndStroma(pixels: Buffer, left: number, top: number, size: number): boolean {
    const { tissue, fiber, grain, ramp } = this;
    const pointsPerSide = size / gridStep + 1;
    const depth = new Float64Array(pointsPerSide * pointsPerSide);
    const along = new Float64Array(pointsPerSide * pointsPerSide);
    const across = new Float64Array(pointsPerSide * pointsPerSide);
    const tint = new Float64Array(pointsPerSide * pointsPerSide);
    let maxDepth = -Infinity;
    for (let row = 0; row < pointsPerSide; row++) {
      for (let column = 0; column < pointsPerSide; column++) {
        const x = left + column * gridStep;
        const y = top + row * gridStep;
        const index = row * pointsPerSide + column;
        const fiberPosition = tissue.fibers(x, y);
        depth[index] = tissue.depth(x, y);
        along[index] = fiberPosition.along;
        across[index] = fiberPosition.across;
        tint[index] = 70 * (noise(this.seed + 52, x / 900, y / 900) - 0.5) + 50 * (noise(this.seed + 53, x / 130, y / 130) - 0.5);
        maxDepth = Math.max(maxDepth, depth[index] ?? 0);
      }
    }
    for (let cellRow = 0; cellRow < pointsPerSide - 1; cellRow++) {
      for (let cellColumn = 0; cellColumn < pointsPerSide - 1; cellColumn++) {
        const corner = cellRow * pointsPerSide + cellColumn;
        const cornersOf = (values: Float64Array): Corners => ({
          upperLeft: values[corner] ?? 0,
          upperRight: values[corner + 1] ?? 0,
          lowerLeft: values[corner + pointsPerSide] ?? 0,
          lowerRight: values[corner + pointsPerSide + 1] ?? 0,
        });
        const depths = cornersOf(depth);
        const alongs = cornersOf(along);
        const acrosses = cornersOf(across);
        const tints = cornersOf(tint);
        for (let y = 0; y < gridStep; y++) {
          const shareDown = y / gridStep;
          // Each value at the left edge of this row of pixels, and its change from pixel to pixel.
          const depth0 = mix(depths.upperLeft, depths.lowerLeft, shareDown);
          const depthStep = (mix(depths.upperRight, depths.lowerRight, shareDown) - depth0) / gridStep;
          const along0 = mix(alongs.upperLeft, alongs.lowerLeft, shareDown);
          const alongStep = (mix(alongs.upperRight, alongs.lowerRight, shareDown) - along0) / gridStep;
          const across0 = mix(acrosses.upperLeft, acrosses.lowerLeft, shareDown);
          const acrossStep = (mix(acrosses.upperRight, acrosses.lowerRight, shareDown) - across0) / gridStep;
          const tint0 = mix(tints.upperLeft, tints.lowerLeft, shareDown);
          const tintStep = (mix(tints.upperRight, tints.lowerRight, shareDown) - tint0) / gridStep;
          let pixelOffset = ((cellRow * gridStep + y) * size + cellColumn * gridStep) * 3;
          const grainRowOffset = ((top + cellRow * gridStep + y) & textureMask) << textureBits;
          const cellLeft = left + cellColumn * gridStep;
          for (let x = 0; x < gridStep; x++, pixelOffset += 3) {
            const grainValue = grain[grainRowOffset | ((cellLeft + x) & textureMask)] ?? 0;
            const pixelDepth = depth0 + depthStep * x;
            if (pixelDepth <= 0) {
              const light = (grainValue >> 5) - 4;
              pixels[pixelOffset] = glass[0] + light;
              pixels[pixelOffset + 1] = glass[1] + light;
              pixels[pixelOffset + 2] = glass[2] + light;
              continue;
            }
            const acrossFibers = across0 + acrossStep * x;
            const alongFibers = along0 + alongStep * x;
            const streak = fiber[((acrossFibers & textureMask) << textureBits) | (alongFibers & textureMask)] ?? 0;
            let rampIndex = streak * 1.5 + (grainValue - 128) * 0.35 + tint0 + tintStep * x - 45;
            // The margin is thinner and frayed.
            if (pixelDepth < 1.2) rampIndex += (1.2 - pixelDepth) * 130;
            const index = (rampIndex < 0 ? 0 : rampIndex > 255 ? 255 : rampIndex | 0) * 3;
            const cover = pixelDepth < 0.35 ? pixelDepth / 0.35 : 1;
            pixels[pixelOffset] = glass[0] + ((ramp[index] ?? 0) - glass[0]) * cover;
            pixels[pixelOffset + 1] = glass[1] + ((ramp[index + 1] ?? 0) - glass[1]) * cover;
            pixels[pixelOffset + 2] = glass[2] + ((ramp[index + 2] ?? 0) - glass[2]) * cover;
          }
        }
      }
    }
    return maxDepth > 0;
  }

  private paintGland(pixels: Buffer, gland: Gland, left: number, top: number, size: number): void {
    const { grain } = this;
    const x0 = Math.max(left, Math.floor(gland.x - gland.reach));
    const x1 = Math.min(left + size, Math.ceil(gland.x + gland.reach));
    const y0 = Math.max(top, Math.floor(gland.y - gland.reach));
    const y1 = Math.min(top + size, Math.ceil(gland.y + gland.reach));
    const directionsPerRadian = directionCount / (2 * Math.PI);
    for (let y = y0; y < y1; y++) {
      const dy = y - gland.y;
      let pixelOffset = ((y - top) * size + (x0 - left)) * 3;
      for (let x = x0; x < x1; x++, pixelOffset += 3) {
        const dx = x - gland.x;
        const angle = Math.atan2(dy, dx) * directionsPerRadian;
        const low = Math.floor(angle);
        const edge = mix(
          gland.edge[low & (directionCount - 1)] ?? 0,
          gland.edge[(low + 1) & (directionCount - 1)] ?? 0,
          angle - low,
        );
        const radius = Math.sqrt(dx * dx + dy * dy);
        if (radius > edge + 3) continue;
        const grainOffset = (grain[((y & textureMask) << textureBits) | (x & textureMask)] ?? 0) - 128;
        if (radius > edge) {
          // The gap between gland and stroma that fixation leaves.
          blend(pixels, pixelOffset, glass, 0.45 - 0.15 * (radius - edge));
          continue;
        }
        const radiusShare = radius / edge + grainOffset * 0.0006;
        if (radiusShare < gland.lumen) {
          blend(pixels, pixelOffset, glass, 1);
          if (radiusShare > gland.lumen - 0.05) blend(pixels, pixelOffset, apical, 0.7);
          continue;
        }
        // Cells are wedges between the lumen and the base; each may contain a drop of mucus.
        const cellCount = edge * 0.36;
        const cell = (angle / directionCount + 1) * cellCount;
        // From 0 in the middle of the cell to 1 at its sides.
        const distanceFromMiddle = Math.abs(cell - Math.floor(cell) - 0.5) * 2;
        // From 0 at the lumen to 1 at the base.
        const distanceFromLumen = (radiusShare - gland.lumen) / (1 - gland.lumen);
        const drop =
          gland.mucus *
          smoothStep(0.9, 0.5, distanceFromMiddle) *
          smoothStep(0.05, 0.2, distanceFromLumen) *
          smoothStep(0.68, 0.45, distanceFromLumen);
        blend(pixels, pixelOffset, distanceFromLumen < 0.16 ? apical : cytoplasm, 0.93);
        if (drop > 0.05) blend(pixels, pixelOffset, mucus, drop * 0.9);
        else if (distanceFromMiddle > 0.9) blend(pixels, pixelOffset, apical, 0.5);
        lighten(pixels, pixelOffset, grainOffset * 0.16);
      }
    }
  }

  private paintNucleus(pixels: Buffer, nucleus: Nucleus, left: number, top: number, size: number): void {
    const { grain } = this;
    const reach = Math.min(nucleusReach, nucleus.a + Math.abs(nucleus.bend) * nucleus.a * nucleus.a + 1);
    const x0 = Math.max(left, Math.floor(nucleus.x - reach));
    const x1 = Math.min(left + size, Math.ceil(nucleus.x + reach));
    const y0 = Math.max(top, Math.floor(nucleus.y - reach));
    const y1 = Math.min(top + size, Math.ceil(nucleus.y + reach));
    const cos = Math.cos(nucleus.angle);
    const sin = Math.sin(nucleus.angle);
    const { a, b, bend, darkness } = nucleus;
    const body: Color = [
      mix(paleNucleus[0], darkNucleus[0], darkness),
      mix(paleNucleus[1], darkNucleus[1], darkness),
      mix(paleNucleus[2], darkNucleus[2], darkness),
    ];
    for (let y = y0; y < y1; y++) {
      const dy = y - nucleus.y;
      let pixelOffset = ((y - top) * size + (x0 - left)) * 3;
      for (let x = x0; x < x1; x++, pixelOffset += 3) {
        const dx = x - nucleus.x;
        const u = dx * cos + dy * sin;
        const v = -dx * sin + dy * cos - bend * u * u;
        const distance = Math.sqrt((u * u) / (a * a) + (v * v) / (b * b));
        // One pixel of soft edge, measured across the narrow side.
        const cover = (1 - distance) * b + 0.5;
        if (cover <= 0) continue;
        blend(pixels, pixelOffset, body, Math.min(1, cover) * 0.94);
        const chromatin = ((grain[((y * 2) & textureMask) * (textureMask + 1) + ((x * 2) & textureMask)] ?? 0) - 128) * 0.32;
        lighten(pixels, pixelOffset, distance > 0.72 ? chromatin - 14 : chromatin + 6);
      }
    }
  }
}

/** Values at the corners of a grid cell. */
interface Corners {
  upperLeft: number;
  upperRight: number;
  lowerLeft: number;
  lowerRight: number;
}

/** Mixes a color into the pixel whose red byte is at an offset. */
function blend(pixels: Buffer, offset: number, color: Color, strength: number): void {
  pixels[offset] = mix(pixels[offset] ?? 0, color[0], strength);
  pixels[offset + 1] = mix(pixels[offset + 1] ?? 0, color[1], strength);
  pixels[offset + 2] = mix(pixels[offset + 2] ?? 0, color[2], strength);
}

/** Makes the pixel whose red byte is at an offset lighter, or darker if `amount` is negative. */
function lighten(pixels: Buffer, offset: number, amount: number): void {
  for (let position = offset; position < offset + 3; position++) {
    const value = (pixels[position] ?? 0) + amount;
    pixels[position] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
}

/** Interpolates 256 colors between these colors. @returns their RGB bytes */
function interpolateRamp(colors: readonly Color[]): Uint8Array {
  const ramp = new Uint8Array(256 * 3);
  for (let index = 0; index < 256; index++) {
    const position = (index / 255) * (colors.length - 1);
    const low = Math.min(colors.length - 2, Math.floor(position));
    for (let channel = 0; channel < 3; channel++) {
      ramp[index * 3 + channel] = mix(colors[low]?.[channel] ?? 0, colors[low + 1]?.[channel] ?? 0, position - low);
    }
  }
  return ramp;
}
