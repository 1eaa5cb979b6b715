import { TileOutsideError, TileSourceError } from '../../../errors.js';
import {
  type FileTree,
  priorities,
  type FrameMetadata,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { openInZip } from '../../archive/zip-tree.js';
import { isReducedBy, levelCount, tileContent } from '../../geometry.js';
import { DecodedBlocks, type FileBlocks } from '../../process/decoded-blocks.js';
import type { Raster } from '../../raster.js';
import { extendByEdges } from '../tiff/region.js';
import { sampleTypeOf } from './array-metadata.js';
import { millimetersAlong, secondsAlong } from './ome.js';
import { readPlane } from './planes.js';
import type { ZarrArray } from './zarr-array.js';
import { openZarrImage, findOutermostGroup, type ZarrImage } from './zarr-group.js';

/** Maximum number of bytes of decoded chunks that are cached, for all open files together. */
const maxCachedBytes = 2 ** 27;
const defaultTileSide = 512;
/** Maximum number of bytes of the metadata file of a group. */
const maxGroupBytes = 2 ** 22;
/** Maximum number of frames of an image. */
const maxFrames = 100_000;
/** The colors of three channels that together are an RGB picture. */
const pictureColors = '#ff0000,#00ff00,#0000ff';

/** The roles of an image's axes, by their indexes in the shapes of arrays. */
interface AxisRoles {
  xAxis: number;
  yAxis: number;
  /** The axis whose positions are the bands of a frame; `null` if frames have one band. */
  bandAxis: number | null;
  bands: number;
  /** The axes along which the frames are numbered. The last axis varies fastest. */
  frameAxes: readonly { axis: number; name: string; length: number }[];
}

function assignAxes({ ome, arrays }: ZarrImage): AxisRoles {
  const { shape, type } = arrays[0]!.metadata;
  const names = ome.axes.map(({ name }) => name);
  const channelAxis = names.indexOf('c');
  const colors = ome.channels.map(({ color }) => color).join();
  const isPicture = channelAxis >= 0 && shape[channelAxis] === 3 && type === 'uint8' && colors === pictureColors;
  const bandAxis = isPicture ? channelAxis : null;
  // Channels vary fastest, as in other formats, even if their axis is not the last axis of the array.
  const fastestAxes = ['c', 'z', 't'];
  const rank = (name: string): number => (fastestAxes.includes(name) ? fastestAxes.indexOf(name) : fastestAxes.length);
  const frameAxes = names
    .map((name, axis) => ({ axis, name, length: shape[axis]! }))
    .filter(({ name, axis }) => name !== 'x' && name !== 'y' && axis !== bandAxis)
    .toSorted((a, b) => rank(b.name) - rank(a.name));
  return { xAxis: names.indexOf('x'), yAxis: names.indexOf('y'), bandAxis, bands: isPicture ? 3 : 1, frameAxes };
}

function framesOf({ frameAxes }: AxisRoles, { ome }: ZarrImage): FrameMetadata[] {
  const count = frameAxes.reduce((product, { length }) => product * length, 1);
  if (count > maxFrames) throw new TileSourceError(`The OME-Zarr has ${count} planes; at most ${maxFrames} are supported.`);
  const axesFastestFirst = frameAxes.toReversed().map(({ name, length }) => ({ axis: name.toUpperCase(), length }));
  return Array.from({ length: count }, (_, frame): FrameMetadata => {
    const axes: Record<string, number> = {};
    let remainder = frame;
    for (const { axis, length } of axesFastestFirst) {
      if (length > 1) axes[axis] = remainder % length;
      remainder = Math.floor(remainder / length);
    }
    const channel = ome.channels[axes.C ?? 0];
    return {
      axes,
      ...(channel?.name == null ? {} : { channel: channel.name }),
      ...(channel?.color == null ? {} : { color: channel.color }),
    };
  });
}

function describeZarr(image: ZarrImage, axisRoles: AxisRoles): ImageMetadata {
  const { shape, chunkShape, type } = image.arrays[0]!.metadata;
  // Chunks of a usual size become tiles; other chunks are split or combined into tiles of the default size.
  const tileSideOf = (chunkSide: number): number =>
    chunkSide >= defaultTileSide / 4 && chunkSide <= defaultTileSide * 2 ? chunkSide : defaultTileSide;
  const size = {
    sizeX: shape[axisRoles.xAxis]!,
    sizeY: shape[axisRoles.yAxis]!,
    tileWidth: tileSideOf(chunkShape[axisRoles.xAxis]!),
    tileHeight: tileSideOf(chunkShape[axisRoles.yAxis]!),
  };
  const frames = framesOf(axisRoles, image);
  const [mmZ, secondsT] = [millimetersAlong(image.ome, 'z'), secondsAlong(image.ome, 't')];
  const channelNames = image.ome.channels.map(({ name }) => name);
  return {
    ...size,
    levels: levelCount(size),
    magnification: null,
    mmX: millimetersAlong(image.ome, 'x'),
    mmY: millimetersAlong(image.ome, 'y'),
    ...(mmZ === null ? {} : { mmZ }),
    ...(secondsT === null ? {} : { secondsT }),
    dtype: sampleTypeOf(type),
    bandCount: axisRoles.bands,
    ...(frames.length > 1 ? { frames } : {}),
    ...(axisRoles.bandAxis === null && channelNames.length > 0 && channelNames.every((name) => name !== null)
      ? { channels: channelNames }
      : {}),
  };
}

/** The arrays by their reduction: the key n means that sides are 2^n times shorter. */
function findArraysByPower({ arrays }: ZarrImage, { xAxis, yAxis }: AxisRoles): Map<number, ZarrArray> {
  const [finestArray] = arrays;
  const arraysByPower = new Map<number, ZarrArray>();
  for (const array of arrays) {
    const powers = [xAxis, yAxis].map((axis) => {
      const [fullLength, length] = [finestArray!.metadata.shape[axis]!, array.metadata.shape[axis]!];
      const power = Math.round(Math.log2(fullLength / length));
      return power >= 0 && isReducedBy(power, fullLength, length) ? power : null;
    });
    const [power] = powers;
    if (power != null && powers[1] === power && !arraysByPower.has(power)) arraysByPower.set(power, array);
  }
  return arraysByPower;
}

class ZarrTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #tree: FileTree;
  readonly #image: ZarrImage;
  readonly #axisRoles: AxisRoles;
  readonly #arraysByPower: ReadonlyMap<number, ZarrArray>;
  readonly #blocks: FileBlocks;

  constructor(tree: FileTree, image: ZarrImage, blocks: FileBlocks) {
    this.#tree = tree;
    this.#image = image;
    this.#blocks = blocks;
    this.#axisRoles = assignAxes(image);
    this.metadata = describeZarr(image, this.#axisRoles);
    this.#arraysByPower = findArraysByPower(image, this.#axisRoles);
    const finestLevel = this.metadata.levels - 1;
    const storedLevels = [...this.#arraysByPower.keys()].map((power) => finestLevel - power).filter((level) => level >= 0);
    this.populatedLevels = storedLevels.toSorted((a, b) => a - b);
  }

  get retainedBytes(): number {
    return this.#tree.retainedBytes;
  }

  get partsPerTile(): number {
    const { tileWidth, tileHeight } = this.metadata;
    const { xAxis, yAxis, bandAxis, bands } = this.#axisRoles;
    const parts = [...this.#arraysByPower.values()].map(({ metadata: { chunkShape } }) => {
      const layers = bandAxis === null ? 1 : Math.ceil(bands / chunkShape[bandAxis]!);
      return Math.ceil(tileWidth / chunkShape[xAxis]!) * Math.ceil(tileHeight / chunkShape[yAxis]!) * layers;
    });
    return Math.max(1, ...parts);
  }

  async readTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { tileWidth, tileHeight, levels } = this.metadata;
    const { width, height } = tileContent(this.metadata, address);
    const array = this.#arraysByPower.get(levels - 1 - address.level);
    if (array === undefined || !(width > 0 && height > 0 && address.x >= 0 && address.y >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    const { xAxis, yAxis, bandAxis, bands, frameAxes } = this.#axisRoles;
    const { shape } = array.metadata;
    const fullShape = this.#image.arrays[0]!.metadata.shape;
    const position = shape.map(() => 0);
    let remainder = address.frame;
    for (const { axis, length } of frameAxes.toReversed()) {
      // A level may have fewer planes than the full size.
      position[axis] = Math.min(shape[axis]! - 1, Math.floor(((remainder % length) * shape[axis]!) / fullShape[axis]!));
      remainder = Math.floor(remainder / length);
    }
    // A reduced level of the file may be a pixel smaller than the same level of our pyramid.
    const left = Math.min(address.x * tileWidth, shape[xAxis]! - 1);
    const top = Math.min(address.y * tileHeight, shape[yAxis]! - 1);
    const box = { left, top, width: Math.min(width, shape[xAxis]! - left), height: Math.min(height, shape[yAxis]! - top) };
    return extendByEdges(await readPlane(array, { box, position, xAxis, yAxis, bandAxis, bands }, signal), width, height);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { ome, arrays, path } = this.#image;
    return {
      zarr: {
        path,
        name: ome.name,
        multiscales: ome.multiscales,
        arrays: arrays.map(({ metadata: { shape, chunkShape, shard, type } }) => ({
          shape,
          chunk: chunkShape,
          shard: shard?.shape ?? null,
          type,
        })),
      },
      ...(ome.omero === undefined ? {} : { omero: ome.omero }),
    };
  }

  async close(): Promise<void> {
    this.#blocks.free();
    await this.#tree.close();
  }
}

/** Names of files that represent the folder that contains them. */
const folderFileNames = ['zarr.json', '.zattrs'];

function isGroupFile({ name }: SourceInput): boolean {
  return folderFileNames.includes(name.slice(name.lastIndexOf('/') + 1).toLowerCase());
}

/** Opens the folder that contains the opened metadata file. */
async function openFolder(input: SourceInput): Promise<FileTree> {
  const tree = await input.folder?.().tree('');
  if (tree == null) throw new TileSourceError('The folder of the Zarr group cannot be found.');
  return withInputFile(tree, input.name.slice(input.name.lastIndexOf('/') + 1).toLowerCase(), input);
}

/** Presents a folder whose file `name` is read from `input` instead of being looked up again. */
function withInputFile(tree: FileTree, name: string, input: SourceInput): FileTree {
  return {
    mayGrow: true,
    get retainedBytes() {
      return tree.retainedBytes;
    },
    close: () => tree.close(),
    async file(path) {
      if (path !== name) return tree.file(path);
      const reader = await input.open();
      try {
        if (reader.size > maxGroupBytes) {
          throw new TileSourceError(`${name} of the Zarr has ${reader.size} bytes; at most ${maxGroupBytes} are supported.`);
        }
        const bytes = await reader.read(0, reader.size);
        return { size: bytes.length, read: async (offset, length) => bytes.slice(offset, offset + length) };
      } finally {
        await reader.close();
      }
    },
  };
}

function createZarrSource(): TileSourceDefinition {
  const decodedBlocks = new DecodedBlocks(maxCachedBytes);
  return {
    name: 'zarr',
    extensions: { default: priorities.manual, zarr: priorities.preferred, ozx: priorities.preferred, zip: priorities.lower },
    mimeTypes: { default: priorities.manual, 'application/zip': priorities.lower },
    fileNames: Object.fromEntries(folderFileNames.map((name) => [name, priorities.named])),
    readsFolder: 'files',
    mayHold: (name) => !/\.(?:zip|ozx)$/i.test(name),
    async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
      const openIn = async (tree: FileTree, root: string): Promise<TileSource> => {
        const blocks = decodedBlocks.createFileBlocks();
        return new ZarrTileSource(tree, await openZarrImage(tree, root, blocks, signal), blocks);
      };
      if (!isGroupFile(input)) return openInZip(input, (tree) => openIn(tree, findOutermostGroup(tree)));
      const tree = await openFolder(input);
      try {
        return await openIn(tree, '');
      } catch (error) {
        await tree.close();
        throw error;
      }
    },
  };
}

/**
 * Reads OME-Zarr 0.1 to 0.5 in folders and ZIP files. Only the needed byte ranges of shards are read. Frames are numbered along all
 * axes except x, y and the axis of bands.
 */
export const zarrSource: TileSourceDefinition = createZarrSource();
