import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'tsup';
import { completeCode, packageBuild } from '../../../tsup.config.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** The report of `npm pack` about the package. */
export interface Packed {
  filename: string;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

interface Manifest {
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional: boolean }>;
  devDependencies: Record<string, string>;
}

/** Whether a build has finished, and all its files are newer than the sources. */
async function isBuilt(): Promise<boolean> {
  const filesBelow = async (folder: string) => {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  };
  const timesOf = (paths: string[]) => Promise.all(paths.map(async (path) => (await stat(path)).mtimeMs));
  const named = ['package-lock.json', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'tsup.config.ts'].map((name) =>
    join(root, name),
  );
  const built = await filesBelow('dist');
  // Types and licenses are made last, each after its own part of the build.
  const last = ['testing.d.ts', 'viewer/element.d.ts', 'THIRD-PARTY-LICENSES.txt'].map((name) => join(root, 'dist', name));
  if (!last.every((path) => built.includes(path))) return false;
  return Math.max(...(await timesOf([...named, ...(await filesBelow('src'))]))) < Math.min(...(await timesOf(built)));
}

/** The files that `npm install` has created, and the output of the reference host and its database. */
async function lookAtInstallation(work: string) {
  const files = await readdir(join(work, 'node_modules'), { recursive: true, withFileTypes: true });
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => {
      const { blocks } = await lstat(join(parentPath, name));
      return blocks * 512;
    }),
  );
  const lock = JSON.parse(await readFile(join(work, 'node_modules', '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>;
  };
  const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const packages = Object.entries(lock.packages);
  const script = `
    import { createReferenceHost, startDatabase } from 'express-large-image/reference-host';
    const messages = [createReferenceHost({ mongoUri: 'mongodb://127.0.0.1:1/x', dataDirectory: 'data' }),
      startDatabase({ env: { PATH: '' }, directory: null })].map((made) => made.catch((error) => error.message));
    console.log(JSON.stringify(await Promise.all(messages)));`;
  await writeFile(join(work, 'alone.mjs'), script);
  const { stdout } = await run(process.execPath, ['alone.mjs'], { cwd: work });
  const [host, database] = JSON.parse(stdout) as string[];
  const program = join(work, 'node_modules', '.bin', 'express-large-image');
  const serve = (...words: string[]) =>
    run(program, ['serve', ...words], { cwd: work }).catch((error: { stdout: string; stderr: string }) => error);
  const serving = await serve();
  return {
    bytesOnDisk: sizes.reduce((sum, size) => sum + size, 0),
    packages: packages.map(([path]) => nameOf(path)),
    withInstallScript: packages.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => nameOf(path)),
    messages: { host, database, serve: serving.stderr, help: (await serve('--help')).stdout },
  };
}

/** The package in its own folder, installed with the packages that it requires. */
export interface Installed {
  /** The folder. */
  work: string;
  packed: Packed;
  /** Packages that only the reference host needs. */
  optional: string[];
  /** An installation without them; `null` if the npm registry cannot be reached. */
  alone: Awaited<ReturnType<typeof lookAtInstallation>> | null;
  /** Installs further packages, in the versions that package.json names. */
  install(names: readonly string[]): Promise<void>;
  remove(): Promise<void>;
}

/** Builds everything except the types, which take three quarters of the time of a build. */
async function buildCode(): Promise<void> {
  await rm(join(root, 'dist'), { recursive: true, force: true });
  await build({ ...packageBuild, dts: false, config: false, silent: true, onSuccess: completeCode });
}

/**
 * Packs the package and installs it, as users do. It is built first if the build is older than the sources, without types if the
 * test does not need them.
 */
export async function packAndInstall({ needsTypes = true } = {}): Promise<Installed> {
  const work = await mkdtemp(join(tmpdir(), 'large-image-package-'));
  const isReady = await isBuilt();
  if (!isReady && !needsTypes) await buildCode();
  const words = ['pack', '--json', '--pack-destination', work, ...(isReady || !needsTypes ? ['--ignore-scripts'] : [])];
  const { stdout } = await run('npm', words, { cwd: root, maxBuffer: 1 << 26 });
  const [packed] = JSON.parse(stdout.slice(stdout.lastIndexOf('\n[') + 1)) as Packed[];
  if (!packed) throw new Error('npm pack made nothing');

  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
  const { peerDependencies, peerDependenciesMeta, devDependencies } = manifest;
  const versionOf = (name: string): string => `${name}@${peerDependencies[name] ?? devDependencies[name] ?? '*'}`;
  await writeFile(join(work, 'package.json'), JSON.stringify({ name: 'consumer', private: true, version: '1.0.0' }));
  const npmInstall = (names: readonly string[]) =>
    run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', ...names], {
      cwd: work,
      maxBuffer: 1 << 26,
    });
  const optional = Object.keys(peerDependenciesMeta);
  const required = Object.keys(peerDependencies).filter((name) => !optional.includes(name));
  const installation = {
    work,
    packed,
    optional,
    install: async (names: readonly string[]) => void (await npmInstall(names.map(versionOf))),
    remove: () => rm(work, { recursive: true, force: true }),
  };
  try {
    await npmInstall([join(work, packed.filename), ...required.map(versionOf)]);
  } catch (error) {
    const text = String(error);
    if (!/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED|ENETUNREACH/.test(text)) throw error;
    console.warn('skipped: installing the package, the registry of npm cannot be reached');
    return { ...installation, alone: null };
  }
  return { ...installation, alone: await lookAtInstallation(work) };
}
