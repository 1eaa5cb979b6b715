import { access } from 'node:fs/promises';
import { Types } from 'mongoose';
import type { Caller, Host, HostAccess, HostAuth, HostFiles, StoredDocument } from '../index.js';
import type { HostContext } from './context.js';
import type { AccessEntry } from './access/access-list.model.js';
import type { FileDocument } from './files/file.model.js';
import type { FolderDocument } from './tree/folder.model.js';
import type { ItemDocument } from './tree/item.model.js';
import {
  createAccessFilter,
  flagsOn,
  createItemAccessFilter,
  levelOn,
  loadPrincipal,
  systemPrincipal,
  type Principal,
} from './access/access.js';
import { loadFolder } from './tree/folders.js';
import { localPath, moveFile, readFile, removeFile } from './files/files.js';
import { openFileTree } from './files/file-trees.js';
import { removeFiles, storeFiles } from './files/stored-files.js';
import { removeItem } from './tree/item-removals.js';
import { createItem } from './tree/items.js';
import { findEnabledCaller, createTokenVerifier } from './accounts/tokens/tokens.js';

/** The member `auth` of the host. */
export function hostAuth(context: HostContext): HostAuth {
  return {
    verify: createTokenVerifier(context),
    user: (id) => findEnabledCaller(context, { _id: new Types.ObjectId(id) }),
    cookieName: context.cookieName,
    headerName: 'Girder-Token',
  };
}

/** The member `access` of the host. An item has the permissions of its folder. */
export function hostAccess(context: HostContext): HostAccess {
  return {
    async level(caller: Caller | null, { type, doc }) {
      const [principal, folder] = await Promise.all([
        loadPrincipal(context, caller),
        type === 'folder'
          ? (doc as unknown as FolderDocument)
          : context.models.folder.findById((doc as unknown as ItemDocument).folderId).lean<FolderDocument>(),
      ]);
      return folder === null ? -1 : levelOn(folder, principal);
    },
    async filter(caller, type, level) {
      const principal: Principal = await loadPrincipal(context, caller);
      if (level === -1) return {};
      return type === 'folder' ? createAccessFilter(principal, level) : createItemAccessFilter(context, principal, level);
    },
    async list(doc) {
      const { access: accessList, public: isPublic, publicFlags } = doc as unknown as FolderDocument;
      const withTextId = ({ id, level, flags }: AccessEntry) => ({ id: id.toHexString(), level, flags });
      return {
        users: accessList.users.map(withTextId),
        groups: accessList.groups.map(withTextId),
        public: isPublic,
        ...(publicFlags && { publicFlags }),
      };
    },
    async flags(caller, doc) {
      return flagsOn(doc as unknown as FolderDocument, await loadPrincipal(context, caller));
    },
  };
}

/** The member `createItem` of the host. */
export function hostCreateItem(context: HostContext): NonNullable<Host['createItem']> {
  return async ({ name, folderId, creatorId, fields }) => {
    const folder = await loadFolder(context, folderId, systemPrincipal, 1);
    const creator = creatorId === null ? null : new Types.ObjectId(creatorId);
    return { ...(await createItem(context, folder, { name, creatorId: creator, fields })) };
  };
}

/** The member `files` of the host. */
export function hostFiles(context: HostContext): HostFiles {
  return {
    async localPath(file) {
      const path = localPath(context, asFile(file));
      // A path without a file would mean that the bytes are lost. If the database belongs to another data folder, the bytes are there instead.
      if (path !== null && context.otherFolder !== null && asFile(file).storage.kind === 'stored') {
        return access(path).then(
          () => path,
          () => null,
        );
      }
      return path;
    },
    read: (file, range, options) => readFile(context, asFile(file), range, options?.signal),
    async create(file, content, options) {
      const [result] = await storeFiles(context, [{ file, content }], options?.signal);
      if (result!.status === 'rejected') throw result!.reason;
      return result!.value;
    },
    createMany: (files) => storeFiles(context, files),
    async remove(file) {
      await removeFile(context, asFile(file)._id);
    },
    removeMany: (files) => removeFiles(context, files.map(asFile)),
    move: (file, itemId) => moveFile(context, asFile(file), new Types.ObjectId(itemId)),
    tree: (file) => openFileTree(context, asFile(file)),
    downloadPath: (file) => `${context.apiRoot}/file/${asFile(file)._id.toHexString()}/download`,
  };
}

/** The member `removeItem` of the host. */
export function hostRemoveItem(context: HostContext): NonNullable<Host['removeItem']> {
  return (item) => removeItem(context, item as unknown as ItemDocument);
}

/** Changes only the type, because the plugin passes documents that the host's own model has returned. */
function asFile(file: StoredDocument): FileDocument {
  return file as unknown as FileDocument;
}
