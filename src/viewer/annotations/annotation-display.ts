import { plainColoring, type Coloring } from './coloring/coloring.js';

/** The user's choices for the display of an annotation. */
export interface Display {
  /** missing if the user has neither shown nor hidden the annotation */
  visible?: boolean;
  /** from 0 to 1 */
  opacity: number;
  /** names of the hidden groups; `null` stands for the shapes without a group */
  hiddenGroups: Set<string | null>;
  coloring: Coloring;
}

const displays: Map<string, Display> = new Map();

/** The display of an annotation. The choices are kept while the page is open, so that hidden annotations stay hidden. */
export function displayOf(annotationId: string) {
  const display = displays.get(annotationId) ?? { opacity: 1, hiddenGroups: new Set(), coloring: plainColoring };
  displays.set(annotationId, display);
  return display;
}
