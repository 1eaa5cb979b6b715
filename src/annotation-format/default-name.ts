/**
 * A document with the name that an annotation gets when its own is missing, null or empty: `Annotation YYYY-MM-DD HH:MM` in
 * UTC. A document with no key at all stays without a name. Anything but an object is given back as it is.
 */
export function withDefaultName(document: unknown, now: Date): unknown {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return document;
  const { name } = document as { name?: unknown };
  if (Object.keys(document).length === 0 || (name != null && name !== '')) return document;
  return { ...document, name: defaultName(now) };
}

/** `Annotation YYYY-MM-DD HH:MM` in UTC. */
export function defaultName(now: Date): string {
  return `Annotation ${now.toISOString().slice(0, 16).replace('T', ' ')}`;
}
