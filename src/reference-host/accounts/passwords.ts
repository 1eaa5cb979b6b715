import { createHash } from 'node:crypto';
import bcrypt from 'bcryptjs';

/** bcrypt reads 72 bytes and stops at NUL; a digest in its place lets every character of a password count. */
function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}

/** The hash of a password that is kept. `cost`: rounds, as a power of two. */
export function hashPassword(password: string, cost: number): Promise<string> {
  return bcrypt.hash(digest(password), cost);
}

/** Whether a password belongs to a hash. Without a hash the answer is no, and takes as long as with one. */
export async function checkPassword(password: string, hash: string | null, cost: number): Promise<boolean> {
  if (hash !== null) return bcrypt.compare(digest(password), hash);
  await bcrypt.hash(digest(password), cost);
  return false;
}
