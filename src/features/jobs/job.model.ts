import type { Model, QueryFilter, Types, UpdateQuery } from 'mongoose';
import { idText } from '../../core/database/id-text.js';
import { iterateInSlices } from '../../core/database/read-limits.js';

import {
  logEntryBytes,
  maxLogBytes,
  type JobChanges,
  type JobConditions,
  type JobFilter,
  type JobReader,
  type jobSortFields,
  type JobRecord,
  type NewJobRecord,
} from './job-record.js';
import { createIndexesOf } from '../../core/database/indexes.js';
import type { OwnCollections } from '../../core/database/own-collections.js';

interface JobDocument extends Omit<JobRecord, 'id' | 'args' | 'kwargs' | 'other' | 'log'> {
  _id: Types.ObjectId;
  plugin?: string;
  /** `args`, `kwargs` and `other` are JSON texts, because some keys that clients choose cannot be stored as names of fields. */
  args: string;
  kwargs: string;
  other: string;
  log: string[];
  /** Size of all entries of `log`, as {@link logEntryBytes} counts it. */
  logBytes: number;
}

/** Size to which a log is trimmed, in bytes. It is below the limit, so that a trim is not needed for every further entry. */
const trimmedLogBytes = 0.75 * maxLogBytes;
/** Maximum size of a stored log, however many processes write at the same time. A document can have at most 16 MiB. */
const maxStoredLogBytes = 3 * maxLogBytes;

const projectionWithoutLog = { log: 0 } as const;

/** The order of a list of jobs. */
export interface JobOrder {
  sort: (typeof jobSortFields)[number];
  direction: 1 | -1;
}

/** All queries on job records. Every claim and change is one atomic findOneAndUpdate. */
export class JobModel {
  readonly #model: Model<JobDocument>;

  constructor(ownCollections: OwnCollections) {
    const { Schema } = ownCollections.connection.base;
    const { Mixed } = Schema.Types;
    const schema = new Schema<JobDocument>(
      {
        title: String,
        type: String,
        handler: String,
        status: Number,
        created: Date,
        updated: Date,
        when: Date,
        interval: Number,
        userId: String,
        public: Boolean,
        access: Mixed,
        itemId: String,
        parentId: String,
        asynchronous: Boolean,
        timestamps: { type: Mixed },
        progress: Mixed,
        meta: Mixed,
        args: String,
        kwargs: String,
        other: String,
        results: Mixed,
        log: { type: [String], default: undefined },
        logCount: Number,
        logEpoch: Number,
        logBytes: Number,
        run: Mixed,
      },
      { minimize: false },
    );
    schema.index({ created: -1 });
    schema.index({ userId: 1, created: -1 });
    schema.index({ 'access.users.id': 1, created: -1 });
    schema.index({ parentId: 1 });
    // The field of the plugin comes first, so that the existing types and statuses are read from the index alone.
    schema.index({ plugin: 1, type: 1, status: 1 });
    schema.index({ plugin: 1, status: 1, created: 1 });
    this.#model = ownCollections.model<JobDocument>('LargeImageJob', 'job', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  async insert({ id, ...job }: NewJobRecord): Promise<JobRecord> {
    const storedDoc = await this.#model.create({
      ...(id !== undefined && { _id: id }),
      ...job,
      args: JSON.stringify(job.args),
      kwargs: JSON.stringify(job.kwargs),
      other: JSON.stringify(job.other),
      log: [],
      logCount: 0,
      logEpoch: 0,
      logBytes: 0,
    });
    return toRecord(storedDoc.toObject());
  }

  async find(id: string, options: { log?: boolean } = {}): Promise<JobRecord | null> {
    const doc = await this.#model.findById(id, options.log ? {} : projectionWithoutLog).lean<JobDocument>();
    return doc === null ? null : toRecord(doc);
  }

  /** Reads only the status and the process that works on the job, because this method is called often. */
  async findState(id: string): Promise<{ status: number; workingProcess: string | null } | null> {
    const doc = await this.#model.findById(id, { status: 1, run: 1 }).lean<Pick<JobDocument, 'status' | 'run'>>();
    return doc === null ? null : { status: doc.status, workingProcess: doc.run?.owner ?? null };
  }

  /** At most `count` of the newest log entries, and `logCount` and `logEpoch` at the same moment. */
  async readLogTail(id: string, count: number): Promise<{ logCount: number; logEpoch: number; entries: string[] } | null> {
    const doc = await this.#model
      .findById(id, { logCount: 1, logEpoch: 1, log: { $slice: -Math.max(1, count) } })
      .lean<Pick<JobDocument, 'log' | 'logCount' | 'logEpoch'>>();
    return doc === null ? null : { logCount: doc.logCount, logEpoch: doc.logEpoch, entries: doc.log ?? [] };
  }

  /** Jobs that match the filter and that the reader may be able to see, without their logs. A `limit` of 0 means all. */
  async *list(
    filter: JobFilter,
    reader: JobReader,
    { sort, direction, offset = 0, limit = 0 }: JobOrder & { offset?: number; limit?: number },
  ): AsyncGenerator<JobRecord> {
    const cursor = this.#model
      .find({ ...toQuery(filter), ...possiblyVisibleFilter(reader) }, projectionWithoutLog)
      .sort({ [sort]: direction, _id: direction })
      .skip(offset)
      .limit(limit)
      .lean();
    for await (const doc of iterateInSlices<JobDocument>(cursor)) yield toRecord(doc);
  }

  countByStatus(status: number): Promise<number> {
    return this.#model.countDocuments({ status });
  }

  /** The types and statuses of the jobs that the reader may see even without access to their items. */
  async findTypesAndStatuses(filter: JobFilter, reader: JobReader): Promise<{ types: string[]; statuses: number[] }> {
    const query = { ...toQuery(filter), ...visibleByRecordFilter(reader) };
    const [types, statuses] = await Promise.all([this.#model.distinct('type', query), this.#model.distinct('status', query)]);
    return { types: types.filter((type) => type != null), statuses };
  }

  /** Type, status and item of jobs that are about an item and whose type or status is not in the given lists. */
  async *iterateJobsAboutItems(
    filter: JobFilter,
    { types, statuses }: { types: readonly string[]; statuses: readonly number[] },
  ): AsyncGenerator<{ type: string; status: number; itemId: string }> {
    const otherTypeOrStatus = [{ type: { $nin: [...types] } }, { status: { $nin: [...statuses] } }];
    const cursor = this.#model
      .find({ ...toQuery(filter), itemId: { $ne: null }, $or: otherTypeOrStatus }, { type: 1, status: 1, itemId: 1 })
      .lean();
    type JobAboutItem = { type: string; status: number; itemId: string };
    for await (const { type, status, itemId } of iterateInSlices<JobAboutItem>(cursor)) yield { type, status, itemId };
  }

  /** Applies changes in one atomic step. Returns `null` if the job no longer exists or a condition does not hold. */
  async change(id: string, conditions: JobConditions, changes: JobChanges): Promise<JobRecord | null> {
    const query = conditionQuery(id, conditions);
    const newLogBytes = (changes.log ?? []).reduce((sum, entry) => sum + logEntryBytes(entry), 0);
    const isAppending = newLogBytes > 0 && changes.overwrite !== true;
    if (isAppending) query.logBytes = { $lte: maxStoredLogBytes - newLogBytes };
    const update = toUpdate(changes, newLogBytes);
    const write = () =>
      this.#model
        .findOneAndUpdate(query, update, { returnDocument: 'after', projection: projectionWithoutLog })
        .lean<JobDocument>();
    let doc = await write();
    if (doc === null && isAppending) {
      // Several processes may have written before any of them trimmed the log. After trimming, the condition on the length holds
      // again.
      await this.#trimLog(id);
      doc = await write();
    }
    if (doc === null) return null;
    if (doc.logBytes > maxLogBytes) await this.#trimLog(id);
    return toRecord(doc);
  }

  /** Drops the oldest log entries until the remaining entries fit. */
  async #trimLog(id: string): Promise<void> {
    for (;;) {
      const doc = await this.#model
        .findById(id, { log: 1, logCount: 1, logBytes: 1 })
        .lean<Pick<JobDocument, '_id' | 'log' | 'logCount' | 'logBytes'>>();
      if (doc === null || doc.logBytes <= maxLogBytes) return;
      let keptCount = 0;
      let keptBytes = 0;
      for (let i = doc.log.length - 1; i >= 0; i--) {
        const entryBytes = logEntryBytes(doc.log[i]!);
        // The newest entry is kept, however long it is.
        if (keptCount > 0 && keptBytes + entryBytes > trimmedLogBytes) break;
        keptBytes += entryBytes;
        keptCount++;
      }
      // `logCount` changes with every write to the log. As a condition, it makes sure that exactly the counted entries are removed.
      const trimResult = await this.#model.updateOne(
        { _id: doc._id, logCount: doc.logCount, logBytes: doc.logBytes },
        { $push: { log: { $each: [], $slice: -keptCount } }, $set: { logBytes: keptBytes } },
      );
      if (trimResult.matchedCount > 0) return;
    }
  }

  /** Records that the process is alive. @returns false if the job no longer exists or another process works on it. */
  async recordBeat(id: string, workingProcess: string): Promise<boolean> {
    const result = await this.#model.updateOne({ _id: id, 'run.owner': workingProcess }, { $inc: { 'run.beat': 1 } });
    return result.matchedCount > 0;
  }

  /** Jobs of the runner in one of the statuses, oldest first, without their logs. */
  async findRunnerJobs(statuses: readonly number[], limit: number): Promise<JobRecord[]> {
    const docs = await this.#model
      .find({ status: { $in: [...statuses] }, run: { $ne: null } }, projectionWithoutLog)
      .sort({ created: 1 })
      .limit(limit)
      .lean<JobDocument[]>();
    return docs.map(toRecord);
  }

  /** Removes a record. @returns the removed record; `null` if it no longer existed. */
  async remove(id: string): Promise<JobRecord | null> {
    const doc = await this.#model.findByIdAndDelete(id, { projection: projectionWithoutLog }).lean<JobDocument>();
    return doc === null ? null : toRecord(doc);
  }
}

function toRecord(doc: JobDocument): JobRecord {
  const { _id, args, kwargs, other, logBytes: _bytes, plugin: _plugin, ...storedFields } = doc;
  return {
    ...storedFields,
    id: idText(_id),
    handler: storedFields.handler ?? null,
    userId: storedFields.userId ?? null,
    parentId: storedFields.parentId ?? null,
    itemId: storedFields.itemId ?? null,
    progress: storedFields.progress ?? null,
    results: storedFields.results ?? null,
    run: storedFields.run ?? null,
    args: JSON.parse(args) as unknown[],
    kwargs: JSON.parse(kwargs) as Record<string, unknown>,
    other: JSON.parse(other) as Record<string, unknown>,
  };
}

function conditionQuery(id: string, conditions: JobConditions): QueryFilter<JobDocument> & Record<string, unknown> {
  const query: QueryFilter<JobDocument> & Record<string, unknown> = { _id: id };
  const { status } = conditions;
  if (status !== undefined) query.status = typeof status === 'number' ? status : { $in: [...status] };
  if (conditions.workingProcess !== undefined) query['run.owner'] = conditions.workingProcess;
  if (conditions.beat !== undefined) query['run.beat'] = conditions.beat;
  if (conditions.ticket !== undefined) query['run.ticket'] = conditions.ticket;
  return query;
}

function toUpdate(changes: JobChanges, newLogBytes: number): UpdateQuery<JobDocument> {
  const now = new Date();
  const set: Record<string, unknown> = { updated: now };
  const push: Record<string, unknown> = {};
  const increment: Record<string, number> = {};
  if (changes.status !== undefined) {
    set.status = changes.status;
    push.timestamps = { status: changes.status, time: now };
  }
  if (changes.progress !== undefined) set.progress = changes.progress;
  if (changes.results !== undefined) set.results = changes.results;
  if (changes.workingProcess !== undefined) set['run.owner'] = changes.workingProcess;
  if (changes.ticket !== undefined) set['run.ticket'] = changes.ticket;
  if (changes.starter !== undefined) set['run.starter'] = changes.starter;
  if (changes.addedAttempts !== undefined) {
    increment['run.attempts'] = changes.addedAttempts;
    increment['run.beat'] = 1;
  }
  const { log = [] } = changes;
  if (log.length > 0) {
    increment.logCount = log.length;
    if (changes.overwrite === true) {
      Object.assign(set, { log: [...log], logBytes: newLogBytes });
      increment.logEpoch = 1;
    } else {
      push.log = { $each: [...log] };
      increment.logBytes = newLogBytes;
    }
  }
  return {
    $set: set,
    ...(Object.keys(push).length > 0 && { $push: push }),
    ...(Object.keys(increment).length > 0 && { $inc: increment }),
  };
}

function toQuery(filter: JobFilter): QueryFilter<JobDocument> & Record<string, unknown> {
  const query: QueryFilter<JobDocument> & Record<string, unknown> = {};
  if (filter.userId !== undefined) query.userId = filter.userId;
  if (filter.types !== undefined) query.type = { $in: [...filter.types] };
  if (filter.statuses !== undefined) query.status = { $in: [...filter.statuses] };
  if (filter.handlers !== undefined) query.handler = { $in: [...filter.handlers] };
  if (filter.parentId !== undefined) query.parentId = filter.parentId;
  return query;
}

/** Filter for the jobs that a reader may see even without access to their items. */
function visibleByRecordFilter({ id, admin }: JobReader): Record<string, unknown> {
  if (admin) return {};
  return { $or: [{ public: true }, ...(id === null ? [] : [{ 'access.users': { $elemMatch: { id, level: { $gte: 0 } } } }])] };
}

/** Filter for the jobs that {@link visibleByRecordFilter} finds, and for all jobs about items, which are checked later. */
function possiblyVisibleFilter(reader: JobReader): Record<string, unknown> {
  const { $or } = visibleByRecordFilter(reader);
  return Array.isArray($or) ? { $or: [...($or as object[]), { itemId: { $ne: null } }] } : {};
}
