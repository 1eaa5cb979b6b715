import { fileSchema, uploadResult } from '../http/schemas.js';
import type { IncomingHttpHeaders } from 'node:http';
import { Types } from 'mongoose';
import { AccessDeniedError, LargeImageError, type Caller } from '../../index.js';
import {
  BadParameterError,
  id,
  integer,
  InvalidError,
  oneOf,
  required,
  text,
  withDefault,
  type RouteDefinition,
  type RouteInput,
  objectOf,
  anyInteger,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { UploadDocument } from './upload.model.js';
import { loadPrincipal, requireLevel, type Principal } from '../access/access.js';
import { insertFile, loadFile } from '../files/files.js';
import { createItem } from '../tree/items.js';
import { discardUpload } from './upload-removal.js';
import {
  completeUpload,
  createUpload,
  markKnownToClient,
  loadUpload,
  receiveChunk,
  readUploadOffset,
  type NewUpload,
  type UploadResult,
} from './uploads.js';
import { checkName } from '../tree/names/checked-name.js';
import { byId, returnsMessage, scopes } from '../http/parameters.js';
import { fileView, uploadView } from '../views.js';

const maxFileBytes = Number.MAX_SAFE_INTEGER;

function readContentType(headers: IncomingHttpHeaders): string {
  return (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

function readContentLength(headers: IncomingHttpHeaders): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

/** Whether the body of the request is a file, not a form. */
function isFileBody(headers: IncomingHttpHeaders): boolean {
  const type = readContentType(headers);
  if (type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data') return false;
  return headers['transfer-encoding'] !== undefined || (readContentLength(headers) ?? 0) > 0;
}

/** Loads the item of the new file, or the folder in which an item will be created for it. */
async function loadUploadParent(context: HostContext, type: 'folder' | 'item', parentId: string, principal: Principal) {
  const { models } = context;
  const item = type === 'item' ? await models.item.findById(parentId).lean<ItemDocument>() : null;
  const folder = await models.folder.findById(type === 'item' ? item?.folderId : parentId).lean<FolderDocument>();
  if (folder === null || (type === 'item' && item === null)) throw new InvalidError(`No such ${type}: ${parentId}`, 'id');
  requireLevel('folder', folder, principal, 1);
  return { item, folder };
}

function resultView(context: HostContext, result: UploadResult, principal: Principal) {
  return 'file' in result ? fileView(result.file, principal, context.storeId) : uploadView(result.upload);
}

type BodyInput = Pick<RouteInput<never, never, 'stream'>, 'headers' | 'body' | 'signal'> & { caller: Caller | null };

/**
 * Starts an upload. If the request also contains the bytes, the upload is complete afterwards, or discarded if the request fails.
 */
async function startUpload(
  context: HostContext,
  upload: Omit<NewUpload, 'hasBytes'>,
  { headers, body, signal, caller }: BodyInput,
  principal: Principal,
): Promise<Record<string, unknown>> {
  const hasBytes = upload.size === 0 || isFileBody(headers);
  const newUpload = await createUpload(context, { ...upload, hasBytes });
  try {
    if (upload.size === 0) {
      const file = await completeUpload(context, newUpload._id, caller);
      return fileView(file, principal, context.storeId);
    }
    if (!hasBytes) return uploadView(newUpload);
    const chunk = { offset: 0, body, announcedBytes: readContentLength(headers), caller, signal };
    const result = await receiveChunk(context, newUpload._id, chunk);
    if ('upload' in result) await markKnownToClient(context, newUpload);
    return resultView(context, result, principal);
  } catch (error) {
    await discardUpload(context, newUpload);
    throw error;
  }
}

async function loadOwnUpload(context: HostContext, uploadId: string, principal: Principal): Promise<UploadDocument> {
  const upload = await loadUpload(context, uploadId);
  const isOwn = upload.userId !== null && principal.id !== null && upload.userId.equals(principal.id);
  if (!isOwn) throw new AccessDeniedError('You did not initiate this upload.');
  return upload;
}

/** Loads an upload of the caller, who must still have write access to its parent. */
async function loadWritableUpload(context: HostContext, uploadId: string, principal: Principal): Promise<UploadDocument> {
  const upload = await loadOwnUpload(context, uploadId, principal);
  await loadUploadParent(context, upload.parentType, upload.parentId.toHexString(), principal);
  return upload;
}

/** Routes for uploads, in one request or in several. */
export const uploadRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'post',
    path: '/file',
    summary: 'Start an upload, upload a whole file as the body of the request, or create a file that links to an address.',
    access: 'user',
    scope: scopes.write,
    query: {
      parentType: required(oneOf(['folder', 'item'], { description: 'Whether the parent of the file is a folder or an item.' })),
      parentId: required(id()),
      name: required(text()),
      size: integer({ minimum: 0, maximum: maxFileBytes, description: 'Length of the file in bytes.' }),
      mimeType: text(),
      reference: text({ description: 'Text that is passed to the event handlers when the upload is complete.' }),
      linkUrl: text({ description: 'Address that the file links to. No bytes are uploaded then.' }),
      assetstoreId: id(),
      uploadExtraParameters: text(),
    },
    body: 'stream',
    bodyOptional: true,
    returns: { schema: uploadResult },
    errors: ['bad-parameter', 'invalid', 'access-denied'],
    async authorize({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return { principal, ...(await loadUploadParent(context, query.parentType, query.parentId, principal)) };
    },
    async handle({ query, authorized: { principal, item, folder }, caller, body, headers, signal }, context) {
      const { parentType, parentId, name, size, mimeType, reference, linkUrl } = query;
      if (query.assetstoreId !== undefined && !context.storeId.equals(query.assetstoreId)) {
        throw new InvalidError(`No such assetstore: ${query.assetstoreId}`, 'id');
      }
      if (linkUrl !== undefined) return createLink(context, { item, folder, name, mimeType, linkUrl }, principal);
      if (size === undefined) throw new BadParameterError('Parameter "size" is required.');
      const upload = {
        name,
        size,
        mimeType,
        reference,
        parentType,
        parentId: new Types.ObjectId(parentId),
        userId: principal.id,
      };
      return startUpload(context, upload, { headers, body, signal, caller }, principal);
    },
  }),
  defineRoute({
    method: 'post',
    path: '/file/chunk',
    summary: 'Send the next chunk of an upload. The last chunk creates the file.',
    access: 'user',
    scope: scopes.write,
    query: {
      uploadId: required(id()),
      offset: withDefault(integer({ minimum: 0, description: 'Number of bytes that were sent before this chunk.' }), 0),
    },
    body: 'stream',
    bodyOptional: true,
    returns: { schema: uploadResult },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied', 'conflict'],
    async authorize({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return { principal, upload: await loadWritableUpload(context, query.uploadId, principal) };
    },
    async handle({ query, authorized: { principal, upload }, caller, body, headers, signal }, context) {
      if (readContentType(headers) === 'multipart/form-data') {
        throw new BadParameterError(
          'Multipart encoding is no longer supported. Send the chunk in the request body, and other parameters in the query string.',
        );
      }
      const chunk = { offset: query.offset, body, announcedBytes: readContentLength(headers), caller, signal };
      return resultView(context, await receiveChunk(context, upload._id, chunk), principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/file/offset',
    summary: 'Get the number of bytes of an upload that have arrived.',
    access: 'user',
    scope: scopes.write,
    query: { uploadId: required(id()) },
    returns: { schema: objectOf({ offset: anyInteger }) },
    errors: ['unknown-id'],
    async handle({ query, caller }, context) {
      const upload = await loadOwnUpload(context, query.uploadId, await loadPrincipal(context, caller));
      return { offset: await readUploadOffset(context, upload._id) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/file/completion',
    summary: 'Complete an upload whose bytes have all arrived.',
    access: 'user',
    scope: scopes.write,
    query: { uploadId: required(id()) },
    returns: { schema: fileSchema },
    errors: ['bad-parameter', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const upload = await loadWritableUpload(context, query.uploadId, principal);
      return fileView(await completeUpload(context, upload._id, caller), principal, context.storeId);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/file/upload/:id',
    summary: 'Cancel an upload.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    returns: returnsMessage,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const upload = await loadUpload(context, params.id);
      if (!principal.admin) await loadOwnUpload(context, params.id, principal);
      await discardUpload(context, upload);
      return { message: 'Upload canceled.' };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/file/:id/contents',
    summary: 'Start an upload that replaces the contents of a file.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { size: required(integer({ minimum: 0, maximum: maxFileBytes })), reference: text(), assetstoreId: id() },
    body: 'stream',
    bodyOptional: true,
    returns: { schema: uploadResult },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async authorize({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return { principal, file: await loadFile(context, params.id, principal, 1) };
    },
    async handle({ query, authorized: { principal, file }, caller, body, headers, signal }, context) {
      if (file.itemId === null) throw new LargeImageError('bad-value', 'The contents of an attached file cannot be replaced.');
      const upload = {
        name: file.name,
        size: query.size,
        mimeType: file.mimeType,
        reference: query.reference,
        parentType: 'item' as const,
        parentId: file.itemId,
        fileId: file._id,
        userId: principal.id,
      };
      return startUpload(context, upload, { headers, body, signal, caller }, principal);
    },
  }),
];

async function createLink(
  context: HostContext,
  {
    item,
    folder,
    name,
    mimeType,
    linkUrl,
  }: { item: ItemDocument | null; folder: FolderDocument; name: string; mimeType: string | undefined; linkUrl: string },
  principal: Principal,
) {
  const url = linkUrl.trim();
  if (!/^https?:/i.test(url) || !URL.canParse(url)) {
    throw new InvalidError('Linked file URL must start with http: or https:.', 'linkUrl');
  }
  const checkedFileName = checkName('File', name);
  const parent = item ?? (await createItem(context, folder, { name: checkedFileName, creatorId: principal.id }));
  const file = await insertFile(context, parent, {
    name: checkedFileName,
    // The normalized address is ASCII without line breaks, so it can be sent as a header.
    linkUrl: new URL(url).href,
    storage: { kind: 'link' },
    creatorId: principal.id,
    ...(mimeType !== undefined && { mimeType }),
  });
  return fileView(file, principal, context.storeId);
}
