import { MongoBackend, type MongoJobRepository } from '@agendajs/mongo-backend';
import type { Connection } from 'mongoose';
import { repeatCollisions, type HostLogger } from '../../index.js';

/** The queue's side of a database that is connected to before Agenda has it: {@link openAgendaBackend}. */
class OpenBackend extends MongoBackend {
  #opened: Promise<void> | null = null;

  /** Agenda calls it again and does not look at how that ends. */
  override connect(): Promise<void> {
    this.#opened ??= super.connect();
    return this.#opened;
  }
}

/**
 * Opens a database for Agenda. Agenda waits neither for the opening nor for the entries that it unlocks because it has taken too many:
 * where one of these fails, as while the database is away, nobody hears of it and the process would end.
 *
 * @throws what the database raises.
 */
export async function openAgendaBackend(connection: Connection, logger: HostLogger): Promise<MongoBackend> {
  // Mongoose and the back end name the same class of the driver by two paths.
  const backend = new OpenBackend({ mongo: connection.db as never });
  await backend.connect();
  // What this back end has is one.
  const repository = backend.repository as MongoJobRepository;
  repeatCollisions(repository.collection);
  askTogether(repository);
  const unlock = repository.unlockJob.bind(repository);
  repository.unlockJob = (entry) =>
    // The runner of jobs sees that nobody begins with the entry, and queues the job again.
    unlock(entry).catch((err: unknown) => logger.warn({ err, entry: String(entry._id) }, 'Job:EntryKept'));
  return backend;
}

/**
 * Has the database asked once which queues have something due. Agenda asks for each of its queues at the same moment, and twice a second: most
 * often none has.
 */
function askTogether(repository: MongoJobRepository): void {
  const next = repository.getNextJobToRun.bind(repository);
  let asking: { until: Date; lockedBefore: Date; due: Promise<ReadonlySet<string>> } | null = null;
  const ask = async () => {
    // Who asks now shares the answer. Who asks when the question is on its way could miss what is queued meanwhile.
    await new Promise(setImmediate);
    const { until, lockedBefore } = asking!;
    asking = null;
    const lockable = [{ lockedAt: null, nextRunAt: { $lte: until } }, { lockedAt: { $lte: lockedBefore } }];
    return new Set<string>(await repository.collection.distinct('name', { $or: lockable }));
  };
  repository.getNextJobToRun = async (name, nextScanAt, lockDeadline, now, options) => {
    asking ??= { until: nextScanAt, lockedBefore: lockDeadline, due: ask() };
    if (nextScanAt > asking.until) asking.until = nextScanAt;
    if (lockDeadline > asking.lockedBefore) asking.lockedBefore = lockDeadline;
    const due = await asking.due;
    return due.has(name) ? next(name, nextScanAt, lockDeadline, now, options) : undefined;
  };
}
