import { BadParameterError, InvalidError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import type { ItemRecord } from '../../../core/host/records.js';
import { plotSources, type PlotRequest, type PlotSource, type PlotData } from './plot-data.js';
import type { LatestOnly } from './latest-only.js';
import type { Items } from '../../items/items.js';
import { Reply } from '../../../http/reply.js';
import { withFirstChunk } from '../streams.js';
import type { PlotRows } from './table.js';
import { Readable } from 'node:stream';
import { routeDefiner } from '../../../http/route.js';
import { scopes } from '../../../http/scopes.js';
import { isId, json, required, text, type Parameter, type ParameterValues } from '../../../http/parameters.js';
import { itemPath } from '../parameters.js';

/** The context of the plot routes. */
interface PlotContext {
  items: Items;
  plotData: PlotData;
  /** Running requests by client and `uuid`. A newer request aborts the previous request. */
  latest: LatestOnly;
}

const defineRoute = routeDefiner<PlotContext>();

/** The words that a request can use for each choice. */
const adjacentWords: Readonly<Record<PlotRequest['adjacent'], readonly string[]>> = {
  none: ['false', 'off', '0', 'no', ''],
  images: ['true', 'on', '1', 'yes'],
  all: ['__all__'],
};

const adjacentItems: Parameter<PlotRequest['adjacent']> = {
  schema: {
    type: 'string',
    enum: ['false', 'true', '__all__'],
    default: 'false',
    description: 'true: also large images of the same folder; __all__: also its other items.',
  },
  required: false,
  defaultValue: 'none',
  parse(value, name) {
    const word = value.trim().toLowerCase();
    const adjacent = (['none', 'images', 'all'] as const).find((choice) => adjacentWords[choice].includes(word));
    if (adjacent !== undefined) return adjacent;
    throw new BadParameterError(`Invalid value for ${name}: "${value}". Allowed values: false, true, __all__.`);
  },
};

const selectionParameters = {
  adjacentItems,
  annotations: json({
    kind: 'array',
    description: 'Ids of annotations of the item, or ["__all__"]. Adjacent items contribute annotations of the same names.',
  }),
  sources: text({ description: `Where values come from, separated by commas: ${plotSources.join(', ')}. Default: all.` }),
  uuid: text({
    description: "Name of the client's view: a newer request with the same name cancels this one, which then answers null.",
  }),
};

/** The schema of a column in responses. */
const columnSchema = {
  type: 'object',
  required: ['key', 'title', 'type', 'count'],
  properties: {
    key: { type: 'string' },
    title: { type: 'string' },
    type: { type: 'string', enum: ['number', 'string'] },
    count: { type: 'integer' },
    distinct: { type: 'array', items: {}, description: 'The distinct values, if there are at most 20.' },
    distinctcount: { type: 'integer' },
    min: { type: 'number' },
    max: { type: 'number' },
    index: { type: 'integer', description: 'Index in each row.' },
  },
} as const;

function toPlotRequest(item: ItemRecord, query: ParameterValues<typeof selectionParameters>): PlotRequest {
  return {
    item,
    adjacent: query.adjacentItems,
    annotations: parseAnnotations(query.annotations),
    sources: parseSources(query.sources),
  };
}

function parseAnnotations(ids: readonly unknown[] | undefined): PlotRequest['annotations'] {
  if (ids === undefined) return [];
  if (ids.includes('__all__')) return 'all';
  return ids.map((id) => {
    if (typeof id !== 'string' || !isId(id)) throw new InvalidError(`Invalid ObjectId: ${String(id).slice(0, 100)}`, 'id');
    return id.toLowerCase();
  });
}

function parseSources(list: string | undefined): ReadonlySet<PlotSource> {
  const names = splitList(list);
  if (names.length === 0) return new Set(plotSources);
  return new Set(
    names.map((name) => {
      const source = plotSources.find((known) => known === name);
      if (source !== undefined) return source;
      throw new BadParameterError(`Invalid value for sources: "${name}". Allowed values: ${plotSources.join(', ')}.`);
    }),
  );
}

function splitList(list: string | undefined): string[] {
  const entries = (list ?? '').split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '');
}

/** Answers with the result of `work`, or with `null` if a newer request of the client has aborted it. */
async function runUnlessSuperseded<T>(
  { latest }: PlotContext,
  requestContext: { uuid: string | undefined; caller: Caller | null; signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T | null> {
  const { uuid, caller, signal } = requestContext;
  if (uuid === undefined || uuid === '') return work(signal);
  const request = latest.begin(`${caller?.id ?? ''} ${uuid}`);
  try {
    return await work(AbortSignal.any([signal, request.signal]));
  } catch (error) {
    if (request.signal.aborted && !signal.aborted) return null;
    throw error;
  } finally {
    request.end();
  }
}

/** Minimum length of the parts in which a response is sent, in characters. */
const partLength = 64 * 1024;

/** Answers with rows. The response is streamed, because it may be long. */
async function replyRows({ columns, data }: PlotRows): Promise<Reply> {
  const chunks = await withFirstChunk(rowsText({ columns, data }));
  return Reply.stream(Readable.from(chunks), 'application/json');
}

async function* rowsText({ columns, data }: PlotRows): AsyncGenerator<string> {
  let pendingText = `{"columns":${JSON.stringify(columns)},"data":[`;
  let separator = '';
  for await (const row of data) {
    pendingText += separator + JSON.stringify(row);
    separator = ',';
    if (pendingText.length < partLength) continue;
    yield pendingText;
    pendingText = '';
  }
  yield `${pendingText}]}`;
}

const errors = ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'] as const;

const list = defineRoute({
  method: 'post',
  path: '/annotation/item/:id/plot/list',
  summary: 'List the plottable columns of an item and of its annotations that you can read.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: itemPath,
  query: selectionParameters,
  returns: { schema: { type: ['array', 'null'], items: columnSchema } },
  errors,
  async handle({ params, query, caller, signal }, services) {
    const item = await services.items.load(params.id, 0, caller);
    const request = toPlotRequest(item, query);
    return runUnlessSuperseded(services, { uuid: query.uuid, caller, signal }, (workSignal) =>
      services.plotData.listColumns(request, { caller, signal: workSignal }),
    );
  },
});

const data = defineRoute({
  method: 'post',
  path: '/annotation/item/:id/plot/data',
  summary: 'Get the values of some columns.',
  description:
    'Each row describes an item, an annotation, an element, or an entry of a list; values of the item or annotation are repeated in each of its rows. `compute` is accepted, but no columns are computed.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: itemPath,
  query: {
    ...selectionParameters,
    keys: required(text({ description: 'Keys of the columns, separated by commas.' })),
    requiredKeys: text({
      description: 'Keys of columns, separated by commas: rows without a value in one of them are omitted.',
    }),
    compute: json({ kind: 'object', description: 'Not used.' }),
  },
  returns: {
    schema: {
      type: ['object', 'null'],
      required: ['columns', 'data'],
      properties: {
        columns: { type: 'array', items: columnSchema },
        data: { type: 'array', items: { type: 'array', items: { type: ['string', 'number', 'boolean', 'null'] } } },
      },
    },
  },
  errors,
  async handle({ params, query, caller, signal }, services) {
    const item = await services.items.load(params.id, 0, caller);
    const request = toPlotRequest(item, query);
    // Computed columns do not exist, so none can be required.
    const requiredKeys = splitList(query.requiredKeys).filter((key) => !key.startsWith('compute.'));
    const columns = { keys: splitList(query.keys), requiredKeys };
    return runUnlessSuperseded(services, { uuid: query.uuid, caller, signal }, (workSignal) =>
      services.plotData.readRows(request, columns, { caller, signal: workSignal }).then(replyRows),
    );
  },
});

/** Routes for plots of an item and its annotations. */
export const annotationPlotRoutes = [list, data];
