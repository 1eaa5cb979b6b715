import type { HostRecords } from '../../core/host/host-records.js';
import type { Queues } from '../../core/concurrency/queues.js';
import type { HostAccess, HostFiles } from '../../host.js';
import { routeDefiner } from '../../http/route.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';

/** Services that the routes of this feature use. */
export interface PictureContext {
  records: HostRecords;
  files: HostFiles;
  access: HostAccess;
  queues: Queues;
  items: Items;
  images: Images;
  cachedFiles: CachedFiles;
  runner: JobStarter;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<PictureContext>();
