/**
 * Returns the document, with a {@link defaultName} if its name is missing, null or empty. A document without any members gets no name.
 * Values that are not objects are returned unchanged.
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
