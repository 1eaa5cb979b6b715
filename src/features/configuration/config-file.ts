import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, readFile, readdir, realpath, rename, stat, unlink, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LargeImageError } from '../../errors.js';
import type { HostLogger } from '../../host.js';
import { KeyedQueues } from '../../core/concurrency/keyed-queues.js';
import { isFullDiskCode } from '../../core/full-disk.js';
import { announceStep } from '../../core/steps.js';
import { hiddenTemporaryPath } from '../../core/temporary-files.js';

/** The result of {@link replaceConfig}. */
export type ReplaceResult = { status: 'no change' } | { status: 'updated'; time: Date; backupPath?: string };

/** Permissions of a new file, which may contain the passwords of caches. */
const newFileMode = 0o600;
/** Maximum number of backups whose modification times are in the same second. */
const maxBackupsPerSecond = 1000;

/** Runs the replacements of the same path in this process one after another. */
const replacementQueues = new KeyedQueues();

/**
 * Path of the configuration file: the value of `SERVICE_CONFIG`, otherwise of `<BRAND>_CONFIG`, otherwise of `GIRDER_CONFIG`, otherwise
 * {@link defaultConfigPath}. Empty variables count as unset.
 */
export function configPath(env: Readonly<Record<string, string | undefined>>, home: string, brand: string): string {
  for (const name of ['SERVICE_CONFIG', `${brand.toUpperCase()}_CONFIG`, 'GIRDER_CONFIG']) {
    const path = env[name];
    if (path !== undefined && path !== '') return path;
  }
  return defaultConfigPath(home, brand);
}

/** Default path of the configuration file: `~/.<brand>/<brand>.cfg`. */
export function defaultConfigPath(home: string, brand: string): string {
  return join(home, `.${brand}`, `${brand}.cfg`);
}

/**
 * Bytes of the configuration file; `null` if there is none.
 *
 * @throws LargeImageError `unavailable` if the file cannot be read, `conflict` if it is not a regular file.
 */
export async function readConfigFile(path: string): Promise<Buffer | null> {
  return (await readTarget(path)).content;
}

/** Names of the backups in the folder of the configuration file, newest first. */
export async function listBackups(path: string): Promise<string[]> {
  const names = await readdir(dirname(path)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw toLargeImageError(error, path);
  });
  const prefix = `${basename(path)}.`;
  const isBackup = (name: string) => name.startsWith(prefix) && /^\d{8}-\d{6}(\.\d+)?$/.test(name.slice(prefix.length));
  return names.filter(isBackup).toSorted().toReversed();
}

/**
 * Replaces the configuration file atomically: at every moment there is either the old or the complete new file. A backup of the old file
 * is kept as `<path>.<YYYYMMDD-HHMMSS>`, named after the modification time of the old file in local time. Mode and owner are kept. If
 * the path is a symbolic link, its target is replaced.
 *
 * @throws LargeImageError `unavailable` if the folder is missing or cannot be written, `storage-full` if the disk is full,
 * `conflict` if the path is not a regular file.
 */
export async function replaceConfig(
  text: string,
  {
    path,
    now = () => new Date(),
    logger,
    mayCreateFolder = false,
    checkReplaceable = () => undefined,
  }: {
    path: string;
    now?: () => Date;
    logger?: HostLogger;
    /** Whether a missing folder is created. */
    mayCreateFolder?: boolean;
    /**
     * Called with the current content of the file before a different text is written. It cancels the replacement by throwing an
     * error.
     */
    checkReplaceable?: (currentContent: Buffer | null) => void;
  },
): Promise<ReplaceResult> {
  return replacementQueues.run(path, () =>
    replaceFile(Buffer.from(text, 'utf8'), { path, now, logger, mayCreateFolder, checkReplaceable }),
  );
}

async function replaceFile(
  content: Buffer,
  {
    path,
    now,
    logger,
    mayCreateFolder,
    checkReplaceable,
  }: {
    path: string;
    now: () => Date;
    logger: HostLogger | undefined;
    mayCreateFolder: boolean;
    checkReplaceable: (currentContent: Buffer | null) => void;
  },
): Promise<ReplaceResult> {
  const target = await readTarget(path);
  if (target.content?.equals(content)) return { status: 'no change' };
  checkReplaceable(target.content);
  const temporaryPath = hiddenTemporaryPath(dirname(target.path), '.config.tmp');
  const createdPaths: string[] = [];
  try {
    // Only the owner may open the folder, because the file and its backups may contain the passwords of caches.
    if (mayCreateFolder) await mkdir(dirname(target.path), { recursive: true, mode: 0o700 });
    createdPaths.push(temporaryPath);
    await writeNewFile(temporaryPath, content, target.stats);
    announceStep('configuration:written');
    let backupPath: string | null = null;
    if (target.content !== null && target.stats !== null) {
      backupPath = await writeBackup(path, target.content, target.stats, createdPaths);
      announceStep('configuration:saved');
      logger?.info({ from: path, to: backupPath }, `Copying existing config file from ${path} to ${backupPath}`);
    }
    logger?.info({ path }, `Replacing config file ${path}`);
    await rename(temporaryPath, target.path);
    announceStep('configuration:replaced');
    createdPaths.length = 0;
    await syncFolder(dirname(target.path));
    return { status: 'updated', time: now(), ...(backupPath === null ? {} : { backupPath }) };
  } catch (error) {
    for (const file of createdPaths) await unlink(file).catch(() => undefined);
    throw toLargeImageError(error, path);
  }
}

/** Reads the file to be replaced: the file at the path, or the file that a symbolic link at the path leads to. */
async function readTarget(path: string): Promise<{ path: string; content: Buffer | null; stats: Stats | null }> {
  try {
    const targetPath = await realpath(path).catch(async (error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
      const link = await lstat(path).catch(() => null);
      if (link !== null)
        throw new LargeImageError('conflict', `The configuration file ${path} is a link to a file that does not exist.`);
      return null;
    });
    if (targetPath === null) return { path, content: null, stats: null };
    const stats = await stat(targetPath);
    if (!stats.isFile()) throw new LargeImageError('conflict', `The configuration file ${path} is not a regular file.`);
    return { path: targetPath, content: await readFile(targetPath), stats };
  } catch (error) {
    throw toLargeImageError(error, path);
  }
}

/** Creates a file that must not exist yet, with the owner and permissions of `ownerAndMode`, and flushes it to the disk. */
async function writeNewFile(path: string, content: Buffer, ownerAndMode: Stats | null): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, newFileMode);
  try {
    await file.writeFile(content);
    if (ownerAndMode !== null) {
      const currentStats = await file.stat();
      // The owner is set before the mode, because changing the owner clears bits of the mode.
      if (currentStats.uid !== ownerAndMode.uid || currentStats.gid !== ownerAndMode.gid)
        await file.chown(ownerAndMode.uid, ownerAndMode.gid);
      await file.chmod(ownerAndMode.mode & 0o7777);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Writes the old content to a backup. An existing backup with the same content is reused.
 *
 * @param createdPaths receives the path of a new backup.
 * @returns the path of the backup.
 */
async function writeBackup(path: string, content: Buffer, stats: Stats, createdPaths: string[]): Promise<string> {
  const firstPath = `${path}.${localStamp(stats.mtime)}`;
  for (let number = 0; number < maxBackupsPerSecond; number += 1) {
    const backupPath = number === 0 ? firstPath : `${firstPath}.${number}`;
    createdPaths.push(backupPath);
    try {
      await writeNewFile(backupPath, content, stats);
      await utimes(backupPath, stats.atimeMs / 1000, stats.mtimeMs / 1000);
      return backupPath;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error;
      // This backup existed before, so it must not be removed if the replacement fails later.
      createdPaths.pop();
      const existingContent = await readFile(backupPath).catch(() => null);
      if (existingContent?.equals(content)) return backupPath;
    }
  }
  throw new LargeImageError('conflict', `There are already ${maxBackupsPerSecond} backups ${firstPath}; remove some of them.`);
}

function localStamp(time: Date): string {
  const twoDigits = (value: number) => String(value).padStart(2, '0');
  const day = `${String(time.getFullYear()).padStart(4, '0')}${twoDigits(time.getMonth() + 1)}${twoDigits(time.getDate())}`;
  return `${day}-${twoDigits(time.getHours())}${twoDigits(time.getMinutes())}${twoDigits(time.getSeconds())}`;
}

/** Flushes a folder, so that the renaming survives a crash. Does nothing on systems where folders cannot be opened (Windows). */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  if (folder === null) return;
  try {
    await folder.sync();
  } catch (error) {
    if (!hasCode(error, 'EINVAL') && !hasCode(error, 'EPERM')) throw error;
  } finally {
    await folder.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

const reasonByCode: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EACCES: 'the server has no permission to read or write it or its folder',
  EPERM: 'the server has no permission to write it, or to preserve its owner',
  EROFS: 'its folder is on a read-only disk',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk failed',
  ELOOP: 'it is a link that leads back to itself',
  ENAMETOOLONG: 'its name is too long',
  EMFILE: 'too many files are open',
};

function toLargeImageError(error: unknown, path: string): unknown {
  if (error instanceof LargeImageError || !(error instanceof Error) || !('code' in error)) return error;
  const reason = reasonByCode[String(error.code)] ?? `error ${String(error.code)}`;
  const kind = isFullDiskCode(error.code) ? 'storage-full' : 'unavailable';
  return new LargeImageError(kind, `The configuration file ${path} cannot be read or replaced: ${reason}.`, { cause: error });
}
