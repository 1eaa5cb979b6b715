import { fork, type ChildProcess } from 'node:child_process';
import { findProgram } from '../../../core/concurrency/program.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { FailedReadError, TileSourceError } from '../../../errors.js';
import type { SlideAnswer, SlideRequest, SlideResults } from './slide-messages.js';

/** Maximum number of processes that run at the same time. */
const maxProcesses = 2;
/** Milliseconds after which a request is aborted and its process killed. */
const answerTimeoutMs = 60_000;
/** Milliseconds after which an idle process is ended. */
const idleTimeoutMs = 30_000;

const { filename, execArgv } = findProgram(import.meta.url, { source: './openslide-process.ts', built: 'openslide-process' });

function startProcess(): ChildProcess {
  const stdio: ('ignore' | 'ipc')[] = ['ignore', 'ignore', 'ignore', 'ipc'];
  return fork(filename, [], { execArgv, serialization: 'advanced', stdio, env: { ...process.env, NODE_OPTIONS: undefined } });
}

/** Runs OpenSlide in processes. If a process ends, only its request fails, and another process replaces it. */
export class SlideProcesses {
  readonly #queue = new WorkQueue({ name: 'openslide', running: maxProcesses });
  readonly #idleProcesses: { child: ChildProcess; timer: NodeJS.Timeout }[] = [];

  /**
   * Sends a request to a process.
   *
   * @throws TileSourceError if OpenSlide reports an error, or if the process ends or takes too long. Also throws the signal's
   * reason when it aborts.
   */
  ask<Kind extends keyof SlideResults>(
    request: Extract<SlideRequest, { kind: Kind }>,
    signal?: AbortSignal,
  ): Promise<SlideResults[Kind]> {
    return this.#queue.run(() => this.#askProcess(request), { signal }) as Promise<SlideResults[Kind]>;
  }

  /** Makes every idle process close a slide. */
  closeSlide(path: string): void {
    // A process that has just ended has closed its slides, so a failure is ignored.
    for (const { child } of this.#idleProcesses) if (child.connected) child.send({ kind: 'close', path }, () => undefined);
  }

  async #askProcess(request: SlideRequest): Promise<SlideResults[keyof SlideResults]> {
    const child = this.#takeProcess();
    try {
      const answer = await requestAnswer(child, request);
      this.#addIdleProcess(child);
      if (answer.kind === 'done') return answer.result;
      throw new TileSourceError(`OpenSlide: ${answer.reason.replace(/\.$/, '')}.`);
    } catch (error) {
      if (!this.#idleProcesses.some((idle) => idle.child === child)) child.kill('SIGKILL');
      throw error;
    }
  }

  #takeProcess(): ChildProcess {
    for (let idle = this.#idleProcesses.pop(); idle !== undefined; idle = this.#idleProcesses.pop()) {
      clearTimeout(idle.timer);
      if (idle.child.connected) {
        idle.child.ref();
        idle.child.channel?.ref();
        return idle.child;
      }
    }
    return startProcess();
  }

  #addIdleProcess(child: ChildProcess): void {
    const timer = setTimeout(() => {
      this.#idleProcesses.splice(this.#idleProcesses.findIndex((idle) => idle.child === child) >>> 0, 1);
      child.kill('SIGKILL');
    }, idleTimeoutMs);
    timer.unref();
    // An idle process must not keep this process alive.
    child.unref();
    child.channel?.unref();
    this.#idleProcesses.push({ child, timer });
  }
}

function requestAnswer(child: ChildProcess, request: SlideRequest): Promise<SlideAnswer> {
  return new Promise((resolve, reject) => {
    const cleanUp = (): void => {
      clearTimeout(timer);
      child.removeAllListeners();
    };
    const fail = (message: string): void => {
      cleanUp();
      reject(new FailedReadError(message));
    };
    const timer = setTimeout(() => fail(`OpenSlide takes longer than ${answerTimeoutMs / 1000} s.`), answerTimeoutMs);
    child.once('message', (answer: SlideAnswer) => {
      cleanUp();
      resolve(answer);
    });
    child.once('error', () => fail('The process of OpenSlide cannot be started.'));
    child.once('exit', (code, signal) => fail(`The process of OpenSlide has ended unexpectedly (${signal ?? `code ${code}`}).`));
    child.send(request, (error) => {
      if (error !== null) fail('The process of OpenSlide has ended unexpectedly.');
    });
  });
}
