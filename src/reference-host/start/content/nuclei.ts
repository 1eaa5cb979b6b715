import { Readable } from 'node:stream';
import type { Types } from 'mongoose';
import type { HostContext } from '../../context.js';
import type { Progress } from '../../database/database-options.js';
import { issueToken, revokeToken, userScope } from '../../accounts/tokens/tokens.js';
import { nucleiOf, syntheticSlide } from '../../synthetic-slide/slide.js';

/** Name of the annotation. */
export const nucleiName = 'Nuclei';

/** Colors by kind of nucleus. */
const stylesByKind = {
  epithelial: { lineColor: 'rgb(0, 114, 178)', fillColor: 'rgba(0, 114, 178, 0.25)' },
  stromal: { lineColor: 'rgb(0, 158, 115)', fillColor: 'rgba(0, 158, 115, 0.25)' },
  lymphocyte: { lineColor: 'rgb(213, 94, 0)', fillColor: 'rgba(213, 94, 0, 0.3)' },
} as const;

/** Number of characters of the annotation that are sent together. */
const chunkLength = 64 * 1024;
/** Lifetime of the token, which is used for one upload and then revoked. */
const tokenDays = 1;

/** Options of {@link addNuclei}. */
export interface NucleiOptions {
  /** Address of the server, which is already serving. */
  url: string;
  /** The item of the slide. */
  itemId: Types.ObjectId;
  onProgress: (progress: Progress) => void;
  signal: AbortSignal;
}

/**
 * Adds the nuclei of the synthetic slide as an annotation, once, through the ordinary route. If adding the annotation was interrupted, it
 * is added again. If somebody has deleted the annotation, it is not added again.
 *
 * @returns the number of nuclei; 0 if they were added before, or if there is no administrator to own them
 * @throws if the server refuses
 */
export async function addNuclei(context: HostContext, options: NucleiOptions): Promise<number> {
  const { hostState, user } = context.models;
  const { itemId, signal } = options;
  if ((await hostState.exists({ _id: 'nuclei', subject: itemId })) !== null) return 0;
  const administrator = await user.findOne({ admin: true, status: 'enabled' }).lean();
  if (administrator === null) return 0;
  const { token } = await issueToken(context, { user: administrator }, { days: tokenDays, scope: [userScope] });
  try {
    const count = await postNuclei(context, options, token);
    signal.throwIfAborted();
    await hostState.updateOne({ _id: 'nuclei' }, { $set: { subject: itemId } }, { upsert: true });
    return count;
  } finally {
    await revokeToken(context, token);
  }
}

async function postNuclei({ apiRoot }: HostContext, options: NucleiOptions, token: string): Promise<number> {
  const { url, itemId, signal } = options;
  const headers = { Authorization: `Bearer ${token}` };
  const tilesReply = await fetch(`${url}${apiRoot}/item/${itemId.toHexString()}/tiles`, { headers, signal });
  if (!tilesReply.ok) throw new Error(await describeRefusal(tilesReply));
  const { sizeX: slideSize } = (await tilesReply.json()) as { sizeX: number };
  const counter = { count: 0 };
  const body = Readable.from(writeAnnotationJson(slideSize, options, counter), { objectMode: false });
  const reply = await fetch(`${url}${apiRoot}/annotation?itemId=${itemId.toHexString()}`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: Readable.toWeb(body) as ReadableStream,
    duplex: 'half',
    signal,
  });
  if (!reply.ok) throw new Error(await describeRefusal(reply));
  // The body of the response would repeat all nuclei, so it is not read.
  await reply.body?.cancel();
  return counter.count;
}

async function describeRefusal(reply: Response): Promise<string> {
  return `${reply.status} ${(await reply.text()).slice(0, 1000)}`;
}

/** Writes the annotation as JSON, piece by piece, and counts its nuclei in `counter`. */
function* writeAnnotationJson(
  slideSize: number,
  { onProgress }: Pick<NucleiOptions, 'onProgress'>,
  counter: { count: number },
): Generator<string, void> {
  const annotationFields = {
    name: nucleiName,
    description: 'Every nucleus of the synthetic slide, from the program that painted it.',
  };
  let piece = `${JSON.stringify(annotationFields).slice(0, -1)},"elements":[`;
  for (const { kind, outline, y } of nucleiOf(syntheticSlide.seed, slideSize)) {
    const points = outline.map(([pointX, pointY]) => [roundToTenths(pointX), roundToTenths(pointY), 0]);
    const element = { type: 'polyline', closed: true, points, group: kind, ...stylesByKind[kind], lineWidth: 2 };
    piece += `${counter.count === 0 ? '' : ','}${JSON.stringify(element)}`;
    counter.count += 1;
    if (piece.length < chunkLength) continue;
    yield piece;
    piece = '';
    onProgress({
      text: `Annotating the nuclei of the synthetic slide (once)`,
      fraction: Math.min(0.99, Math.max(0, y / slideSize)),
    });
  }
  yield `${piece}]}`;
}

function roundToTenths(value: number): number {
  return Math.round(value * 10) / 10;
}
