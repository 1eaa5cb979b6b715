import { tmpdir } from 'node:os';
import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../../core/concurrency/lru-options.js';
import { CorruptTileError, TileOutsideError, TileSourceError } from '../../../errors.js';
import { fileInput } from '../../byte-reader.js';
import {
  defaultMaxDecodedPixels,
  priorities,
  type AssociatedImage,
  type ByteReader,
  type EncodedImage,
  type ImageMetadata,
  type LossyCodec,
  type SourceInput,
  type SourceOptions,
  type StoredLevel,
  type TileAddress,
  type TileOptions,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { createRaster, type Raster } from '../../raster.js';
import type { Directory } from './file/directory.js';
import { readGeoTiff, readNodata, type GeoTiff } from './geo-keys.js';
import { readLayout, type ImageLayout } from './tiff-layout.js';
import { requireWholePicture } from './decoding/old-jpeg.js';
import { orient, shownRegionOf, storedRegionOf, swapsSides } from './decoding/orientation.js';
import type { ChunkTable } from './chunk-table.js';
import { extendByEdges, readRegion, readStoredChunk, type ChunkReader } from './region.js';
import { tileGrid } from '../../geometry.js';
import { findStoredLevel, lossyCodecOf } from './stored-level.js';
import { storedEncoding, storedPicture } from './stored-tile.js';
import type { CorruptTiles } from '../../render/corrupt-tiles.js';
import { requireIntactPart, readIntactRegion, type CorruptChunk } from './intact-region.js';
import { StripPyramids } from './strip-pyramids.js';
import { describeTiff, readInternalMetadata, whiteOfLayout } from './tiff-metadata.js';
import { readStructure, type TiffStructure } from './file/structure.js';
import { TiffBytes } from './file/tiff-bytes.js';
import { findTruncation } from './file/truncation.js';

/** Default for the longest side in pixels of an untiled image that is served as one tile. */
const defaultMaxSmallImageSize = 4096;
/** Maximum number of bytes of cached tile offsets and lengths of an open file. */
const maxTableBytes = 64 * 1024 * 1024;
/** Maximum number of cached layouts of an open file, which has one for each level of each frame. */
const maxCachedLayouts = 1024;
/** Approximate memory of a directory in bytes. */
const bytesPerDirectory = 600;

/** The parts of an opened file. */
interface TiffParts {
  reader: ByteReader;
  file: TiffBytes;
  structure: TiffStructure;
  geo: GeoTiff | null;
  nodata: number | null;
  options: SourceOptions;
}

class TiffTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly associatedImages: readonly string[];
  readonly #reader: ByteReader;
  readonly #file: TiffBytes;
  readonly #structure: TiffStructure;
  readonly #geo: GeoTiff | null;
  readonly #pyramids: StripPyramids | null;
  readonly #tables = new LRUCache<Directory, ChunkTable>({
    maxSize: maxTableBytes,
    // A table that is larger than the limit is cached alone, because otherwise it would be read again for every tile.
    maxEntrySize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ offsets, lengths }) => Math.min(maxTableBytes, offsets.byteLength + lengths.byteLength + 64),
  });
  /** The result of {@link findTruncation}. */
  #truncation: Promise<string | null> | undefined;
  readonly #layouts = new LRUCache<string, Promise<ImageLayout | null>>(limitEntries(maxCachedLayouts));

  constructor(parts: TiffParts) {
    this.#reader = parts.reader;
    this.#file = parts.file;
    this.#structure = parts.structure;
    this.#geo = parts.geo;
    this.metadata = describeTiff(parts.structure, parts);
    const finestLevel = this.metadata.levels - 1;
    const storedLevels = [...parts.structure.reductionsByPower.keys()]
      .map((power) => finestLevel - power)
      .filter((level) => level >= 0);
    const { isLargeInStrips } = parts.structure;
    const levels = isLargeInStrips ? Array.from({ length: finestLevel }, (_, level) => level) : storedLevels;
    this.populatedLevels = [...levels, finestLevel].toSorted((a, b) => a - b);
    this.#pyramids = isLargeInStrips ? this.#createStripPyramids(parts) : null;
    this.associatedImages = [...parts.structure.associated.keys()].toSorted();
  }

  get retainedBytes(): number {
    const directories = this.#structure.mainDirectories.length * bytesPerDirectory + this.#file.retainedBytes;
    return directories + this.#tables.calculatedSize + this.#structure.description.length * 4;
  }

  #createStripPyramids({ options }: TiffParts): StripPyramids {
    return new StripPyramids({
      readLayout: async (frame) => {
        const layout = await this.#layoutOf(this.metadata.levels - 1, frame);
        if (layout === null) throw new TileSourceError(`The file contains no plane for frame ${frame}.`);
        return layout;
      },
      createChunkReader: (signal) => this.#createChunkReader(signal),
      levelCount: this.metadata.levels,
      nodata: this.metadata.nodata ?? null,
      maxPixels: options.maxDecodedPixels ?? defaultMaxDecodedPixels,
      temporaryDirectory: options.temporaryDirectory ?? tmpdir(),
      openPyramid: (path) => tiffSource.open(fileInput(path)),
      addCorrupt: (strips, layout, address, corrupt) => this.#addCorrupt(strips, layout, address, { corrupt, scale: 1 }),
    });
  }

  /** The temporary pyramids if the tile is read from them; `null` if it is read from the file. */
  #pyramidsFor({ level, frame }: TileAddress): StripPyramids | null {
    const { reductionsByPower, frames } = this.#structure;
    if (frames[frame]?.directory === null) return null;
    return reductionsByPower.has(this.metadata.levels - 1 - level) ? null : this.#pyramids;
  }

  /**
   * Checks pixels in addition to the tags. The tiles of a large image in strips are made only when they are requested, so the first
   * row is decoded now, and if that fails, the last row.
   *
   * @throws TileSourceError if the file has no whole picture, or its first and last strips are corrupt.
   */
  async checkPixels(signal: AbortSignal | undefined): Promise<void> {
    const { baseLayout, isLargeInStrips } = this.#structure;
    if (baseLayout.interchange !== null) await requireWholePicture(this.#file, baseLayout.interchange);
    if (!isLargeInStrips) return;
    const chunkReader = this.#createChunkReader(signal);
    const row = { left: 0, top: 0, width: baseLayout.width, height: 1 };
    const { corrupt } = await readIntactRegion(chunkReader, baseLayout, row);
    if (corrupt.length === 0) return;
    await readRegion(chunkReader, baseLayout, { ...row, top: baseLayout.height - 1 }).catch(() =>
      requireIntactPart(row, corrupt),
    );
  }

  #createChunkReader(signal: AbortSignal | undefined): ChunkReader {
    return {
      file: this.#file,
      tables: this.#tables,
      littleEndian: this.#file.littleEndian,
      threads: codecThreads,
      ...(signal === undefined ? {} : { signal }),
    };
  }

  /** Layout of a frame at a level; `null` for a plane that is not in the file. */
  #layoutOf(level: number, frame: number): Promise<ImageLayout | null> {
    const power = this.metadata.levels - 1 - level;
    const key = `${frame}/${power}`;
    const cachedLayout = this.#layouts.get(key);
    if (cachedLayout !== undefined) return cachedLayout;
    const layoutPromise = this.#readLayout(power, frame);
    this.#layouts.set(key, layoutPromise);
    layoutPromise.catch(() => this.#layouts.delete(key));
    return layoutPromise;
  }

  async #readLayout(power: number, frame: number): Promise<ImageLayout | null> {
    const { baseLayout, frames, reductionsByPower } = this.#structure;
    const fullFrame = frames[frame];
    if (fullFrame === undefined) throw new TileOutsideError(`Frame ${frame} does not exist; there are ${frames.length}.`);
    if (fullFrame.directory === null) return null;
    let directory: Directory | undefined = fullFrame.directory;
    if (power > 0) {
      const reduction = reductionsByPower.get(power);
      if (reduction === undefined) throw new TileOutsideError(`This TIFF does not contain the level reduced by ${2 ** power}.`);
      directory =
        reduction.kind === 'main'
          ? reduction.directories[frame]
          : (await this.#file.readSubDirectories(directory))[reduction.subIfdIndex];
      if (directory === undefined)
        throw new TileSourceError(`Frame ${frame} of this TIFF lacks the level reduced by ${2 ** power}.`);
    }
    const layout = directory === baseLayout.directory ? baseLayout : await readLayout(directory, baseLayout);
    const hasValidSize = power > 0 || (layout.width === baseLayout.width && layout.height === baseLayout.height);
    if (!hasValidSize || layout.bands !== baseLayout.bands || layout.dtype !== baseLayout.dtype) {
      throw new TileSourceError(
        `Frame ${frame} of this TIFF has ${layout.width} by ${layout.height} pixels of ${layout.bands} ${layout.dtype} samples, unlike the first frame.`,
      );
    }
    // Some writers leave the orientation out of reduced images.
    return { ...layout, orientation: baseLayout.orientation };
  }

  /** Position and size in pixels of a tile within its level. */
  #tileRegion(address: TileAddress): { left: number; top: number; width: number; height: number } {
    const { sizeX, sizeY, tileWidth, tileHeight, levels } = this.metadata;
    const scale = 2 ** (levels - 1 - address.level);
    const left = address.x * tileWidth;
    const top = address.y * tileHeight;
    const width = Math.min(tileWidth, Math.ceil(sizeX / scale) - left);
    const height = Math.min(tileHeight, Math.ceil(sizeY / scale) - top);
    if (!(width > 0 && height > 0 && left >= 0 && top >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    return { left, top, width, height };
  }

  async readTile(address: TileAddress, options: TileOptions = {}): Promise<Raster> {
    const region = this.#tileRegion(address);
    const pyramids = this.#pyramidsFor(address);
    if (pyramids !== null) return pyramids.readTile(address, options);
    const layout = await this.#layoutOf(address.level, address.frame);
    const { bandCount: bands, dtype } = this.metadata;
    if (layout === null) return createRaster({ width: region.width, height: region.height, bands, dtype });
    const hasSwappedSides = swapsSides(layout.orientation);
    const [shownWidth, shownHeight] = hasSwappedSides ? [layout.height, layout.width] : [layout.width, layout.height];
    const left = Math.min(region.left, shownWidth - 1);
    const top = Math.min(region.top, shownHeight - 1);
    const shownRegion = {
      left,
      top,
      width: Math.max(1, Math.min(region.left + region.width, shownWidth) - left),
      height: Math.max(1, Math.min(region.top + region.height, shownHeight) - top),
    };
    const storedRegion = storedRegionOf(shownRegion, layout.orientation, layout);
    const chunkReader = this.#createChunkReader(options.signal);
    const { raster, corrupt } = options.corrupt
      ? await readIntactRegion(chunkReader, layout, storedRegion)
      : { raster: await readRegion(chunkReader, layout, storedRegion), corrupt: [] };
    requireIntactPart(storedRegion, corrupt);
    if (options.corrupt) {
      const scale = 2 ** (this.metadata.levels - 1 - address.level);
      this.#addCorrupt(corrupt, layout, address, { corrupt: options.corrupt, scale });
    }
    return extendByEdges(orient(raster, layout.orientation), region.width, region.height);
  }

  /**
   * Adds corrupt strips (or tiles whose size differs from the tiles of the image) to the corrupt tiles of a picture.
   *
   * @param scale pixels of full resolution in a stored pixel.
   */
  #addCorrupt(
    chunks: readonly CorruptChunk[],
    layout: ImageLayout,
    address: TileAddress,
    { corrupt, scale }: { corrupt: CorruptTiles; scale: number },
  ): void {
    if (chunks.length > 0) corrupt.addIntact();
    for (const { region, error } of chunks) {
      const { left, top, width, height } = shownRegionOf(region, layout.orientation, layout);
      const box = { left: left * scale, top: top * scale, width: width * scale, height: height * scale };
      const chunkPosition = `${Math.floor(region.left / layout.chunkWidth)}/${Math.floor(region.top / layout.chunkHeight)}`;
      corrupt.add(new CorruptTileError(address, error), { box }, `${address.frame}/chunk/${layout.width}/${chunkPosition}`);
    }
  }

  async readStoredTile(
    address: TileAddress,
    options: { signal?: AbortSignal; partial?: boolean } = {},
  ): Promise<EncodedImage | null> {
    const { tileWidth, tileHeight } = this.metadata;
    const { left, top, width, height } = this.#tileRegion(address);
    const isPartial = width !== tileWidth || height !== tileHeight;
    if ((isPartial && options.partial !== true) || this.#pyramidsFor(address) !== null) return null;
    const layout = await this.#layoutOf(address.level, address.frame);
    if (layout === null || storedEncoding(layout) === null) return null;
    if (layout.chunkWidth !== tileWidth || layout.chunkHeight !== tileHeight) return null;
    // Files may round the sizes of reduced levels down, while the sizes of levels are rounded up here.
    const content = { width: Math.min(width, layout.width - left), height: Math.min(height, layout.height - top) };
    const isShort = content.width < width || content.height < height;
    if ((isShort && options.partial !== true) || content.width < 1 || content.height < 1) return null;
    const bytes = await readStoredChunk(
      this.#createChunkReader(options.signal),
      layout,
      address.y * layout.chunksAcross + address.x,
    );
    const picture = bytes && storedPicture(bytes, layout);
    return picture && isShort ? { ...picture, content } : picture;
  }

  async storedLevel(
    { level, frame }: { level: number; frame: number },
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<StoredLevel | null> {
    if (this.#pyramidsFor({ level, frame, x: 0, y: 0 }) !== null) return null;
    const layout = await this.#layoutOf(level, frame);
    const { columns, rows } = tileGrid(this.metadata, level);
    const { tileWidth, tileHeight } = this.metadata;
    if (layout === null || layout.chunkWidth !== tileWidth || layout.chunkHeight !== tileHeight) return null;
    if (layout.chunksAcross !== columns || layout.chunksDown !== rows) return null;
    return findStoredLevel(this.#createChunkReader(signal), layout);
  }

  async readAssociatedImage(name: string, options: { signal?: AbortSignal } = {}): Promise<AssociatedImage | null> {
    const layout = this.#structure.associated.get(name);
    if (layout === undefined) return null;
    const wholeRegion = { left: 0, top: 0, width: layout.width, height: layout.height };
    const raster = await readRegion(this.#createChunkReader(options.signal), layout, wholeRegion);
    const lossyCodec = await lossyCodecOf(this.#createChunkReader(options.signal), layout);
    return { raster: orient(raster, layout.orientation), format: 'tiff', lossyCodec, ...whiteOfLayout(layout) };
  }

  lossyCodec(signal?: AbortSignal): Promise<LossyCodec | null> {
    return lossyCodecOf(this.#createChunkReader(signal), this.#structure.baseLayout);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    this.#truncation ??= findTruncation(this.#file, this.#structure.mainDirectories).catch((error: unknown) => {
      this.#truncation = undefined;
      throw error;
    });
    const truncated = await this.#truncation;
    return {
      ...(truncated === null ? {} : { truncated }),
      ...(await readInternalMetadata(this.#structure, this.#geo, this.populatedLevels.length)),
    };
  }

  iccProfile(): Uint8Array | null {
    const { icc, photometric } = this.#structure.baseLayout;
    // CMYK and L*a*b* (5 and above, except YCbCr) are already converted to sRGB.
    return photometric === 5 || photometric > 6 ? null : icc;
  }

  async close(): Promise<void> {
    await this.#pyramids?.close();
    this.#tables.clear();
    this.#layouts.clear();
    await this.#reader.close();
  }
}

/**
 * Reads tiled and pyramidal TIFF and BigTIFF, Aperio SVS, OME-TIFF and QPTIFF, and untiled TIFF: small images as one tile, and
 * large images through temporary pyramids. A tile that was never written (length 0) is read as zeros, and so is a plane that
 * OME-XML describes but the file does not contain.
 */
export const tiffSource: TileSourceDefinition = {
  name: 'tiff',
  opensInConversion: true,
  readsConversions: true,
  extensions: {
    default: priorities.high,
    tif: priorities.preferred,
    tiff: priorities.preferred,
    ptif: priorities.preferred,
    ptiff: priorities.preferred,
    qptiff: priorities.preferred,
    svs: priorities.preferred,
    ome: priorities.preferred,
  },
  mimeTypes: {
    default: priorities.fallback,
    'image/tiff': priorities.high,
    'image/x-tiff': priorities.high,
    'image/x-ptif': priorities.preferred,
    'image/x-svs': priorities.preferred,
  },
  async open(input: SourceInput, options: SourceOptions = {}): Promise<TileSource> {
    const reader = await input.open();
    try {
      const file = await TiffBytes.open(reader);
      const structure = await readStructure(file, {
        maxUntiledSide: options.maxSmallImageSize ?? defaultMaxSmallImageSize,
        maxPixels: options.maxDecodedPixels ?? defaultMaxDecodedPixels,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      const { baseLayout } = structure;
      // The tags describe the positions of stored pixels, before rotation.
      const geo = baseLayout.orientation === 1 ? await readGeoTiff(baseLayout.directory) : null;
      const nodata = await readNodata(baseLayout.directory);
      const source = new TiffTileSource({ reader, file, structure, geo, nodata, options });
      await source.checkPixels(options.signal);
      return source;
    } catch (error) {
      await reader.close();
      throw error;
    }
  },
};
