import { NotFoundError } from '../../errors.js';
import { required, text } from '../parameters.js';
import { Reply } from '../reply.js';
import { routeDefiner } from '../route.js';
import { anyObject } from '../schemas.js';
import type { ApiDocuments } from './documents.js';
import { readSwaggerFile } from './swagger-files.js';

interface DescribeContext {
  documents: ApiDocuments;
  title: string;
}

const defineRoute = routeDefiner<DescribeContext>();

/** Media types of the files that the page loads, by file name. */
const assets: Readonly<Record<string, string>> = {
  'describe.js': 'text/javascript; charset=utf-8',
  'describe.css': 'text/css; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const script = `const url = document.getElementById('api').dataset.url;
SwaggerUIBundle({ url, dom_id: '#api', docExpansion: 'none', filter: true, tagsSorter: 'alpha' });
// Adds accessibility features that the library lacks: names of inputs, and headings in order.
const complete = () => {
  document.getElementById('servers')?.setAttribute('aria-label', 'Server');
  document.querySelector('.operation-filter-input')?.setAttribute('aria-label', 'Filter by tag');
  for (const part of document.querySelectorAll('.information-container, .scheme-container, .filter-container')) {
    part.setAttribute('role', 'region');
    part.setAttribute('aria-label', part.classList[0].replace('-container', ''));
  }
  for (const title of document.querySelectorAll('.opblock-tag, #api h4')) title.setAttribute('aria-level', '2');
};
new MutationObserver(complete).observe(document.getElementById('api'), { childList: true, subtree: true });
`;

/** Colors with enough contrast, where the colors of the library have too little. */
const style = `.swagger-ui .info .title small { background: #5a6170; }
.swagger-ui .info .title small.version-stamp { background: #4a6b00; }
.swagger-ui .info .title small pre { color: #fff; }
.swagger-ui .info a, .swagger-ui .info .url { color: #1d5fb4; }
.swagger-ui .btn.authorize { border-color: #1b7f4b; color: #1b7f4b; }
.swagger-ui .operation-filter-input::placeholder { color: #5a6170; opacity: 1; }
`;

/** Contents of the files that are not part of swagger-ui-dist, by file name. */
const ownFiles: Readonly<Record<string, string>> = { 'describe.js': script, 'describe.css': style };

/** Forbids content from other origins, inline scripts and frames. Pictures can be `data:` URLs, as in the style sheet. */
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

function renderPage(root: string, title: string): string {
  const escape = (value: string) => value.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const apiPath = escape(root);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escape(title)}</title>
<link rel="stylesheet" href="${apiPath}/describe/assets/swagger-ui.css">
<link rel="stylesheet" href="${apiPath}/describe/assets/describe.css">
<link rel="icon" href="${apiPath}/describe/assets/favicon-32x32.png">
</head>
<body>
<div id="api" data-url="${apiPath}/describe/openapi.json"></div>
<script src="${apiPath}/describe/assets/swagger-ui-bundle.js"></script>
<script src="${apiPath}/describe/assets/describe.js"></script>
</body>
</html>
`;
}

const describe = defineRoute({
  method: 'get',
  path: '/describe',
  summary: 'Get the description of this API: a web page for browsers, Swagger 2.0 for programs.',
  access: 'public',
  returns: { schema: anyObject },
  handle({ headers, origin, root }, { documents, title }) {
    const wantsPage = (headers.accept ?? '').split(',', 1)[0]!.trim().startsWith('text/html');
    if (wantsPage) return Reply.content(renderPage(root, title), 'text/html; charset=utf-8', { headers: pageHeaders });
    return Reply.content(documents.swagger2(origin, root), 'application/json');
  },
});

const openApi = defineRoute({
  method: 'get',
  path: '/describe/openapi.json',
  summary: 'Get the description of this API as OpenAPI 3.1.',
  access: 'public',
  returns: { schema: anyObject },
  handle: ({ root }, { documents }) => Reply.content(documents.openApi3(root), 'application/json'),
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
    const bytes = ownFiles[params.name] ?? (await readSwaggerFile(params.name));
    return Reply.content(bytes, type, { headers: { 'Cache-Control': 'public, max-age=86400' } });
  },
});

/** The routes that describe the API, for people and for programs. */
export const describeRoutes = [describe, openApi, asset];
