/** Text of an id, whatever the host keeps ids as; empty for what is none. */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  const isObjectId = typeof id === 'object' && id !== null && 'toHexString' in id && typeof id.toHexString === 'function';
  return isObjectId ? (id as { toHexString(): string }).toHexString() : '';
}
