import { requestList, request } from '../api.js';
import { breadcrumbs } from '../browse/breadcrumbs.js';
import { nameFields } from '../browse/dialog-parts.js';
import { showEditDialog, type PlaceEntry } from '../browse/edit-dialog.js';
import { emptyNote, itemList } from '../browse/item-list.js';
import { isSame, naturalOrder, type Folder } from '../browse/browse-model.js';
import { readPage } from '../browse/paging.js';
import { placeRow } from '../browse/place-row.js';
import { downloadUrl, createSelection } from '../browse/list-selection.js';
import { sharePlace } from '../browse/share-dialog.js';
import { actions, append, button, fill, h, icon, messageOf, showMessage } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { section, valueTree } from '../image/facts.js';
import { goTo, routeHash, type Route, type ViewContext, type View } from '../router.js';
import { currentUser, nameOf } from '../session.js';
import { accountTexts, browseTexts, commonTexts } from '../texts.js';
import { acceptDrops, uploadButtons, type Upload } from '../upload/drop.js';
import { onUploaded, addUploads } from '../upload/upload-list.js';
import { invitationNotices } from './invitations.js';
import { showPasswordDialog } from './account.js';

/** The page of a collection, a user or a folder: its folders, and for a folder also its items. */
export async function containerView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  const type = route.name as 'collection' | 'folder' | 'user';
  const folderPage = readPage(route.query, { parameter: 'folders', size: 60, listName: 'folders' });
  const requestContents = () =>
    Promise.all([
      request('GET', `${type}/${route.id}`, { signal }),
      type === 'folder' ? request('GET', `folder/${route.id}/rootpath`, { signal }) : [],
      requestList('folder', {
        query: { parentType: type, parentId: route.id, ...folderPage.query, sort: naturalOrder },
        signal,
      }),
    ]);
  const contents = await requestContents();
  const [container, path, folders] = contents;
  signal.throwIfAborted();
  const folderOrCollection = 'login' in container ? null : container;
  const name = 'login' in container ? nameOf(container) : container.name;
  const mayWrite = container._accessLevel >= 1;
  const isFolder = type === 'folder';
  const page = h('div.page.column');
  const selection = createSelection({ page, refresh, signal });
  const folderRow = (folder: Folder) =>
    placeRow('folder', folder, {
      checkbox: selection.createCheckbox({ type: 'folder', doc: folder, level: folder._accessLevel }),
    });
  const rows = folders.entries.map(folderRow);
  const items = itemList({ folder: container, route, mayWrite, signal, selection });
  if (isFolder) await items.open();
  const mayUpload = isFolder && mayWrite;
  // If the list cannot be updated, the current list stays visible.
  const showProblem = (error: unknown) => signal.aborted || showMessage(messageOf(error));
  const startUploads = (uploads: Upload[]) => addUploads({ folder: { _id: container._id, name }, uploads });
  onUploaded(route.id, signal, (kind) => void (kind === 'folder' ? refresh() : items.reload().catch(showProblem)));
  const isOwnPage = currentUser()?._id === route.id;
  const notices = await invitationNotices(
    'groupInvites' in container && isOwnPage ? (container.groupInvites ?? []) : [],
    refresh,
  );
  signal.throwIfAborted();
  append(page, [
    breadcrumbs(path, name),
    h(
      'div.page-heading.row.wrap',
      h('h1', name, container.public === false && h('span.tag', commonTexts.private)),
      isOwnPage && h('a.button', { href: routeHash('trash') }, icon('trash'), browseTexts.trash),
      isOwnPage && button(accountTexts.changePassword, showPasswordDialog, { icon: 'settings' }),
      type !== 'user' &&
        folderOrCollection &&
        placeActions({ type, doc: folderOrCollection, level: folderOrCollection._accessLevel }, refresh),
      mayWrite && button(browseTexts.newFolder, () => createFolder(type, route.id), { icon: 'plus' }),
      mayUpload && uploadButtons(startUploads),
    ),
    ...notices,
    folderOrCollection?.description && h('p.description.quiet-text', folderOrCollection.description),
    metadataPanel(folderOrCollection?.meta ?? {}),
    folders.total > 0 && h('ul.places', { 'aria-label': browseTexts.folders }, ...rows),
    folderPage.createLinks(folders.total),
    isFolder && items.element,
    !isFolder && folders.total === 0 && emptyNote('folder', noFoldersText(), mayWrite && browseTexts.noFoldersHint),
    selection.bar,
  ]);
  fill(main, page);
  selection.update();
  if (mayUpload) acceptDrops({ name, signal, onUploads: startUploads });
  // Sizes are not compared, because this page does not show them, and every upload changes the sizes of all folders above the new file.
  const haveContentsChanged = async () =>
    !isSame(contents, await requestContents(), { ignoredMember: 'size' }) || (isFolder && (await items.hasListChanged()));
  return { title: name, hasChanged: async () => (await haveContentsChanged()) && selection.bar.hidden === true };
}

function metadataPanel(meta: Record<string, unknown>) {
  if (Object.keys(meta).length === 0) return null;
  return h('div.panel.surface.raised', section(browseTexts.metadata, false, valueTree(meta)));
}

function placeActions(entry: PlaceEntry, refresh: () => Promise<void>) {
  const { level } = entry;
  const download = { class: 'button', href: downloadUrl([entry]), download: true, title: browseTexts.downloadAll };
  return actions(
    level >= 2 && button(commonTexts.share, () => sharePlace(entry, refresh), { icon: 'people' }),
    level >= 1 && button(commonTexts.edit, () => showEditDialog(entry, refresh), { icon: 'pencil' }),
    h('a', download, icon('download'), commonTexts.download),
  );
}

/** Only administrators see all folders. Other users are told only that they can see none. */
function noFoldersText() {
  const user = currentUser();
  if (user === null) return browseTexts.noPublicFolders;
  return user.admin ? browseTexts.noFolders : browseTexts.noVisibleFolders;
}

function createFolder(parentType: string, parentId: string) {
  showFormDialog({
    title: browseTexts.newFolder,
    action: browseTexts.createFolder,
    fields: nameFields(),
    async send(values) {
      const form = { parentType, parentId, ...values, description: values.description || null };
      const folder = await request('POST', 'folder', { form });
      goTo(routeHash('folder', folder._id));
    },
  });
}
