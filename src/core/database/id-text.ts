/** The text of an id, which may be a string or an ObjectId. Empty for other values. */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  const isObjectId = typeof id === 'object' && id !== null && 'toHexString' in id && typeof id.toHexString === 'function';
  return isObjectId ? (id as { toHexString(): string }).toHexString() : '';
}
