import { callerName } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import { BadParameterError } from '../../errors.js';
import type { Caller, HostAccess, StoredDocument } from '../../host.js';
import { idText } from '../../core/database/id-text.js';
import { whereFieldIn, type Conditions, type ItemQueries } from './item-queries.model.js';
import { parseListText, parseSortOrder, type ListConditions, type GroupPass, type SortOrder } from './item-list-request.js';
import type { Items } from './items.js';

/** The parameters of the host's route `GET item`. */
export interface ItemListRequest {
  folderId?: string | undefined;
  text?: string | undefined;
  /** Only items with exactly this name are listed. */
  name?: string | undefined;
  /** Maximum number of items on the page; 0 means all. */
  limit: number;
  offset: number;
  /** A field, or a JSON list of fields and directions. */
  sort: string;
  sortdir: 1 | -1;
}

/** One page of items, and the number of items on all pages. */
export interface ItemList {
  documents: StoredDocument[];
  total: number;
}

/** Reads item lists for the host's own list route, if the search text begins with `_recurse_:`, `_group_:` or `_filter_:`. */
export class ItemLists {
  constructor(
    private readonly queries: ItemQueries,
    private readonly items: Items,
    private readonly access: HostAccess,
    private readonly queue: WorkQueue,
  ) {}

  /**
   * Reads the requested page of the list.
   *
   * @param conditionsForWords returns the conditions with which the host searches for the words after the prefixes.
   * @returns `null` if the text has none of the prefixes; the host then answers the request as usual.
   * @throws BadParameterError, UnknownIdError, AccessDeniedError
   */
  async list(
    request: ItemListRequest,
    caller: Caller | null,
    conditionsForWords: (words: string) => Conditions,
  ): Promise<ItemList | null> {
    const search = parseListText(request.text);
    if (search === null) return null;
    const order = parseSortOrder(request.sort, request.sortdir);
    const conditions = await this.#buildConditions(search, request, caller, conditionsForWords);
    const { limit, offset } = request;
    const read = () =>
      search.passes.length === 0
        ? this.queries.findPage(conditions, { order, limit, offset })
        : this.#readGrouped(search.passes, conditions, { order, limit, offset });
    return this.queue.run(read, { caller: callerName(caller) });
  }

  /**
   * The number of items before an item in the requested list, over all pages; the total number if the item is not in the list.
   * `null` if the text has none of the prefixes.
   *
   * @throws the same errors as {@link list}
   */
  async position(
    id: unknown,
    request: ItemListRequest,
    caller: Caller | null,
    conditionsForWords: (words: string) => Conditions,
  ): Promise<number | null> {
    const search = parseListText(request.text);
    if (search === null) return null;
    const order = parseSortOrder(request.sort, request.sortdir);
    const conditions = await this.#buildConditions(search, request, caller, conditionsForWords);
    return this.queue.run(() => this.#countBefore(id, search.passes, conditions, order), { caller: callerName(caller) });
  }

  async #countBefore(id: unknown, passes: readonly GroupPass[], conditions: Conditions, order: SortOrder): Promise<number> {
    const { remainingIds } = await this.#runPasses(passes, conditions, order);
    let countBefore = 0;
    for await (const { _id } of this.queries.iterate(conditions, [], order)) {
      if (idText(_id) === idText(id)) break;
      if (remainingIds?.has(idText(_id)) ?? true) countBefore++;
    }
    return countBefore;
  }

  async #buildConditions(
    search: ListConditions,
    { folderId, name }: ItemListRequest,
    caller: Caller | null,
    conditionsForWords: (words: string) => Conditions,
  ): Promise<Conditions> {
    const conditions: Conditions[] = [];
    const { folder: folderField, name: nameField } = this.queries.fieldNames.item;
    if (folderId !== undefined) {
      const storedFolderId = (await this.items.loadFolder(folderId, 0, caller)).doc._id;
      if (search.recurse) {
        const descendants = await this.queries.findDescendants(storedFolderId);
        const readableFolders = await this.queries.filterFolders(descendants, await this.access.filter(caller, 'folder', 0));
        conditions.push(whereFieldIn(folderField, [storedFolderId, ...readableFolders]));
      } else conditions.push({ [folderField]: storedFolderId });
    } else if (search.recurse || search.passes.length > 0) {
      throw new BadParameterError('Parameter "folderId" is required for _recurse_ and _group_.');
    } else conditions.push(await this.access.filter(caller, 'item', 0));
    if (name !== undefined) conditions.push({ [nameField]: name });
    if (search.filter !== null) conditions.push(search.filter);
    if (search.words.trim() !== '') conditions.push(conditionsForWords(search.words));
    return { $and: conditions };
  }

  async #readGrouped(
    passes: readonly GroupPass[],
    conditions: Conditions,
    { order, limit, offset }: { order: SortOrder; limit: number; offset: number },
  ): Promise<ItemList> {
    const { remainingIds, countsByPass } = await this.#runPasses(passes, conditions, order);
    const sortedIds: unknown[] = [];
    for await (const { _id } of this.queries.iterate(conditions, [], order))
      if (remainingIds?.has(idText(_id))) sortedIds.push(_id);
    const documents = await this.queries.findByIds(sortedIds.slice(offset, limit > 0 ? offset + limit : undefined));
    const keys = passes.flatMap((pass) => pass.keys);
    const { meta: metaField } = this.queries.fieldNames.item;
    for (const document of documents) {
      for (const { pass, countsByValue } of countsByPass) {
        const distinctCounts = countsByValue.get(comparableText(valueAt(document, pass.keys[0]!))) ?? [];
        for (const [index, { target }] of pass.counts.entries()) setAt(document, target, distinctCounts[index] ?? 0);
      }
      setAt(document, `${metaField}._grouping`, { keys, values: keys.map((key) => valueAt(document, key) ?? null) });
    }
    return { documents, total: sortedIds.length };
  }

  /** Runs all passes. In the result, `remainingIds` is `null` if there are no passes, so that all items remain. */
  async #runPasses(
    passes: readonly GroupPass[],
    conditions: Conditions,
    order: SortOrder,
  ): Promise<{
    remainingIds: ReadonlySet<string> | null;
    countsByPass: { pass: GroupPass; countsByValue: Map<string, number[]> }[];
  }> {
    let remainingIds: ReadonlySet<string> | null = null;
    const countsByPass: { pass: GroupPass; countsByValue: Map<string, number[]> }[] = [];
    for (const pass of passes) {
      const previousIds: ReadonlySet<string> | null = remainingIds;
      if (pass.counts.length > 0)
        countsByPass.push({ pass, countsByValue: await this.#countDistinct(pass, conditions, previousIds) });
      for (const key of pass.keys) remainingIds = await this.#findFirstIds(key, conditions, order, remainingIds);
    }
    return { remainingIds, countsByPass };
  }

  /** Finds the first item with each value of a field, in the requested order. Items without the field are left out. */
  async #findFirstIds(
    key: string,
    conditions: Conditions,
    order: SortOrder,
    candidateIds: ReadonlySet<string> | null,
  ): Promise<ReadonlySet<string>> {
    const seenValues = new Set<string>();
    const firstIds = new Set<string>();
    const conditionsWithKey = { $and: [conditions, { [key]: { $exists: true } }] };
    const orderByKey: SortOrder = [[key, 1], ...order.filter(([field]) => field !== key)];
    for await (const document of this.queries.iterate(conditionsWithKey, [key], orderByKey)) {
      const id = idText(document._id);
      if (candidateIds !== null && !candidateIds.has(id)) continue;
      const value = comparableText(valueAt(document, key));
      if (seenValues.has(value)) continue;
      seenValues.add(value);
      firstIds.add(id);
    }
    return firstIds;
  }

  /**
   * Counts the distinct values of each source field, separately for each value of the first key.
   *
   * @returns the counts in the order of `counts`, by the key's value as a {@link comparableText}.
   */
  async #countDistinct(
    { keys, counts }: GroupPass,
    conditions: Conditions,
    candidateIds: ReadonlySet<string> | null,
  ): Promise<Map<string, number[]>> {
    const key = keys[0]!;
    const sources = counts.map(({ source }) => source);
    const valuesByGroup = new Map<string, Set<string>[]>();
    const conditionsWithKey = { $and: [conditions, { [key]: { $exists: true } }] };
    for await (const document of this.queries.iterate(conditionsWithKey, [key, ...sources], [['_id', 1]])) {
      if (candidateIds !== null && !candidateIds.has(idText(document._id))) continue;
      const group = comparableText(valueAt(document, key));
      const sets = valuesByGroup.get(group) ?? sources.map(() => new Set<string>());
      valuesByGroup.set(group, sets);
      for (const [index, source] of sources.entries()) {
        const value = valueAt(document, source);
        if (value !== undefined && value !== null) sets[index]!.add(comparableText(value));
      }
    }
    return new Map([...valuesByGroup].map(([group, sets]) => [group, sets.map(({ size }) => size)]));
  }
}

/** A text that is equal for equal values. */
function comparableText(value: unknown): string {
  const id = idText(value);
  return id === '' || typeof value === 'string' ? (JSON.stringify(value) ?? '') : id;
}

function valueAt(document: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (value, part) => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[part] : undefined),
      document,
    );
}

/** Sets the value at a path. Copies the objects on the path first, because other parts of the document may refer to the same objects. */
function setAt(document: Record<string, unknown>, path: string, value: unknown): void {
  const parts = path.split('.');
  const lastPart = parts.pop()!;
  let target = document;
  for (const part of parts) {
    const nextValue = target[part];
    const isObject = typeof nextValue === 'object' && nextValue !== null && !Array.isArray(nextValue);
    target = target[part] = isObject ? { ...nextValue } : {};
  }
  target[lastPart] = value;
}
