import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { extname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Application, Request, Response } from 'express';
import { escapeHtml } from './http/escape-html.js';
import { bundleViewer, viewerSources } from './viewer-bundle.js';

/** Properties of the host that the page needs. */
export interface ViewerOptions {
  /** Path of the REST API, without trailing slash. */
  apiRoot: string;
  /** Name in the heading and in the window's title. */
  title: () => Promise<string>;
}

/** Content types by file extension. Files with other extensions are not served. */
const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Allows only resources from this origin, and images also in `data:` and `blob:` addresses. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const securityHeaders = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
};

/** The address of an asset changes with its bytes, so a copy never becomes outdated. */
const immutableHeaders = { ...securityHeaders, 'Cache-Control': 'public, max-age=31536000, immutable' };

/** The scripts by name, bundled once for all hosts in this process. */
let bundledScripts: Promise<Map<string, Buffer>> | null = null;

interface Asset {
  bytes: Buffer;
  type: string;
}

/** The page, and the files that it loads by name. */
export interface ViewerFiles {
  assets: Map<string, Asset>;
  template: string;
  /** The texts of the template by language, English first. */
  texts: Record<string, Record<string, string>>;
}

/**
 * Reads the viewer page once, so that no part of a request's path reaches the disk. In a built package the scripts are bundled
 * already; from the sources they are bundled here.
 *
 * @throws if the folder of the page is missing
 */
export async function readViewer(): Promise<ViewerFiles> {
  // The build puts this folder next to the chunk that contains this file.
  const builtFolder = fileURLToPath(new URL('./viewer/', import.meta.url));
  const folder = existsSync(builtFolder) ? builtFolder : viewerSources;
  const readText = (name: string) => readFile(join(folder, name), 'utf8');
  const [assets, template, textsJson] = await Promise.all([
    readAssets(folder),
    readText('index.html'),
    readText('page-texts.json'),
  ]);
  if (folder === viewerSources) {
    bundledScripts ??= bundleViewer();
    for (const [name, bytes] of await bundledScripts) assets.set(name, { bytes, type: contentTypes['.js']! });
  }
  return { assets, template, texts: JSON.parse(textsJson) };
}

/** Serves the viewer page at `/` and its scripts, styles and pictures below `/viewer/`. */
export function mountViewer(
  app: Pick<Application, 'get'>,
  { assets, template, texts }: ViewerFiles,
  options: ViewerOptions,
): void {
  const assetPath = `/viewer/${hashParts([...assets].flatMap(([name, { bytes }]) => [name, bytes]))}`;
  // Both paths are relative to the address of the page, which a proxy may serve below any path.
  const fixedValues = { apiRoot: options.apiRoot.slice(1), assets: assetPath.slice(1) };
  const languages = Object.keys(texts);

  app.get('/', async (request: Request, response: Response) => {
    // The script of the page reads the language from the page, and loads its texts.
    const language = request.acceptsLanguages(languages) || 'en';
    const page = fillTemplate(template, { ...fixedValues, ...texts[language], language, title: await options.title() });
    response
      .set({ ...securityHeaders, 'Cache-Control': 'no-cache', 'Content-Language': language })
      .vary('Accept-Language')
      .type('html')
      .send(page);
  });
  app.get(`${assetPath}/*path`, (request: Request, response: Response, next: () => void) => {
    const asset = assets.get(request.path.slice(assetPath.length + 1));
    if (asset === undefined) {
      next();
      return;
    }
    response.set({ ...immutableHeaders, 'Content-Type': asset.type }).send(asset.bytes);
  });
}

async function readAssets(folder: string): Promise<Map<string, Asset>> {
  const names = (await readdir(folder, { recursive: true })).toSorted();
  const assets = new Map<string, Asset>();
  for (const name of names) {
    const type = contentTypes[extname(name)];
    if (type === undefined) continue;
    assets.set(name.split(sep).join(posix.sep), { bytes: await readFile(join(folder, name)), type });
  }
  return assets;
}

/** A hash of all parts, for the address of the assets. */
function hashParts(parts: (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 16);
}

function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{\{(\w+)\}\}/g, (_placeholder, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`The viewer page needs a value for {{${name}}}.`);
    return escapeHtml(value);
  });
}
