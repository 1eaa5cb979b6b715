import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

/**
 * Files of swagger-ui-dist that the page uses. They are built into this package, because swagger-ui-dist itself would bring
 * telemetry.
 */
export const swaggerFiles = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png'] as const;

/**
 * Reads one of {@link swaggerFiles}. The built package contains the compressed files. When the sources run without a build, the
 * files are read from swagger-ui-dist.
 */
export async function readSwaggerFile(name: string): Promise<Buffer> {
  try {
    return await promisify(brotliDecompress)(await readFile(new URL(`./swagger-ui/${name}.br`, import.meta.url)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return readFile(join(folder, name));
}
