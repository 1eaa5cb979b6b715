import type { HostFiles, HostLogger } from '../host.js';
import type { HostRecords } from '../models/host-records.js';
import type { Images } from './images.js';
import type { Items } from './items.js';
import type { Settings } from './settings.js';

/** Everything that routes and jobs work with: one per installation. */
export interface Services {
  records: HostRecords;
  items: Items;
  images: Images;
  settings: Settings;
  files: HostFiles;
  logger: HostLogger;
}
