// @ts-check
import { request } from '../api.js';
import { announce, fill, h, icon, messageOf } from '../dom.js';
import { formatBytes } from '../format.js';
import { uploadFile } from './upload.js';

/** Files sent at the same time; more would only share the same line. */
const concurrentUploads = 2;

/** @type {(() => Promise<void>)[]} */
const waiting = [];
let running = 0;

const tray = /** @type {HTMLElement} */ (document.getElementById('uploads'));
const rows = h('ul', { class: 'upload-list' });
const closeTray = h(
  'button',
  { class: 'button icon-button quiet', type: 'button', 'aria-label': 'Close the list of uploads' },
  icon('close'),
);
closeTray.addEventListener('click', () => {
  tray.hidden = true;
  rows.replaceChildren();
});
const heading = h('h2', {}, 'Uploads');
fill(tray, h('div', { class: 'uploads-heading' }, heading, closeTray), rows);

addEventListener('beforeunload', (event) => {
  if (running > 0) event.preventDefault();
});

/**
 * Uploads files into a folder and shows how each of them gets on.
 *
 * @param {object} options
 * @param {{ _id: string, name: string }} options.folder
 * @param {File[]} options.files
 * @param {() => void} options.onStored called after each file that has arrived
 */
export function uploadTo({ folder, files, onStored }) {
  for (const file of files) {
    const row = uploadRow(file, folder.name);
    rows.append(row.element);
    row.start = () => {
      const leave = row.begin();
      waiting.push(() => run({ folderId: folder._id, file, row, leave, onStored }));
      next();
    };
    row.start();
  }
  tray.hidden = rows.childElementCount === 0;
}

function next() {
  showCount();
  while (running < concurrentUploads) {
    const task = waiting.shift();
    if (!task) return;
    running += 1;
    showCount();
    void task().finally(() => {
      running -= 1;
      next();
    });
  }
}

function showCount() {
  const open = running + waiting.length;
  heading.textContent = open === 0 ? 'Uploads' : `Uploading ${open} ${open === 1 ? 'file' : 'files'}`;
  // The list cannot be put away while something in it can still be cancelled.
  closeTray.hidden = open > 0;
}

/** @param {{ folderId: string, file: File, row: ReturnType<typeof uploadRow>, leave: AbortController, onStored: () => void }} task */
async function run({ folderId, file, row, leave, onStored }) {
  try {
    leave.signal.throwIfAborted();
    const { signal } = leave;
    const itemId = await uploadFile({ folderId, file, onProgress: (progress) => row.progress(progress), signal });
    // The upload is complete, whatever becomes of this question.
    const item = itemId === null ? {} : await request('GET', `item/${itemId}`).catch(() => ({}));
    if (item.largeImageRefused) row.end('unreadable', `Uploaded, but not readable as an image. ${item.largeImageRefused}`);
    else row.end('done', 'Uploaded');
    announce(`${file.name} is uploaded`);
    onStored();
  } catch (error) {
    if (leave.signal.aborted) row.end('cancelled', 'Cancelled');
    else row.end('failed', messageOf(error));
  }
}

/**
 * @param {File} file
 * @param {string} folderName
 */
function uploadRow(file, folderName) {
  const bar = h('progress', { max: Math.max(1, file.size), value: 0, 'aria-label': `Upload of ${file.name}` });
  const status = h('span', { class: 'upload-status' });
  const cancel = h(
    'button',
    { class: 'button icon-button quiet', type: 'button', 'aria-label': `Cancel ${file.name}` },
    icon('close'),
  );
  const retry = h(
    'button',
    { class: 'button icon-button quiet', type: 'button', 'aria-label': `Upload ${file.name} again` },
    icon('retry'),
  );
  const element = h(
    'li',
    { class: 'upload' },
    h('span', { class: 'upload-name', title: `${file.name} to ${folderName}` }, file.name),
    h('span', { class: 'upload-buttons' }, retry, cancel),
    bar,
    status,
  );
  /** @type {AbortController | null} */
  let leave = null;
  const row = {
    element,
    start: () => {},
    begin() {
      leave = new AbortController();
      element.dataset.state = 'running';
      retry.hidden = true;
      cancel.hidden = false;
      bar.value = 0;
      status.textContent = 'Waiting…';
      return leave;
    },
    /** @param {import('./upload.js').Progress} progress */
    progress({ sent, waiting: reason }) {
      bar.value = sent;
      const finishing = sent >= file.size ? 'Finishing…' : `${formatBytes(sent)} of ${formatBytes(file.size)}`;
      status.textContent = reason ?? finishing;
    },
    /** @param {'done' | 'unreadable' | 'failed' | 'cancelled'} state @param {string} text */
    end(state, text) {
      element.dataset.state = state;
      status.textContent = text;
      if (state === 'failed') announce(`${file.name}: ${text}`);
      cancel.hidden = true;
      retry.hidden = state === 'done' || state === 'unreadable';
      if (retry.hidden) bar.value = bar.max;
    },
  };
  cancel.addEventListener('click', () => leave?.abort());
  retry.addEventListener('click', () => row.start());
  return row;
}
