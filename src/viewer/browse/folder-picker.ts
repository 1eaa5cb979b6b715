import { requestList } from '../api.js';
import { fill, h, icon } from '../dom.js';
import { currentUser } from '../session.js';
import { naturalOrder } from './browse-model.js';
import { createNotice } from '../admin/parts.js';
import { accountTexts, browseTexts } from '../texts.js';

export type Container = { type: 'collection' | 'user' | 'folder'; _id: string; name: string };

/** Maximum number of folders that are offered at once. */
const maxOfferedFolders = 200;

/** Lets the user select a folder, starting with the collections. The folder at the end of the opened path is selected. */
export async function folderPicker(signal: AbortSignal) {
  let path: Container[] = [];
  const trail = h('p.row.wrap', { 'data-testid': 'picker-path' });
  const choices = h('ul.picker-list', { 'aria-label': browseTexts.placesLabel });
  const notice = createNotice();
  await showPath([]);
  return {
    element: h('div.picker.column', h('span.small.strong', browseTexts.folder), trail, choices, notice.element),
    /**
     * The selected folder. @param acceptsAnyContainer whether a collection, or the user's own folders, can be selected too
     * @throws if the user has not selected such a container
     */
    requireSelected: (acceptsAnyContainer = false) => {
      const selectedContainer = path.at(-1);
      if (!selectedContainer || (selectedContainer.type !== 'folder' && !acceptsAnyContainer))
        throw new Error(browseTexts.chooseFolder);
      return selectedContainer;
    },
  };

  async function showPath(newPath: Container[]) {
    const { containers, total } = await requestChildren(newPath.at(-1), signal);
    path = newPath;
    const stepPaths = [[], ...path.map((_container, index) => path.slice(0, index + 1))];
    fill(trail, ...stepPaths.map((stepPath) => stepButton(stepPath)));
    fill(
      choices,
      ...containers.map((container) => h('li', pickButton(container))),
      containers.length === 0 && h('li.quiet-text', browseTexts.noFoldersInHere),
      total > containers.length && h('li.quiet-text', browseTexts.theFirst(maxOfferedFolders, total)),
    );
  }

  function stepButton(stepPath: Container[]) {
    const isLast = stepPath.length === path.length;
    const name = stepPath.at(-1)?.name ?? accountTexts.allCollections;
    return h('button.step.row', { 'aria-current': isLast ? 'true' : null, onclick: () => openPath(stepPath) }, name);
  }

  function pickButton(container: Container) {
    const symbol = container.type === 'collection' ? 'collection' : container.type === 'user' ? 'person' : 'folder';
    return h('button.pick.row', { onclick: () => openPath([...path, container]) }, icon(symbol), container.name);
  }

  async function openPath(newPath: Container[]) {
    notice.clear();
    try {
      await showPath(newPath);
    } catch (error) {
      if (!signal.aborted) notice.showError(error);
    }
  }
}

/** The folders in a container; without a container, the collections and the user's own folders. */
async function requestChildren(container: Container | undefined, signal: AbortSignal) {
  const type = container ? 'folder' : 'collection';
  const parent = container && { parentType: container.type, parentId: container._id };
  const query = { ...parent, limit: maxOfferedFolders, sort: naturalOrder };
  const { entries, total } = await requestList(type, { query, signal });
  const user = container ? null : currentUser();
  const ownFolders: Container[] = user === null ? [] : [{ type: 'user', _id: user._id, name: accountTexts.myFolders }];
  const children = entries.map(({ _id, name }): Container => ({ type, _id, name }));
  return { containers: [...children, ...ownFolders], total: total + ownFolders.length };
}
