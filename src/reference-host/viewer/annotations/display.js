// @ts-check

/**
 * How the reader wants an annotation to be shown.
 *
 * @typedef {object} Display
 * @property {boolean} [visible] where the reader has said so
 * @property {number} opacity from 0 to 1
 * @property {Set<string | null>} hidden groups that are not shown; `null`: shapes without a group
 */

/** @type {Map<string, Display>} */
const displays = new Map();

/** What is kept while the page is open, so that nothing comes back that was hidden. @param {string} annotationId */
export function displayOf(annotationId) {
  const display = displays.get(annotationId) ?? { opacity: 1, hidden: new Set() };
  displays.set(annotationId, display);
  return display;
}
