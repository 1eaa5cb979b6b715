import { annotationMatrix } from './access-matrix-annotation.js';
import type { Sending } from '../hosts/reference-host.js';

/** Callers; `limited` has a token of the writer (of the administrator, for their routes) without the scope of the route. */
export const callers = ['anonymous', 'stranger', 'reader', 'writer', 'admin', 'limited'] as const;
export type CallerName = (typeof callers)[number];

/**
 * The subjects of requests. Item and job are created again for requests that change them. The job belongs to the writer and is not
 * public.
 */
export interface Subjects {
  folder: string;
  item: string;
  job: string;
  /** An annotation on the item. The writer may write it, the reader may read it. */
  annotation: string;
  version: string;
  /** Id of the calling user; `None` if there is no user. */
  user: string;
}

/** The response to a refused caller; `null` if the caller is admitted. */
export type Verdict = [status: number, message: string] | null;
type Verdicts = (subjects: Subjects) => Record<CallerName, Verdict>;

const refused = (status: 401 | 403, message: string): Verdict => [status, message];

function verdicts(
  anonymous: (subjects: Subjects) => Verdict,
  others: (subjects: Subjects) => Partial<Record<'stranger' | 'reader' | 'writer' | 'admin', Verdict>>,
): Verdicts {
  return (subjects) => ({
    anonymous: anonymous(subjects),
    // A token without the scope makes the request anonymous.
    limited: anonymous(subjects),
    stranger: null,
    reader: null,
    writer: null,
    admin: null,
    ...others(subjects),
  });
}

const annotationDenied = (level: string) => (subjects: Subjects) =>
  refused(403, `${level} access denied for annotation ${subjects.annotation} (user ${subjects.user}).`);
const annotateDenied = refused(403, 'Write access and annotation creation access were denied for the item.');
const loggedIn = () => refused(401, 'You must be logged in.');
const folderDenied = (level: string) => (subjects: Subjects) =>
  refused(403, `${level} access denied for folder ${subjects.folder} (user ${subjects.user}).`);
/** For routes whose errors name the requested item and not the folder that has the access list. */
const itemDenied = (subjects: Subjects) => refused(403, `Read access denied for item ${subjects.item} (user ${subjects.user}).`);
const jobDenied = (level: string) => (subjects: Subjects) =>
  refused(403, `${level} access denied for job ${subjects.job} (user ${subjects.user}).`);
const as401 =
  (denied: (subjects: Subjects) => Verdict) =>
  (subjects: Subjects): Verdict => [401, denied(subjects)![1]];

const jobWrite = verdicts(loggedIn, (subjects) => {
  const denied = jobDenied('Write')(subjects);
  return { stranger: denied, reader: denied };
});

/** Kinds of routes by who may use them. */
export const kinds = {
  /** Everybody. */
  public: verdicts(
    () => null,
    () => ({}),
  ),
  /** Everyone who is signed in. */
  user: verdicts(loggedIn, () => ({})),
  /** Site administrators, who can do everything. */
  admin: verdicts(
    () => refused(401, 'Administrator access required.'),
    () => {
      const denied = refused(403, 'Administrator access required.');
      return { stranger: denied, reader: denied, writer: denied };
    },
  ),
  /** Callers who may read the folder. */
  read: verdicts(as401(folderDenied('Read')), (subjects) => ({ stranger: folderDenied('Read')(subjects) })),
  /** Those who may read the folder. All others are answered with 401, because clients take 403 for data that are not stored. */
  zarr: verdicts(as401(folderDenied('Read')), (subjects) => ({ stranger: as401(folderDenied('Read'))(subjects) })),
  /** Only callers with the token of a link. */
  link: () => {
    const denied = refused(401, 'This link is invalid, has expired or was revoked.');
    return { anonymous: denied, limited: denied, stranger: denied, reader: denied, writer: denied, admin: denied };
  },
  /** Callers who may read the item. */
  itemRead: verdicts(as401(itemDenied), (subjects) => ({ stranger: itemDenied(subjects) })),
  /** Callers who are signed in and may write the folder. */
  write: verdicts(loggedIn, (subjects) => {
    const denied = folderDenied('Write')(subjects);
    return { stranger: denied, reader: denied };
  }),
  /** Callers who may write the folder. Anonymous callers are told that they lack this right, not that they must sign in. */
  publicWrite: verdicts(as401(folderDenied('Write')), (subjects) => {
    const denied = folderDenied('Write')(subjects);
    return { stranger: denied, reader: denied };
  }),
  /** Callers who are signed in and may read the folder. */
  userRead: verdicts(loggedIn, (subjects) => ({ stranger: folderDenied('Read')(subjects) })),
  /** Callers who are signed in, may read the item, and may write the target folder, which is the same folder here. */
  copy: verdicts(loggedIn, (subjects) => ({
    stranger: folderDenied('Read')(subjects),
    reader: folderDenied('Write')(subjects),
  })),
  /** Callers who may read the annotation. */
  annotationRead: verdicts(as401(annotationDenied('Read')), (subjects) => ({ stranger: annotationDenied('Read')(subjects) })),
  /** Callers who are signed in and may write the annotation. */
  annotationWrite: verdicts(loggedIn, (subjects) => {
    const denied = annotationDenied('Write')(subjects);
    return { stranger: denied, reader: denied };
  }),
  /** Callers who may restore former versions. Anonymous callers are first told that they may not read it. */
  annotationRevert: verdicts(as401(annotationDenied('Read')), (subjects) => ({
    stranger: annotationDenied('Read')(subjects),
    reader: annotationDenied('Write')(subjects),
  })),
  /** Callers who administer the annotation. */
  annotationOwn: verdicts(loggedIn, (subjects) => {
    const denied = annotationDenied('Admin')(subjects);
    return { stranger: denied, reader: denied, writer: denied };
  }),
  /** Callers who may write the item. */
  annotationCreate: verdicts(loggedIn, (subjects) => ({ stranger: folderDenied('Read')(subjects), reader: annotateDenied })),
  /** Callers who may read the annotation and annotate the item. */
  annotationCopy: verdicts(loggedIn, (subjects) => ({ stranger: annotationDenied('Read')(subjects), reader: annotateDenied })),
  /** Callers who may write the item and administer its annotations. */
  annotationClear: verdicts(loggedIn, (subjects) => {
    const denied = folderDenied('Write')(subjects);
    return { stranger: denied, reader: denied, writer: annotationDenied('Admin')(subjects) };
  }),
  /** Callers who may read the job. */
  jobRead: verdicts(as401(jobDenied('Read')), (subjects) => {
    const denied = jobDenied('Read')(subjects);
    return { stranger: denied, reader: denied };
  }),
  jobWrite,
  jobOwn: verdicts(loggedIn, (subjects) => {
    const denied = jobDenied('Admin')(subjects);
    return { stranger: denied, reader: denied };
  }),
  /** A token of any kind. Tokens of users need rights on the job, all others need a special scope. */
  jobUpdate: (subjects: Subjects) => ({
    ...jobWrite(subjects),
    anonymous: refused(401, 'You must be logged in or have a valid auth token.'),
    limited: refused(401, `Invalid token scope, required: jobs.job_${subjects.job}.`),
  }),
  /** A token for creating jobs, which no caller here has. */
  jobCreate: () => {
    const denied = refused(403, 'Invalid token scope, required: jobs.rest.create_job.');
    return {
      anonymous: refused(401, 'You must be logged in or have a valid auth token.'),
      limited: refused(401, 'Invalid token scope, required: jobs.rest.create_job.'),
      stranger: denied,
      reader: denied,
      writer: denied,
      admin: denied,
    };
  },
} satisfies Record<string, Verdicts>;

/** The expected results of a route. */
export interface MatrixEntry {
  kind: keyof typeof kinds;
  /** The scope as the contract names it; none if a full sign-in is required. */
  scope?: 'core.data.read' | 'core.data.write' | 'core.data.own' | 'core.user_auth' | 'core.setting.read' | 'jobs.rest.list_job';
  /** Parameters of a valid request, in addition to the path. */
  sending?: Sending | ((subjects: Subjects) => Sending);
  /** Values of the parameters of the path other than item, folder and job. */
  params?: Readonly<Record<string, string>>;
  /** Status for admitted callers if it is not 200. */
  admitted?: number;
  /** Status for a token that has only this scope, if the route needs another one as well. */
  alone?: number;
}

const config = { body: '[a]\nb = 1\n' };
const tile = { level: '0', z: '0', x: '0', y: '0', frame: '0', xandy: '0_0.jpg', image: 'label' };
const iiif = { params: { region: 'full', size: '8,', rotation: '0', file: 'default.jpg' } };
const noLink = { linkId: '0'.repeat(24) };
const noComment = { params: { id: '0'.repeat(24) }, admitted: 400 } as const;
const commentRead = { kind: 'public', scope: 'core.data.read', ...noComment } as const;
const commentWrite = { kind: 'user', scope: 'core.data.write', ...noComment } as const;
const zarr = { kind: 'zarr', scope: 'core.data.read' } as const;
const link = { kind: 'link' } as const;
const dicomUids = { study: '1.2.3', series: '1.2.4', instance: '1.2.5', frames: '1', name: 'icc' };
const dicomSearch = { kind: 'public', scope: 'core.data.read', params: dicomUids } as const;
const dicomGone = { ...dicomSearch, admitted: 404 } as const;
const dicomLink = { ...link, params: dicomUids } as const;
const dicomStore = { kind: 'public', scope: 'core.data.write', params: dicomUids, admitted: 501 } as const;
/** Storing is never possible, so the link is not checked. */
const dicomStoreByLink = { kind: 'public', params: { ...dicomUids, token: 'x'.repeat(43) }, admitted: 501 } as const;
const itemRead = { kind: 'read', scope: 'core.data.read' } as const;
const itemWrite = { kind: 'write', scope: 'core.data.write' } as const;
const everybody = { kind: 'public', scope: 'core.data.read' } as const;
const adminRead = { kind: 'admin', scope: 'core.data.read' } as const;
const adminWrite = { kind: 'admin', scope: 'core.data.write' } as const;

/** Every route of the plugin. The test fails for a route that is not here: add who may use it. */
export const accessMatrix: Readonly<Record<string, MatrixEntry>> = {
  'GET /large_image/cache': adminRead,
  'PUT /large_image/cache/clear': adminWrite,
  'GET /large_image/config': { kind: 'admin', scope: 'core.user_auth' },
  'POST /large_image/config/validate': { ...adminWrite, sending: config },
  'POST /large_image/config/format': { ...adminWrite, sending: config },
  'POST /large_image/config/replace': {
    kind: 'admin',
    scope: 'core.user_auth',
    sending: { ...config, query: { restart: false } },
  },
  'DELETE /large_image/tiles/incomplete': adminWrite,
  'GET /large_image/tiles/refused': adminRead,
  'PUT /large_image/folder/:folderId/tiles': itemWrite,
  'GET /large_image/settings': everybody,
  'GET /large_image/sources': everybody,
  'GET /large_image/thumbnails': adminRead,
  'PUT /large_image/thumbnails': { ...adminWrite, sending: { query: { spec: '[]' } } },
  'DELETE /large_image/thumbnails': adminWrite,
  'GET /large_image/associated_images': adminRead,
  'DELETE /large_image/associated_images': adminWrite,
  'GET /large_image/histograms': adminRead,
  'DELETE /large_image/histograms': adminWrite,
  'GET /system/setting': { kind: 'admin', scope: 'core.setting.read', sending: { query: { key: 'large_image.auto_set' } } },
  'GET /system/setting/definitions': { kind: 'admin', scope: 'core.setting.read' },
  'PUT /system/setting': {
    kind: 'admin',
    scope: 'core.user_auth',
    sending: { query: { key: 'large_image.show_viewer', value: 'true' } },
  },
  'DELETE /system/setting': { kind: 'admin', scope: 'core.user_auth', sending: { query: { key: 'large_image.show_viewer' } } },

  'GET /folder/:id/yaml_config/:name': { ...itemRead, params: { name: '.large_image_config.yaml' } },
  'PUT /folder/:id/yaml_config/:name': {
    kind: 'publicWrite',
    scope: 'core.data.write',
    params: { name: '.large_image_config.yaml' },
    sending: { body: 'a: 1' },
  },
  ...annotationMatrix,

  'GET /item/:itemId/tiles': itemRead,
  'POST /item/:itemId/tiles': { ...itemWrite, admitted: 400 },
  'POST /item/:itemId/tiles/convert': { kind: 'copy', scope: 'core.data.write' },
  'DELETE /item/:itemId/tiles': itemWrite,
  'PUT /item/:itemId/tiles/pixel_size': { ...itemWrite, sending: { query: { mm_x: '0.001' } } },
  'DELETE /item/:itemId/tiles/pixel_size': itemWrite,
  'GET /item/:itemId/tiles/internal_metadata': itemRead,
  'GET /item/:itemId/tiles/zxy/:z/:x/:y': { ...itemRead, params: tile },
  'GET /item/:itemId/tiles/fzxy/:frame/:z/:x/:y': { ...itemRead, params: tile },
  'GET /iiif/:identifier': { ...itemRead, admitted: 303 },
  'GET /iiif/:identifier/info.json': itemRead,
  'GET /iiif/:identifier/:region/:size/:rotation/:file': { ...itemRead, ...iiif },
  'GET /iiif/:identifier/manifest.json': itemRead,
  'GET /iiif/folder/:folderId/collection.json': itemRead,
  'GET /iiif/folder/:folderId/manifest.json': itemRead,
  // Rights to UIDs that exist are tested in test/rest/dicomweb.
  'GET /dicomweb/instances': dicomSearch,
  'GET /dicomweb/t/:token/instances': dicomLink,
  'GET /dicomweb/series': dicomSearch,
  'GET /dicomweb/t/:token/series': dicomLink,
  'GET /dicomweb/studies': dicomSearch,
  'GET /dicomweb/t/:token/studies': dicomLink,
  'GET /dicomweb/studies/:study': dicomGone,
  'GET /dicomweb/t/:token/studies/:study': dicomLink,
  'GET /dicomweb/studies/:study/instances': dicomSearch,
  'GET /dicomweb/t/:token/studies/:study/instances': dicomLink,
  'GET /dicomweb/studies/:study/metadata': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/metadata': dicomLink,
  'GET /dicomweb/studies/:study/series': dicomSearch,
  'GET /dicomweb/t/:token/studies/:study/series': dicomLink,
  'GET /dicomweb/studies/:study/series/:series': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances': dicomSearch,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/bulkdata/:name': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/bulkdata/:name': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/frames/:frames': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/frames/:frames': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/frames/:frames/rendered': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/frames/:frames/rendered': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/metadata': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/metadata': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/rendered': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/rendered': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/instances/:instance/thumbnail': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/instances/:instance/thumbnail': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/metadata': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/metadata': dicomLink,
  'GET /dicomweb/studies/:study/series/:series/thumbnail': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/series/:series/thumbnail': dicomLink,
  'GET /dicomweb/studies/:study/thumbnail': dicomGone,
  'GET /dicomweb/t/:token/studies/:study/thumbnail': dicomLink,
  'POST /dicomweb/studies': dicomStore,
  'POST /dicomweb/t/:token/studies': dicomStoreByLink,
  'POST /dicomweb/studies/:study': dicomStore,
  'POST /dicomweb/t/:token/studies/:study': dicomStoreByLink,
  'GET /item/:itemId/dicomweb': { ...itemRead, admitted: 409 },
  'GET /item/:itemId/zarr/*': { ...zarr, params: { '*': 'a.ome.zarr/zarr.json' } },
  'GET /item/:itemId/zarr2/*': { ...zarr, params: { '*': 'a.ome.zarr/.zgroup' } },
  'GET /folder/:folderId/zarr/*': { ...zarr, params: { '*': 'a.ome.zarr/zarr.json' } },
  'GET /folder/:folderId/zarr2/*': { ...zarr, params: { '*': 'a.ome.zarr/.zgroup' } },
  'GET /item/:itemId/zarr/t/:token/*': link,
  'GET /item/:itemId/zarr2/t/:token/*': link,
  'GET /folder/:folderId/zarr/t/:token/*': link,
  'GET /folder/:folderId/zarr2/t/:token/*': link,
  'GET /item/:itemId/tiles/dzi.dzi': itemRead,
  'GET /item/:itemId/tiles/dzi_files/:level/:xandy': { ...itemRead, params: tile },
  'GET /item/:itemId/tiles/item': itemRead,
  'GET /item/:itemId/tiles/images': itemRead,
  'GET /item/:itemId/tiles/images/:image': { ...itemRead, params: tile },
  'GET /item/:itemId/tiles/images/:image/metadata': { ...itemRead, params: tile },
  'GET /item/:itemId/tiles/thumbnail': itemRead,
  'GET /item/:itemId/tiles/region': itemRead,
  'GET /item/:itemId/tiles/pixel': { ...itemRead, sending: { query: { left: 0, top: 0 } } },
  'GET /item/:itemId/tiles/thumbnails': adminRead,
  'DELETE /item/:itemId/tiles/thumbnails': adminWrite,
  'POST /item/:itemId/tiles/thumbnails': { ...itemWrite, sending: { query: { key: 'key' }, body: 'text' } },
  'GET /item/:itemId/tiles/tile_frames': itemRead,
  'GET /item/:itemId/tiles/tile_frames/quad_info': itemRead,
  'GET /item/:itemId/tiles/histogram': itemRead,
  'GET /item/:itemId/tiles/bands': itemRead,
  'GET /item/:itemId/internal_metadata/:key': { kind: 'read', scope: 'core.user_auth', params: { key: 'presets' } },
  'PUT /item/:itemId/internal_metadata/:key': { ...itemWrite, params: { key: 'presets' }, sending: { json: [] } },
  'DELETE /item/:itemId/internal_metadata/:key': { ...itemWrite, params: { key: 'presets' } },
  'GET /item/test/tiles': everybody,
  'GET /item/test/tiles/zxy/:z/:x/:y': { ...everybody, params: tile },

  'GET /item/:itemId/link': { kind: 'userRead', scope: 'core.data.read' },
  'POST /item/:itemId/link': { kind: 'userRead', scope: 'core.data.write', alone: 401 },
  'GET /folder/:folderId/link': { kind: 'userRead', scope: 'core.data.read' },
  'POST /folder/:folderId/link': { kind: 'userRead', scope: 'core.data.write', alone: 401 },
  'GET /link/view': { ...link, scope: 'core.data.read', admitted: 401 },
  'GET /link/:linkId': { kind: 'user', scope: 'core.data.read', params: noLink, admitted: 400 },
  'PUT /link/:linkId': { kind: 'user', scope: 'core.data.write', params: noLink, admitted: 400 },
  'DELETE /link/:linkId': { kind: 'user', scope: 'core.data.write', params: noLink, admitted: 400 },

  'GET /item/:itemId/comment': itemRead,
  'GET /item/:itemId/comment/places': itemRead,
  'GET /item/:itemId/comment/export': itemRead,
  'POST /item/:itemId/comment': { kind: 'annotationCreate', scope: 'core.data.write', sending: { json: { text: 'a' } } },
  'GET /comment/inbox': { kind: 'user', scope: 'core.data.read' },
  'GET /comment/inbox/count': { kind: 'user', scope: 'core.data.read' },
  'PUT /comment/inbox': { kind: 'user', scope: 'core.data.write', sending: { json: { read: true } } },
  'GET /comment/:id': commentRead,
  'GET /comment/:id/reply': commentRead,
  'POST /comment/:id/reply': commentWrite,
  'PUT /comment/:id': commentWrite,
  'PUT /comment/:id/state': commentWrite,
  'DELETE /comment/:id': commentWrite,

  'GET /job': { kind: 'public', scope: 'jobs.rest.list_job' },
  'GET /job/all': { kind: 'user' },
  'GET /job/typeandstatus': { kind: 'user' },
  'GET /job/typeandstatus/all': { kind: 'user' },
  'GET /job/:id': { kind: 'jobRead' },
  'GET /job/:id/events': { kind: 'jobRead' },
  'PUT /job/:id/cancel': { kind: 'jobWrite' },
  'PUT /job/:id': { kind: 'jobUpdate', sending: { query: { log: 'a line' } } },
  'POST /job': { kind: 'jobCreate', sending: { query: { title: 'a', type: 'b' } } },
  'DELETE /job/:id': { kind: 'jobOwn' },

  'GET /describe': { kind: 'public' },
  'GET /describe/openapi.json': { kind: 'public' },
  'GET /describe/assets/:name': { kind: 'public', params: { name: 'swagger-ui.css' } },
};
