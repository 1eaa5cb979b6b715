import { createHash } from 'node:crypto';
import { TileSourceError } from '../../../errors.js';
import type { BorrowedImage, ImageMetadata } from '../../tile-source.js';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import type { MultiDescription } from './multi-description.js';
import type { Member } from './members.js';

/** Maximum number of images that are opened to read their metadata, and the number opened at the same time. */
const maxOpened = 2000;
const concurrency = 4;
/**
 * The only reason that is reported for an item that cannot be read, because the author of the description may have no right to read
 * it.
 */
const itemReason = 'it cannot be read, or it contains this image';
/** Maximum number of sources that an error message names. */
const maxNamed = 10;

/** Metadata of a source that are known while it is not open. */
export interface MemberFacts extends ImageMetadata {
  populatedLevels: readonly number[];
  associatedImages: readonly string[];
  /** Its color profile. Equal profiles are the same object. */
  profile: Uint8Array | null;
}

/** A key that is the same for all sources that show the same image. */
function imageKey({ file, entry }: Member): string {
  return `${file.id}/${entry.sourceName ?? ''}/${entry.style === undefined ? '' : 'styled'}`;
}

/** Replaces equal color profiles by one object. */
class Profiles {
  readonly #known = new Map<string, Uint8Array>();

  same(profile: Uint8Array | null): Uint8Array | null {
    if (profile === null) return null;
    const name = createHash('sha256').update(profile).digest('base64');
    const shared = this.#known.get(name) ?? Uint8Array.from(profile);
    this.#known.set(name, shared);
    return shared;
  }
}

function factsOf({ source }: BorrowedImage, { entry }: Member, profiles: Profiles): MemberFacts {
  const { metadata, populatedLevels, associatedImages = [] } = source;
  const isStyled = entry.style !== undefined;
  const { white, ...others } = metadata;
  return {
    ...others,
    ...(white !== undefined && !isStyled && { white }),
    ...(isStyled && { dtype: 'uint8' as const, bandCount: 3 }),
    populatedLevels,
    associatedImages,
    profile: isStyled ? null : profiles.same(source.iccProfile?.(0) ?? null),
  };
}

function areAlike(a: MemberFacts, b: MemberFacts): boolean {
  return a.sizeX === b.sizeX && a.sizeY === b.sizeY && (a.frames?.length ?? 1) === (b.frames?.length ?? 1);
}

/** The error that names the sources which cannot be read, with reasons. */
function refusal(failures: readonly { path: string; reason: string }[], total: number): TileSourceError {
  const named = failures.slice(0, maxNamed).map(({ path, reason }) => `${path} (${reason.replace(/\.$/, '')})`);
  const rest = failures.length > maxNamed ? ` and ${failures.length - maxNamed} more` : '';
  return new TileSourceError(
    `Of the ${total} sources of the image, ${failures.length} cannot be read: ${named.join('; ')}${rest}.`,
  );
}

/**
 * Reads the metadata of the sources. Each file is opened once. With `uniformSources` only the first two are opened; if these are
 * alike, the others are assumed to be like the first.
 *
 * @returns the metadata of each source, in the order of `members`.
 * @throws TileSourceError that names the sources which cannot be read.
 */
export async function memberFacts(
  members: readonly Member[],
  { uniformSources = false }: MultiDescription,
  signal?: AbortSignal,
): Promise<MemberFacts[]> {
  const distinct = new Map<string, Member>();
  for (const member of members) if (!distinct.has(imageKey(member))) distinct.set(imageKey(member), member);
  const cache = new Map<string, MemberFacts>();
  const profiles = new Profiles();
  const failures: { path: string; reason: string }[] = [];
  const inspect = async ([name, member]: [string, Member]): Promise<void> => {
    signal?.throwIfAborted();
    try {
      const { sourceName } = member.entry;
      const options = { signal, ...(sourceName !== undefined && { sourceName }) };
      cache.set(name, await member.file.borrow((image) => factsOf(image, member, profiles), options));
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof TileSourceError)) throw error;
      failures.push({ path: member.file.name, reason: member.isItem ? itemReason : error.message });
    }
  };
  const distinctMembers = [...distinct];
  await mapConcurrently(distinctMembers.slice(0, 2), concurrency, inspect);
  const [first, second] = [...cache.values()];
  const isUniform = uniformSources && first !== undefined && second !== undefined && areAlike(first, second);
  if (!isUniform) {
    if (distinctMembers.length > maxOpened) {
      throw new TileSourceError(
        `The image consists of ${distinctMembers.length} files; at most ${maxOpened} are opened, unless the description says uniformSources: true.`,
      );
    }
    await mapConcurrently(distinctMembers.slice(2), concurrency, inspect);
  }
  if (failures.length > 0) throw refusal(failures, distinctMembers.length);
  return members.map((member) => cache.get(imageKey(member)) ?? first!);
}
