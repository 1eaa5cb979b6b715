import { BadValueError, TileSourceError } from '../../errors.js';
import type { ImageMetadata, TileAddress, TileSource } from '../contract.js';
import { levelScale, preferredLevel, type Box } from '../geometry.js';
import { createRaster, type Raster, type SampleType } from '../raster.js';
import { TileReader } from '../render/compose.js';
import { boundsOf, inverseOf, toModel, type Bounds, type GeoReference, type Point } from './georeference.js';
import { transformer } from './projections.js';

/** Half the width of the world in metres of the web Mercator projection. */
const halfWorld = Math.PI * 6_378_137;
const tileSide = 256;
const maxLevels = 28;
/** Output pixels between positions that are computed; those between them are interpolated. */
const cellSide = 8;
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
  const [there, back] = [transformer(geo.proj4, 'EPSG:3857'), transformer('EPSG:3857', geo.proj4)];
  const place = (pixel: Point) => onMap(there(toModel(geo.transform, pixel)));
  const bounds = boundsOf({ width: metadata.sizeX, height: metadata.sizeY }, place, 'epsg:3857');
  if (![bounds.xmin, bounds.xmax, bounds.ymin, bounds.ymax].every(Number.isFinite)) {
    throw new TileSourceError('The image lies where the projection EPSG:3857 has no place.');
  }
  const centre = { x: metadata.sizeX / 2, y: metadata.sizeY / 2 };
  const [here, beside] = [place(centre), place({ x: centre.x + 1, y: centre.y })];
  const metresPerPixel = Math.hypot(beside.x - here.x, beside.y - here.y);
  const finer = Math.ceil(Math.log2((2 * halfWorld) / tileSide / metresPerPixel) - 0.01);
  const levels = Math.min(maxLevels, Math.max(1, (Number.isFinite(finer) ? finer : 0) + 1));
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
  const toPixel = (point: Point) => toModel(inverse, back(point));
  return { source: new WebMercatorSource(source, { ...shape, geo: ownGeo }, toPixel), extent, bounds };
}

/** Poles lie at infinity; maps end before. */
function onMap({ x, y }: Point): Point {
  const within = (value: number) => Math.min(halfWorld, Math.max(-halfWorld, value));
  return { x: Number.isNaN(x) ? x : within(x), y: Number.isNaN(y) ? y : within(y) };
}

const opaque: Partial<Record<SampleType, number>> = {
  uint8: 255,
  uint16: 65_535,
  uint32: 0xff_ff_ff_ff,
  int8: 127,
  int16: 32_767,
};

/** Reads tiles of the nearest samples of another source. */
class WebMercatorSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #reader: TileReader;
  readonly #alpha: number | null;

  constructor(
    private readonly original: TileSource,
    shape: Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'> & { geo: GeoReference },
    private readonly toPixel: (point: Point) => Point,
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

  async readTile({ level, x, y, frame }: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { bandCount: bands, dtype } = this.metadata;
    const out = createRaster({ width: tileSide, height: tileSide, bands, dtype });
    const positions = this.#positions({ level, x, y });
    const box = this.#sourceBox(positions);
    if (box === null) return out;
    const { metadata, populatedLevels } = this.original;
    const finest = metadata.levels - 1;
    const coarser = Math.floor(Math.log2(Math.max(1, box.pixelsPerPixel)) + 0.01);
    const needed = Math.max(0, finest - Math.max(coarser, Math.ceil(Math.log2(Math.max(box.width, box.height) / longestRead))));
    const from = preferredLevel(populatedLevels, Math.min(finest, needed));
    const scale = levelScale(metadata, from);
    const read = {
      left: Math.floor(box.left / scale),
      top: Math.floor(box.top / scale),
      width: 0,
      height: 0,
    };
    const end = (position: number, size: number) => Math.min(Math.ceil(size / scale), Math.floor(position / scale) + 1);
    read.width = Math.max(1, end(box.left + box.width, metadata.sizeX) - read.left);
    read.height = Math.max(1, end(box.top + box.height, metadata.sizeY) - read.top);
    const raster = await this.#reader.readBox({ level: from, frame, box: read }, signal);
    this.#fill(out, raster, { positions, read, scale });
    return out;
  }

  /** Pixels of the original at the corners of cells of a tile. */
  #positions({ level, x, y }: Omit<TileAddress, 'frame'>): Float64Array {
    const across = tileSide / cellSide + 1;
    const resolution = (2 * halfWorld) / (tileSide * 2 ** level);
    const positions = new Float64Array(across * across * 2);
    for (let row = 0; row < across; row++) {
      for (let column = 0; column < across; column++) {
        const point = this.toPixel({
          x: -halfWorld + (x * tileSide + column * cellSide) * resolution,
          y: halfWorld - (y * tileSide + row * cellSide) * resolution,
        });
        positions.set([point.x, point.y], (row * across + column) * 2);
      }
    }
    return positions;
  }

  /** What of the original a tile may show, and how many of its pixels lie on one of the tile; `null` where it shows nothing. */
  #sourceBox(positions: Float64Array): (Box & { pixelsPerPixel: number }) | null {
    const { sizeX, sizeY } = this.original.metadata;
    let [left, top, right, bottom, longest] = [Infinity, Infinity, -Infinity, -Infinity, Infinity];
    for (let i = 0; i < positions.length; i += 2) {
      const [px, py] = [positions[i]!, positions[i + 1]!];
      if (!Number.isFinite(px) || !Number.isFinite(py)) continue;
      [left, right, top, bottom] = [Math.min(left, px), Math.max(right, px), Math.min(top, py), Math.max(bottom, py)];
      const step = Math.hypot(positions[i + 2]! - px, positions[i + 3]! - py) / cellSide;
      if (step > 0 && step < longest) longest = step;
    }
    [left, top] = [Math.max(0, left), Math.max(0, top)];
    [right, bottom] = [Math.min(sizeX, right), Math.min(sizeY, bottom)];
    if (!(right > left && bottom > top)) return null;
    return { left, top, width: right - left, height: bottom - top, pixelsPerPixel: Number.isFinite(longest) ? longest : 1 };
  }

  #fill(out: Raster, raster: Raster, { positions, read, scale }: { positions: Float64Array; read: Box; scale: number }): void {
    const { sizeX, sizeY, geo } = this.original.metadata;
    const nodata = geo?.nodata ?? null;
    const full = opaque[out.dtype] ?? (out.dtype.startsWith('float') ? 255 : 0);
    const across = tileSide / cellSide + 1;
    for (let row = 0; row < tileSide; row++) {
      const v = ((row + 0.5) % cellSide) / cellSide;
      const cellRow = Math.floor(row / cellSide) * across;
      for (let column = 0; column < tileSide; column++) {
        const u = ((column + 0.5) % cellSide) / cellSide;
        const corner = (cellRow + Math.floor(column / cellSide)) * 2;
        const below = corner + across * 2;
        const at = (axis: 0 | 1) =>
          (positions[corner + axis]! * (1 - u) + positions[corner + 2 + axis]! * u) * (1 - v) +
          (positions[below + axis]! * (1 - u) + positions[below + 2 + axis]! * u) * v;
        const [px, py] = [at(0), at(1)];
        if (!(px >= 0 && py >= 0 && px < sizeX && py < sizeY)) continue;
        const sx = Math.min(raster.width - 1, Math.max(0, Math.floor(px / scale) - read.left));
        const sy = Math.min(raster.height - 1, Math.max(0, Math.floor(py / scale) - read.top));
        this.#copy(out, (row * tileSide + column) * out.bands, {
          raster,
          from: (sy * raster.width + sx) * raster.bands,
          nodata,
          full,
        });
      }
    }
  }

  #copy(
    out: Raster,
    at: number,
    { raster, from, nodata, full }: { raster: Raster; from: number; nodata: number | null; full: number },
  ): void {
    let isNothing = nodata !== null;
    for (let band = 0; band < raster.bands; band++) {
      const value = raster.data[from + band]!;
      out.data[at + band] = value;
      if (value !== nodata && !Number.isNaN(value)) isNothing = false;
    }
    if (this.#alpha === null) return;
    if (raster.bands < out.bands) out.data[at + this.#alpha] = isNothing ? 0 : full;
    else if (isNothing) out.data[at + this.#alpha] = 0;
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
