import type { PlotField, PlotValue } from './fields.js';

/** The description of a column for clients. */
export interface PlotColumn {
  key: string;
  title: string;
  type: 'number' | 'string';
  /** Number of values in the column. */
  count: number;
  /** The distinct values, sorted. Present only if there are few. */
  distinct?: PlotValue[];
  distinctcount?: number;
  /** Range of a numeric column. */
  min?: number;
  max?: number;
}

/** Titles of the columns with fixed keys. All other columns come from dictionaries: metadata, attributes and `user`. */
export const commonColumns = {
  'item.id': 'Item ID',
  'item.name': 'Item Name',
  'item.description': 'Item Description',
  'annotation.id': 'Annotation ID',
  'annotation.name': 'Annotation Name',
  'annotation.description': 'Annotation Description',
  'annotationelement.id': 'Annotation Element ID',
  'annotationelement.group': 'Annotation Element Group',
  'annotationelement.label': 'Annotation Element Label',
  'annotationelement.type': 'Annotation Element Type',
  'bbox.x0': 'Bounding Box Low X',
  'bbox.y0': 'Bounding Box Low Y',
  'bbox.x1': 'Bounding Box High X',
  'bbox.y1': 'Bounding Box High Y',
} as const;

/** Key of a {@link commonColumns common column}. */
export type CommonKey = keyof typeof commonColumns;

/** Names in dictionaries and files that stand for common columns. */
const aliases: readonly [pattern: RegExp, key: CommonKey][] = [
  [/^(item|image)_id$/, 'item.id'],
  [/^(item|image)_name$/, 'item.name'],
  ...(['x', 'y'] as const).flatMap((axis): [RegExp, CommonKey][] => [
    [new RegExp(`^(low${axis}|min${axis}|low_${axis}|min_${axis}|${axis}1)$`), `bbox.${axis}0`],
    [new RegExp(`^(high${axis}|max${axis}|high_${axis}|max_${axis}|${axis}2)$`), `bbox.${axis}1`],
  ]),
];

/** Finds the common column whose values a field contains, by the last name in the field's path. Returns `null` if there is none. */
export function aliasOf({ path }: PlotField): CommonKey | null {
  const name = (path.at(-1) ?? '').toLowerCase();
  return aliases.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

/** If a column has more distinct values than this, they are not listed. */
const maxDistinct = 20;

/** Collects the description of a column while its values are read. */
export class ColumnStatistics {
  #count = 0;
  #hasOnlyNumbers = true;
  #min = Infinity;
  #max = -Infinity;
  readonly #distinctValues = new Set<PlotValue>();

  constructor(
    readonly key: string,
    readonly title: string,
  ) {}

  add(value: PlotValue): void {
    this.#count += 1;
    if (this.#distinctValues.size <= maxDistinct) this.#distinctValues.add(value);
    if (typeof value !== 'number') this.#hasOnlyNumbers = false;
    else {
      this.#min = Math.min(this.#min, value);
      this.#max = Math.max(this.#max, value);
    }
  }

  get column(): PlotColumn {
    const { key, title } = this;
    const listsDistinct = this.#distinctValues.size <= maxDistinct;
    return {
      key,
      title,
      type: this.#hasOnlyNumbers ? 'number' : 'string',
      count: this.#count,
      ...(listsDistinct && { distinct: [...this.#distinctValues].sort(compareValues), distinctcount: this.#distinctValues.size }),
      ...(this.#hasOnlyNumbers && { min: this.#min, max: this.#max }),
    };
  }
}

function compareValues(a: PlotValue, b: PlotValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return compareText(String(a), String(b));
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const sourcePrefixes = ['item', 'annotation', 'annotationelement', 'data', 'bbox'];

/** Compares columns by their source. In a source, columns with several values come first, and then the title decides. */
export function compareColumns(a: PlotColumn, b: PlotColumn): number {
  const rankOf = ({ key }: PlotColumn) => sourcePrefixes.indexOf(key.slice(0, key.indexOf('.')));
  const singleRank = ({ count }: PlotColumn) => (count > 1 ? 0 : 1);
  return rankOf(a) - rankOf(b) || singleRank(a) - singleRank(b) || compareText(a.title, b.title) || compareText(a.key, b.key);
}
