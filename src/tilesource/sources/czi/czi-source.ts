import { TileOutsideError, TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { decodeJpeg } from '../../codecs/jpeg.js';
import {
  priorities,
  type AssociatedImage,
  type ByteReader,
  type FrameMetadata,
  type ImageMetadata,
  type LossyCodec,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { positionNames } from '../../position-names.js';
import { levelCount, levelScale, levelSize } from '../../geometry.js';
import { DecodedBlocks, type FileBlocks } from '../../process/decoded-blocks.js';
import { whiteOfBits, type Raster } from '../../raster.js';
import { findAttachmentRange, presentAsFile, readAttachments, type Attachment } from './attachments.js';
import { readCziMetadata, type CziMetadata } from './czi-metadata.js';
import { lossyCodecOf } from './block-pixels.js';
import { isLevelPopulated, layOutSubBlocks, type CziLayout } from './czi-layout.js';
import { CziPixels } from './czi-pixels.js';
import { CziBytes, type CziHeader } from './segments.js';
import { readSubBlocks } from './sub-blocks.js';

const tileSide = 512;
/** Maximum number of bytes of decoded sub-blocks that are cached, for all open files together. */
const maxCachedBytes = 2 ** 27;
/** Maximum number of bytes of XML. */
const maxXmlBytes = 2 ** 26;
/** Maximum number of bytes of XML that is parsed on the main thread instead of in a codec thread. */
const maxMainThreadXmlBytes = 2 ** 16;
/** Maximum number of pixels of an associated image. */
const maxAssociatedPixels = 2 ** 26;
/** Approximate memory for each sub-block of an open file, in bytes. */
const bytesPerSubBlock = 130;
/** Maximum number of scenes that the internal metadata list. */
const maxShownScenes = 1000;

const noMetadata: CziMetadata = {
  mmX: null,
  mmY: null,
  mmZ: null,
  secondsT: null,
  magnification: null,
  usedBits: null,
  channels: [],
  scenes: [],
  properties: { 'openslide.vendor': 'zeiss' },
};

interface CziParts {
  reader: ByteReader;
  file: CziBytes;
  header: CziHeader;
  layout: CziLayout;
  fileMetadata: CziMetadata;
  attachments: ReadonlyMap<string, Attachment>;
  subBlockCount: number;
  blocks: FileBlocks;
}

/** Names of the scenes in the order of their numbers. */
function sceneNames({ scenes }: CziLayout, fileMetadata: CziMetadata): (string | undefined)[] {
  const names = new Map(fileMetadata.scenes.map(({ number, name }) => [number, name]));
  return positionNames([...scenes.keys()].map((scene) => names.get(scene)));
}

function describeCzi({ layout, fileMetadata }: CziParts): ImageMetadata {
  const size = { sizeX: layout.width, sizeY: layout.height, tileWidth: tileSide, tileHeight: tileSide };
  const channels = layout.channelNumbers.map(
    (number, index) => fileMetadata.channels.find((channel) => channel.number === number) ?? fileMetadata.channels[index],
  );
  const channelNames = channels.map((channel) => channel?.name ?? null);
  const scenes = sceneNames(layout, fileMetadata);
  const frames = layout.frames.map(({ axes }): FrameMetadata => {
    const channel = channels[axes.C ?? 0];
    const sceneName = axes.XY === undefined ? undefined : scenes[axes.XY];
    return {
      axes,
      ...(channel?.name == null ? {} : { channel: channel.name }),
      ...(channel?.color == null ? {} : { color: channel.color }),
      ...(sceneName === undefined ? {} : { position: sceneName }),
    };
  });
  return {
    ...size,
    levels: levelCount(size),
    magnification: fileMetadata.magnification,
    mmX: fileMetadata.mmX,
    mmY: fileMetadata.mmY,
    ...(fileMetadata.mmZ === null ? {} : { mmZ: fileMetadata.mmZ }),
    ...(fileMetadata.secondsT === null ? {} : { secondsT: fileMetadata.secondsT }),
    dtype: layout.dtype,
    bandCount: layout.bands,
    ...(fileMetadata.usedBits === null ? {} : whiteOfBits(layout.dtype, Math.round(fileMetadata.usedBits))),
    ...(frames.length > 1 ? { frames } : {}),
    ...(channelNames.every((name) => name !== null) ? { channels: channelNames } : {}),
  };
}

class CziTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly associatedImages: readonly string[];
  readonly #pixels: CziPixels;

  constructor(private readonly parts: CziParts) {
    this.metadata = describeCzi(parts);
    this.#pixels = new CziPixels(parts.file, parts.layout, parts.blocks);
    this.associatedImages = [...parts.attachments.keys()].toSorted();
    const { levels } = this.metadata;
    this.populatedLevels = Array.from({ length: levels }, (_, level) => level).filter(
      (level) => level === levels - 1 || isLevelPopulated(parts.layout, levelScale(this.metadata, level), tileSide),
    );
  }

  get retainedBytes(): number {
    return this.parts.subBlockCount * bytesPerSubBlock;
  }

  async readTile(address: TileAddress, options: { signal?: AbortSignal } = {}): Promise<Raster> {
    const size = levelSize(this.metadata, address.level);
    const [left, top] = [address.x * tileSide, address.y * tileSide];
    const width = Math.min(tileSide, size.width - left);
    const height = Math.min(tileSide, size.height - top);
    if (!(width > 0 && height > 0 && left >= 0 && top >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    const scale = levelScale(this.metadata, address.level);
    return this.#pixels.read({ frame: address.frame, scale, box: { left, top, width, height } }, options.signal);
  }

  async lossyCodec(): Promise<LossyCodec | null> {
    return lossyCodecOf(this.parts.layout.frames[0]?.scenes[0]?.[0]?.blocks[0]);
  }

  async readAssociatedImage(name: string, options: { signal?: AbortSignal } = {}): Promise<AssociatedImage | null> {
    const { attachments, file, reader } = this.parts;
    const attachment = attachments.get(name);
    if (attachment === undefined) return null;
    const attachedFile = presentAsFile(reader, await findAttachmentRange(file, attachment));
    if (attachment.type === 'CZI')
      return { raster: await this.#readAttachedImage(name, attachedFile, options.signal), format: 'czi' };
    const bytes = await attachedFile.read(0, attachedFile.size, options);
    const what = `the ${name} of the CZI`;
    return {
      raster: await decodeJpeg(bytes, { bands: 3, what, maxPixels: maxAssociatedPixels }, options.signal),
      format: 'jpeg',
      lossyCodec: 'jpeg',
    };
  }

  /** Decodes the whole image of a CZI file that is attached to this file. */
  async #readAttachedImage(name: string, reader: ByteReader, signal: AbortSignal | undefined): Promise<Raster> {
    const file = new CziBytes(reader);
    const layout = await layOutSubBlocks(await readSubBlocks(file, (await file.readHeader()).directoryPosition, signal));
    const { width, height } = layout;
    if (width * height > maxAssociatedPixels) {
      throw new TileSourceError(
        `The ${name} of the CZI has ${width} by ${height} pixels; at most ${maxAssociatedPixels} are shown.`,
      );
    }
    const uncachedBlocks: FileBlocks = {
      read: (_name, decode) => decode(signal ?? new AbortController().signal),
      free: () => {},
    };
    const box = { left: 0, top: 0, width, height };
    return new CziPixels(file, layout, uncachedBlocks).read({ frame: 0, scale: 1, box }, signal);
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { fileMetadata, header, layout, subBlockCount } = this.parts;
    const names = sceneNames(layout, fileMetadata);
    const scenes = [...layout.scenes]
      .slice(0, maxShownScenes)
      .map(([scene, box], index) => ({ scene, ...(names[index] !== undefined && { name: names[index] }), ...box }));
    return {
      openslide: fileMetadata.properties,
      czi: { version: header.version, guid: header.guid, subBlocks: subBlockCount, scenes, left: layout.left, top: layout.top },
    };
  }

  async close(): Promise<void> {
    this.parts.blocks.free();
    await this.parts.reader.close();
  }
}

/** Reads the metadata from the XML of a file, if there is any. */
async function readMetadata(file: CziBytes, position: number, signal: AbortSignal | undefined): Promise<CziMetadata> {
  if (position === 0) return noMetadata;
  const segment = await file.readSegment(position, 'ZISRAWMETADATA', signal);
  const length = (await file.readExactly(segment.start, 4, 'the metadata', signal)).getInt32(0, true);
  if (length <= 0) return noMetadata;
  if (length > maxXmlBytes)
    throw new TileSourceError(`The CZI has ${length} bytes of XML; at most ${maxXmlBytes} are supported.`);
  const { buffer, byteOffset } = await file.readExactly(segment.start + 256, length, 'the metadata', signal);
  const bytes = new Uint8Array(buffer, byteOffset, length);
  if (length > maxMainThreadXmlBytes) return codecThreads.call('cziFacts', bytes, 'the metadata of the CZI', signal);
  return readCziMetadata(Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('utf8'));
}

function createCziSource(): TileSourceDefinition {
  const decodedBlocks = new DecodedBlocks(maxCachedBytes);
  return {
    name: 'czi',
    extensions: { default: priorities.fallback, czi: priorities.preferred },
    mimeTypes: {
      default: priorities.fallback,
      'image/czi': priorities.preferred,
      'image/x-czi': priorities.preferred,
      'image/x-zeiss-czi': priorities.preferred,
    },
    async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
      const reader = await input.open();
      try {
        const file = new CziBytes(reader);
        const header = await file.readHeader();
        const subBlocks = await readSubBlocks(file, header.directoryPosition, signal);
        const layout = await layOutSubBlocks(subBlocks);
        const fileMetadata = await readMetadata(file, header.metadataPosition, signal);
        const attachments = await readAttachments(file, header.attachmentsPosition);
        const subBlockCount = subBlocks.blocks.length;
        return new CziTileSource({
          reader,
          file,
          header,
          layout,
          fileMetadata,
          attachments,
          subBlockCount,
          blocks: decodedBlocks.createFileBlocks(),
        });
      } catch (error) {
        await reader.close();
        throw error;
      }
    },
  };
}

/**
 * Reads Zeiss CZI: mosaics and their reduced layers, scenes, channels and all other axes. The pixels can be uncompressed, or
 * compressed as JPEG, JPEG XR or Zstandard. Pixels that no sub-block covers are zero.
 */
export const cziSource: TileSourceDefinition = createCziSource();
