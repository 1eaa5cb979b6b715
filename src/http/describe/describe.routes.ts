import { NotFoundError } from '../../errors.js';
import { required, text } from '../parameters.js';
import { Reply } from '../reply.js';
import { routeDefiner, type RouteOutline } from '../route.js';
import { anyObject } from '../schemas.js';
import { openApi3, swagger2, type ApiInfo } from './openapi.js';
import { readSwaggerFile } from './swagger-files.js';

/** What is described. */
interface DescribeContext {
  /** The routes of plugin and host, as they are at the time of the request. */
  routes(): readonly RouteOutline[];
  apiRoot: string;
  title: string;
  version: string;
  /** Word that names the product on the wire. */
  brand: string;
}

const defineRoute = routeDefiner<DescribeContext>();

/** Files of the page that browsers show, by name, with their media types. */
const assets: Readonly<Record<string, string>> = {
  'describe.js': 'text/javascript; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const script = `const url = document.getElementById('api').dataset.url;
SwaggerUIBundle({ url, dom_id: '#api', docExpansion: 'none', filter: true, tagsSorter: 'alpha' });
`;

/** Nothing from elsewhere, no script in the page itself, in no frame. The pictures of the style sheet are in it as `data:`. */
const pageHeaders = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
};

function infoOf({ apiRoot, title, version, brand }: DescribeContext, origin: string): ApiInfo {
  const { host, protocol } = new URL(origin);
  return { title, version, basePath: apiRoot, brand, host, scheme: protocol === 'https:' ? 'https' : 'http' };
}

function page({ apiRoot, title }: DescribeContext): string {
  const escaped = title.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped}</title>
<link rel="stylesheet" href="${apiRoot}/describe/assets/swagger-ui.css">
<link rel="icon" href="${apiRoot}/describe/assets/favicon-32x32.png">
</head>
<body>
<div id="api" data-url="${apiRoot}/describe/openapi.json"></div>
<script src="${apiRoot}/describe/assets/swagger-ui-bundle.js"></script>
<script src="${apiRoot}/describe/assets/describe.js"></script>
</body>
</html>
`;
}

const describe = defineRoute({
  method: 'get',
  path: '/describe',
  summary: 'Get the description of this API: a page for browsers, Swagger 2.0 for programs.',
  access: 'public',
  returns: { schema: anyObject },
  handle({ headers, origin }, context) {
    const wantsPage = (headers.accept ?? '').split(',', 1)[0]!.trim().startsWith('text/html');
    if (wantsPage) return Reply.content(page(context), 'text/html; charset=utf-8', { headers: pageHeaders });
    return swagger2(context.routes(), infoOf(context, origin));
  },
});

const openApi = defineRoute({
  method: 'get',
  path: '/describe/openapi.json',
  summary: 'Get the description of this API as OpenAPI 3.1.',
  access: 'public',
  returns: { schema: anyObject },
  handle: ({ origin }, context) => openApi3(context.routes(), infoOf(context, origin)),
});

const asset = defineRoute({
  method: 'get',
  path: '/describe/assets/:name',
  summary: 'Get a file of the page that shows this description.',
  access: 'public',
  params: { name: required(text()) },
  returns: { types: Object.values(assets) },
  errors: ['not-found'],
  async handle({ params }) {
    const type = Object.hasOwn(assets, params.name) ? assets[params.name] : undefined;
    if (type === undefined) throw new NotFoundError(`There is no file ${params.name} here.`);
    const bytes = params.name === 'describe.js' ? script : await readSwaggerFile(params.name);
    return Reply.content(bytes, type, { headers: { 'Cache-Control': 'public, max-age=86400' } });
  },
});

/** The API described to people and programs. */
export const describeRoutes = [describe, openApi, asset];
