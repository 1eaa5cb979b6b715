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
/** How deep a filter is searched for columns. `parseFilter` refuses deeper ones. */
const maxDepth = 10;

/** A request for a summary: numeric columns, the column whose values are the categories, and a filter of the elements. */
export interface SummaryQuery {
  columns: readonly string[];
  by: string | undefined;
  filter: unknown;
  caller: Caller | null;
  signal: AbortSignal;
}

/** All annotations of one image, summed up. */
export interface ImageSummary {
  annotations: number;
  /** Whether the image has further annotations, which are left out. */
  isCut: boolean;
  count: number;
  categories: CategorySummary[];
}

type Json = Record<string, unknown>;

/** The columns that a condition names, with the type that it needs. */
function* columnsIn(condition: unknown, remainingDepth = maxDepth): Generator<[name: string, type: TableColumn['type']]> {
  if (typeof condition !== 'object' || condition === null || remainingDepth === 0) return;
  const { column, in: listed, and, or, not } = condition as Json;
  if (typeof column === 'string') {
    const first: unknown = Array.isArray(listed) ? listed[0] : undefined;
    yield [column, typeof first === 'string' ? 'text' : typeof first === 'boolean' ? 'boolean' : 'number'];
  }
  for (const parts of [and, or]) {
    if (Array.isArray(parts)) for (const part of parts as unknown[]) yield* columnsIn(part, remainingDepth - 1);
  }
  yield* columnsIn(not, remainingDepth - 1);
}

/** The columns of a table, and those that only a query names. In the latter, no element has a value. */
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

/** Sums up the tables of images, one annotation after the other. */
export class FolderSummaries {
  constructor(
    private readonly annotations: AnnotationServices,
    private readonly blocks: TableBlocks,
    private readonly tables: Tables,
  ) {}

  /** Sums up the annotations of an image that the caller may read. @throws BadParameterError if a column has another type than the query needs. */
  async summarizeImage(itemId: string, query: SummaryQuery): Promise<ImageSummary> {
    const { caller, signal, by } = query;
    const moments: CategoryMoments[] = [];
    let columns: TableColumn[] = [];
    let annotations = 0;
    let isCut = false;
    for await (const annotation of this.annotations.lists.listInItem(itemId, caller)) {
      signal.throwIfAborted();
      isCut = annotations === maxAnnotations;
      if (isCut) break;
      annotations += 1;
      const work = () => this.#sumUpAnnotation(annotation, query);
      const summed = await this.annotations.readQueue.run(work, {
        signal,
        caller: callerName(caller),
        isNeverRefused: annotations > 1,
      });
      ({ columns } = summed);
      moments.push(...summed.categories);
    }
    const merged = mergeCategories(moments, by === undefined ? null : { name: by, type: 'text', source: by, isMixed: false });
    const count = merged.reduce((sum, each) => sum + each.count, 0);
    return { annotations, isCut, count, categories: toSummaries(merged, columns) };
  }

  async #sumUpAnnotation({ elements }: AnnotationRecord, query: SummaryQuery) {
    const { signal, by } = query;
    const opened = await this.blocks.open(elements, signal);
    const columnsByName = withQueriedColumns(opened.columnsByName, query);
    const columns = query.columns.map((name) => columnsByName.findNumbers(name));
    const filter = parseFilter(query.filter, columnsByName);
    const table = { ...opened, columnsByName };
    const categories = await this.tables.computeMoments(
      { table, filter, signal },
      columns,
      by === undefined ? null : columnsByName.findCategories(by),
    );
    return { columns, categories };
  }
}
