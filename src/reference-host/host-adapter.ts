import { Types } from 'mongoose';
import type { Readable } from 'node:stream';
import type { Caller, Host, HostAccess, HostAuth, HostDirectory, HostFiles, NewFile, StoredDocument } from '../index.js';
import { InvalidError, isId } from '../index.js';
import type { HostContext } from './context.js';
import type { AccessEntry } from './models/access-list.js';
import type { FileDocument } from './models/file.js';
import type { FolderDocument } from './models/folder.js';
import type { ItemDocument } from './models/item.js';
import { accessFilter, flagsOn, itemAccessFilter, levelOn, principalOf, system, type Principal } from './services/access.js';
import { loadFolder } from './services/folders.js';
import { insertFile, localPathOf, readFile, registerBytes, releaseBytes, removeFile } from './services/files.js';
import { createItem, removeItem } from './services/items.js';
import { verifyToken } from './services/tokens.js';

/** The host's tokens, as the plugin asks for them. */
export function hostAuth(context: HostContext): HostAuth {
  return { verify: (token) => verifyToken(context, token), cookieName: context.cookieName, headerName: 'Girder-Token' };
}

/** The host's permissions, as the plugin asks for them: items are governed by their folders. */
export function hostAccess(context: HostContext): HostAccess {
  return {
    async level(caller: Caller | null, { type, doc }) {
      const principal = await principalOf(context, caller);
      const folder =
        type === 'folder'
          ? (doc as unknown as FolderDocument)
          : await context.models.folder.findById((doc as unknown as ItemDocument).folderId).lean<FolderDocument>();
      return folder === null ? -1 : levelOn(folder, principal);
    },
    async filter(caller, type, level) {
      const principal: Principal = await principalOf(context, caller);
      if (level === -1) return {};
      return type === 'folder' ? accessFilter(principal, level) : itemAccessFilter(context, principal, level);
    },
    async list(doc) {
      const { access, public: isPublic, publicFlags } = doc as unknown as FolderDocument;
      const asText = ({ id, level, flags }: AccessEntry) => ({ id: id.toHexString(), level, flags });
      return {
        users: access.users.map(asText),
        groups: access.groups.map(asText),
        public: isPublic,
        ...(publicFlags && { publicFlags }),
      };
    },
    async flags(caller, doc) {
      return flagsOn(doc as unknown as FolderDocument, await principalOf(context, caller));
    },
  };
}

/** The host's users and groups, as the plugin asks for them. */
export function hostDirectory({ models }: HostContext): HostDirectory {
  return {
    async users(ids) {
      const users = await models.user.find({ _id: { $in: objectIds(ids) } }, { login: 1, firstName: 1, lastName: 1 }).lean();
      return users.map(({ _id, login, firstName, lastName }) => ({
        id: _id.toHexString(),
        login,
        name: `${firstName} ${lastName}`,
      }));
    },
    async groups(ids) {
      const groups = await models.group.find({ _id: { $in: objectIds(ids) } }, { name: 1, description: 1 }).lean();
      return groups.map(({ _id, name, description }) => ({ id: _id.toHexString(), name, description }));
    },
    async groupsOf(userId) {
      const user = isId(userId) ? await models.user.findById(userId, { groups: 1 }).lean() : null;
      return (user?.groups ?? []).map((id) => id.toHexString());
    },
  };
}

function objectIds(ids: readonly string[]): Types.ObjectId[] {
  return ids.filter(isId).map((id) => new Types.ObjectId(id));
}

/** Makes an item for the plugin. */
export function hostCreateItem(context: HostContext): NonNullable<Host['createItem']> {
  return async ({ name, folderId, creatorId, reuse, fields }) => {
    const folder = await loadFolder(context, folderId, system, 1);
    const creator = creatorId === null ? null : new Types.ObjectId(creatorId);
    return { ...(await createItem(context, folder, { name, creatorId: creator, reuseExisting: reuse, fields })) };
  };
}

/** The host's files, as the plugin asks for them. */
export function hostFiles(context: HostContext): HostFiles {
  return {
    async localPath(file) {
      return localPathOf(context, asFile(file));
    },
    read: (file, range) => readFile(context, asFile(file), range),
    create: (file, content, options) => createFile(context, file, content, options?.signal),
    async remove(file) {
      await removeFile(context, asFile(file)._id);
    },
    downloadPath: (file) => `${context.apiRoot}/file/${asFile(file)._id.toHexString()}/download`,
  };
}

/** The host's removal of items, as the plugin asks for it. */
export function hostRemoveItem(context: HostContext): NonNullable<Host['removeItem']> {
  return (item) => removeItem(context, item as unknown as ItemDocument);
}

/** The plugin hands back documents that it got from the host's own model. */
function asFile(file: StoredDocument): FileDocument {
  return file as unknown as FileDocument;
}

async function createFile(context: HostContext, file: NewFile, content: Readable, signal?: AbortSignal): Promise<StoredDocument> {
  const { models, store } = context;
  const item = await models.item.findById(file.parent.itemId).lean<ItemDocument>();
  if (item === null) throw new InvalidError(`No such item: ${file.parent.itemId}`, 'id');
  const _id = new Types.ObjectId();
  const key = _id.toHexString();
  try {
    const written = await store.write(key, { offset: 0, size: file.size, source: content, ...(signal && { signal }) });
    if (written.failure !== undefined) throw written.failure;
    if (written.tooMany || written.received !== file.size) {
      const found = written.tooMany ? 'more' : `only ${written.received}`;
      throw new InvalidError(`The file ${file.name} should have ${file.size} bytes, but its stream has ${found}.`, 'size');
    }
    await store.commit(key, key);
  } catch (error) {
    content.destroy();
    await store.discard(key);
    throw error;
  }
  await registerBytes(context, key, file.size);
  try {
    const created = await insertFile(context, item, {
      _id,
      name: file.name,
      mimeType: file.mimeType,
      size: file.size,
      storage: { kind: 'stored', key },
      creatorId: file.creatorId == null ? null : new Types.ObjectId(file.creatorId),
      attached: file.parent.type === 'attached',
      ...(file.fields && { fields: file.fields }),
    });
    return { ...created };
  } catch (error) {
    await releaseBytes(context, { kind: 'stored', key });
    throw error;
  }
}
