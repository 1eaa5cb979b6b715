import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { Items } from '../items/items.js';
import type { CachedFiles } from './cached-files.js';

/** What the routes for cached files work with. */
export interface CachedFilesContext {
  records: HostRecords;
  items: Items;
  cachedFiles: CachedFiles;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<CachedFilesContext>();
