import { createHash } from 'node:crypto';
import { BadParameterError, NotFoundError } from '../../errors.js';
import { answerConditional, cacheHeaders, entityTag } from '../../http/conditional.js';
import { required, text } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { chooseFrameForm } from './answers/frame-forms.js';
import { uidsOf } from './answers/instances.js';
import { frameCacheName } from './images/image-record.js';
import { multipartBody, multipartType, singlePartBody, type Part } from './answers/multipart.js';
import { acceptedTypes } from './answers/replies.js';
import {
  addressOf,
  defineRoute,
  instancePath,
  loadInstances,
  retrieveErrors,
  serviceRoot,
  commonRouteFields,
} from './context.js';

/** Maximum number of frames in one response. */
const maxFrames = 5000;

/** Parses the list of frame numbers, from 1, in a path. @throws BadParameterError, NotFoundError */
export function parseFrameNumbers(list: string, frameCount: number): number[] {
  const parts = list.split(',', maxFrames + 1);
  if (parts.length > maxFrames) throw new BadParameterError(`A response has at most ${maxFrames} frames.`);
  const numbers = parts.map((part) => (/^\d{1,10}$/.test(part.trim()) ? Number(part) : 0));
  if (numbers.includes(0)) throw new BadParameterError('Frames must be numbers, 1 or more, separated by commas.');
  if (new Set(numbers).size < numbers.length) throw new BadParameterError('The list contains a frame twice.');
  const missingNumber = numbers.find((number) => number > frameCount);
  if (missingNumber !== undefined) throw new NotFoundError(`There is no frame ${missingNumber}; the instance has ${frameCount}.`);
  return numbers;
}

const framesPath = {
  ...instancePath,
  frames: required(text({ description: 'Frame numbers, from 1, separated by commas.' })),
};

const frames = defineRoute({
  ...commonRouteFields,
  path: '/dicomweb/studies/:study/series/:series/instances/:instance/frames/:frames',
  summary: 'Get frames of an instance (WADO-RS).',
  description:
    'Frames are sent as stored if the file has JPEG or JPEG 2000 tiles, otherwise encoded in a form that the client accepts; ' +
    '`transfer-syntax=*` leaves the choice to the server. Several frames, and frames requested as `multipart/related`, are sent as parts; a plain type requests a single frame.',
  params: framesPath,
  returns: { types: ['multipart/related', 'image/jpeg', 'image/jp2', 'image/x-dicom-rle', 'application/octet-stream'] },
  errors: retrieveErrors,
  authorize: loadInstances,
  async handle(request, { instances }) {
    const [instance] = request.authorized;
    const { frameSyntaxes, frameCount } = await instances.loadSyntaxesAndFrameCount(instance!, request);
    const numbers = parseFrameNumbers(request.params.frames, frameCount);
    const form = chooseFrameForm(acceptedTypes(request), frameSyntaxes, numbers.length === 1);
    const uids = uidsOf(instance!);
    const cacheName = frameCacheName(instance!.record, [uids.instance, numbers.join(), ...Object.values(form)].join('/'));
    const tag = entityTag(cacheName);
    const headers = cacheHeaders(tag);
    const notModifiedReply = answerConditional(request.headers, tag, headers);
    if (notModifiedReply !== null) return notModifiedReply;
    const type = `${form.type}; transfer-syntax=${form.syntax}`;
    const loadFrame = (number: number) => instances.loadFrame(instance!, number - 1, form.syntax, request);
    if (!form.isMultipart) return Reply.content(await loadFrame(numbers[0]!), type, { headers });
    const address = addressOf(serviceRoot(request), uids);
    const makePart = async (number: number): Promise<Part & { body: Uint8Array }> => ({
      type,
      location: `${address}/frames/${number}`,
      body: await loadFrame(number),
    });
    const firstPart = await makePart(numbers[0]!);
    // Equal requests have equal entity tags, so they must get equal bytes, including the boundary.
    const boundary = createHash('sha256').update(firstPart.body).update(cacheName).digest('hex').slice(0, 32);
    const contentType = multipartType(form.typeParameter, boundary);
    if (numbers.length === 1) return Reply.content(singlePartBody(firstPart, boundary), contentType, { headers });
    const yieldParts = async function* (): AsyncGenerator<Part> {
      yield firstPart;
      for (const number of numbers.slice(1)) yield makePart(number);
    };
    return Reply.stream(multipartBody(yieldParts(), boundary), contentType, { headers });
  },
});

/** Routes for frames. */
export const frameRoutes = [frames];
