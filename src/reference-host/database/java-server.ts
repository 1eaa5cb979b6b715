import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDirectory } from './cache-directory.js';
import { waitForExit, startChild, type Child } from './child.js';
import type { Database, DatabaseOptions } from './database-options.js';
import { findExecutable } from './executable.js';
import { ping } from './uri.js';

const serverVersion = '1.47.0';
const mavenPlugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1';
const startTimeoutMs = 60_000;

const mavenProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>express-large-image</groupId>
  <artifactId>memory-database</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>de.bwaldvogel</groupId>
      <artifactId>mongo-java-server</artifactId>
      <version>${serverVersion}</version>
    </dependency>
  </dependencies>
</project>
`;

type JavaServerOptions = Pick<DatabaseOptions, 'env' | 'report' | 'signal'>;

/** Fetches the Java archives of mongo-java-server with Maven, unless they are in the cache. @returns their folder */
async function fetchArchives(options: JavaServerOptions): Promise<string> {
  const cache = cacheDirectory(options.env);
  const folder = join(cache, `mongo-java-server-${serverVersion}`);
  if (existsSync(folder)) return folder;
  const maven = findExecutable(options.env, 'mvn');
  if (maven === null) throw new Error(`mongo-java-server is not in ${cache}, and there is no mvn (Maven) on PATH to fetch it`);
  await mkdir(cache, { recursive: true });
  const temporaryFolder = await mkdtemp(join(cache, 'fetching-'));
  try {
    options.report?.({ text: `Fetching mongo-java-server ${serverVersion} through Maven (about 3 MB, once)` });
    await writeFile(join(temporaryFolder, 'pom.xml'), mavenProject);
    const child = startChild(
      maven,
      [
        '--batch-mode',
        '--strict-checksums',
        '-f',
        join(temporaryFolder, 'pom.xml'),
        // With these settings, Maven 3 and later versions give up a dead connection within seconds.
        '-Dmaven.wagon.http.retryHandler.count=1',
        '-Dmaven.wagon.rto=20000',
        '-Daether.connector.connectTimeout=8000',
        '-Daether.connector.requestTimeout=20000',
        `${mavenPlugin}:copy-dependencies`,
        `-DoutputDirectory=${join(temporaryFolder, 'jars')}`,
        '-DincludeScope=runtime',
      ],
      options.env,
    );
    let outputBytes = 0;
    let fileCount = 0;
    child.process.stdout.on('data', (chunk: Buffer) => {
      outputBytes += chunk.length;
      const newFileCount = chunk.toString('utf8').match(/Downloaded from/g)?.length ?? 0;
      fileCount += newFileCount;
      if (newFileCount > 0) options.report?.({ text: `Fetching mongo-java-server: ${fileCount} files` });
    });
    await waitForExit(child, {
      measureProgress: () => Promise.resolve(outputBytes),
      maxFirstStallMs: 30_000,
      maxStallMs: 30_000,
      signal: options.signal,
    });
    const jars = await readdir(join(temporaryFolder, 'jars')).catch(() => []);
    if (!jars.some((name) => name.startsWith('mongo-java-server-memory-backend'))) {
      throw new Error(`Maven did not fetch mongo-java-server: ${child.lastLines()}`);
    }
    // Another process may have created the folder first, with the same contents.
    await rename(join(temporaryFolder, 'jars'), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return folder;
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
}

/**
 * Compiles the launcher, unless it is in the cache.
 *
 * @returns the arguments for Java. If the cache cannot be written, Java gets the source of the launcher and compiles it at each start.
 */
async function prepareLauncher(java: string, archiveFolder: string, options: JavaServerOptions): Promise<string[]> {
  const source = fileURLToPath(new URL('./MemoryDatabase.java', import.meta.url));
  const jars = (await readdir(archiveFolder)).filter((name) => name.endsWith('.jar'));
  const libraries = jars.map((name) => join(archiveFolder, name)).join(delimiter);
  const digest = createHash('sha256')
    .update(await readFile(source))
    .digest('hex')
    .slice(0, 16);
  const folder = join(archiveFolder, `launcher-${digest}`);
  const compiledArguments = ['-cp', [libraries, folder].join(delimiter), 'MemoryDatabase'];
  if (existsSync(folder)) return compiledArguments;
  const temporaryFolder = await mkdtemp(join(archiveFolder, 'compiling-')).catch(() => null);
  if (temporaryFolder === null) return ['-cp', libraries, source];
  try {
    const compilerArguments = ['-m', 'jdk.compiler/com.sun.tools.javac.Main'];
    const child = startChild(
      java,
      [...compilerArguments, '-cp', libraries, '-d', join(temporaryFolder, 'classes'), source],
      options.env,
    );
    const waitOptions = {
      measureProgress: () => Promise.resolve(0),
      maxFirstStallMs: startTimeoutMs,
      maxStallMs: startTimeoutMs,
      signal: options.signal,
    };
    await waitForExit(child, waitOptions);
    // Another process may have created the folder first, with the same contents.
    await rename(join(temporaryFolder, 'classes'), folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return compiledArguments;
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
}

/**
 * Starts mongo-java-server: a database in the memory of a Java process, whose data is lost when it stops.
 *
 * @throws if there is no Java, the archives cannot be fetched, or the server does not start
 */
export async function startJavaServer(options: JavaServerOptions): Promise<Database> {
  const javaHome = options.env.JAVA_HOME;
  const searchPath = {
    PATH: [javaHome ? join(javaHome, 'bin') : '', options.env.PATH ?? options.env.Path ?? ''].join(delimiter),
  };
  const java = findExecutable({ ...options.env, ...searchPath }, 'java');
  if (java === null) throw new Error('java is not on PATH');
  const archiveFolder = await fetchArchives(options);
  const child = startChild(java, await prepareLauncher(java, archiveFolder, options), options.env);
  try {
    const port = await waitForAnnouncedPort(child, options.signal);
    const address = `127.0.0.1:${port}`;
    const uri = `mongodb://${address}/`;
    await ping(uri, startTimeoutMs);
    let isStopped = false;
    return {
      uri,
      address,
      engine: `mongo-java-server ${serverVersion} (in memory)`,
      durable: false,
      lost: new Promise((resolve) => {
        void child.exited.then((exitReason) => {
          if (!isStopped) resolve(new Error(`mongo-java-server ${exitReason}: ${child.lastLines()}`));
        });
      }),
      async stop() {
        isStopped = true;
        await child.stop(5000);
      },
    };
  } catch (error) {
    await child.stop(2000);
    throw error;
  }
}

/** Waits for the port that the launcher prints when it listens. */
async function waitForAnnouncedPort(child: Child, signal: AbortSignal | undefined): Promise<number> {
  const { promise, resolve, reject } = createDeferred<number>();
  let output = '';
  const onOutput = (chunk: Buffer): void => {
    output += chunk.toString('utf8');
    const match = /^PORT (\d+)\r?$/m.exec(output);
    if (match) resolve(Number(match[1]));
  };
  const onAbort = (): void => reject(signal?.reason);
  const timer = setTimeout(() => reject(new Error(`no response within ${startTimeoutMs / 1000} seconds`)), startTimeoutMs);
  child.process.stdout.on('data', onOutput);
  signal?.addEventListener('abort', onAbort);
  void child.exited.then((exitReason) => reject(new Error(`java ${exitReason}: ${child.lastLines()}`)));
  try {
    signal?.throwIfAborted();
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
    child.process.stdout.off('data', onOutput);
  }
}

function createDeferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (reason: unknown) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (reason: unknown) => void = () => undefined;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
