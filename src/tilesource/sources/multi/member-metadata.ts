import { createHash } from 'node:crypto';
import { TileSourceError } from '../../../errors.js';
import type { BorrowedImage, ImageMetadata } from '../../tile-source.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import type { MultiDescription } from './multi-description.js';
import type { Member } from './members.js';

/** Maximum number of images that are opened to read their metadata. */
const maxOpenedImages = 2000;
/** Number of images that are open at the same time. */
const concurrency = 4;
/**
 * The only reason that is reported for an item that cannot be read, because the author of the description may have no right to read
 * it.
 */
const itemReason = 'it cannot be read, or it contains this image';
/** Maximum number of sources that an error message names. */
const maxNamedSources = 10;

/** Metadata of a source, which stay in memory when the source is closed. */
export interface MemberMetadata extends ImageMetadata {
  populatedLevels: readonly number[];
  associatedImages: readonly string[];
  /** The color profile. Sources with equal profiles share one object. */
  profile: Uint8Array | null;
}

/** A key that is the same for all sources that show the same image. */
function imageKey({ file, entry }: Member): string {
  return `${file.id}/${entry.sourceName ?? ''}/${entry.style === undefined ? '' : 'styled'}`;
}

/** Replaces equal color profiles by one object. */
class ProfilePool {
  readonly #profileByHash = new Map<string, Uint8Array>();

  share(profile: Uint8Array | null): Uint8Array | null {
    if (profile === null) return null;
    const hash = createHash('sha256').update(profile).digest('base64');
    const sharedProfile = this.#profileByHash.get(hash) ?? Uint8Array.from(profile);
    this.#profileByHash.set(hash, sharedProfile);
    return sharedProfile;
  }
}

function metadataOf({ source }: BorrowedImage, { entry }: Member, profiles: ProfilePool): MemberMetadata {
  const { metadata, populatedLevels, associatedImages = [] } = source;
  const isStyled = entry.style !== undefined;
  const { white, ...otherMetadata } = metadata;
  return {
    ...otherMetadata,
    ...(white !== undefined && !isStyled && { white }),
    ...(isStyled && { dtype: 'uint8' as const, bandCount: 3 }),
    populatedLevels,
    associatedImages,
    profile: isStyled ? null : profiles.share(source.iccProfile?.(0) ?? null),
  };
}

function areAlike(a: MemberMetadata, b: MemberMetadata): boolean {
  return a.sizeX === b.sizeX && a.sizeY === b.sizeY && (a.frames?.length ?? 1) === (b.frames?.length ?? 1);
}

/** The error that names the sources which cannot be read, with reasons. */
function unreadableError(failures: readonly { path: string; reason: string }[], sourceCount: number): TileSourceError {
  const namedSources = failures.slice(0, maxNamedSources).map(({ path, reason }) => `${path} (${reason.replace(/\.$/, '')})`);
  const othersText = failures.length > maxNamedSources ? ` and ${failures.length - maxNamedSources} more` : '';
  return new TileSourceError(
    `Of the ${sourceCount} sources of the image, ${failures.length} cannot be read: ${namedSources.join('; ')}${othersText}.`,
  );
}

/**
 * Reads the metadata of the sources. Each file is opened once. With `uniformSources`, only the first two files are opened. If they
 * are alike, the other files are assumed to be like the first.
 *
 * @returns the metadata of each source, in the order of `members`.
 * @throws TileSourceError that names the sources which cannot be read.
 */
export async function readMemberMetadata(
  members: readonly Member[],
  { uniformSources = false }: MultiDescription,
  signal?: AbortSignal,
): Promise<MemberMetadata[]> {
  const memberByKey = new Map<string, Member>();
  for (const member of members) if (!memberByKey.has(imageKey(member))) memberByKey.set(imageKey(member), member);
  const metadataByKey = new Map<string, MemberMetadata>();
  const profiles = new ProfilePool();
  const failures: { path: string; reason: string }[] = [];
  const readMember = async ([key, member]: [string, Member]): Promise<void> => {
    signal?.throwIfAborted();
    try {
      const { sourceName } = member.entry;
      const options = { signal, ...(sourceName !== undefined && { sourceName }) };
      metadataByKey.set(key, await member.file.borrow((image) => metadataOf(image, member, profiles), options));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof TileSourceError)) throw error;
      failures.push({ path: member.file.name, reason: member.isItem ? itemReason : error.message });
    }
  };
  const distinctMembers = [...memberByKey];
  await mapConcurrently(distinctMembers.slice(0, 2), concurrency, readMember);
  const [first, second] = [...metadataByKey.values()];
  const isUniform = uniformSources && first !== undefined && second !== undefined && areAlike(first, second);
  if (!isUniform) {
    if (distinctMembers.length > maxOpenedImages) {
      throw new TileSourceError(
        `The image consists of ${distinctMembers.length} files; at most ${maxOpenedImages} are opened, unless the description says uniformSources: true.`,
      );
    }
    await mapConcurrently(distinctMembers.slice(2), concurrency, readMember);
  }
  if (failures.length > 0) throw unreadableError(failures, distinctMembers.length);
  return members.map((member) => metadataByKey.get(imageKey(member)) ?? first!);
}
