import { tell } from './dom.js';

/**
 * Copies a text to the clipboard, and says so.
 *
 * @param otherwise called if the browser forbids it: it is allowed only on secure pages, and the user may be asked
 */
export async function copyText(text: string, doneText: string, otherwise: () => void) {
  try {
    await navigator.clipboard.writeText(text);
    tell(doneText);
  } catch {
    otherwise();
  }
}
