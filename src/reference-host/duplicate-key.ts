/**
 * Whether a write failed because a unique index already has the key. Database engines on PostgreSQL may report this as a violated exclusion
 * constraint, without the code.
 */
export function isDuplicateKey(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 11000) || error.message.includes('violates exclusion constraint');
}
