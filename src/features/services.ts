import type { LibrarySettings } from '../configuration-text/read-settings.js';
import type { HostFiles, HostLogger } from '../host.js';
import type { HostRecords } from '../core/host-records.js';
import type { Caches } from './caches/caches.js';
import type { Configuration } from './configuration/configuration.js';
import type { FolderConfiguration } from './configuration/folder-configuration.js';
import type { CachedFiles } from './cached-files/cached-files.js';
import type { AnnotationServices } from './annotations/annotation-services.js';
import type { FolderImages } from './creation/folder-images.js';
import type { Images } from './images/images.js';
import type { Items } from './items/items.js';
import type { JobStarter } from './jobs/job-starter.js';
import type { LargeImageCreation } from './creation/large-image-creation.js';
import type { JobStore } from './jobs/jobs.js';
import type { PlotData } from './annotations/plot/plot-data.js';
import type { Turns } from '../core/latest-only.js';
import type { Settings } from './settings/settings.js';

/** Everything that routes and jobs work with: one per installation. */
export interface Services {
  records: HostRecords;
  items: Items;
  images: Images;
  /** Thumbnails, associated images, tile frames and histograms that are kept as files. */
  cachedFiles: CachedFiles;
  annotations: AnnotationServices;
  /** Large images made and taken away, with the jobs that convert. */
  creation: LargeImageCreation;
  folderImages: FolderImages;
  /** Plottable data, and the requests for it that newer ones end. */
  plots: { data: PlotData; turns: Turns };
  settings: Settings;
  /** The plugin's section of the configuration file, as it was at installation. */
  library: LibrarySettings;
  caches: Caches;
  configuration: Configuration;
  folderConfiguration: FolderConfiguration;
  files: HostFiles;
  /** Job records. */
  jobs: JobStore;
  /** Makes and starts the jobs that were defined at installation. */
  runner: JobStarter;
  logger: HostLogger;
}
