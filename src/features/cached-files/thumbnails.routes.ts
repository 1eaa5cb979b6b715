import { BadParameterError } from '../../errors.js';
import { number, required, text } from '../../http/parameters.js';
import { routeDefiner } from '../../http/route.js';
import { scopes } from '../../http/scopes.js';
import { parseSpecList } from './cached-file-key.js';
import type { CachedFiles } from './cached-files.js';
import { storedJobSchema } from '../jobs/schema.js';
import { unfilteredJobDocument } from '../jobs/job-document.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import { newThumbnailJob, thumbnailJobName } from './thumbnails-job-data.js';

const defineRoute = routeDefiner<{ cachedFiles: CachedFiles; runner: JobStarter }>();

const createThumbnails = defineRoute({
  access: 'admin',
  method: 'put',
  path: '/large_image/thumbnails',
  summary: 'Create cached thumbnail files of all large images, by a job.',
  scope: scopes.write,
  query: {
    spec: required(
      text({
        description: 'JSON list of objects: parameters of thumbnails, or of associated images where they have an imageKey.',
      }),
    ),
    logInterval: text({
      description: 'Seconds between two progress entries of the log; 10 by default, 0 for one after each file.',
    }),
    concurrent: text({ description: 'How many files are made at once; below 1 or absent: the number of logical CPUs.' }),
  },
  returns: { schema: storedJobSchema },
  errors: ['access-denied', 'bad-parameter'],
  async handle({ query, caller }, { cachedFiles, runner }) {
    const entries = parseSpecList(query.spec);
    if ((await cachedFiles.maxThumbnails()) <= 0) throw new BadParameterError('Thumbnail files are not enabled.');
    // The number is parsed here, because the checks above come first.
    const logInterval = optionalNumber('logInterval', query.logInterval);
    const concurrent = optionalNumber('concurrent', query.concurrent);
    const job = await runner.create(thumbnailJobName, newThumbnailJob({ entries, logInterval, concurrent }, caller?.id ?? null));
    await runner.start(job);
    return unfilteredJobDocument(job);
  },
});

function optionalNumber(name: string, value: string | undefined): number | undefined {
  return value === undefined || value.trim() === '' ? undefined : number().parse(value, name);
}

/** Making thumbnail files of all large images. */
export const thumbnailRoutes = [createThumbnails];
