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
import { halfWorldMeters, positionOnMap, type MapPosition } from './map-position.js';
import { requireProjections } from './projections.js';

const tileSide = 256;
const maxLevels = 28;
/** Number of pixels that are filled between two checks of the time. */
const pixelsPerCheck = 4096;
/**
 * Side in pixels of the cells of a tile. Only the corners of cells are projected; positions between the corners are interpolated.
 * On levels whose tiles show half of the earth or more, positions change less evenly, so cells are smaller.
 */
const cellSideAt = (level: number) => (level < 2 ? 4 : 8);
/** Maximum width and height that are read for one tile, in pixels of a level of the original. */
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

/**
 * Creates the web Mercator tiles of an image.
 *
 * @throws TileSourceError for an image that is not georeferenced or is not on the map.
 */
export function projectToWebMercator(source: TileSource): ProjectedSource {
  requireProjections();
  const { metadata } = source;
  const { geo } = metadata;
  if (geo === undefined || geo.proj4 === null) {
    throw new TileSourceError('The image is not georeferenced, or its projection is not supported.');
  }
  const inverse = inverseOf(geo.transform);
  if (inverse === null) throw new TileSourceError('The georeference of this image is not valid.');
  const { bounds, smallestPixelMeters, ...mapPosition } = positionOnMap(
    { width: metadata.sizeX, height: metadata.sizeY },
    { ...geo, proj4: geo.proj4 },
    inverse,
  );
  if (![bounds.xmin, bounds.xmax, bounds.ymin, bounds.ymax].every(Number.isFinite)) {
    throw new TileSourceError('The image is outside the area of the projection EPSG:3857.');
  }
  const finerLevels =
    smallestPixelMeters === null ? 0 : Math.ceil(Math.log2((2 * halfWorldMeters) / tileSide / smallestPixelMeters) - 0.01);
  const levels = Math.min(maxLevels, Math.max(1, finerLevels + 1));
  const mapSide = tileSide * 2 ** (levels - 1);
  const mapPixelMeters = (2 * halfWorldMeters) / mapSide;
  const projectedGeo: GeoReference = {
    transform: [-halfWorldMeters, mapPixelMeters, 0, halfWorldMeters, 0, -mapPixelMeters],
    projection: 'epsg:3857',
    proj4: 'EPSG:3857',
  };
  const left = Math.max(0, Math.floor((bounds.xmin + halfWorldMeters) / mapPixelMeters));
  const top = Math.max(0, Math.floor((halfWorldMeters - bounds.ymax) / mapPixelMeters));
  const extent = {
    left,
    top,
    width: Math.max(1, Math.min(mapSide, Math.ceil((bounds.xmax + halfWorldMeters) / mapPixelMeters)) - left),
    height: Math.max(1, Math.min(mapSide, Math.ceil((halfWorldMeters - bounds.ymin) / mapPixelMeters)) - top),
  };
  const shape = { sizeX: mapSide, sizeY: mapSide, tileWidth: tileSide, tileHeight: tileSide, levels };
  return { source: new WebMercatorSource(source, { ...shape, geo: projectedGeo }, mapPosition), extent, bounds };
}

/** The position in the original image, in pixels, of each corner of the cells of a tile. */
interface CellCorners {
  /** Side of a cell in pixels of the tile. */
  cellSide: number;
  cornersPerRow: number;
  /** x and y of each corner, row by row. */
  coordinates: Float64Array;
}

/** Sets the pixel with this index in a tile from the samples at a position in the original image, or in a raster read from it. */
type PixelSetter = (pixelIndex: number, x: number, y: number) => void;

/** Projects tiles of another source. A pixel is interpolated between four source pixels, or averaged if it covers more of them. */
class WebMercatorSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #reader: TileReader;
  readonly #alphaBand: number | null;

  constructor(
    private readonly original: TileSource,
    shape: Pick<ImageMetadata, 'sizeX' | 'sizeY' | 'tileWidth' | 'tileHeight' | 'levels'> & { geo: GeoReference },
    private readonly mapPosition: Pick<MapPosition, 'createPixelFinder' | 'revolution'>,
  ) {
    const { bandCount } = original.metadata;
    // An image without an alpha band gets one, because most tiles also show an area around the image.
    const lacksAlpha = bandCount === 1 || bandCount === 3;
    this.metadata = {
      ...original.metadata,
      ...shape,
      magnification: null,
      mmX: null,
      mmY: null,
      bandCount: bandCount + (lacksAlpha ? 1 : 0),
    };
    this.#alphaBand = lacksAlpha || bandCount === 2 || bandCount === 4 ? this.metadata.bandCount - 1 : null;
    this.populatedLevels = Array.from({ length: shape.levels }, (_, level) => level);
    this.#reader = new TileReader(original);
  }

  async readTile({ level, x, y, frame }: TileAddress, { signal, nearest = false, corrupt }: TileOptions = {}): Promise<Raster> {
    const corners = this.#projectCorners({ level, x, y });
    const box = this.#originalBox(corners);
    if (box === null) return this.#createEmpty(tileSide);
    const { metadata, populatedLevels } = this.original;
    const finestLevel = metadata.levels - 1;
    const coarserLevels = Math.floor(Math.log2(Math.max(1, box.pixelsPerPixel)) + 0.01);
    const neededLevel = Math.max(
      0,
      finestLevel - Math.max(coarserLevels, Math.ceil(Math.log2(Math.max(box.width, box.height) / maxReadSide))),
    );
    const sourceLevel = preferredLevel(populatedLevels, Math.min(finestLevel, neededLevel));
    const scale = levelScale(metadata, sourceLevel);
    // Interpolation needs the four pixels around each position.
    const startAtLevel = (position: number) => Math.max(0, Math.floor(position / scale - 0.5));
    const endAtLevel = (position: number, size: number) =>
      Math.min(Math.ceil(size / scale), Math.floor(position / scale + 0.5) + 1);
    const readBox = { left: startAtLevel(box.left), top: startAtLevel(box.top), width: 1, height: 1 };
    readBox.width = Math.max(1, endAtLevel(box.left + box.width, metadata.sizeX) - readBox.left);
    readBox.height = Math.max(1, endAtLevel(box.top + box.height, metadata.sizeY) - readBox.top);
    const picksNearest = nearest || metadata.indexed === true;
    const corruptInOriginal = corrupt && new CorruptTiles();
    const levelBox = {
      level: sourceLevel,
      frame,
      box: readBox,
      corrupt: corruptInOriginal,
      ...(picksNearest && { nearest: true }),
    };
    const raster = await this.#reader.readBox(levelBox, signal);
    if (corruptInOriginal)
      corrupt.mergeOther(corruptInOriginal, {
        box: partOfTile(this.metadata, { level, x, y }).box,
        toOther: this.#createOriginalFinder({ level, x, y }),
      });
    /** Makes a setter for positions in the original from a setter for positions in the raster. */
    const fromOriginal =
      (setPixel: PixelSetter): PixelSetter =>
      (pixelIndex, px, py) =>
        setPixel(pixelIndex, px / scale - readBox.left, py / scale - readBox.top);
    if (picksNearest) {
      const out = this.#createEmpty(tileSide);
      await this.#fill({ corners, side: tileSide, setPixel: fromOriginal(this.#createNearestSetter(out, raster)) }, signal);
      return out;
    }
    // If the original's pixels are smaller than the tile's pixels, interpolation would skip some of the original's pixels. So the
    // tile is drawn at twice the size and averaged.
    const side = box.pixelsPerPixel / scale > 1.02 ? 2 * tileSide : tileSide;
    const out = this.#createEmpty(side);
    await this.#fill({ corners, side, setPixel: fromOriginal(this.#createInterpolatingSetter(out, raster)) }, signal);
    return side === tileSide ? out : averageSamples(out, { width: tileSide, height: tileSide }, { nodata: this.#nodata, signal });
  }

  get #nodata(): number | null {
    return this.original.metadata.nodata ?? null;
  }

  /**
   * Creates a transparent square of samples that averaging leaves out: the nodata value if the image has one, otherwise NaN or 0.
   */
  #createEmpty(side: number): Raster {
    const { bandCount: bands, dtype } = this.metadata;
    const out = createRaster({ width: side, height: side, bands, dtype });
    const emptyValue = this.#nodata ?? (dtype.startsWith('float') ? NaN : 0);
    if (emptyValue !== 0) out.data.fill(emptyValue);
    const transparent = minValue(dtype);
    if (this.#alphaBand !== null && (emptyValue !== 0 || transparent !== 0)) {
      for (let at = this.#alphaBand; at < out.data.length; at += bands) out.data[at] = transparent;
    }
    return out;
  }

  /**
   * Returns a function that finds, for a point of a tile in pixels of the finest level, the positions in the original that the
   * point may show.
   */
  #createOriginalFinder({ level, x, y }: Omit<TileAddress, 'frame'>): (x: number, y: number) => [number, number][] {
    const tileMeters = (2 * halfWorldMeters) / 2 ** level;
    const toPixel = this.mapPosition.createPixelFinder({
      x: -halfWorldMeters + (x + 0.5) * tileMeters,
      y: halfWorldMeters - (y + 0.5) * tileMeters,
    });
    const mapPixelMeters = (2 * halfWorldMeters) / this.metadata.sizeX;
    return (left, top) => {
      const point = toPixel({ x: -halfWorldMeters + left * mapPixelMeters, y: halfWorldMeters - top * mapPixelMeters });
      return this.#revolutionOffsets().map((offset) => [point.x + offset.x, point.y + offset.y]);
    };
  }

  /** Projects the corners of the cells of a tile to pixels of the original. */
  #projectCorners({ level, x, y }: Omit<TileAddress, 'frame'>): CellCorners {
    const cellSide = cellSideAt(level);
    const cornersPerRow = tileSide / cellSide + 1;
    const levelPixelMeters = (2 * halfWorldMeters) / (tileSide * 2 ** level);
    const onMap = (column: number, row: number) => ({
      x: -halfWorldMeters + (x * tileSide + column) * levelPixelMeters,
      y: halfWorldMeters - (y * tileSide + row) * levelPixelMeters,
    });
    const toPixel = this.mapPosition.createPixelFinder(onMap(tileSide / 2, tileSide / 2));
    const coordinates = new Float64Array(cornersPerRow * cornersPerRow * 2);
    for (let row = 0; row < cornersPerRow; row++) {
      for (let column = 0; column < cornersPerRow; column++) {
        const point = toPixel(onMap(column * cellSide, row * cellSide));
        coordinates.set([point.x, point.y], (row * cornersPerRow + column) * 2);
      }
    }
    return { cellSide, cornersPerRow, coordinates };
  }

  /**
   * The rectangle of the original that a tile may show, and the smallest number of original pixels along a side of a pixel of the
   * tile. `null` if the tile shows nothing.
   */
  #originalBox({ coordinates, cellSide }: CellCorners): (Box & { pixelsPerPixel: number }) | null {
    const { sizeX, sizeY } = this.original.metadata;
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    let fewestPixels = Infinity;
    for (let i = 0; i < coordinates.length; i += 2) {
      const pixels = Math.hypot(coordinates[i + 2]! - coordinates[i]!, coordinates[i + 3]! - coordinates[i + 1]!) / cellSide;
      if (pixels > 0 && pixels < fewestPixels) fewestPixels = pixels;
    }
    for (const offset of this.#revolutionOffsets()) {
      const xs = [Infinity, -Infinity];
      const ys = [Infinity, -Infinity];
      for (let i = 0; i < coordinates.length; i += 2) {
        const [px, py] = [coordinates[i]! + offset.x, coordinates[i + 1]! + offset.y];
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
    return {
      left,
      top,
      width: right - left,
      height: bottom - top,
      pixelsPerPixel: Number.isFinite(fewestPixels) ? fewestPixels : 1,
    };
  }

  /** Offsets in pixels at which a position may be found in the image, which may lie a revolution further east or west. */
  #revolutionOffsets(): Point[] {
    const { revolution } = this.mapPosition;
    const noOffset = { x: 0, y: 0 };
    return revolution === null ? [noOffset] : [noOffset, revolution, { x: -revolution.x, y: -revolution.y }];
  }

  /**
   * Calls `setPixel` for each pixel of a square with `side` by `side` pixels, with the pixel's position in the original. Skips
   * pixels that are outside the original. Positions between the corners of cells are interpolated.
   */
  async #fill(
    { corners, side, setPixel }: { corners: CellCorners; side: number; setPixel: PixelSetter },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { sizeX, sizeY } = this.original.metadata;
    const { cellSide, cornersPerRow, coordinates } = corners;
    const cellPixels = (cellSide * side) / tileSide;
    const offsets = this.#revolutionOffsets();
    const fillRange = (from: number, to: number) => {
      for (let pixel = from; pixel < to; pixel++) {
        const [row, column] = [Math.floor(pixel / side), pixel % side];
        const [u, v] = [((column + 0.5) % cellPixels) / cellPixels, ((row + 0.5) % cellPixels) / cellPixels];
        const above = (Math.floor(row / cellPixels) * cornersPerRow + Math.floor(column / cellPixels)) * 2;
        const below = above + cornersPerRow * 2;
        const px = interpolate(
          interpolate(coordinates[above]!, coordinates[above + 2]!, u),
          interpolate(coordinates[below]!, coordinates[below + 2]!, u),
          v,
        );
        const py = interpolate(
          interpolate(coordinates[above + 1]!, coordinates[above + 3]!, u),
          interpolate(coordinates[below + 1]!, coordinates[below + 3]!, u),
          v,
        );
        for (const { x, y } of offsets) {
          if (!(px + x >= 0 && py + y >= 0 && px + x < sizeX && py + y < sizeY)) continue;
          setPixel(pixel, px + x, py + y);
          break;
        }
      }
    };
    await forEachRange(side ** 2, pixelsPerCheck, fillRange, signal);
  }

  /** Returns a function that copies the pixel that contains the position. */
  #createNearestSetter(out: Raster, raster: Raster): PixelSetter {
    const opaque = opaqueValue(out.dtype);
    return (pixel, x, y) => {
      const sx = Math.min(raster.width - 1, Math.max(0, Math.floor(x)));
      const sy = Math.min(raster.height - 1, Math.max(0, Math.floor(y)));
      this.#copyPixel(out, pixel * out.bands, { raster, from: (sy * raster.width + sx) * raster.bands, opaque });
    };
  }

  /**
   * Returns a function that interpolates between the four pixels around the position. If one of them is transparent or has no
   * value, it copies the nearest pixel instead.
   */
  #createInterpolatingSetter(out: Raster, raster: Raster): PixelSetter {
    const setNearest = this.#createNearestSetter(out, raster);
    const { data, bands, dtype } = raster;
    const nodata = this.#nodata;
    const isFloat = dtype.startsWith('float');
    const opaque = opaqueValue(dtype);
    const alphaBand = hasAlpha(raster) && !isFloat ? bands - 1 : null;
    const isAlwaysComplete = nodata === null && alphaBand === null && !isFloat;
    const isComplete = (at: number) => {
      if (alphaBand !== null && data[at + alphaBand] !== opaque) return false;
      for (let band = 0; band < bands; band++) {
        if (band !== alphaBand && (data[at + band] === nodata || !(Math.abs(data[at + band]!) < largestFloat))) return false;
      }
      return true;
    };
    return (pixel, x, y) => {
      const left = Math.min(raster.width - 1, Math.max(0, x - 0.5));
      const top = Math.min(raster.height - 1, Math.max(0, y - 0.5));
      const [column, row] = [Math.floor(left), Math.floor(top)];
      // Offsets of the four pixels: upper left, upper right, lower left and lower right.
      const a = (row * raster.width + column) * bands;
      const b = column + 1 < raster.width ? a + bands : a;
      const nextRow = row + 1 < raster.height ? raster.width * bands : 0;
      const [c, d] = [a + nextRow, b + nextRow];
      if (!isAlwaysComplete && !(isComplete(a) && isComplete(b) && isComplete(c) && isComplete(d)))
        return setNearest(pixel, x, y);
      const [u, v] = [left - column, top - row];
      const to = pixel * out.bands;
      for (let band = 0; band < bands; band++) {
        const value = interpolate(
          interpolate(data[a + band]!, data[b + band]!, u),
          interpolate(data[c + band]!, data[d + band]!, u),
          v,
        );
        out.data[to + band] = isFloat ? value : Math.floor(value + 0.5);
      }
      if (bands < out.bands) out.data[to + bands] = opaque;
    };
  }

  /** Copies a pixel. Where the image has no value, the alpha becomes transparent. */
  #copyPixel(out: Raster, at: number, { raster, from, opaque }: { raster: Raster; from: number; opaque: number }): void {
    const nodata = this.#nodata;
    let isMissing = nodata !== null;
    for (let band = 0; band < raster.bands; band++) {
      const value = raster.data[from + band]!;
      out.data[at + band] = value;
      if (value !== nodata && !Number.isNaN(value)) isMissing = false;
    }
    if (this.#alphaBand === null) return;
    if (isMissing) out.data[at + this.#alphaBand] = minValue(out.dtype);
    else if (raster.bands < out.bands) out.data[at + this.#alphaBand] = opaque;
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

/** The alpha of opaque pixels. It is 255 for floats, because they are not rescaled when displayed. */
function opaqueValue(dtype: SampleType): number {
  return dtype.startsWith('float') ? 255 : fullValue(dtype);
}

function interpolate(a: number, b: number, fraction: number): number {
  return a + (b - a) * fraction;
}
