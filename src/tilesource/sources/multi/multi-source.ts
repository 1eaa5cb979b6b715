import { forEachRange } from '../../../core/concurrency/slices.js';
import { TileOutsideError, TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import {
  priorities,
  type AssociatedImage,
  type EncodedImage,
  type ImageMetadata,
  type LossyCodec,
  type SourceInput,
  type SourceOptions,
  type TileAddress,
  type TileOptions,
  type TileSource,
  type TileSourceDefinition,
} from '../../tile-source.js';
import { CorruptTiles, partOfTile } from '../../render/corrupt-tiles.js';
import { levelCount, levelScale, tileContent } from '../../geometry.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { createRaster, fullValue, type Raster } from '../../raster.js';
import { maxDescriptionBytes, type MultiDescription } from './multi-description.js';
import { readMemberMetadata } from './member-metadata.js';
import { combineFrames, type SourceFrame, type MultiFrames } from './frames.js';
import { findMembers } from './members.js';
import { paint, readDrawing } from './paint-members.js';
import { placementOf, shiftOf, type MultiMember } from './placement.js';

const defaultTileSide = 256;
const tileSideLimits = { min: 64, max: 4096 };
/** Maximum width and height of an image. */
const maxSide = 2 ** 31 - 1;
/** Number of sources that are read at the same time for one tile. */
const concurrency = 4;
/** Maximum number of sources whose own metadata are part of the internal metadata. */
const maxDescribedSources = 20;
/** Approximate memory of an open image for each source, in bytes. */
const bytesPerSource = 2000;
/** Approximate memory of an open image for each frame, in bytes. */
const bytesPerFrame = 200;
/** Number of sources that are placed before other work on the event loop can run. */
const placementsPerSlice = 100;

function describeMulti(description: MultiDescription, members: readonly MultiMember[], multiFrames: MultiFrames): ImageMetadata {
  const { metadata: firstMetadata } = members[0]!;
  const { scale = {} } = description;
  const clampTileSide = (side: number): number => Math.min(tileSideLimits.max, Math.max(tileSideLimits.min, side));
  const coveredUpTo = (edge: 'right' | 'bottom'): number =>
    members.reduce((max, { placement }) => Math.max(max, Math.ceil(placement.box[edge] - 1e-6)), 0);
  const size = {
    sizeX: description.width ?? coveredUpTo('right'),
    sizeY: description.height ?? coveredUpTo('bottom'),
    tileWidth: clampTileSide(description.tileWidth ?? firstMetadata.tileWidth ?? defaultTileSide),
    tileHeight: clampTileSide(description.tileHeight ?? firstMetadata.tileHeight ?? defaultTileSide),
  };
  if (!(size.sizeX >= 1 && size.sizeY >= 1 && size.sizeX <= maxSide && size.sizeY <= maxSide)) {
    throw new TileSourceError(`The image would have ${size.sizeX} by ${size.sizeY} pixels, which is impossible.`);
  }
  const { frames, channels } = multiFrames;
  const dtype = description.dtype ?? firstMetadata.dtype;
  // If the sources differ in type or white, their samples are scaled to the full range of the type.
  const haveSameSamples = members.every(({ metadata }) => metadata.dtype === dtype && metadata.white === firstMetadata.white);
  return {
    ...size,
    ...(haveSameSamples && firstMetadata.white !== undefined && { white: firstMetadata.white }),
    levels: levelCount(size),
    magnification: scale.magnification ?? firstMetadata.magnification,
    mmX: scale.mm_x ?? firstMetadata.mmX,
    mmY: scale.mm_y ?? firstMetadata.mmY,
    dtype,
    bandCount: description.singleBand === true ? 1 : Math.max(...members.map(({ metadata }) => metadata.bandCount)),
    ...(frames.length > 1 && { frames }),
    ...(channels.length > 0 && { channels }),
  };
}

/** The associated images of all sources by name. Repeated names get a number. */
function associatedByName(members: readonly MultiMember[]): Map<string, { member: MultiMember; name: string }> {
  const associated = new Map<string, { member: MultiMember; name: string }>();
  const seenFiles = new Set<string>();
  for (const member of members) {
    if (seenFiles.has(member.file.id)) continue;
    seenFiles.add(member.file.id);
    for (const name of member.metadata.associatedImages) {
      let key = name;
      for (let number = 1; associated.has(key); number++) key = `${name}-${number}`;
      associated.set(key, { member, name });
    }
  }
  return associated;
}

class MultiTileSource implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly associatedImages: readonly string[];
  readonly #description: MultiDescription;
  readonly #members: readonly MultiMember[];
  readonly #frames: MultiFrames;
  readonly #associated: ReturnType<typeof associatedByName>;
  /**
   * The color profile that all sources share. `null` if the sources have different profiles. Each source is then converted to sRGB
   * before it is drawn.
   */
  readonly #profile: Uint8Array | null;
  readonly #hasMixedProfiles: boolean;

  constructor(description: MultiDescription, members: readonly MultiMember[], frames: MultiFrames) {
    this.#description = description;
    this.#members = members;
    this.#frames = frames;
    this.metadata = describeMulti(description, members, this.#frames);
    this.populatedLevels = Array.from({ length: this.metadata.levels }, (_, level) => level);
    this.#associated = associatedByName(members);
    this.associatedImages = [...this.#associated.keys()].toSorted();
    const profiles = new Set(members.map(({ metadata }) => metadata.profile));
    this.#hasMixedProfiles = profiles.size > 1;
    this.#profile = this.#hasMixedProfiles ? null : members[0]!.metadata.profile;
  }

  get retainedBytes(): number {
    return this.#members.length * bytesPerSource + this.#frames.partsByFrame.length * bytesPerFrame;
  }

  /** The parts of a frame that a tile may show, in the order in which they are drawn. */
  #partsAt({ level, x, y, frame }: TileAddress): (SourceFrame & { member: MultiMember })[] {
    const { tileWidth, tileHeight } = this.metadata;
    const scale = levelScale(this.metadata, level);
    const [left, top] = [x * tileWidth * scale, y * tileHeight * scale];
    const [right, bottom] = [left + tileWidth * scale, top + tileHeight * scale];
    const overlappingParts: (SourceFrame & { member: MultiMember })[] = [];
    for (const part of this.#frames.partsByFrame[frame] ?? []) {
      const member = this.#members[part.sourceIndex]!;
      const { box } = member.placement;
      if (box.right > left && box.left < right && box.bottom > top && box.top < bottom)
        overlappingParts.push({ ...part, member });
    }
    return overlappingParts;
  }

  async readTile(address: TileAddress, { signal, corrupt }: TileOptions = {}): Promise<Raster> {
    const { tileWidth, tileHeight, bandCount, dtype, levels } = this.metadata;
    const content = address.level >= 0 && address.level < levels ? tileContent(this.metadata, address) : { width: 0, height: 0 };
    if (!(content.width > 0 && content.height > 0 && address.x >= 0 && address.y >= 0)) {
      throw new TileOutsideError(`Tile outside level ${address.level}: x=${address.x}, y=${address.y}.`);
    }
    const scale = levelScale(this.metadata, address.level);
    const target = this.#fillBackground(createRaster({ ...content, bands: bandCount, dtype }));
    const { sizeX: right, sizeY: bottom } = this.metadata;
    const window = { scale, left: address.x * tileWidth * scale, top: address.y * tileHeight * scale, right, bottom };
    const parts = this.#partsAt(address);
    for (let from = 0; from < parts.length; from += concurrency) {
      const batch = parts.slice(from, from + concurrency);
      const drawings = await mapConcurrently(batch, concurrency, async ({ member, frame }) => {
        signal?.throwIfAborted();
        const memberFrame = { member, frame, appliesProfile: this.#hasMixedProfiles, white: this.metadata.white };
        const corruptOfSource = corrupt && new CorruptTiles();
        const options = { ...(signal && { signal }), ...(corruptOfSource && { corrupt: corruptOfSource }) };
        const drawing = await this.#runOnSource(member, () => readDrawing(target, window, memberFrame, options));
        if (corruptOfSource) {
          corrupt.mergeOther(corruptOfSource, {
            box: partOfTile(this.metadata, address).box,
            toOther: (pointX, pointY) => [member.placement.toSource([pointX, pointY])],
            name: member.file.name,
          });
        }
        return drawing;
      });
      for (const drawing of drawings) if (drawing !== null) await paint(target, drawing, signal);
    }
    return target;
  }

  /** Runs `work` on a source, and adds the name of the source to errors. */
  async #runOnSource<R>({ file }: MultiMember, work: () => Promise<R>): Promise<R> {
    try {
      return await work();
    } catch (cause) {
      if (!(cause instanceof TileSourceError)) throw cause;
      throw new TileSourceError(`The source ${file.name} of the image cannot be read: ${cause.message}`, { cause });
    }
  }

  #fillBackground(target: Raster): Raster {
    const { backgroundColor } = this.#description;
    if (backgroundColor === undefined || backgroundColor.length === 0) return target;
    const { data, bands, dtype } = target;
    const hasAlpha = bands === 2 || bands === 4;
    const samples = Array.from({ length: bands }, (_, band) =>
      hasAlpha && band === bands - 1 ? (backgroundColor[band] ?? fullValue(dtype)) : (backgroundColor[band] ?? 0),
    );
    data.set(samples);
    for (let filledLength = bands; filledLength < data.length; filledLength *= 2)
      data.copyWithin(filledLength, 0, Math.min(filledLength, data.length - filledLength));
    return target;
  }

  async readStoredTile(address: TileAddress, { signal }: { signal?: AbortSignal } = {}): Promise<EncodedImage | null> {
    const { levels, tileWidth, tileHeight, dtype, bandCount, sizeX, sizeY } = this.metadata;
    const [part, secondPart] = this.#partsAt(address);
    if (part === undefined || secondPart !== undefined || this.#hasMixedProfiles) return null;
    const { member, frame } = part;
    const { placement, metadata, entry, file } = member;
    const hasSameTiles =
      metadata.dtype === dtype &&
      metadata.bandCount === bandCount &&
      metadata.tileWidth === tileWidth &&
      metadata.tileHeight === tileHeight;
    const hasUnchangedSamples = (entry.sampleOffset ?? 0) === 0 && (entry.sampleScale ?? 1) === 1 && entry.style === undefined;
    const shift = shiftOf(placement);
    if (!hasSameTiles || !hasUnchangedSamples || shift === null) return null;
    const scale = levelScale(this.metadata, address.level);
    const level = metadata.levels - (levels - address.level);
    const [left, top] = [address.x * tileWidth * scale + shift.x, address.y * tileHeight * scale + shift.y];
    const [right, bottom] = [left + tileWidth * scale, top + tileHeight * scale];
    const [x, y] = [left / scale / tileWidth, top / scale / tileHeight];
    const { crop } = placement;
    const isInside = left >= crop.left && top >= crop.top && right <= crop.right && bottom <= crop.bottom;
    const isOneTile =
      right - shift.x <= sizeX && bottom - shift.y <= sizeY && isInside && Number.isInteger(x) && Number.isInteger(y);
    if (!isOneTile || !metadata.populatedLevels.includes(level)) return null;
    return this.#runOnSource(member, () =>
      file.borrow(async ({ source }) => (await source.readStoredTile?.({ level, x, y, frame }, signal && { signal })) ?? null, {
        signal,
        ...(entry.sourceName !== undefined && { sourceName: entry.sourceName }),
      }),
    );
  }

  /** The codec of the first member. */
  async lossyCodec(signal?: AbortSignal): Promise<LossyCodec | null> {
    const [member] = this.#members;
    const { sourceName } = member?.entry ?? {};
    const codec = member?.file.borrow(async ({ source }) => (await source.lossyCodec?.(signal)) ?? null, {
      signal,
      ...(sourceName !== undefined && { sourceName }),
    });
    return (await codec) ?? null;
  }

  async readAssociatedImage(name: string, { signal }: { signal?: AbortSignal } = {}): Promise<AssociatedImage | null> {
    const match = this.#associated.get(name);
    if (match === undefined) return null;
    const { member, name: nameInSource } = match;
    return member.file.borrow(
      async ({ source }) => (await source.readAssociatedImage?.(nameInSource, signal && { signal })) ?? null,
      {
        signal,
      },
    );
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    const { name, description, sources } = this.#description;
    const memberByFile = new Map(this.#members.map((member) => [member.file.id, member]));
    const sourceMetadata = await mapConcurrently(
      [...memberByFile.values()].slice(0, maxDescribedSources),
      concurrency,
      ({ file, entry }) =>
        file.borrow(
          async ({ source, sourceName }) => ({
            path: file.name,
            sourceName,
            internal: (await source.internalMetadata?.()) ?? {},
          }),
          entry.sourceName === undefined ? {} : { sourceName: entry.sourceName },
        ),
    );
    return {
      multi: {
        ...(name !== undefined && { name }),
        ...(description !== undefined && { description }),
        sources: this.#members.length,
        frames: this.#frames.partsByFrame.length,
      },
      sources,
      sourceFiles: sourceMetadata,
    };
  }

  iccProfile(): Uint8Array | null {
    return this.#profile;
  }

  async close(): Promise<void> {
    // There is nothing to close: the sources are borrowed, and their owners close them.
  }
}

async function readText(input: SourceInput, signal?: AbortSignal): Promise<string> {
  const reader = await input.open();
  try {
    if (reader.size > maxDescriptionBytes) {
      throw new TileSourceError(
        `The description of a combined image may have at most ${maxDescriptionBytes} bytes, not ${reader.size}.`,
      );
    }
    return Buffer.from(await reader.read(0, reader.size, signal && { signal })).toString('utf8');
  } finally {
    await reader.close();
  }
}

const { preferred } = priorities;

/** Reads descriptions, in YAML or JSON, of images that are combined from other images in the same folder. */
export const multiSource: TileSourceDefinition = {
  name: 'multi',
  extensions: { default: priorities.manual, json: preferred, yaml: preferred, yml: preferred },
  mimeTypes: {
    default: priorities.manual,
    'application/json': preferred,
    'application/yaml': preferred,
    'application/x-yaml': preferred,
    'text/yaml': preferred,
    'text/x-yaml': preferred,
  },
  readsCompanions: true,
  readsFolder: 'images',
  async open(input: SourceInput, { signal }: SourceOptions = {}): Promise<TileSource> {
    const text = await readText(input, signal);
    const result = await codecThreads.call('multiDescription', text, 'the description of an image', signal);
    if ('refused' in result) throw new TileSourceError(result.refused);
    const folder = input.folder?.();
    if (folder === undefined)
      throw new TileSourceError('The description refers to other files, but there is no folder to find them in.');
    const foundMembers = await findMembers(result.description, folder, signal);
    const memberMetadata = await readMemberMetadata(foundMembers, result.description, signal);
    const members: MultiMember[] = [];
    const placeRange = (from: number, to: number) => {
      for (const [i, member] of foundMembers.slice(from, to).entries()) {
        const sourceMetadata = memberMetadata[from + i]!;
        members.push({
          ...member,
          metadata: sourceMetadata,
          placement: placementOf(member.entry.position, { width: sourceMetadata.sizeX, height: sourceMetadata.sizeY }),
        });
      }
    };
    await forEachRange(foundMembers.length, placementsPerSlice, placeRange, signal);
    const entries = members.map(({ entry }) => entry);
    return new MultiTileSource(
      result.description,
      members,
      await combineFrames(result.description, entries, memberMetadata, signal),
    );
  },
};
