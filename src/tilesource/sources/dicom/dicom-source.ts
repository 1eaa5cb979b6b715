import { TileOutsideError, TileSourceError } from '../../../errors.js';
import {
  priorities,
  type AssociatedImage,
  type DicomFile,
  type EncodedImage,
  type FrameMetadata,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { levelCount, levelSize, type Box } from '../../geometry.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { DecodedBlocks, type FileBlocks } from '../../process/decoded-blocks.js';
import { createRaster, type Raster } from '../../raster.js';
import { blit, crop } from '../../render/pixels.js';
import { extendByEdges } from '../tiff/region.js';
import { DicomInstance } from './instance.js';
import { layOutSeries, type DicomLayout, type DicomLevel } from './dicom-layout.js';
import { areQuicklyDecoded, checkFirstFrame, readFrame, sampleShape, readStoredJpeg, whiteOf } from './dicom-pixels.js';

/** Maximum number of files of one item that are searched for instances of the series. */
const maxCompanions = 5000;
/** Number of files that are opened, and of frames that are decoded for a tile, at the same time. */
const concurrency = 4;
/** Maximum number of bytes of decoded frames that are cached, for all open files together. */
const maxCachedBytes = 2 ** 26;

/**
 * Whether a file may be part of a series, judged by its name. The name must have an extension of DICOM or no extension, or consist of digits and
 * dots (a UID).
 */
function isLikelyDicom(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return /\.(?:dcm|dic|dicom|ima)$/i.test(name) || !name.includes('.') || /^[\d.]*$/.test(name);
}

function describeDicom({ mainInstance, planes, channels, levelsByPower }: DicomLayout): ImageMetadata {
  const { width: sizeX, height: sizeY, tileWidth, tileHeight } = levelsByPower.get(0)!;
  const size = { sizeX, sizeY, tileWidth: Math.min(tileWidth, 4096), tileHeight: Math.min(tileHeight, 4096) };
  const { dtype, bands } = sampleShape(mainInstance.header);
  const frames = planes.map((axes): FrameMetadata => {
    const channel = axes.C === undefined ? undefined : channels[axes.C];
    return { axes, ...(channel === undefined ? {} : { channel }) };
  });
  return {
    ...size,
    levels: levelCount(size),
    magnification: mainInstance.header.magnification,
    mmX: mainInstance.header.mmX,
    mmY: mainInstance.header.mmY,
    ...(mainInstance.header.mmZ === null ? {} : { mmZ: mainInstance.header.mmZ }),
    dtype,
    bandCount: bands,
    ...whiteOf(mainInstance.header),
    ...(frames.length > 1 ? { frames } : {}),
    ...(channels.length > 0 ? { channels } : {}),
  };
}

class DicomTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly associatedImages: readonly string[];
  readonly #instances: readonly DicomInstance[];
  readonly #layout: DicomLayout;
  readonly #blocks: FileBlocks;

  constructor(instances: readonly DicomInstance[], layout: DicomLayout, blocks: FileBlocks) {
    this.#instances = instances;
    this.#layout = layout;
    this.#blocks = blocks;
    this.metadata = describeDicom(layout);
    this.associatedImages = [...layout.associated.keys()].toSorted();
    const finestLevel = this.metadata.levels - 1;
    const storedLevels = [...layout.levelsByPower.keys()].map((power) => finestLevel - power).filter((level) => level >= 0);
    this.populatedLevels = storedLevels.toSorted((a, b) => a - b);
  }

  get partsPerTile(): number {
    const { tileWidth, tileHeight } = this.metadata;
    const parts = [...this.#layout.levelsByPower.values()].map(
      (level) => Math.ceil(tileWidth / level.tileWidth) * Math.ceil(tileHeight / level.tileHeight),
    );
    return Math.max(1, ...parts);
  }

  get dicomFiles(): readonly DicomFile[] {
    return this.#instances.map((instance) => {
      const { header, reader } = instance;
      const bytes = (offset: number, length: number, signal?: AbortSignal) =>
        reader.read(offset, length, signal === undefined ? {} : { signal });
      return {
        json: async (bulkRoot, signal) => readHeaderInThread({ bytes: await instance.readHeaderBytes(signal), bulkRoot }, signal),
        value: async (path, signal) => readHeaderInThread({ bytes: await instance.readHeaderBytes(signal), path }, signal),
        isEncapsulated: instance.isEncapsulated,
        transferSyntax: header.transferSyntax,
        instanceUid: header.instanceUid,
        frames: header.frames,
        size: reader.size,
        bytes,
        frame: (number, signal) => instance.readFrameBytes(number, signal === undefined ? {} : { signal }),
        decoded: (number, signal) => this.#readCachedFrame({ instance, frame: number }, signal),
      };
    });
  }

  get retainedBytes(): number {
    return this.#instances.reduce((sum, { header }) => sum + 2000 + header.frames * 100, 0);
  }

  #boxOf({ level, x, y }: TileAddress): Box {
    const { tileWidth, tileHeight } = this.metadata;
    const size = levelSize(this.metadata, level);
    const [left, top] = [x * tileWidth, y * tileHeight];
    const [width, height] = [Math.min(tileWidth, size.width - left), Math.min(tileHeight, size.height - top)];
    if (!(width > 0 && height > 0 && left >= 0 && top >= 0))
      throw new TileOutsideError(`Tile outside level ${level}: x=${x}, y=${y}.`);
    return { left, top, width, height };
  }

  #levelOf({ level }: TileAddress): DicomLevel {
    const storedLevel = this.#layout.levelsByPower.get(this.metadata.levels - 1 - level);
    if (storedLevel === undefined) throw new TileOutsideError(`The DICOM image does not contain level ${level}.`);
    return storedLevel;
  }

  #readCachedFrame({ instance, frame }: { instance: DicomInstance; frame: number }, signal?: AbortSignal): Promise<Raster> {
    const key = `${this.#instances.indexOf(instance)}/${frame}`;
    return this.#blocks.read(key, (sharedSignal) => readFrame(instance, frame, sharedSignal), signal);
  }

  async readTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const box = this.#boxOf(address);
    const level = this.#levelOf(address);
    const { bandCount: bands, dtype, tileWidth, tileHeight } = this.metadata;
    const tiles = level.tilesIn(address.frame, box);
    // A reduced level of the file may be a pixel smaller than the same level of our pyramid.
    const width = Math.max(1, Math.min(box.width, level.width - box.left));
    const height = Math.max(1, Math.min(box.height, level.height - box.top));
    const rasters = await mapConcurrently(tiles, concurrency, (tile) => {
      const isWholeTile =
        level.tileWidth === tileWidth && level.tileHeight === tileHeight && tile.left === box.left && tile.top === box.top;
      // No other tile needs this frame, so it is not cached. Cached frames live so long that only the slowest garbage collection
      // frees them.
      if (isWholeTile && areQuicklyDecoded(tile.instance.header)) return readFrame(tile.instance, tile.frame, signal);
      return this.#readCachedFrame(tile, signal);
    });
    if (rasters.some((raster) => raster.dtype !== dtype || raster.bands !== bands))
      throw new TileSourceError('Corrupt DICOM: its frames have different types of samples.');
    const [firstRaster] = rasters;
    const isOneFrame =
      firstRaster !== undefined && tiles.length === 1 && tiles[0]!.left === box.left && tiles[0]!.top === box.top;
    // Most tiles are exactly one frame, which needs no copying.
    if (isOneFrame && firstRaster.width >= width && firstRaster.height >= height)
      return extendByEdges(crop(firstRaster, { width, height }), box.width, box.height);
    const target = createRaster({ width, height, bands, dtype });
    for (const [i, raster] of rasters.entries()) {
      blit(target, raster, { left: tiles[i]!.left - box.left, top: tiles[i]!.top - box.top });
    }
    return extendByEdges(target, box.width, box.height);
  }

  async readStoredTile(
    address: TileAddress,
    { signal, partial }: { signal?: AbortSignal; partial?: boolean } = {},
  ): Promise<EncodedImage | null> {
    const { tileWidth, tileHeight } = this.metadata;
    const box = this.#boxOf(address);
    const level = this.#levelOf(address);
    if (level.tileWidth !== tileWidth || level.tileHeight !== tileHeight) return null;
    const content = { width: Math.min(box.width, level.width - box.left), height: Math.min(box.height, level.height - box.top) };
    const isFull = content.width === tileWidth && content.height === tileHeight;
    if ((!isFull && partial !== true) || content.width < 1 || content.height < 1) return null;
    const [tile, secondTile] = level.tilesIn(address.frame, box);
    if (tile === undefined || secondTile !== undefined || tile.left !== box.left || tile.top !== box.top) return null;
    const storedJpeg = await readStoredJpeg(tile.instance, tile.frame, signal);
    const isShort = content.width < box.width || content.height < box.height;
    return storedJpeg && isShort ? { ...storedJpeg, content } : storedJpeg;
  }

  async readAssociatedImage(name: string, { signal }: { signal?: AbortSignal } = {}): Promise<AssociatedImage | null> {
    const instance = this.#layout.associated.get(name);
    if (instance === undefined) return null;
    return { raster: await this.#readCachedFrame({ instance, frame: 0 }, signal), format: 'dicom', ...whiteOf(instance.header) };
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { mainInstance } = this.#layout;
    const { attributes, mmX, mmY, magnification } = mainInstance.header;
    const properties = Object.entries(attributes).map(([key, value]) => [`dicom.${key}`, [value].flat().join('\\')]);
    return {
      dicom: attributes,
      openslide: {
        'openslide.vendor': 'dicom',
        ...(mmX === null ? {} : { 'openslide.mpp-x': String(Number((mmX * 1000).toPrecision(12))) }),
        ...(mmY === null ? {} : { 'openslide.mpp-y': String(Number((mmY * 1000).toPrecision(12))) }),
        ...(magnification === null ? {} : { 'openslide.objective-power': String(magnification) }),
        ...Object.fromEntries(properties),
      },
    };
  }

  iccProfile(): Uint8Array | null {
    return this.#layout.mainInstance.header.icc;
  }

  async close(): Promise<void> {
    this.#blocks.free();
    await closeAll(this.#instances);
  }
}

/** A header to convert to JSON, or the path of a long value to read from a header. */
type HeaderTask = { bytes: Uint8Array; bulkRoot: string } | { bytes: Uint8Array; path: readonly string[] };

/** Reads a header in a thread, because large headers describe each of many frames. */
function readHeaderInThread<R>(task: HeaderTask, signal?: AbortSignal): Promise<R> {
  return codecThreads.call('dicomHeader', task, 'a DICOM header', signal) as Promise<R>;
}

async function closeAll(instances: readonly DicomInstance[]): Promise<void> {
  await Promise.all(instances.map(({ reader }) => reader.close()));
}

/** Opens the item's other files of the same series, and adds them to `openedInstance`. Files that are not DICOM are ignored. */
async function openSeries(input: SourceInput, openedInstance: DicomInstance, signal?: AbortSignal): Promise<DicomInstance[]> {
  const companions = (await input.companions?.()) ?? [];
  const likelyCompanions = companions
    .filter(({ name, mimeType }) => isLikelyDicom(name) || mimeType === 'application/dicom')
    .slice(0, maxCompanions);
  const instances: DicomInstance[] = [openedInstance];
  try {
    await mapConcurrently(likelyCompanions, concurrency, async (companion) => {
      signal?.throwIfAborted();
      const instance = await DicomInstance.open(companion, signal).catch((error: unknown) => {
        if (error instanceof TileSourceError) return null;
        throw error;
      });
      if (instance === null) return;
      if (openedInstance.header.seriesUid !== '' && instance.header.seriesUid === openedInstance.header.seriesUid)
        instances.push(instance);
      else await instance.reader.close();
    });
    return instances;
  } catch (error) {
    await closeAll(instances.slice(1));
    throw error;
  }
}

function createDicomSource(): TileSourceDefinition {
  const decodedBlocks = new DecodedBlocks(maxCachedBytes);
  return {
    name: 'dicom',
    extensions: {
      default: priorities.fallback,
      dcm: priorities.preferred,
      dic: priorities.preferred,
      dicom: priorities.preferred,
    },
    mimeTypes: { default: priorities.fallback, 'application/dicom': priorities.preferred },
    readsCompanions: true,
    seriesOf({ dicom }) {
      const { SeriesInstanceUID: series, StudyInstanceUID: study } = (dicom ?? {}) as Record<string, unknown>;
      if (typeof series !== 'string' || series === '') return null;
      return { series, study: typeof study === 'string' ? study : '' };
    },
    async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
      const openedInstance = await DicomInstance.open(input, signal);
      let instances: readonly DicomInstance[] = [openedInstance];
      try {
        instances = await openSeries(input, openedInstance, signal);
        const layout = await layOutSeries(instances, openedInstance);
        await checkFirstFrame(layout.mainInstance, signal);
        return new DicomTileSource(instances, layout, decodedBlocks.createFileBlocks());
      } catch (error) {
        await closeAll(instances);
        throw error;
      }
    },
  };
}

/** Reads DICOM: whole slides in one file or in the files of a series, and other images of one or several frames. */
export const dicomSource: TileSourceDefinition = createDicomSource();
