import { ApiError, request } from '../api.js';
import { h, messageOf, showMessage, type IconName } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { currentUser } from '../session.js';
import { browseTexts, commonTexts } from '../texts.js';
import { showEditDialog, type ListEntry } from './edit-dialog.js';
import { folderPicker } from './folder-picker.js';
import { showStateDialog } from './item-state.js';
import { stateTexts } from '../sharing-texts.js';
import { showTagsDialog } from './tags-dialog.js';
import { sharePlace } from './share-dialog.js';
import { moveToTrash, type Trashable } from './move-to-trash.js';

type BulkAction = { label: string; icon: IconName; run: () => void };
type ActionContext = { refresh: () => Promise<void>; signal: AbortSignal };

/** Maximum number of reasons for failures in a message. */
const maxReasons = 3;

/** The actions that the user can perform on the selected entries. */
export function bulkActions(entries: ListEntry[], context: ActionContext): BulkAction[] {
  const { refresh } = context;
  const lowestLevel = Math.min(...entries.map(({ level }) => level));
  const singleEntry = entries.length === 1 && lowestLevel >= 1 ? entries[0] : undefined;
  const shareablePlace = singleEntry && singleEntry.type !== 'item' && lowestLevel >= 2 && singleEntry;
  const refusedItems = entries.filter(({ doc }) => 'largeImageRefused' in doc && doc.largeImageRefused);
  const mayRemove = entries.every(({ type, level }) => level >= (type === 'item' ? 1 : 2));
  const mayCopy = currentUser() !== null && entries.every(({ type }) => type !== 'collection');
  const mayTag = lowestLevel >= 1 && entries.every(({ type }) => type !== 'collection');
  const areAllItems = entries.every(({ type }) => type === 'item');
  const mayRetry = refusedItems.length > 0 && lowestLevel >= 1;
  const copyLabel = lowestLevel >= 1 ? browseTexts.moveOrCopy : commonTexts.copy;
  const offeredActions: (BulkAction | false | '' | undefined)[] = [
    singleEntry && { label: commonTexts.edit, icon: 'pencil', run: () => showEditDialog(singleEntry, refresh) },
    shareablePlace && { label: commonTexts.share, icon: 'people', run: () => sharePlace(shareablePlace, refresh) },
    mayTag && { label: browseTexts.tags, icon: 'tag', run: () => showTagsDialog(entries, refresh) },
    mayTag && areAllItems && { label: stateTexts.state, icon: 'pencil', run: () => showStateDialog(entries, refresh) },
    mayRetry && { label: commonTexts.tryAgain, icon: 'retry', run: () => tryAgain(refusedItems, context) },
    mayCopy && { label: copyLabel, icon: 'folder', run: () => void moveOrCopy(entries, lowestLevel >= 1, context) },
    mayRemove && { label: commonTexts.delete, icon: 'trash', run: () => removeEntries(entries, context) },
  ];
  return offeredActions.flatMap((action) => action || []);
}

/** Performs an action on one entry after the other. Entries whose action failed stay in the queue, so that they can be tried again. */
async function actOnEach(
  queue: ListEntry[],
  {
    act,
    doneText,
    refresh,
  }: { act: (entry: ListEntry) => Promise<unknown>; doneText: (count: number) => string } & ActionContext,
) {
  const reasons: string[] = [];
  let doneCount = 0;
  try {
    const entriesToDo = queue.splice(0);
    for (const [index, entry] of entriesToDo.entries()) {
      try {
        await act(entry);
        doneCount += 1;
      } catch (error) {
        const othersWouldFail = error instanceof ApiError && (error.status === 0 || error.status === 401);
        queue.push(...entriesToDo.slice(index, othersWouldFail ? undefined : index + 1));
        if (othersWouldFail) throw error;
        reasons.push(`${entry.doc.name}: ${messageOf(error)}`);
      }
    }
  } finally {
    if (doneCount > 0) await refresh();
  }
  if (reasons.length === 0) return showMessage(doneText(doneCount));
  const moreReasons = reasons.length > maxReasons ? [browseTexts.moreReasons(reasons.length - maxReasons)] : [];
  throw new Error([...(doneCount > 0 ? [doneText(doneCount)] : []), ...reasons.slice(0, maxReasons), ...moreReasons].join(' '));
}

function removeEntries(entries: ListEntry[], context: ActionContext) {
  const trashable = entries.flatMap((entry): Trashable[] =>
    entry.type === 'collection' ? [] : [{ type: entry.type, doc: entry.doc }],
  );
  // Collections have no trash.
  if (trashable.length === entries.length) return void moveToTrash(trashable, context.refresh);
  const title =
    entries.length === 1 ? browseTexts.deleteNamed(entries[0]?.doc.name ?? '') : browseTexts.deleteSeveral(entries.length);
  const act = ({ type, doc }: ListEntry) => request('DELETE', `${type}/${doc._id}`);
  const send = () => actOnEach(entries, { act, doneText: browseTexts.deleted, ...context });
  showFormDialog({ title, text: browseTexts.deleteText, action: commonTexts.delete, kind: 'danger', send });
}

function tryAgain(refusedItems: ListEntry[], context: ActionContext) {
  const act = ({ doc }: ListEntry) => request('POST', `item/${doc._id}/tiles`);
  const text = refusedItems.map(({ doc }) => doc.name).join(', ');
  const send = () => actOnEach(refusedItems, { act, doneText: browseTexts.triedAgain, ...context });
  showFormDialog({ title: commonTexts.tryAgain, text, action: commonTexts.tryAgain, send });
}

async function moveOrCopy(entries: ListEntry[], mayMove: boolean, context: ActionContext) {
  const picker = await folderPicker(context.signal);
  let isCopyChosen = !mayMove;
  const copyButton = h('button.button', { type: 'submit', onclick: () => (isCopyChosen = true) }, browseTexts.copyHere);
  showFormDialog({
    title: browseTexts.moveOrCopyTitle(entries.length),
    content: [picker.element],
    action: mayMove ? browseTexts.moveHere : browseTexts.copyHere,
    otherButtons: mayMove ? [copyButton] : [],
    async send() {
      const isCopying = isCopyChosen;
      isCopyChosen = !mayMove;
      const { type: parentType, _id: id } = picker.requireSelected(entries.every(({ type }) => type === 'folder'));
      const act = ({ type, doc }: ListEntry) => {
        const query = type === 'item' ? { folderId: id } : { parentType, parentId: id };
        return isCopying
          ? request('POST', `${type}/${doc._id}/copy`, { query })
          : request('PUT', `${type}/${doc._id}`, { query });
      };
      await actOnEach(entries, { act, doneText: isCopying ? browseTexts.copied : browseTexts.moved, ...context });
    },
  });
}
