/**
 * Whether a write failed because a unique index already has the key. Servers that store in PostgreSQL may report that by the name
 * of their constraint.
 */
export function isDuplicateKey(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 11000) || error.message.includes('violates exclusion constraint');
}
