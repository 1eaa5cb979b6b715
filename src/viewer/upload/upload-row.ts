import { announce, button, h, nameText } from '../dom.js';
import { formatBytes } from '../format.js';
import { uploadTexts } from '../texts.js';
import { isSameFile, type UnfinishedUpload } from './unfinished-uploads.js';
import type { Progress } from './upload.js';

/** The row of a file in the list of uploads. */
export function uploadRow(file: File, folderPath: string) {
  const bar = h('progress', { max: Math.max(1, file.size), value: 0, 'aria-label': uploadTexts.ofFile(file.name) });
  const status = h('span.upload-status.quiet-text.small');
  const cancelButton = button('', () => controller?.abort(), { icon: 'close', name: uploadTexts.cancel(file.name) });
  const retryButton = button('', () => row.start(), { icon: 'retry', name: uploadTexts.again(file.name) });
  const element = h(
    'li.upload',
    h('span.upload-name.break.small.strong', { title: uploadTexts.to(file.name, folderPath) }, nameText(file.name)),
    h('span.upload-buttons', retryButton, cancelButton),
    bar,
    status,
  );
  let controller: AbortController | null = null;
  const row = {
    element,
    /** starts the upload; the caller must set this function */
    start: () => {},
    /** Shows that the upload waits for its turn. @returns a signal that the user aborts by canceling */
    showWaiting() {
      controller = new AbortController();
      element.dataset.state = 'running';
      retryButton.hidden = true;
      cancelButton.hidden = false;
      bar.value = 0;
      status.textContent = uploadTexts.waiting;
      return controller.signal;
    },
    showProgress({ sentBytes, waitingReason }: Progress) {
      bar.value = sentBytes;
      const [sentText, totalText] = [formatBytes(sentBytes), formatBytes(file.size)];
      status.textContent =
        waitingReason ?? (sentBytes >= file.size ? uploadTexts.finishing : uploadTexts.ofBytes(sentText, totalText));
    },
    showEnd(state: 'done' | 'unreadable' | 'failed' | 'canceled', text: string) {
      element.dataset.state = state;
      status.textContent = text;
      if (state === 'failed') announce(`${file.name}: ${text}`);
      cancelButton.hidden = true;
      retryButton.hidden = state === 'done' || state === 'unreadable';
      if (retryButton.hidden) bar.value = bar.max;
    },
  };
  return row;
}

/** The row of an unfinished upload from an earlier visit. */
export function unfinishedRow(
  upload: UnfinishedUpload & { sentBytes: number },
  { onFile, onDiscard }: { onFile: (file: File) => void; onDiscard: () => void },
) {
  const { name, place, size, sentBytes } = upload;
  const status = h('span.upload-status.quiet-text.small', uploadTexts.unfinished(formatBytes(sentBytes), formatBytes(size)));
  const input = h('input.visually-hidden', {
    type: 'file',
    tabindex: -1,
    'aria-label': uploadTexts.chooseAgain(name),
    onchange: () => {
      const [file] = input.files ?? [];
      if (file && isSameFile(upload, file)) return onFile(file);
      input.value = '';
      status.textContent = uploadTexts.otherFile;
      announce(uploadTexts.otherFile);
    },
  });
  return h(
    'li.upload',
    { 'data-state': 'unfinished' },
    h('span.upload-name.break.small.strong', { title: uploadTexts.to(name, place) }, nameText(name)),
    h(
      'span.upload-buttons',
      button('', () => input.click(), { icon: 'file', name: uploadTexts.chooseAgain(name) }),
      button('', onDiscard, { icon: 'close', name: uploadTexts.discard(name) }),
    ),
    h('progress', { max: Math.max(1, size), value: sentBytes, 'aria-label': uploadTexts.ofFile(name) }),
    status,
    input,
  );
}
