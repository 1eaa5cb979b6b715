import { tmpdir } from 'node:os';
import type { Connection } from 'mongoose';
import type { Host, HostAccess, HostEvents, HostLogger, WorkerHost } from '../host.js';
import { checkedAccess } from './host/checked-access.js';
import { checkHost, claimModels, requireOpenConnection } from './host/check-host.js';
import { Callers } from './host/callers.js';
import { nonThrowingLogger } from './host/logger.js';
import { ModelEvents, onItemsRemoved } from './host/host-events.js';
import { HiddenItems } from './host/hidden-items.js';
import { HostRecords } from './host/host-records.js';
import { OwnCollections } from './database/own-collections.js';
import { LeaseModel } from './database/leases/lease.model.js';
import { Leases } from './database/leases/leases.js';
import { ScheduleModel } from './database/schedule.js';
import { Sweeper, type Sweep } from './database/sweeper.js';
import { createQueues, type QueueLimits, type QueueName, type Queues } from './concurrency/queues.js';
import type { OnClose } from './undo.js';

/** The host as the plugin sees it, and the services that all features share. */
export interface Core {
  host: Omit<WorkerHost, 'access'>;
  /** The host's permissions, of which invalid ones grant nothing. */
  access: HostAccess;
  logger: HostLogger;
  /** Name of the product in the API. */
  brand: string;
  /** The connection on which the host's models are compiled. */
  connection: Connection;
  /** The plugin's own collections. */
  ownCollections: OwnCollections;
  /** Leases for work that only one process may do at a time. */
  leases: Leases;
  records: HostRecords;
  hiddenItems: HiddenItems;
  events: HostEvents;
  callers: Callers;
  /** Queues for work that occupies threads, the event loop or the database. */
  queues: Queues;
  temporaryDirectory: string;
}

/**
 * Extends the host's models and subscribes to events of the host.
 *
 * @param onClose registers the functions that undo this.
 * @throws InvalidHostError for an invalid host, and LargeImageError `conflict` if the collections contain documents of other
 * programs. In both cases nothing was changed.
 */
export async function openCore(
  host: WorkerHost,
  options: {
    isServing: boolean;
    collectionPrefix?: string | undefined;
    queues?: Partial<Record<QueueName, QueueLimits>> | undefined;
  },
  onClose: OnClose,
): Promise<Core> {
  const { isServing, collectionPrefix, queues } = options;
  checkHost(host, isServing);
  onClose(claimModels(host.models));
  await requireOpenConnection(host.models);
  const ownCollections = new OwnCollections(host.models.item.db, collectionPrefix);
  await ownCollections.check();
  onClose(() => ownCollections.close());
  const leaseModel = new LeaseModel(ownCollections);
  await leaseModel.createIndexes();
  const logger = nonThrowingLogger(host.logger);
  const records = new HostRecords(host);
  onClose(() => records.restoreSchemas());
  await records.createIndexes();
  const events = openHostEvents(host, onClose);
  const hiddenItems = new HiddenItems(ownCollections, records.parts.items);
  onClose(events.on('item.hidden', ({ items }) => hiddenItems.hide(items)));
  onClose(events.on('item.shown', ({ items }) => hiddenItems.show(items)));
  onClose(onItemsRemoved(events, (items) => hiddenItems.forget(items)));
  const callers = new Callers(host.auth);
  onClose(events.on('access.changed', () => callers.forget()));
  onClose(events.on('token.revoked', ({ token }) => callers.forget(token)));
  return {
    host,
    access: checkedAccess(host.access, logger),
    logger,
    brand: host.brand ?? 'service',
    connection: records.connection,
    ownCollections,
    leases: new Leases({ model: leaseModel, logger }),
    records,
    hiddenItems,
    events,
    callers,
    queues: createQueues(queues),
    temporaryDirectory: host.temporaryDirectory ?? tmpdir(),
  };
}

/**
 * Starts removing leftovers of ended processes, in the core and in the features.
 *
 * @param options with `fullAtStart`, the first sweep of this process is a full one.
 * @param onClose registers the function that stops the sweeper.
 */
export function startSweeper(
  { ownCollections, leases, logger, host }: Core,
  { sweeps, fullAtStart }: { sweeps: readonly Sweep[]; fullAtStart: boolean },
  onClose: OnClose,
): void {
  const leaseSweep: Sweep = async () => ({ leases: await leases.removeEnded() });
  const fileSweep: Sweep = async ({ full, signal }) => (full ? ((await host.files.sweep?.({ signal })) ?? {}) : {});
  const schedule = new ScheduleModel(ownCollections);
  const sweeper = new Sweeper({
    collections: ownCollections,
    sweeps: [leaseSweep, ...sweeps, fileSweep],
    schedule,
    logger,
    fullAtStart,
  });
  onClose(() => sweeper.close());
}

function openHostEvents(host: Pick<Host, 'events' | 'models'>, onClose: OnClose): HostEvents {
  if (host.events !== undefined) return host.events;
  const events = new ModelEvents(host.models);
  onClose(() => events.close());
  return events;
}
