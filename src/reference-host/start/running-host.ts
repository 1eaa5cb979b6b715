import pLimit from 'p-limit';
import type { ReferenceHost } from '../index.js';
import type { ListeningServer } from './listen.js';

/** Options of {@link RunningHost}. */
export interface RunningHostOptions {
  /** Makes a host that calls `restart` when it should be restarted. */
  makeHost(restart: () => void): Promise<ReferenceHost>;
  /** Prepares the first host before any request is served. */
  prepareFirst?(host: ReferenceHost): Promise<void>;
  server: Pick<ListeningServer, 'serve' | 'pause'>;
  /** Tells the operator that a restart begins or has ended. */
  writeLine(text: string): void;
  /** Called when a restart has failed, after which nothing is served. */
  onRestartFailed(error: unknown): void;
}

/**
 * A host behind a port that stays open. A restart closes the host and makes another one, which reads its configuration again.
 * Running requests finish first, new requests wait, and jobs continue afterwards.
 */
export class RunningHost {
  #host: ReferenceHost | null = null;
  /** Runs restarts and uses of the host one after the other. */
  readonly #runInOrder = pLimit(1);
  #isRestartPending = false;
  #isClosed = false;

  private constructor(private readonly options: RunningHostOptions) {}

  /** Makes the first host and serves it. */
  static async start(options: RunningHostOptions): Promise<RunningHost> {
    const runningHost = new RunningHost(options);
    await runningHost.#open((host) => options.prepareFirst?.(host));
    return runningHost;
  }

  /** Uses the host without being interrupted by a restart. */
  useHost<T>(work: (host: ReferenceHost) => Promise<T>): Promise<T> {
    return this.#runInOrder(async () => {
      if (this.#host === null) throw new Error('The host is closed.');
      return work(this.#host);
    });
  }

  /** Ends event streams, and makes the host report that it is not ready for more requests. */
  async endStreams(): Promise<void> {
    this.#host?.endStreams();
  }

  /** Closes the host when the work of {@link useHost} has ended. Later restarts are ignored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#runInOrder(async () => this.#closeHost());
  }

  #restart(): void {
    if (this.#isRestartPending || this.#isClosed) return;
    this.#isRestartPending = true;
    void this.#runInOrder(async () => {
      this.#isRestartPending = false;
      if (this.#isClosed) return;
      this.options.writeLine('Restarting.');
      await this.options.server.pause();
      await this.#closeHost();
      await this.#open();
      this.options.writeLine('Restarted.');
    }).catch((error: unknown) => this.options.onRestartFailed(error));
  }

  async #open(prepare?: (host: ReferenceHost) => Promise<void> | undefined): Promise<void> {
    const host = await this.options.makeHost(() => this.#restart());
    this.#host = host;
    await prepare?.(host);
    await this.options.server.serve(host.app, host.upgrade);
  }

  async #closeHost(): Promise<void> {
    const host = this.#host;
    this.#host = null;
    await host?.close();
  }
}
