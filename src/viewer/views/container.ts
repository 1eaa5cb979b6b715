import { list, request } from '../api.js';
import { breadcrumbs } from '../browse/breadcrumbs.js';
import { askToCreate } from '../browse/create-dialog.js';
import { editDialog, type Entry } from '../browse/edit-dialog.js';
import { itemCard } from '../browse/item-card.js';
import { imageState, naturalOrder, type Folder, type Item, type PathStep } from '../browse/model.js';
import { pageNumber, paging } from '../browse/paging.js';
import { placeRow } from '../browse/place.js';
import { preparationEnd } from '../browse/preparation.js';
import { downloadUrl, selection } from '../browse/selection.js';
import { share } from '../browse/share-dialog.js';
import { append, button, fill, h, icon, messageOf, tell } from '../dom.js';
import { choice } from '../forms.js';
import { section, valueTree } from '../image/facts.js';
import { goTo, routeHash, type Route } from '../router.js';
import { currentUser } from '../session.js';
import { accountTexts, browseTexts, commonTexts } from '../texts.js';
import { acceptDrops, uploadButtons, type Upload } from '../upload/drop.js';
import { onArrival, uploadTo } from '../upload/tray.js';
import { invitations } from './invitations.js';
import { passwordDialog } from './password-dialog.js';
import type { ViewContext, View } from '../view.js';

/** A folder, a collection or a user. */
type Container = Folder & { firstName?: string; lastName?: string; groupInvites?: { groupId: string }[] };

const foldersPerPage = 60;
const itemsPerPage = 48;

/** Orders of items, by what stands in the address. */
const orders: Record<string, { sort: string; sortdir: 1 | -1 }> = {
  name: { sort: naturalOrder, sortdir: 1 },
  newest: { sort: 'created', sortdir: -1 },
  largest: { sort: 'size', sortdir: -1 },
};

/** The page of a collection, a user or a folder: its folders, and for a folder also its items. */
export async function containerView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  const type = route.name as 'collection' | 'folder' | 'user';
  const folderPage = pageNumber(route.query, 'folders');
  const offset = (folderPage - 1) * foldersPerPage;
  const [container, path, folders] = await Promise.all([
    request<Container>('GET', `${type}/${route.id}`, { signal }),
    type === 'folder' ? request<PathStep[]>('GET', `folder/${route.id}/rootpath`, { signal }) : [],
    list<Folder>('folder', {
      query: { parentType: type, parentId: route.id, limit: foldersPerPage, offset, sort: naturalOrder },
      signal,
    }),
  ]);
  signal.throwIfAborted();
  const name = container.name ?? `${container.firstName} ${container.lastName}`;
  const mayWrite = container._accessLevel >= 1;
  const isFolder = type === 'folder';
  const page = h('div.page.column');
  const chosen = selection({ page, refresh, signal });
  const items = h('section', { 'aria-label': browseTexts.itemsLabel });
  const itemOptions = { folder: container, route, mayWrite, signal, chosen };
  if (isFolder) await fillItems(items, itemOptions);
  const mayUpload = isFolder && mayWrite;
  // The present list stays visible instead of the error.
  const tellFailure = (error: unknown) => signal.aborted || tell(messageOf(error));
  const upload = (uploads: Upload[]) => uploadTo({ folder: container, uploads });
  onArrival(route.id, signal, (kind) => void (kind === 'folder' ? refresh() : fillItems(items, itemOptions).catch(tellFailure)));
  const row = (folder: Folder) =>
    placeRow('folder', folder, { box: chosen.box({ type: 'folder', doc: folder, level: folder._accessLevel }) });
  const { description, meta = {}, groupInvites = [] } = container;
  const invited =
    currentUser()?._id === route.id
      ? await invitations(
          groupInvites.map(({ groupId }) => groupId),
          refresh,
        )
      : [];
  signal.throwIfAborted();
  append(page, [
    breadcrumbs(path, name),
    h(
      'div.page-heading.row.wrap',
      h('h1', name, container.public === false && h('span.tag', commonTexts.private)),
      type === 'user' ? ownActions(route.id) : ownerActions({ type, doc: container, level: container._accessLevel }, refresh),
      mayWrite && button(browseTexts.newFolder, () => createFolder(type, route.id), { picture: 'plus' }),
      mayUpload && uploadButtons(upload),
    ),
    ...invited,
    description && h('p.description.quiet-text', description),
    Object.keys(meta).length > 0 &&
      h('div.panel.surface.raised', section(browseTexts.metadata, { open: false }, valueTree(meta))),
    folders.total > 0 && h('ul.places', { 'aria-label': browseTexts.folders }, ...folders.entries.map(row)),
    paging({
      parameter: 'folders',
      page: folderPage,
      size: foldersPerPage,
      total: folders.total,
      label: browseTexts.pagesOf('folders'),
    }),
    isFolder && items,
    !isFolder && folders.total === 0 && empty('folder', browseTexts.noFolders, mayWrite && browseTexts.noFoldersHint),
    chosen.bar,
  ]);
  fill(main, page);
  if (mayUpload) acceptDrops({ name, signal, onUploads: upload });
  return { title: name };
}

/** The actions for the container itself. */
function ownerActions(entry: Entry, refresh: () => Promise<void>) {
  const { level } = entry;
  const download = { class: 'button', href: downloadUrl([entry]), download: true, title: browseTexts.downloadAll };
  return h(
    'div.actions.wrap',
    level >= 2 && button(commonTexts.share, () => share(entry, refresh), { picture: 'people' }),
    level >= 1 && button(commonTexts.edit, () => editDialog(entry, refresh), { picture: 'pencil' }),
    h('a', download, icon('download'), commonTexts.download),
  );
}

function ownActions(userId: string) {
  return currentUser()?._id === userId && button(accountTexts.changePassword, passwordDialog, { picture: 'settings' });
}

function empty(picture: 'folder' | 'image', title: string, hint: string | false) {
  return h('div.empty.column.quiet-text', icon(picture), h('h2', title), hint && h('p', hint));
}

/** The latest request of each section. Answers to earlier requests are ignored. */
const fillings: WeakMap<HTMLElement, object> = new WeakMap();

interface ItemOptions {
  folder: Folder;
  route: Route;
  mayWrite: boolean;
  signal: AbortSignal;
  chosen: ReturnType<typeof selection>;
}

async function fillItems(target: HTMLElement, options: ItemOptions) {
  const { folder, route, mayWrite, chosen, signal } = options;
  const page = pageNumber(route.query, 'items');
  const order = route.query.get('sort') ?? 'name';
  const filling = {};
  fillings.set(target, filling);
  const query = {
    folderId: folder._id,
    limit: itemsPerPage,
    offset: (page - 1) * itemsPerPage,
    ...(orders[order] ?? orders.name),
  };
  const { entries, total }: { entries: Item[]; total: number } = await list('item', { query, signal });
  signal.throwIfAborted();
  if (fillings.get(target) !== filling) return;
  if (total === 0) return fill(target, empty('image', browseTexts.noItems, mayWrite && browseTexts.noItemsHint));
  const card = (item: Item) => itemCard(item, { box: chosen.box({ type: 'item', doc: item, level: folder._accessLevel }) });
  const sorting = choice(browseTexts.sorts, order, {
    'aria-label': browseTexts.sortBy,
    onchange: () => goTo(routeHash('folder', folder._id, { sort: sorting.value === 'name' ? null : sorting.value })),
  });
  fill(
    target,
    h('div.list-heading.row.between', h('h2.count.quiet-text.small', browseTexts.items(total)), total > 1 && sorting),
    h('ul.cards', ...entries.map(card)),
    paging({ parameter: 'items', page, size: itemsPerPage, total, label: browseTexts.pagesOf('items') }),
  );
  chosen.show();
  if (entries.some((item) => imageState(item) === 'soon')) void fillLater(entries, target, options);
}

/** Fills a section again when an image may be ready, unless it was filled again meanwhile. Retries if that fails. */
async function fillLater(entries: Item[], target: HTMLElement, options: ItemOptions) {
  const shown = fillings.get(target);
  await preparationEnd(entries, options.signal);
  if (options.signal.aborted || fillings.get(target) !== shown) return;
  await fillItems(target, options).catch(() => void fillLater(entries, target, options));
}

function createFolder(parentType: string, parentId: string) {
  askToCreate({
    title: browseTexts.newFolder,
    action: browseTexts.createFolder,
    async create({ name, description }) {
      const form = { parentType, parentId, name, description: description || null };
      const folder = await request<Folder>('POST', 'folder', { form });
      goTo(routeHash('folder', folder._id));
    },
  });
}
