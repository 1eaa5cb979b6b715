// @ts-check
import { h, icon } from '../dom.js';

/**
 * A button that opens the file dialog.
 *
 * @param {(files: File[]) => void} onFiles
 */
export function fileButton(onFiles) {
  const input = h('input', {
    type: 'file',
    multiple: true,
    class: 'visually-hidden',
    tabindex: -1,
    'aria-label': 'Files to upload',
  });
  input.addEventListener('change', () => {
    onFiles([...(input.files ?? [])]);
    // The same file can be chosen again.
    input.value = '';
  });
  const button = h(
    'button',
    { class: 'button primary', type: 'button', onclick: () => input.click() },
    icon('upload'),
    'Upload files',
  );
  return h('span', {}, button, input);
}

/**
 * Takes files that are dropped anywhere on the page, until the signal aborts.
 *
 * @param {object} options
 * @param {string} options.name of the folder they go to
 * @param {AbortSignal} options.signal
 * @param {(files: File[]) => void} options.onFiles
 */
export function acceptDrops({ name, signal, onFiles }) {
  const hint = h(
    'div',
    { class: 'drop-hint', hidden: true },
    h('div', {}, icon('upload'), h('p', {}, `Drop to upload to “${name}”`)),
  );
  document.body.append(hint);
  signal.addEventListener('abort', () => hint.remove(), { once: true });
  // Each element under the pointer reports its own entering and leaving, so only their balance says whether the files are here.
  let depth = 0;
  on('dragenter', () => {
    depth += 1;
    hint.hidden = false;
  });
  on('dragleave', () => {
    depth = Math.max(0, depth - 1);
    hint.hidden = depth === 0;
  });
  on('dragover', () => {});
  on('drop', (event) => {
    depth = 0;
    hint.hidden = true;
    const files = droppedFiles(event.dataTransfer);
    if (files.length > 0) onFiles(files);
  });

  /** @param {'dragenter' | 'dragover' | 'dragleave' | 'drop'} type @param {(event: DragEvent) => void} listener */
  function on(type, listener) {
    addEventListener(
      type,
      (event) => {
        if (!event.dataTransfer?.types.includes('Files')) return;
        event.preventDefault();
        listener(event);
      },
      { signal },
    );
  }
}

/**
 * What was dropped, without folders: a browser hands them over as files that cannot be read.
 *
 * @param {DataTransfer | null} transfer
 */
function droppedFiles(transfer) {
  return [...(transfer?.items ?? [])].flatMap((item) => {
    const file = item.webkitGetAsEntry()?.isDirectory ? null : item.getAsFile();
    return file ? [file] : [];
  });
}
