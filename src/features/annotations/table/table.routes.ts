import type { IncomingMessage } from 'node:http';
import { callerName } from '../../../core/concurrency/queues.js';
import { BadParameterError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import { answerConditional } from '../../../http/conditional.js';
import { integer, json, number, required, sortDirection, text } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { routeDefiner } from '../../../http/route.js';
import { objectOf, anyInteger } from '../../../http/schemas.js';
import { scopes } from '../../../http/scopes.js';
import { loadToRead } from '../access/authorize.js';
import type { AnnotationContext } from '../context.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import { annotationPath } from '../parameters.js';
import { enqueueInParts } from '../streams.js';
import { annotationHeaders, annotationTag, privateHeaders } from '../views.js';
import type { OpenTable, TableBlocks } from './blocks.js';
import type { ColumnsByName, TableColumn } from './columns.js';
import { parseFilter } from './filter.js';
import { filterSchema, histogramSchema, idsSchema, rowsSchema, summarySchema, tableSchema } from './schemas.js';
import type { TableFiles } from './files.js';
import type { Axis } from './statistics.js';
import { requestedRange, type TableQuery, type Tables } from './tables.js';

/** The context of the routes of tables. */
export interface TableContext extends Pick<AnnotationContext, 'annotations' | 'items'> {
  blocks: TableBlocks;
  tables: Tables;
  files: TableFiles;
}

const defineRoute = routeDefiner<TableContext>();

const filter = json({
  kind: 'object',
  description:
    'Elements to include, as a condition: {"column", "gte", "lte", "in", "null"}, {"region": [left, top, right, bottom] or points}, {"and": […]}, {"or": […]} or {"not": …}. Default: all.',
});

const columnsParameter = json({ kind: 'array', description: 'Names of columns, as a JSON list. Default: all.' });

const errors = [
  'bad-parameter',
  'bad-value',
  'invalid',
  'unknown-id',
  'access-denied',
  'precondition-failed',
  'not-implemented',
  'unavailable',
  'busy',
] as const;

const readRouteOptions = {
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: annotationPath,
  errors,
  authorize: loadToRead,
} as const;

/** Maximum number of cells in one response. Clients that need more cells request several pages, or a file. */
const maxCells = 100_000;
const maxRows = 10_000;
/** Maximum number of bins in a response without categories. */
const maxBins = 65_536;
/** Maximum number of bins of each category in a response with categories. */
const maxBinsOfCategory = 1024;
/** Maximum number of ids in one response. */
const maxIds = 1_000_000;
/** Maximum number of columns that are summed up if the request names none. */
const maxDefaultColumns = 50;

interface TableRouteInput {
  authorized: AnnotationRecord;
  sent: Readonly<Record<string, string>>;
  caller: Caller | null;
  headers: IncomingMessage['headers'];
  signal: AbortSignal;
}

/** Opens the table of an annotation and answers with the object that `make` returns. Answers with 304 if the client already has the response. */
async function answerFromTable(
  route: string,
  { authorized: annotation, sent: sentParameters, caller, headers, signal }: TableRouteInput,
  { annotations, blocks }: TableContext,
  make: (table: OpenTable) => Promise<object>,
): Promise<Reply> {
  const level = await annotations.permissions.findShownLevel(annotation, caller);
  const tag = annotationTag(annotation, level, { route, sentParameters });
  const replyHeaders = annotationHeaders(tag);
  const unchanged = answerConditional(headers, tag, replyHeaders);
  if (unchanged !== null) return unchanged;
  const work = async () => make(await blocks.open(annotation.elements, signal));
  const value = await annotations.readQueue.run(work, { signal, caller: callerName(caller) });
  return Reply.json({ _version: annotation.version, ...value }, { headers: replyHeaders });
}

function toTableQuery(table: OpenTable, condition: unknown, signal: AbortSignal): TableQuery {
  return { table, filter: parseFilter(condition, table.columnsByName), signal };
}

function findColumns(columnsByName: ColumnsByName, requestedNames: readonly unknown[] | undefined): TableColumn[] {
  return requestedNames === undefined ? [...columnsByName.columns] : columnsByName.findAll(requestedNames);
}

const describe = defineRoute({
  ...readRouteOptions,
  method: 'get',
  path: '/annotation/:id/table',
  forLinks: true,
  summary: 'Describe the table of the elements of an annotation: its columns with their types, ranges, quantiles and categories.',
  returns: { schema: tableSchema },
  handle: (input, context) =>
    answerFromTable('table', input, context, async (table) => {
      const columns = await context.tables.describe({ table, signal: input.signal });
      return { rows: input.authorized.elements.count, isCut: table.isCut, columns };
    }),
});

const rows = defineRoute({
  ...readRouteOptions,
  method: 'get',
  path: '/annotation/:id/table/rows',
  forLinks: true,
  summary: 'Get rows of the table of an annotation: one page, filtered and sorted by a column.',
  query: {
    filter,
    columns: columnsParameter,
    sort: text({ description: 'Column to order by; elements without a value come last. Default: `order`.' }),
    sortdir: sortDirection(),
    limit: integer({ minimum: 0, maximum: maxRows, description: 'Maximum number of rows. Default: 100.' }),
    offset: integer({ minimum: 0, description: 'Number of rows to skip. Default: 0.' }),
  },
  returns: { schema: rowsSchema },
  handle: (input, context) =>
    answerFromTable('table/rows', input, context, async (table) => {
      const { query, signal } = input;
      const { limit = 100, offset = 0, sort = 'order', sortdir = 1 } = query;
      const columns = findColumns(table.columnsByName, query.columns);
      if (columns.length * limit > maxCells) {
        throw new BadParameterError(
          `${limit} rows of ${columns.length} columns are more than ${maxCells} values. Request fewer columns, or lower the limit.`,
        );
      }
      const page = { columns, by: table.columnsByName.find(sort), descending: sortdir === -1, offset, limit };
      const result = await context.tables.rows(toTableQuery(table, query.filter, signal), page);
      return { total: result.total, offset, columns: columns.map(({ name }) => name), rows: result.rows };
    }),
});

const binCountRange = { minimum: 1, maximum: maxBins };

const histogram = defineRoute({
  ...readRouteOptions,
  method: 'get',
  path: '/annotation/:id/table/histogram',
  forLinks: true,
  summary: 'Count the elements of an annotation in bins of one or two columns, by category.',
  query: {
    filter,
    x: required(text({ description: 'Numeric column.' })),
    y: text({ description: 'A second numeric column.' }),
    bins: integer({ ...binCountRange, description: 'Number of bins of x. Default: 50.' }),
    ybins: integer({ ...binCountRange, description: 'Number of bins of y. Default: as many as of x.' }),
    low: number({ description: 'Lower end of the first bin of x. Default: the smallest value of all elements.' }),
    high: number({ description: 'Upper end of the last bin of x, inclusive. Default: the largest value.' }),
    ylow: number({ description: 'Lower end of the first bin of y.' }),
    yhigh: number({ description: 'Upper end of the last bin of y, inclusive.' }),
    by: text({ description: 'Column by whose values elements are counted separately, such as `group`.' }),
  },
  returns: { schema: histogramSchema },
  handle: (input, context) =>
    answerFromTable('table/histogram', input, context, async (table) => {
      const { query, signal } = input;
      const { bins = 50, ybins = bins } = query;
      const x = axisOf(table, query.x, { bins, low: query.low, high: query.high });
      const y = query.y === undefined ? null : axisOf(table, query.y, { bins: ybins, low: query.ylow, high: query.yhigh });
      const by = query.by === undefined ? null : table.columnsByName.findCategories(query.by);
      const binCount = bins * (y === null ? 1 : ybins);
      const maxBinCount = by === null ? maxBins : maxBinsOfCategory;
      if (binCount > maxBinCount)
        throw new BadParameterError(
          `${binCount} bins are too many; a response can have at most ${maxBinCount}${by === null ? '' : ' with `by`'}.`,
        );
      const axes = y === null ? [x] : [x, y];
      const categories = await context.tables.histogram(toTableQuery(table, query.filter, signal), axes, by);
      const categoryViews = categories.map(({ counts, ...category }) => ({ ...category, counts: [...counts] }));
      return { x: axisView(x), y: y === null ? null : axisView(y), by: by?.name ?? null, categories: categoryViews };
    }),
});

function axisView({ column, low, high, bins }: Axis): object {
  return { column: column.name, low, high, bins };
}

function axisOf(
  table: OpenTable,
  name: string,
  { bins, ...requestedLimits }: { bins: number; low: number | undefined; high: number | undefined },
): Axis {
  const column = table.columnsByName.findNumbers(name);
  const { low, high } = requestedRange(table, column, requestedLimits);
  return { column, low, high, bins };
}

const summaryRoute = defineRoute({
  ...readRouteOptions,
  method: 'get',
  path: '/annotation/:id/table/summary',
  forLinks: true,
  summary: 'Get counts, means and standard deviations of columns of an annotation, by category.',
  query: {
    filter,
    columns: json({
      kind: 'array',
      description: `Numeric columns, as a JSON list. Default: area, length and measurements, the first ${maxDefaultColumns}.`,
    }),
    by: text({ description: 'Column by whose values elements are summarized separately, such as `group`.' }),
  },
  returns: { schema: summarySchema },
  handle: (input, context) =>
    answerFromTable('table/summary', input, context, async (table) => {
      const { query, signal } = input;
      const columns = columnsToSummarize(table.columnsByName, query.columns);
      const by = query.by === undefined ? null : table.columnsByName.findCategories(query.by);
      const categories = await context.tables.summarize(toTableQuery(table, query.filter, signal), columns, by);
      return { by: by?.name ?? null, categories };
    }),
});

function columnsToSummarize(columnsByName: ColumnsByName, requestedNames: readonly unknown[] | undefined): TableColumn[] {
  if (requestedNames !== undefined)
    return columnsByName.findAll(requestedNames).map(({ name }) => columnsByName.findNumbers(name));
  const defaultColumns = columnsByName.columns.filter(({ name, type }) => {
    return type === 'number' && (name === 'area' || name === 'length' || name.startsWith('/'));
  });
  return defaultColumns.slice(0, maxDefaultColumns);
}

const ids = defineRoute({
  method: 'post',
  path: '/annotation/:id/table/ids',
  forLinks: true,
  summary: 'Get the ids of the elements of an annotation that match a filter.',
  description: `This only reads. The body is {filter, limit}: a filter, and the maximum number of ids to return, up to ${maxIds}.`,
  access: 'public',
  scope: scopes.read,
  params: annotationPath,
  body: 'json-object',
  accepts: objectOf({}, { filter: filterSchema, limit: anyInteger }),
  returns: { schema: idsSchema },
  errors,
  authorize: loadToRead,
  async handle({ authorized: annotation, body, caller, signal }, { annotations, blocks, tables }) {
    const { filter: condition, limit = maxIds } = body;
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 0 || limit > maxIds) {
      throw new BadParameterError(`limit must be a whole number from 0 to ${maxIds}.`);
    }
    const work = async () => {
      const table = await blocks.open(annotation.elements, signal);
      return tables.ids(toTableQuery(table, condition, signal), limit);
    };
    const { count, texts } = await annotations.readQueue.run(work, { signal, caller: callerName(caller) });
    const pieces = (function* () {
      yield Buffer.from(`{"_version":${annotation.version},"count":${count},"ids":[`);
      for (const [i, piece] of texts.entries()) {
        if (i > 0) yield Buffer.from(',');
        yield piece;
      }
      yield Buffer.from(']}');
    })();
    return Reply.stream(pieces, 'application/json', { headers: privateHeaders });
  },
});

/** A file format of tables: its extension, media type and writer. */
interface FileFormat {
  extension: 'csv' | 'arrow' | 'parquet';
  type: string;
  summary: string;
  description: string;
  write: (
    query: TableQuery,
    columns: TableColumn[],
    source: { context: TableContext; annotation: AnnotationRecord },
  ) => AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>;
}

const orderDescription = 'Rows come in no particular order; the column `order` contains the order of the elements.';

const formats: FileFormat[] = [
  {
    extension: 'csv',
    type: 'text/csv; charset=utf-8',
    summary: 'Get the table of an annotation, or the rows that match a filter, as comma-separated values.',
    description: orderDescription,
    write: (tableQuery, columns, { context }) => context.files.csv(tableQuery, columns),
  },
  {
    extension: 'arrow',
    type: 'application/vnd.apache.arrow.stream',
    summary: 'Get the table of an annotation, or the rows that match a filter, as an uncompressed Arrow stream.',
    description: orderDescription,
    write: (tableQuery, columns, { context }) => context.files.arrow(tableQuery, columns),
  },
  {
    extension: 'parquet',
    type: 'application/vnd.apache.parquet',
    summary: 'Get the table of an annotation, or the rows that match a filter, with their shapes as GeoParquet 1.1.',
    description: `${orderDescription} Each row group contains elements that are close to each other, and \`bbox\` is the box of each element.`,
    write: async (tableQuery, columns, { context, annotation }) => {
      const windows = await context.annotations.store.listPacks(annotation.elements, { signal: tableQuery.signal });
      return context.files.parquet(tableQuery, columns, windows);
    },
  },
];

/** Makes the route for files of a format. */
function fileRoute({ extension, type, summary, description, write }: FileFormat) {
  return defineRoute({
    ...readRouteOptions,
    method: 'get',
    path: `/annotation/:id/table.${extension}`,
    summary,
    description,
    query: { filter, columns: columnsParameter },
    returns: { types: [type.split(';')[0]!] },
    async handle({ authorized: annotation, query, sent: sentParameters, caller, headers, signal }, context) {
      const { annotations, blocks } = context;
      const level = await annotations.permissions.findShownLevel(annotation, caller);
      const tag = annotationTag(annotation, level, { route: `table.${extension}`, sentParameters });
      const replyHeaders = { ...annotationHeaders(tag), ...attachmentHeader(annotation, extension) };
      const unchanged = answerConditional(headers, tag, replyHeaders);
      if (unchanged !== null) return unchanged;
      const open = async () => {
        const table = await blocks.open(annotation.elements, signal);
        const tableQuery = toTableQuery(table, query.filter, signal);
        return write(tableQuery, findColumns(table.columnsByName, query.columns), { context, annotation });
      };
      const chunks = await enqueueInParts(open, { queue: annotations.readQueue, caller }, signal);
      return Reply.stream(chunks, type, { headers: replyHeaders });
    },
  });
}

/** Makes the header that lets browsers save the response as a file named after the annotation. */
function attachmentHeader({ id }: AnnotationRecord, extension: string): Record<string, string> {
  return { 'Content-Disposition': `attachment; filename="annotation-${id}.${extension}"` };
}

/** The routes of tables. */
export const annotationTableRoutes = [describe, rows, histogram, summaryRoute, ids, ...formats.map(fileRoute)];
