import type { Core } from '../../core/core.js';
import type { Caller } from '../../host.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import { JobModel } from './job.model.js';
import { JobStore } from './jobs.js';
import { jobRoutes } from './jobs.routes.js';
import { JobRunner } from './running/runner.js';

/** Job records with status, progress, log and live events, and their runner on the host's Agenda. */
export const jobsFeature: Feature<{ core: Core }, { jobs: JobStore; runner: JobRunner }> = {
  async open({ core: { host, access, ownCollections, records, logger } }, onClose) {
    const model = new JobModel(ownCollections);
    await model.createIndexes();
    const filterReadableItems = async (ids: readonly string[], caller: Caller | null) =>
      new Set(await records.filterExistingItems(ids, await access.filter(caller, 'item', 0)));
    const jobs = new JobStore({ model, filterReadableItems, logger, ...(host.notify && { notify: host.notify }) });
    onClose(() => jobs.close());
    const runner = new JobRunner({ agenda: host.agenda, jobs, logger });
    return { offers: { jobs, runner }, routes: bindRoutes(jobRoutes, { jobs, directory: host.directory }) };
  },
};
