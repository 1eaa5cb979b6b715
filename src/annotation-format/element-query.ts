import { BadParameterError } from '../errors.js';
import type { BoundingBox } from './bounding-box.js';

/** A number field of a bounding box. */
type BoxField = keyof BoundingBox;

/** A condition on a bounding box: `$gte` for lower limits, `$lt` for upper limits. */
export interface BoxCondition {
  field: BoxField;
  operator: '$gte' | '$lt';
  value: number;
}

/** Selects and orders elements of an annotation. */
export interface ElementQuery {
  /** Conditions from region and size parameters. All of them must be met. */
  conditions: readonly BoxCondition[];
  /** Stored field, such as `_id`, `bbox.size` or `element.type`, and direction. */
  sort: readonly [field: string, direction: 1 | -1];
  /** Number of matching elements to skip. */
  offset: number;
  /** 0 means no limit. */
  limit: number;
  /** 0 means no limit. */
  maxDetails: number;
  /** Number of elements that are sent regardless of `maxDetails`. */
  minElements: number;
  asCentroids: boolean;
  /** Whether each element gets its `_bbox`; always false with `asCentroids`. */
  includesBoxes: boolean;
  /** Whether the response contains the position of each element among all elements of its version. */
  includesOrders: boolean;
}

/** Maximum `limit` of a query that returns `orders`, because these are kept in memory until the end of the response. */
const maxLimitWithOrders = 100_000;

/**
 * Region and size parameters, each with the box field it is compared with. A parameter with `$gte` is ignored if its value is 0 or less.
 */
const boxParameters = {
  left: { field: 'highx', operator: '$gte' },
  right: { field: 'lowx', operator: '$lt' },
  top: { field: 'highy', operator: '$gte' },
  bottom: { field: 'lowy', operator: '$lt' },
  low: { field: 'highz', operator: '$gte' },
  high: { field: 'lowz', operator: '$lt' },
  minimumSize: { field: 'size', operator: '$gte' },
} as const satisfies Record<string, { field: BoxField; operator: '$gte' | '$lt' }>;

const sortFields: ReadonlyMap<string, BoxField> = new Map<string, BoxField>([
  ...Object.entries(boxParameters).map(([name, { field }]): [string, BoxField] => [name, field]),
  ['size', 'size'],
  ['details', 'details'],
]);

type RequestParameters = Readonly<Record<string, string | undefined>>;

function parseNumber(parameters: RequestParameters, name: string): number | null {
  const text = parameters[name];
  if (text === undefined || text.trim() === '') return null;
  const value = /^\s*[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*$/.test(text) ? Number(text) : NaN;
  if (!Number.isFinite(value)) throw new BadParameterError(`Invalid value for numeric parameter ${name}: ${text}.`);
  return value;
}

function parseCount(parameters: RequestParameters, name: string): number {
  const text = parameters[name];
  if (text === undefined || text.trim() === '') return 0;
  const value = /^\s*[-+]?\d+\s*$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw new BadParameterError(`Invalid value for integer parameter ${name}: ${text}.`);
  if (value < 0) throw new BadParameterError(`Invalid value for parameter ${name}: ${text}. Allowed values: 0 or more.`);
  return value;
}

function parseFlag(parameters: RequestParameters, name: string): boolean {
  return ['true', 'on', '1', 'yes'].includes((parameters[name] ?? '').trim().toLowerCase());
}

function parseDirection(parameters: RequestParameters): 1 | -1 {
  const text = (parameters.sortdir ?? '').trim();
  if (text === '' || text === '1') return 1;
  if (text === '-1') return -1;
  throw new BadParameterError(`Invalid value for sortdir: "${parameters.sortdir}". Allowed values: 1, -1.`);
}

/** A dotted path of plain names, as every stored field has. */
const storedFieldPattern = /^[A-Za-z_]\w*(\.\w+){0,8}$/;

function parseSort(parameters: RequestParameters): ElementQuery['sort'] {
  const direction = parseDirection(parameters);
  const name = (parameters.sort ?? '').trim();
  if (name === '') return ['_id', direction];
  const boxField = sortFields.get(name);
  if (boxField !== undefined) return [`bbox.${boxField}`, direction];
  if (storedFieldPattern.test(name)) return [name, direction];
  throw new BadParameterError(
    `Invalid value for sort: "${name}". Allowed values: ${[...sortFields.keys()].join(', ')}, _id, or a field.`,
  );
}

/**
 * Parses the parameters of a request for elements.
 *
 * @param parameters parameters by name, as text. Empty texts count as missing.
 * @throws BadParameterError that names the parameter if a number is not finite or a count is negative.
 */
export function parseElementQuery(parameters: RequestParameters): ElementQuery {
  const conditions: BoxCondition[] = [];
  for (const [name, { field, operator }] of Object.entries(boxParameters)) {
    const value = parseNumber(parameters, name);
    if (value !== null && (operator === '$lt' || value > 0)) conditions.push({ field, operator, value });
  }
  const asCentroids = parseFlag(parameters, 'centroids');
  const sort = parseSort(parameters);
  const limit = parseCount(parameters, 'limit');
  return {
    conditions,
    sort,
    offset: parseCount(parameters, 'offset'),
    limit,
    maxDetails: parseCount(parameters, 'maxDetails'),
    minElements: parseCount(parameters, 'minElements'),
    asCentroids,
    includesBoxes: parseFlag(parameters, 'bbox') && !asCentroids,
    includesOrders:
      parseFlag(parameters, 'orders') && !asCentroids && sort[0] === '_id' && limit > 0 && limit <= maxLimitWithOrders,
  };
}

/** Whether a box satisfies all conditions. */
export function matchesConditions(box: BoundingBox, conditions: readonly BoxCondition[]): boolean {
  for (const { field, operator, value } of conditions) {
    if (operator === '$gte' ? !(box[field] >= value) : !(box[field] < value)) return false;
  }
  return true;
}

/** Whether one of the elements in a box may satisfy all conditions. @param union the box around all of these elements. */
export function mayMatchWithin(union: BoundingBox, conditions: readonly BoxCondition[]): boolean {
  // `$gte` compares upper bounds and sizes, which are largest in the union. `$lt` compares lower bounds, which are smallest in the union.
  return matchesConditions(union, conditions);
}

/** The conditions as a database query, which the API sends as `_elementQuery.filter`. */
export function filterEcho(query: ElementQuery, annotationId: string, version: number): Record<string, unknown> {
  const filter: Record<string, unknown> = { annotationId, _version: version };
  for (const { field, operator, value } of query.conditions) filter[`bbox.${field}`] = { [operator]: value };
  return filter;
}

/**
 * Maximum number of elements that can be sent. This is `limit`, or, if `maxDetails` is set, the smaller of `limit` and
 * `max(maxDetails, minElements)`. `Infinity` means no limit.
 */
export function maxElements({ limit, maxDetails, minElements }: ElementQuery): number {
  const maxByDetails = maxDetails > 0 ? Math.max(maxDetails, minElements) : Infinity;
  return Math.min(limit > 0 ? limit : Infinity, maxByDetails);
}

/** Counts the elements that were sent and decides when to stop. */
export class ElementBudget {
  /** Number of elements sent. */
  sentCount = 0;
  /** Sum of the details of the elements sent; each centroid counts 1. */
  sentDetails = 0;
  readonly #maxElements: number;

  constructor(private readonly query: ElementQuery) {
    this.#maxElements = maxElements(query);
  }

  /** Whether anything limits the number of elements. */
  get isLimited(): boolean {
    return this.#maxElements < Infinity;
  }

  /** Whether another element can be sent. */
  get allowsMore(): boolean {
    if (this.sentCount >= this.#maxElements) return false;
    const { maxDetails, minElements } = this.query;
    return maxDetails === 0 || this.sentDetails < maxDetails || this.sentCount < minElements;
  }

  /** Counts elements that were sent. */
  countSent(details: number, count = 1): void {
    this.sentCount += count;
    this.sentDetails += this.query.asCentroids ? count : details;
  }
}

/** The parts of a response that {@link elementQueryEcho} reports. */
export interface ElementResponse {
  annotationId: string;
  version: number;
  /** Number of elements of this version. */
  total: number;
  budget: ElementBudget;
  /** Box around the elements sent; `null` if there are none. */
  box?: BoundingBox | null;
  /** Positions of the sent elements among all elements of the version, if the query requests them. */
  orders?: readonly number[];
}

/** `_elementQuery` of a response, without the `props` and `propskeys` of centroids. */
export function elementQueryEcho(query: ElementQuery, response: ElementResponse): Record<string, unknown> {
  const { sentCount: returned, sentDetails: details } = response.budget;
  const { offset, sort, limit, maxDetails, minElements } = query;
  const echo: Record<string, unknown> = {
    returned,
    details,
    offset,
    sort,
    filter: filterEcho(query, response.annotationId, response.version),
  };
  if (query.conditions.length === 0) echo.count = response.total;
  if (limit > 0) echo.limit = limit;
  if (maxDetails > 0) echo.maxDetails = maxDetails;
  if (minElements > 0) echo.minElements = minElements;
  if (query.asCentroids) echo.centroids = true;
  if (query.includesBoxes && response.box) {
    const { lowx, lowy, lowz, highx, highy, highz } = response.box;
    echo.bbox = { lowx, lowy, lowz, highx, highy, highz };
  }
  if (query.includesOrders) echo.orders = response.orders;
  return echo;
}
