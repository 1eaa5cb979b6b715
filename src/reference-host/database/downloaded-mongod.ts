import { mkdir, readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { cacheDirectory } from './cache-directory.js';
import { waitForExit, startChild } from './child.js';
import type { DatabaseOptions } from './database-options.js';
import { isInstalled, describeMissingPackages } from '../../optional-packages.js';

/** All machines run this version, unless `MONGOMS_VERSION` selects another. */
const mongodVersion = '8.2.6';
/** A download is abandoned after this time without progress, unless the caller sets another limit. */
const defaultStallMs = { beforeFirstByte: 10_000, later: 60_000 };

// The download runs in a separate process, because the library prints its progress, cannot be canceled, and is configured by
// environment variables.
const downloadScript = `
const { MongoBinary } = require(process.argv[1]);
process.stdin.on('end', () => process.exit(1)).on('error', () => process.exit(1)).resume();
MongoBinary.getPath(JSON.parse(process.argv[2])).then(
  (path) => { console.log('PATH ' + path); process.exit(0); },
  (error) => { console.error(error.message); process.exit(1); },
);
`;

/** Downloads `mongod` with mongodb-memory-server, unless that was done earlier. @returns its path */
export async function downloadMongod(
  options: Pick<DatabaseOptions, 'env' | 'report' | 'signal' | 'downloadStallMs'>,
): Promise<string> {
  const libraryName = 'mongodb-memory-server';
  if (!isInstalled(libraryName)) throw new Error(describeMissingPackages(libraryName));
  const libraryPath = createRequire(import.meta.url).resolve(libraryName);
  const downloadDir = options.env.MONGOMS_DOWNLOAD_DIR ?? join(cacheDirectory(options.env), 'mongod');
  await mkdir(downloadDir, { recursive: true });
  const binaryOptions = { version: options.env.MONGOMS_VERSION ?? mongodVersion, downloadDir };
  const child = startChild(process.execPath, ['-e', downloadScript, libraryPath, JSON.stringify(binaryOptions)], {
    ...options.env,
    // The library checks certificates only if npm's setting says so.
    npm_config_strict_ssl: options.env.npm_config_strict_ssl ?? 'true',
    MONGOMS_MAX_RETRIES: options.env.MONGOMS_MAX_RETRIES ?? '1',
  });
  let path: string | null = null;
  let incompleteLine = '';
  child.process.stdout.on('data', (chunk: Buffer) => {
    const lines = (incompleteLine + chunk.toString('utf8')).split('\n');
    incompleteLine = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('PATH ')) path = line.slice(5).trim();
      const percentMatch = /: ([\d.]+)% \(/.exec(line);
      if (percentMatch) options.report?.({ text: line.trim(), fraction: Number(percentMatch[1]) / 100 });
    }
  });
  const { signal, downloadStallMs } = options;
  await waitForExit(child, {
    measureProgress: () => sumFileSizes(downloadDir),
    maxFirstStallMs: downloadStallMs ?? defaultStallMs.beforeFirstByte,
    maxStallMs: downloadStallMs ?? defaultStallMs.later,
    signal,
  });
  if (path === null) throw new Error(`mongodb-memory-server returned no path: ${child.lastLines()}`);
  return path;
}

/** Adds up the sizes of the files in a folder, in bytes. The sum grows while this or another process downloads into it. */
async function sumFileSizes(folder: string): Promise<number> {
  // A lock file is created before the download starts, so it is not a sign of progress.
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.endsWith('.lock'));
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (entry) => entry.size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
