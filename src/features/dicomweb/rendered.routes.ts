import { valueText } from './format/dataset.js';
import { BadParameterError } from '../../errors.js';
import { enqueueFor } from '../../core/concurrency/queues.js';
import { integer, required, text } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import type { EncodedPicture, LargeImage, StreamedPicture } from '../../tilesource/requests.js';
import { levelScale } from '../../tilesource/geometry.js';
import { acceptedBy } from './answers/replies.js';
import { placeOf } from './answers/slide-frames.js';
import {
  defineRoute,
  instancePath,
  mayRetrieve,
  retrieveErrors,
  seriesPath,
  shared,
  studyPath,
  type DicomContext,
} from './context.js';
import { matchesType, notAcceptable } from './format/accept.js';
import { parseFrames } from './frames.routes.js';
import type { Instance } from './images/locator.js';
import type { CallerContext } from './answers/slides.js';

/** Maximum side of a picture, default side, and side of a thumbnail. */
const [maxSide, defaultSide, thumbnailSide] = [4096, 1024, 256];

const encodings = { 'image/jpeg': 'JPEG', 'image/png': 'PNG', 'image/webp': 'WEBP' } as const;
type PictureType = keyof typeof encodings;

const parameters = {
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
  part: { left: number; top: number; width: number; height: number } | null;
}

/** @throws BadParameterError for an invalid viewport. Whether it is inside the instance is checked when it is drawn. */
function parseViewport(value: string | undefined, side: number): Viewport {
  if (value === undefined) return { width: side, height: side, part: null };
  const numbers = value.split(',').map((each) => (/^\s*\d{1,9}(?:\.\d{1,6})?\s*$/.test(each) ? Number(each) : Number.NaN));
  const [width = 0, height = 0, left = 0, top = 0, partWidth = 0, partHeight = 0] = numbers;
  const isWhole = numbers.length === 2;
  if ((!isWhole && numbers.length !== 6) || numbers.some((each) => Number.isNaN(each)))
    throw new BadParameterError('viewport must be two or six numbers, separated by commas.');
  if (!(width >= 1 && height >= 1 && Math.max(width, height) <= maxSide))
    throw new BadParameterError(`The sides of viewport must be from 1 to ${maxSide} pixels.`);
  if (!isWhole && !(partWidth > 0 && partHeight > 0)) throw new BadParameterError('The region in viewport must not be empty.');
  return { width, height, part: isWhole ? null : { left, top, width: partWidth, height: partHeight } };
}

function typeFor(request: Parameters<typeof acceptedBy>[0]): PictureType {
  for (const { type, multipart } of acceptedBy(request)) {
    const pictureType = (Object.keys(encodings) as PictureType[]).find((each) => matchesType(type, each));
    if (pictureType !== undefined && !multipart) return pictureType;
  }
  return notAcceptable('The picture', Object.keys(encodings));
}

type Request = CallerContext &
  Parameters<typeof acceptedBy>[0] & { query: { viewport?: string | undefined; quality?: number | undefined } };

async function render(
  instance: Instance,
  request: Request,
  { images, queues }: DicomContext,
  side: number,
  frame?: number,
): Promise<Reply> {
  if (instance.kind === 'annotation') return notAcceptable('Annotations', ['application/dicom+json', 'application/dicom']);
  const type = typeFor(request);
  const { quality } = request.query;
  const viewport = parseViewport(request.query.viewport, side);
  const picture = {
    encoding: encodings[type],
    width: Math.round(viewport.width),
    height: Math.round(viewport.height),
    ...(quality !== undefined && { jpegQuality: quality }),
  };
  const draw = (image: LargeImage) => drawPicture(instance, image, viewport, frame, { ...picture, signal: request.signal });
  const drawnPicture = await enqueueFor(queues.pictures, request)(() => images.use(instance.item, draw, request.signal));
  return drawnPicture.kind === 'bytes'
    ? Reply.content(drawnPicture.bytes, type)
    : Reply.stream(drawnPicture.stream, type, { headers: { 'Content-Length': drawnPicture.size } });
}

async function drawPicture(
  instance: Exclude<Instance, { kind: 'annotation' }>,
  image: LargeImage,
  { part }: Viewport,
  frame: number | undefined,
  picture: { encoding: string; width: number; height: number; jpegQuality?: number; signal: AbortSignal },
): Promise<EncodedPicture | StreamedPicture> {
  if (instance.kind === 'slide' && instance.plan.shown.kind === 'associated') {
    const associated = part === null ? await image.associatedImage(instance.plan.shown.name, picture) : null;
    if (associated !== null) return associated;
    throw new BadParameterError('viewport must not select a part of a label or overview.');
  }
  if (instance.kind === 'file') {
    const file = instance.record.dicom?.files.find((each) => valueText(each, '00080018') === instance.uid);
    const flavor = valueText(file, '00080008', 2);
    const name = { LABEL: 'label', OVERVIEW: 'macro', THUMBNAIL: 'thumbnail' }[flavor];
    const associated = name === undefined || part !== null ? null : await image.associatedImage(name, picture);
    return associated ?? image.region(picture);
  }
  const { record, plan } = instance;
  const { facts } = record;
  const level = plan.shown.kind === 'level' ? plan.shown.level : 0;
  const scale = levelScale(facts, level);
  const place = placeOf({ facts, plan }, frame ?? 0);
  const tile =
    frame === undefined ? { left: 0, top: 0, width: plan.matrixColumns, height: plan.matrixRows } : tileBox(plan, place.tile);
  const box = part ?? { left: 0, top: 0, width: tile.width, height: tile.height };
  if (box.left + box.width > tile.width || box.top + box.height > tile.height) {
    throw new BadParameterError(`The region in viewport is outside the ${tile.width} by ${tile.height} pixels.`);
  }
  const [left, top] = [(tile.left + box.left) * scale, (tile.top + box.top) * scale];
  const bounds = {
    left,
    top,
    right: Math.min(facts.sizeX, left + box.width * scale),
    bottom: Math.min(facts.sizeY, top + box.height * scale),
  };
  return image.region({ ...picture, ...bounds, frame: place.frame });
}

/** The box of a tile, in pixels of the whole instance. */
function tileBox(
  { columns, rows, matrixColumns, matrixRows }: { columns: number; rows: number; matrixColumns: number; matrixRows: number },
  tile: number,
) {
  const across = Math.ceil(matrixColumns / columns);
  const [left, top] = [(tile % across) * columns, Math.floor(tile / across) * rows];
  return { left, top, width: Math.min(columns, matrixColumns - left), height: Math.min(rows, matrixRows - top) };
}

const returns = { types: Object.keys(encodings) } as const;

const renderedRoute = (path: string, side: number, summary: string) =>
  defineRoute({
    ...shared,
    path,
    summary,
    params: instancePath,
    query: parameters,
    returns,
    errors: retrieveErrors,
    authorize: mayRetrieve,
    handle: (request, services) => render(request.granted[0]!, request, services, side),
  });

const instanceAddress = '/dicomweb/studies/:study/series/:series/instances/:instance';
const rendered = renderedRoute(
  `${instanceAddress}/rendered`,
  defaultSide,
  'Get an instance as a picture that browsers show (WADO-RS).',
);
const thumbnail = renderedRoute(`${instanceAddress}/thumbnail`, thumbnailSide, 'Get a thumbnail of an instance (WADO-RS).');

const renderedFrame = defineRoute({
  ...shared,
  path: `${instanceAddress}/frames/:frames/rendered`,
  summary: 'Get a frame as a picture for browsers (WADO-RS).',
  params: { ...instancePath, frames: required(text({ description: 'Number of a frame, from 1.' })) },
  query: parameters,
  returns,
  errors: retrieveErrors,
  authorize: mayRetrieve,
  async handle(request, services) {
    const [instance] = request.granted;
    const { frameCount } = await services.instances.forms(instance!, request);
    const numbers = parseFrames(request.params.frames, frameCount);
    if (numbers.length > 1) return notAcceptable('Several frames', ['one frame']);
    return render(instance!, request, services, maxSide, numbers[0]! - 1);
  },
});

const thumbnailOf = (path: string, params: typeof studyPath | typeof seriesPath, summary: string) =>
  defineRoute({
    ...shared,
    path,
    summary,
    params: params as typeof seriesPath,
    query: parameters,
    returns,
    errors: retrieveErrors,
    authorize: mayRetrieve,
    handle: (request, services) => render(request.granted[0]!, request, services, thumbnailSide),
  });

const thumbnailOfStudy = thumbnailOf('/dicomweb/studies/:study/thumbnail', studyPath, 'Get a thumbnail of a study (WADO-RS).');
const thumbnailOfSeries = thumbnailOf(
  '/dicomweb/studies/:study/series/:series/thumbnail',
  seriesPath,
  'Get a thumbnail of a series (WADO-RS).',
);

/** Routes of pictures. */
export const renderedRoutes = [rendered, thumbnail, renderedFrame, thumbnailOfStudy, thumbnailOfSeries];
