import { inRuns } from '../../core/concurrency/slices.js';
import { BadValueError, TileSourceError } from '../../errors.js';
import type { ImageMetadata, TileAddress, TileSource } from '../contract.js';
import { levelScale, preferredLevel, type Box } from '../geometry.js';
import { createRaster, fullValue, leastValue, type Raster, type SampleType } from '../raster.js';
import { TileReader } from '../render/compose.js';
import { hasAlpha, isPicture } from '../render/pixels.js';
import { inverseOf, type Bounds, type GeoReference, type Point } from './georeference.js';
import { halfWorld, placeOnMap, type MapPlace } from './map-place.js';

const tileSide = 256;
const maxLevels = 28;
/** Output pixels between positions that are computed; those between them are interpolated. Where a tile is half the earth or more, it takes more. */
const cellSide = (level: number) => (level < 2 ? 4 : 8);
/** Most source pixels that are read for one tile, along one side. */
const longestRead = 2048;

/** An image in web Mercator tiles, as slippy maps ask for them. */
export interface ProjectedSource {
  source: TileSource;
  /** Where the image lies in pixels of the base layer of the projected pyramid. */
  extent: Box;
  /** Where it lies in metres. */
  bounds: Bounds;
}

/** @throws BadValueError for a projection other than web Mercator. */
export function requireWebMercator(projection: string): void {
  if (/^(proj4:)?epsg:(3857|900913)$/i.test(projection.trim())) return;
  throw new BadValueError(`Invalid projection '${projection.slice(0, 60)}': tiles are offered in EPSG:3857`);
}

/** @throws TileSourceError for an image without a place on the earth, or on the map. */
export function projectToWebMercator(source: TileSource): ProjectedSource {
  const { metadata } = source;
  const { geo } = metadata;
  if (geo === undefined || geo.proj4 === null) {
    throw new TileSourceError('The image has no place on the earth, or a projection that cannot be computed with.');
  }
  const inverse = inverseOf(geo.transform);
  if (inverse === null) throw new TileSourceError('The place of this image on the earth cannot be computed with.');
  const { bounds, metresPerPixel, ...place } = placeOnMap(
    { width: metadata.sizeX, height: metadata.sizeY },
    { ...geo, proj4: geo.proj4 },
    inverse,
  );
  if (![bounds.xmin, bounds.xmax, bounds.ymin, bounds.ymax].every(Number.isFinite)) {
    throw new TileSourceError('The image lies where the projection EPSG:3857 has no place.');
  }
  const finer = metresPerPixel === null ? 0 : Math.ceil(Math.log2((2 * halfWorld) / tileSide / metresPerPixel) - 0.01);
  const levels = Math.min(maxLevels, Math.max(1, finer + 1));
  const side = tileSide * 2 ** (levels - 1);
  const resolution = (2 * halfWorld) / side;
  const ownGeo: GeoReference = {
    transform: [-halfWorld, resolution, 0, halfWorld, 0, -resolution],
    projection: 'epsg:3857',
    proj4: 'EPSG:3857',
    nodata: geo.nodata,
  };
  const left = Math.max(0, Math.floor((bounds.xmin + halfWorld) / resolution));
  const top = Math.max(0, Math.floor((halfWorld - bounds.ymax) / resolution));
  const extent = {
    left,
    top,
    width: Math.max(1, Math.min(side, Math.ceil((bounds.xmax + halfWorld) / resolution)) - left),
    height: Math.max(1, Math.min(side, Math.ceil((halfWorld - bounds.ymin) / resolution)) - top),
  };
  const shape = { sizeX: side, sizeY: side, tileWidth: tileSide, tileHeight: tileSide, levels };
  return { source: new WebMercatorSource(source, { ...shape, geo: ownGeo }, place), extent, bounds };
}

/** Positions of the original's pixels below the corners of the cells of a tile. */
interface Positions {
  cell: number;
  /** Corners in a row. */
  across: number;
  /** Pairs of numbers, row by row. */
  at: Float64Array;
}

/** Colours a pixel, by its number, with what lies at a position. */
type Sample = (pixel: number, x: number, y: number) => void;

/** Reads tiles of another source: pictures are mixed of four pixels, samples that stand for values are those of the nearest one. */
class WebMercatorSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #reader: TileReader;
  readonly #alpha: number | null;

  constructor(
    private readonly original: TileSource,
    shape: Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'> & { geo: GeoReference },
    private readonly place: Pick<MapPlace, 'pixelsAround' | 'turn'>,
  ) {
    const { bandCount } = original.metadata;
    // What has no alpha gets one: most tiles show something beside the image.
    const isOpaque = bandCount === 1 || bandCount === 3;
    this.metadata = {
      ...original.metadata,
      ...shape,
      magnification: null,
      mmX: null,
      mmY: null,
      bandCount: bandCount + (isOpaque ? 1 : 0),
    };
    this.#alpha = isOpaque || bandCount === 2 || bandCount === 4 ? this.metadata.bandCount - 1 : null;
    this.populatedLevels = Array.from({ length: shape.levels }, (_, level) => level);
    this.#reader = new TileReader(original);
  }

  async readTile(
    { level, x, y, frame }: TileAddress,
    { signal, nearest = false }: { signal?: AbortSignal; nearest?: boolean } = {},
  ): Promise<Raster> {
    const positions = this.#positions({ level, x, y });
    const box = this.#sourceBox(positions);
    if (box === null) return this.#empty(tileSide);
    const { metadata, populatedLevels } = this.original;
    const finest = metadata.levels - 1;
    const coarser = Math.floor(Math.log2(Math.max(1, box.pixelsPerPixel)) + 0.01);
    const needed = Math.max(0, finest - Math.max(coarser, Math.ceil(Math.log2(Math.max(box.width, box.height) / longestRead))));
    const from = preferredLevel(populatedLevels, Math.min(finest, needed));
    const scale = levelScale(metadata, from);
    // Four pixels are mixed around each position.
    const start = (position: number) => Math.max(0, Math.floor(position / scale - 0.5));
    const end = (position: number, size: number) => Math.min(Math.ceil(size / scale), Math.floor(position / scale + 0.5) + 1);
    const read = { left: start(box.left), top: start(box.top), width: 1, height: 1 };
    read.width = Math.max(1, end(box.left + box.width, metadata.sizeX) - read.left);
    read.height = Math.max(1, end(box.top + box.height, metadata.sizeY) - read.top);
    const isPicked = nearest || metadata.indexed === true;
    const raster = await this.#reader.readBox({ level: from, frame, box: read, ...(isPicked && { nearest: true }) }, signal);
    const toRead =
      (sample: Sample): Sample =>
      (to, px, py) =>
        sample(to, px / scale - read.left, py / scale - read.top);
    if (isPicked || !isPicture(raster)) {
      const out = this.#empty(tileSide);
      await this.#fill({ positions, side: tileSide, sample: toRead(this.#nearest(out, raster)) }, signal);
      return out;
    }
    // Pixels of the original that are smaller than those of the tile would be left out between those that are mixed.
    const side = box.pixelsPerPixel / scale > 1.02 ? 2 * tileSide : tileSide;
    const out = this.#empty(side);
    await this.#fill({ positions, side, sample: toRead(this.#mixed(out, raster)) }, signal);
    return side === tileSide ? out : halved(out);
  }

  /** A square that shows nothing. */
  #empty(side: number): Raster {
    const { bandCount: bands, dtype } = this.metadata;
    const out = createRaster({ width: side, height: side, bands, dtype });
    const transparent = leastValue(dtype);
    if (this.#alpha !== null && transparent !== 0) {
      for (let at = this.#alpha; at < out.data.length; at += bands) out.data[at] = transparent;
    }
    return out;
  }

  /** Pixels of the original at the corners of cells of a tile. */
  #positions({ level, x, y }: Omit<TileAddress, 'frame'>): Positions {
    const cell = cellSide(level);
    const across = tileSide / cell + 1;
    const resolution = (2 * halfWorld) / (tileSide * 2 ** level);
    const onMap = (column: number, row: number) => ({
      x: -halfWorld + (x * tileSide + column) * resolution,
      y: halfWorld - (y * tileSide + row) * resolution,
    });
    const toPixel = this.place.pixelsAround(onMap(tileSide / 2, tileSide / 2));
    const at = new Float64Array(across * across * 2);
    for (let row = 0; row < across; row++) {
      for (let column = 0; column < across; column++) {
        const point = toPixel(onMap(column * cell, row * cell));
        at.set([point.x, point.y], (row * across + column) * 2);
      }
    }
    return { cell, across, at };
  }

  /** What of the original a tile may show, and how many of its pixels lie on one of the tile; `null` where it shows nothing. */
  #sourceBox({ at: positions, cell }: Positions): (Box & { pixelsPerPixel: number }) | null {
    const { sizeX, sizeY } = this.original.metadata;
    let [left, top, right, bottom, longest] = [Infinity, Infinity, -Infinity, -Infinity, Infinity];
    for (let i = 0; i < positions.length; i += 2) {
      const step = Math.hypot(positions[i + 2]! - positions[i]!, positions[i + 3]! - positions[i + 1]!) / cell;
      if (step > 0 && step < longest) longest = step;
    }
    for (const turn of this.#turns()) {
      const xs = [Infinity, -Infinity];
      const ys = [Infinity, -Infinity];
      for (let i = 0; i < positions.length; i += 2) {
        const [px, py] = [positions[i]! + turn.x, positions[i + 1]! + turn.y];
        if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
        [xs[0], xs[1]] = [Math.min(xs[0]!, px), Math.max(xs[1]!, px)];
        [ys[0], ys[1]] = [Math.min(ys[0]!, py), Math.max(ys[1]!, py)];
      }
      if (!(Math.min(sizeX, xs[1]!) > Math.max(0, xs[0]!) && Math.min(sizeY, ys[1]!) > Math.max(0, ys[0]!))) continue;
      [left, right, top, bottom] = [
        Math.min(left, xs[0]!),
        Math.max(right, xs[1]!),
        Math.min(top, ys[0]!),
        Math.max(bottom, ys[1]!),
      ];
    }
    [left, top] = [Math.max(0, left), Math.max(0, top)];
    [right, bottom] = [Math.min(sizeX, right), Math.min(sizeY, bottom)];
    if (!(right > left && bottom > top)) return null;
    return { left, top, width: right - left, height: bottom - top, pixelsPerPixel: Number.isFinite(longest) ? longest : 1 };
  }

  /** What is added to a position for the places where the same of the earth may lie in the image. */
  #turns(): Point[] {
    const { turn } = this.place;
    const none = { x: 0, y: 0 };
    return turn === null ? [none] : [none, turn, { x: -turn.x, y: -turn.y }];
  }

  /** Calls `sample` for each pixel of a tile, `side` in a row, that shows the original. */
  async #fill(
    { positions: { cell, across, at: positions }, side, sample }: { positions: Positions; side: number; sample: Sample },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { sizeX, sizeY } = this.original.metadata;
    const cellPixels = (cell * side) / tileSide;
    const turns = this.#turns();
    const work = (from: number, to: number) => {
      for (let pixel = from; pixel < to; pixel++) {
        const [row, column] = [Math.floor(pixel / side), pixel % side];
        const [u, v] = [((column + 0.5) % cellPixels) / cellPixels, ((row + 0.5) % cellPixels) / cellPixels];
        const corner = (Math.floor(row / cellPixels) * across + Math.floor(column / cellPixels)) * 2;
        const below = corner + across * 2;
        const px = mix(mix(positions[corner]!, positions[corner + 2]!, u), mix(positions[below]!, positions[below + 2]!, u), v);
        const py = mix(
          mix(positions[corner + 1]!, positions[corner + 3]!, u),
          mix(positions[below + 1]!, positions[below + 3]!, u),
          v,
        );
        for (const { x, y } of turns) {
          if (!(px + x >= 0 && py + y >= 0 && px + x < sizeX && py + y < sizeY)) continue;
          sample(pixel, px + x, py + y);
          break;
        }
      }
    };
    await inRuns(side ** 2, 4096, work, signal);
  }

  /** Takes the sample of the pixel in which a position lies. */
  #nearest(out: Raster, raster: Raster): Sample {
    const opaque = opaqueValue(out.dtype);
    return (pixel, x, y) => {
      const sx = Math.min(raster.width - 1, Math.max(0, Math.floor(x)));
      const sy = Math.min(raster.height - 1, Math.max(0, Math.floor(y)));
      this.#copy(out, pixel * out.bands, { raster, from: (sy * raster.width + sx) * raster.bands, opaque });
    };
  }

  /** Mixes the four pixels around a position, but nothing with what stands for nothing or is transparent. */
  #mixed(out: Raster, raster: Raster): Sample {
    const pick = this.#nearest(out, raster);
    const { data, bands } = raster;
    const nodata = this.original.metadata.geo?.nodata ?? null;
    const isPlain = nodata === null && !hasAlpha(raster);
    const isOpaque = (at: number) => {
      if (hasAlpha(raster) && data[at + bands - 1] !== 255) return false;
      for (let band = 0; nodata !== null && band < bands; band++) if (data[at + band] !== nodata) return true;
      return nodata === null;
    };
    return (pixel, x, y) => {
      const left = Math.min(raster.width - 1, Math.max(0, x - 0.5));
      const top = Math.min(raster.height - 1, Math.max(0, y - 0.5));
      const [column, row] = [Math.floor(left), Math.floor(top)];
      const a = (row * raster.width + column) * bands;
      const b = column + 1 < raster.width ? a + bands : a;
      const down = row + 1 < raster.height ? raster.width * bands : 0;
      const [c, d] = [a + down, b + down];
      if (!isPlain && !(isOpaque(a) && isOpaque(b) && isOpaque(c) && isOpaque(d))) return pick(pixel, x, y);
      const [u, v] = [left - column, top - row];
      const to = pixel * out.bands;
      for (let band = 0; band < bands; band++) {
        out.data[to + band] = mix(mix(data[a + band]!, data[b + band]!, u), mix(data[c + band]!, data[d + band]!, u), v) + 0.5;
      }
      if (bands < out.bands) out.data[to + bands] = 255;
    };
  }

  #copy(out: Raster, at: number, { raster, from, opaque }: { raster: Raster; from: number; opaque: number }): void {
    const nodata = this.original.metadata.geo?.nodata ?? null;
    let isNothing = nodata !== null;
    for (let band = 0; band < raster.bands; band++) {
      const value = raster.data[from + band]!;
      out.data[at + band] = value;
      if (value !== nodata && !Number.isNaN(value)) isNothing = false;
    }
    if (this.#alpha === null) return;
    if (isNothing) out.data[at + this.#alpha] = leastValue(out.dtype);
    else if (raster.bands < out.bands) out.data[at + this.#alpha] = opaque;
  }

  iccProfile(frame: number): Uint8Array | null {
    return this.original.iccProfile?.(frame) ?? null;
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return (await this.original.internalMetadata?.()) ?? {};
  }

  /** The original stays with whoever opened it. */
  async close(): Promise<void> {}
}

/** Floats are shown as they are: of their alpha 255 is opaque. */
function opaqueValue(dtype: SampleType): number {
  return dtype.startsWith('float') ? 255 : fullValue(dtype);
}

function mix(a: number, b: number, part: number): number {
  return a + (b - a) * part;
}

/** Half the size of bytes whose last band is opacity: colours count as much as they are opaque. */
function halved({ data, width, bands }: Raster): Raster {
  const side = width / 2;
  const out = createRaster({ width: side, height: side, bands, dtype: 'uint8' });
  const corners = [0, bands, width * bands, (width + 1) * bands];
  const alpha = bands - 1;
  for (let to = 0, pixel = 0; pixel < side * side; pixel++, to += bands) {
    const from = (Math.floor(pixel / side) * 2 * width + (pixel % side) * 2) * bands;
    let opacity = 0;
    for (const corner of corners) opacity += data[from + corner + alpha]!;
    if (opacity === 0) continue;
    for (let band = 0; band < alpha; band++) {
      let sum = 0;
      for (const corner of corners) sum += data[from + corner + band]! * data[from + corner + alpha]!;
      out.data[to + band] = sum / opacity + 0.5;
    }
    out.data[to + alpha] = opacity / 4 + 0.5;
  }
  return out;
}
