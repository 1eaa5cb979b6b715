import { uploadSchema } from '../http/schemas.js';
import { createRequire } from 'node:module';
import { Types } from 'mongoose';
import {
  BadParameterError,
  InvalidError,
  id,
  oneOf,
  paging,
  number,
  text,
  type RouteDefinition,
  anyNumber,
  orNull,
  anyObject,
  anyText,
  anything,
  dateText,
  idText,
  listOf,
  mapOf,
  objectOf,
  anyBoolean,
  anyInteger,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { UploadDocument } from '../uploads/upload.model.js';
import { replyWithPage } from '../tree/lists.js';
import { readDiskCapacity } from '../uploads/capacity.js';
import { discardUpload } from '../uploads/upload-removal.js';
import { accessFlags } from '../access/access.routes.js';
import { scopes } from '../http/parameters.js';
import { uploadView } from '../views.js';

/** Version of the protocol, which clients check. They compare its parts as texts, so the first part must be a single digit, 3 or more. */
const protocolRelease = '5.0.21';

const { version: pluginVersion } = createRequire(import.meta.url)('express-large-image/package.json') as { version: string };

const uploadParameters = {
  uploadId: id(),
  userId: id(),
  parentId: id(),
  assetstoreId: id(),
  minimumAge: number({ description: 'Only uploads that were not continued for this many days.', minimum: 0, maximum: 36_500 }),
};

function createUploadFilter(query: {
  uploadId?: string | undefined;
  userId?: string | undefined;
  parentId?: string | undefined;
  minimumAge?: number | undefined;
}) {
  const days = query.minimumAge ?? 0;
  return {
    ...(query.uploadId !== undefined && { _id: new Types.ObjectId(query.uploadId) }),
    ...(query.userId !== undefined && { userId: new Types.ObjectId(query.userId) }),
    ...(query.parentId !== undefined && { parentId: new Types.ObjectId(query.parentId) }),
    ...(days > 0 && { updated: { $lte: new Date(Date.now() - days * 24 * 60 * 60 * 1000) } }),
  };
}

/** Routes for the server itself. */
export const systemRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/system/version',
    summary: 'Get the version of the protocol, and the time when the server started.',
    access: 'public',
    returns: { schema: objectOf({ release: anyText, apiVersion: anyText, serverStartDate: dateText }) },
    handle: (_input, { startDate }) => ({ release: protocolRelease, apiVersion: protocolRelease, serverStartDate: startDate }),
  }),
  defineRoute({
    method: 'get',
    path: '/system/check',
    summary: 'Check whether the server works, and how long it has been running.',
    access: 'public',
    query: { mode: oneOf(['basic', 'quick', 'slow']) },
    returns: {
      schema: {
        ...objectOf({ bootTime: dateText, currentTime: dateText, uptimeSeconds: anyNumber, database: anyText }),
        additionalProperties: true,
      },
    },
    async handle(_input, { models, startDate }) {
      await models.hostState.findById('store').lean();
      return {
        bootTime: startDate,
        currentTime: new Date(),
        uptimeSeconds: (Date.now() - startDate.getTime()) / 1000,
        database: 'ok',
      };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/system/access_flag',
    summary: 'List the flags that access lists can contain.',
    access: 'public',
    returns: { schema: mapOf(objectOf({ name: anyText, description: anyText, admin: anyBoolean })) },
    handle: () => accessFlags,
  }),
  defineRoute({
    method: 'get',
    path: '/system/public_settings',
    summary: 'Get the settings that pages need before sign-in.',
    access: 'public',
    returns: { schema: anyObject },
    async handle(_input, context) {
      const names = [
        'core.brand_name',
        'core.contact_email_address',
        'core.privacy_notice',
        'core.banner_color',
        'core.show_download',
        'core.registration_policy',
        'core.enable_password_login',
      ] as const;
      return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await context.setting(name)] as const)));
    },
  }),
  defineRoute({
    method: 'get',
    path: '/system/configuration',
    summary: 'Get the options with which the server was started: all sections, one section, or one of its values.',
    access: 'admin',
    query: {
      section: text({ description: 'server or storage.' }),
      key: text({ description: 'Name of one value of the section.' }),
    },
    returns: { schema: anything },
    errors: ['bad-parameter'],
    handle({ query }, { apiRoot, cookieName, store, storeId }) {
      const sections: Record<string, Record<string, unknown>> = {
        server: { apiRoot, cookieName, mode: 'production', node: process.version },
        storage: { id: storeId, root: store.root },
      };
      if (query.section === undefined) return sections;
      const section = Object.hasOwn(sections, query.section) ? sections[query.section] : undefined;
      if (section === undefined) throw new BadParameterError(`No such section: ${query.section}.`);
      if (query.key === undefined) return section;
      if (!Object.hasOwn(section, query.key))
        throw new BadParameterError(`No such key in section ${query.section}: ${query.key}.`);
      return section[query.key];
    },
  }),
  defineRoute({
    method: 'post',
    path: '/system/rescan',
    summary: 'Scan the files and buckets that are served in place, and update their items.',
    access: 'admin',
    scope: scopes.write,
    returns: {
      schema: objectOf({
        files: { ...anyInteger, description: 'Number of files that are served in place.' },
        added: { ...anyInteger, description: 'Number of new files.' },
        moved: { ...anyInteger, description: 'Number of files that were moved or renamed, and keep their items.' },
        changed: { ...anyInteger, description: 'Number of files with changed bytes.' },
        missing: { ...anyInteger, description: 'Number of files that no longer exist. Their items are kept, and marked.' },
      }),
    },
    errors: ['invalid'],
    async handle(_input, { rescan }) {
      if (rescan === null) throw new InvalidError('There is nothing to scan: this server serves no folder or bucket in place.');
      return { ...(await rescan()) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/system/plugins',
    summary: 'List the installed plugins.',
    access: 'admin',
    scope: scopes.readPlugins,
    returns: {
      schema: objectOf({
        all: mapOf(objectOf({ name: anyText, description: anyText, url: anyText, version: anyText })),
        loaded: listOf(anyText),
      }),
    },
    handle: () => ({
      all: {
        large_image: {
          name: 'Large images',
          description: 'Tiles, regions, thumbnails and more of gigapixel images.',
          url: '',
          version: pluginVersion,
        },
      },
      loaded: ['large_image'],
    }),
  }),
  defineRoute({
    method: 'get',
    path: '/system/uploads',
    summary: 'List unfinished uploads.',
    access: 'admin',
    scope: scopes.readUploads,
    query: { ...uploadParameters, ...paging('updated') },
    returns: { schema: listOf(uploadSchema) },
    async handle({ query }, { models }) {
      return replyWithPage(models.upload, createUploadFilter(query), query, uploadView);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/system/uploads',
    summary: 'Discard unfinished uploads.',
    access: 'admin',
    scope: scopes.cleanUploads,
    query: uploadParameters,
    returns: { schema: listOf(uploadSchema) },
    async handle({ query }, context) {
      const uploads = await context.models.upload.find(createUploadFilter(query)).lean<UploadDocument[]>();
      for (const upload of uploads) await discardUpload(context, upload);
      return uploads.map(uploadView);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/assetstore',
    summary: 'List where files are stored.',
    access: 'admin',
    scope: scopes.readAssetstore,
    returns: {
      schema: listOf(
        objectOf({
          _id: idText,
          name: anyText,
          type: anyInteger,
          root: anyText,
          current: anyBoolean,
          created: dateText,
          capacity: orNull(objectOf({ free: anyNumber, total: anyNumber })),
        }),
      ),
    },
    async handle(_input, context) {
      const { storeId, store, startDate } = context;
      const capacity = await readDiskCapacity(context);
      return [{ _id: storeId, name: 'Data directory', type: 0, root: store.root, current: true, created: startDate, capacity }];
    },
  }),
];
