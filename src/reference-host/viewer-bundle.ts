import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The sources of the page and the element. A built package does not have them. */
export const viewerSources = fileURLToPath(new URL('../viewer/', import.meta.url));

/**
 * Bundles the scripts for browsers, in a fraction of a second: `app.js`, the page of the reference host, `element.js`, the element
 * for any page, and the parts that they share.
 *
 * @returns scripts by name
 */
export async function bundleViewer(): Promise<Map<string, Buffer>> {
  const { build, stop } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: viewerSources,
    entryPoints: ['app.ts', 'element.ts'],
    outdir: viewerSources,
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    loader: { '.css': 'text' },
  });
  // The bundler's process is stopped, so that it does not keep running on a server.
  await stop();
  return new Map(outputFiles.map(({ path, contents }) => [path.slice(viewerSources.length), Buffer.from(contents)]));
}

/** Writes the files of the page and the element into a folder: bundles, styles, the picture and the template. */
export async function writeViewer(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const servedPaths = /\.(css|html|svg)$|\/page-texts\.json$|\/(style)?$/;
  await cp(viewerSources, folder, { recursive: true, filter: (path) => servedPaths.test(path) });
  for (const [name, bytes] of await bundleViewer()) await writeFile(join(folder, name), bytes);
}
