import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder with the sources of the viewer's page and element. A built package does not have it. */
export const viewerSources = fileURLToPath(new URL('../viewer/', import.meta.url));

/**
 * Bundles the scripts for browsers, which takes a fraction of a second. `app.js` runs the page of the reference host, and `element.js` defines
 * the element for any page. Further scripts contain the parts that these two share.
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

/** Writes everything that the page and the element need into a folder: scripts, styles, pictures, texts and the template. */
export async function writeViewer(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const servedPaths = /\.(css|html|svg)$|\/page-texts\.json$|\/(style)?$/;
  await cp(viewerSources, folder, { recursive: true, filter: (path) => servedPaths.test(path) });
  for (const [name, bytes] of await bundleViewer()) await writeFile(join(folder, name), bytes);
}
