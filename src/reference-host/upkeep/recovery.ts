import type { Types } from 'mongoose';
import type { HostContext } from '../context.js';
import type { FileDocument } from '../files/file.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { Undertaking } from './undertaking.model.js';
import { removeFileLeftovers, removeFilesInBatches } from '../files/files.js';
import { removeFolderLeftovers, removeContentsCreatedUntil, finishMove, removeFoldersIn } from '../tree/folder-trees.js';
import { accessMatches, setAccessBelow } from '../access/folder-access.js';
import { removeTracesOfGroup } from '../groups/groups.js';
import { removeItemLeftovers, finishItemRemovals } from '../tree/item-removals.js';
import { finishRemovals } from '../resources/removals.js';
import { releaseOldNames } from '../tree/names/names.js';
import { correctSizesAround } from '../tree/recount.js';
import { findFolderOrItem, removeFolderOrItem } from '../tree/tree-documents.js';
import { finishTrashRemoval } from '../trash/emptying.js';
import { finishRestoring } from '../trash/restoring.js';
import { finishTrashing } from '../trash/trashing.js';
import { stillExists } from './removal.js';
import { removeTracesOfUser, finishRegistration } from '../accounts/users/users.js';

/** Finishes or undoes an interrupted multi-step write. */
export async function recoverFrom(context: HostContext, undertaking: Undertaking): Promise<void> {
  switch (undertaking.kind) {
    case 'removal':
      return finishDocumentRemoval(context, undertaking);
    case 'removals':
      return finishRemovals(context, undertaking.named);
    case 'item-removals':
      return finishItemRemovals(context, undertaking.items as ItemDocument[]);
    case 'emptying':
      return removeContentsCreatedUntil(context, undertaking.id, undertaking.before);
    case 'making':
      return undoMaking(context, undertaking);
    case 'registering':
      for (const id of undertaking.ids) await undoMaking(context, { kind: 'making', type: 'item', id });
      return removeFilesOfMissingItems(context, undertaking.ids);
    case 'file-move':
      for (const item of undertaking.items) await correctSizesAround(context, item);
      return;
    case 'move':
      return finishMove(context, undertaking);
    case 'naming':
      return finishNaming(context, undertaking);
    case 'access':
      return finishAccessChange(context, undertaking);
    case 'trashing':
      return finishTrashing(context, undertaking);
    case 'restoring':
      await finishRestoring(context, undertaking);
      return;
    case 'trash-removal':
      return finishTrashRemoval(context, undertaking.named, true);
    case 'registration':
      await finishRegistration(context, undertaking.id);
  }
}

type UndertakingOf<K extends Undertaking['kind']> = Extract<Undertaking, { kind: K }>;

async function finishDocumentRemoval(context: HostContext, { type, doc }: UndertakingOf<'removal'>): Promise<void> {
  if (await stillExists(context, type, doc._id)) return;
  switch (type) {
    // The recorded document has this type, without the fields that are not needed here.
    case 'file':
      return removeFileLeftovers(context, doc as FileDocument, true);
    case 'item':
      return removeItemLeftovers(context, [doc as ItemDocument], true);
    case 'folder':
      return removeFolderLeftovers(context, doc as FolderDocument);
    case 'collection':
      return removeFoldersIn(context, doc._id);
    case 'user':
      return removeTracesOfUser(context, doc._id);
    case 'group':
      return removeTracesOfGroup(context, doc._id);
  }
}

async function undoMaking(context: HostContext, undertaking: UndertakingOf<'making'>): Promise<void> {
  const unfinishedDocument = await findFolderOrItem(context, undertaking);
  if (unfinishedDocument !== null) await removeFolderOrItem(context, unfinishedDocument);
}

async function removeFilesOfMissingItems(context: HostContext, itemIds: readonly Types.ObjectId[]): Promise<void> {
  await removeFilesInBatches(context, await context.models.file.find({ itemId: { $in: [...itemIds] } }).lean<FileDocument[]>());
}

async function finishNaming(context: HostContext, { type, id, before }: UndertakingOf<'naming'>): Promise<void> {
  const { models } = context;
  const item = type === 'item' ? await models.item.findById(id).lean<ItemDocument>() : null;
  const folder = type === 'folder' ? await models.folder.findById(id).lean<FolderDocument>() : null;
  const parentId = item?.folderId ?? folder?.parentId;
  const name = item?.name ?? folder?.name;
  if (parentId !== undefined && name !== undefined) await releaseOldNames(context, { ownerId: id, parentId, name }, before);
  if (item !== null) await correctSizesAround(context, item);
}

async function finishAccessChange(context: HostContext, undertaking: UndertakingOf<'access'>): Promise<void> {
  const { type, id, change } = undertaking;
  const { models } = context;
  const document = type === 'folder' ? await models.folder.findById(id).lean() : await models.collection.findById(id).lean();
  if (document === null || !accessMatches(document, change)) return;
  await setAccessBelow(context, undertaking, true);
  await context.events.emit('access.changed', {});
}
