import { valueText } from './format/dataset.js';
import { BadParameterError, NotFoundError } from '../../errors.js';
import { enqueueFor } from '../../core/concurrency/queues.js';
import { integer, required, text } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import type { EncodedPicture, LargeImage, StreamedPicture } from '../../tilesource/requests.js';
import { levelScale } from '../../tilesource/geometry.js';
import { acceptedTypes } from './answers/replies.js';
import { locateFrame } from './answers/slide-frames.js';
import {
  defineRoute,
  instancePath,
  loadInstances,
  retrieveErrors,
  seriesPath,
  commonRouteFields,
  studyPath,
  type DicomContext,
} from './context.js';
import { matchesType, throwNotAcceptable } from './format/accept.js';
import { parseFrameNumbers } from './frames.routes.js';
import type { Instance } from './images/locator.js';
import type { CallerContext } from './answers/slides.js';

/** Maximum side of a picture, default side, and side of a thumbnail, in pixels. */
const [maxSide, defaultSide, thumbnailSide] = [4096, 1024, 256];

const encodings = { 'image/jpeg': 'JPEG', 'image/png': 'PNG', 'image/webp': 'WEBP' } as const;
type PictureType = keyof typeof encodings;

const pictureParameters = {
  viewport: text({
    description:
      '`width,height` of the picture, or `width,height,left,top,width,height` with the region of the instance that it shows.',
  }),
  quality: integer({ description: 'Quality of JPEG, from 1 to 100.', minimum: 1, maximum: 100 }),
  window: text({ description: 'Accepted but ignored: pictures look as in the viewer of this server.' }),
  iccprofile: text({ description: 'Accepted but ignored: colors are sRGB.' }),
  annotation: text({ description: 'Accepted but ignored.' }),
};

interface Viewport {
  width: number;
  height: number;
  region: { left: number; top: number; width: number; height: number } | null;
}

/** @throws BadParameterError for an invalid viewport. {@link drawPicture} checks whether the region is inside the instance. */
function parseViewport(value: string | undefined, side: number): Viewport {
  if (value === undefined) return { width: side, height: side, region: null };
  const numbers = value.split(',').map((entry) => (/^\s*\d{1,9}(?:\.\d{1,6})?\s*$/.test(entry) ? Number(entry) : Number.NaN));
  const [width = 0, height = 0, left = 0, top = 0, regionWidth = 0, regionHeight = 0] = numbers;
  const showsWholeInstance = numbers.length === 2;
  if ((!showsWholeInstance && numbers.length !== 6) || numbers.some((number) => Number.isNaN(number)))
    throw new BadParameterError('viewport must be two or six numbers, separated by commas.');
  if (!(width >= 1 && height >= 1 && Math.max(width, height) <= maxSide))
    throw new BadParameterError(`The sides of viewport must be from 1 to ${maxSide} pixels.`);
  if (!showsWholeInstance && !(regionWidth > 0 && regionHeight > 0))
    throw new BadParameterError('The region in viewport must not be empty.');
  return { width, height, region: showsWholeInstance ? null : { left, top, width: regionWidth, height: regionHeight } };
}

function choosePictureType(request: Parameters<typeof acceptedTypes>[0]): PictureType {
  for (const { type, isMultipart } of acceptedTypes(request)) {
    const pictureType = (Object.keys(encodings) as PictureType[]).find((offeredType) => matchesType(type, offeredType));
    if (pictureType !== undefined && !isMultipart) return pictureType;
  }
  return throwNotAcceptable('The picture', Object.keys(encodings));
}

type RenderRequest = CallerContext &
  Parameters<typeof acceptedTypes>[0] & { query: { viewport?: string | undefined; quality?: number | undefined } };

async function renderInstance(
  instance: Instance,
  request: RenderRequest,
  { images, queues }: DicomContext,
  side: number,
  frameIndex?: number,
): Promise<Reply> {
  if (instance.kind === 'annotation') return throwNotAcceptable('Annotations', ['application/dicom+json', 'application/dicom']);
  const type = choosePictureType(request);
  const { quality } = request.query;
  const viewport = parseViewport(request.query.viewport, side);
  const pictureOptions = {
    encoding: encodings[type],
    width: Math.round(viewport.width),
    height: Math.round(viewport.height),
    ...(quality !== undefined && { jpegQuality: quality }),
  };
  const draw = (image: LargeImage) =>
    drawPicture(instance, image, viewport, frameIndex, { ...pictureOptions, signal: request.signal });
  const drawnPicture = await enqueueFor(queues.pictures, request)(() => images.use(instance.item, draw, request.signal));
  return drawnPicture.kind === 'bytes'
    ? Reply.content(drawnPicture.bytes, type)
    : Reply.stream(drawnPicture.stream, type, { headers: { 'Content-Length': drawnPicture.size } });
}

async function drawPicture(
  instance: Exclude<Instance, { kind: 'annotation' }>,
  image: LargeImage,
  { region }: Viewport,
  frameIndex: number | undefined,
  options: { encoding: string; width: number; height: number; jpegQuality?: number; signal: AbortSignal },
): Promise<EncodedPicture | StreamedPicture> {
  if (instance.kind === 'slide' && instance.plan.content.kind === 'associated') {
    if (region !== null) throw new BadParameterError('viewport must not select a part of a label or overview.');
    const { name } = instance.plan.content;
    const associatedPicture = await image.associatedImage(name, options);
    if (associatedPicture === null) throw new NotFoundError(`The file no longer contains the image ${name}.`);
    return associatedPicture;
  }
  if (instance.kind === 'file') {
    const file = instance.record.dicom?.files.find((dataset) => valueText(dataset, '00080018') === instance.uid);
    const flavor = valueText(file, '00080008', 2);
    const name = { LABEL: 'label', OVERVIEW: 'macro', THUMBNAIL: 'thumbnail' }[flavor];
    const associatedPicture = name === undefined || region !== null ? null : await image.associatedImage(name, options);
    return associatedPicture ?? image.region(options);
  }
  const { record, plan } = instance;
  const { facts } = record;
  const level = plan.content.kind === 'level' ? plan.content.level : 0;
  const scale = levelScale(facts, level);
  const frameLocation = locateFrame({ facts, plan }, frameIndex ?? 0);
  const frameBox =
    frameIndex === undefined
      ? { left: 0, top: 0, width: plan.matrixColumns, height: plan.matrixRows }
      : tileBox(plan, frameLocation.tile);
  const box = region ?? { left: 0, top: 0, width: frameBox.width, height: frameBox.height };
  if (box.left + box.width > frameBox.width || box.top + box.height > frameBox.height) {
    throw new BadParameterError(`The region in viewport is outside the ${frameBox.width} by ${frameBox.height} pixels.`);
  }
  const [left, top] = [(frameBox.left + box.left) * scale, (frameBox.top + box.top) * scale];
  const bounds = {
    left,
    top,
    right: Math.min(facts.sizeX, left + box.width * scale),
    bottom: Math.min(facts.sizeY, top + box.height * scale),
  };
  return image.region({ ...options, ...bounds, frame: frameLocation.frame });
}

/** The box of a tile, in pixels of the whole instance. */
function tileBox(
  { columns, rows, matrixColumns, matrixRows }: { columns: number; rows: number; matrixColumns: number; matrixRows: number },
  tile: number,
) {
  const tilesPerRow = Math.ceil(matrixColumns / columns);
  const [left, top] = [(tile % tilesPerRow) * columns, Math.floor(tile / tilesPerRow) * rows];
  return { left, top, width: Math.min(columns, matrixColumns - left), height: Math.min(rows, matrixRows - top) };
}

const returns = { types: Object.keys(encodings) } as const;

const defineRenderedRoute = (path: string, side: number, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    params: instancePath,
    query: pictureParameters,
    returns,
    errors: retrieveErrors,
    authorize: loadInstances,
    handle: (request, services) => renderInstance(request.authorized[0]!, request, services, side),
  });

const instanceUrlPattern = '/dicomweb/studies/:study/series/:series/instances/:instance';
const rendered = defineRenderedRoute(
  `${instanceUrlPattern}/rendered`,
  defaultSide,
  'Get an instance as a picture that browsers show (WADO-RS).',
);
const thumbnail = defineRenderedRoute(
  `${instanceUrlPattern}/thumbnail`,
  thumbnailSide,
  'Get a thumbnail of an instance (WADO-RS).',
);

const renderedFrame = defineRoute({
  ...commonRouteFields,
  path: `${instanceUrlPattern}/frames/:frames/rendered`,
  summary: 'Get a frame as a picture for browsers (WADO-RS).',
  params: { ...instancePath, frames: required(text({ description: 'Number of a frame, from 1.' })) },
  query: pictureParameters,
  returns,
  errors: retrieveErrors,
  authorize: loadInstances,
  async handle(request, services) {
    const [instance] = request.authorized;
    const { frameCount } = await services.instances.loadSyntaxesAndFrameCount(instance!, request);
    const numbers = parseFrameNumbers(request.params.frames, frameCount);
    if (numbers.length > 1) return throwNotAcceptable('Several frames', ['one frame']);
    return renderInstance(instance!, request, services, maxSide, numbers[0]! - 1);
  },
});

const defineThumbnailRoute = (path: string, params: typeof studyPath | typeof seriesPath, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    params: params as typeof seriesPath,
    query: pictureParameters,
    returns,
    errors: retrieveErrors,
    authorize: loadInstances,
    handle: (request, services) => renderInstance(request.authorized[0]!, request, services, thumbnailSide),
  });

const thumbnailOfStudy = defineThumbnailRoute(
  '/dicomweb/studies/:study/thumbnail',
  studyPath,
  'Get a thumbnail of a study (WADO-RS).',
);
const thumbnailOfSeries = defineThumbnailRoute(
  '/dicomweb/studies/:study/series/:series/thumbnail',
  seriesPath,
  'Get a thumbnail of a series (WADO-RS).',
);

/** Routes for instances and frames as pictures. */
export const renderedRoutes = [rendered, thumbnail, renderedFrame, thumbnailOfStudy, thumbnailOfSeries];
