import { InvalidError } from '../../errors.js';
import type { FolderImageCounts } from './folder-images-job-data.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import { boolean, integer, isId, oneOf, required, text, withDefault } from '../../http/parameters.js';

const countSchema = { type: 'integer', minimum: 0 };
const counterNames: readonly (keyof FolderImageCounts)[] = [
  'childFoldersRecursed',
  'itemsSkipped',
  'jobsCanceled',
  'jobsFailedToCancel',
  'largeImagesCreated',
  'largeImagesNotCreated',
  'largeImagesRemovedAndRecreated',
  'largeImagesRemovedAndNotRecreated',
  'totalItems',
];

const createInFolder = defineRoute({
  method: 'put',
  path: '/large_image/folder/:folderId/tiles',
  summary: 'Create large images from the items of a folder.',
  description:
    'Items with exactly one file become large images. With recurse, the subfolders that the caller can read are handled first. ' +
    'The existing large image of an item is only removed once the new one works. ' +
    'After 20 seconds, a job continues the work: the response counts the work done until then, and names the job.',
  access: 'user',
  scope: scopes.write,
  params: { folderId: required(text({ description: 'The id of the folder.' })) },
  query: {
    createJobs: withDefault<'true' | 'false' | 'always'>(
      oneOf(['true', 'false', 'always'], {
        description:
          'Which files are converted by jobs: `true` only those that no tile source reads, `false` none, `always` all.',
      }),
      'false',
    ),
    localJobs: withDefault(boolean({ description: 'Whether the jobs run in server processes instead of workers.' }), false),
    recurse: withDefault(boolean({ description: 'Include the folders below.' }), false),
    cancelJobs: withDefault(boolean({ description: 'Cancel unfinished creation jobs and start again.' }), false),
    redoExisting: withDefault(boolean({ description: 'Create existing large images again.' }), false),
  },
  returns: {
    schema: {
      type: 'object',
      properties: {
        ...Object.fromEntries(counterNames.map((name) => [name, countSchema])),
        jobId: { type: 'string', description: 'The job that continues the work, if it takes longer than one request.' },
      },
      required: counterNames,
    },
  },
  errors: ['bad-parameter', 'invalid', 'access-denied', 'login-required'],
  async handle({ params, query, caller, signal }, { items, records, folderImages }) {
    const existingFolder = isId(params.folderId) ? await records.findFolder(params.folderId.toLowerCase()) : null;
    // Existing clients expect this text for everything that can be wrong with the id.
    if (existingFolder === null || caller === null) throw new InvalidError('ID was invalid.', 'id');
    const folder = await items.loadFolder(existingFolder.id, 1, caller);
    const { createJobs, localJobs, recurse, cancelJobs, redoExisting } = query;
    const options = { createJobs, localJobs, recurse, cancelJobs, redoExisting };
    const { counts, job } = await folderImages.create(folder, caller, options, signal);
    return { ...counts, ...(job !== null && { jobId: job.id }) };
  },
});

const removeIncomplete = defineRoute({
  method: 'delete',
  path: '/large_image/tiles/incomplete',
  summary: 'Remove unfinished large images, and cancel their jobs.',
  access: 'admin',
  scope: scopes.write,
  returns: {
    schema: {
      type: 'object',
      properties: { removed: countSchema, message: { type: 'string' } },
      required: ['removed'],
    },
  },
  errors: ['access-denied'],
  handle: ({ signal }, { folderImages }) => folderImages.removeIncomplete({ signal }),
});

const listRefused = defineRoute({
  method: 'get',
  path: '/large_image/tiles/refused',
  summary: 'List items whose file could not become a large image, each with the reason; newest first.',
  access: 'admin',
  scope: scopes.read,
  query: {
    limit: withDefault(integer({ minimum: 1, maximum: 1000, description: 'Maximum number of entries.' }), 100),
    offset: withDefault(integer({ minimum: 0, description: 'Number of entries to skip.' }), 0),
  },
  returns: {
    schema: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          itemId: { type: 'string' },
          folderId: { type: 'string' },
          name: { type: 'string' },
          reason: { type: 'string' },
        },
        required: ['itemId', 'folderId', 'name', 'reason'],
      },
    },
  },
  errors: ['bad-parameter', 'access-denied'],
  async handle({ query }, { records }) {
    const refusals = await records.markers.listRefused(query);
    return refusals.map(({ item, reason }) => ({ itemId: item.id, folderId: item.folderId, name: item.name, reason }));
  },
});

/** Routes for the large images of many items at once. */
export const creationRoutes = [createInFolder, removeIncomplete, listRefused];
