import { jobDocument, jobRightsOf } from '../jobs/job-document.js';
import { boolean, withDefault } from '../../http/parameters.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import type { CreationOptions } from './large-image-creation.js';
import { readConversionOptions, conversionParameters, copyParameters, selectSentOptions } from './conversion-parameters.js';
import { anyObject, anyText, dateText, idText, objectOf, orNull, anyBoolean } from '../../http/schemas.js';
import { jobSchema } from '../jobs/schema.js';
import { largeImageSchema } from '../pictures/schemas.js';
import { itemPath } from '../items/item-path.js';
import { loadReadableItem } from '../pictures/authorize.js';
import { renderParameters } from '../images/picture-parameters.js';

const get = defineRoute({
  method: 'get',
  path: '/item/:itemId/tiles',
  summary: "Get the metadata of an item's large image: size, tiles, levels, scale, frames.",
  access: 'public',
  scope: scopes.read,
  forLinks: true,
  params: itemPath,
  query: { projection: renderParameters.projection },
  returns: { schema: largeImageSchema },
  errors: ['bad-value', 'unknown-id', 'access-denied', 'no-large-image', 'tile-source'],
  authorize: loadReadableItem,
  handle: ({ query, authorized: item }, { images }) => images.use(item, (image) => image.metadata(query.projection)),
});

const getItem = defineRoute({
  method: 'get',
  path: '/item/:itemId/tiles/item',
  summary: "Get the name, folder and time of the last change of an image's item.",
  description: 'For viewers, because not every server has a route for items.',
  access: 'public',
  scope: scopes.read,
  forLinks: true,
  params: itemPath,
  returns: {
    schema: objectOf({ _id: idText, name: anyText, folderId: idText, updated: dateText }),
  },
  errors: ['unknown-id', 'access-denied'],
  authorize: loadReadableItem,
  handle: ({ authorized: { id, name, folderId, changedAtMs } }) => ({ _id: id, name, folderId, updated: new Date(changedAtMs) }),
});

const internalMetadata = defineRoute({
  method: 'get',
  path: '/item/:itemId/tiles/internal_metadata',
  summary: "Get the format-specific metadata in an image's file.",
  access: 'public',
  scope: scopes.read,
  params: itemPath,
  returns: { schema: anyObject },
  errors: ['unknown-id', 'access-denied', 'no-large-image', 'tile-source'],
  authorize: loadReadableItem,
  handle: ({ authorized: item }, { images }) => images.use(item, (image) => image.internalMetadata()),
});

const createParameters = {
  ...conversionParameters,
  force: withDefault(boolean({ description: 'Convert the file even if a tile source reads it.' }), false),
  notify: withDefault(boolean({ description: 'Notify the caller when a job ends.' }), true),
};

const create = defineRoute({
  method: 'post',
  path: '/item/:itemId/tiles',
  summary: 'Make an item a large image of one of its files.',
  description:
    'Answers null if no conversion is needed. If no tile source reads the file, or with `force`, it answers with the job that converts the file. ' +
    '`force` also converts an existing large image, which stays in use at least until the job succeeds.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  query: createParameters,
  returns: { schema: orNull(jobSchema) },
  errors: ['bad-parameter', 'bad-value', 'invalid', 'unknown-id', 'access-denied', 'login-required', 'tile-source'],
  async handle({ params, query, sent, caller }, { items, imageMarking, creation }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    const conversionOptions = readConversionOptions(query);
    // The item may already be a large image, because a source reads the upload unchanged. With `force`, that image is converted.
    const mustRecreate = query.force && item.largeImage?.fileId !== undefined;
    const file = await (mustRecreate
      ? imageMarking.chooseFileToConvert(item, query.fileId)
      : imageMarking.chooseFile(item, query.fileId));
    const creationOptions: CreationOptions = {
      createJob: query.force ? 'always' : 'when needed',
      localJob: query.localJob ?? false,
      notify: query.notify,
      conversionOptions,
      sentParameters: selectSentOptions(sent, createParameters),
      caller,
    };
    const job = await (mustRecreate
      ? creation.recreate(item, file, creationOptions)
      : creation.create(item, file, creationOptions));
    return job === null ? null : { ...jobDocument(job, caller, jobRightsOf(job, caller, true)), log: [] };
  },
});

const convert = defineRoute({
  method: 'post',
  path: '/item/:itemId/tiles/convert',
  summary: 'Write a converted copy of an image to a new item.',
  description: 'Answers with the job. When it has finished, `results.file` of the job is the id of the file.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  query: { ...conversionParameters, ...copyParameters },
  returns: { schema: jobSchema },
  errors: ['bad-parameter', 'bad-value', 'invalid', 'unknown-id', 'access-denied', 'login-required'],
  async handle({ params, query, sent, caller }, { items, imageMarking, creation }) {
    const item = await items.loadFresh(params.itemId, 0, caller);
    const conversionOptions = readConversionOptions(query);
    const folder = await items.loadFolder(query.folderId ?? item.folderId, 1, caller);
    const file = await imageMarking.chooseFileToConvert(item, query.fileId);
    const name = query.name?.trim();
    const job = await creation.convert(
      item,
      file,
      { folder, name: name ? name : null },
      {
        localJob: query.localJob ?? true,
        conversionOptions,
        sentParameters: selectSentOptions(sent, { ...conversionParameters, ...copyParameters }),
        caller,
      },
    );
    return { ...jobDocument(job, caller, jobRightsOf(job, caller, true)), log: [] };
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/item/:itemId/tiles',
  summary: 'Remove the large image of an item.',
  description: 'A job that is creating it is canceled. A converted file is removed; the uploaded file is kept.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  returns: { schema: objectOf({ deleted: anyBoolean }) },
  errors: ['unknown-id', 'access-denied', 'login-required'],
  async handle({ params, caller }, { items, creation }) {
    const item = await items.loadFresh(params.itemId, 1, caller);
    return { deleted: await creation.remove(item) };
  },
});

/** Routes for the large image of an item. */
export const largeImageRoutes = [get, getItem, internalMetadata, create, convert, remove];
