import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../../../core/concurrency/lru-options.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { SharedWork } from '../../../../tilesource/process/shared-work.js';
import type { ElementStore, PackMarks, ScanOptions, StoredElements } from '../../elements/element-store.js';
import type { OpenTable } from '../../table/blocks.js';
import type { TableOffers } from '../../table/feature.js';
import type { TableQuery } from '../../table/tables.js';
import type { WindowValues } from '../../table/values.js';
import type { TableColumn } from '../../table/columns.js';
import type { Cell } from '../../table/block.js';
import type { AnnotationDensities } from '../densities.js';
import type { Drawer } from '../drawer.js';
import { Coloring, type ColoringView } from './coloring.js';
import type { ColoringRequest } from './coloring-request.js';
import { Overviews } from './overviews.js';

/** Memory in bytes for the values of windows. */
const maxValueBytes = 64 * 1024 * 1024;
/** Maximum number of open tables in memory. */
const maxTables = 16;
/** Maximum number of lists of categories in memory. */
const maxCategoryLists = 100;

/** Options of {@link Colorings}. */
interface ColoringsOptions extends TableOffers {
  store: Pick<ElementStore, 'loadPackMarks'>;
  densities: AnnotationDensities;
  drawer: Drawer;
}

/** Opens colorings, which color elements by the values of a column, filter elements, or make heat maps. */
export class Colorings {
  readonly overviews: Overviews;
  readonly #tables = new LRUCache<string, OpenTable>(limitEntries(maxTables));
  readonly #values = new LRUCache<string, WindowValues>({
    maxSize: maxValueBytes,
    sizeCalculation: ({ values, texts }) => values.byteLength + texts.length * 64 + 256,
  });
  readonly #categories = new LRUCache<string, Map<Cell, number>>(limitEntries(maxCategoryLists));
  readonly #sharedLoads = new SharedWork<WindowValues>();

  constructor(readonly options: ColoringsOptions) {
    this.overviews = new Overviews(options.drawer);
  }

  /** Opens a coloring. @throws BadParameterError for columns that the table does not have, and for invalid ranges, palettes and filters. */
  async open(stored: StoredElements, request: ColoringRequest, view: ColoringView, signal: AbortSignal): Promise<Coloring> {
    let table = this.#tables.get(stored.content);
    if (table === undefined) {
      table = await this.options.blocks.open(stored, signal);
      this.#tables.set(stored.content, table);
    }
    const coloring = new Coloring(this, { stored, table, request, view });
    await coloring.requireFewCategories(signal);
    return coloring;
  }

  /** Loads the values of a window, from memory if possible. @param options `name`: identifies the column, the subtrahend and the filter. */
  async loadValues(
    stored: StoredElements,
    query: TableQuery,
    {
      windowIndex,
      column,
      subtrahend,
      name,
    }: { windowIndex: number; column: TableColumn | null; subtrahend: number; name: string },
  ): Promise<WindowValues> {
    // The key contains the index of the window, because filters by `order` depend on it.
    const key = `${stored.windows[windowIndex]!.id}/${windowIndex}/${name}`;
    const cached = this.#values.get(key);
    if (cached !== undefined) return cached;
    const load = async (signal: AbortSignal) => {
      const values = await this.options.tables.loadValues({ ...query, signal }, { windowIndex, column, subtrahend });
      this.#values.set(key, values);
      return values;
    };
    return this.#sharedLoads.join(key, load, query.signal);
  }

  /** Counts the elements of each category. @throws BadParameterError if there are too many categories. */
  async countCategories(query: TableQuery, column: TableColumn): Promise<Map<Cell, number>> {
    const key = JSON.stringify([query.table.content, column, query.filter]);
    const cached = this.#categories.get(key);
    if (cached !== undefined) return cached;
    const summary = await this.options.tables.summarize(query, [], column);
    const counts = new Map(summary.map(({ value, count }) => [value, count]));
    this.#categories.set(key, counts);
    return counts;
  }

  /** Loads boxes and appearances of elements. Other work can run between packs. */
  async loadMarks(stored: StoredElements, options: ScanOptions & { signal: AbortSignal }): Promise<PackMarks[]> {
    const packs: PackMarks[] = [];
    for await (const marks of this.options.store.loadPackMarks(stored, options)) {
      packs.push(marks);
      if (isSliceOver()) await nextSlice(options.signal);
    }
    return packs;
  }
}
