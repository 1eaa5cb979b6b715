/** How the reader wants an annotation to be shown. */
export interface Display {
  /** where the reader has said so */
  visible?: boolean;
  /** from 0 to 1 */
  opacity: number;
  /** groups that are not shown; `null`: shapes without a group */
  hidden: Set<string | null>;
}

const displays: Map<string, Display> = new Map();

/** What is kept while the page is open, so that nothing comes back that was hidden. */
export function displayOf(annotationId: string) {
  const display = displays.get(annotationId) ?? { opacity: 1, hidden: new Set() };
  displays.set(annotationId, display);
  return display;
}
