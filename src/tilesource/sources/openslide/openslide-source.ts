import { tmpdir } from 'node:os';
import { TileOutsideError, TileSourceError } from '../../../errors.js';
import {
  priorities,
  type AssociatedImage,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { isPowerOfTwo, levelCount, tileContent } from '../../geometry.js';
import { blit } from '../../render/pixels.js';
import { createRaster, type Raster } from '../../raster.js';
import { extendByEdges } from '../tiff/region.js';
import type { SlideDescription } from './slide-messages.js';
import { makeSlideFolder, type SlideFolder } from './slide-folder.js';
import { mayHoldPart } from './slide-parts.js';
import { SlideProcesses } from './slide-processes.js';

const tileSide = 512;
/** Maximum number of pixels of an associated image. */
const maxAssociatedPixels = 2 ** 26;

const processes = new SlideProcesses();

function positiveProperty(description: SlideDescription, name: string): number | null {
  const value = Number(description.properties[name] ?? Number.NaN);
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** The scanned part of the slide, in pixels of full resolution. It is the whole slide if the file declares no valid part. */
function boundsOf({ properties, levels }: SlideDescription): { left: number; top: number; width: number; height: number } {
  const [left, top, width, height] = ['x', 'y', 'width', 'height'].map((name) => Number(properties[`openslide.bounds-${name}`]));
  const wholeSlide = { left: 0, top: 0, width: levels[0]!.width, height: levels[0]!.height };
  const isValid =
    [left, top, width, height].every((value) => Number.isSafeInteger(value) && value! >= 0) && width! > 0 && height! > 0;
  const isInside = isValid && left! + width! <= wholeSlide.width && top! + height! <= wholeSlide.height;
  return isInside ? { left: left!, top: top!, width: width!, height: height! } : wholeSlide;
}

/** Maximum number of pixels, along an axis, by which a read begins left of a tile or above it. */
const maxSkippedPixels = 63;
/** A number of pixels counts as whole if it is at most this far from a whole number. */
const wholeTolerance = 0.03;

/**
 * Where a read begins, along one axis, for a tile that begins at `position` in its level. OpenSlide takes a whole number of pixels of
 * full resolution and divides it by `downsample`, the ratio of the levels. If the quotient is not whole, OpenSlide interpolates pixels.
 * The read therefore begins up to {@link maxSkippedPixels} pixels before the tile, where the start is nearly a whole number both in the
 * level and in full resolution.
 *
 * @returns `start` in pixels of full resolution, and `skipped`, the number of pixels of the level that precede the tile.
 */
function findReadStart(position: number, downsample: number): { start: number; skipped: number } {
  const distanceToWhole = (skipped: number) =>
    Math.abs((position - skipped) * downsample - Math.round((position - skipped) * downsample));
  let skipped = 0;
  for (
    let candidate = 0;
    candidate <= Math.min(maxSkippedPixels, position) && distanceToWhole(skipped) > wholeTolerance;
    candidate += 1
  ) {
    if (distanceToWhole(candidate) < distanceToWhole(skipped)) skipped = candidate;
  }
  return { start: Math.round((position - skipped) * downsample), skipped };
}

/**
 * Number of pixels along a side of a tile that are inside the level, at least 1. The level ends `remainingPixels` pixels after the
 * tile's start.
 */
function contentLength(side: number, remainingPixels: number): number {
  return Math.max(1, Math.min(side, Math.floor(remainingPixels + wholeTolerance)));
}

class OpenSlideTileSource implements TileSource {
  /** Nearly all formats that the library reads are lossy. */
  readonly isLossy = true;
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly associatedImages: readonly string[];
  readonly #folder: SlideFolder;
  readonly #description: SlideDescription;
  readonly #bounds: ReturnType<typeof boundsOf>;
  /** The indexes that OpenSlide gives to levels, by our indexes. */
  readonly #openSlideLevels = new Map<number, number>();

  constructor(folder: SlideFolder, description: SlideDescription) {
    this.#folder = folder;
    this.#description = description;
    this.#bounds = boundsOf(description);
    const { width: sizeX, height: sizeY } = this.#bounds;
    const size = { sizeX, sizeY, tileWidth: tileSide, tileHeight: tileSide };
    const [mppX, mppY] = [positiveProperty(description, 'openslide.mpp-x'), positiveProperty(description, 'openslide.mpp-y')];
    this.metadata = {
      ...size,
      levels: levelCount(size),
      magnification: positiveProperty(description, 'openslide.objective-power'),
      mmX: mppX === null ? null : mppX / 1000,
      mmY: mppY === null ? null : mppY / 1000,
      dtype: 'uint8',
      bandCount: 3,
    };
    for (const [openSlideLevel, { downsample }] of description.levels.entries()) {
      const power = Math.round(Math.log2(downsample));
      const level = this.metadata.levels - 1 - power;
      if (isPowerOfTwo(downsample, power) && level >= 0 && !this.#openSlideLevels.has(level))
        this.#openSlideLevels.set(level, openSlideLevel);
    }
    this.populatedLevels = [...this.#openSlideLevels.keys()].toSorted((a, b) => a - b);
    this.associatedImages = Object.keys(description.associated).toSorted();
  }

  async readTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { width, height } = tileContent(this.metadata, address);
    const openSlideLevel = this.#openSlideLevels.get(address.level);
    if (openSlideLevel === undefined || !(width > 0 && height > 0 && address.x >= 0 && address.y >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    const { downsample, ...storedSize } = this.#description.levels[openSlideLevel]!;
    const [startX, startY] = [findReadStart(address.x * tileSide, downsample), findReadStart(address.y * tileSide, downsample)];
    // OpenSlide rounds sizes of levels down, but our pyramid rounds them up. The additional column or row would be background.
    const content = {
      width: contentLength(width, storedSize.width - this.#bounds.left / downsample - address.x * tileSide),
      height: contentLength(height, storedSize.height - this.#bounds.top / downsample - address.y * tileSide),
    };
    const shape = { width: content.width + startX.skipped, height: content.height + startY.skipped };
    const origin = { left: this.#bounds.left + startX.start, top: this.#bounds.top + startY.start };
    const { slidePath } = this.#folder;
    const data = await processes.ask({ kind: 'region', path: slidePath, ...origin, level: openSlideLevel, ...shape }, signal);
    const raster: Raster = { data, ...shape, bands: 3, dtype: 'uint8' };
    if (startX.skipped + startY.skipped === 0) return extendByEdges(raster, width, height);
    const tile = createRaster({ ...raster, ...content });
    blit(tile, raster, { left: 0, top: 0 }, { left: startX.skipped, top: startY.skipped, ...content });
    return extendByEdges(tile, width, height);
  }

  async readAssociatedImage(name: string, { signal }: { signal?: AbortSignal } = {}): Promise<AssociatedImage | null> {
    const size = Object.hasOwn(this.#description.associated, name) ? this.#description.associated[name] : undefined;
    if (size === undefined) return null;
    const { width, height } = size;
    if (!(width > 0 && height > 0) || width * height > maxAssociatedPixels) {
      throw new TileSourceError(
        `The ${name} of the slide has ${width} by ${height} pixels; at most ${maxAssociatedPixels} are shown.`,
      );
    }
    const data = await processes.ask({ kind: 'associated', path: this.#folder.slidePath, name, width, height }, signal);
    return { raster: { data, width, height, bands: 3, dtype: 'uint8' }, lossyCodec: 'jpeg' };
  }

  /** The library does not tell the codec. In nearly all of its formats, the codec is JPEG. */
  async lossyCodec(): Promise<'jpeg'> {
    return 'jpeg';
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return { openslide: this.#description.properties, openslideVersion: this.#description.version };
  }

  async close(): Promise<void> {
    processes.closeSlide(this.#folder.slidePath);
    await this.#folder.remove();
  }
}

const { preferred } = priorities;

/**
 * Reads formats of OpenSlide in separate processes: MIRAX, Hamamatsu, Leica, Ventana, Trestle and others. It needs the package
 * koffi and the library, which `OPENSLIDE_LIBRARY` may name.
 */
export const openSlideSource: TileSourceDefinition = {
  name: 'openslide',
  extensions: {
    default: priorities.manual,
    mrxs: preferred,
    ndpi: preferred,
    svslide: preferred,
    vms: preferred,
    vmu: preferred,
    bif: preferred,
    scn: preferred,
  },
  mimeTypes: { default: priorities.manual, 'image/mirax': preferred },
  readsCompanions: true,
  readsFolder: 'files',
  mayHold: mayHoldPart,
  async open(input: SourceInput, { signal, temporaryDirectory }: SourceOptions = {}): Promise<TileSource> {
    const folder = await makeSlideFolder(input, temporaryDirectory ?? tmpdir(), signal);
    try {
      const description = await processes.ask({ kind: 'open', path: folder.slidePath }, signal);
      if (description.levels.length === 0 || !(description.levels[0]!.width > 0))
        throw new TileSourceError('OpenSlide finds no levels in the file.');
      return new OpenSlideTileSource(folder, description);
    } catch (error) {
      await folder.remove();
      throw error;
    }
  },
};
