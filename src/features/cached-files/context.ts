import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import type { CachedFiles } from './cached-files.js';

/** Services of the routes of this feature. */
export interface CachedFilesContext {
  records: HostRecords;
  items: Items;
  cachedFiles: CachedFiles;
  runner: JobStarter;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<CachedFilesContext>();
