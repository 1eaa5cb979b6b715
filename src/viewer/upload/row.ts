import { announce, button, h, nameText } from '../dom.js';
import { formatBytes } from '../format.js';
import { uploadTexts } from '../texts.js';
import type { Progress } from './upload.js';

/** The row of a file in the list of uploads. */
export function uploadRow(file: File, folderName: string) {
  const bar = h('progress', { max: Math.max(1, file.size), value: 0, 'aria-label': uploadTexts.ofFile(file.name) });
  const status = h('span.upload-status.quiet-text.small');
  const cancel = button('', () => leave?.abort(), { picture: 'close', name: uploadTexts.cancel(file.name) });
  const retry = button('', () => row.start(), { picture: 'retry', name: uploadTexts.again(file.name) });
  const element = h(
    'li.upload',
    h('span.upload-name.break.small.strong', { title: uploadTexts.to(file.name, folderName) }, nameText(file.name)),
    h('span.upload-buttons', retry, cancel),
    bar,
    status,
  );
  let leave: AbortController | null = null;
  const row = {
    element,
    start: () => {},
    begin() {
      leave = new AbortController();
      element.dataset.state = 'running';
      retry.hidden = true;
      cancel.hidden = false;
      bar.value = 0;
      status.textContent = uploadTexts.waiting;
      return leave.signal;
    },
    progress({ sent, waiting }: Progress) {
      bar.value = sent;
      const [done, all] = [formatBytes(sent), formatBytes(file.size)];
      status.textContent = waiting ?? (sent >= file.size ? uploadTexts.finishing : uploadTexts.ofBytes(done, all));
    },
    end(state: 'done' | 'unreadable' | 'failed' | 'cancelled', text: string) {
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
