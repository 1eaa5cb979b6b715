import { spawn } from 'node:child_process';
import { programOf } from '../../core/concurrency/program.js';
import { BadValueError, LargeImageError, TileSourceError } from '../../errors.js';
import type { ConversionTask } from './options.js';
import { answer, type Answer, type OpenedSource, type Question } from './remote-source.js';
import type { VipsPass } from './vips-pass.js';

/** Work for a process of its own. */
export type ChildTask =
  | { kind: 'convert'; task: ConversionTask }
  | { kind: 'vips'; pass: VipsPass }
  | { kind: 'svg'; drawing: { input: string; output: string; maxDecodedPixels: number } };

/** How work has failed, as processes say it to each other. */
export interface ChildFailure {
  kind: 'failed';
  message: string;
  error: 'value' | 'source' | 'other';
}

/** What the process says. It ends after `done` or `failed`. */
export type ChildMessage =
  | { kind: 'ready' }
  | { kind: 'progress'; done: number }
  | { kind: 'log'; text: string }
  /** Asks for a pass of libvips in another process, beside this one. */
  | { kind: 'pass'; pass: VipsPass }
  /** Asks about the image that is open in the process that has started this one. */
  | { kind: 'ask'; id: number; question: Question }
  | { kind: 'done' }
  | ChildFailure;

/** What a process that has asked for a pass hears of it. */
export type PassMessage = { kind: 'progress'; done: number } | { kind: 'done' } | ChildFailure;

/** What a process hears that has asked about an image. */
export type AnswerMessage = { kind: 'answer'; id: number } & ({ answer: Answer } | { failure: ChildFailure });

/** What whoever starts a process hears of it. */
export interface ChildListener {
  progress(done: number): void;
  log?(text: string): void;
}

/** Most memory that a process of a conversion may use, in bytes; it ends itself before it takes more. */
export const maxResidentBytes = 1000 * 2 ** 20;

/** Signals that a terminal and systemd send to all processes at once, and how long it may take until this one's work is ended by them. */
const stopSignals: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP']);
const stopMs = 15_000;

/** End of the error output that is kept. */
const keptErrorLength = 4096;

const program = programOf(import.meta.url, { source: './conversion-process.ts', built: 'conversion-process' });

/**
 * Runs a task in a process of its own and waits for its end. Aborting the signal kills the process at once.
 *
 * @throws the signal's reason when it was aborted; BadValueError and TileSourceError of the task; TileSourceError when the process
 * ends without a word, as one does that is out of memory.
 */
export async function runInChild(
  task: ChildTask,
  listener: ChildListener,
  { signal, threads = 1, source }: { signal?: AbortSignal | undefined; threads?: number; source?: OpenedSource | undefined } = {},
): Promise<void> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, [...program.execArgv, program.filename], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Samples are sent as they are.
    serialization: 'advanced',
    env: {
      ...process.env,
      // libvips itself says on its output how far it is; for single tiles that would be a lot of nothing.
      VIPS_PROGRESS: task.kind === 'vips' ? '1' : undefined,
      UV_THREADPOOL_SIZE: String(Math.max(2, threads)),
      // Without this the C library keeps freed memory once for each thread.
      MALLOC_ARENA_MAX: '2',
      NODE_OPTIONS: undefined,
    },
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  const ended = new AbortController();
  const runPass = async (pass: VipsPass): Promise<void> => {
    const say = (message: PassMessage) => child.send(message, () => undefined);
    const until = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
    const progress = (done: number) => void say({ kind: 'progress', done });
    await runInChild({ kind: 'vips', pass }, { progress }, { signal: until, threads: pass.threads }).then(
      () => say({ kind: 'done' }),
      (error: unknown) => say(failureOf(error)),
    );
  };
  const answerTo = async ({ id, question }: Extract<ChildMessage, { kind: 'ask' }>): Promise<void> => {
    const say = (message: AnswerMessage) => child.connected && child.send(message, () => undefined);
    if (source === undefined) return;
    await answer(source, question, signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal])).then(
      (given) => say({ kind: 'answer', id, answer: given }),
      (error: unknown) => say({ kind: 'answer', id, failure: failureOf(error) }),
    );
  };
  try {
    await new Promise<void>((resolve, reject) => {
      let outcome: Extract<ChildMessage, { kind: 'done' | 'failed' }> | null = null;
      let errors = '';
      let output = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        output = (output + chunk.toString('latin1')).slice(-200);
        const percent = [...output.matchAll(/(?<!\d)(\d+)% complete/g)].at(-1)?.[1];
        if (percent !== undefined) listener.progress(Number(percent) / 100);
      });
      child.stderr?.on('data', (chunk: Buffer) => {
        errors = (errors + chunk.toString('utf8')).slice(-keptErrorLength);
      });
      child.on('message', (message: ChildMessage) => {
        if (message.kind === 'ready') child.send(task, () => undefined);
        else if (message.kind === 'progress') listener.progress(message.done);
        else if (message.kind === 'log') listener.log?.(message.text);
        else if (message.kind === 'pass') void runPass(message.pass);
        else if (message.kind === 'ask') void answerTo(message);
        else outcome = message;
      });
      child.once('error', reject);
      child.once('close', (code, end) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        if (outcome?.kind === 'done') return resolve();
        if (outcome?.kind === 'failed') return reject(errorOf(outcome));
        const cause = new Error(errors.trim() || 'It wrote no reason.');
        const failure = new TileSourceError(`The process of the conversion has ended unexpectedly (${end ?? `code ${code}`}).`, {
          cause,
        });
        if (end === null || !stopSignals.has(end)) return reject(failure);
        // It had hardly begun when all processes were told to stop, this one too: that ends the work, which has not failed.
        setTimeout(() => reject(failure), stopMs).unref();
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    });
  } finally {
    signal?.removeEventListener('abort', kill);
    // A pass for a process that has ended is of no use to anybody.
    ended.abort();
  }
}

function failureOf(error: unknown): ChildFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof BadValueError) return { kind: 'failed', error: 'value', message };
  return { kind: 'failed', error: error instanceof LargeImageError ? 'source' : 'other', message };
}

/** The error that another process has named. */
export function errorOf({ message, error }: ChildFailure): Error {
  if (error === 'value') return new BadValueError(message.replace(/^Value Error: /, ''));
  return error === 'source' ? new TileSourceError(message) : new Error(message);
}
