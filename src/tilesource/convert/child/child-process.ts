import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { findProgram } from '../../../core/concurrency/program.js';
import { BadValueError, LargeImageError, TileSourceError } from '../../../errors.js';
import type { ConversionTask } from '../options.js';
import { answerQuestion, type Answer, type ParentSource, type Question } from './remote-source.js';
import type { VipsPass } from './vips-pass.js';

/** A task for a child process. */
export type ChildTask =
  | { kind: 'convert'; conversion: ConversionTask }
  | { kind: 'vips'; pass: VipsPass }
  | { kind: 'svg'; drawing: { input: string; output: string; maxDecodedPixels: number } };

/**
 * The failure of a task, as one process sends it to another. `error` stands for the class of the error: `value` for BadValueError,
 * `source` for TileSourceError.
 */
export interface ChildFailure {
  kind: 'failed';
  message: string;
  error: 'value' | 'source' | 'other';
}

/** A message from the child. The child ends after `done` or `failed`. */
export type ChildMessage =
  | { kind: 'ready' }
  | { kind: 'progress'; done: number }
  | { kind: 'log'; text: string }
  /** The child asks its parent to run a pass of libvips in a second child. */
  | { kind: 'pass'; pass: VipsPass }
  /** The child asks for a part of the image that its parent has open. */
  | { kind: 'ask'; id: number; question: Question }
  | { kind: 'done' }
  | ChildFailure;

/** A message to the child about the pass that the child has requested. */
export type PassMessage = { kind: 'progress'; done: number } | { kind: 'done' } | ChildFailure;

/** A message to the child with the part of the image that the child has requested. */
export type AnswerMessage = { kind: 'answer'; id: number } & ({ answer: Answer } | { failure: ChildFailure });

/** Called while a child works. `done` is the share of the work from 0 to 1. */
export interface ChildListener {
  onProgress(done: number): void;
  log?(text: string): void;
}

/** Maximum resident memory of a child, in bytes. A child that exceeds this limit ends itself. */
export const maxResidentBytes = 1000 * 2 ** 20;

/** Signals that a terminal or systemd sends to all processes at once, so that the parent receives them together with the child. */
const stopSignals: ReadonlySet<NodeJS.Signals> = new Set<NodeJS.Signals>(['SIGINT', 'SIGTERM', 'SIGHUP']);
/**
 * If one of these signals ends the child, the parent usually aborts the work too. If it has not done so after this many
 * milliseconds, the work counts as failed.
 */
const abortWaitMs = 15_000;

/** Only this many characters at the end of the child's error output are kept. */
const maxErrorCharacters = 4096;

const program = findProgram(import.meta.url, { source: './conversion-process.ts', built: 'conversion-process' });

function environmentOf(task: ChildTask, threads: number): NodeJS.ProcessEnv {
  return {
    ...process.env,
    // libvips prints its progress only with this variable. Other tasks call libvips for each tile, so that their progress means
    // nothing.
    VIPS_PROGRESS: task.kind === 'vips' ? '1' : undefined,
    UV_THREADPOOL_SIZE: String(Math.max(2, threads)),
    // By default the C library keeps a separate store of freed memory for each thread.
    MALLOC_ARENA_MAX: '2',
    NODE_OPTIONS: undefined,
  };
}

/** Reads the percentages that libvips prints, and calls the listener with them. */
function readVipsProgress(stdout: Readable | null, listener: ChildListener): void {
  let output = '';
  stdout?.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString('latin1')).slice(-200);
    const percent = [...output.matchAll(/(?<!\d)(\d+)% complete/g)].at(-1)?.[1];
    if (percent !== undefined) listener.onProgress(Number(percent) / 100);
  });
}

/**
 * Runs a task in a child process and waits for its end. Aborting the signal kills the child immediately.
 *
 * @throws BadValueError or TileSourceError if the task fails with such an error, and TileSourceError if the child ends without a
 * message, for example because it runs out of memory. Also throws the signal's reason when the signal aborts.
 */
export async function runInChild(
  task: ChildTask,
  listener: ChildListener,
  { signal, threads = 1, source }: { signal?: AbortSignal | undefined; threads?: number; source?: ParentSource | undefined } = {},
): Promise<void> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, [...program.execArgv, program.filename], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Typed arrays of samples are sent without being turned into JSON.
    serialization: 'advanced',
    env: environmentOf(task, threads),
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  const childEnd = new AbortController();
  const runPass = async (pass: VipsPass): Promise<void> => {
    const send = (message: PassMessage) => child.send(message, () => undefined);
    const passSignal = signal === undefined ? childEnd.signal : AbortSignal.any([signal, childEnd.signal]);
    const onProgress = (done: number) => void send({ kind: 'progress', done });
    await runInChild({ kind: 'vips', pass }, { onProgress }, { signal: passSignal, threads: pass.threads }).then(
      () => send({ kind: 'done' }),
      (error: unknown) => send(failureOf(error)),
    );
  };
  const sendAnswer = async ({ id, question }: Extract<ChildMessage, { kind: 'ask' }>): Promise<void> => {
    const send = (message: AnswerMessage) => child.connected && child.send(message, () => undefined);
    if (source === undefined) return;
    await answerQuestion(
      source,
      question,
      signal === undefined ? childEnd.signal : AbortSignal.any([signal, childEnd.signal]),
    ).then(
      (result) => send({ kind: 'answer', id, answer: result }),
      (error: unknown) => send({ kind: 'answer', id, failure: failureOf(error) }),
    );
  };
  try {
    await new Promise<void>((resolve, reject) => {
      let outcome: Extract<ChildMessage, { kind: 'done' | 'failed' }> | null = null;
      let errorOutput = '';
      readVipsProgress(child.stdout, listener);
      child.stderr?.on('data', (chunk: Buffer) => {
        errorOutput = (errorOutput + chunk.toString('utf8')).slice(-maxErrorCharacters);
      });
      child.on('message', (message: ChildMessage) => {
        if (message.kind === 'ready') child.send(task, () => undefined);
        else if (message.kind === 'progress') listener.onProgress(message.done);
        else if (message.kind === 'log') listener.log?.(message.text);
        else if (message.kind === 'pass') void runPass(message.pass);
        else if (message.kind === 'ask') void sendAnswer(message);
        else outcome = message;
      });
      child.once('error', reject);
      child.once('close', (code, endSignal) => {
        if (signal?.aborted) return reject(signal.reason as Error);
        if (outcome?.kind === 'done') return resolve();
        if (outcome?.kind === 'failed') return reject(errorOf(outcome));
        const cause = new Error(errorOutput.trim() || 'It reported no reason.');
        const failure = new TileSourceError(`The conversion process ended unexpectedly (${endSignal ?? `code ${code}`}).`, {
          cause,
        });
        if (endSignal === null || !stopSignals.has(endSignal)) return reject(failure);
        // The child received the signal before it began to ignore such signals (see `child-signals.ts`). The parent has received
        // the same signal, and aborts the work, so the work has not failed.
        setTimeout(() => reject(failure), abortWaitMs).unref();
        signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
    });
  } finally {
    signal?.removeEventListener('abort', kill);
    // Stops a pass or a response that the ended child no longer needs.
    childEnd.abort();
  }
}

function failureOf(error: unknown): ChildFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof BadValueError) return { kind: 'failed', error: 'value', message };
  return { kind: 'failed', error: error instanceof LargeImageError ? 'source' : 'other', message };
}

/** Makes an error from the failure that another process sent. */
export function errorOf({ message, error }: ChildFailure): Error {
  if (error === 'value') return new BadValueError(message.replace(/^Value Error: /, ''));
  return error === 'source' ? new TileSourceError(message) : new Error(message);
}
