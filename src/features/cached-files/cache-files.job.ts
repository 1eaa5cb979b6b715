import { UnknownIdError } from '../../errors.js';
import { readCacheJobData, keyOfJobFile, cacheJobNames } from './cache-files-job-data.js';
import { obtainHistogram, obtainPicture } from './cached-pictures.js';
import type { ThumbnailServices } from './thumbnail-files.js';
import { failureText, type JobDefinition } from '../jobs/running/definition.js';

const fileNouns = { tileFrames: 'tile frames', histogram: 'histograms' } as const;
const titles = { tileFrames: 'Cache tileFrames', histogram: 'Cache Histograms' } as const;

/** The job that makes cached files of an item, either pictures of `tile_frames` or histograms. */
export function cacheFilesJob(services: Omit<ThumbnailServices, 'logger'>, kind: keyof typeof cacheJobNames): JobDefinition {
  return {
    name: cacheJobNames[kind],
    title: titles[kind],
    type: cacheJobNames[kind],
    resumable: true,
    failureLog: (error) => `Failed caching ${fileNouns[kind]} (${failureText(error).trimEnd()})\n`,
    async run({ job, log, setProgress, signal }) {
      const { itemId, specs } = readCacheJobData(job.kwargs);
      log(`Started caching ${fileNouns[kind]}\n`);
      for (const [index, spec] of specs.entries()) {
        if (signal.aborted) return;
        log(`Caching ${keyOfJobFile(kind, spec)}\n`);
        const item = await services.records.findItem(itemId);
        if (item === null) throw new UnknownIdError('item', itemId);
        if (kind === 'histogram') await obtainHistogram(services, item, spec, { signal, mustStore: true });
        else await obtainPicture(services, item, spec, { signal, mustStore: true });
        setProgress({ total: specs.length, current: index + 1 });
      }
      log(`Finished caching ${fileNouns[kind]}\n`);
    },
  };
}
