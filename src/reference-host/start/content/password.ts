import { randomBytes } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Reads the password of `admin` from the data folder. If there is none, a password is generated and stored in a file that only its owner
 * can read.
 */
export async function readOrCreatePassword(dataDirectory: string): Promise<{ password: string; path: string }> {
  const path = join(dataDirectory, 'admin-password');
  const fileText = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  if (fileText.trim().length >= 6) return { password: fileText.trim(), path };
  const password = randomBytes(12).toString('base64url');
  const file = await open(path, 'w', 0o600);
  try {
    // The mode above has no effect on a file that already exists.
    await file.chmod(0o600);
    await file.writeFile(`${password}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  return { password, path };
}
