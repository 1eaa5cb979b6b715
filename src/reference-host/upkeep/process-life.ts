import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import type { Server } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { LargeImageError, type HostLogger } from '../../index.js';
import type { Models } from '../models.js';
import { isListening, listenAt, maxSocketPathBytes } from './sockets.js';

const heartbeatEveryMs = 10_000;
/** A process on another machine counts as dead if its last heartbeat is older than this. */
const deadAfterMs = 30_000;
/**
 * A process whose last heartbeat is older than this stops exclusive work, before other processes consider it dead and do the work
 * themselves.
 */
const doubtAfterMs = 20_000;

/** A process that has recorded no heartbeat this long after it created its socket has failed to start. */
const startsWithinMs = 600_000;

/**
 * Identifies this process among all processes that use the database and the data folder, and tells which of these are alive. Claims and
 * unfinished work belong to a process. On the same machine, a process is alive if something listens on its socket, because the system closes
 * the socket however the process ends. On other machines, a process is alive as long as its heartbeat in the database is recent.
 */
export class ProcessLife {
  readonly id = randomBytes(8).toString('hex');
  readonly #models: Models;
  readonly #folder: string;
  readonly #logger: HostLogger;
  #machine = '';
  #server: Server | null = null;
  #timer: NodeJS.Timeout | undefined;
  #lastHeartbeat = Date.now();
  #term = 0;

  private constructor({ models, root, logger }: { models: Models; root: string; logger: HostLogger }) {
    this.#models = models;
    this.#folder = join(root, 'processes');
    this.#logger = logger;
  }

  /** @param options `root`: the data folder. */
  static async start(options: { models: Models; root: string; logger: HostLogger }): Promise<ProcessLife> {
    const life = new ProcessLife(options);
    life.#machine = await readMachineId();
    await life.#listen();
    await life.#recordHeartbeat();
    await life.#removeSocketsWithoutRecord();
    const recordHeartbeat = () =>
      life.#recordHeartbeat().catch((err: unknown) => options.logger.warn({ err }, 'Process:Beat:Failed'));
    life.#timer = setInterval(() => void recordHeartbeat(), heartbeatEveryMs).unref();
    return life;
  }

  /**
   * A number that changes after a time without heartbeats. During that time, other processes may have considered this process dead and done
   * its work.
   */
  get term(): number {
    return this.#term;
  }

  /** Whether a process is alive. */
  async isAlive(id: string): Promise<boolean> {
    if (id === this.id) return true;
    const record = await this.#models.hostProcess.findById(id).lean();
    if (record === null) return false;
    if (record.listens) {
      if (await isListening(this.#socketPathOf(id))) return true;
      if (record.machine === this.#machine) return false;
    }
    return Date.now() - record.beat.getTime() < deadAfterMs;
  }

  /** Finds the processes that ended without {@link stop}. @returns their ids */
  async findDeadProcesses(): Promise<string[]> {
    const ids = await this.#listRecordedIds();
    const areAlive = await Promise.all(ids.map((id) => this.isAlive(id)));
    return ids.filter((_, index) => !areAlive[index]);
  }

  /** Removes the record and socket of a process whose work has been completed. */
  async forgetProcess(id: string): Promise<void> {
    // The socket must be removed first, because without the record no process would look for the socket.
    if (process.platform !== 'win32') await rm(this.#socketPathOf(id), { force: true });
    await this.#models.hostProcess.deleteOne({ _id: id });
  }

  /**
   * Checks that exclusive work may become visible. Must be called immediately before it does.
   *
   * @param term value of {@link term} when the work started
   * @throws LargeImageError `unavailable` if other processes may have considered this process dead since then, which happens after a long
   * time without the database
   */
  requireAliveSince(term: number): void {
    if (term === this.#term && Date.now() - this.#lastHeartbeat < doubtAfterMs) return;
    throw new LargeImageError('unavailable', 'The server had lost the connection to its database. Try again.');
  }

  /** Removes this process from the list of live processes. All its work must have ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.forgetProcess(this.id);
    await new Promise<void>((resolve) => {
      if (this.#server === null) resolve();
      else this.#server.close(() => resolve());
    });
  }

  async #listen(): Promise<void> {
    const path = this.#socketPathOf(this.id);
    if (Buffer.byteLength(path) > maxSocketPathBytes) return;
    try {
      await mkdir(this.#folder, { recursive: true });
      this.#server = await listenAt(path, this.id);
    } catch (err) {
      // Some file systems have no sockets. Other processes then use the heartbeat in the database.
      this.#logger.info({ err, path }, 'Process:Listen:Failed');
    }
  }

  /**
   * Removes the sockets of processes that were killed before their first heartbeat. Recent sockets are kept, because their processes may be
   * starting.
   */
  async #removeSocketsWithoutRecord(): Promise<void> {
    if (process.platform === 'win32' || this.#server === null) return;
    const [sockets, recordedIds] = [await readdir(this.#folder), await this.#listRecordedIds()];
    for (const id of sockets.filter((name) => !recordedIds.includes(name))) {
      const path = join(this.#folder, id);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (Date.now() - mtimeMs > startsWithinMs && !(await isListening(path))) await rm(path, { force: true });
    }
  }

  async #listRecordedIds(): Promise<string[]> {
    return (await this.#models.hostProcess.find({}, { _id: 1 }).lean()).map(({ _id }) => _id);
  }

  async #recordHeartbeat(): Promise<void> {
    const startedAt = Date.now();
    const fields = { machine: this.#machine, listens: this.#server !== null, beat: new Date(startedAt) };
    await this.#models.hostProcess.updateOne({ _id: this.id }, { $set: fields }, { upsert: true });
    if (startedAt - this.#lastHeartbeat >= doubtAfterMs) this.#term++;
    this.#lastHeartbeat = startedAt;
  }

  #socketPathOf(id: string): string {
    return process.platform === 'win32' ? `\\\\.\\pipe\\large-image-${id}` : join(this.#folder, id);
  }
}

/** Reads the boot id of the machine, which is the same in all of its containers. If there is none, returns the name of the host. */
async function readMachineId(): Promise<string> {
  return readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
    (text) => text.trim(),
    () => hostname(),
  );
}
