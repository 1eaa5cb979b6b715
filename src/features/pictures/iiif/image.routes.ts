import { required, text } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { defineRoute } from '../context.js';
import { pictureHeaders } from '../picture-route.js';
import { replyFromTileCache, replyWithNewPicture } from '../picture-reply.js';
import { identifierOf, iiifRoot, iiifRoute, imagePath, loadReadableImage } from './identifier.js';
import { replyWithJsonLd, jsonLdTypes } from './json-ld.js';
import { rightsOf } from './rights.js';
import { imageInformationSchema } from './schemas.js';

const errors = [
  'bad-parameter',
  'unknown-id',
  'not-found',
  'access-denied',
  'tile-outside',
  'no-large-image',
  'tile-source',
  'corrupt-tile',
] as const;

const imageContext = 'http://iiif.io/api/image/3/context.json';
const profileLink = '<http://iiif.io/api/image/3/level2.json>;rel="profile"';

/** Features beyond those that level 2 of the Image API requires. */
const extraFeatures = ['canonicalLinkHeader', 'mirroring', 'profileLinkHeader', 'sizeUpscaling'];

const redirectToInfo = defineRoute({
  ...iiifRoute,
  path: '/iiif/:identifier',
  summary: 'Redirect to the description of an image for IIIF viewers.',
  params: imagePath,
  returns: { types: ['application/ld+json'] },
  errors,
  authorize: loadReadableImage,
  handle: (input) => Reply.redirect(`${iiifRoot(input)}/${identifierOf(input.params.identifier)}/info.json`),
});

const info = defineRoute({
  ...iiifRoute,
  path: '/iiif/:identifier/info.json',
  summary: 'Describe an image with the IIIF Image API 3, level 2.',
  params: imagePath,
  returns: { schema: imageInformationSchema, types: jsonLdTypes },
  errors,
  authorize: loadReadableImage,
  async handle(input, { images, records }) {
    const { params, authorized: item, headers } = input;
    const { frame } = params.identifier;
    const root = iiifRoot(input);
    const imageFacts = await images.use(item, (image) => {
      // This throws if the frame does not exist. There is no description of such a frame.
      image.iiifPlan({ region: 'full', size: 'max', rotation: '0', file: 'default.jpg' }, frame);
      return image.iiifFacts();
    });
    const { rights } = rightsOf(records.metadataOf(item));
    return replyWithJsonLd(headers, imageContext, {
      '@context': imageContext,
      id: `${root}/${identifierOf(params.identifier)}`,
      type: 'ImageService3',
      protocol: 'http://iiif.io/api/image',
      profile: 'level2',
      ...imageFacts,
      extraFeatures,
      ...(rights !== undefined && { rights }),
      partOf: [{ id: `${root}/${item.id}/manifest.json`, type: 'Manifest' }],
    });
  },
});

/** Pictures of at most this many pixels are cached like tiles, because viewers request their tiles as regions. */
const maxCachedPixels = 2 ** 20;

const picture = defineRoute({
  ...iiifRoute,
  path: '/iiif/:identifier/:region/:size/:rotation/:file',
  summary: 'Get a region of an image at a size, rotation, quality and format, with the IIIF Image API 3.',
  description:
    'Rotations are multiples of 90 degrees, as level 2 requires. The header `Link` names the canonical address of the picture.',
  params: {
    ...imagePath,
    region: required(text({ description: '`full`, `square`, `x,y,w,h` or `pct:x,y,w,h`.' })),
    size: required(
      text({
        description:
          '`max`, `w,`, `,h`, `w,h`, `!w,h` or `pct:n`. With `^` before it, the picture may be larger than the region.',
      }),
    ),
    rotation: required(text({ description: '0, 90, 180 or 270. `!` before it mirrors the picture.' })),
    file: required(
      text({
        description:
          '`<quality>.<format>`. The quality is default, color, gray or bitonal; the format is jpg, png, webp, tif or gif.',
      }),
    ),
  },
  returns: { types: ['image/jpeg', 'image/png', 'image/webp', 'image/tiff', 'image/gif'] },
  headers: pictureHeaders,
  errors: [...errors, 'bad-value', 'busy'],
  authorize: loadReadableImage,
  async handle(input, services) {
    const { params, authorized: item } = input;
    const { identifier, ...request } = params;
    const { frame } = identifier;
    const plan = await services.images.use(item, (image) => image.iiifPlan(request, frame));
    const canonicalAddress = `${iiifRoot(input)}/${identifierOf(identifier)}/${plan.canonical}`;
    const extraHeaders = { Link: `<${canonicalAddress}>;rel="canonical", ${profileLink}` };
    const requestedPicture = { item, kind: 'iiif', request: { frame, picture: plan.canonical }, input, extraHeaders };
    const replyWith = plan.output.width * plan.output.height <= maxCachedPixels ? replyFromTileCache : replyWithNewPicture;
    return replyWith(services, requestedPicture, (image, signal) => image.iiifPicture(plan, { frame, signal }));
  },
});

/** Routes of the IIIF Image API. */
export const iiifImageRoutes = [redirectToInfo, info, picture];
