import { MongoBackend, type MongoJobRepository } from '@agendajs/mongo-backend';
import type { Connection } from 'mongoose';
import type { HostLogger } from '../../index.js';
import { repeatCollisions } from '../../larger-host.js';

/** A back end of Agenda whose database is connected before Agenda gets it, by {@link openAgendaBackend}. */
class ConnectedBackend extends MongoBackend {
  #opening: Promise<void> | null = null;

  /** Connects once. Agenda calls this again and ignores the result. */
  override connect(): Promise<void> {
    this.#opening ??= super.connect();
    return this.#opening;
  }
}

/**
 * Opens a database for Agenda. Agenda waits neither for the opening nor for the unlocking of entries that it has fetched beyond its
 * limit. If either failed, for example while the database is down, the unhandled rejection would end the process. So opening is
 * awaited here, and errors of unlocking are logged.
 *
 * @throws the errors of the database.
 */
export async function openAgendaBackend(connection: Connection, logger: HostLogger): Promise<MongoBackend> {
  // Mongoose and the back end import the same class of the driver by two paths.
  const backend = new ConnectedBackend({ mongo: connection.db as never });
  await backend.connect();
  // The repository of this back end always has this class.
  const repository = backend.repository as MongoJobRepository;
  repeatCollisions(repository.collection);
  queryDueQueuesTogether(repository);
  const unlock = repository.unlockJob.bind(repository);
  repository.unlockJob = (entry) =>
    // The job runner notices that no process starts the entry, and queues the job again.
    unlock(entry).catch((err: unknown) => logger.warn({ err, entry: String(entry._id) }, 'Job:EntryKept'));
  return backend;
}

/**
 * Finds with one query which queues have entries that are due. Agenda would send a query for each of its queues twice a second, although
 * queues are usually empty.
 */
function queryDueQueuesTogether(repository: MongoJobRepository): void {
  const getNextJob = repository.getNextJobToRun.bind(repository);
  let nextQuery: { until: Date; lockedBefore: Date; dueQueues: Promise<ReadonlySet<string>> } | null = null;
  const queryDueQueues = async () => {
    // Calls share a response only until the query is sent. A later call might otherwise miss entries that are queued in between.
    await new Promise(setImmediate);
    const { until, lockedBefore } = nextQuery!;
    nextQuery = null;
    const lockableConditions = [{ lockedAt: null, nextRunAt: { $lte: until } }, { lockedAt: { $lte: lockedBefore } }];
    return new Set<string>(await repository.collection.distinct('name', { $or: lockableConditions }));
  };
  repository.getNextJobToRun = async (name, nextScanAt, lockDeadline, now, options) => {
    nextQuery ??= { until: nextScanAt, lockedBefore: lockDeadline, dueQueues: queryDueQueues() };
    if (nextScanAt > nextQuery.until) nextQuery.until = nextScanAt;
    if (lockDeadline > nextQuery.lockedBefore) nextQuery.lockedBefore = lockDeadline;
    const dueQueues = await nextQuery.dueQueues;
    return dueQueues.has(name) ? getNextJob(name, nextScanAt, lockDeadline, now, options) : undefined;
  };
}
