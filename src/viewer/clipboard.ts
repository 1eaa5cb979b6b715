import { showMessage } from './dom.js';

/**
 * Copies a text to the clipboard, and shows `doneText`.
 *
 * @param onForbidden called if the browser forbids copying. Browsers allow copying only on secure pages, and may ask the user
 */
export async function copyText(text: string, doneText: string, onForbidden: () => void) {
  try {
    await navigator.clipboard.writeText(text);
    showMessage(doneText);
  } catch {
    onForbidden();
  }
}
