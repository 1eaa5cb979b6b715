import { elementId } from '../hosts/annotated.js';
import type { Sending } from '../hosts/reference-host.js';

/** In the name of everything that only those on the access list may see. */
export const secret = 'unseen';

/** Who calls. `owner` administers the things that requests are about, `admin` the site. */
export const roles = ['anonymous', 'stranger', 'reader', 'writer', 'owner', 'admin'] as const;
export type Role = (typeof roles)[number];

/** What each role may do with a thing: -1 nothing, 0 read, 1 write, 2 administer. */
type Levels = Readonly<Record<Role, -1 | 0 | 1 | 2>>;

const tree: Levels = { anonymous: -1, stranger: -1, reader: 0, writer: 1, owner: 2, admin: 2 };
const nobody: Levels = { anonymous: -1, stranger: -1, reader: -1, writer: -1, owner: -1, admin: -1 };

/** Things that requests are about. All lie in one private folder; job, upload and key are the writer's. */
export const levels = {
  item: tree,
  folder: tree,
  collection: tree,
  file: tree,
  group: tree,
  annotation: tree,
  job: { ...nobody, reader: 0, owner: 0, writer: 2, admin: 2 },
  upload: { ...nobody, writer: 2 },
  uploadToDiscard: { ...nobody, writer: 2, admin: 2 },
  key: { ...nobody, writer: 2, admin: 2 },
  user: { anonymous: 0, stranger: 0, reader: 0, writer: 0, owner: 0, admin: 2 },
} satisfies Record<string, Levels>;
export type Kind = keyof typeof levels;

/** Ids by kind, and others that requests need. */
export type Things = Readonly<Record<Kind | 'bare' | 'version' | 'list', string>>;

/** What is said of a route: what it is about, and the level that its caller needs on that. */
export interface Row {
  kind: Kind | null;
  level: 0 | 1 | 2;
  /** What a harmless valid request sends; what an admitted one breaks is made anew (`fresh`). */
  sending: (things: Things) => Sending;
  /** Parameters of the path beside the id. */
  params: (things: Things) => Readonly<Record<string, string>>;
  fresh: boolean;
  /** Scope that a handler asks for beside what the route declares. */
  scope: string | null;
  /** Refuses by this in place of 401 and 403. */
  denied: number | null;
  /** Statuses that an admitted caller may hear although they look like a refusal. */
  admitted: readonly number[];
}

type Options = Partial<Omit<Row, 'kind' | 'level' | 'sending' | 'params'>> & {
  sending?: Sending | Row['sending'];
  params?: Readonly<Record<string, string>> | Row['params'];
};

function row(kind: Kind | null, level: 0 | 1 | 2, { sending = {}, params = {}, ...options }: Options = {}): Row {
  return {
    kind,
    level,
    fresh: false,
    scope: null,
    denied: null,
    admitted: [],
    ...options,
    sending: typeof sending === 'function' ? sending : () => sending,
    params: typeof params === 'function' ? params : () => params,
  };
}

/** Nothing in particular: access and scope that the route declares decide alone. */
const open = (options?: Options) => row(null, 0, options);
const read = (kind: Kind, options?: Options) => row(kind, 0, options);
const write = (kind: Kind, options?: Options) => row(kind, 1, options);
const own = (kind: Kind, options?: Options) => row(kind, 2, options);

const config = { body: '[a]\nb = 1\n' };
const tile = { level: '0', z: '0', x: '0', y: '0', frame: '0', xandy: '0_0.jpg', image: 'label' };
const iiif: Options = {
  params: ({ item }) => ({ identifier: item, region: 'full', size: '8,', rotation: '0', file: 'default.jpg' }),
};
const zarr: Options = { params: { '*': 'a.ome.zarr/zarr.json' }, denied: 401 };
const byLink: Options = { ...zarr, admitted: [401] };
const element = { elementId: elementId(1) };
const presets = { key: 'presets' };
const yaml = { name: '.large_image_config.yaml' };
const listOf = ({ list }: Things): Sending => ({ query: { access: list } });
const resources = (level: 0 | 2, options: Options = {}) =>
  row('item', level, {
    sending: ({ item, folder }) => ({
      query: { resources: JSON.stringify({ item: [item] }), parentType: 'folder', parentId: folder },
    }),
    ...options,
  });
const scheduled: Options = { scope: 'core.data.write', sending: { query: { cache: 'schedule' } } };
const one = { size: 1 };
/** A small body that no route takes. */
const broken: Sending = { body: '{"', headers: { 'Content-Type': 'application/json' } };

/** Every route, of plugin and host, and requests of it that need more. A route that is not here fails the test: say what it is about. */
export const rightsRows: Readonly<Record<string, Row>> = {
  // Accounts
  'GET /user/authentication': open({ admitted: [401, 429] }),
  'DELETE /user/authentication': open({ fresh: true }),
  'GET /user/me': open(),
  'GET /user/details': open(),
  'GET /user': open(),
  'POST /user': open(),
  'GET /user/:id': read('user'),
  'GET /user/:id/details': read('user'),
  'PUT /user/:id': write('user', { sending: { query: { firstName: '', lastName: 'b', email: 'c' } } }),
  'PUT /user/password': open({ sending: { query: { old: 'x', new: 'y' } }, admitted: [403, 429] }),
  'PUT /user/:id/password': own('user', { sending: { query: { password: 'x' } } }),
  'DELETE /user/:id': own('user', { fresh: true }),
  'GET /token/session': open({ admitted: [429] }),
  'DELETE /token/session': open({ fresh: true }),
  'GET /token/current': open(),
  'GET /token/scopes': open(),
  // A refusal like those of tokens, which everybody hears.
  'POST /user/authentication/link': open({ sending: { query: { link: 'none' } }, admitted: [401] }),
  'POST /api_key/token': open({ sending: { query: { key: 'none' } }, admitted: [429] }),
  'GET /api_key': open(),
  'POST /api_key': open({ sending: { query: { name: 'a', scope: '["core.none"]' } } }),
  'PUT /api_key/:id': own('key'),
  'DELETE /api_key/:id': own('key', { fresh: true }),
  'GET /group': open(),
  'POST /group': open({ sending: { query: { name: '' } } }),
  'GET /group/:id': read('group'),
  'PUT /group/:id': write('group'),
  'DELETE /group/:id': own('group', { fresh: true }),
  'GET /group/:id/member': read('group'),
  'GET /group/:id/access': read('group'),
  'GET /group/:id/invitation': read('group'),
  'POST /group/:id/moderator': own('group', { sending: ({ user }) => ({ query: { userId: user } }) }),
  'DELETE /group/:id/moderator': own('group', { sending: ({ user }) => ({ query: { userId: user } }) }),
  'POST /group/:id/admin': own('group', { sending: ({ user }) => ({ query: { userId: user } }) }),
  'DELETE /group/:id/admin': own('group', { sending: ({ user }) => ({ query: { userId: user } }) }),
  'POST /group/:id/invitation': write('group', { sending: ({ user }) => ({ query: { userId: user } }) }),
  'POST /group/:id/member': read('group'),
  'DELETE /group/:id/member': write('group', { sending: ({ user }) => ({ query: { userId: user } }) }),

  // The tree
  'GET /collection': open(),
  'POST /collection': open({ sending: { query: { name: '' } }, admitted: [403] }),
  'GET /collection/details': open(),
  'GET /collection/:id': read('collection'),
  'GET /collection/:id/details': read('collection'),
  'GET /collection/:id/download': read('collection'),
  'PUT /collection/:id': write('collection'),
  'DELETE /collection/:id': own('collection', { fresh: true }),
  'GET /collection/:id/access': own('collection'),
  'PUT /collection/:id/access': own('collection', { sending: listOf }),
  'PUT /collection/:id/metadata': write('collection', { sending: broken }),
  'DELETE /collection/:id/metadata': write('collection', { sending: broken }),
  'GET /folder': read('folder', { sending: ({ folder }) => ({ query: { parentType: 'folder', parentId: folder } }) }),
  'POST /folder': write('folder', {
    sending: ({ folder }) => ({ query: { parentType: 'folder', parentId: folder, name: '' } }),
  }),
  'GET /folder/:id': read('folder'),
  'GET /folder/:id/details': read('folder'),
  'GET /folder/:id/rootpath': read('folder'),
  'GET /folder/:id/download': read('folder'),
  'PUT /folder/:id': write('folder'),
  'DELETE /folder/:id': own('folder', { fresh: true }),
  'DELETE /folder/:id/contents': write('folder', { fresh: true }),
  'POST /folder/:id/copy': write('folder', {
    fresh: true,
    sending: ({ folder }) => ({ query: { parentType: 'folder', parentId: folder } }),
  }),
  'GET /folder/:id/access': own('folder'),
  'PUT /folder/:id/access': own('folder', { sending: listOf }),
  'PUT /folder/:id/metadata': write('folder', { sending: broken }),
  'DELETE /folder/:id/metadata': write('folder', { sending: broken }),
  'GET /item': read('folder', { sending: ({ folder }) => ({ query: { folderId: folder } }) }),
  'POST /item': write('folder', { sending: ({ folder }) => ({ query: { folderId: folder, name: '' } }) }),
  'GET /item/:id': read('item'),
  'GET /item/:id/first_image': read('item'),
  'GET /item/:id/next_image': read('item'),
  'GET /item/:id/previous_image': read('item'),
  'GET /item/:id/adjacent_images': read('item'),
  'GET /item/query': open({ sending: { query: { query: '{}' } } }),
  'GET /folder/query': open({ sending: { query: { query: '{}' } } }),
  'GET /file/query': open({ sending: { query: { query: '{}' } } }),
  'GET /item/:id/files': read('item'),
  'GET /item/:id/rootpath': read('item'),
  'GET /item/:id/position': read('item', { sending: ({ folder }) => ({ query: { folderId: folder } }) }),
  'GET /item/:id/download': read('item'),
  'PUT /item/:id': write('item'),
  'DELETE /item/:id': write('item', { fresh: true }),
  'POST /item/:id/copy': write('item'),
  'PUT /item/:id/metadata': write('item', { sending: broken }),
  'DELETE /item/:id/metadata': write('item', { sending: broken }),
  'POST /file': write('item', {
    sending: ({ bare }) => ({ query: { parentType: 'item', parentId: bare, name: 'a', linkUrl: 'ftp://a' } }),
  }),
  'POST /file/chunk': own('upload', { sending: ({ upload }) => ({ query: { uploadId: upload, offset: 9 }, body: 'x' }) }),
  'GET /file/offset': own('upload', { sending: ({ upload }) => ({ query: { uploadId: upload } }) }),
  'POST /file/completion': own('upload', { sending: ({ upload }) => ({ query: { uploadId: upload } }) }),
  'DELETE /file/upload/:id': own('uploadToDiscard', { fresh: true }),
  'PUT /file/:id/contents': write('file', { sending: { query: one } }),
  'GET /file/:id': read('file'),
  'PUT /file/:id': write('file'),
  'DELETE /file/:id': write('file', { fresh: true }),
  'POST /file/:id/copy': write('file', { sending: ({ bare }) => ({ query: { itemId: bare } }) }),
  'GET /file/:id/download': read('file'),
  'GET /file/:id/download/:name': read('file', { params: { name: 'a' } }),
  'GET /resource/lookup': read('item', {
    sending: { query: { path: `/collection/${secret}/${secret}/${secret}.png` } },
    denied: 400,
  }),
  'POST /resource/paths': open({ sending: ({ item }) => ({ json: { item: [item] } }) }),
  'GET /resource/:id': read('item', { sending: { query: { type: 'item' } } }),
  'GET /resource/:id/path': read('item', { sending: { query: { type: 'item' } } }),
  'GET /resource/search': open({
    sending: { query: { q: secret.slice(0, 3), mode: 'prefix', types: '["item","folder","collection","group"]' } },
  }),
  'PUT /resource/:id/timestamp': own('item', { sending: { query: { type: 'item' } } }),
  'DELETE /resource': resources(2, { fresh: true }),
  'PUT /resource/move': resources(2),
  'POST /resource/copy': row('item', 1, {
    sending: ({ item, folder }) => ({
      query: { resources: JSON.stringify({ item: [item] }), parentType: 'folder', parentId: folder },
    }),
  }),
  'GET /resource/download': resources(0),
  'POST /resource/download': resources(0),

  // The server
  'GET /notification': open(),
  'GET /notification/stream': open(),
  'GET /system/version': open(),
  'GET /system/plugin_static_files': open(),
  'GET /system/setting/collection_creation_policy/access': open(),
  'GET /system/setting/default': open({ sending: { query: { key: 'large_image.auto_set' } } }),
  'GET /oauth/provider': open(),
  'GET /worker/status': open(),
  'GET /system/check': open(),
  'GET /system/access_flag': open(),
  'GET /system/public_settings': open(),
  'GET /system/configuration': open(),
  'GET /system/plugins': open(),
  'GET /system/uploads': open(),
  'DELETE /system/uploads': open({ sending: ({ item }) => ({ query: { uploadId: item } }) }),
  'GET /assetstore': open(),
  'GET /system/setting': open({ sending: { query: { key: 'large_image.auto_set' } } }),
  'GET /system/setting/definitions': open(),
  'PUT /system/setting': open({ sending: { query: { key: 'none', value: 'true' } } }),
  'DELETE /system/setting': open({ sending: { query: { key: 'large_image.show_viewer' } } }),
  'GET /describe': open(),
  'GET /describe/openapi.json': open(),
  'GET /describe/assets/:name': open({ params: { name: 'describe.js' } }),

  // Large images
  'GET /large_image/cache': open(),
  'PUT /large_image/cache/clear': open(),
  'GET /large_image/config': open(),
  'POST /large_image/config/validate': open({ sending: config }),
  'POST /large_image/config/format': open({ sending: config }),
  'POST /large_image/config/replace': open({ sending: { body: '[', query: { restart: false } } }),
  'DELETE /large_image/tiles/incomplete': open(),
  'GET /large_image/tiles/refused': open(),
  'PUT /large_image/folder/:folderId/tiles': write('folder'),
  'GET /large_image/settings': open(),
  'GET /large_image/sources': open(),
  'GET /large_image/thumbnails': open(),
  'PUT /large_image/thumbnails': open({ sending: { query: { spec: '{' } } }),
  'DELETE /large_image/thumbnails': open(),
  'GET /large_image/associated_images': open(),
  'DELETE /large_image/associated_images': open(),
  'GET /large_image/histograms': open(),
  'DELETE /large_image/histograms': open(),
  'GET /folder/:id/yaml_config/:name': read('folder', { params: yaml }),
  'PUT /folder/:id/yaml_config/:name': write('folder', { params: yaml, sending: { body: '[' } }),
  'GET /item/:itemId/tiles': read('item'),
  'POST /item/:itemId/tiles': write('item'),
  'POST /item/:itemId/tiles/convert': write('item', { sending: ({ folder }) => ({ query: { fileId: folder } }) }),
  'DELETE /item/:itemId/tiles': write('item', { fresh: true }),
  'GET /item/:itemId/tiles/internal_metadata': read('item'),
  'GET /item/:itemId/tiles/zxy/:z/:x/:y': read('item', { params: tile }),
  'GET /item/:itemId/tiles/fzxy/:frame/:z/:x/:y': read('item', { params: tile }),
  'GET /iiif/:identifier': read('item', iiif),
  'GET /iiif/:identifier/info.json': read('item', iiif),
  'GET /iiif/:identifier/:region/:size/:rotation/:file': read('item', iiif),
  'GET /iiif/:identifier/manifest.json': read('item', iiif),
  'GET /iiif/folder/:folderId/collection.json': read('folder'),
  'GET /iiif/folder/:folderId/manifest.json': read('folder'),
  'GET /item/:itemId/zarr/*': read('item', zarr),
  'GET /item/:itemId/zarr2/*': read('item', zarr),
  'GET /folder/:folderId/zarr/*': read('folder', zarr),
  'GET /folder/:folderId/zarr2/*': read('folder', zarr),
  // They ask for the token of a link, which nobody has here.
  'GET /item/:itemId/zarr/t/:token/*': open(byLink),
  'GET /item/:itemId/zarr2/t/:token/*': open(byLink),
  'GET /folder/:folderId/zarr/t/:token/*': open(byLink),
  'GET /folder/:folderId/zarr2/t/:token/*': open(byLink),
  'GET /item/:itemId/tiles/dzi.dzi': read('item'),
  'GET /item/:itemId/tiles/dzi_files/:level/:xandy': read('item', { params: tile }),
  'GET /item/:itemId/tiles/item': read('item'),
  'GET /item/:itemId/tiles/images': read('item'),
  'GET /item/:itemId/tiles/images/:image': read('item', { params: tile }),
  'GET /item/:itemId/tiles/images/:image/metadata': read('item', { params: tile }),
  'GET /item/:itemId/tiles/thumbnail': read('item'),
  'GET /item/:itemId/tiles/region': read('item'),
  'GET /item/:itemId/tiles/pixel': read('item', { sending: { query: { left: 0, top: 0 } } }),
  'GET /item/:itemId/tiles/thumbnails': open(),
  'DELETE /item/:itemId/tiles/thumbnails': open(),
  'POST /item/:itemId/tiles/thumbnails': write('item', { sending: { query: { key: 'key' }, body: 'text' } }),
  'GET /item/:itemId/tiles/tile_frames': read('item'),
  'GET /item/:itemId/tiles/tile_frames/quad_info': read('item'),
  'GET /item/:itemId/tiles/histogram': read('item'),
  // What makes a job is no mere reading.
  'GET /item/:itemId/tiles/histogram with cache=schedule': write('item', scheduled),
  'GET /item/:itemId/tiles/tile_frames/quad_info with cache=schedule': write('item', scheduled),
  'GET /item/:itemId/tiles/bands': read('item'),
  'GET /item/:itemId/internal_metadata/:key': read('item', { params: presets }),
  'PUT /item/:itemId/internal_metadata/:key': write('item', { params: presets, sending: broken }),
  'DELETE /item/:itemId/internal_metadata/:key': write('item', { params: presets }),
  'GET /item/test/tiles': open(),
  'GET /item/test/tiles/zxy/:z/:x/:y': open({ params: tile }),

  'GET /item/:itemId/link': read('item'),
  'POST /item/:itemId/link': read('item', { scope: 'core.data.read', sending: broken }),
  'GET /folder/:folderId/link': read('folder'),
  'POST /folder/:folderId/link': read('folder', { scope: 'core.data.read', sending: broken }),
  'GET /link/:linkId': open({ params: ({ bare }) => ({ linkId: bare }) }),
  'PUT /link/:linkId': open({ params: ({ bare }) => ({ linkId: bare }), sending: broken }),
  'DELETE /link/:linkId': open({ params: ({ bare }) => ({ linkId: bare }) }),

  // Jobs
  'GET /job': open(),
  'GET /job/all': open(),
  'GET /job/typeandstatus': open(),
  'GET /job/typeandstatus/all': open(),
  'GET /job/:id': read('job'),
  'GET /job/:id/events': read('job'),
  'PUT /job/:id/cancel': write('job', { fresh: true }),
  'PUT /job/:id': write('job', { scope: 'core.user_auth', sending: { query: { log: 'a line' } } }),
  'POST /job': open({ scope: 'jobs.rest.create_job', sending: { query: { title: 'a', type: 'b' } } }),
  'DELETE /job/:id': own('job', { fresh: true }),

  // Annotations
  'GET /annotation': read('item', { sending: ({ item }) => ({ query: { itemId: item } }) }),
  'GET /annotation/schema': open(),
  'GET /annotation/images': open(),
  'GET /annotation/events': read('item', { sending: ({ item }) => ({ query: { itemId: item, timeout: 1 } }) }),
  'GET /annotation/counts': read('item', { sending: ({ item }) => ({ query: { items: item } }) }),
  'GET /annotation/old': open(),
  'DELETE /annotation/old': open(),
  'POST /annotation': write('item', { sending: ({ item }) => ({ ...broken, query: { itemId: item } }) }),
  'GET /annotation/:id': read('annotation'),
  'GET /annotation/:id/:format': read('annotation', { params: { format: 'geojson' } }),
  'GET /annotation/:id/tiles': read('annotation'),
  'GET /annotation/:id/tiles/zxy/:z/:x/:y': read('annotation', { params: tile }),
  'GET /annotation/:id/tiles/mvt/:z/:x/:y': read('annotation', { params: tile }),
  'PUT /annotation/:id': write('annotation', { sending: broken }),
  'PATCH /annotation/:id': write('annotation', { sending: broken }),
  'DELETE /annotation/:id': write('annotation', { fresh: true }),
  'POST /annotation/:id/copy': write('annotation', { sending: ({ bare }) => ({ query: { itemId: bare } }) }),
  'GET /annotation/:id/elements/:elementId': read('annotation', { params: element }),
  'POST /annotation/:id/elements': write('annotation', { sending: broken }),
  'PATCH /annotation/:id/elements': write('annotation', { sending: broken }),
  'PUT /annotation/:id/elements/:elementId': write('annotation', { sending: broken, params: element }),
  'PATCH /annotation/:id/elements/:elementId': write('annotation', { sending: broken, params: element }),
  'DELETE /annotation/:id/elements/:elementId': write('annotation', { params: { elementId: elementId(2) } }),
  'GET /annotation/:id/access': own('annotation'),
  'PUT /annotation/:id/access': own('annotation', { sending: listOf }),
  // Those who may not read it are shown an empty list.
  'GET /annotation/:id/history': open(),
  'GET /annotation/:id/history/:version': read('annotation', { params: ({ version }) => ({ version }) }),
  'PUT /annotation/:id/history/revert': write('annotation'),
  'PUT /annotation/:id/metadata': write('annotation', { sending: broken }),
  'DELETE /annotation/:id/metadata': write('annotation', { sending: broken }),
  'GET /annotation/item/:id': read('item'),
  'POST /annotation/item/:id': write('item', { sending: broken }),
  'POST /annotation/item/:id/plot/list': read('item'),
  'POST /annotation/item/:id/plot/data': read('item', { sending: { form: { keys: 'item.name' } } }),
  'DELETE /annotation/item/:id': write('item', { fresh: true }),
  // These are about those annotations below the folder that the caller administers: for others there are none.
  'GET /annotation/folder/:id': open(),
  'GET /annotation/folder/:id/present': open(),
  'PUT /annotation/folder/:id/access': open({ sending: listOf, params: ({ bare }) => ({ id: bare }) }),
  'DELETE /annotation/folder/:id': open({ params: ({ bare }) => ({ id: bare }) }),
  'GET /annotation/folder/:id/create': read('folder'),
};

/**
 * Routes that change something although their scope is not for writing, and why that is no harm. All others ask for a scope of
 * {@link writing}, or for a full sign-in.
 */
export const otherChanges: Readonly<Record<string, string>> = {
  'POST /resource/paths': 'reads: ids do not fit into a query string',
  'POST /user': 'registers somebody who has no token yet',
  'POST /user/authentication/link': 'the link is what permits it',
  'POST /api_key/token': 'the key is what permits it',
  'DELETE /user/authentication': 'ends the token that it is sent with',
  'DELETE /token/session': 'ends the token that it is sent with',
  'POST /resource/download': 'reads',
  'POST /annotation/item/:id/plot/list': 'reads',
  'POST /annotation/item/:id/plot/data': 'reads',
  'PUT /job/:id': 'asks for a full sign-in or a token of the job by itself',
  'POST /job': 'asks for a token of its own by itself',
};

/** Scopes of tokens that change something. */
export const writing = ['core.data.write', 'core.data.own', 'core.user_auth', 'core.partial_upload.clean'];
