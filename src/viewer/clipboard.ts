import { tell } from './dom.js';

/**
 * Copies a text to the clipboard, and says so.
 *
 * @param otherwise called if the browser forbids it: it allows this only on secure pages, and may ask the user
 */
export async function copyText(text: string, doneText: string, otherwise: () => void) {
  try {
    await navigator.clipboard.writeText(text);
    tell(doneText);
  } catch {
    otherwise();
  }
}
