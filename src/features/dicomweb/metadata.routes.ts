import { BadParameterError, LargeImageError, NotFoundError } from '../../errors.js';
import { itemPath } from '../items/item-path.js';
import { objectOf, anyText, listOf } from '../../http/schemas.js';
import { required, text } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { uidsOf } from './answers/instances.js';
import { streamedValueReply, valueReply } from './answers/replies.js';
import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import type { DicomJson } from '../../tilesource/tile-source.js';
import {
  addressOf,
  defineRoute,
  instancePath,
  loadInstances,
  retrieveErrors,
  seriesPath,
  serviceRoot,
  commonRouteFields,
  studyPath,
  type DicomContext,
} from './context.js';
import { resolveVisibility } from './visibility.js';
import { dicomJson, requireJson } from './search/search.routes.js';

const returns = { schema: { type: 'array', items: { type: 'object', additionalProperties: true } }, types: [dicomJson] } as const;

/** Maximum number of instances in one response of metadata. */
const maxInstances = 5000;

const defineMetadataRoute = (path: string, params: typeof instancePath | typeof seriesPath | typeof studyPath, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    description: 'Long values have separate addresses (`BulkDataURI`).',
    params: params as typeof instancePath,
    returns,
    errors: retrieveErrors,
    authorize: loadInstances,
    async handle(request, { instances: instanceAnswers }) {
      requireJson(request.headers, request.sent);
      const { authorized: instances } = request;
      if (instances.length > maxInstances) {
        throw new LargeImageError(
          'too-large',
          `These are ${instances.length} instances; a response can describe at most ${maxInstances}. Request each series separately.`,
        );
      }
      const root = serviceRoot(request);
      const datasets: DicomJson[] = [];
      for (const instance of instances) {
        datasets.push(await instanceAnswers.loadMetadata(instance, addressOf(root, uidsOf(instance)), request));
        if (isSliceOver()) await nextSlice(request.signal);
      }
      return Reply.json(datasets, { headers: { 'Content-Type': dicomJson } });
    },
  });

const studyMetadata = defineMetadataRoute(
  '/dicomweb/studies/:study/metadata',
  studyPath,
  'Get the attributes of all instances of a study (WADO-RS).',
);
const seriesMetadata = defineMetadataRoute(
  '/dicomweb/studies/:study/series/:series/metadata',
  seriesPath,
  'Get the attributes of all instances of a series (WADO-RS).',
);
const instanceMetadata = defineMetadataRoute(
  '/dicomweb/studies/:study/series/:series/instances/:instance/metadata',
  instancePath,
  'Get the attributes of an instance (WADO-RS).',
);

const itemStudy = defineRoute({
  ...commonRouteFields,
  repeatable: false,
  path: '/item/:itemId/dicomweb',
  summary: 'Get the DICOM study of an image.',
  params: itemPath,
  returns: { schema: objectOf({ studyInstanceUID: anyText, seriesInstanceUIDs: listOf(anyText), url: anyText }) },
  errors: ['unknown-id', 'access-denied', 'no-large-image', 'conflict'],
  errorStatus: {},
  authorize: ({ params, caller }, { images }: DicomContext) => images.load(params.itemId, caller),
  async handle(request, context) {
    const { index, locator } = context;
    const record = await index.loadCurrentRecord(request.authorized);
    if (record === null) throw new LargeImageError('no-large-image', 'No large image file in this item.');
    if (record.reason !== null) throw new LargeImageError('conflict', `The image is not available as DICOM. ${record.reason}`);
    const instances = await locator.findOfRecord(request.authorized, record, await resolveVisibility(request, context));
    return {
      studyInstanceUID: record.study,
      seriesInstanceUIDs: [...new Set(instances.map((instance) => uidsOf(instance).series))],
      url: `${request.origin}${request.root}/dicomweb/studies/${record.study}`,
    };
  },
});

const bulkData = defineRoute({
  ...commonRouteFields,
  path: '/dicomweb/studies/:study/series/:series/instances/:instance/bulkdata/:name',
  summary: 'Get a long value of an instance (WADO-RS) by its `BulkDataURI`.',
  params: { ...instancePath, name: required(text({ description: 'Name of the value.' })) },
  returns: { types: ['application/octet-stream', 'multipart/related'] },
  errors: retrieveErrors,
  authorize: loadInstances,
  async handle(request, { slides, files, annotations }) {
    const [instance] = request.authorized;
    const { name } = request.params;
    if (!/^[\w.-]{1,200}$/.test(name))
      throw new BadParameterError(`The instance has no value named ${JSON.stringify(name.slice(0, 100))}.`);
    if (instance!.kind === 'annotation')
      return streamedValueReply(request, await annotations.loadBulkValue(instance!, name, request));
    const value =
      instance!.kind === 'file'
        ? await files.loadBulkValue(instance!, name, request)
        : name === 'icc'
          ? await slides.loadColorProfile(instance!, request.signal)
          : null;
    if (value === null) throw new NotFoundError('The instance has no such value.');
    return valueReply(request, value);
  },
});

/** Routes for attributes (WADO-RS metadata and bulk data). */
export const metadataRoutes = [studyMetadata, seriesMetadata, instanceMetadata, itemStudy, bulkData];
