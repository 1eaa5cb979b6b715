import { cpus } from 'node:os';
import { BadParameterError } from '../../errors.js';
import type { CachedFileSpec } from './cached-pictures.js';
import { createThumbnailFiles, type ThumbnailCounts, type ThumbnailServices } from './thumbnail-files.js';
import { readThumbnailJobData, thumbnailJobName } from './thumbnails-job-data.js';
import type { JobDefinition } from '../jobs/running/definition.js';

const defaultLogIntervalSeconds = 10;
/** Longest delay of a Node.js timer. */
const maxTimerMs = 2 ** 31 - 1;

/**
 * The job that makes the missing thumbnail files of every large image. When it runs again after a crash, it skips the files that exist.
 */
export function thumbnailJob(services: ThumbnailServices): JobDefinition {
  return {
    name: thumbnailJobName,
    title: 'Create large image thumbnail files.',
    type: thumbnailJobName,
    resumable: true,
    failureLog: () => 'Error creating large image thumbnails\n',
    async run({ job, log, setProgress, signal }) {
      log('Started creating large image thumbnails\n');
      const {
        entries,
        logInterval: intervalSeconds = defaultLogIntervalSeconds,
        concurrent: requestedConcurrency = 0,
      } = readThumbnailJobData(job);
      const concurrency = requestedConcurrency < 1 ? cpus().length : Math.floor(requestedConcurrency);
      log(`Creating thumbnails (${concurrency} concurrent)\n`);
      const invalidIndex = entries.findIndex((entry) => typeof entry !== 'object' || entry === null || Array.isArray(entry));
      if (invalidIndex >= 0) {
        const message = `Entry ${invalidIndex + 1} of the spec is not a JSON object.`;
        log(`${message}\n`);
        throw new BadParameterError(message);
      }
      const counts: ThumbnailCounts = { checked: 0, created: 0, failed: 0, lastFailedItemId: null, total: null };
      const intervalMs = intervalSeconds * 1000;
      let lastLogTime = performance.now();
      const logProgress = () => {
        lastLogTime = performance.now();
        log(progressText(counts));
      };
      // The timer also logs while one file takes longer than the interval. With intervals below a second, progress is logged only after a file.
      const timer = intervalMs >= 1000 ? setInterval(logProgress, Math.min(maxTimerMs, intervalMs)) : undefined;
      try {
        // Every entry was checked above.
        await createThumbnailFiles(services, entries as CachedFileSpec[], counts, {
          concurrency,
          signal,
          onFile: () => {
            setProgress({ total: counts.total, current: counts.checked + counts.created + counts.failed });
            if (performance.now() - lastLogTime >= intervalMs) logProgress();
          },
        });
      } finally {
        clearInterval(timer);
      }
      if (!signal.aborted) log(progressText(counts, 'Finished: '));
    },
  };
}

/** A log entry about the progress, in the wording that existing clients expect. */
function progressText({ checked, created, failed, lastFailedItemId, total }: ThumbnailCounts, prefix = ''): string {
  const doneCount = checked + created + failed;
  const isUnderWay = prefix === '' && total !== null && total > 0 && doneCount < total;
  const estimate = isUnderWay ? ` (estimated ${((100 * doneCount) / total).toFixed(2).padStart(4)}% done)` : '';
  const line = `${prefix}Checked ${checked}, created ${created} thumbnail files${estimate}\n`;
  if (failed === 0) return line;
  return `${line}Failed on ${failed} thumbnail ${failed === 1 ? 'file' : 'files'} (last failure on item ${lastFailedItemId})\n`;
}
