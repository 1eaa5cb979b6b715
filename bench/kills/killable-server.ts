import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

/** An event that reports what a process has swept or recovered. */
export interface SweepEvent {
  event: string;
  why?: string;
  [field: string]: unknown;
}

/** Maximum number of consecutive starts that may give up. */
const maxStarts = 10;

/** A process that is killed and started again and again. */
export class KillableServer {
  #child: ChildProcess | null = null;
  #addressPromise: Promise<string> = Promise.reject(new Error('It was never started.'));
  /** When the process and its database were last ready, by `performance.now()`. */
  upSince = 0;
  /** Milliseconds from each start to its address. */
  readonly startMs: number[] = [];
  readonly sweepEvents: SweepEvent[] = [];
  /** How often the process gave up at its start, for example because the database did not answer in time. */
  gaveUpCount = 0;

  constructor(
    private readonly program: string,
    private readonly words: readonly string[],
    private readonly env: Readonly<Record<string, string>>,
    private readonly errorDescriptor: number,
  ) {
    this.#addressPromise.catch(() => undefined);
  }

  /** Resolves with the address of the process as soon as it has an address again. */
  async address(): Promise<string> {
    for (;;) {
      const addressPromise = this.#addressPromise;
      // A process that gave up is started again.
      const address = await addressPromise.catch(() => pause(100).then(() => null));
      if (addressPromise === this.#addressPromise && address !== null) return address;
    }
  }

  start(): Promise<string> {
    const startedMs = performance.now();
    const child = spawn(process.execPath, [this.program, ...this.words], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', this.errorDescriptor],
    });
    this.#child = child;
    const events = new EventEmitter();
    createInterface(child.stdout!).on('line', (line) => {
      if (line.startsWith('address ')) events.emit('address', line.slice(8));
      else this.sweepEvents.push(JSON.parse(line) as SweepEvent);
    });
    const exit = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The process has ended with ${String(code)}.`)));
    exit.catch(() => undefined);
    this.#addressPromise = Promise.race([once(events, 'address').then(([address]) => String(address)), exit]).then((address) => {
      this.upSince = performance.now();
      this.startMs.push(this.upSince - startedMs);
      return address;
    });
    this.#addressPromise.catch(() => undefined);
    return this.#addressPromise;
  }

  /** Starts the process, and starts it again if it gives up, as a process manager does. */
  async #startAsSupervised(): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.start();
      } catch (error) {
        if (attempt === maxStarts) throw error;
        this.gaveUpCount += 1;
      }
    }
  }

  /** Kills the process, and starts another one. */
  async killAndStart(): Promise<void> {
    const child = this.#child!;
    const exit = once(child, 'exit');
    // From here on, requests for the address wait for the next process.
    const next = exit.then(() => this.#startAsSupervised());
    this.#addressPromise = next;
    next.catch(() => undefined);
    child.kill('SIGKILL');
    await next;
  }

  /** Kills the process without starting another one. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  }
}
