import type { Types } from 'mongoose';
import { createHash } from 'node:crypto';
import type { HostContext } from '../../context.js';
import type { NameClaimDocument } from './name-claim.model.js';
import { isDuplicateKey } from '../../duplicate-key.js';

/** A name claim whose owner does not exist counts as abandoned if its process has died, or if it is older than this. */
const abandonedMs = 60_000;

/** The item or folder that takes a name, and its parent. */
export interface NameOwner {
  parentId: Types.ObjectId;
  ownerType: 'item' | 'folder';
  ownerId: Types.ObjectId;
}

function toClaimId(parentId: Types.ObjectId, name: string): string {
  return `${parentId.toHexString()}/${createHash('sha256').update(name).digest('hex')}`;
}

/**
 * Takes a name in a parent. Of several simultaneous requests exactly one gets it, because the id of a claim is unique.
 *
 * @returns `null` if this owner now has the name, otherwise the type of the owner that has it.
 */
export async function claimName(
  context: HostContext,
  { parentId, ownerType, ownerId }: NameOwner,
  name: string,
): Promise<null | 'item' | 'folder'> {
  const { models, life } = context;
  const _id = toClaimId(parentId, name);
  const claim: NameClaimDocument = { _id, ownerType, ownerId, process: life.id, created: new Date() };
  try {
    await models.nameClaim.create(claim);
    return null;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const otherClaim = await models.nameClaim.findById(_id).lean();
  if (otherClaim === null) return claimName(context, { parentId, ownerType, ownerId }, name);
  if (otherClaim.ownerId.equals(ownerId)) return null;
  const isRecent = Date.now() - otherClaim.created.getTime() < abandonedMs && (await life.isAlive(otherClaim.process));
  if (isRecent || (await stillOwnsName(context, otherClaim, parentId, name))) return otherClaim.ownerType;
  const formerClaim = await models.nameClaim.findOneAndUpdate(
    { _id, ownerId: otherClaim.ownerId, created: otherClaim.created },
    { $set: { ownerType, ownerId, process: life.id, created: claim.created } },
  );
  return formerClaim === null ? otherClaim.ownerType : null;
}

async function stillOwnsName({ models }: HostContext, claim: NameClaimDocument, parentId: Types.ObjectId, name: string) {
  const _id = claim.ownerId;
  return claim.ownerType === 'item'
    ? (await models.item.exists({ _id, folderId: parentId, name })) !== null
    : (await models.folder.exists({ _id, parentId, name })) !== null;
}

/** Releases a name. Does nothing if another owner has it. */
export async function releaseName(
  { models }: HostContext,
  { parentId, ownerId }: Omit<NameOwner, 'ownerType'>,
  name: string,
): Promise<void> {
  await models.nameClaim.deleteOne({ _id: toClaimId(parentId, name), ownerId });
}

/** Releases the names that an item or folder took before a date, except its current name. */
export async function releaseOldNames(
  { models }: HostContext,
  owner: { ownerId: Types.ObjectId; parentId: Types.ObjectId; name: string },
  before: Date,
): Promise<void> {
  const { ownerId, parentId, name } = owner;
  await models.nameClaim.deleteMany({ ownerId, created: { $lte: before }, _id: { $ne: toClaimId(parentId, name) } });
}

/** Releases all names of removed items or folders. */
export async function releaseNames({ models }: HostContext, ownerIds: readonly Types.ObjectId[]): Promise<void> {
  await models.nameClaim.deleteMany({ ownerId: { $in: [...ownerIds] } });
}

/** Takes a name, or the first free one of `name (1)`, `name (2)`, … @returns the name that was taken. */
export async function claimFreeName(context: HostContext, owner: NameOwner, name: string): Promise<string> {
  if ((await claimName(context, owner, name)) === null) return name;
  const takenNames = await findNumberedNames(context, owner.parentId, name);
  for (let number = 1; ; number++) {
    const numberedName = `${name} (${number})`;
    if (!takenNames.has(numberedName) && (await claimName(context, owner, numberedName)) === null) return numberedName;
  }
}

/** Like {@link claimFreeName}, for several owners. If all names are free, this takes one command. @returns the names in the same order. */
export async function claimFreeNames(
  context: HostContext,
  namesWithOwners: readonly { owner: NameOwner; name: string }[],
): Promise<string[]> {
  const { models, life } = context;
  const claims = namesWithOwners.map(({ owner: { parentId, ownerType, ownerId }, name }) => {
    const claim: NameClaimDocument = {
      _id: toClaimId(parentId, name),
      ownerType,
      ownerId,
      process: life.id,
      created: new Date(),
    };
    return claim;
  });
  try {
    await models.nameClaim.insertMany(claims, { ordered: false, lean: true });
    return namesWithOwners.map(({ name }) => name);
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const names: string[] = [];
  // Names that were free have been claimed above, so their owners get them again.
  for (const { owner, name } of namesWithOwners) names.push(await claimFreeName(context, owner, name));
  return names;
}

/** The names in a parent that begin with `name (`. */
async function findNumberedNames({ models }: HostContext, parentId: Types.ObjectId, name: string): Promise<Set<string>> {
  const escapedPrefix = `${name} (`.toLowerCase().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const lowerName = { $regex: `^${escapedPrefix}` };
  const [items, folders] = await Promise.all([
    models.item.find({ folderId: parentId, lowerName }, { name: 1 }).lean(),
    models.folder.find({ parentId, lowerName }, { name: 1 }).lean(),
  ]);
  return new Set([...items, ...folders].map((document) => document.name));
}
