import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import { JobModel } from './job.model.js';
import { JobStore } from './jobs.js';
import { jobRoutes } from './jobs.routes.js';
import { JobRunner } from './runner.js';

/** Job records with status, progress, log and live events, and their runner on the host's Agenda. */
export const jobsFeature: Feature<{ core: Core }, { jobs: JobStore; runner: JobRunner }> = {
  name: 'jobs',
  async open({ core: { host, own, logger } }, onClose) {
    const model = new JobModel(own);
    await model.createIndexes();
    const jobs = new JobStore({ model, logger, ...(host.notify && { notify: host.notify }) });
    onClose(() => jobs.close());
    const runner = new JobRunner({ agenda: host.agenda, jobs, logger });
    return { offers: { jobs, runner }, routes: bindRoutes(jobRoutes, { jobs }) };
  },
};
