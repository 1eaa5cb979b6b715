import { callerName } from '../../../core/concurrency/queues.js';
import type { Caller } from '../../../host.js';
import type { AnnotationServices } from '../annotation-services.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { TableBlocks } from './blocks.js';
import { ColumnsByName, type TableColumn } from './columns.js';
import { parseFilter } from './filter.js';
import type { CategoryMoments } from './statistics.js';
import { mergeCategories, toSummaries, type CategorySummary, type Tables } from './tables.js';

/** Maximum number of annotations of one image that are summed up. */
const maxAnnotations = 100;
/** Maximum depth to which a filter is searched for columns. `parseFilter` refuses deeper filters. */
const maxDepth = 10;

/** A request for a summary. */
export interface SummaryQuery {
  /** Names of the numeric columns to summarize. */
  columns: readonly string[];
  /** Name of the column whose values are the categories. */
  by: string | undefined;
  /** Selects the elements. Not checked yet. */
  filter: unknown;
  caller: Caller | null;
  signal: AbortSignal;
}

/** A summary of all annotations of one image. */
export interface ImageSummary {
  /** Number of annotations that were summed up. */
  annotations: number;
  /** Whether the image has further annotations, which are left out. */
  isCut: boolean;
  /** Number of elements that match the filter. */
  count: number;
  categories: CategorySummary[];
}

type Json = Record<string, unknown>;

/** Yields the names of the columns in a condition, with the type that the condition needs. */
function* columnsIn(condition: unknown, remainingDepth = maxDepth): Generator<[name: string, type: TableColumn['type']]> {
  if (typeof condition !== 'object' || condition === null || remainingDepth === 0) return;
  const { column, in: list, and, or, not } = condition as Json;
  if (typeof column === 'string') {
    const firstValue: unknown = Array.isArray(list) ? list[0] : undefined;
    yield [column, typeof firstValue === 'string' ? 'text' : typeof firstValue === 'boolean' ? 'boolean' : 'number'];
  }
  for (const parts of [and, or]) {
    if (Array.isArray(parts)) for (const part of parts as unknown[]) yield* columnsIn(part, remainingDepth - 1);
  }
  yield* columnsIn(not, remainingDepth - 1);
}

/** Adds the columns that a query names to the columns of a table. In a column that the table does not have, no element has a value. */
function withQueriedColumns(columnsByName: ColumnsByName, { columns, by, filter }: SummaryQuery): ColumnsByName {
  const byName = new Map(columnsByName.columns.map((column) => [column.name, column]));
  const add = (name: string, type: TableColumn['type']) => {
    if (!byName.has(name)) byName.set(name, { name, type, source: name, isMixed: false });
  };
  for (const name of columns) add(name, 'number');
  if (by !== undefined) add(by, 'text');
  for (const [name, type] of columnsIn(filter)) add(name, type);
  return new ColumnsByName([...byName.values()]);
}

/** Sums up the tables of all annotations of an image, one annotation after the other. */
export class FolderSummaries {
  constructor(
    private readonly annotations: AnnotationServices,
    private readonly blocks: TableBlocks,
    private readonly tables: Tables,
  ) {}

  /**
   * Sums up the annotations of an image that the caller may read.
   *
   * @throws BadParameterError if a column has another type than the query needs.
   */
  async summarizeImage(itemId: string, query: SummaryQuery): Promise<ImageSummary> {
    const { caller, signal, by } = query;
    const moments: CategoryMoments[] = [];
    let columns: TableColumn[] = [];
    let annotationCount = 0;
    let isCut = false;
    for await (const annotation of this.annotations.lists.listInItem(itemId, caller)) {
      signal.throwIfAborted();
      isCut = annotationCount === maxAnnotations;
      if (isCut) break;
      annotationCount += 1;
      const work = () => this.#sumUpAnnotation(annotation, query);
      const result = await this.annotations.readQueue.run(work, {
        signal,
        caller: callerName(caller),
        isNeverRefused: annotationCount > 1,
      });
      ({ columns } = result);
      moments.push(...result.categories);
    }
    const categories = mergeCategories(moments, by === undefined ? null : { name: by, type: 'text', source: by, isMixed: false });
    const count = categories.reduce((sum, category) => sum + category.count, 0);
    return { annotations: annotationCount, isCut, count, categories: toSummaries(categories, columns) };
  }

  async #sumUpAnnotation({ elements }: AnnotationRecord, query: SummaryQuery) {
    const { signal, by } = query;
    const storedTable = await this.blocks.open(elements, signal);
    const columnsByName = withQueriedColumns(storedTable.columnsByName, query);
    const columns = query.columns.map((name) => columnsByName.findNumbers(name));
    const filter = parseFilter(query.filter, columnsByName);
    const table = { ...storedTable, columnsByName };
    const categories = await this.tables.computeMoments(
      { table, filter, signal },
      columns,
      by === undefined ? null : columnsByName.findCategories(by),
    );
    return { columns, categories };
  }
}
