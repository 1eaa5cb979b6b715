import { request } from '../api.js';
import { linkButton, messageOf, showMessage } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { formatBytes } from '../format.js';
import { browseTexts, commonTexts } from '../texts.js';
import { idsByType } from './browse-model.js';

/** A folder or item that is in the trash, or can be put there. */
export interface Trashable {
  type: 'folder' | 'item';
  doc: { _id: string; name: string };
}

/** Maximum number of documents that one request can name. */
const maxDocumentsPerRequest = 500;

/** The parameters of requests about documents. Each request names at most {@link maxDocumentsPerRequest} documents. */
export function resourceParameters(documents: readonly Trashable[]): { resources: string }[] {
  const forms: { resources: string }[] = [];
  for (let start = 0; start < documents.length; start += maxDocumentsPerRequest) {
    forms.push({ resources: JSON.stringify(idsByType(documents.slice(start, start + maxDocumentsPerRequest))) });
  }
  return forms;
}

/** The number and the size of the folders and items that would go into the trash, as a text. */
async function extentOf(documents: readonly Trashable[]) {
  const sum = { folders: documents.filter(({ type }) => type === 'folder').length, items: 0, size: 0 };
  for (const query of resourceParameters(documents)) {
    const { folders, items, size } = await request('GET', 'resource/extent', { query });
    sum.folders += folders;
    sum.items += items;
    sum.size += size;
  }
  return browseTexts.extent(sum.folders, sum.items, sum.size === 0 ? '' : formatBytes(sum.size));
}

/**
 * Asks before folders and items are put into the trash, and offers to undo this afterwards.
 *
 * @param refresh rebuilds the page; called after the move to the trash, and after an undo
 */
export async function moveToTrash(documents: readonly Trashable[], refresh: () => Promise<void>) {
  const [first] = documents;
  if (!first) return;
  const title = documents.length === 1 ? browseTexts.trashNamed(first.doc.name) : browseTexts.trashSeveral(documents.length);
  let extent: string;
  try {
    extent = await extentOf(documents);
  } catch (error) {
    return showMessage(messageOf(error));
  }
  showFormDialog({
    title,
    text: `${extent}. ${browseTexts.trashText}`,
    action: browseTexts.moveToTrash,
    kind: 'danger',
    async send() {
      for (const form of resourceParameters(documents)) await request('POST', 'resource/trash', { form });
      const message = documents.length === 1 ? browseTexts.trashed(first.doc.name) : browseTexts.trashedSeveral(documents.length);
      showMessage(
        message,
        linkButton(commonTexts.undo, () => void undo(documents, refresh)),
      );
      await refresh();
    },
  });
}

async function undo(documents: readonly Trashable[], refresh: () => Promise<void>) {
  try {
    showMessage(await restore(documents));
    await refresh();
  } catch (error) {
    showMessage(messageOf(error));
  }
}

/** Takes folders and items out of the trash. @returns a message about the result */
export async function restore(documents: readonly Trashable[]) {
  const restoredDocuments = [];
  for (const form of resourceParameters(documents))
    restoredDocuments.push(...(await request('POST', 'resource/restore', { form })));
  const [first] = restoredDocuments;
  const notes = [
    ...restoredDocuments.flatMap(({ name, isRenamed }) => (isRenamed ? [browseTexts.restoredAs(name)] : [])),
    ...(restoredDocuments.some(({ isMoved }) => isMoved) ? [browseTexts.restoredElsewhere] : []),
  ];
  const message =
    restoredDocuments.length === 1 && first
      ? browseTexts.restored(first.name)
      : browseTexts.restoredSeveral(restoredDocuments.length);
  return [message, ...notes.slice(0, 3)].join(' ');
}
