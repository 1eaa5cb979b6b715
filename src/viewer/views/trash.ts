import { requestList, request } from '../api.js';
import { askToRemove } from '../browse/dialog-parts.js';
import { emptyNote } from '../browse/item-list.js';
import { isSame, parentPathText } from '../browse/browse-model.js';
import { readPage } from '../browse/paging.js';
import { resourceParameters, restore, type Trashable } from '../browse/move-to-trash.js';
import { actions, button, fill, h, icon, messageOf, nameText, showMessage } from '../dom.js';
import { formatBytes, formatDate } from '../format.js';
import type { Route, View, ViewContext } from '../router.js';
import { browseTexts } from '../texts.js';

/** The folders and items in the trash that the user may restore. */
export async function trashView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  const page = readPage(route.query, { size: 50, listName: browseTexts.trash });
  const requestTrash = () => requestList('trash', { query: page.query, signal });
  const results = await requestTrash();
  signal.throwIfAborted();
  const { entries, total } = results;
  const emptyButton = button(browseTexts.emptyTrash, askToEmpty, { icon: 'trash', kind: 'danger' });
  const rows = entries.map(trashRow);
  const content =
    total === 0 && page.pageNumber === 1
      ? emptyNote('trash', browseTexts.trashIsEmpty, browseTexts.trashHint)
      : h('ul.trash-list.column', { 'aria-label': browseTexts.trash }, ...rows);
  fill(
    main,
    h(
      'div.page.column',
      h('div.page-heading.row.wrap', h('h1', browseTexts.trash), total > 0 && emptyButton),
      total > 0 && h('p.quiet-text', browseTexts.trashHint),
      content,
      page.createLinks(total),
    ),
  );
  return { title: browseTexts.trash, hasChanged: async () => !isSame(results, await requestTrash()) };

  function trashRow(entry: (typeof entries)[number]) {
    const { _id, _modelType: type, name, path, trashed, expires, items = 0, folders = 0, size = 0, trashedBy } = entry;
    const { isComplete, isRemoving } = entry;
    const trashable: Trashable = { type, doc: { _id, name } };
    const sizeText = size === 0 ? '' : formatBytes(size);
    const extentText = type === 'folder' ? browseTexts.extent(folders + 1, items, sizeText) : sizeText;
    const trashedText = browseTexts.trashedOn(formatDate(trashed), trashedBy);
    const statusText = isRemoving
      ? browseTexts.beingDeleted
      : !isComplete
        ? browseTexts.beingTrashed
        : expires && browseTexts.trashedUntil(formatDate(expires));
    const parentPath = parentPathText(path);
    return h(
      'li.place.surface.row.wrap',
      icon(type === 'folder' ? 'folder' : 'image'),
      h(
        'span.column.grow',
        h('span.place-name.break.strong', { title: name }, nameText(name)),
        h('span.place-note.quiet-text.small', [parentPath, extentText].filter(Boolean).join(' · ')),
        h('span.place-note.quiet-text.small', [trashedText, statusText].filter(Boolean).join(' ')),
      ),
      isComplete &&
        !isRemoving &&
        actions(
          button(browseTexts.restore, () => void restoreEntry(trashable), {
            icon: 'undo',
            name: browseTexts.restoreNamed(name),
          }),
          button(browseTexts.deleteForGood, () => askToDelete(trashable), {
            icon: 'trash',
            name: browseTexts.deleteForGoodNamed(name),
          }),
        ),
    );
  }

  async function restoreEntry(trashable: Trashable) {
    try {
      showMessage(await restore([trashable]));
    } catch (error) {
      showMessage(messageOf(error));
    }
    await refresh();
  }

  function askToDelete(trashable: Trashable) {
    askToRemove({
      title: browseTexts.deleteNamed(trashable.doc.name),
      text: browseTexts.deleteText,
      async remove() {
        for (const query of resourceParameters([trashable])) await request('DELETE', 'trash', { query });
        await refresh();
        return browseTexts.deleted(1);
      },
    });
  }

  function askToEmpty() {
    askToRemove({
      title: browseTexts.emptyTrashTitle(total),
      text: browseTexts.deleteText,
      async remove() {
        await request('DELETE', 'trash');
        await refresh();
        // A large folder stays in the trash until its items are deleted.
        return (await requestTrash()).total === 0 ? browseTexts.trashIsEmpty : browseTexts.beingDeleted;
      },
    });
  }
}
