import { Mongoose, Types, type Connection } from 'mongoose';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { HostLogger, Installation } from '../index.js';
import { PasswordHasher } from './accounts/sign-in/passwords.js';
import { SignInLimits } from './accounts/sign-in/sign-in-limits.js';
import { repairFirstUser } from './accounts/users/first-user.js';
import type { DataFolder, HostContext } from './context.js';
import type { ReferenceHostOptions } from './options.js';
import { watchEndedConnections } from './database/ended-connections.js';
import { isDuplicateKey } from './duplicate-key.js';
import { EventHub } from './event-hub.js';
import { ByteStore } from './files/byte-store.js';
import { Buckets } from './files/buckets.js';
import { compileModels, type Models } from './models.js';
import { NotificationFeed } from './notifications/notification-feed.js';
import { coreSettingDefinitions, type CoreSettings } from './system/settings.js';
import { checkStoredFormat } from './system/stored-format.js';
import { Claims } from './upkeep/claims.js';
import { Journal } from './upkeep/journal.js';
import { ProcessLife } from './upkeep/process-life.js';
import { recoverFrom } from './upkeep/recovery.js';

/**
 * Limits for the connection to the database, in milliseconds. Requests fail after `serverSelectionTimeoutMS` if the database refuses
 * connections, and within 30 seconds if it does not answer.
 */
const databaseTimeouts = {
  serverSelectionTimeoutMS: 5000,
  connectTimeoutMS: 5000,
  heartbeatFrequencyMS: 5000,
  waitQueueTimeoutMS: 5000,
  // After a rush, connections that are no longer needed are closed.
  maxIdleTimeMS: 10_000,
};
/** Acknowledged writes are on disk, even if the connection string asks for less. */
const durableWriteConcern = { w: 'majority', journal: true } as const;

/** A context, and values that are only needed to make its host. */
interface OpenedContext {
  context: HostContext;
  mongoose: Mongoose;
  connection: Connection;
  closeController: AbortController;
  /** The parts of the plugin that the host uses, which are filled in when the plugin is installed. */
  pluginParts: Partial<Installation>;
}

/** Opens database and data folder. Steps that close them are added to `closeSteps`, even if a later step fails. */
export async function openContext(
  options: ReferenceHostOptions,
  logger: HostLogger,
  closeSteps: (() => Promise<unknown>)[],
): Promise<OpenedContext> {
  const mongoose = new Mongoose();
  const connection = await connect(mongoose, options.mongoUri, closeSteps);
  const models = await compileModels(connection);
  await checkStoredFormat(models);
  const store = new ByteStore(resolve(options.dataDirectory));
  const storeId = await ensureStoreId(models);
  await store.initialize(storeId.toHexString());
  const otherFolder = await findOtherFolder(models, store);
  if (otherFolder !== null) logger.error({ folder: store.root, belongsTo: otherFolder }, 'Host:OtherDataFolder');
  const isOwnFolder = await store.belongsTo(storeId.toHexString());
  if (otherFolder === null && !isOwnFolder) logger.warn({ folder: store.root }, 'Host:FolderOfOtherDatabase');

  const buckets = new Buckets();
  closeSteps.push(() => buckets.close());
  const life = await ProcessLife.start({ models, root: store.root, logger });
  closeSteps.push(() => life.stop());
  const closeController = new AbortController();
  closeSteps.push(async () => closeController.abort());
  const events = new EventHub(logger);
  const pluginParts: Partial<Installation> = {};
  const passwords = new PasswordHasher(options.passwordMemoryKiB);
  const context: HostContext = {
    models,
    store,
    buckets,
    events,
    life,
    claims: new Claims({ models, life, logger, closing: closeController.signal }),
    journal: new Journal({ models, life, logger, recover: (undertaking) => recoverFrom(context, undertaking) }),
    async setting<K extends keyof CoreSettings>(key: K) {
      const value = await pluginParts.settings?.get(key);
      // Stored values were parsed by their definitions.
      return (value ?? coreSettingDefinitions.find((definition) => definition.key === key)!.default) as CoreSettings[K];
    },
    get plugin() {
      // No request arrives before the routes are mounted, which happens after the installation.
      return pluginParts as Installation;
    },
    logger,
    apiRoot: options.apiRoot ?? '/api/v1',
    cookieName: 'girderToken',
    passwords,
    signInLimits: new SignInLimits({
      passwords,
      attempts: () => models.attempt,
      setting: (key) => context.setting(key),
      logger,
    }),
    storeId,
    otherFolder,
    startDate: new Date(),
    closing: closeController.signal,
    rescan: null,
    metrics: options.metrics ?? null,
    notificationFeed: new NotificationFeed({
      notifications: () => models.notification,
      isEnabled: () => context.setting('core.enable_notification_stream'),
    }),
  };
  await repairFirstUser(context);
  return { context, mongoose, connection, closeController, pluginParts };
}

async function connect(mongoose: Mongoose, uri: string, closeSteps: (() => Promise<unknown>)[]): Promise<Connection> {
  const endedConnections = watchEndedConnections();
  closeSteps.push(async () => endedConnections.stop());
  const connection = mongoose.createConnection(uri, { ...selectTimeouts(uri), writeConcern: durableWriteConcern });
  closeSteps.push(() => connection.close());
  await connection.asPromise();
  endedConnections.watch(connection);
  return connection;
}

/** Selects the {@link databaseTimeouts} that the connection string does not set. */
function selectTimeouts(uri: string): Partial<typeof databaseTimeouts> {
  const isUnset = ([name]: [string, number]) => !new RegExp(`[?&]${name}=`, 'i').test(uri);
  return Object.fromEntries(Object.entries(databaseTimeouts).filter(isUnset));
}

/**
 * Finds the data folder that the database belongs to; `null` if this is the folder of `store`. If the database belongs to no folder yet, as a
 * new one in memory does, the folder of `store` is recorded, even if another database has used it before.
 */
async function findOtherFolder({ hostState }: Models, store: ByteStore): Promise<DataFolder | null> {
  const folderId = await store.readDirectoryId();
  const location = { root: store.root, machine: hostname() };
  if (folderId !== null) {
    await hostState.updateOne({ _id: 'store', folder: null }, { $set: { folder: folderId, ...location } });
    // A folder that was moved has the same id.
    const locationUpdate = await hostState.updateOne({ _id: 'store', folder: folderId }, { $set: location });
    if (locationUpdate.matchedCount > 0) return null;
  }
  const { folder, root, machine } = (await hostState.findById('store').lean()) ?? {};
  return folder == null ? null : { root: root ?? null, machine: machine ?? null };
}

/** The id of the data directory in the API, which is created if the database has none. */
async function ensureStoreId({ hostState }: Models): Promise<Types.ObjectId> {
  try {
    await hostState.create({ _id: 'store', subject: new Types.ObjectId() });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  return (await hostState.findById('store').lean())!.subject;
}
