import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { homedir, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { readSettings, type FileSettings } from '../../configuration-text/read-settings.js';
import { configPath, defaultConfigPath, listBackups, readConfigFile, replaceConfig, type ReplaceResult } from './replace.js';
import { decodeUtf8 } from '../../configuration-text/validate.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { HostLogger } from '../../host.js';
import { ConfigTexts } from './config-texts.js';
import { sweepTemporaryFiles } from '../../core/temporary-files.js';

/** What {@link Configuration} works with. */
export interface ConfigurationOptions {
  /** Path of the configuration file. Default: as the environment says. */
  path?: string;
  env: Readonly<Record<string, string | undefined>>;
  brand: string;
  logger: HostLogger;
  /** How many processes share the memory. Default 1. */
  processes?: number;
  /** Restarts the server, where the host can. */
  restart?: () => void;
}

/** The configuration file and what can be done with it. */
export interface ConfigurationText {
  path: string;
  exists: boolean;
  text: string;
  /** Another for each content of the file. */
  version: string;
  /** Names of former files beside it, newest first; not all where there are many. */
  backups: string[];
  /** Whether the server can be restarted from here. */
  canRestart: boolean;
}

const shownBackups = 20;

/** Requests under way, and the answer that announces the restart, get this long, in milliseconds. */
const restartDelayMs = 1000;

/** The server's configuration file: the plugin's own section at start, and its replacement. */
export class Configuration {
  readonly path: string;
  readonly texts = new ConfigTexts();
  /** Whether nobody has named the file: its folder is made when it is needed. */
  readonly #isDefault: boolean;
  #restart: NodeJS.Timeout | null = null;

  constructor(private readonly options: ConfigurationOptions) {
    const home = options.env.HOME || homedir();
    this.path = options.path ?? configPath(options.env, home, options.brand);
    this.#isDefault = this.path === defaultConfigPath(home, options.brand);
  }

  /** Whether the server can be restarted from here. */
  get canRestart(): boolean {
    return this.options.restart !== undefined;
  }

  /** The plugin's section of the file as it is now, and the environment over it. What cannot be used is logged and passed over. */
  async load(): Promise<FileSettings> {
    const { env, logger, processes = 1 } = this.options;
    return readSettings({
      config: await this.#readText(),
      env,
      totalMemory: Math.floor(availableMemory() / processes),
      report: (problem) => logger.warn({ path: this.path, ...problem }, 'Configuration:Setting:Ignored'),
    });
  }

  /**
   * The file as it is now, for who wants to edit it; an empty text where there is none.
   *
   * @throws LargeImageError `unavailable` when it cannot be read, `conflict` when it is no file or no text in UTF-8.
   */
  async read(): Promise<ConfigurationText> {
    const [bytes, backups] = await Promise.all([readConfigFile(this.path), listBackups(this.path)]);
    return {
      path: this.path,
      exists: bytes !== null,
      text: bytes === null ? '' : this.#decode(bytes),
      version: versionOf(bytes),
      backups: backups.slice(0, shownBackups),
      canRestart: this.canRestart,
    };
  }

  #decode(bytes: Buffer): string {
    try {
      return decodeUtf8(bytes);
    } catch (cause) {
      throw new LargeImageError('conflict', `The configuration file ${this.path} is not text in UTF-8.`, { cause });
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
   * Replaces the file, and restarts the server where that is asked for and the file has changed.
   *
   * @throws BadParameterError `Invalid config file`; LargeImageError `not-implemented` when a restart is asked for that the host does not
   * offer, `unavailable` or `conflict` when the file cannot be written, `conflict` also when it is not of the `expected` version any more.
   * Nothing is written then.
   */
  async replace(
    text: string,
    { restart, expected }: { restart: boolean; expected?: string | undefined },
  ): Promise<ReplaceResult & { restarted?: Date }> {
    const { logger } = this.options;
    if ((await this.texts.validate(text)).length > 0) throw new BadParameterError('Invalid config file');
    const replaced = await replaceConfig(text, {
      path: this.path,
      logger,
      makeFolder: this.#isDefault,
      allow: (former) => {
        if (expected !== undefined && expected !== versionOf(former)) {
          throw new LargeImageError(
            'conflict',
            'The configuration file has been changed by somebody else since it was read. Read it again.',
          );
        }
        if (restart && !this.canRestart) {
          throw new LargeImageError(
            'not-implemented',
            'This server cannot restart itself; replace the configuration with restart=false and restart it by hand.',
          );
        }
      },
    });
    if (!restart || replaced.status === 'no change') return replaced;
    // Several replacements within the delay are one restart.
    this.#restart ??= setTimeout(() => this.options.restart?.(), restartDelayMs);
    return { ...replaced, restarted: replaced.time };
  }

  /** Removes what replacements have left whose process was killed. @returns how many files. */
  async sweep(): Promise<number> {
    const path = await realpath(this.path).catch(() => this.path);
    // There need not be such a folder, and it need not be this server's to write to.
    return sweepTemporaryFiles(dirname(path)).catch(() => 0);
  }

  /** Drops a restart that has not happened yet, and ends the thread. */
  async close(): Promise<void> {
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
    await this.texts.close();
  }
}

function versionOf(bytes: Buffer | null): string {
  return bytes === null ? 'none' : createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

/** Memory that this process may use, in bytes: of the machine, or of the container where that is less. */
function availableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(totalmem(), constrained) : totalmem();
}
