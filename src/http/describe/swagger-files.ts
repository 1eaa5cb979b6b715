import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/** Files of swagger-ui-dist that the page is made of. They are built into this package, since that one brings telemetry. */
export const swaggerFiles = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

/** One of {@link swaggerFiles}: beside the built program, compressed; in the sources, from the package itself. */
export async function readSwaggerFile(name: string): Promise<Buffer> {
  try {
    return await promisify(brotliDecompress)(await readFile(new URL(`./swagger-ui/${name}.br`, import.meta.url)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return readFile(join(folder, name));
}
