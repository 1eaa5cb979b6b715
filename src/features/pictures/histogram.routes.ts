import { enqueueFor } from '../../core/concurrency/queues.js';
import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { batches } from '../../core/database/id-batches.js';
import { BadParameterError } from '../../errors.js';
import type { ItemRecord } from '../../core/host/records.js';
import { histogramName, obtainHistogram, specFromParameters, type CachedFileSpec } from '../cached-files/cached-pictures.js';
import type { Caller } from '../../host.js';
import { answerConditional, cacheHeaders, entityTag } from '../../http/conditional.js';
import { boolean, number, oneOf, withDefault } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { scopes } from '../../http/scopes.js';
import { defineRoute, type PictureContext } from './context.js';
import { loadReadableItem, loadItemToReadOrSchedule } from './authorize.js';
import { itemPath } from '../items/item-path.js';
import { dropUndefined, toPictureRequest, regionParameters, routeParameters, zParameters } from '../images/picture-parameters.js';
import { bandsSchema, histogramSchema } from './schemas.js';
import { startCacheJob } from './tile-frames.routes.js';

const statisticsRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  params: itemPath,
  errors: ['bad-parameter', 'bad-value', 'unknown-id', 'access-denied', 'no-large-image', 'tile-source', 'corrupt-tile', 'busy'],
  errorStatus: { 'tile-outside': 400 },
  parameterMessages: 'incorrect-type',
} as const;

/** A JSON response about an image. */
interface RequestedJson {
  item: ItemRecord;
  /** Together with `request`, identifies the response among all responses about the item. */
  kind: string;
  request: Readonly<Record<string, unknown>>;
  requestHeaders: Readonly<Record<string, string | string[] | undefined>>;
}

/** Answers with JSON and an entity tag. A client that already has the same response gets status 304, and nothing is computed. */
async function replyWithTaggedJson(
  services: PictureContext,
  requestedJson: RequestedJson,
  make: () => Promise<unknown>,
): Promise<Reply> {
  const tag = entityTag(await services.images.pictureKey(requestedJson.item, requestedJson.kind, requestedJson.request));
  const headers = cacheHeaders(tag);
  return answerConditional(requestedJson.requestHeaders, tag, headers) ?? Reply.json(await make(), { headers });
}

const { fill: _fill, ...histogramRegionParameters } = regionParameters;
const { frame: frameParameter, style: styleParameter } = routeParameters('frame', 'style');

/** If the request has no size, the region is reduced to at most this width and height, in pixels. */
const defaultSidePixels = 2048;

const histogram = defineRoute({
  ...statisticsRoute,
  path: '/item/:itemId/tiles/histogram',
  forLinks: true,
  summary: 'Get a histogram of the samples of each band.',
  description:
    'Counts stored samples; in large regions only some of them. With `resample` 1 to 3 the region is first scaled to the requested size.',
  query: {
    ...histogramRegionParameters,
    frame: frameParameter,
    style: styleParameter,
    ...zParameters,
    ...routeParameters('bins', 'density', 'threshold'),
    rangeMin: number({ description: 'Lowest edge; the smallest sample by default.' }),
    rangeMax: number({ description: 'Highest edge; the largest sample plus 1 by default.' }),
    roundRange: boolean({ description: 'For integer samples, make all bins equally wide, with integer edges.' }),
    cache: withDefault(
      oneOf(['none', 'report', 'schedule'], {
        description:
          '`report` lists the frames with a stored histogram; `schedule` also starts a job that makes the others, and needs write access and a token for writing.',
      }),
      'none',
    ),
  },
  returns: { schema: histogramSchema },
  authorize: loadItemToReadOrSchedule,
  async handle(input, services) {
    const { query, authorized: item, caller, headers, signal } = input;
    const { pictures, keptFiles } = services.queues;
    const enqueueRendering = enqueueFor(pictures, input);
    const {
      cache,
      rangeMin,
      rangeMax,
      roundRange,
      bins,
      density,
      threshold,
      frame: frameIndex,
      style,
      ...regionAndZQuery
    } = query;
    const { zProject, zFrom, zTo, ...regionQuery } = regionAndZQuery;
    const hasSize = [regionQuery.width, regionQuery.height, regionQuery.magnification, regionQuery.mm_x, regionQuery.mm_y].some(
      (value) => value !== undefined,
    );
    const region = hasSize
      ? regionQuery
      : { ...regionQuery, width: defaultSidePixels, height: defaultSidePixels, resample: regionQuery.resample ?? false };
    const histogramOptions = dropUndefined({ bins, density, threshold, frame: frameIndex, style, zProject, zFrom, zTo });
    const spec = {
      ...specFromParameters(dropUndefined(region)),
      ...histogramOptions,
      ...(roundRange === true && { range: 'round' }),
    };
    const hasRange = rangeMin !== undefined || rangeMax !== undefined;
    if (cache !== 'none')
      return reportCachedHistograms(services, item, { spec, hasRange, mayStartJob: cache === 'schedule', caller });
    const request = { ...toPictureRequest(region), ...histogramOptions, ...dropUndefined({ rangeMin, rangeMax, roundRange }) };
    return replyWithTaggedJson(services, { item, kind: 'histogram', request, requestHeaders: headers }, () =>
      hasRange
        ? enqueueRendering(() => services.images.use(item, (image) => image.histogram({ ...request, signal }), signal))
        : obtainHistogram(services, item, spec, { signal, enqueueRendering, enqueue: enqueueFor(keptFiles, input) }),
    );
  },
});

/**
 * Reports for each frame whether its histogram is stored as a cached file. If `mayStartJob`, it also starts a job that makes the missing
 * histograms. Histograms with a range from the request are never stored, so for a request with a range the list is empty.
 */
async function reportCachedHistograms(
  services: PictureContext,
  item: ItemRecord,
  options: { spec: CachedFileSpec; hasRange: boolean; mayStartJob: boolean; caller: Caller | null },
): Promise<{ cached: boolean[]; scheduledJob?: string }> {
  if (options.hasRange) return { cached: [] };
  const frameCount = await services.images.use(item, (image) => image.metadata().frames?.length ?? 1);
  requireReportable(frameCount, options.spec);
  const cached: boolean[] = [];
  const missingSpecs: CachedFileSpec[] = [];
  for (const batch of batches(Array.from({ length: frameCount }, (_, index) => index))) {
    const specs = batch.map((frame): CachedFileSpec => ({ ...options.spec, frame }));
    const keys = specs.map((spec) => histogramName(spec).key);
    const existingFiles = await services.cachedFiles.findExisting([item], 'data', keys);
    for (const [i, spec] of specs.entries()) {
      const isCached = existingFiles.has(`${item.id}\n${keys[i]}`);
      cached.push(isCached);
      if (!isCached) missingSpecs.push(spec);
    }
    if (isSliceOver()) await nextSlice();
  }
  return {
    cached,
    ...(options.mayStartJob && (await startCacheJob(services, 'histogram', item, missingSpecs, options.caller?.id ?? null))),
  };
}

/** Maximum number of characters in the parameters of all frames that one response reports on. */
const maxReportedCharacters = 2 ** 24;

/** @throws BadParameterError if the parameters of all frames together are too long. */
function requireReportable(frameCount: number, spec: CachedFileSpec): void {
  if (frameCount * histogramName(spec).key.length <= maxReportedCharacters) return;
  throw new BadParameterError(
    `With cache, the parameters of all frames may have ${maxReportedCharacters} characters in total; the image has ${frameCount} frames.`,
  );
}

const bands = defineRoute({
  ...statisticsRoute,
  path: '/item/:itemId/tiles/bands',
  forLinks: true,
  summary: 'Get the bands of the image: their color interpretation, minimum, maximum and mean.',
  query: { frame: frameParameter },
  returns: { schema: bandsSchema },
  authorize: loadReadableItem,
  async handle(input, services) {
    const { query, authorized: item, headers, signal } = input;
    const request = dropUndefined(query);
    return replyWithTaggedJson(services, { item, kind: 'bands', request, requestHeaders: headers }, () =>
      enqueueFor(
        services.queues.pictures,
        input,
      )(() => services.images.use(item, (image) => image.bands({ ...request, signal }), signal)),
    );
  },
});

/** Routes for statistics of an image's samples. */
export const histogramRoutes = [histogram, bands];
