/** Whether a write failed because a unique index has the key already. Engines on PostgreSQL may say so by the name of their constraint. */
export function isDuplicateKey(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && error.code === 11000) || error.message.includes('violates exclusion constraint');
}
