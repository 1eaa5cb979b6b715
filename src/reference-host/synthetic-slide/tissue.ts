import { hash, layeredNoise, mix, noise, smoothStep } from './noise.js';

/** A cell nucleus. Coordinates are base-layer pixels. */
export interface Nucleus {
  kind: 'epithelial' | 'stromal' | 'lymphocyte';
  x: number;
  y: number;
  /** Half the length and half the width, in pixels. */
  a: number;
  b: number;
  /** Direction of the length, in radians. */
  angle: number;
  /** How much the nucleus is bent: its middle line is `v = bend · u²`. */
  bend: number;
  /** From 0 (pale) to 1 (dark). */
  darkness: number;
}

/** A gland: a ring of epithelium around a lumen. Coordinates are base-layer pixels. */
export interface Gland {
  x: number;
  y: number;
  /** Largest distance of its edge from the center. */
  reach: number;
  /** Distance of the edge from the center for {@link directionCount} directions, from angle 0 on. */
  edge: Float32Array;
  /** Position of the lumen's edge, as a share of the distance to the gland's edge. */
  lumen: number;
  /** From 0 to 1: how much of the epithelium is mucus. */
  mucus: number;
}

/** Number of directions in {@link Gland.edge}. */
export const directionCount = 256;

const glandSpacing = 290;
const stromaSpacing = 24;
/** Maximum extent of a nucleus from its center. */
export const nucleusReach = 22;

/** A tissue, determined by its seed and size. It stores the glands and computes everything else on demand. */
export class Tissue {
  readonly size: number;
  private readonly seed: number;
  private readonly columns: number;
  private readonly glands: (Gland | null)[] = [];

  /** @param size side of the square image in base-layer pixels */
  constructor(seed: number, size: number) {
    this.seed = seed;
    this.size = size;
    this.columns = Math.ceil(size / glandSpacing) + 1;
    for (let row = 0; row < this.columns; row++) {
      for (let column = 0; column < this.columns; column++) this.glands.push(this.makeGland(column, row));
    }
  }

  /** How far inside the tissue a point is: below 0 is glass, from 0 to 1 the ragged margin, above 1 inside. */
  depth(x: number, y: number): number {
    const { seed, size } = this;
    // The slide has two pieces of tissue that nearly touch.
    const u = x / size;
    const v = y / size;
    const distance1 = Math.hypot((u - 0.4) / 0.36, (v - 0.47) / 0.45);
    const distance2 = Math.hypot((u - 0.82) / 0.15, (v - 0.6) / 0.3);
    const wave = layeredNoise(seed + 1, u * 7, v * 7, 5) - 0.5;
    return (1 - Math.min(distance1, distance2 * 1.02) + wave * 0.5) * 40;
  }

  /** How glandular the tissue is at a point: from 0 (none) to 1 (dense). */
  glandularity(x: number, y: number): number {
    return smoothStep(0.42, 0.56, layeredNoise(this.seed + 2, x / 3600, y / 3600, 3));
  }

  /** How much the tissue is inflamed at a point (many lymphocytes), from 0 to 1. */
  inflammation(x: number, y: number): number {
    return smoothStep(0.6, 0.74, layeredNoise(this.seed + 3, x / 1300, y / 1300, 3));
  }

  /** Coordinates `along` and `across` the fibers, in pixels; both change smoothly. */
  fibers(x: number, y: number): { along: number; across: number } {
    const bend = layeredNoise(this.seed + 4, x / 1500, y / 1500, 2) - 0.5;
    const ripple = noise(this.seed + 5, x / 210, y / 210) - 0.5;
    const drift = layeredNoise(this.seed + 6, x / 1700, y / 1700, 2) - 0.5;
    return { along: x * 0.8 - y * 0.6 + drift * 2600, across: x * 0.6 + y * 0.8 + bend * 3600 + ripple * 90 };
  }

  /** Direction of the fibers at a point, in radians. */
  direction(x: number, y: number): number {
    const acrossHere = this.fibers(x, y).across;
    const changeToRight = this.fibers(x + 4, y).across - acrossHere;
    const changeDownward = this.fibers(x, y + 4).across - acrossHere;
    return Math.atan2(changeToRight, -changeDownward);
  }

  /** Glands that reach into a rectangle. */
  *glandsIn(left: number, top: number, right: number, bottom: number): Generator<Gland> {
    // A gland is in its cell and extends at most one cell beyond it.
    const clamp = (cell: number): number => Math.min(this.columns - 1, Math.max(0, cell));
    for (let row = clamp(Math.floor(top / glandSpacing) - 1); row <= clamp(Math.floor(bottom / glandSpacing) + 1); row++) {
      for (
        let column = clamp(Math.floor(left / glandSpacing) - 1);
        column <= clamp(Math.floor(right / glandSpacing) + 1);
        column++
      ) {
        const gland = this.glands[row * this.columns + column];
        if (!gland) continue;
        const { x, y, reach } = gland;
        if (x + reach >= left && x - reach <= right && y + reach >= top && y - reach <= bottom) yield gland;
      }
    }
  }

  /** Nuclei with their center in a rectangle (left and top edge included), in an order that depends only on the rectangle. */
  *nucleiIn(left: number, top: number, right: number, bottom: number): Generator<Nucleus> {
    for (const gland of this.glandsIn(left, top, right, bottom)) {
      for (const nucleus of this.epithelialNuclei(gland)) {
        if (nucleus.x >= left && nucleus.x < right && nucleus.y >= top && nucleus.y < bottom) yield nucleus;
      }
    }
    for (let row = Math.floor(top / stromaSpacing) - 1; row <= bottom / stromaSpacing + 1; row++) {
      for (let column = Math.floor(left / stromaSpacing) - 1; column <= right / stromaSpacing + 1; column++) {
        const x = (column + 0.1 + 0.8 * hash(this.seed + 10, column, row, 1)) * stromaSpacing;
        const y = (row + 0.1 + 0.8 * hash(this.seed + 10, column, row, 2)) * stromaSpacing;
        if (x < left || x >= right || y < top || y >= bottom) continue;
        const nucleus = this.makeStromalNucleus(x, y, column, row);
        if (nucleus) yield nucleus;
      }
    }
  }

  private isInGland(x: number, y: number): boolean {
    for (const gland of this.glandsIn(x - 10, y - 10, x + 10, y + 10)) {
      const dx = x - gland.x;
      const dy = y - gland.y;
      if (Math.hypot(dx, dy) < edgeDistanceAt(gland, Math.atan2(dy, dx)) + 9) return true;
    }
    return false;
  }

  private makeGland(column: number, row: number): Gland | null {
    const chance = (channel: number): number => hash(this.seed + 20, column, row, channel);
    const x = (column + (row % 2) / 2 + 0.36 * (chance(1) - 0.5)) * glandSpacing;
    const y = (row + 0.36 * (chance(2) - 0.5)) * glandSpacing;
    if (chance(3) > this.glandularity(x, y) * 0.96) return null;
    const radius = mix(76, 130, chance(4));
    const phases = [chance(5), chance(6), chance(7)].map((rotation) => rotation * 2 * Math.PI);
    const [phase2 = 0, phase3 = 0, phase5 = 0] = phases;
    const oval = mix(0.02, 0.2, chance(8));
    const edge = new Float32Array(directionCount);
    for (let index = 0; index < directionCount; index++) {
      const angle = (index / directionCount) * 2 * Math.PI;
      edge[index] =
        radius *
        (1 + oval * Math.cos(2 * angle + phase2) + 0.06 * Math.cos(3 * angle + phase3) + 0.03 * Math.cos(5 * angle + phase5));
    }
    const reach = radius * 1.32;
    for (const [dx, dy] of [
      [0, 0],
      [-reach, 0],
      [reach, 0],
      [0, -reach],
      [0, reach],
    ] as const) {
      if (this.depth(x + dx, y + dy) < 1.2) return null;
    }
    return { x, y, reach, edge, lumen: mix(0.16, 0.46, chance(9)), mucus: chance(10) };
  }

  private *epithelialNuclei(gland: Gland): Generator<Nucleus> {
    const keyX = Math.round(gland.x * 8);
    const keyY = Math.round(gland.y * 8);
    const meanRadius = gland.reach / 1.32;
    const count = Math.floor((2 * Math.PI * meanRadius * 0.86) / 10.5);
    for (let index = 0; index < count; index++) {
      const chance = (channel: number): number => hash(this.seed + 30 + channel, keyX + index, keyY, channel);
      const angle = ((index + 0.5 * chance(1)) / count) * 2 * Math.PI;
      // Usually one row at the base, some slightly higher (pseudostratified).
      const radiusShare = 0.87 - 0.16 * chance(2) ** 2;
      const radius = edgeDistanceAt(gland, angle) * radiusShare;
      yield {
        kind: 'epithelial',
        x: gland.x + radius * Math.cos(angle),
        y: gland.y + radius * Math.sin(angle),
        a: mix(7, 10.5, chance(3)),
        b: mix(4, 5.6, chance(4)),
        angle: angle + 0.5 * (chance(5) - 0.5),
        bend: 0,
        darkness: mix(0.35, 0.85, chance(6)),
      };
    }
  }

  private makeStromalNucleus(x: number, y: number, column: number, row: number): Nucleus | null {
    const chance = (channel: number): number => hash(this.seed + 40, column, row, channel);
    const inflammation = this.inflammation(x, y);
    const density = mix(0.2, 0.62, layeredNoise(this.seed + 7, x / 420, y / 420, 2)) + 0.6 * inflammation;
    if (chance(3) > density || this.depth(x, y) < 0.9 || this.isInGland(x, y)) return null;
    if (chance(4) < 0.08 + 0.85 * inflammation) {
      const radius = mix(5, 6.8, chance(5));
      const rotation = chance(6) * Math.PI;
      return {
        kind: 'lymphocyte',
        x,
        y,
        a: radius * 1.06,
        b: radius,
        angle: rotation,
        bend: 0,
        darkness: mix(0.8, 1, chance(7)),
      };
    }
    return {
      kind: 'stromal',
      x,
      y,
      a: mix(8, 15, chance(5)),
      b: mix(2.6, 4.6, chance(6)),
      angle: this.direction(x, y) + 0.5 * (chance(7) - 0.5),
      bend: 0.03 * (chance(8) - 0.5),
      darkness: mix(0.4, 0.9, chance(9)),
    };
  }
}

/** Distance of a gland's edge from its center in a direction (radians). */
function edgeDistanceAt(gland: Gland, angle: number): number {
  const index = Math.round((angle / (2 * Math.PI)) * directionCount) & (directionCount - 1);
  return gland.edge[index] ?? 0;
}

/** Outline of a nucleus: `[x, y]` of 12 points in base-layer pixels, clockwise on the screen, not closed. */
export function outlineOf(nucleus: Nucleus): [number, number][] {
  const cos = Math.cos(nucleus.angle);
  const sin = Math.sin(nucleus.angle);
  return Array.from({ length: 12 }, (_, index) => {
    const rotation = (index / 12) * 2 * Math.PI;
    const u = nucleus.a * Math.cos(rotation);
    const v = nucleus.b * Math.sin(rotation) + nucleus.bend * u * u;
    return [round(nucleus.x + u * cos - v * sin), round(nucleus.y + u * sin + v * cos)];
  });
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
