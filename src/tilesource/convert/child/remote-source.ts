import { TileSourceError } from '../../../errors.js';
import type { AssociatedImage, EncodedImage, ImageMetadata, TileAddress, TileSource } from '../../tile-source.js';
import type { Raster } from '../../raster.js';

/** Description of an opened image, as plain data that can be sent to another process. */
export interface RemoteImage {
  metadata: ImageMetadata;
  populatedLevels: readonly number[];
  associatedImages: readonly string[];
  internalMetadata: Record<string, unknown>;
  /** The ICC profile of each frame. Structured cloning sends a shared profile only once. */
  profiles: readonly (Uint8Array | null)[];
  hasStoredTiles: boolean;
  /** Whether the image is known to be stored with a lossy compression. */
  isLossy: boolean;
}

/** A request from the process that converts an image to the process that has the image open. */
export type Question =
  | { method: 'tile'; address: TileAddress }
  | { method: 'stored'; address: TileAddress; partial: boolean }
  | { method: 'associated'; name: string };

/** The reply to a {@link Question}. */
export type Answer = Raster | EncodedImage | AssociatedImage | null;

/** An image that this process has opened for a child. The child cannot open it, for example because its files are in a store. */
export interface ParentSource {
  sourceName: string;
  source: Omit<TileSource, 'close'>;
}

/** Describes an image for another process. Reads a tile in the middle to find out whether tiles are stored as JPEG. */
export async function describeRemote({ source }: ParentSource): Promise<RemoteImage> {
  const { geo: _geo, ...metadata } = source.metadata;
  const internalMetadata = JSON.parse(JSON.stringify((await source.internalMetadata?.()) ?? {})) as Record<string, unknown>;
  const frames = Array.from({ length: metadata.frames?.length ?? 1 }, (_, frame) => frame);
  const { levels, sizeX, sizeY, tileWidth, tileHeight } = metadata;
  const [x, y] = [Math.floor(sizeX / 2 / tileWidth), Math.floor(sizeY / 2 / tileHeight)];
  const middleTile = await source.readStoredTile?.({ level: levels - 1, x, y, frame: 0 }, { partial: true });
  return {
    metadata,
    populatedLevels: [...source.populatedLevels],
    associatedImages: [...(source.associatedImages ?? [])],
    internalMetadata,
    profiles: frames.map((frame) => source.iccProfile?.(frame) ?? null),
    hasStoredTiles: source.readStoredTile !== undefined,
    isLossy: middleTile?.encoding === 'JPEG' || source.isLossy === true,
  };
}

/** Reads the part of an image that another process requests. */
export async function answerQuestion({ source }: ParentSource, question: Question, signal: AbortSignal): Promise<Answer> {
  switch (question.method) {
    case 'tile':
      return source.readTile(question.address, { signal });
    case 'stored':
      return (await source.readStoredTile?.(question.address, { signal, partial: question.partial })) ?? null;
    case 'associated':
      return (await source.readAssociatedImage?.(question.name, { signal })) ?? null;
  }
}

/** Creates a tile source for an image that another process has open. `ask` requests parts of the image from that process. */
export function createRemoteSource(image: RemoteImage, ask: (question: Question) => Promise<Answer>): TileSource {
  const askFor = async <T extends Answer>(question: Question, isExpected: (answer: Answer) => answer is T): Promise<T> => {
    const reply = await ask(question);
    if (!isExpected(reply)) throw new TileSourceError(`A ${question.method} could not be read.`);
    return reply;
  };
  return {
    metadata: image.metadata,
    populatedLevels: image.populatedLevels,
    associatedImages: image.associatedImages,
    readTile: (address) => askFor({ method: 'tile', address }, (reply) => reply !== null && 'data' in reply),
    ...(image.hasStoredTiles && {
      readStoredTile: (address: TileAddress, { partial = false } = {}) =>
        askFor({ method: 'stored', address, partial }, (reply) => reply === null || 'encoding' in reply),
    }),
    readAssociatedImage: (name) => askFor({ method: 'associated', name }, (reply) => reply === null || 'raster' in reply),
    internalMetadata: async () => image.internalMetadata,
    iccProfile: (frame) => image.profiles[frame] ?? null,
    close: async () => {},
  };
}
