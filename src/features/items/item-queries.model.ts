import { BadParameterError } from '../../errors.js';
import type { StoredDocument } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { listTimeoutMs } from '../../core/database/outage.js';
import { iterateInSlices, readInSlices } from '../../core/database/read-limits.js';
import { idText } from '../../core/database/id-text.js';

/** A database filter for items or folders. */
export type Conditions = Readonly<Record<string, unknown>>;
type Order = readonly (readonly [string, 1 | -1])[];

/** Number of documents in one batch. The event loop can do other work between batches. */
const batchSize = 500;

/** Maximum number of values in one `$in` list, because databases become slow with lists of several thousand values. */
const valuesPerList = 500;

/** Matches errors for invalid expressions in a client's conditions, and for values whose type differs from that of the field. */
const refusalPattern =
  /regular expression|regex|Cast to |CastError|needs an array|must be|bad query|unknown operator|\$[a-z]{1,40} (needs|must|has to)/i;

/** Conditions that match documents whose `field` is one of many values. */
export function whereFieldIn(field: string, values: readonly unknown[]): Conditions {
  const lists: Conditions[] = [];
  for (let i = 0; i < values.length; i += valuesPerList) lists.push({ [field]: { $in: values.slice(i, i + valuesPerList) } });
  return lists.length === 1 ? lists[0]! : lists.length === 0 ? { _id: { $in: [] } } : { $or: lists };
}

/** Queries on the host's items and folders with conditions that clients may have written. */
export class ItemQueries {
  /** Names of the host's fields. */
  readonly fieldNames: HostRecords['listModels']['names'];
  private readonly items: HostRecords['listModels']['items'];
  private readonly folders: HostRecords['listModels']['folders'];

  constructor({ listModels }: Pick<HostRecords, 'listModels'>) {
    ({ names: this.fieldNames, items: this.items, folders: this.folders } = listModels);
  }

  /** Ids of a folder's descendants, including those that the caller cannot read. */
  async findDescendants(folderId: unknown): Promise<unknown[]> {
    const { parent } = this.fieldNames.folder;
    const descendants: unknown[] = [];
    const seenIds = new Set([idText(folderId)]);
    let frontier = [folderId];
    while (frontier.length > 0) {
      const children = await this.folders.find(whereFieldIn(parent, frontier), { _id: 1 }).lean<StoredDocument[]>();
      // A folder may be moved below its own descendant while this runs. The loop would then never end without this check.
      frontier = children.map(({ _id }) => _id).filter((id) => !seenIds.has(idText(id)));
      for (const id of frontier) seenIds.add(idText(id));
      for (const id of frontier) descendants.push(id);
    }
    return descendants;
  }

  /** The ids whose folders match the condition. */
  async filterFolders(ids: readonly unknown[], condition: Conditions): Promise<unknown[]> {
    const folders = await this.folders.find({ $and: [whereFieldIn('_id', ids), condition] }, { _id: 1 }).lean<StoredDocument[]>();
    return folders.map(({ _id }) => _id);
  }

  /** One page of the matching items, and their total number. A `limit` of 0 means all. */
  async findPage(
    conditions: Conditions,
    { order, limit, offset }: { order: Order; limit: number; offset: number },
  ): Promise<{ documents: StoredDocument[]; total: number }> {
    return runClientQuery(async () => {
      const query = this.items.find(conditions).sort(sortOf(order)).skip(offset).maxTimeMS(listTimeoutMs);
      if (limit > 0) query.limit(limit);
      const [documents, total] = await Promise.all([
        readInSlices<StoredDocument>(query.lean()),
        this.items.countDocuments(conditions).maxTimeMS(listTimeoutMs),
      ]);
      return { documents, total };
    });
  }

  /** Yields the matching items one by one. They contain only the id and the named fields. */
  async *iterate(conditions: Conditions, fields: readonly string[], order: Order): AsyncGenerator<StoredDocument> {
    const projection = Object.fromEntries(['_id', ...fields].map((field) => [field, 1]));
    const query = this.items.find(conditions, dropNestedFields(projection)).sort(sortOf(order)).maxTimeMS(listTimeoutMs);
    try {
      yield* iterateInSlices<StoredDocument>(query.lean(), { batchSize });
    } catch (error) {
      throw toBadParameter(error);
    }
  }

  /** The items with these ids, in the same order. Items that do not exist are left out. */
  async findByIds(ids: readonly unknown[]): Promise<StoredDocument[]> {
    const documents = await readInSlices<StoredDocument>(this.items.find(whereFieldIn('_id', ids)).lean());
    const documentById = new Map(documents.map((document) => [idText(document._id), document]));
    return ids.flatMap((id) => documentById.get(idText(id)) ?? []);
  }

  /** Items or folders that have metadata, by ascending id. */
  async *iterateWithMetadata(type: 'item' | 'folder', conditions: Conditions): AsyncGenerator<StoredDocument> {
    const model = type === 'item' ? this.items : this.folders;
    const conditionsWithMetadata = { $and: [conditions, { [this.fieldNames[type].meta]: { $exists: true, $nin: [null, {}] } }] };
    yield* iterateInSlices<StoredDocument>(model.find(conditionsWithMetadata).sort({ _id: 1 }).lean(), { batchSize });
  }
}

/** Drops fields that are inside other listed fields, because a projection must not contain both a field and a part of the field. */
function dropNestedFields(projection: Record<string, number>): Record<string, number> {
  const paths = Object.keys(projection);
  return Object.fromEntries(
    paths.filter((path) => !paths.some((otherPath) => path.startsWith(`${otherPath}.`))).map((path) => [path, 1]),
  );
}

function sortOf(order: Order): Record<string, 1 | -1> {
  return Object.fromEntries(order);
}

function toBadParameter(error: unknown): unknown {
  if (!(error instanceof Error) || !refusalPattern.test(`${error.name} ${error.message}`)) return error;
  return new BadParameterError(`Invalid filter: ${error.message.slice(0, 300)}`, { cause: error });
}

/**
 * Runs a query that contains conditions from a client.
 *
 * @throws BadParameterError if the database or Mongoose refuses the conditions.
 */
export async function runClientQuery<T>(runQuery: () => Promise<T>): Promise<T> {
  try {
    return await runQuery();
  } catch (error) {
    throw toBadParameter(error);
  }
}
