import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { Items } from '../items/items.js';
import type { CachedFiles } from './cached-files.js';

/** The context of the routes for cached files. */
export interface CachedFilesContext {
  records: HostRecords;
  items: Items;
  cachedFiles: CachedFiles;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<CachedFilesContext>();
