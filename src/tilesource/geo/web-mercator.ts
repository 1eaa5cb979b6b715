import { forEachRange } from '../../core/concurrency/slices.js';
import { BadValueError, TileSourceError } from '../../errors.js';
import type { ImageMetadata, TileAddress, TileOptions, TileSource } from '../tile-source.js';
import { CorruptTiles, partOfTile } from '../render/corrupt-tiles.js';
import { levelScale, preferredLevel, type Box } from '../geometry.js';
import { createRaster, fullValue, minValue, type Raster, type SampleType } from '../raster.js';
import { TileReader } from '../render/compose.js';
import { averageSamples, largestFloat } from '../pyramid/average.js';
import { hasAlpha } from '../render/pixels.js';
import { inverseOf, type Bounds, type GeoReference, type Point } from './georeference.js';
import { halfWorld, positionOnMap, type MapPosition } from './map-position.js';
import { requireProjections } from './projections.js';

const tileSide = 256;
const maxLevels = 28;
/**
 * Side in pixels of the cells of a tile. Positions are projected at the corners of cells and interpolated between them. On levels
 * whose tiles show half of the earth or more, positions change less evenly, so cells are smaller.
 */
const cellSide = (level: number) => (level < 2 ? 4 : 8);
/** Largest width or height in source pixels that is read for one tile. */
const maxReadSide = 2048;

/** An image as a pyramid of web Mercator tiles that cover the earth, as web maps request them. */
export interface ProjectedSource {
  source: TileSource;
  /** Extent of the image in base-layer pixels of the projected pyramid. */
  extent: Box;
  /** Extent of the image in meters. */
  bounds: Bounds;
}

/** @throws BadValueError for a projection other than web Mercator. */
export function requireWebMercator(projection: string): void {
  if (/^(proj4:)?epsg:(3857|900913)$/i.test(projection.trim())) return;
  throw new BadValueError(`Invalid projection '${projection.slice(0, 60)}': tiles are offered in EPSG:3857`);
}

/** @throws TileSourceError for an image that is not georeferenced, or is not on the map. */
export function projectToWebMercator(source: TileSource): ProjectedSource {
  requireProjections();
  const { metadata } = source;
  const { geo } = metadata;
  if (geo === undefined || geo.proj4 === null) {
    throw new TileSourceError('The image is not georeferenced, or its projection is not supported.');
  }
  const inverse = inverseOf(geo.transform);
  if (inverse === null) throw new TileSourceError('The georeference of this image is not valid.');
  const { bounds, metersPerPixel, ...position } = positionOnMap(
    { width: metadata.sizeX, height: metadata.sizeY },
    { ...geo, proj4: geo.proj4 },
    inverse,
  );
  if (![bounds.xmin, bounds.xmax, bounds.ymin, bounds.ymax].every(Number.isFinite)) {
    throw new TileSourceError('The image is outside the area of the projection EPSG:3857.');
  }
  const finerLevels = metersPerPixel === null ? 0 : Math.ceil(Math.log2((2 * halfWorld) / tileSide / metersPerPixel) - 0.01);
  const levels = Math.min(maxLevels, Math.max(1, finerLevels + 1));
  const side = tileSide * 2 ** (levels - 1);
  const resolution = (2 * halfWorld) / side;
  const projectedGeo: GeoReference = {
    transform: [-halfWorld, resolution, 0, halfWorld, 0, -resolution],
    projection: 'epsg:3857',
    proj4: 'EPSG:3857',
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
  return { source: new WebMercatorSource(source, { ...shape, geo: projectedGeo }, position), extent, bounds };
}

/** The position in the original image, in pixels, of each corner of the cells of a tile. */
interface CellCorners {
  cell: number;
  /** Number of corners in a row. */
  across: number;
  /** x and y of each corner, row by row. */
  coordinates: Float64Array;
}

/** Sets the pixel with this index in the tile from the samples at a position in the original image. */
type PixelSetter = (pixel: number, x: number, y: number) => void;

/** Projects tiles of another source. A pixel is interpolated between four pixels of the source, or averaged where it covers more. */
class WebMercatorSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #reader: TileReader;
  readonly #alpha: number | null;

  constructor(
    private readonly original: TileSource,
    shape: Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'> & { geo: GeoReference },
    private readonly position: Pick<MapPosition, 'createPixelFinder' | 'revolution'>,
  ) {
    const { bandCount } = original.metadata;
    // An image without alpha gets one, because most tiles show an area around the image too.
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

  async readTile({ level, x, y, frame }: TileAddress, { signal, nearest = false, corrupt }: TileOptions = {}): Promise<Raster> {
    const positions = this.#projectCorners({ level, x, y });
    const box = this.#sourceBox(positions);
    if (box === null) return this.#createEmpty(tileSide);
    const { metadata, populatedLevels } = this.original;
    const finest = metadata.levels - 1;
    const coarserLevels = Math.floor(Math.log2(Math.max(1, box.pixelsPerPixel)) + 0.01);
    const neededLevel = Math.max(
      0,
      finest - Math.max(coarserLevels, Math.ceil(Math.log2(Math.max(box.width, box.height) / maxReadSide))),
    );
    const sourceLevel = preferredLevel(populatedLevels, Math.min(finest, neededLevel));
    const scale = levelScale(metadata, sourceLevel);
    // Interpolation needs the four pixels around each position.
    const start = (position: number) => Math.max(0, Math.floor(position / scale - 0.5));
    const end = (position: number, size: number) => Math.min(Math.ceil(size / scale), Math.floor(position / scale + 0.5) + 1);
    const readRect = { left: start(box.left), top: start(box.top), width: 1, height: 1 };
    readRect.width = Math.max(1, end(box.left + box.width, metadata.sizeX) - readRect.left);
    readRect.height = Math.max(1, end(box.top + box.height, metadata.sizeY) - readRect.top);
    const isPicked = nearest || metadata.indexed === true;
    const sourceCorrupt = corrupt && new CorruptTiles();
    const levelBox = { level: sourceLevel, frame, box: readRect, corrupt: sourceCorrupt, ...(isPicked && { nearest: true }) };
    const raster = await this.#reader.readBox(levelBox, signal);
    if (sourceCorrupt)
      corrupt.mergeOther(sourceCorrupt, {
        box: partOfTile(this.metadata, { level, x, y }).box,
        toOther: this.#toOriginal({ level, x, y }),
      });
    const inReadRect =
      (setPixel: PixelSetter): PixelSetter =>
      (to, px, py) =>
        setPixel(to, px / scale - readRect.left, py / scale - readRect.top);
    if (isPicked) {
      const out = this.#createEmpty(tileSide);
      await this.#fill({ positions, side: tileSide, setPixel: inReadRect(this.#createNearestSetter(out, raster)) }, signal);
      return out;
    }
    // If the original's pixels are smaller than the tile's, interpolation would skip some of them. So the tile is drawn at twice
    // the size and averaged.
    const side = box.pixelsPerPixel / scale > 1.02 ? 2 * tileSide : tileSide;
    const out = this.#createEmpty(side);
    await this.#fill({ positions, side, setPixel: inReadRect(this.#createMixingSetter(out, raster)) }, signal);
    return side === tileSide ? out : averageSamples(out, { width: tileSide, height: tileSide }, { nodata: this.#nodata, signal });
  }

  get #nodata(): number | null {
    return this.original.metadata.nodata ?? null;
  }

  /** A transparent square of nodata samples, or of NaN or 0 if the image has no nodata value. Averaging leaves them out. */
  #createEmpty(side: number): Raster {
    const { bandCount: bands, dtype } = this.metadata;
    const out = createRaster({ width: side, height: side, bands, dtype });
    const emptyValue = this.#nodata ?? (dtype.startsWith('float') ? NaN : 0);
    if (emptyValue !== 0) out.data.fill(emptyValue);
    const transparent = minValue(dtype);
    if (this.#alpha !== null && (emptyValue !== 0 || transparent !== 0)) {
      for (let at = this.#alpha; at < out.data.length; at += bands) out.data[at] = transparent;
    }
    return out;
  }

  /** Returns the positions in the original at which a point of a tile, in pixels of the finest level, may be shown. */
  #toOriginal({ level, x, y }: Omit<TileAddress, 'frame'>): (x: number, y: number) => [number, number][] {
    const side = (2 * halfWorld) / 2 ** level;
    const toPixel = this.position.createPixelFinder({ x: -halfWorld + (x + 0.5) * side, y: halfWorld - (y + 0.5) * side });
    const resolution = (2 * halfWorld) / this.metadata.sizeX;
    return (left, top) => {
      const point = toPixel({ x: -halfWorld + left * resolution, y: halfWorld - top * resolution });
      return this.#revolutionOffsets().map((offset) => [point.x + offset.x, point.y + offset.y]);
    };
  }

  /** Projects the corners of the cells of a tile to pixels of the original. */
  #projectCorners({ level, x, y }: Omit<TileAddress, 'frame'>): CellCorners {
    const cell = cellSide(level);
    const across = tileSide / cell + 1;
    const resolution = (2 * halfWorld) / (tileSide * 2 ** level);
    const onMap = (column: number, row: number) => ({
      x: -halfWorld + (x * tileSide + column) * resolution,
      y: halfWorld - (y * tileSide + row) * resolution,
    });
    const toPixel = this.position.createPixelFinder(onMap(tileSide / 2, tileSide / 2));
    const coordinates = new Float64Array(across * across * 2);
    for (let row = 0; row < across; row++) {
      for (let column = 0; column < across; column++) {
        const point = toPixel(onMap(column * cell, row * cell));
        coordinates.set([point.x, point.y], (row * across + column) * 2);
      }
    }
    return { cell, across, coordinates };
  }

  /**
   * The rectangle of the original that a tile may show, and the smallest number of original pixels along one pixel of the tile.
   * `null` if the tile shows nothing.
   */
  #sourceBox({ coordinates: positions, cell }: CellCorners): (Box & { pixelsPerPixel: number }) | null {
    const { sizeX, sizeY } = this.original.metadata;
    let [left, top, right, bottom, fewest] = [Infinity, Infinity, -Infinity, -Infinity, Infinity];
    for (let i = 0; i < positions.length; i += 2) {
      const step = Math.hypot(positions[i + 2]! - positions[i]!, positions[i + 3]! - positions[i + 1]!) / cell;
      if (step > 0 && step < fewest) fewest = step;
    }
    for (const wrap of this.#revolutionOffsets()) {
      const xs = [Infinity, -Infinity];
      const ys = [Infinity, -Infinity];
      for (let i = 0; i < positions.length; i += 2) {
        const [px, py] = [positions[i]! + wrap.x, positions[i + 1]! + wrap.y];
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
    return { left, top, width: right - left, height: bottom - top, pixelsPerPixel: Number.isFinite(fewest) ? fewest : 1 };
  }

  /** Offsets in pixels at which to look for a position in the image, which may be stored a revolution further east or west. */
  #revolutionOffsets(): Point[] {
    const { revolution } = this.position;
    const none = { x: 0, y: 0 };
    return revolution === null ? [none] : [none, revolution, { x: -revolution.x, y: -revolution.y }];
  }

  /**
   * Calls `setPixel` for each pixel of a square of `side` pixels that is inside the original, with the interpolated position there.
   */
  async #fill(
    {
      positions: { cell, across, coordinates: positions },
      side,
      setPixel,
    }: { positions: CellCorners; side: number; setPixel: PixelSetter },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { sizeX, sizeY } = this.original.metadata;
    const cellPixels = (cell * side) / tileSide;
    const wraps = this.#revolutionOffsets();
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
        for (const { x, y } of wraps) {
          if (!(px + x >= 0 && py + y >= 0 && px + x < sizeX && py + y < sizeY)) continue;
          setPixel(pixel, px + x, py + y);
          break;
        }
      }
    };
    await forEachRange(side ** 2, 4096, work, signal);
  }

  /** Returns a function that copies the pixel that contains the position. */
  #createNearestSetter(out: Raster, raster: Raster): PixelSetter {
    const opaque = opaqueValue(out.dtype);
    return (pixel, x, y) => {
      const sx = Math.min(raster.width - 1, Math.max(0, Math.floor(x)));
      const sy = Math.min(raster.height - 1, Math.max(0, Math.floor(y)));
      this.#copy(out, pixel * out.bands, { raster, from: (sy * raster.width + sx) * raster.bands, opaque });
    };
  }

  /**
   * Returns a function that interpolates between the four pixels around the position. If one of them is transparent or has no
   * value, it copies the nearest pixel instead.
   */
  #createMixingSetter(out: Raster, raster: Raster): PixelSetter {
    const pick = this.#createNearestSetter(out, raster);
    const { data, bands, dtype } = raster;
    const nodata = this.#nodata;
    const isFloat = dtype.startsWith('float');
    const opaque = opaqueValue(dtype);
    const alpha = hasAlpha(raster) && !isFloat ? bands - 1 : null;
    const isPlain = nodata === null && alpha === null && !isFloat;
    const isComplete = (at: number) => {
      if (alpha !== null && data[at + alpha] !== opaque) return false;
      for (let band = 0; band < bands; band++) {
        if (band !== alpha && (data[at + band] === nodata || !(Math.abs(data[at + band]!) < largestFloat))) return false;
      }
      return true;
    };
    return (pixel, x, y) => {
      const left = Math.min(raster.width - 1, Math.max(0, x - 0.5));
      const top = Math.min(raster.height - 1, Math.max(0, y - 0.5));
      const [column, row] = [Math.floor(left), Math.floor(top)];
      const a = (row * raster.width + column) * bands;
      const b = column + 1 < raster.width ? a + bands : a;
      const down = row + 1 < raster.height ? raster.width * bands : 0;
      const [c, d] = [a + down, b + down];
      if (!isPlain && !(isComplete(a) && isComplete(b) && isComplete(c) && isComplete(d))) return pick(pixel, x, y);
      const [u, v] = [left - column, top - row];
      const to = pixel * out.bands;
      for (let band = 0; band < bands; band++) {
        const value = mix(mix(data[a + band]!, data[b + band]!, u), mix(data[c + band]!, data[d + band]!, u), v);
        out.data[to + band] = isFloat ? value : Math.floor(value + 0.5);
      }
      if (bands < out.bands) out.data[to + bands] = opaque;
    };
  }

  #copy(out: Raster, at: number, { raster, from, opaque }: { raster: Raster; from: number; opaque: number }): void {
    const nodata = this.#nodata;
    let isMissing = nodata !== null;
    for (let band = 0; band < raster.bands; band++) {
      const value = raster.data[from + band]!;
      out.data[at + band] = value;
      if (value !== nodata && !Number.isNaN(value)) isMissing = false;
    }
    if (this.#alpha === null) return;
    if (isMissing) out.data[at + this.#alpha] = minValue(out.dtype);
    else if (raster.bands < out.bands) out.data[at + this.#alpha] = opaque;
  }

  iccProfile(frame: number): Uint8Array | null {
    return this.original.iccProfile?.(frame) ?? null;
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return (await this.original.internalMetadata?.()) ?? {};
  }

  /** Does nothing: the original is closed by the caller that opened it. */
  async close(): Promise<void> {}
}

/** The alpha of opaque pixels. For floats, which are not rescaled when displayed, it is 255. */
function opaqueValue(dtype: SampleType): number {
  return dtype.startsWith('float') ? 255 : fullValue(dtype);
}

function mix(a: number, b: number, part: number): number {
  return a + (b - a) * part;
}
