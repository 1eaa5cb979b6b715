import { request } from '../api.js';
import { linkButton, messageOf, tell } from '../dom.js';
import { ask } from '../forms.js';
import { formatBytes } from '../format.js';
import { browseTexts, commonTexts } from '../texts.js';
import { idsByType } from './model.js';

/** Something that can be put into the trash. */
export interface Trashable {
  type: 'folder' | 'item';
  doc: { _id: string; name: string };
}

/** Number of documents that one request can name. */
const namedTogether = 500;

/** The parameter that names documents, for as many requests as are needed. */
export function resourcesOf(all: readonly Trashable[]): { resources: string }[] {
  const forms: { resources: string }[] = [];
  for (let start = 0; start < all.length; start += namedTogether) {
    forms.push({ resources: JSON.stringify(idsByType(all.slice(start, start + namedTogether))) });
  }
  return forms;
}

/** How many folders and items would go into the trash, and how large they are, in words. */
async function extentOf(all: readonly Trashable[]) {
  const sum = { folders: all.filter(({ type }) => type === 'folder').length, items: 0, size: 0 };
  for (const query of resourcesOf(all)) {
    const { folders, items, size } = await request('GET', 'resource/extent', { query });
    sum.folders += folders;
    sum.items += items;
    sum.size += size;
  }
  return browseTexts.extent(sum.folders, sum.items, sum.size === 0 ? '' : formatBytes(sum.size));
}

/**
 * Asks before folders and items are put into the trash, and offers to undo it afterwards.
 *
 * @param then shows the page without them, or after they are back
 */
export async function moveToTrash(all: readonly Trashable[], then: () => Promise<void>) {
  const [first] = all;
  if (!first) return;
  const title = all.length === 1 ? browseTexts.trashNamed(first.doc.name) : browseTexts.trashSeveral(all.length);
  let extent: string;
  try {
    extent = await extentOf(all);
  } catch (error) {
    return tell(messageOf(error));
  }
  ask({
    title,
    text: `${extent}. ${browseTexts.trashText}`,
    action: browseTexts.moveToTrash,
    kind: 'danger',
    async send() {
      for (const form of resourcesOf(all)) await request('POST', 'resource/trash', { form });
      const words = all.length === 1 ? browseTexts.trashed(first.doc.name) : browseTexts.trashedSeveral(all.length);
      tell(
        words,
        linkButton(commonTexts.undo, () => void undo(all, then)),
      );
      await then();
    },
  });
}

async function undo(all: readonly Trashable[], then: () => Promise<void>) {
  try {
    tell(await restore(all));
    await then();
  } catch (error) {
    tell(messageOf(error));
  }
}

/** Takes folders and items out of the trash. @returns what has become of them, in words */
export async function restore(all: readonly Trashable[]) {
  const restored = [];
  for (const form of resourcesOf(all)) restored.push(...(await request('POST', 'resource/restore', { form })));
  const [first] = restored;
  const notes = [
    ...restored.flatMap(({ name, isRenamed }) => (isRenamed ? [browseTexts.restoredAs(name)] : [])),
    ...(restored.some(({ isMoved }) => isMoved) ? [browseTexts.restoredElsewhere] : []),
  ];
  const words = restored.length === 1 && first ? browseTexts.restored(first.name) : browseTexts.restoredSeveral(restored.length);
  return [words, ...notes.slice(0, 3)].join(' ');
}
