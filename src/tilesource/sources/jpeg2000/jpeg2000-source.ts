import { TileOutsideError, TileSourceError } from '../../../errors.js';
import {
  priorities,
  type ByteReader,
  type ImageMetadata,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { levelCount, tileContent } from '../../geometry.js';
import { DecodedBlocks, type FileBlocks } from '../../process/decoded-blocks.js';
import { whiteOfBits, type Raster } from '../../raster.js';
import { readFileContents, type FileContents } from './boxes.js';
import { CodeStream } from './code-stream.js';
import { CodeStreamPixels, maxDecodedSamples, type SampleShape } from './jpeg2000-pixels.js';

/** Maximum number of bytes of decoded tiles that are cached, for all open files together. */
const maxCachedBytes = 2 ** 27;
/** If the side of the file's tiles exceeds this number of pixels, our tiles have the default side. */
const maxAdoptedTileSide = 1024;
const defaultTileSide = 512;
/**
 * Maximum number of tiles of the file that are decoded for one tile of a reduced level. Coarser levels, which would need more, are
 * computed from finer levels.
 */
const maxTilesAtOnce = 64;
/** Approximate memory for each tile-part of an open file. */
const bytesPerPart = 100;

/** Enumerated color spaces that cannot be shown. */
const unsupportedSpaces: Readonly<Record<number, string>> = { 12: 'CMYK', 13: 'YCCK', 14: 'CIELab', 19: 'CIEJab' };

interface Jpeg2000Parts {
  reader: ByteReader;
  contents: FileContents;
  streams: CodeStream[];
  shape: SampleShape;
  blocks: FileBlocks;
}

/**
 * The side of our tiles if the file's tiles have the side `storedSide`. It is the same side for medium tiles, a multiple of it for small
 * tiles, and the default side for large tiles.
 */
function tileSideFor(storedSide: number): number {
  if (storedSide > maxAdoptedTileSide) return defaultTileSide;
  return storedSide < defaultTileSide / 2 ? storedSide * Math.ceil(defaultTileSide / 2 / storedSide) : storedSide;
}

function describeJpeg2000({ streams, contents, shape }: Jpeg2000Parts): ImageMetadata {
  const { size } = streams[0]!;
  const { bits } = contents.palette ?? size.components[0]!;
  const imageSize = {
    sizeX: size.right - size.left,
    sizeY: size.bottom - size.top,
    tileWidth: tileSideFor(size.tileWidth),
    tileHeight: tileSideFor(size.tileHeight),
  };
  return {
    ...imageSize,
    levels: levelCount(imageSize),
    magnification: null,
    mmX: contents.perMeterX === null ? null : 1000 / contents.perMeterX,
    mmY: contents.perMeterY === null ? null : 1000 / contents.perMeterY,
    dtype: shape.dtype,
    bandCount: shape.bands,
    ...(bits > 8 ? whiteOfBits(shape.dtype, bits) : {}),
    ...(streams.length > 1 ? { frames: streams.map((_, position) => ({ axes: { XY: position } })) } : {}),
  };
}

/**
 * The levels that are read from the file, by decoding at reduced resolution. A level is left out if one of its tiles would need
 * too many tiles of the file.
 */
function findStoredLevels(stream: CodeStream, { levels, tileWidth, tileHeight }: ImageMetadata): number[] {
  const { size } = stream;
  return Array.from({ length: levels }, (_, level) => level).filter((level) => {
    const halvings = levels - 1 - level;
    if (halvings === 0) return true;
    const scale = 2 ** halvings;
    const tilesAcross = Math.min(stream.columns, (tileWidth * scale) / size.tileWidth);
    const tilesDown = Math.min(stream.rows, (tileHeight * scale) / size.tileHeight);
    const isFullySampled = size.components.every(({ dx, dy }) => dx === 1 && dy === 1);
    return (
      halvings <= stream.decompositions &&
      isFullySampled &&
      (size.left | size.top) % scale === 0 &&
      tilesAcross * tilesDown <= maxTilesAtOnce
    );
  });
}

class Jpeg2000TileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #pixels: readonly CodeStreamPixels[];
  /**
   * Whether the file's tiles are larger than ours. Decoded tiles are then cached, because each of them is needed for several of our tiles.
   */
  readonly #cachesTiles: boolean;

  constructor(private readonly parts: Jpeg2000Parts) {
    const { streams, contents, shape, blocks } = parts;
    this.metadata = describeJpeg2000(parts);
    this.#pixels = streams.map((stream, frame) => new CodeStreamPixels(stream, contents, shape, blocks, String(frame)));
    this.populatedLevels = findStoredLevels(streams[0]!, this.metadata);
    const { size } = streams[0]!;
    this.#cachesTiles = size.tileWidth > this.metadata.tileWidth || size.tileHeight > this.metadata.tileHeight;
  }

  get retainedBytes(): number {
    return this.parts.streams.reduce((sum, { partCount }) => sum + partCount * bytesPerPart, 0);
  }

  async readTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<Raster> {
    const { tileWidth, tileHeight, levels } = this.metadata;
    const { width, height } = tileContent(this.metadata, address);
    const pixels = this.#pixels[address.frame];
    if (pixels === undefined || !(width > 0 && height > 0 && address.x >= 0 && address.y >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    const box = { left: address.x * tileWidth, top: address.y * tileHeight, width, height };
    return pixels.read({ box, halvings: levels - 1 - address.level }, this.#cachesTiles, signal);
  }

  async lossyCodec(): Promise<'jpeg2000' | null> {
    return this.parts.streams.every(({ isReversible }) => isReversible) ? null : 'jpeg2000';
  }

  iccProfile(): Uint8Array | null {
    return this.parts.contents.profile;
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { contents, streams } = this.parts;
    const { size, decompositions, columns, rows } = streams[0]!;
    const { tileWidth, tileHeight, components } = size;
    return {
      jpeg2000: {
        ...(contents.brand === null ? {} : { brand: contents.brand }),
        ...(contents.colorSpace === null ? {} : { colourSpace: contents.colorSpace }),
        tiles: { width: tileWidth, height: tileHeight, columns, rows },
        decompositions,
        components,
      },
      ...(contents.xml.length > 0 ? { xml: contents.xml } : {}),
    };
  }

  async close(): Promise<void> {
    this.parts.blocks.free();
    await this.parts.reader.close();
  }
}

/** The number of bands and the type of the decoded samples. @throws TileSourceError that names the feature of the file that is not supported. */
function shapeOf({ size }: CodeStream, { palette, colorSpace }: FileContents): SampleShape {
  const { components } = size;
  const [first] = components;
  const refuse = (what: string): never => {
    throw new TileSourceError(`The JPEG 2000 file has ${what}, which is not supported.`);
  };
  if (colorSpace !== null && unsupportedSpaces[colorSpace] !== undefined)
    refuse(`colors of the space ${unsupportedSpaces[colorSpace]}`);
  if (components.length > 4) refuse(`${components.length} components instead of at most four`);
  const { bits, signed } = first!;
  if (bits > 16) refuse(`samples of ${bits} bits`);
  if (components.some((component) => component.bits !== bits || component.signed !== signed))
    refuse('components of different depths');
  const isSubsampled = components.some(({ dx, dy }) => dx !== 1 || dy !== 1);
  const [, second, third] = components;
  const hasSubsampledColors =
    components.length === 3 &&
    first!.dx === 1 &&
    first!.dy === 1 &&
    second?.dx === 2 &&
    third?.dx === 2 &&
    second.dy <= 2 &&
    second.dy === third.dy;
  if (isSubsampled && !hasSubsampledColors) refuse('subsampled components other than 4:2:2 and 4:2:0 colors');
  const maxTilePixels = maxDecodedSamples / components.length;
  const width = Math.min(size.tileWidth, size.right - size.left);
  const height = Math.min(size.tileHeight, size.bottom - size.top);
  if (width * height > maxTilePixels) {
    throw new TileSourceError(
      `The JPEG 2000 file is stored in tiles of ${width} by ${height} pixels; tiles of at most ${maxTilePixels} pixels are supported. Write it with smaller tiles.`,
    );
  }
  if (palette !== null) {
    if (components.length !== 1 || signed) refuse('a palette for several components');
    return { bands: palette.entries[0]!.length, dtype: palette.bits > 8 ? 'uint16' : 'uint8' };
  }
  const unsignedType = bits > 8 ? 'uint16' : 'uint8';
  return { bands: components.length, dtype: signed ? (bits > 8 ? 'int16' : 'int8') : unsignedType };
}

function haveSameSizes(a: CodeStream, b: CodeStream): boolean {
  return JSON.stringify(a.size) === JSON.stringify(b.size) && a.decompositions === b.decompositions;
}

function createJpeg2000Source(): TileSourceDefinition {
  const decodedBlocks = new DecodedBlocks(maxCachedBytes);
  const { preferred } = priorities;
  return {
    name: 'jpeg2000',
    extensions: {
      default: priorities.fallback,
      jp2: preferred,
      jpf: preferred,
      j2c: preferred,
      j2k: preferred,
      jpx: preferred,
      jph: preferred,
    },
    mimeTypes: {
      default: priorities.fallback,
      'image/jp2': preferred,
      'image/jpx': preferred,
      'image/jph': preferred,
      'image/j2c': preferred,
    },
    async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
      const reader = await input.open();
      try {
        const contents = await readFileContents(reader, signal);
        const streams: CodeStream[] = [];
        for (const range of contents.codeStreams) {
          const stream = await CodeStream.open(reader, range, signal);
          // A code stream with the same sizes as the first is a further frame. Other code streams are thumbnails, masks, and parts of a composition.
          if (streams.length === 0 || haveSameSizes(stream, streams[0]!)) streams.push(stream);
        }
        const shape = shapeOf(streams[0]!, contents);
        return new Jpeg2000TileSource({ reader, contents, streams, shape, blocks: decodedBlocks.createFileBlocks() });
      } catch (error) {
        await reader.close();
        throw error;
      }
    },
  };
}

/**
 * Reads JPEG 2000 files and code streams. To read a tile, only the file's tiles that overlap it are read, and they are decoded at the
 * resolution of the tile's level.
 */
export const jpeg2000Source: TileSourceDefinition = createJpeg2000Source();
