import { announce, button, h, nameText } from '../dom.js';
import { formatBytes } from '../format.js';
import { uploadTexts } from '../texts.js';
import { isSameFile, type UnfinishedUpload } from './unfinished-uploads.js';
import type { Progress } from './upload.js';

/** The row of a file in the list of uploads. */
export function uploadRow(file: File, folderPath: string) {
  const bar = h('progress', { max: Math.max(1, file.size), value: 0, 'aria-label': uploadTexts.ofFile(file.name) });
  const status = h('span.upload-status.quiet-text.small');
  const cancel = button('', () => controller?.abort(), { icon: 'close', name: uploadTexts.cancel(file.name) });
  const retry = button('', () => row.start(), { icon: 'retry', name: uploadTexts.again(file.name) });
  const element = h(
    'li.upload',
    h('span.upload-name.break.small.strong', { title: uploadTexts.to(file.name, folderPath) }, nameText(file.name)),
    h('span.upload-buttons', retry, cancel),
    bar,
    status,
  );
  let controller: AbortController | null = null;
  const row = {
    element,
    /** starts the upload; set by the caller */
    start: () => {},
    /** Shows that the upload waits for its turn. @returns a signal that the user aborts by canceling */
    showWaiting() {
      controller = new AbortController();
      element.dataset.state = 'running';
      retry.hidden = true;
      cancel.hidden = false;
      bar.value = 0;
      status.textContent = uploadTexts.waiting;
      return controller.signal;
    },
    showProgress({ sent, waitingReason }: Progress) {
      bar.value = sent;
      const [sentText, totalText] = [formatBytes(sent), formatBytes(file.size)];
      status.textContent =
        waitingReason ?? (sent >= file.size ? uploadTexts.finishing : uploadTexts.ofBytes(sentText, totalText));
    },
    showEnd(state: 'done' | 'unreadable' | 'failed' | 'canceled', text: string) {
      element.dataset.state = state;
      status.textContent = text;
      if (state === 'failed') announce(`${file.name}: ${text}`);
      cancel.hidden = true;
      retry.hidden = state === 'done' || state === 'unreadable';
      if (retry.hidden) bar.value = bar.max;
    },
  };
  return row;
}

/** The row of an unfinished upload of an earlier visit. */
export function unfinishedRow(
  upload: UnfinishedUpload & { sent: number },
  { onFile, onDiscard }: { onFile: (file: File) => void; onDiscard: () => void },
) {
  const { name, place, size, sent } = upload;
  const status = h('span.upload-status.quiet-text.small', uploadTexts.unfinished(formatBytes(sent), formatBytes(size)));
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
    h('progress', { max: Math.max(1, size), value: sent, 'aria-label': uploadTexts.ofFile(name) }),
    status,
    input,
  );
}
