import { CorruptTileError, FailedReadError, LargeImageError, MissingPartsError, TileSourceError } from '../../errors.js';
import { ThreadLimitError } from '../../core/concurrency/thread-pool.js';
import { forEachRange } from '../../core/concurrency/slices.js';
import { levelScale, type Box, type PyramidShape, type Window } from '../geometry.js';
import type { TileAddress } from '../tile-source.js';
import type { Picture } from './pixels.js';

/** A part of an image, in pixels of full resolution. */
interface Part {
  box: Window;
  /** Whether a point of the box is in the part. By default, every point of the box is. */
  contains?: (x: number, y: number) => boolean;
}

/** Collects the corrupt tiles of a picture while the picture is read, and draws them as holes at the end. */
export class CorruptTiles {
  readonly #tileByKey = new Map<string, { error: CorruptTileError; parts: Part[] }>();
  /** Number of intact tiles that were read. */
  #intactCount = 0;
  /** How often a corrupt tile was found. A tile that was found twice counts twice. */
  #encounters = 0;

  get count(): number {
    return this.#tileByKey.size;
  }

  get encounters(): number {
    return this.#encounters;
  }

  get errors(): CorruptTileError[] {
    return [...this.#tileByKey.values()].map(({ error }) => error);
  }

  /** The errors with their keys. A part of the image has the same key in every picture. */
  get keyedErrors(): [string, CorruptTileError][] {
    return [...this.#tileByKey].map(([key, { error }]) => [key, error]);
  }

  /**
   * Adds a corrupt tile.
   *
   * @param part the part of the image that the tile shows.
   * @param key identifies the part; by default, the {@link tileKey} of the tile.
   */
  add(error: CorruptTileError, part: Part, key = tileKey(error.tile)): void {
    this.#encounters += 1;
    const existing = this.#tileByKey.get(key);
    if (existing === undefined) this.#tileByKey.set(key, { error, parts: [part] });
    else existing.parts.push(part);
  }

  addIntact(count = 1): void {
    this.#intactCount += count;
  }

  /** Adds the corrupt tiles of another picture of the same image. */
  merge(other: CorruptTiles): void {
    this.#intactCount += other.#intactCount;
    this.#encounters += other.#encounters;
    for (const [key, { error, parts }] of other.#tileByKey) {
      const existing = this.#tileByKey.get(key);
      if (existing === undefined) this.#tileByKey.set(key, { error, parts: [...parts] });
      else existing.parts.push(...parts);
    }
  }

  /**
   * Adds the corrupt tiles of another image that was drawn into a part of this image.
   *
   * @param drawn `box` is the part of this image, `toOther` maps points of this image to points of the other image, and `name` is
   * the name of the other image.
   */
  mergeOther(
    other: CorruptTiles,
    drawn: { box: Window; toOther: (x: number, y: number) => readonly (readonly [number, number])[]; name?: string },
  ): void {
    const areas: Part[] = [];
    const boxesInOther = visibleBoxes(drawn.box, drawn.toOther);
    for (const [key, { error, parts }] of other.#tileByKey) {
      if (!parts.some(({ box }) => boxesInOther.some((boxInOther) => doOverlap(box, boxInOther)))) continue;
      const contains = (x: number, y: number) =>
        drawn.toOther(x, y).some(([u, v]) => parts.some((part) => containsPoint(part, u, v)));
      const reason = `The source ${drawn.name} of the image cannot be read: ${error.reason}`;
      const namedError = drawn.name === undefined ? error : new CorruptTileError(error.tile, new TileSourceError(reason));
      areas.push({ box: drawn.box, contains });
      this.add(namedError, { box: drawn.box, contains }, `${drawn.name ?? ''}:${key}`);
    }
    // A larger part of the other image is read than is shown, so its intact tiles may be invisible.
    if (areas.length === 0) this.#intactCount += other.#intactCount;
    else if (samplePoints(drawn.box).some(([x, y]) => !areas.some((area) => containsPoint(area, x, y)))) this.#intactCount += 1;
  }

  /** The parts of a rectangle that no hole touches, relative to the corner of the rectangle, in pixels of full resolution. */
  intactBoxes({ left, top, width, height }: Box): Box[] {
    const holes = [...this.#tileByKey.values()]
      .flatMap(({ parts }) => parts.map(({ box }) => box))
      .map((box) => ({
        left: Math.max(0, Math.floor(box.left - left)),
        top: Math.max(0, Math.floor(box.top - top)),
        right: Math.min(width, Math.ceil(box.left + box.width - left)),
        bottom: Math.min(height, Math.ceil(box.top + box.height - top)),
      }))
      .filter((hole) => hole.left < hole.right && hole.top < hole.bottom)
      .toSorted((a, b) => a.left - b.left);
    const edges = [...new Set([0, height, ...holes.flatMap((hole) => [hole.top, hole.bottom])])].toSorted((a, b) => a - b);
    const boxes: Box[] = [];
    for (const [at, from] of edges.slice(0, -1).entries()) {
      const rows = edges[at + 1]! - from;
      let nextLeft = 0;
      for (const hole of holes) {
        if (hole.top > from || hole.bottom <= from) continue;
        if (hole.left > nextLeft) boxes.push({ left: nextLeft, top: from, width: hole.left - nextLeft, height: rows });
        nextLeft = Math.max(nextLeft, hole.right);
      }
      if (nextLeft < width) boxes.push({ left: nextLeft, top: from, width: width - nextLeft, height: rows });
    }
    return boxes;
  }

  /** @throws the first error, if all tiles are corrupt. */
  throwIfAllCorrupt(): void {
    const [first] = this.errors;
    if (first !== undefined && this.#intactCount === 0) throw first;
  }

  /**
   * Draws the holes into the picture. Holes are opaque and hatched, so that nobody mistakes them for a part of the image.
   *
   * @param shownArea the area of the image that the picture shows, in pixels of full resolution.
   */
  async drawHoles(picture: Picture, shownArea: Window): Promise<void> {
    const across = picture.width / shownArea.width;
    const down = picture.height / shownArea.height;
    const pixelRange = (from: number, length: number, ratio: number, limit: number): [number, number] => {
      const start = Math.max(0, Math.floor(from * ratio));
      return [start, Math.min(limit, Math.max(start + 1, Math.ceil((from + length) * ratio)))];
    };
    for (const { parts } of this.#tileByKey.values()) {
      for (const { box, contains } of parts) {
        const [left, right] = pixelRange(box.left - shownArea.left, box.width, across, picture.width);
        const [top, bottom] = pixelRange(box.top - shownArea.top, box.height, down, picture.height);
        const isHole =
          contains && ((x: number, y: number) => contains(shownArea.left + (x + 0.5) / across, shownArea.top + (y + 0.5) / down));
        await hatch(picture, { left, top, width: right - left, height: bottom - top }, isHole);
      }
    }
  }
}

/** Points that are evenly distributed in a rectangle. */
function samplePoints({ left, top, width, height }: Window): [number, number][] {
  const stepsPerSide = 16;
  return Array.from({ length: stepsPerSide ** 2 }, (_, at) => [
    left + ((Math.floor(at / stepsPerSide) + 0.5) / stepsPerSide) * width,
    top + (((at % stepsPerSide) + 0.5) / stepsPerSide) * height,
  ]);
}

/** The rectangles of another image that a part of this image may show. */
function visibleBoxes(
  { left, top, width, height }: Window,
  toOther: (x: number, y: number) => readonly (readonly [number, number])[],
): Window[] {
  const stepsPerSide = 8;
  const ranges: { xs: number[]; ys: number[] }[] = [];
  for (let at = 0; at < (stepsPerSide + 1) ** 2; at += 1) {
    const [column, row] = [at % (stepsPerSide + 1), Math.floor(at / (stepsPerSide + 1))];
    for (const [pointIndex, [x, y]] of toOther(
      left + (column / stepsPerSide) * width,
      top + (row / stepsPerSide) * height,
    ).entries()) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
      const range = (ranges[pointIndex] ??= { xs: [], ys: [] });
      range.xs.push(x);
      range.ys.push(y);
    }
  }
  // `toOther` returns its points in the same order each time. Points that the other image does not have are not finite, so an entry
  // of `ranges` can be missing.
  return ranges
    .filter((range) => range !== undefined)
    .map(({ xs, ys }) => {
      const [x, y] = [Math.min(...xs), Math.min(...ys)];
      return { left: x, top: y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
    });
}

/** Whether two rectangles have a common area. An overlap of less than a hundredth of a pixel is ignored as a rounding error. */
function doOverlap(a: Window, b: Window): boolean {
  const overlapsAlong = (from: number, length: number, other: number, otherLength: number) =>
    Math.min(from + length, other + otherLength) - Math.max(from, other) > 0.01;
  return overlapsAlong(a.left, a.width, b.left, b.width) && overlapsAlong(a.top, a.height, b.top, b.height);
}

function containsPoint({ box, contains }: Part, x: number, y: number): boolean {
  const isInside = x >= box.left && y >= box.top && x < box.left + box.width && y < box.top + box.height;
  return isInside && (contains === undefined || contains(x, y));
}

/** The part of an image that a tile shows. */
export function partOfTile(shape: PyramidShape, { level, x, y }: Pick<TileAddress, 'level' | 'x' | 'y'>): Part {
  const scale = levelScale(shape, level);
  const [width, height] = [shape.tileWidth * scale, shape.tileHeight * scale];
  const [left, top] = [x * width, y * height];
  return { box: { left, top, width: Math.min(width, shape.sizeX - left), height: Math.min(height, shape.sizeY - top) } };
}

/** Width in pixels of the stripes that mark holes. */
const stripePixels = 8;
const stripeGrays = [64, 192] as const;

async function hatch({ data, width, bands }: Picture, box: Box, isHole?: (x: number, y: number) => boolean): Promise<void> {
  if (box.width <= 0 || box.height <= 0) return;
  const hasAlpha = bands === 2 || bands === 4;
  const pixelsPerCheck = isHole === undefined ? 65_536 : 4096;
  await forEachRange(box.height, Math.max(1, Math.ceil(pixelsPerCheck / box.width)), (from, to) => {
    for (let y = box.top + from; y < box.top + to; y += 1) {
      for (let x = box.left; x < box.left + box.width; x += 1) {
        if (isHole?.(x, y) === false) continue;
        const at = (y * width + x) * bands;
        data.fill(stripeGrays[Math.floor((x + y) / stripePixels) % 2]!, at, at + bands);
        if (hasAlpha) data[at + bands - 1] = 255;
      }
    }
  });
}

/** A text that identifies a tile of an image. */
export function tileKey({ level, x, y, frame }: Readonly<TileAddress>): string {
  return `${frame}/${level}/${x}/${y}`;
}

/**
 * The error to report for a tile that a source could not read: a {@link CorruptTileError} if the bytes of the tile cannot be
 * decoded. The error of a failed read is returned unchanged, because the read may succeed the next time. If decoding took too long,
 * the error is `unavailable`, because decoding may succeed when the server is less busy.
 */
export function tileError(error: unknown, tile: TileAddress): unknown {
  if (!(error instanceof TileSourceError)) return error;
  if (isTimeout(error)) return new LargeImageError('unavailable', error.message, { cause: error, retryAfterSeconds: 30 });
  return isFailedRead(error) ? error : new CorruptTileError(tile, error);
}

function isTimeout(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ThreadLimitError && cause.limit === 'time') return true;
  }
  return false;
}

/** Whether reading the bytes failed, as opposed to decoding them. Sources may have wrapped the error. */
export function isFailedRead(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FailedReadError || cause instanceof MissingPartsError || cause.name === 'AbortError') return true;
    // These are full queues, unreachable hosts and missing files.
    if (cause instanceof LargeImageError && !(cause instanceof TileSourceError)) return true;
    // Errors of the operating system name their system call. Errors of libraries, such as zlib, do not.
    if ('syscall' in cause) return true;
  }
  return false;
}
