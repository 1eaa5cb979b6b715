/** Text of an id, whatever type the host's ids have; empty for other values. */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  const isObjectId = typeof id === 'object' && id !== null && 'toHexString' in id && typeof id.toHexString === 'function';
  return isObjectId ? (id as { toHexString(): string }).toHexString() : '';
}
