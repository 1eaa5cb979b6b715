import { InvalidError, UnknownIdError } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import { indexTerms, createUnindexedMark } from '../tree/finding/index-terms.js';
import type { TreeDocument } from '../tree/folder.model.js';
import { treeModel, type FolderOrItem } from '../tree/tree-documents.js';

/** Maximum number of tags of one document. */
const maxTags = 200;
/** Largest length of a tag, in characters. */
const maxTagLength = 200;

/**
 * The tags of a request, trimmed, without empty tags and duplicates.
 *
 * @throws InvalidError if a tag is not a text or too long, or if there are too many tags
 */
export function parseTags(tags: readonly unknown[], field: string): string[] {
  const trimmedTags = tags.map((tag) => {
    if (typeof tag !== 'string') throw new InvalidError(`Tags must be text, not ${JSON.stringify(tag)}.`, field);
    const trimmedTag = tag.trim();
    if (trimmedTag.length > maxTagLength) throw new InvalidError(`A tag may have at most ${maxTagLength} characters.`, field);
    return trimmedTag;
  });
  const distinctTags = [...new Set(trimmedTags)].filter((tag) => tag !== '');
  if (distinctTags.length > maxTags) throw new InvalidError(`At most ${maxTags} tags can be given at once.`, field);
  return distinctTags;
}

/**
 * Adds tags to a document and removes others. Tags are the list `tags` of the document's metadata, so that other clients can read and write
 * them. Other tags that somebody else adds or removes at the same time are not overwritten.
 *
 * @throws InvalidError if `tags` is not a list, or would have too many tags
 */
export async function changeTags(
  context: HostContext,
  { type, doc }: FolderOrItem,
  tagsToAdd: readonly string[],
  tagsToRemove: readonly string[],
): Promise<void> {
  const { tags } = doc.meta ?? {};
  const isListOrMissing = tags === undefined || tags === null || Array.isArray(tags);
  if (!isListOrMissing) throw new InvalidError(`The metadata of ${doc.name} has "tags" that are not a list.`, 'resources');
  const newTags = tagsToAdd.filter((tag) => !tags?.includes(tag));
  if ((tags?.length ?? 0) + newTags.length > maxTags) {
    throw new InvalidError(`${doc.name} would have more than ${maxTags} tags.`, 'resources');
  }
  const model = treeModel(context, type);
  const { _id } = doc;
  const update = async (change: object, filter: object = {}) => {
    const commonChange = { $set: { updated: new Date(), ...createUnindexedMark() } };
    return model
      .findOneAndUpdate({ _id, ...filter }, { ...change, ...commonChange }, { returnDocument: 'after' })
      .lean<TreeDocument>();
  };
  if (tags === null) await update({ $unset: { 'meta.tags': '' } }, { 'meta.tags': null });
  if (tagsToRemove.length > 0 && tags) await update({ $pull: { 'meta.tags': { $in: tagsToRemove } } });
  const changedDocument = await update(tagsToAdd.length > 0 ? { $addToSet: { 'meta.tags': { $each: tagsToAdd } } } : {});
  if (changedDocument === null) throw new UnknownIdError(type, _id.toHexString());
  await indexTerms(model, changedDocument);
  // Listeners expect plain objects.
  if (type === 'item') await context.events.emit('item.saved', { item: { ...changedDocument } });
  else await context.events.emit('folder.saved', { folder: { ...changedDocument } });
}
