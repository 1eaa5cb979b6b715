import { spawn, type ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

/** Counts of what a process has swept or recovered. */
export interface Swept {
  event: string;
  why?: string;
  [field: string]: unknown;
}

/** Maximum number of consecutive starts that may give up. */
const maxStarts = 10;

/** A process that is killed and started again and again. */
export class KillableServer {
  #child: ChildProcess | null = null;
  #up: Promise<string> = Promise.reject(new Error('It was never started.'));
  /** When it, and the database that it needs, were last ready, by `performance.now()`. */
  upSince = 0;
  /** Milliseconds from each start to its address. */
  readonly startMs: number[] = [];
  readonly swept: Swept[] = [];
  /** How often it gave up at its start, for example because the database did not answer in time. */
  gaveUp = 0;

  constructor(
    private readonly program: string,
    private readonly words: readonly string[],
    private readonly env: Readonly<Record<string, string>>,
    private readonly errorDescriptor: number,
  ) {
    this.#up.catch(() => undefined);
  }

  /** Resolves with its address as soon as it has one again. */
  async address(): Promise<string> {
    for (;;) {
      const waited = this.#up;
      // A process that gave up is started again.
      const address = await waited.catch(() => pause(100).then(() => null));
      if (waited === this.#up && address !== null) return address;
    }
  }

  start(): Promise<string> {
    const started = performance.now();
    const child = spawn(process.execPath, [this.program, ...this.words], {
      env: { ...process.env, ...this.env },
      stdio: ['ignore', 'pipe', this.errorDescriptor],
    });
    this.#child = child;
    const events = new EventEmitter();
    createInterface(child.stdout!).on('line', (line) => {
      if (line.startsWith('address ')) events.emit('address', line.slice(8));
      else this.swept.push(JSON.parse(line) as Swept);
    });
    const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`The process has ended with ${String(code)}.`)));
    ended.catch(() => undefined);
    this.#up = Promise.race([once(events, 'address').then(([address]) => String(address)), ended]).then((address) => {
      this.upSince = performance.now();
      this.startMs.push(this.upSince - started);
      return address;
    });
    this.#up.catch(() => undefined);
    return this.#up;
  }

  /** Starts it, and again when it gives up, as a process manager does. */
  async #startAsSupervised(): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.start();
      } catch (error) {
        if (tries === maxStarts) throw error;
        this.gaveUp += 1;
      }
    }
  }

  /** Kills it, and starts another one. */
  async killAndStart(): Promise<void> {
    const child = this.#child!;
    const ended = once(child, 'exit');
    // From here on, requests for the address wait for the next process.
    const next = ended.then(() => this.#startAsSupervised());
    this.#up = next;
    next.catch(() => undefined);
    child.kill('SIGKILL');
    await next;
  }

  /** Ends it without starting another one. */
  async end(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
