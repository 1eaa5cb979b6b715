import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { homedir, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { readSettings, type FileSettings } from '../../configuration-text/read-settings.js';
import { configPath, defaultConfigPath, listBackups, readConfigFile, replaceConfig, type ReplaceResult } from './config-file.js';
import { decodeUtf8 } from '../../configuration-text/validate.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { HostLogger } from '../../host.js';
import { ConfigTexts } from './config-texts.js';
import { sweepTemporaryFiles } from '../../core/temporary-files.js';

/** Options of {@link Configuration}. */
export interface ConfigurationOptions {
  /** Path of the configuration file. Default: {@link configPath}. */
  path?: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Name of the host's product, which is part of the default path. */
  brand: string;
  logger: HostLogger;
  /** Number of processes that share the memory. Default 1. */
  processes?: number;
  /** Restarts the server, if the host supports that. */
  restart?: () => void;
}

/** The configuration file as the route `GET /large_image/config` describes it. */
export interface ConfigurationFile {
  path: string;
  exists: boolean;
  text: string;
  /** A text that changes with the content of the file. */
  version: string;
  /** Names of the backups in the same folder, newest first, at most {@link maxShownBackups}. */
  backups: string[];
  /** Whether the server can restart itself. */
  canRestart: boolean;
}

const maxShownBackups = 20;

/** Delay before a restart in milliseconds. During this time, open requests and the response that announces the restart can finish. */
const restartDelayMs = 1000;

/** The server's configuration file. Reads the plugin's settings from it at startup, and replaces it. */
export class Configuration {
  readonly path: string;
  readonly texts = new ConfigTexts();
  /** Whether the path is the built-in default, whose folder is created when needed. */
  readonly #usesDefaultPath: boolean;
  #restartTimer: NodeJS.Timeout | null = null;

  constructor(private readonly options: ConfigurationOptions) {
    const home = options.env.HOME || homedir();
    this.path = options.path ?? configPath(options.env, home, options.brand);
    this.#usesDefaultPath = this.path === defaultConfigPath(home, options.brand);
  }

  /** Whether the server can restart itself. */
  get canRestart(): boolean {
    return this.options.restart !== undefined;
  }

  /** Reads the plugin's settings from the file and the environment. Invalid settings are logged and ignored. */
  async loadSettings(): Promise<FileSettings> {
    const { env, logger, processes = 1 } = this.options;
    return readSettings({
      config: await this.#readText(),
      env,
      totalMemoryBytes: Math.floor(availableMemoryBytes() / processes),
      onProblem: (problem) => logger.warn({ path: this.path, ...problem }, 'Configuration:Setting:Ignored'),
    });
  }

  /**
   * The current file for an editor. The text is empty if there is no file.
   *
   * @throws LargeImageError `unavailable` if the file cannot be read, `conflict` if it is not a regular file or not text in UTF-8.
   */
  async read(): Promise<ConfigurationFile> {
    const [bytes, backups] = await Promise.all([readConfigFile(this.path), listBackups(this.path)]);
    return {
      path: this.path,
      exists: bytes !== null,
      text: bytes === null ? '' : this.#decode(bytes),
      version: versionOf(bytes),
      backups: backups.slice(0, maxShownBackups),
      canRestart: this.canRestart,
    };
  }

  #decode(bytes: Buffer): string {
    try {
      return decodeUtf8(bytes);
    } catch (cause) {
      throw new LargeImageError('conflict', `The configuration file ${this.path} is not UTF-8 text.`, { cause });
    }
  }

  async #readText(): Promise<string | null> {
    try {
      const bytes = await readConfigFile(this.path);
      return bytes === null ? null : decodeUtf8(bytes);
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.options.logger.warn({ path: this.path, reason: error.message }, 'Configuration:File:Ignored');
      return null;
    }
  }

  /**
   * Replaces the file. With `restart`, the server restarts afterwards if the text was different.
   *
   * @throws BadParameterError `Invalid config file`; LargeImageError `not-implemented` if a restart is requested that the host does not
   * support, `unavailable` or `conflict` if the file cannot be written, `conflict` if it does not have the `expected` version. Nothing is
   * written in these cases.
   */
  async replace(
    text: string,
    { restart, expected }: { restart: boolean; expected?: string | undefined },
  ): Promise<ReplaceResult & { restarted?: Date }> {
    const { logger } = this.options;
    if ((await this.texts.validate(text)).length > 0) throw new BadParameterError('Invalid config file');
    const result = await replaceConfig(text, {
      path: this.path,
      logger,
      mayCreateFolder: this.#usesDefaultPath,
      checkReplaceable: (currentContent) => {
        if (expected !== undefined && expected !== versionOf(currentContent)) {
          throw new LargeImageError(
            'conflict',
            'Someone else has changed the configuration file since it was read. Read it again.',
          );
        }
        if (restart && !this.canRestart) {
          throw new LargeImageError(
            'not-implemented',
            'This server cannot restart itself; replace the configuration with restart=false and restart the server yourself.',
          );
        }
      },
    });
    if (!restart || result.status === 'no change') return result;
    // Several replacements within the delay cause one restart.
    this.#restartTimer ??= setTimeout(() => this.options.restart?.(), restartDelayMs);
    return { ...result, restarted: result.time };
  }

  /** Removes temporary files of replacements whose process was killed. @returns the number of files. */
  async sweep(): Promise<number> {
    const path = await realpath(this.path).catch(() => this.path);
    // The folder may be missing, or the server may have no right to write to it.
    return sweepTemporaryFiles(dirname(path)).catch(() => 0);
  }

  /** Cancels a pending restart and stops the thread. */
  async close(): Promise<void> {
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    this.#restartTimer = null;
    await this.texts.close();
  }
}

function versionOf(bytes: Buffer | null): string {
  return bytes === null ? 'none' : createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

/** Memory that this process may use, in bytes: the memory of the machine, or the limit of its container if that is smaller. */
function availableMemoryBytes(): number {
  const containerLimit = process.constrainedMemory();
  return containerLimit > 0 ? Math.min(totalmem(), containerLimit) : totalmem();
}
