import type { Types } from 'mongoose';
import type { HostLogger, Installation, InstallOptions } from '../index.js';
import { routeDefiner } from '../larger-host.js';
import type { ScanCounts } from './start/content/served-files.js';
import type { ByteStore } from './files/byte-store.js';
import type { Buckets } from './files/buckets.js';
import type { Claims } from './upkeep/claims.js';
import type { PasswordHasher } from './accounts/sign-in/passwords.js';
import type { SignInLimits } from './accounts/sign-in/sign-in-limits.js';
import type { EventHub } from './event-hub.js';
import type { Journal } from './upkeep/journal.js';
import type { Models } from './models.js';
import type { NotificationFeed } from './notifications/notification-feed.js';
import type { ProcessLife } from './upkeep/process-life.js';
import type { CoreSettings } from './system/settings.js';

/** The path and the machine of a data folder, each `null` if the database does not record it. */
export interface DataFolder {
  root: string | null;
  machine: string | null;
}

/** Everything that the services and routes of one host use. Hosts share none of it. */
export interface HostContext {
  models: Models;
  store: ByteStore;
  buckets: Buckets;
  events: EventHub;
  /** Identifies this process among those that work on the same data. */
  life: ProcessLife;
  claims: Claims;
  journal: Journal;
  /** Reads the value of one of the host's own settings. */
  setting<K extends keyof CoreSettings>(key: K): Promise<CoreSettings[K]>;
  /** The parts of the plugin that routes of the host use. They are set when the plugin is installed, before any request. */
  plugin: Pick<
    Installation,
    'settings' | 'jobs' | 'itemLists' | 'folderConfiguration' | 'metadataSearch' | 'annotationMetadataSearch'
  >;
  logger: HostLogger;
  apiRoot: string;
  cookieName: string;
  passwords: PasswordHasher;
  signInLimits: SignInLimits;
  /** The id of the data directory in the API. */
  storeId: Types.ObjectId;
  /**
   * The data folder that the database belongs to, if it is not the folder of `store`. In that case, the sweep removes nothing from either
   * folder.
   */
  otherFolder: DataFolder | null;
  startDate: Date;
  /** Aborted when the host closes, which ends open event streams. */
  closing: AbortSignal;
  /** Checks the files and buckets that are served in place, and updates their items; `null` if there are none. */
  rescan: (() => Promise<ScanCounts>) | null;
  /** Metrics for Prometheus, and a token that can read them as an administrator can; `null` if none are collected. */
  metrics: { register: NonNullable<InstallOptions['metrics']>; token: string | null; text?: () => Promise<string> } | null;
  /** Wakes event streams whose owners have new messages. */
  notificationFeed: NotificationFeed;
}

/** Declares a route of this host. */
export const defineRoute = routeDefiner<HostContext>();
