import { LargeImageError } from '../../errors.js';
import { Reply } from '../../http/reply.js';
import { scopes } from '../../http/scopes.js';
import { uidsOf, type Instances } from './answers/instances.js';
import { multipart, multipartType, newBoundary, type Part } from './answers/multipart.js';
import { acceptedBy, asPart, fileReply } from './answers/replies.js';
import type { CallerContext } from './answers/slides.js';
import { bytesOf } from './answers/streamed-file.js';
import {
  addressOf,
  defineRoute,
  instancePath,
  mayRetrieve,
  retrieveErrors,
  seriesPath,
  serviceRoot,
  shared,
  studyPath,
} from './context.js';
import { matchesType, notAcceptable, type Accepted } from './format/accept.js';
import type { Instance } from './images/locator.js';

const dicomType = 'application/dicom';

/** The transfer syntax of a file for an entry of `Accept`; `null` if the file is not available in it. */
async function syntaxFor(
  instance: Instance,
  { syntax }: Accepted,
  instances: Instances,
  context: CallerContext,
): Promise<string | null> {
  const { files } = await instances.forms(instance, context);
  return syntax === null || syntax === '*' ? files[0]! : (files.find((each) => each === syntax) ?? null);
}

function typeOf(syntax: string): string {
  return `${dicomType}; transfer-syntax=${syntax}`;
}

const instanceFile = defineRoute({
  ...shared,
  path: '/dicomweb/studies/:study/series/:series/instances/:instance',
  summary: 'Get an instance as a DICOM file (WADO-RS).',
  description:
    'For levels that are stored in JPEG or JPEG 2000 tiles, the frames are these tiles. Others are native up to 4294967294 bytes of samples, and encoded beyond that or ' +
    'if `transfer-syntax` requests it. Ranges are supported for a single file if its length is known in advance.',
  params: instancePath,
  returns: { types: ['multipart/related', dicomType] },
  errors: [...retrieveErrors, 'unsatisfiable-range'],
  authorize: mayRetrieve,
  async handle(request, { instances }) {
    const [instance] = request.granted;
    for (const accepted of acceptedBy(request)) {
      if (!matchesType(accepted.type, dicomType)) continue;
      const syntax = await syntaxFor(instance!, accepted, instances, request);
      if (syntax === null) continue;
      const file = await instances.file(instance!, syntax, request);
      const headers = { 'Cache-Control': 'private, no-cache' };
      if (!accepted.multipart && accepted.type !== '*/*') return fileReply(request, file, typeOf(syntax), headers);
      const boundary = newBoundary();
      const { range: _range, ...otherHeaders } = request.headers;
      return fileReply(
        { headers: otherHeaders },
        asPart(file, typeOf(syntax), boundary),
        multipartType(dicomType, boundary),
        headers,
      );
    }
    const { files } = await instances.forms(instance!, request);
    return notAcceptable(
      'The instance',
      files.map((syntax) => `multipart/related; type="${dicomType}"; transfer-syntax=${syntax}`),
    );
  },
});

const instancesRoute = (path: string, params: typeof studyPath | typeof seriesPath, summary: string) =>
  defineRoute({
    ...shared,
    path,
    summary,
    params: params as typeof seriesPath,
    returns: { types: ['multipart/related'] },
    errors: retrieveErrors,
    authorize: mayRetrieve,
    async handle(request, { instances }) {
      const accepted = acceptedBy(request).find(
        ({ type, multipart: asParts }) => (asParts || type === '*/*') && matchesType(type, dicomType),
      );
      if (accepted === undefined) return notAcceptable('Several instances', [`multipart/related; type="${dicomType}"`]);
      const { granted } = request;
      const syntaxes = await Promise.all(granted.map((instance) => syntaxFor(instance, accepted, instances, request)));
      const missing = syntaxes.indexOf(null);
      if (missing >= 0) {
        const { files } = await instances.forms(granted[missing]!, request);
        return notAcceptable(
          'An instance',
          files.map((syntax) => `multipart/related; type="${dicomType}"; transfer-syntax=${syntax}`),
        );
      }
      const root = serviceRoot(request);
      const parts = async function* (): AsyncGenerator<Part> {
        for (const [index, instance] of granted.entries()) {
          const syntax = syntaxes[index]!;
          const file = await instances.file(instance, syntax, request);
          yield { type: typeOf(syntax), location: addressOf(root, uidsOf(instance)), body: bytesOf(file) };
        }
      };
      const boundary = newBoundary();
      return Reply.stream(multipart(parts(), boundary), multipartType(dicomType, boundary));
    },
  });

const studyInstances = instancesRoute(
  '/dicomweb/studies/:study',
  studyPath,
  'Get all instances of a study as DICOM files (WADO-RS).',
);
const seriesInstances = instancesRoute(
  '/dicomweb/studies/:study/series/:series',
  seriesPath,
  'Get all instances of a series as DICOM files (WADO-RS).',
);

const storeRoute = (path: string, params: Partial<typeof studyPath>) =>
  defineRoute({
    method: 'post',
    access: 'public',
    scope: scopes.write,
    anyOrigin: true,
    path,
    summary: 'Storing instances (STOW-RS) is not supported.',
    params: params as typeof studyPath,
    returns: { types: ['application/dicom+json'] },
    errors: ['not-implemented'],
    handle() {
      throw new LargeImageError(
        'not-implemented',
        'This server offers images as DICOM, but does not accept DICOM. Upload files as items.',
      );
    },
  });

/** Routes of whole instances. */
export const instanceRoutes = [
  instanceFile,
  studyInstances,
  seriesInstances,
  storeRoute('/dicomweb/studies', {}),
  storeRoute('/dicomweb/studies/:study', studyPath),
];
