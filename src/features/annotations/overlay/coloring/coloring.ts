import { createHash } from 'node:crypto';
import { BadParameterError } from '../../../../errors.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { BoxCondition } from '../../../../annotation-format/element-query.js';
import { windowPositions } from '../../elements/packs/pack-index.js';
import type { PackMarks, StoredElements } from '../../elements/element-store.js';
import type { Cell } from '../../table/block.js';
import type { OpenTable } from '../../table/blocks.js';
import type { TableColumn } from '../../table/columns.js';
import { filterColumns, parseFilter, type TableFilter } from '../../table/filter.js';
import { limitsOfTable, requestedRange, type TableQuery } from '../../table/tables.js';
import { notMatching, type WindowValues } from '../../table/values.js';
import { minStoredElements } from '../densities.js';
import { colorNumber, groupColor, hexColor, splitColor } from '../draw/colors.js';
import type { CellWindow } from '../draw/density/density-layer.js';
import { defaultGain } from '../draw/density/density-gain.js';
import { colorOfValue, noneColor, type DrawnSums, type ValueScale } from '../draw/density/draw-sums.js';
import { cropSums, ownColor, type SumsKind, type ValuedMarks } from '../draw/density/value-sums.js';
import { pointDiameter, type GroupColors, type GroupFilter, type GroupStyle } from '../draw/shape.js';
import { categoryColors, toGroupColors, paletteColors, type ColoringRequest } from './coloring-request.js';
import type { Colorings } from './colorings.js';
import { finestOverviewLevel, type Extent, type Overview } from './overviews.js';

/** The properties of the image and of the requested style that a coloring needs. */
export interface ColoringView extends GroupStyle {
  extent: Extent;
  /** Level of densities whose cells are as large as the pixels of the image's lowest resolution. */
  coarsestLevel: number;
  groups: GroupFilter;
}

/** The colors of a coloring and their meaning. */
export interface ColoringLegend {
  /** Number of elements that are shown. */
  count: number;
  /** Types of the columns of the coloring and of the filter. */
  columns: Record<string, TableColumn['type']>;
  /** Range and colors of numbers, or of a heat map. `null` if shapes are colored by categories or keep their own colors. */
  scale: { low: number; high: number; colors: string[]; none: string } | null;
  /** Categories with their colors and numbers of shown elements, the most frequent first. `null` if shapes are not colored by categories. */
  categories: { value: Cell; color: string; count: number }[] | null;
}

/** Difference between the level of a heat map's cells, which are 4 × 4 pixels large, and the level of pixels. */
const heatLevelOffset = 2;

/** Minimum range of a heat map, in shapes per million pixels. */
const minHeatRange = 1e-9;

/** The values of the elements of a window, see `WindowValues`. */
interface WindowColors {
  values: Float32Array;
  /** Colors of the categories of the window, as numbers. */
  colors: Int32Array;
}

/**
 * Colors the elements of an annotation by the values of a column, shows only elements that match a filter, or shows a heat map of the
 * elements.
 */
export class Coloring {
  readonly #filter: TableFilter | null;
  readonly #column: TableColumn | null;
  readonly #subtrahend: number = 0;
  /** Identifies the column with its type, the subtrahend and the filter. It is a hash, because the filter can be long. */
  readonly #hash: string;
  readonly #scale: ValueScale | null = null;
  readonly #colorsByCategory: Map<Cell, number>;
  readonly #elements: StoredElements;
  readonly #table: OpenTable;
  readonly #view: ColoringView;
  readonly #request: ColoringRequest;
  /** Values and colors of the windows that were prepared, by the index of the window. */
  readonly #colorsByWindow = new Map<number, WindowColors>();

  /** @throws BadParameterError */
  constructor(
    private readonly colorings: Colorings,
    options: { stored: StoredElements; table: OpenTable; request: ColoringRequest; view: ColoringView },
  ) {
    const { stored, table, request, view } = options;
    [this.#elements, this.#table, this.#request, this.#view] = [stored, table, request, view];
    const { colorBy, heat, filter, low, high } = request;
    const { columnsByName } = table;
    this.#filter = parseFilter(filter, columnsByName);
    if (heat === 'mean' && colorBy === undefined) throw new BadParameterError('heat=mean needs a numeric column in colorBy.');
    if (heat === 'number' && colorBy !== undefined) {
      throw new BadParameterError('heat=number shows the number of shapes, so it cannot be combined with colorBy.');
    }
    this.#column =
      colorBy === undefined
        ? null
        : heat === 'mean'
          ? columnsByName.findNumbers(colorBy)
          : requireColorable(columnsByName.find(colorBy));
    this.#colorsByCategory = categoryColors(request.colors);
    const colors = paletteColors(request.palette);
    if (heat === 'number') {
      if (low !== undefined && high !== undefined && low > high) {
        throw new BadParameterError(`The range of the heat map begins at ${low}, after its end at ${high}.`);
      }
      this.#scale = { subtrahend: 0, low: low ?? 0, high: high ?? NaN, colors };
    } else if (this.#column?.type === 'number') {
      this.#subtrahend = limitsOfTable(table, this.#column.source)?.low ?? 0;
      this.#scale = { subtrahend: this.#subtrahend, ...requestedRange(table, this.#column, { low, high }), colors };
    }
    const nameParts = JSON.stringify([this.#column, this.#subtrahend, this.#filter]);
    this.#hash = createHash('sha256').update(nameParts).digest('hex');
  }

  get kind(): SumsKind {
    return this.#request.heat !== undefined ? 'heat' : this.#scale === null ? 'colors' : 'values';
  }

  /**
   * The colors of groups if elements are colored by groups and not filtered, otherwise `null`. If it is not `null`, the stored densities of
   * the annotation can be drawn in these colors.
   */
  get groupColors(): GroupColors | null {
    if (this.#column?.name !== 'group' || this.#filter !== null || this.kind !== 'colors') return null;
    return toGroupColors(this.#colorsByCategory);
  }

  #tableQuery(signal: AbortSignal, filter = this.#filter): TableQuery {
    return { table: this.#table, filter, signal };
  }

  /** Checks the number of categories. @throws BadParameterError if the column has too many categories in the whole annotation. */
  async requireFewCategories(signal: AbortSignal): Promise<void> {
    if (this.#column !== null && this.#scale === null)
      await this.colorings.countCategories(this.#tableQuery(signal, null), this.#column);
  }

  /**
   * Loads everything that tiles of a level need. For the first tile, this can take seconds.
   *
   * @param windowIndices windows whose elements are drawn.
   */
  async prepare(level: number, windowIndices: Iterable<number>, signal: AbortSignal): Promise<void> {
    for (const windowIndex of windowIndices) {
      this.#colorsByWindow.set(windowIndex, await this.#loadWindow(windowIndex, signal));
    }
    if (this.#usesOverview(level)) await this.#loadOverview(signal);
    if (this.#scale !== null && Number.isNaN(this.#scale.high)) this.#scale.high = await this.#findHighestNumber(signal);
  }

  async #loadWindow(windowIndex: number, signal: AbortSignal): Promise<WindowColors> {
    const cached = this.#colorsByWindow.get(windowIndex);
    if (cached !== undefined) return cached;
    const request = { windowIndex, column: this.#column, subtrahend: this.#subtrahend, name: this.#hash };
    const values = await this.colorings.loadValues(this.#elements, this.#tableQuery(signal), request);
    return { values: values.values, colors: this.#colorsOf(values) };
  }

  /** Returns the colors of the texts of a window. */
  #colorsOf({ texts }: WindowValues): Int32Array {
    return Int32Array.from(texts, (text) => this.#colorOfCategory(text));
  }

  #colorOfCategory(value: Cell): number {
    const requestedColor = this.#colorsByCategory.get(value);
    if (requestedColor !== undefined) return requestedColor;
    return colorNumber(groupColor(value === null ? null : String(value)));
  }

  /**
   * Returns the color of an element as a number: `ownColor` if the element keeps its own color, `null` if it is not shown. Its window must
   * have been prepared.
   */
  colorAt(order: number): number | null {
    const windowIndex = Math.floor(order / windowPositions);
    const { values, colors } = this.#colorsByWindow.get(windowIndex)!;
    const value = values[order - windowIndex * windowPositions]!;
    if (value === notMatching) return null;
    return this.#colorOf(value, colors);
  }

  #colorOf(value: number, colors: Int32Array): number {
    if (this.#column === null) return ownColor;
    if (this.#scale !== null) return colorOfValue(this.#scale, value);
    return Number.isNaN(value) ? this.#colorOfCategory(null) : colors[value]!;
  }

  /**
   * Adds up the shapes that are too small to be drawn at the level of the window.
   *
   * @param options `shrink`: number of levels by which the returned cells are coarser than the window's cells.
   */
  async loadSums(window: CellWindow, signal: AbortSignal, { shrink = 0 } = {}): Promise<DrawnSums> {
    const { kind } = this;
    const { level } = window;
    const cells = coarserCells(window, Math.max(shrink, kind === 'heat' ? heatLevelOffset : 0));
    const drawOptions = { kind, scale: this.#scale, showsCount: this.#request.heat === 'number' };
    if (this.#usesOverview(level)) {
      const overview = await this.#loadOverview(signal);
      const grid = overview.grids.find((candidate) => candidate.level === level) ?? overview.grids.at(-1)!;
      const gain = defaultGain([{ box: this.#elements.box!, levelCrowdings: overview.levelCrowdings }], level);
      return { ...drawOptions, cells: cropSums(kind, grid, cells), gain };
    }
    const fineCells = finerCells(cells, level);
    const side = 2 ** level;
    const conditions: BoxCondition[] = [
      { field: 'highx', operator: '$gte', value: (fineCells.column - 1) * side - pointRadius },
      { field: 'lowx', operator: '$lt', value: (fineCells.column + fineCells.width + 1) * side + pointRadius },
      { field: 'highy', operator: '$gte', value: (fineCells.row - 1) * side - pointRadius },
      { field: 'lowy', operator: '$lt', value: (fineCells.row + fineCells.height + 1) * side + pointRadius },
    ];
    const packs = await this.#addValues(await this.colorings.loadMarks(this.#elements, { conditions, signal }), signal);
    const { mode, groupColors, groups } = this.#view;
    const input = { packs, kind, mode, groupColors, groups };
    const [sums, gain] = await Promise.all([
      this.colorings.options.drawer.countSums(input, { fine: fineCells, cells }, signal),
      this.colorings.options.densities.chooseGain(this.#elements, level, { signal }),
    ]);
    return { ...drawOptions, cells: sums, gain };
  }

  #usesOverview(level: number): boolean {
    return this.#elements.count >= minStoredElements && level >= finestOverviewLevel(this.#elements, this.#view.extent);
  }

  #loadOverview(signal: AbortSignal): Promise<Overview> {
    const { mode, groupColors, groups, extent } = this.#view;
    const { kind } = this;
    const colors = kind === 'colors' ? [...this.#colorsByCategory] : [];
    const visibleGroups = groups === undefined ? null : [...groups];
    const { content } = this.#elements;
    const key = JSON.stringify([content, extent, kind, mode, visibleGroups, this.#hash, colors]);
    const loadMarks = async (windowIndex: number, sharedSignal: AbortSignal) => {
      const storedWindow = this.#elements.windows[windowIndex]!;
      const { count, detailsCount, box } = storedWindow;
      const stored: StoredElements = { ...this.#elements, count, detailsCount, box, windows: [storedWindow] };
      const packs = await this.colorings.loadMarks(stored, { signal: sharedSignal });
      return this.#addValues(packs, sharedSignal, windowIndex);
    };
    return this.colorings.overviews.get(
      { key, stored: this.#elements, extent, kind, mode, groupColors, groups, loadMarks },
      signal,
    );
  }

  /** Adds values and colors to marks. @param onlyWindowIndex index of the window of all packs, if their summaries name another index. */
  async #addValues(packs: readonly PackMarks[], signal: AbortSignal, onlyWindowIndex?: number): Promise<ValuedMarks[]> {
    const valuedMarks: ValuedMarks[] = [];
    const windowColorsByIndex = new Map<number, WindowColors>();
    const isColored = this.#column !== null && this.kind === 'colors';
    for (const { summary, orders, boxes, appearances, appearanceIndices } of packs) {
      const windowIndex = onlyWindowIndex ?? summary.windowIndex;
      const windowColors = windowColorsByIndex.get(windowIndex) ?? (await this.#loadWindow(windowIndex, signal));
      windowColorsByIndex.set(windowIndex, windowColors);
      const firstOrder = summary.windowIndex * windowPositions;
      const values = Float32Array.from(orders, (order) => windowColors.values[order - firstOrder]!);
      const colors = isColored ? Int32Array.from(values, (value) => this.#colorOf(value, windowColors.colors)) : null;
      valuedMarks.push({ boxes, appearances, appearanceIndices, values, colors });
      if (isSliceOver()) await nextSlice(signal);
    }
    return valuedMarks;
  }

  /** Finds the largest number of shapes per million pixels in a heat map of the whole image. */
  async #findHighestNumber(signal: AbortSignal): Promise<number> {
    const { grids } = await this.#loadOverview(signal);
    const minLevel = this.#view.coarsestLevel + heatLevelOffset;
    const { level, sums } = grids.find((candidate) => candidate.level >= minLevel) ?? grids.at(-1)!;
    let maxCount = minHeatRange;
    for (let i = 0; i < sums.length; i += 4) maxCount = Math.max(maxCount, sums[i + 1]! + sums[i + 2]!);
    return Math.max((this.#scale?.low ?? 0) + minHeatRange, (maxCount / 4 ** level) * 1e6);
  }

  /** Makes a legend, which explains the colors. */
  async makeLegend(signal: AbortSignal): Promise<ColoringLegend> {
    // The level -1 has no overview and no windows are given, so this call only finds the upper end of the range of a heat map.
    await this.prepare(-1, [], signal);
    const { columnsByName } = this.#table;
    const usedColumns = [...(this.#column === null ? [] : [this.#column]), ...filterColumns(this.#filter, columnsByName)];
    const columns = Object.fromEntries(usedColumns.map(({ name, type }) => [name, type]));
    const scale = this.#scale && {
      low: this.#scale.low,
      high: this.#scale.high,
      colors: Array.from(this.#scale.colors, hexOfNumber),
      none: hexOfNumber(noneColor),
    };
    if (this.#column !== null && scale === null) {
      const counts = await this.colorings.countCategories(this.#tableQuery(signal), this.#column);
      const categories = Array.from(counts, ([value, count]) => ({
        value,
        color: hexOfNumber(this.#colorOfCategory(value)),
        count,
      }));
      return { count: categories.reduce((sum, { count }) => sum + count, 0), columns, scale, categories };
    }
    const summary = await this.colorings.options.tables.summarize(this.#tableQuery(signal), [], null);
    return { count: summary.reduce((sum, { count }) => sum + count, 0), columns, scale, categories: null };
  }
}

const pointRadius = pointDiameter / 2;

function hexOfNumber(color: number): string {
  return hexColor(splitColor(color));
}

function requireColorable(column: TableColumn): TableColumn {
  if (column.type !== 'id') return column;
  throw new BadParameterError(
    `The column ${JSON.stringify(column.name)} has a different value for each shape, so shapes cannot be colored by it.`,
  );
}

/** Returns the cells of a coarser level that contain a rectangle. @param shrink number of levels by which the cells are coarser. */
function coarserCells({ level, column, row, width, height }: CellWindow, shrink: number): CellWindow {
  const [left, top] = [column >> shrink, row >> shrink];
  return {
    level: level + shrink,
    column: left,
    row: top,
    width: ((column + width - 1) >> shrink) - left + 1,
    height: ((row + height - 1) >> shrink) - top + 1,
  };
}

/** Returns the same rectangle in cells of a finer level. */
function finerCells({ level, column, row, width, height }: CellWindow, finerLevel: number): CellWindow {
  const times = 2 ** (level - finerLevel);
  return { level: finerLevel, column: column * times, row: row * times, width: width * times, height: height * times };
}
