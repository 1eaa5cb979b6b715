import { spawn, type ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtProgram } from '../run/programs.js';
import { stepsWords } from '../run/steps.js';
import { until } from '../run/until.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

/** `npm start` in its own process. */
export interface ServerProcess {
  process: ChildProcess;
  /** Its output so far. */
  output(): string;
  /** Waits until it has printed its banner; resolves with its address. */
  url(): Promise<string>;
  /** Waits for its end: exit code, or the signal's name. */
  ended: Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

/**
 * Runs the program of `npm start` with these command line arguments. `env` is added to the environment; `undefined` removes a
 * variable. With `stepsEnvironment` in `env` it ends at a step, or records its steps.
 */
export function startServer(words: readonly string[], env: Readonly<Record<string, string | undefined>>): ServerProcess {
  return runServer(process.execPath, [...stepsWords(), builtProgram('main'), ...words], env);
}

/** The same through npm, as README says. The program is built first if it was not built before. */
export function npmStart(words: readonly string[], env: Readonly<Record<string, string | undefined>>): ServerProcess {
  return runServer('npm', ['start', '--silent', '--', ...words], env);
}

function runServer(command: string, words: readonly string[], env: Readonly<Record<string, string | undefined>>): ServerProcess {
  // It has its own process group, so that a signal can reach npm and what it starts, as Ctrl-C in a terminal does.
  const child = spawn(command, words, { cwd: root, env: { ...process.env, PORT: '0', ...env }, detached: true });
  let text = '';
  const collect = (chunk: Buffer): void => {
    text += chunk.toString('utf8');
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  let end: number | string | null = null;
  void ended.then((value) => {
    end = value;
  });
  return {
    process: child,
    output: () => text,
    ended,
    url: () =>
      until('the banner of the server', () => {
        if (end === null || /^Stop with Ctrl-C/m.test(text))
          return /^Stop with Ctrl-C/m.test(text) && /^Address +(\S+)\/$/m.exec(text)?.[1];
        throw new Error(`It ended (${end}): ${text}`);
      }).catch((error: unknown) => {
        throw new Error(`No banner: ${text}`, { cause: error });
      }),
    kill(signal) {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // The process has ended.
      }
    },
  };
}
