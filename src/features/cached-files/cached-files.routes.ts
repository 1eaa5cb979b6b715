import type { CachedFileFilter } from './cached-file.model.js';
import { canonicalText, keyOfSpecification, parseSpecList } from './cached-file-key.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute } from './context.js';
import { BadParameterError } from '../../errors.js';
import { number, required, text } from '../../http/parameters.js';
import { unfilteredJobDocument } from '../jobs/job-document.js';
import { storedJobSchema } from '../jobs/schema.js';
import { newThumbnailJob, thumbnailJobName } from './thumbnails-job-data.js';

const adminRoute = { access: 'admin', errors: ['access-denied'] } as const;
const returnsCount = { schema: { type: 'integer' } };

const specParameter = text({
  description: 'JSON list of specifications, each compared exactly with the keys of the files; empty or absent for all files.',
});
const imageKeyParameter = text({ description: 'Name of the associated image, such as label; absent for all of them.' });

/** Databases limit the length of regular expressions. */
const maxKeyLength = 1000;

/** The filters for the specifications. @throws BadParameterError */
function thumbnailFilters(specText: string | undefined): CachedFileFilter[] {
  if (specText === undefined || specText === '') return [{ kind: 'thumbnail' }];
  return parseSpecList(specText).map((entry) => ({ kind: 'thumbnail', key: keyOfSpecification(entry) }));
}

function associatedFilter(key: string | undefined): CachedFileFilter {
  // A name that does not begin with a letter or digit selects all associated images; clients rely on this.
  const isRestricted = key !== undefined && /^[0-9A-Za-z]/.test(key);
  if (isRestricted && key.length > maxKeyLength)
    throw new BadParameterError(`imageKey must have at most ${maxKeyLength} characters.`);
  return { kind: 'thumbnail', keyContains: isRestricted ? canonicalText({ imageKey: key }).slice(1, -1) : '"imageKey":' };
}

const histogramFilter: CachedFileFilter = { kind: 'data', keyContains: '"imageKey":"histogram"' };

const countThumbnails = defineRoute({
  ...adminRoute,
  method: 'get',
  path: '/large_image/thumbnails',
  summary: 'Count the cached thumbnail files of all items.',
  scope: scopes.read,
  query: { spec: specParameter },
  returns: returnsCount,
  errors: [...adminRoute.errors, 'bad-parameter'],
  async handle({ query }, { cachedFiles }) {
    let sum = 0;
    for (const filter of thumbnailFilters(query.spec)) sum += await cachedFiles.count(filter);
    return sum;
  },
});

const removeThumbnails = defineRoute({
  ...adminRoute,
  method: 'delete',
  path: '/large_image/thumbnails',
  summary: 'Remove cached thumbnail files of all items.',
  scope: scopes.write,
  query: { spec: specParameter },
  returns: returnsCount,
  errors: [...adminRoute.errors, 'bad-parameter'],
  handle: ({ query }, { cachedFiles }) => cachedFiles.remove(thumbnailFilters(query.spec)),
});

const createThumbnails = defineRoute({
  ...adminRoute,
  method: 'put',
  path: '/large_image/thumbnails',
  summary: 'Start a job that creates cached thumbnail files of all large images.',
  scope: scopes.write,
  query: {
    spec: required(
      text({
        description: 'JSON list of objects: parameters of thumbnails, or of associated images if they have an imageKey.',
      }),
    ),
    logInterval: text({
      description: 'Seconds between progress entries in the log; 10 by default, 0 for an entry after each file.',
    }),
    concurrent: text({ description: 'Number of files to make at once; below 1 or absent: the number of logical CPUs.' }),
  },
  returns: { schema: storedJobSchema },
  errors: [...adminRoute.errors, 'bad-parameter'],
  async handle({ query, caller }, { cachedFiles, runner }) {
    const entries = parseSpecList(query.spec);
    if ((await cachedFiles.readMaxThumbnails()) <= 0) throw new BadParameterError('Thumbnail files are not enabled.');
    // `logInterval` and `concurrent` are declared as texts and parsed here, so that the errors above are reported first.
    const logInterval = parseOptionalNumber('logInterval', query.logInterval);
    const concurrent = parseOptionalNumber('concurrent', query.concurrent);
    const job = await runner.create(thumbnailJobName, newThumbnailJob({ entries, logInterval, concurrent }, caller?.id ?? null));
    await runner.start(job);
    return unfilteredJobDocument(job);
  },
});

function parseOptionalNumber(name: string, value: string | undefined): number | undefined {
  return value === undefined || value.trim() === '' ? undefined : number().parse(value, name);
}

const countAssociated = defineRoute({
  ...adminRoute,
  method: 'get',
  path: '/large_image/associated_images',
  summary: 'Count the cached associated-image files of all items.',
  scope: scopes.read,
  query: { imageKey: imageKeyParameter },
  returns: returnsCount,
  handle: ({ query }, { cachedFiles }) => cachedFiles.count(associatedFilter(query.imageKey)),
});

const removeAssociated = defineRoute({
  ...adminRoute,
  method: 'delete',
  path: '/large_image/associated_images',
  summary: 'Remove cached associated-image files of all items.',
  scope: scopes.write,
  query: { imageKey: imageKeyParameter },
  returns: returnsCount,
  handle: ({ query }, { cachedFiles }) => cachedFiles.remove([associatedFilter(query.imageKey)]),
});

const countHistograms = defineRoute({
  ...adminRoute,
  method: 'get',
  path: '/large_image/histograms',
  summary: 'Count the cached histograms of all items.',
  scope: scopes.read,
  returns: returnsCount,
  handle: (_input, { cachedFiles }) => cachedFiles.count(histogramFilter),
});

const removeHistograms = defineRoute({
  ...adminRoute,
  method: 'delete',
  path: '/large_image/histograms',
  summary: 'Remove the cached histograms of all items.',
  scope: scopes.write,
  returns: returnsCount,
  handle: (_input, { cachedFiles }) => cachedFiles.remove([histogramFilter]),
});

/** Routes that count and remove the cached files of all items. */
export const adminCachedFileRoutes = [
  countThumbnails,
  createThumbnails,
  removeThumbnails,
  countAssociated,
  removeAssociated,
  countHistograms,
  removeHistograms,
];
