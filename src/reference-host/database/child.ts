import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';

/**
 * A script that starts a server, and stops it when the script's standard input ends. This happens when the process that started the script
 * ends, for any reason. The server then gets SIGTERM, and SIGKILL if it is still running after 20 seconds. When the server has ended, a
 * temporary folder is removed.
 */
const guardScript = `
const { spawn } = require('node:child_process');
const { rmSync } = require('node:fs');
const [folder, command, ...args] = process.argv.slice(1);
const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
let stopping = false;
function stop() {
  if (stopping) return;
  stopping = true;
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), 20000).unref();
}
function end(code) {
  if (folder) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  process.exit(code);
}
process.stdin.on('end', stop).on('error', stop).on('close', stop).resume();
process.on('SIGTERM', stop);
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});
child.on('exit', (code) => end(code === null ? 1 : code));
child.on('error', (error) => { console.error(error.message); end(127); });
`;

/** A child process that ends with this process. */
export interface Child {
  process: ChildProcessWithoutNullStreams;
  /** For error messages: the last lines of the child's standard error, or of its standard output if there are none. */
  lastLines(): string;
  /** Resolves with a description when the process has ended. */
  exited: Promise<string>;
  /** Closes the child's standard input so that the child ends, and kills it after `graceMs`. Resolves when the child has ended. */
  stop(graceMs?: number): Promise<void>;
}

/**
 * Starts a program that ends when its standard input ends. The program runs in a separate session, so that Ctrl-C in a terminal reaches
 * only this process, which then stops the program in order.
 */
export function startChild(command: string, args: readonly string[], env: Readonly<Record<string, string | undefined>>): Child {
  // Batch files (mvn.cmd) only run in the shell of Windows, which needs the arguments quoted.
  const isBatchFile = /\.(cmd|bat)$/i.test(command);
  const quote = (word: string): string => (isBatchFile ? `"${word}"` : word);
  const child = spawn(quote(command), args.map(quote), {
    env: { ...env },
    detached: true,
    windowsHide: true,
    shell: isBatchFile,
  });
  // Most programs write errors to standard error; some (Maven) write them to standard output among other lines.
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] = (output[name] + chunk.toString('utf8')).slice(-4000);
    });
  }
  // A child that ends early breaks the pipe, which `exited` reports.
  child.stdin.on('error', () => undefined);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `ended with code ${code}` : `ended by ${signal}`));
  });
  return {
    process: child,
    lastLines: () => (output.stderr.trim() || output.stdout.trim()).split(/\r?\n/).slice(-5).join('\n'),
    exited,
    async stop(graceMs = 25_000) {
      child.stdin.end();
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Like {@link startChild}, for a program that ignores its standard input. `temporaryFolder` is removed when the program has ended. */
export function startGuarded(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  temporaryFolder: string | null,
): Child {
  return startChild(process.execPath, ['-e', guardScript, temporaryFolder ?? '', command, ...args], env);
}

/**
 * Waits for a child process that does some work and then ends.
 *
 * @param options `measureProgress` is called every half second and returns a value that changes while there is progress. The value may
 * stay the same for `maxFirstStallMs` at the start, and for `maxStallMs` later
 * @throws if the child exits with a code other than 0. If there is no progress for too long or the signal is aborted, the child is stopped,
 * and then the function also throws.
 */
export async function waitForExit(
  child: Child,
  options: {
    measureProgress: () => Promise<unknown>;
    maxFirstStallMs: number;
    maxStallMs: number;
    signal?: AbortSignal | undefined;
  },
): Promise<void> {
  let progress = await options.measureProgress();
  let lastProgressMs = Date.now();
  let limitMs = options.maxFirstStallMs;
  for (;;) {
    const timeout = new Promise<null>((resolve) => setTimeout(resolve, 500, null));
    const exitReason = await Promise.race([child.exited, timeout]);
    if (exitReason === 'ended with code 0') return;
    if (exitReason !== null) throw new Error(child.lastLines() || exitReason);
    const newProgress = await options.measureProgress();
    if (newProgress !== progress) {
      progress = newProgress;
      lastProgressMs = Date.now();
      limitMs = options.maxStallMs;
    }
    if (options.signal?.aborted || Date.now() - lastProgressMs > limitMs) {
      await child.stop(2000);
      options.signal?.throwIfAborted();
      throw new Error(`no progress for ${Math.round(limitMs / 1000)} seconds`);
    }
  }
}
