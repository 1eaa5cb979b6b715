import type { QuadInfoOptions } from '../../tilesource/quad-info.js';
import { BadParameterError } from '../../errors.js';
import type { ItemRecord } from '../../core/host/records.js';
import { keyOfJobFile, cacheJobNames, newCacheJob } from '../cached-files/cache-files-job-data.js';
import { imageKeys, pictureName, specFromParameters, type CachedFileSpec } from '../cached-files/cached-pictures.js';
import { boolean, integer, oneOf, text, withDefault, type ParameterValues } from '../../http/parameters.js';
import { defineRoute, type PictureContext } from './context.js';
import { loadItemToReadOrSchedule } from './authorize.js';
import {
  dropUndefined,
  dispositionParameters,
  toPictureRequest,
  regionParameters,
  renderParameters,
  routeParameters,
} from '../images/picture-parameters.js';
import { dispositionHeader, replyWithNewPicture, replyFromCachedFile } from './picture-reply.js';
import { quadInfoSchema } from './schemas.js';
import { pictureHeaders, pictureTypes, pictureRoute } from './picture-route.js';

const frameParameters = {
  ...regionParameters,
  ...renderParameters,
  ...routeParameters('framesAcross', 'frameList'),
};

/** The specification of the cached file for these parameters. It has no `frame`, because `frameList` chooses the frames. */
function tileFramesSpec(parameters: Omit<ParameterValues<typeof frameParameters>, 'frame'>): CachedFileSpec {
  return { ...specFromParameters(dropUndefined(parameters)), imageKey: imageKeys.tileFrames };
}

const tileFrames = defineRoute({
  ...pictureRoute,
  path: '/item/:itemId/tiles/tile_frames',
  summary: 'Get the same region of several frames side by side, row by row.',
  query: {
    ...frameParameters,
    ...dispositionParameters,
    cache: withDefault(boolean({ description: 'Store the picture as a file of the item.' }), false),
  },
  returns: { types: pictureTypes },
  headers: pictureHeaders,
  async handle(input, services) {
    const { query, authorized: item } = input;
    const { cache, frame: _frame, contentDisposition, contentDispositionFilename, ...pictureQuery } = query;
    const request = toPictureRequest(pictureQuery);
    const { encoding } = request;
    const extraHeaders = dispositionHeader(item, 'tileframes', { contentDisposition, contentDispositionFilename, encoding });
    const requestedPicture = { item, kind: 'tileFrames', request, input, extraHeaders };
    const spec = tileFramesSpec(pictureQuery);
    const usesCache = encoding !== 'TILED' && (cache || (await services.cachedFiles.read(item, pictureName(spec))) !== null);
    return usesCache
      ? replyFromCachedFile(services, requestedPicture, spec)
      : replyWithNewPicture(services, requestedPicture, (image, signal) => image.tileFrames({ ...request, signal }));
  },
});

/** Parses a query string that is the value of the parameter `name`. @throws BadParameterError if a member occurs twice. */
function parsePairs(value: string | undefined, name: string): Record<string, string> | undefined {
  if (value === undefined) return undefined;
  const pairs: Record<string, string> = {};
  for (const [member, memberText] of new URLSearchParams(value)) {
    if (Object.hasOwn(pairs, member)) throw new BadParameterError(`"${name}" has the parameter "${member}" twice.`);
    // An assignment to a member named `__proto__` would change the prototype instead.
    Object.defineProperty(pairs, member, { value: memberText, enumerable: true });
  }
  return pairs;
}

/**
 * The specification of the cached file for a texture. Its parameters are parsed like the query string of {@link tileFrames}, so that
 * both give the same key.
 *
 * @param source the parameters of the texture: an entry of the list `src` in the quad information.
 * @throws BadParameterError
 */
function textureSpec(source: Readonly<Record<string, unknown>>): CachedFileSpec {
  const values: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(frameParameters)) {
    if (name === 'frame') continue;
    // `quadInfo` only writes values of these types.
    const value = source[name] as number | string | boolean | number[] | undefined;
    const queryText = Array.isArray(value) ? value.join(',') : value;
    values[name] = queryText === undefined ? undefined : parameter.parse(`${queryText}`, name);
  }
  return tileFramesSpec(values as ParameterValues<typeof frameParameters>);
}

const quadInfo = defineRoute({
  ...pictureRoute,
  path: '/item/:itemId/tiles/tile_frames/quad_info',
  summary: 'Get a layout that packs all frames into few textures, each a picture of tile_frames.',
  query: {
    format: text({
      description: 'URL-encoded encoding parameters of each texture; encoding=JPEG&jpegQuality=85&jpegSubsampling=1 by default.',
    }),
    query: text({ description: 'URL-encoded further parameters of each texture, such as style.' }),
    frameBase: text({
      description:
        'First frame. With an axis (c, z, t, xy) of n positions, there are textures for each of the first frames 0 to n - 1.',
    }),
    frameStride: text({ description: 'Use every n-th frame. An axis stands for its number of positions.' }),
    frameGroup: text({
      description: 'Textures end at multiples of this many frames. An axis stands for its number of positions.',
    }),
    frameGroupFactor: integer({
      description:
        'Frames are made smaller to fit whole groups only if a texture then has room for at most this many times its frames; 4 by default.',
    }),
    frameGroupStride: text({
      description:
        'Show every n-th of the used frames first, then the frames after them, and so on. `auto` stands for frameGroup divided by frameStride.',
    }),
    maxTextureSize: integer({ description: 'Maximum side of a texture; 8192 by default.' }),
    maxTextures: integer({ description: 'Maximum number of textures; 1 by default.' }),
    maxTotalTexturePixels: integer({ description: 'Maximum number of pixels of all textures together; 1073741824 by default.' }),
    alignment: integer({ description: 'Sides of frames are multiples of this; 16 by default.' }),
    maxFrameSize: integer({ description: 'Maximum side of a frame.' }),
    cache: withDefault(
      oneOf(['none', 'report', 'schedule'], {
        description:
          '`report` lists the stored textures; `schedule` also starts a job that makes the others, and needs write access and a token for writing.',
      }),
      'none',
    ),
  },
  returns: { schema: quadInfoSchema },
  authorize: loadItemToReadOrSchedule,
  async handle({ query, authorized: item, caller }, services) {
    const { cache, format, query: furtherParameters, ...layoutQuery } = query;
    const options = dropUndefined({
      ...layoutQuery,
      format: parsePairs(format, 'format'),
      query: parsePairs(furtherParameters, 'query'),
    });
    // Some of the numbers can be given as names of axes. `quadInfo` checks them.
    const info = await services.images.use(item, (image) => image.quadInfo(options as QuadInfoOptions));
    if (cache === 'none') return info;
    requireReportable(info.src.length, (format ?? '').length + (furtherParameters ?? '').length);
    const specs = info.src.map(textureSpec);
    const existingFiles = await services.cachedFiles.findExisting(
      [item],
      'thumbnail',
      specs.map((spec) => pictureName(spec).key),
    );
    const cached = specs.map((spec) => existingFiles.has(`${item.id}\n${pictureName(spec).key}`));
    const missingSpecs = specs.filter((_, index) => !cached[index]);
    return {
      ...info,
      cached,
      ...(cache === 'schedule' && (await startCacheJob(services, 'tileFrames', item, missingSpecs, caller?.id ?? null))),
    };
  },
});

/** Maximum number of textures that one response reports on. */
const maxReportedTextures = 1000;
/** Maximum number of characters in the parameters of all textures that one response reports on. */
const maxReportedCharacters = 1024 * 1024;

/**
 * @param charactersPerTexture number of characters in the parameters of one texture.
 * @throws BadParameterError if there are too many textures to report on.
 */
function requireReportable(textureCount: number, charactersPerTexture: number): void {
  if (textureCount <= maxReportedTextures && textureCount * charactersPerTexture <= maxReportedCharacters) return;
  throw new BadParameterError(
    `With cache, there may be at most ${maxReportedTextures} textures, with parameters of at most ${maxReportedCharacters} characters in total. This request makes ${textureCount} textures, with parameters of ${charactersPerTexture} characters each.`,
  );
}

/** Maximum number of files that one job makes. Another request can schedule the remaining files. */
const maxScheduledFiles = 1000;
/** Maximum number of characters in the parameters of all files that one job makes. */
const maxScheduledCharacters = 1024 * 1024;

/** Starts a job that makes the missing files, if there are any. @returns the id of the job. */
export async function startCacheJob(
  { runner }: PictureContext,
  kind: keyof typeof cacheJobNames,
  item: ItemRecord,
  missingSpecs: readonly CachedFileSpec[],
  userId: string | null,
): Promise<{ scheduledJob?: string }> {
  const [firstSpec] = missingSpecs;
  if (firstSpec === undefined) return {};
  const fileCount = Math.max(
    1,
    Math.min(maxScheduledFiles, Math.floor(maxScheduledCharacters / keyOfJobFile(kind, firstSpec).length)),
  );
  const job = await runner.create(cacheJobNames[kind], newCacheJob(item.id, missingSpecs.slice(0, fileCount), userId));
  await runner.start(job);
  return { scheduledJob: job.id };
}

/** Routes that show several frames in one picture. */
export const tileFramesRoutes = [tileFrames, quadInfo];
