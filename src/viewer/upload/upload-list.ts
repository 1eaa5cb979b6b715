import { pause, request, type Query } from '../api.js';
import { findRefusal } from '../browse/item-card.js';
import { imageState } from '../browse/browse-model.js';
import { announce, button, fill, h, messageOf } from '../dom.js';
import { uploadTexts } from '../texts.js';
import { unfinishedRow, uploadRow } from './upload-row.js';
import { isSameFile, takeOverUploads, type UnfinishedUpload } from './unfinished-uploads.js';
import { discardUpload, uploadFile, type UploadOptions } from './upload.js';
import type { Upload } from './drop.js';

/** Maximum number of files that are sent at the same time. More files would only share the same connection. */
const maxConcurrentUploads = 2;

/** Delays before the page asks again whether an item has become an image or was refused. */
const itemCheckDelaysMs = [500, 2000, 8000];

/** Delays before the page looks again for unfinished uploads of closed tabs. */
const closedTabCheckDelaysMs = [500, 2000, 8000];

/** Functions that check refused items again. They are called when all files have arrived, because some of the files may be parts that the items lacked. */
const refusedChecks: (() => void)[] = [];

const waitingTasks: (() => Promise<void>)[] = [];
let runningCount = 0;

const uploadsElement = document.getElementById('uploads') as HTMLElement;
const rowList = h('ul.upload-list');
const heading = h('div.uploads-heading.row.between');
fill(uploadsElement, heading, rowList);

addEventListener('beforeunload', (event) => {
  if (runningCount > 0) event.preventDefault();
});

// When the user goes to another page, a list of only completed uploads is closed.
addEventListener('hashchange', () => {
  const areAllDone = [...rowList.querySelectorAll<HTMLElement>('.upload')].every(({ dataset }) => dataset.state === 'done');
  if (areAllDone && runningCount + waitingTasks.length === 0) closeList();
});

function closeList() {
  uploadsElement.hidden = true;
  rowList.replaceChildren();
}

/** Calls the listener when an upload has added a folder or an item to a folder, or when such an item has become an image. */
export function onUploaded(folderId: string, signal: AbortSignal, listener: (kind: 'folder' | 'item') => void) {
  const listen = ({ detail }: CustomEvent) => detail.folderId === folderId && listener(detail.kind);
  addEventListener('uploaded', listen as EventListener, { signal });
}

function reportUploaded(folderId: string, kind: 'folder' | 'item') {
  dispatchEvent(new CustomEvent('uploaded', { detail: { folderId, kind } }));
}

/** Uploads files into a folder, or into folders below it, and lists them with their progress. */
export function addUploads({ folder, uploads }: { folder: { _id: string; name: string }; uploads: Upload[] }) {
  const folderIdsByPath: Map<string, Promise<string>> = new Map();
  for (const { file, path } of uploads)
    addUpload({
      findFolderId: () => findOrCreateFolder(path),
      place: [folder.name, ...path].join(' / '),
      file,
      serverUpload: {},
    });

  /** The id of the folder at a path below the target folder. */
  function findOrCreateFolder(path: string[]): Promise<string> {
    const name = path.at(-1);
    if (name === undefined) return Promise.resolve(folder._id);
    const key = JSON.stringify(path);
    const folderId = folderIdsByPath.get(key);
    if (folderId) return folderId;
    const newFolderId = createFolder(path.slice(0, -1), name);
    folderIdsByPath.set(key, newFolderId);
    newFolderId.catch(() => folderIdsByPath.delete(key));
    return newFolderId;
  }

  async function createFolder(parentPath: string[], name: string) {
    const query = { parentType: 'folder', parentId: await findOrCreateFolder(parentPath), name, reuseExisting: true };
    const { _id } = await request('POST', 'folder', { query });
    reportUploaded(query.parentId, 'folder');
    return _id;
  }
}

/** Unfinished uploads of earlier visits, and their rows. */
let unfinishedUploads: { upload: UnfinishedUpload; element: HTMLElement }[] = [];

/** Lists the unfinished uploads of earlier visits. Each upload continues when its file is chosen again, in its row or for a new upload. */
export async function offerUnfinished() {
  await listUploadsOfClosedTabs();
  // Browsers may need some time to end a tab that was closed. Until then, its uploads count as uploads of an open tab.
  for (const delay of closedTabCheckDelaysMs) {
    await pause(delay, new AbortController().signal);
    await listUploadsOfClosedTabs();
  }
}

/** Ids of the unfinished uploads that were listed. */
const listedIds: Set<string> = new Set();

/** Lists the unfinished uploads of closed tabs that are not listed yet. */
async function listUploadsOfClosedTabs() {
  for (const upload of await takeOverUploads()) {
    const { uploadId, folderId, place } = upload;
    if (listedIds.has(uploadId)) continue;
    listedIds.add(uploadId);
    const element = unfinishedRow(upload, {
      onFile(file) {
        removeUnfinished(uploadId);
        addUpload({ findFolderId: () => Promise.resolve(folderId), place, file, serverUpload: { uploadId } });
      },
      onDiscard() {
        removeUnfinished(uploadId);
        void discardUpload(uploadId);
      },
    });
    unfinishedUploads.push({ upload, element });
    rowList.append(element);
    uploadsElement.hidden = false;
  }
  updateHeading();
}

/** Removes an unfinished upload from the list. */
function removeUnfinished(uploadId: string) {
  for (const { upload, element } of unfinishedUploads) if (upload.uploadId === uploadId) element.remove();
  unfinishedUploads = unfinishedUploads.filter(({ upload }) => upload.uploadId !== uploadId);
  uploadsElement.hidden = rowList.childElementCount === 0;
}

/** Adds a file to the list, and uploads it in its turn. */
function addUpload(options: Pick<Parameters<typeof runUpload>[0], 'findFolderId' | 'place' | 'file' | 'serverUpload'>) {
  const row = uploadRow(options.file, options.place);
  rowList.append(row.element);
  row.start = () => {
    const signal = row.showWaiting();
    waitingTasks.push(() => runUpload({ ...options, row, signal }));
    startNext();
  };
  row.start();
  uploadsElement.hidden = false;
}

function startNext() {
  updateHeading();
  while (runningCount < maxConcurrentUploads) {
    const task = waitingTasks.shift();
    if (!task) return;
    runningCount += 1;
    updateHeading();
    void task().finally(() => {
      runningCount -= 1;
      startNext();
    });
  }
}

function updateHeading() {
  const pendingCount = runningCount + waitingTasks.length;
  if (pendingCount === 0) for (const check of refusedChecks.splice(0)) setTimeout(check, itemCheckDelaysMs[0]);
  uploadsElement.setAttribute('aria-label', uploadTexts.uploads);
  // The list cannot be closed while uploads can still be canceled.
  const close = pendingCount === 0 && button('', closeList, { icon: 'close', name: uploadTexts.closeList });
  fill(heading, h('h2', pendingCount === 0 ? uploadTexts.uploads : uploadTexts.running(pendingCount)), close);
}

async function runUpload(options: {
  /** returns the id of the target folder, and creates the folder if necessary */
  findFolderId: () => Promise<string>;
  /** path of the target folder, for display */
  place: string;
  file: File;
  /** the upload on the server, kept for another attempt */
  serverUpload: UploadOptions['serverUpload'];
  row: ReturnType<typeof uploadRow>;
  /** cancels the upload */
  signal: AbortSignal;
}) {
  const { findFolderId, place, file, serverUpload, row, signal } = options;
  try {
    signal.throwIfAborted();
    const folderId = await findFolderId();
    const unfinishedUpload = unfinishedUploads.find(
      ({ upload }) => upload.folderId === folderId && isSameFile(upload, file),
    )?.upload;
    if (unfinishedUpload && serverUpload.uploadId === undefined) {
      serverUpload.uploadId = unfinishedUpload.uploadId;
      removeUnfinished(unfinishedUpload.uploadId);
    }
    const onProgress: UploadOptions['onProgress'] = (progress) => row.showProgress(progress);
    const itemId = await uploadFile({ folderId, place, file, serverUpload, onProgress, signal });
    row.showEnd('done', uploadTexts.uploaded);
    announce(uploadTexts.uploadedNamed(file.name));
    reportUploaded(folderId, 'item');
    if (itemId !== null) void showOutcome(itemId, row);
  } catch (error) {
    if (signal.aborted) row.showEnd('canceled', uploadTexts.canceled);
    else row.showEnd('failed', messageOf(error));
  }
}

/** The server's message that the end of an image file is missing; `null` if the file is complete. The image may open nevertheless. */
async function truncationOf(itemId: string) {
  const metadata = request('GET', `item/${itemId}/tiles/internal_metadata`);
  const message = (await metadata.catch(() => undefined))?.truncated;
  return typeof message === 'string' ? message : null;
}

/** Shows whether the server could open the file as an image, possibly some time later. The upload is complete even if these requests fail. */
async function showOutcome(itemId: string, row: ReturnType<typeof uploadRow>) {
  let item = await request('GET', `item/${itemId}`).catch(() => undefined);
  for (const delay of itemCheckDelaysMs) {
    if (!item || imageState(item) !== 'no' || item.largeImageRefused) break;
    await pause(delay, new AbortController().signal);
    const query: Query = { folderId: item.folderId, name: item.name };
    // The item is requested as a list, because it may have been removed by now, which is not an error.
    item = (await request('GET', 'item', { query }).catch(() => [])).find(({ _id }) => _id === itemId);
    if (item && (imageState(item) !== 'no' || item.largeImageRefused)) reportUploaded(item.folderId, 'item');
  }
  const reason = item && (await findRefusal(item));
  if (!item || !reason) {
    const truncation = item && imageState(item) === 'yes' && (await truncationOf(itemId));
    return truncation ? row.showEnd('unreadable', uploadTexts.truncated(truncation)) : row.showEnd('done', uploadTexts.uploaded);
  }
  row.showEnd('unreadable', uploadTexts.unreadable(reason));
  const { folderId } = item;
  const checkAgain = () => void showOutcome(itemId, row).then(() => reportUploaded(folderId, 'item'));
  if (runningCount + waitingTasks.length > 0) refusedChecks.push(checkAgain);
}
