/** The host of `npm start`, and its contents. This module is slow to load, so `serve.ts` starts the database at the same time. */
import { join } from 'node:path';
import type { Types } from 'mongoose';
import type { Registry } from 'prom-client';
import { findTileSources } from '../../index.js';
import type { DataFolder } from '../context.js';
import { createReferenceHost, type ReferenceHost } from '../index.js';
import { isInstalled } from '../../optional-packages.js';
import { makeSyntheticSlide } from '../synthetic-slide/slide.js';
import { addSyntheticSlide, adminLogin, ensureAdmin } from './content/content.js';
import { ContentHashes } from './content/content-hashes.js';
import { Rescans } from './content/rescans.js';
import { ServedFiles, type ScanCounts } from './content/served-files.js';
import type { ListeningServer } from './listen.js';
import { openLog } from './log.js';
import { addNuclei, nucleiName } from './content/nuclei.js';
import type { StartOptions } from './options.js';
import { addBucketObjects } from './content/bucket-objects.js';
import { readOrCreatePassword } from './content/password.js';
import type { WatchedProcess } from './processes.js';
import type { ProgressDisplay } from './progress.js';
import { RunningHost } from './running-host.js';
import { issueSignInLink, linkMinutes } from '../accounts/sign-in/sign-in-link.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { isLoopback } from '../http/loopback.js';

/** The values with which a process of `npm start` opens its host once its database answers. */
export interface HostingContext {
  options: StartOptions;
  mongoUri: string;
  server: ListeningServer;
  /** The connection to the process that watches this one; `null` if this is the only process. */
  watchedProcess: WatchedProcess | null;
  display: ProgressDisplay;
  signal: AbortSignal;
  /** Called with the function that restarts the host. */
  onRestartable: (restart: () => void) => void;
  /** Called when a restart has failed, so that nothing is served. */
  onRestartFailed: (error: unknown) => void;
}

/** The administrator, and the lines of the banner about signing in. */
interface AdministratorInfo {
  user: UserDocument | null;
  loginLines: string[];
}

/** A host that serves requests at the port. */
interface OpenedHost {
  runningHost: RunningHost;
  /** The lines of the banner about signing in; `null` in a process that prints none. */
  loginLines: string[] | null;
  /** Adds the contents; `null` if the host gets none, or another process adds them. */
  addContents: (() => Promise<void>) | null;
}

/** Serves a host at the port. */
export async function openHost(hosting: HostingContext): Promise<OpenedHost> {
  const { options, watchedProcess, display } = hosting;
  const logger = openLog(options.logLevel, watchedProcess === null ? null : { pid: process.pid });
  const registry = await createMetricsRegistry(watchedProcess);
  const tileSources = await findTileSources(process.cwd(), { logger });
  const firstStart: { admin: AdministratorInfo | null; runningHost: RunningHost | null } = { admin: null, runningHost: null };
  const rescans = options.paths.length + options.buckets.length > 0 ? createRescans(hosting, () => firstStart.runningHost) : null;
  const runningHost = await RunningHost.start({
    async makeHost(restartHost) {
      hosting.onRestartable(restartHost);
      const host = await createReferenceHost({
        mongoUri: hosting.mongoUri,
        databaseWaitMs: options.databaseWaitMs,
        dataDirectory: options.dataDirectory,
        ...(options.brand !== null && { brand: options.brand }),
        ...(options.serverRoot !== null && { settings: { 'core.server_root': options.serverRoot } }),
        ...(options.trustProxy !== null && { trustProxy: options.trustProxy }),
        logger,
        install: { tileSources, processes: options.processCount },
        restart: watchedProcess === null ? restartHost : () => watchedProcess.restartAll(),
        ...(registry && {
          metrics: {
            register: registry,
            token: options.metricsToken,
            ...(watchedProcess !== null && { text: () => watchedProcess.collectMetrics() }),
          },
        }),
      });
      const { otherFolder, store, storeId } = host.context;
      if (otherFolder !== null) display.writeLine(describeOtherFolder(otherFolder, options.dataDirectory));
      else if (!(await store.belongsTo(storeId.toHexString()))) display.writeLine(describeFormerFiles(options.dataDirectory));
      host.context.rescan = rescans === null ? null : () => rescans.rescan();
      return host;
    },
    // The first user to register becomes the administrator, so the administrator must be created before anybody can register.
    prepareFirst: async (host) => {
      if (watchedProcess !== null && !watchedProcess.addsContents) return;
      firstStart.admin = await runExclusively(host, 'administrator', () =>
        options.bare ? describeMissingAdministrator(host) : ensureAdministrator(host, options),
      );
    },
    server: hosting.server,
    writeLine: (text) => display.writeLine(text),
    onRestartFailed: hosting.onRestartFailed,
  });
  firstStart.runningHost = runningHost;
  const { admin } = firstStart;
  if (admin === null) return { runningHost, loginLines: null, addContents: null };
  const loginLines = [...(await issueSignInLines(runningHost, admin.user, hosting)), ...admin.loginLines];
  return {
    runningHost,
    loginLines,
    addContents: options.bare ? null : () => addAllContents(runningHost, admin.user?._id ?? null, hosting, rescans),
  };
}

/** Says that the data folder is probably the wrong one, and what to do. */
function describeOtherFolder({ root, machine }: DataFolder, folder: string): string {
  const otherFolderName =
    root === null ? 'another data folder' : `the data folder ${root} (last used on ${machine ?? 'another machine'})`;
  return (
    `WRONG DATA FOLDER: this database belongs to ${otherFolderName}, not to ${folder}. Uploaded files and cached pictures are not found here, and nothing is ` +
    'swept. Set DATA_DIR to that folder. If it is permanently lost, see "Backup and restore" in docs/operations.md.'
  );
}

/** Says that the data folder has files of another database. */
function describeFormerFiles(folder: string): string {
  return (
    `The data folder ${folder} has been used with another database, such as one in memory, whose records are lost when the server stops. ` +
    'The files of that database stay in the folder, but are not shown. For a folder without them, set DATA_DIR to an empty folder.'
  );
}

/** Scans the files and buckets that are served in place. Each scan uses the host that is running then. */
function createRescans(hosting: HostingContext, getRunningHost: () => RunningHost | null): Rescans {
  const { display, signal } = hosting;
  const useHost = <T>(work: (host: ReferenceHost) => Promise<T>): Promise<T> => {
    const runningHost = getRunningHost();
    if (runningHost === null) throw new Error('The server is starting.');
    return runningHost.useHost(work);
  };
  const showFailure = (error: unknown) =>
    display.writeLine(`The served files could not be scanned: ${error instanceof Error ? error.message : String(error)}`);
  let formerMissingCount = 0;
  const showCounts = ({ added, moved, changed, missing }: ScanCounts) => {
    if (added + moved + changed > 0 || missing !== formerMissingCount) {
      display.writeLine(`Served files: ${added} added, ${moved} moved, ${changed} changed, ${missing} missing.`);
    }
    formerMissingCount = missing;
  };
  const contentHashes = hosting.options.comparesContents
    ? new ContentHashes({
        useContext: (work) => useHost(({ context }) => work(context)),
        onChanged: (changedCount) => display.writeLine(`Served files: ${changedCount} changed in the middle.`),
        onFailure: (error) =>
          display.writeLine(`The served files could not be compared: ${error instanceof Error ? error.message : String(error)}`),
        signal,
      })
    : null;
  return new Rescans({
    ...createScanOptions(useHost, hosting, contentHashes),
    paths: hosting.options.paths,
    onScan: showCounts,
    onFailure: showFailure,
    signal,
  });
}

/** The line of the banner with an address that opens the page signed in. There is no line if other machines could open the address too. */
async function issueSignInLines(
  runningHost: RunningHost,
  user: UserDocument | null,
  { options, server }: HostingContext,
): Promise<string[]> {
  if (user?.admin !== true || user.status !== 'enabled' || !isLoopback(options.host)) return [];
  const secret = await runningHost.useHost((host) => issueSignInLink(host.context, user));
  return [`Open      ${server.url}/#enter/${secret}   (signs in as ${user.login}: once, within ${linkMinutes} minutes)`];
}

/** Adds the user's files as items, or the synthetic slide if there are none. The server answers requests while this runs. */
async function addAllContents(
  runningHost: RunningHost,
  creatorId: Types.ObjectId | null,
  hosting: HostingContext,
  rescans: Rescans | null,
): Promise<void> {
  const { display, signal } = hosting;
  try {
    await (rescans !== null ? registerFiles(rescans, hosting) : addSlideAndNuclei(runningHost, creatorId, hosting));
  } catch (error) {
    if (signal.aborted) return;
    display.endProgress();
    const reason = error instanceof Error ? error.message : String(error);
    display.writeLine(
      `The server runs, but ${rescans !== null ? 'some of the files are not served' : 'the example slide is incomplete'}: ${reason}`,
    );
  }
}

/** A host that runs jobs until it is closed. It does not lock the data folder, which the server has locked. */
export async function openWorker(options: StartOptions, mongoUri: string): Promise<ReferenceHost> {
  const logger = openLog(options.logLevel);
  return createReferenceHost({
    mongoUri,
    databaseWaitMs: options.databaseWaitMs,
    dataDirectory: options.dataDirectory,
    worker: true,
    ...(options.brand !== null && { brand: options.brand }),
    logger,
    install: { tileSources: await findTileSources(process.cwd(), { logger }) },
  });
}

/** The registry of metrics for Prometheus, with the default metrics of the process; `null` if the package is not installed. */
async function createMetricsRegistry(watchedProcess: WatchedProcess | null): Promise<Registry | null> {
  if (!isInstalled('prom-client')) return null;
  const { collectDefaultMetrics, Registry } = await import('prom-client');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  watchedProcess?.reportNumbersFrom(() => registry.getMetricsAsJSON());
  return registry;
}

/** Does work that only one of the servers on a database may do at a time. Other servers wait. */
function runExclusively<T>(host: ReferenceHost, name: 'administrator' | 'filling', work: () => Promise<T>): Promise<T> {
  const createBusyError = () => new Error('Another server on this database has been filling it for an hour.');
  return host.context.claims.run(name, { patienceMs: 60 * 60 * 1000, createBusyError }, work);
}

/** Adds the contents while no other server does, and without being interrupted by a restart. */
function addExclusively(runningHost: RunningHost, work: (host: ReferenceHost) => Promise<void>): Promise<void> {
  return runningHost.useHost((host) => runExclusively(host, 'filling', () => work(host)));
}

/** Adds the synthetic slide as an item, and annotates it. */
async function addSlideAndNuclei(
  runningHost: RunningHost,
  creatorId: Types.ObjectId | null,
  { options, server, display, signal }: HostingContext,
): Promise<void> {
  const path = join(options.dataDirectory, 'synthetic-tissue-slide.tiff');
  await addExclusively(runningHost, async (host) => {
    await makeSyntheticSlide(path, { onProgress: (progress) => display.showProgress(progress), signal });
    const itemId = await addSyntheticSlide(host.context, {
      path,
      creatorId,
      isPublic: options.isPublic,
      register: (file) => host.registerFileInPlace(file),
    });
    const startedMs = Date.now();
    const count = await addNuclei(host.context, {
      url: server.url,
      itemId,
      onProgress: (progress) => display.showProgress(progress),
      signal,
    });
    display.endProgress();
    if (count === 0) return;
    const seconds = ((Date.now() - startedMs) / 1000).toFixed(1);
    display.writeLine(`The slide has the annotation ${nucleiName}: ${count} nuclei, stored in ${seconds} s.`);
  });
}

/** The registration of fewer new files than this is not shown as progress. */
const minShownFiles = 100;

/** Options of {@link Rescans}: how to scan the files and buckets that are served in place, in one process at a time. */
function createScanOptions(
  useHost: <T>(work: (host: ReferenceHost) => Promise<T>) => Promise<T>,
  { options, display, signal }: HostingContext,
  contentHashes: ContentHashes | null,
): { scan(): Promise<ScanCounts>; listFolders(): ReadonlySet<string> } {
  const showLeftOut = (path: string, reason: string) => display.writeLine(`Left out ${path}: ${reason}`);
  const { paths, buckets, isPublic } = options;
  const showRegistered = (doneCount: number, totalCount: number) => {
    if (totalCount >= minShownFiles) display.showProgress({ text: 'Registering files', fraction: doneCount / totalCount });
  };
  let servedFiles: ServedFiles | null = null;
  const leftOutObjects = new Set<string>();
  const scan = async ({ context }: ReferenceHost): Promise<ScanCounts> => {
    const creatorId = (await context.models.user.findOne({ login: adminLogin }, { _id: 1 }).lean())?._id ?? null;
    const commonOptions = { creatorId, isPublic, onLeftOut: showLeftOut };
    const counts: ScanCounts = { files: 0, added: 0, moved: 0, changed: 0, missing: 0 };
    if (paths.length > 0) {
      servedFiles ??= new ServedFiles({ ...commonOptions, paths, onProgress: showRegistered });
      Object.assign(counts, await servedFiles.scan(context, signal));
      contentHashes?.compare(servedFiles.uncomparedIds);
    }
    if (buckets.length > 0) {
      const objectCounts = await addBucketObjects(context, {
        ...commonOptions,
        onLeftOut: (path, reason) => {
          if (leftOutObjects.has(path)) return;
          leftOutObjects.add(path);
          showLeftOut(path, reason);
        },
        prefixes: buckets,
        onObject: () => display.showProgress({ text: 'Registering files in buckets' }),
        signal,
      });
      counts.files += objectCounts.files;
      counts.missing += objectCounts.missing;
    }
    display.endProgress();
    return counts;
  };
  return {
    scan: () => useHost((host) => runExclusively(host, 'filling', () => scan(host))),
    listFolders: () => servedFiles?.folders ?? new Set(),
  };
}

/** Adds the user's files as items, and follows their changes. */
async function registerFiles(rescans: Rescans, { options, display }: HostingContext): Promise<void> {
  const { files, missing } = await rescans.rescan();
  const description = options.paths.length > 0 ? 'of your own files' : 'files in buckets';
  const collection = options.paths.length > 0 ? 'Local files' : 'Files in buckets';
  display.writeLine(
    `${files} ${description} are served in place: collection ${collection}.${missing > 0 ? ` ${missing} are missing.` : ''}`,
  );
  rescans.startWatching();
}

/** The lines of the banner for a server that creates no administrator. */
async function describeMissingAdministrator({ context }: ReferenceHost): Promise<AdministratorInfo> {
  const isEmpty = (await context.models.user.exists({})) === null;
  const reason = isEmpty
    ? 'nobody yet: the first user to register is the administrator'
    : 'unchanged: there are users in this database';
  return { user: null, loginLines: [`Login     ${reason}`] };
}

/** Creates the administrator if there is no user yet. The lines of the banner say how to sign in. */
async function ensureAdministrator(host: ReferenceHost, options: StartOptions): Promise<AdministratorInfo> {
  const generatedPassword = options.adminPassword === null ? await readOrCreatePassword(options.dataDirectory) : null;
  const password = options.adminPassword ?? generatedPassword?.password ?? '';
  const { user, isPasswordCorrect } = await ensureAdmin(host.context, password);
  if (isPasswordCorrect) {
    const source = generatedPassword === null ? 'from ADMIN_PASSWORD' : `stored in ${generatedPassword.path}`;
    return { user, loginLines: [`Login     ${adminLogin}`, `Password  ${password}   (${source})`] };
  }
  const reason =
    user === null
      ? `there are users in this database, but none named ${adminLogin}`
      : `the password of ${adminLogin} in this database is not the one in ${generatedPassword === null ? 'ADMIN_PASSWORD' : generatedPassword.path}`;
  return { user, loginLines: [`Login     unchanged: ${reason}`] };
}
