import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const folder = process.env.LARGE_IMAGE_TEST_DATA ?? join(root, '..', 'shared', 'data');

/** The path of a real test image, or `null`, after printing a message, if the folder of real images does not have it. */
export function sampleFile(name: string): string | null {
  const path = join(folder, name);
  if (existsSync(path)) return path;
  console.warn(`skipped: ${name} is not in ${folder}; set LARGE_IMAGE_TEST_DATA to the folder of real images`);
  return null;
}
