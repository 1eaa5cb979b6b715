import type { Model, Query } from 'mongoose';
import { readInSlices } from '../database/read-limits.js';
import type { Host, HostEventName, HostEventPayloads, HostEvents, HostModel, StoredDocument } from '../../host.js';

type Listener<N extends HostEventName> = (payload: HostEventPayloads[N]) => void | Promise<void>;

/** Calls the listeners of events. Hosts can use this class for their own events. */
export class HostEventEmitter implements HostEvents {
  readonly #listeners = new Map<HostEventName, Set<Listener<never>>>();

  on<N extends HostEventName>(name: N, listener: Listener<N>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners.add(listener as Listener<never>));
    return () => listeners.delete(listener as Listener<never>);
  }

  /** Calls the listeners one after another and waits for each. If a listener fails, the remaining ones are not called. */
  async emit<N extends HostEventName>(name: N, payload: HostEventPayloads[N]): Promise<void> {
    for (const listener of this.#listeners.get(name) ?? []) await listener(payload as never);
  }
}

/** Calls `listener` when items were removed, singly or together. @returns a function that removes the listener. */
export function onItemsRemoved(
  events: HostEvents,
  listener: (items: readonly StoredDocument[]) => void | Promise<void>,
): () => void {
  const stopSingle = events.on('item.removed', ({ item }) => listener([item]));
  const stopSeveral = events.on('items.removed', ({ items }) => listener(items));
  return () => {
    stopSingle();
    stopSeveral();
  };
}

type AnyModel = Model<Record<string, unknown>>;
type AnyQuery = Query<unknown, Record<string, unknown>>;

interface ModelListener {
  onSaved(doc: StoredDocument, isNew: boolean): Promise<void>;
  onRemoved(doc: StoredDocument): Promise<void>;
}

const changingMethods = ['updateOne', 'updateMany', 'findOneAndUpdate', 'replaceOne', 'findOneAndReplace'] as const;
const removingMethods = ['deleteOne', 'deleteMany', 'findOneAndDelete'] as const;

/** If one call changes more documents than this, only this many are announced. */
const maxAnnouncedDocuments = 10_000;

/**
 * The default of `Host.events`: hooks on the host's models, which notice changes through these models. Changes by other processes,
 * and through the driver, take effect when cached verdicts expire. A host can also create an instance itself, and emit events for
 * changes that the hooks do not notice, such as changes of roles in a separate table or revoked tokens.
 */
export class ModelEvents extends HostEventEmitter {
  readonly #listenerRemovals: (() => void)[] = [];

  constructor(models: Host['models']) {
    super();
    this.#listen(models.item, {
      onSaved: (item) => this.emit('item.saved', { item }),
      onRemoved: (item) => this.emit('item.removed', { item }),
    });
    this.#listen(models.file, {
      onSaved: (file, created) => this.emit('file.saved', { file, created }),
      onRemoved: (file) => this.emit('file.removed', { file }),
    });
    this.#listen(models.folder, {
      onSaved: (folder) => this.emit('folder.saved', { folder }),
      onRemoved: (folder) => this.emit('folder.removed', { folder }),
    });
  }

  close(): void {
    for (const removeListener of this.#listenerRemovals.splice(0)) removeListener();
  }

  #listen(hostModel: HostModel, listener: ModelListener): void {
    const model = hostModel as unknown as AnyModel;
    const listeners = listenersOf(model);
    listeners.add(listener);
    this.#listenerRemovals.push(() => listeners.delete(listener));
  }
}

/** The listeners of a model. Hooks cannot be removed from a schema, so one set of hooks serves all listeners of the model. */
const listenersByModel = new WeakMap<object, Set<ModelListener>>();

function listenersOf(model: AnyModel): Set<ModelListener> {
  const existing = listenersByModel.get(model);
  if (existing !== undefined) return existing;
  const listeners = new Set<ModelListener>();
  listenersByModel.set(model, listeners);
  addHooks(model, listeners);
  return listeners;
}

function addHooks(model: AnyModel, listeners: ReadonlySet<ModelListener>): void {
  const { schema } = model;
  const newDocuments = new WeakSet<object>();
  /** For a query that changes documents: their ids. For a query that removes documents: the documents. */
  const affectedByQuery = new WeakMap<object, unknown[]>();
  const isActive = () => listeners.size > 0;
  const announceSaved = async (doc: StoredDocument, isNew: boolean) => {
    for (const listener of listeners) await listener.onSaved(doc, isNew);
  };
  const announceRemoved = async (doc: StoredDocument) => {
    for (const listener of listeners) await listener.onRemoved(doc);
  };

  schema.pre('save', function (this: object & { isNew: boolean }) {
    if (this.isNew) newDocuments.add(this);
  });
  schema.post('save', async function (doc) {
    if (isActive()) await announceSaved(doc.toObject() as StoredDocument, newDocuments.delete(this));
  });
  schema.pre([...changingMethods], async function (this: AnyQuery) {
    if (isActive()) affectedByQuery.set(this, await findMatchingIds(model, this));
  });
  schema.post([...changingMethods], async function (this: AnyQuery) {
    const ids = affectedByQuery.get(this);
    if (!isActive() || ids === undefined) return;
    for await (const doc of readDocuments(model, ids)) await announceSaved(doc, false);
  });
  schema.pre([...removingMethods], async function (this: AnyQuery) {
    if (isActive())
      affectedByQuery.set(this, await readInSlices(model.find(this.getFilter()).limit(maxAnnouncedDocuments).lean()));
  });
  schema.post([...removingMethods], async function (this: AnyQuery) {
    const docs = affectedByQuery.get(this);
    if (!isActive() || docs === undefined) return;
    for (const doc of docs as StoredDocument[]) {
      if ((await model.exists({ _id: doc._id })) === null) await announceRemoved(doc);
    }
  });
  model.recompileSchema();
  refreshQueryHooks(model);
}

async function findMatchingIds(model: AnyModel, query: AnyQuery): Promise<unknown[]> {
  const docs = await model.find(query.getFilter(), { _id: 1 }).limit(maxAnnouncedDocuments).lean();
  return docs.map((doc) => doc._id);
}

async function* readDocuments(model: AnyModel, ids: unknown[]): AsyncGenerator<StoredDocument> {
  for (const id of ids) {
    const doc = await model.findById(id).lean<StoredDocument>();
    if (doc !== null) yield doc;
  }
}

/**
 * Makes hooks on queries take effect: `recompileSchema` only updates hooks on documents (mongoose 9.12). The method is missing from
 * the types of models. In a version without this method, changes by queries would take effect only when cached verdicts expire.
 */
function refreshQueryHooks(model: AnyModel): void {
  const { _applyQueryMiddleware } = model as unknown as { _applyQueryMiddleware?: () => void };
  _applyQueryMiddleware?.call(model);
}
