import type { RouteInput } from '../../../http/route.js';
import type { Parameters } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { BadParameterError } from '../../../errors.js';
import { defineRoute, seriesPath, serviceRoot, commonRouteFields, studyPath, type DicomContext } from '../context.js';
import { matchesType, throwNotAcceptable, parseAccept } from '../format/accept.js';
import { isUid } from '../format/uids.js';
import { maxResults, parseSearch } from './query.js';
import { resolveVisibility, type Visibility } from '../visibility.js';
import { maxScannedImages, type SearchLevel } from './search.js';

export const dicomJson = 'application/dicom+json';

const returns = { schema: { type: 'array', items: { type: 'object', additionalProperties: true } }, types: [dicomJson] } as const;
const errors = ['bad-parameter', 'not-acceptable', 'too-large', 'busy'] as const;
const description =
  'Parameters are attributes by keyword or tag, with exact values, ranges of dates and times, and the wild cards * and ?; `includefield`, `limit`, `offset` and ' +
  `\`fuzzymatching\`. A response has at most ${maxResults} results; the header \`Warning\` reports further ones. A search that would go through more than ${maxScannedImages} images is refused.`;

/** Requires that the client accepts JSON, the form of all search results and metadata. */
export function requireJson(headers: { accept?: string | undefined }, sent: Readonly<Record<string, string>>): void {
  const acceptedTypes = parseAccept(headers.accept, sent.accept);
  const acceptsJson = acceptedTypes.some(
    ({ type, isMultipart }) => !isMultipart && (matchesType(type, dicomJson) || matchesType(type, 'application/json')),
  );
  if (!acceptsJson) throwNotAcceptable('This', [dicomJson]);
}

async function answerSearch(
  request: Pick<
    RouteInput<Parameters, Parameters, 'none', Visibility>,
    'headers' | 'sent' | 'url' | 'signal' | 'origin' | 'root' | 'params' | 'authorized'
  >,
  { search }: DicomContext,
  level: SearchLevel,
  { study, series }: { study?: string; series?: string } = {},
): Promise<Reply> {
  requireJson(request.headers, request.sent);
  for (const uid of [study, series])
    if (uid !== undefined && !isUid(uid)) throw new BadParameterError('A UID consists of at most 64 digits and dots.');
  const { rows, hasMore } = await search.search({
    level,
    query: parseSearch(request.url),
    ...(study !== undefined && { study }),
    ...(series !== undefined && { series }),
    root: serviceRoot(request),
    visibility: request.authorized,
    signal: request.signal,
  });
  const headers = {
    'Content-Type': dicomJson,
    ...(hasMore && { Warning: '299 express-large-image "There are more results. Request them with offset."' }),
  };
  return Reply.json(rows, { headers });
}

const defineSearchRoute = (path: string, level: SearchLevel, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    description,
    returns,
    errors,
    authorize: resolveVisibility,
    handle: (request, services) => answerSearch(request, services, level),
  });

const studies = defineSearchRoute('/dicomweb/studies', 'studies', 'Search studies (QIDO-RS); by default, each image is a study.');
const series = defineSearchRoute('/dicomweb/series', 'series', 'Search series of all studies (QIDO-RS).');
const instances = defineSearchRoute('/dicomweb/instances', 'instances', 'Search instances of all studies (QIDO-RS).');

const defineStudySearchRoute = (path: string, level: SearchLevel, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    description,
    params: studyPath,
    returns,
    errors,
    authorize: resolveVisibility,
    handle: (request, services) => answerSearch(request, services, level, { study: request.params.study }),
  });

const seriesOfStudy = defineStudySearchRoute(
  '/dicomweb/studies/:study/series',
  'series',
  'Search the series of a study (QIDO-RS).',
);
const instancesOfStudy = defineStudySearchRoute(
  '/dicomweb/studies/:study/instances',
  'instances',
  'Search the instances of a study (QIDO-RS).',
);

const instancesOfSeries = defineRoute({
  ...commonRouteFields,
  path: '/dicomweb/studies/:study/series/:series/instances',
  summary: 'Search the instances of a series (QIDO-RS).',
  description,
  params: seriesPath,
  returns,
  errors,
  authorize: resolveVisibility,
  handle: (request, services) => answerSearch(request, services, 'instances', request.params),
});

/** Routes that search (QIDO-RS). */
export const searchRoutes = [studies, series, instances, seriesOfStudy, instancesOfStudy, instancesOfSeries];
