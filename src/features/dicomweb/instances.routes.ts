import { LargeImageError } from '../../errors.js';
import { Reply } from '../../http/reply.js';
import { scopes } from '../../http/scopes.js';
import { uidsOf, type Instances } from './answers/instances.js';
import { multipartBody, multipartType, newBoundary, type Part } from './answers/multipart.js';
import { acceptedTypes, wrapInPart, fileReply } from './answers/replies.js';
import type { CallerContext } from './answers/slides.js';
import { streamBytes } from './answers/streamed-file.js';
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
} from './context.js';
import { matchesType, throwNotAcceptable, type AcceptedType } from './format/accept.js';
import type { Instance } from './images/locator.js';

const dicomType = 'application/dicom';

/** The transfer syntax in which a file is sent for an entry of `Accept`; `null` if the instance is not available in the requested syntax. */
async function chooseSyntax(
  instance: Instance,
  { syntax }: AcceptedType,
  instances: Instances,
  context: CallerContext,
): Promise<string | null> {
  const { fileSyntaxes } = await instances.loadSyntaxesAndFrameCount(instance, context);
  return syntax === null || syntax === '*'
    ? fileSyntaxes[0]!
    : (fileSyntaxes.find((availableSyntax) => availableSyntax === syntax) ?? null);
}

function mediaTypeOf(syntax: string): string {
  return `${dicomType}; transfer-syntax=${syntax}`;
}

const instanceFile = defineRoute({
  ...commonRouteFields,
  path: '/dicomweb/studies/:study/series/:series/instances/:instance',
  summary: 'Get an instance as a DICOM file (WADO-RS).',
  description:
    'For levels that are stored in JPEG or JPEG 2000 tiles, the frames are these tiles. Others are native up to 4294967294 bytes of samples, and encoded beyond that or ' +
    'if `transfer-syntax` requests it. Ranges are supported for a single file if its length is known in advance.',
  params: instancePath,
  returns: { types: ['multipart/related', dicomType] },
  errors: [...retrieveErrors, 'unsatisfiable-range'],
  authorize: loadInstances,
  async handle(request, { instances }) {
    const [instance] = request.authorized;
    for (const acceptedType of acceptedTypes(request)) {
      if (!matchesType(acceptedType.type, dicomType)) continue;
      const syntax = await chooseSyntax(instance!, acceptedType, instances, request);
      if (syntax === null) continue;
      const file = await instances.streamFile(instance!, syntax, request);
      const headers = { 'Cache-Control': 'private, no-cache' };
      if (!acceptedType.isMultipart && acceptedType.type !== '*/*') return fileReply(request, file, mediaTypeOf(syntax), headers);
      const boundary = newBoundary();
      const { range: _range, ...otherHeaders } = request.headers;
      return fileReply(
        { headers: otherHeaders },
        wrapInPart(file, mediaTypeOf(syntax), boundary),
        multipartType(dicomType, boundary),
        headers,
      );
    }
    const { fileSyntaxes } = await instances.loadSyntaxesAndFrameCount(instance!, request);
    return throwNotAcceptable(
      'The instance',
      fileSyntaxes.map((syntax) => `multipart/related; type="${dicomType}"; transfer-syntax=${syntax}`),
    );
  },
});

const defineInstancesRoute = (path: string, params: typeof studyPath | typeof seriesPath, summary: string) =>
  defineRoute({
    ...commonRouteFields,
    path,
    summary,
    params: params as typeof seriesPath,
    returns: { types: ['multipart/related'] },
    errors: retrieveErrors,
    authorize: loadInstances,
    async handle(request, { instances }) {
      const acceptedType = acceptedTypes(request).find(
        ({ type, isMultipart }) => (isMultipart || type === '*/*') && matchesType(type, dicomType),
      );
      if (acceptedType === undefined) return throwNotAcceptable('Several instances', [`multipart/related; type="${dicomType}"`]);
      const { authorized } = request;
      const syntaxes = await Promise.all(authorized.map((instance) => chooseSyntax(instance, acceptedType, instances, request)));
      const missingIndex = syntaxes.indexOf(null);
      if (missingIndex >= 0) {
        const { fileSyntaxes } = await instances.loadSyntaxesAndFrameCount(authorized[missingIndex]!, request);
        return throwNotAcceptable(
          'An instance',
          fileSyntaxes.map((syntax) => `multipart/related; type="${dicomType}"; transfer-syntax=${syntax}`),
        );
      }
      const root = serviceRoot(request);
      const yieldParts = async function* (): AsyncGenerator<Part> {
        for (const [index, instance] of authorized.entries()) {
          const syntax = syntaxes[index]!;
          const file = await instances.streamFile(instance, syntax, request);
          yield { type: mediaTypeOf(syntax), location: addressOf(root, uidsOf(instance)), body: streamBytes(file) };
        }
      };
      const boundary = newBoundary();
      return Reply.stream(multipartBody(yieldParts(), boundary), multipartType(dicomType, boundary));
    },
  });

const studyInstances = defineInstancesRoute(
  '/dicomweb/studies/:study',
  studyPath,
  'Get all instances of a study as DICOM files (WADO-RS).',
);
const seriesInstances = defineInstancesRoute(
  '/dicomweb/studies/:study/series/:series',
  seriesPath,
  'Get all instances of a series as DICOM files (WADO-RS).',
);

const defineStoreRoute = (path: string, params: Partial<typeof studyPath>) =>
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

/** Routes for whole instances. */
export const instanceRoutes = [
  instanceFile,
  studyInstances,
  seriesInstances,
  defineStoreRoute('/dicomweb/studies', {}),
  defineStoreRoute('/dicomweb/studies/:study', studyPath),
];
