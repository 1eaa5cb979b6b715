import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { cac } from 'cac';
import { parseServerRoot } from '../http/public-address.js';

/** A bucket, and which of its objects are served. */
export interface BucketPrefix {
  bucket: string;
  /** Only objects whose keys start with this; empty for all. */
  prefix: string;
}

/** The options of `npm start`. */
export interface StartOptions {
  /** 0 means any free port. */
  port: number;
  host: string;
  dataDirectory: string;
  /** Name of the product in the API. */
  brand: string | null;
  adminPassword: string | null;
  /** Number of proxies in front of the server, or their addresses. */
  trustProxy: number | string | null;
  /** The setting `core.server_root`; `null` leaves the stored value unchanged. */
  serverRoot: string | null;
  /** How long to wait at startup for the database of `MONGODB_URI`. */
  databaseWaitMs: number;
  /** Token for reading the metrics for Prometheus. */
  metricsToken: string | null;
  /** Whether to start without a slide or user. Then the first user to register becomes the administrator. */
  bare: boolean;
  /** Whether everyone can see the served files and the synthetic slide. */
  isPublic: boolean;
  /** Whether served files are read whole, to find changes in their middle. */
  comparesContents: boolean;
  /** Number of processes that serve requests. */
  processCount: number;
  /** Whether to only run jobs, for a server with the same database and data folder. */
  worker: boolean;
  /** Lowest level that is logged to standard error. */
  logLevel: string;
  /** Absolute paths of the user's files and folders, to serve in place. */
  paths: string[];
  /** Objects in buckets, to serve in place. */
  buckets: BucketPrefix[];
}

/** Thrown if the command line or the environment is invalid. The message is printed on the terminal. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Environment variables of `npm start`: name, default, meaning. The table in docs/settings.md is generated from them. */
export const environmentVariables = [
  ['PORT', '8080', 'Port to listen on; 0 picks a free one.'],
  ['HOST', '127.0.0.1', 'Address to listen on; 0.0.0.0 accepts connections from the network.'],
  ['DATA_DIR', 'data', 'Folder for uploads, the synthetic slide, the database and the generated password.'],
  ['MONGODB_URI', '', 'MongoDB to use. If unset, a database is started.'],
  ['DATABASE_WAIT', '60', 'How long to wait for the database at startup, in seconds.'],
  ['ADMIN_PASSWORD', '', 'Password for the user `admin` when it is created. If unset, one is generated and saved in DATA_DIR.'],
  [
    'TRUST_PROXY',
    '',
    'Trusted proxies: how many there are, or their addresses or networks, separated by commas. If unset, none is trusted.',
  ],
  [
    'SERVER_ROOT',
    '',
    'Public address of the server, such as https://host/images. It is written to the setting `core.server_root`.',
  ],
  [
    'CHECKSUMS',
    'on',
    'on or off: whether to read each served file in full, in the background, and store a hash of it. Changes in the middle of a file are then noticed too.',
  ],
  ['BRAND', '', 'Product name in the API, one word. Clients made for Girder need `girder`.'],
  [
    'LOG_LEVEL',
    'info',
    'Lowest level that is logged to standard error, one JSON object per line: debug, info, warn, error or silent.',
  ],
  [
    'METRICS_TOKEN',
    '',
    'Bearer token for reading `/metrics`. If unset, only site administrators can. Requires the package `prom-client`.',
  ],
  [
    'LARGE_IMAGE_CACHE_DIR',
    '',
    'Folder for downloaded programs (a database). Default: `express-large-image` in the user’s cache folder.',
  ],
] as const;

/**
 * Reads the command line (without program and script) and the environment.
 *
 * @returns `{ help }` when help was requested
 * @throws {@link UsageError} that says what is wrong and what would be right
 */
export function readOptions(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  version: string,
  command = 'npm start --',
): StartOptions | { help: string } {
  const program = cac(command);
  program.option('--bare', 'start without a slide or user: the first user to register is the administrator');
  program.option('--public', 'show the files to everybody; otherwise only to users who sign in and have access');
  program.option('--processes <number>', 'number of serving processes; auto: one for each processor');
  program.option('--worker', 'only run jobs, for a server that uses the same MONGODB_URI and DATA_DIR');
  const optionWords = wordsBeforeDashes(words);
  // cac would print its own help text, so requests for help are answered before it parses the words.
  const help = createRequestedHelp(words, version, command);
  if (help !== null) return { help };
  let parsedCommand: ReturnType<typeof program.parse>;
  try {
    parsedCommand = program.parse(['node', 'start', ...words], { run: false });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const {
    '--': wordsAfterDashes = [],
    bare,
    public: isPublic,
    worker,
    processes,
    ...unknownOptions
  } = parsedCommand.options as Record<string, unknown> & { '--'?: string[] };
  for (const name of Object.keys(unknownOptions))
    throw new UsageError(`Unknown option: ${name.length > 1 ? '--' : '-'}${name}. See ${command} --help`);
  // cac would treat `x` in `--bare=x` as a file, and `--no-public` as `--public` with the value false.
  for (const option of ['bare', 'public', 'worker']) {
    if (optionWords.some((word) => word.startsWith(`--${option}=`))) throw new UsageError(`--${option} takes no value.`);
    if (optionWords.includes(`--no-${option}`)) throw new UsageError(`Unknown option: --no-${option}. See ${command} --help`);
  }
  if (isPublic && (bare || worker)) {
    throw new UsageError(`--public makes files visible to everyone, but ${bare ? '--bare' : '--worker'} serves no files.`);
  }
  if (worker && processes !== undefined) {
    throw new UsageError('--worker is a single process: for more, start several workers.');
  }
  if (worker && !env.MONGODB_URI) {
    throw new UsageError('--worker needs MONGODB_URI: the database of the server whose jobs it runs.');
  }

  const positionalWords = [...parsedCommand.args, ...wordsAfterDashes];
  const buckets = positionalWords.flatMap((word) => parseBucketPrefix(word) ?? []);
  const paths = positionalWords.filter((word) => parseBucketPrefix(word) === null).map((path) => resolve(path));
  const missingPath = paths.find((path) => !existsSync(path));
  if (missingPath !== undefined) throw new UsageError(`There is no file or folder ${missingPath}`);
  const hasFiles = paths.length + buckets.length > 0;
  if (bare && hasFiles) {
    throw new UsageError('--bare starts an empty server: omit the files, or omit --bare to serve them.');
  }
  if (worker && (bare || hasFiles)) throw new UsageError('--worker serves no files: omit the files and --bare.');
  const adminPassword = env.ADMIN_PASSWORD ? env.ADMIN_PASSWORD : null;
  if (adminPassword !== null && (adminPassword.length < 6 || adminPassword.length > 1024)) {
    throw new UsageError('ADMIN_PASSWORD must have at least 6 characters, and at most 1024.');
  }
  const brand = env.BRAND ? env.BRAND : null;
  if (brand !== null && !/^[A-Za-z][A-Za-z0-9_]{0,39}$/.test(brand)) {
    throw new UsageError(
      `BRAND is ${JSON.stringify(brand)}; it must be one word of letters, digits and _ that starts with a letter.`,
    );
  }
  return {
    port: readPort(env.PORT),
    host: env.HOST ? env.HOST : '127.0.0.1',
    dataDirectory: resolve(env.DATA_DIR ? env.DATA_DIR : 'data'),
    brand,
    adminPassword,
    trustProxy: readTrustProxy(env.TRUST_PROXY),
    serverRoot: readServerRoot(env.SERVER_ROOT),
    databaseWaitMs: readDatabaseWaitSeconds(env.DATABASE_WAIT) * 1000,
    metricsToken: env.METRICS_TOKEN || null,
    bare: bare === true,
    isPublic: isPublic === true,
    comparesContents: readSwitch('CHECKSUMS', env.CHECKSUMS),
    processCount: readProcessCount(processes as string | number | undefined),
    worker: worker === true,
    logLevel: readLogLevel(env.LOG_LEVEL),
    paths,
    buckets,
  };
}

/** Reads a variable that is `on` or `off`, by default `on`. @throws UsageError if it is anything else */
function readSwitch(name: string, text: string | undefined): boolean {
  if (text === undefined || text === '' || text === 'on') return true;
  if (text === 'off') return false;
  throw new UsageError(`${name} is ${JSON.stringify(text)}; it must be on or off.`);
}

/** Reads `s3://bucket/prefix`; `null` for words that do not start with `s3:`. @throws UsageError if the name of the bucket is invalid */
function parseBucketPrefix(word: string): BucketPrefix | null {
  if (!/^s3:/i.test(word)) return null;
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]*)\/?(.*)$/is.exec(word) ?? [];
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket)) {
    throw new UsageError(`${word} names no bucket; use s3://BUCKET or s3://BUCKET/PREFIX.`);
  }
  return { bucket, prefix };
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return 8080;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new UsageError(`PORT is ${JSON.stringify(text)}; it must be a whole number from 0 (any free port) to 65535.`);
  }
  return port;
}

function readDatabaseWaitSeconds(text: string | undefined): number {
  if (text === undefined || text === '') return 60;
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new UsageError(`DATABASE_WAIT is ${JSON.stringify(text)}; it must be a whole number of seconds from 0 to 99999.`);
}

const maxProcesses = 256;

function readProcessCount(value: string | number | undefined): number {
  if (value === undefined) return 1;
  if (value === 'auto') return availableParallelism();
  const count = Number(value);
  if (Number.isSafeInteger(count) && count >= 1 && count <= maxProcesses) return count;
  throw new UsageError(
    `--processes is ${value}; it must be a whole number from 1 to ${maxProcesses}, or auto: one for each processor.`,
  );
}

function readTrustProxy(text: string | undefined): number | string | null {
  if (text === undefined || text.trim() === '') return null;
  if (/^\d{1,2}$/.test(text.trim())) return Number(text);
  const entries = text.split(',').map((entry) => entry.trim());
  const isAddressOrNetwork = (entry: string) => {
    const [address = '', prefixBits, ...otherParts] = entry.split('/');
    const maxPrefixBits = isIP(address) === 4 ? 32 : 128;
    return (
      isIP(address) > 0 &&
      otherParts.length === 0 &&
      (prefixBits === undefined || (/^\d{1,3}$/.test(prefixBits) && Number(prefixBits) <= maxPrefixBits))
    );
  };
  if (entries.every((entry) => ['loopback', 'linklocal', 'uniquelocal'].includes(entry) || isAddressOrNetwork(entry)))
    return entries.join(',');
  throw new UsageError(
    `TRUST_PROXY is ${JSON.stringify(text)}; it must be the number of proxies before the server, or their addresses and networks (10.0.0.0/8, ` +
      'loopback, linklocal, uniquelocal), separated by commas.',
  );
}

function readServerRoot(text: string | undefined): string | null {
  if (text === undefined || text.trim() === '') return null;
  try {
    return parseServerRoot(text);
  } catch (error) {
    throw new UsageError(`SERVER_ROOT is ${JSON.stringify(text)}; it must be an address such as https://host/images.`, {
      cause: error,
    });
  }
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'];

function readLogLevel(text: string | undefined): string {
  if (text === undefined || text === '') return 'info';
  if (logLevels.includes(text)) return text;
  throw new UsageError(`LOG_LEVEL is ${JSON.stringify(text)}; it must be one of ${logLevels.join(', ')}.`);
}

/** Creates the help text if the command line requests it. @returns `null` otherwise */
export function createRequestedHelp(words: readonly string[], version: string, command: string): string | null {
  return wordsBeforeDashes(words).some((word) => word === '--help' || word === '-h') ? createHelpText(version, command) : null;
}

/** The arguments before `--`, among which options are recognized. */
function wordsBeforeDashes(words: readonly string[]): readonly string[] {
  const dashesIndex = words.indexOf('--');
  return dashesIndex < 0 ? words : words.slice(0, dashesIndex);
}

function createHelpText(version: string, command: string): string {
  const commands = [
    [command.replace(/ --$/, ''), 'with a synthetic tissue slide'],
    [`${command} slide.svs folder/`, 'with your own files, served in place and not copied'],
    [`${command} s3://bucket/prefix`, 'with slides in a bucket, served in place (AWS_… as for the AWS SDK)'],
    [`${command} --public folder/`, 'visible to everyone; without --public, only to signed-in users with access'],
    [`${command} --bare`, 'without a slide or user: the first user to register is the administrator'],
    [`${command} --processes auto`, 'with one process for each processor'],
    [`${command} --worker`, 'only runs jobs, for a server with the same MONGODB_URI and DATA_DIR'],
    [`${command} --help`, 'this text'],
  ];
  const width = Math.max(...commands.map(([commandText = '']) => commandText.length));
  const rows = environmentVariables.map(
    ([name, value, meaning]) => `  ${name.padEnd(22)} ${meaning}${value === '' ? '' : ` Default: ${value}.`}`,
  );
  return [
    `express-large-image ${version}: the reference host`,
    '',
    ...commands.map(([commandText = '', meaning = '']) => `${commandText.padEnd(width)}   ${meaning}`),
    '',
    'Environment:',
    ...rows,
  ].join('\n');
}
