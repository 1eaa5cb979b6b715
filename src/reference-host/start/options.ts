import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { cac } from 'cac';

/** What `npm start` was asked to do. */
export interface StartOptions {
  /** 0: any free port. */
  port: number;
  host: string;
  dataDirectory: string;
  /** Word that names the product on the wire. */
  brand: string | null;
  adminPassword: string | null;
  /** How many proxies stand before the server, or their addresses. */
  trustProxy: number | string | null;
  /** Token with which numbers for Prometheus are read. */
  metricsToken: string | null;
  /** Neither slide nor user: the first to register is the administrator. */
  bare: boolean;
  /** Only run jobs, beside a server on the same database and data folder. */
  worker: boolean;
  /** What of the log is written, to standard error. */
  logLevel: string;
  /** Absolute paths of the caller's own files and folders, to be served in place. */
  paths: string[];
}

/** The command line or the environment asks for something that cannot be; the message is for the terminal. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** Environment variables of `npm start`: name, default, meaning. README's table holds the same. */
export const environmentVariables = [
  ['PORT', '8080', 'Port to listen on; 0 takes any free one.'],
  ['HOST', '127.0.0.1', 'Address to listen on; 0.0.0.0 opens the server to the network.'],
  ['DATA_DIR', 'data', 'Folder for uploaded files, the synthetic slide, the database that is started, and the password.'],
  ['MONGODB_URI', '', 'MongoDB to use. Without it a database is started (see Database).'],
  ['ADMIN_PASSWORD', '', 'Password of the user `admin` when it is created. Without it one is made up and kept in DATA_DIR.'],
  [
    'TRUST_PROXY',
    '',
    'Proxies that are believed when they say who their client is: how many stand before the server, or their addresses and networks, ' +
      'separated by commas. Without it none is.',
  ],
  ['BRAND', '', 'Word that names the product on the wire; `girder` suits existing clients.'],
  ['LOG_LEVEL', 'info', 'What is written to standard error, a JSON object a line: debug, info, warn, error or silent.'],
  [
    'METRICS_TOKEN',
    '',
    'Token with which `/metrics` is read (`Authorization: Bearer`). Without it only site administrators may. Needs the package `prom-client`.',
  ],
  [
    'LARGE_IMAGE_CACHE_DIR',
    '',
    'Folder for programs fetched once (a database); default: `express-large-image` in the user’s cache folder.',
  ],
] as const;

/**
 * Reads the command line (without program and script) and the environment.
 *
 * @returns `{ help }` when help was asked for
 * @throws {@link UsageError} with what is wrong and what would be right
 */
export function readOptions(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  version: string,
): StartOptions | { help: string } {
  const program = cac('npm start --');
  program.option('--bare', 'start with no slide and no user: the first user to register is the administrator');
  program.option('--worker', 'only run jobs, for a server that uses the same MONGODB_URI and DATA_DIR');
  const end = words.indexOf('--');
  const own = end < 0 ? words : words.slice(0, end);
  // cac would print a help text itself: it is not asked.
  if (own.some((word) => word === '--help' || word === '-h')) return { help: helpText(version) };
  let parsed: ReturnType<typeof program.parse>;
  try {
    parsed = program.parse(['node', 'start', ...words], { run: false });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  const { '--': after = [], bare, worker, ...unknown } = parsed.options as Record<string, unknown> & { '--'?: string[] };
  for (const name of Object.keys(unknown))
    throw new UsageError(`Unknown option: ${name.length > 1 ? '--' : '-'}${name}. See npm start -- --help`);
  // cac takes the value of an option that has none for a file.
  if (own.some((word) => word.startsWith('--bare='))) throw new UsageError('--bare takes no value.');

  if (own.some((word) => word.startsWith('--worker='))) throw new UsageError('--worker takes no value.');
  if (worker && !env.MONGODB_URI) {
    throw new UsageError('--worker needs MONGODB_URI: the database of the server whose jobs it runs.');
  }

  const paths = [...parsed.args, ...after].map((path) => resolve(path));
  const missing = paths.find((path) => !existsSync(path));
  if (missing !== undefined) throw new UsageError(`There is no file or folder ${missing}`);
  if (bare && paths.length > 0) {
    throw new UsageError('--bare starts with nothing in it: give no files with it, or leave it out to serve them.');
  }
  if (worker && (bare || paths.length > 0))
    throw new UsageError('--worker serves nothing: give neither files nor --bare with it.');
  const adminPassword = env.ADMIN_PASSWORD ? env.ADMIN_PASSWORD : null;
  if (adminPassword !== null && (adminPassword.length < 6 || adminPassword.length > 1024)) {
    throw new UsageError('ADMIN_PASSWORD must have at least 6 characters, and at most 1024.');
  }
  const brand = env.BRAND ? env.BRAND : null;
  if (brand !== null && !/^[A-Za-z][A-Za-z0-9_]{0,39}$/.test(brand)) {
    throw new UsageError(
      `BRAND is ${JSON.stringify(brand)}; it is one word of letters, digits and _, that starts with a letter.`,
    );
  }
  return {
    port: readPort(env.PORT),
    host: env.HOST ? env.HOST : '127.0.0.1',
    dataDirectory: resolve(env.DATA_DIR ? env.DATA_DIR : 'data'),
    brand,
    adminPassword,
    trustProxy: readTrustProxy(env.TRUST_PROXY),
    metricsToken: env.METRICS_TOKEN || null,
    bare: bare === true,
    worker: worker === true,
    logLevel: readLogLevel(env.LOG_LEVEL),
    paths,
  };
}

function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return 8080;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new UsageError(`PORT is ${JSON.stringify(text)}; it is a whole number from 0 (any free port) to 65535.`);
  }
  return port;
}

function readTrustProxy(text: string | undefined): number | string | null {
  if (text === undefined || text.trim() === '') return null;
  if (/^\d{1,2}$/.test(text.trim())) return Number(text);
  const entries = text.split(',').map((entry) => entry.trim());
  const isNetwork = (entry: string) => {
    const [address = '', bits, ...more] = entry.split('/');
    const most = isIP(address) === 4 ? 32 : 128;
    return isIP(address) > 0 && more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most));
  };
  if (entries.every((entry) => ['loopback', 'linklocal', 'uniquelocal'].includes(entry) || isNetwork(entry)))
    return entries.join(',');
  throw new UsageError(
    `TRUST_PROXY is ${JSON.stringify(text)}; it is the number of proxies before the server, or their addresses and networks (10.0.0.0/8, ` +
      'loopback, linklocal, uniquelocal), separated by commas.',
  );
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'];

function readLogLevel(text: string | undefined): string {
  if (text === undefined || text === '') return 'info';
  if (logLevels.includes(text)) return text;
  throw new UsageError(`LOG_LEVEL is ${JSON.stringify(text)}; it is one of ${logLevels.join(', ')}.`);
}

function helpText(version: string): string {
  const rows = environmentVariables.map(
    ([name, value, meaning]) => `  ${name.padEnd(22)} ${meaning}${value === '' ? '' : ` Default: ${value}.`}`,
  );
  return [
    `express-large-image ${version}: the reference host`,
    '',
    'npm start                              with a synthetic tissue slide',
    'npm start -- slide.svs folder/         with your own files, served in place and not copied',
    'npm start -- --bare                    with no slide and no user: the first user to register is the administrator',
    'npm start -- --worker                  only runs jobs, for a server with the same MONGODB_URI and DATA_DIR',
    'npm start -- --help                    this text',
    '',
    'Environment:',
    ...rows,
  ].join('\n');
}
