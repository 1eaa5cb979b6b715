import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Folder for downloaded programs: `LARGE_IMAGE_CACHE_DIR`, otherwise `express-large-image` in the user's cache folder
 * (`XDG_CACHE_HOME`, `LOCALAPPDATA` on Windows, `~/.cache`).
 */
export function cacheDirectory(env: Readonly<Record<string, string | undefined>>): string {
  if (env.LARGE_IMAGE_CACHE_DIR) return resolve(env.LARGE_IMAGE_CACHE_DIR);
  const userCacheDirectory = env.XDG_CACHE_HOME || env.LOCALAPPDATA || join(homedir(), '.cache');
  return join(resolve(userCacheDirectory), 'express-large-image');
}
