import { createNotice } from '../admin/parts.js';
import { apiUrl, request } from '../api.js';
import { breadcrumbs } from '../browse/breadcrumbs.js';
import { showEditDialog } from '../browse/edit-dialog.js';
import { neighborLinks } from '../browse/neighbors.js';
import { readListAddress } from '../browse/list-order.js';
import { imageState, isSame, type Folder, type Item } from '../browse/browse-model.js';
import { shareImage } from '../browse/share-image.js';
import { statePanel } from '../browse/item-state.js';
import { stateTexts } from '../sharing-texts.js';
import { moveToTrash } from '../browse/move-to-trash.js';
import { copyText } from '../clipboard.js';
import { actions, errorNotice, fill, h, icon, responsiveButton } from '../dom.js';
import { formatBytes, formatDate } from '../format.js';
import { associatedSection } from '../image/associated.js';
import { itemFacts, section, technicalSection, valueTree } from '../image/facts.js';
import { offerComparison } from '../image/compare.js';
import { setUpPrinting } from '../figure/print.js';
import { openImage } from '../image/image-view.js';
import type { ViewQuery } from '../image/view-address.js';
import { showOpenInDialog } from '../image/open-in.js';
import { pixelSizeButton } from '../image/pixel-size.js';
import { imagePanels } from '../image/panels.js';
import { goTo, replaceRoute, routeHash, type Route, type ViewContext, type View } from '../router.js';
import { currentUser } from '../session.js';
import { browseTexts, commonTexts, imageTexts, openInTexts } from '../texts.js';

/** The data from which the page of an item is built. */
interface ItemPage {
  item: Item;
  folder: Folder;
  /** the folder's ancestors from the root, and the folder */
  path: Parameters<typeof breadcrumbs>[0];
  buttons: HTMLElement;
  heading: HTMLElement;
  title: HTMLElement;
  /** whether the user may change the item */
  mayWrite: boolean;
}

/** The page of an item: a zoomable image with its metadata or, if the item is not an image, its files. */
export async function itemView(route: Route, context: ViewContext): Promise<View> {
  const { signal, refresh } = context;
  const item: Item = await request('GET', `item/${route.id}`, { signal });
  const [path, folder] = await Promise.all([
    request('GET', `item/${route.id}/rootpath`, { signal }),
    request('GET', `folder/${item.folderId}`, { signal }),
  ]);
  signal.throwIfAborted();
  const mayWrite = folder._accessLevel >= 1;
  const linkAttributes = { href: apiUrl(`item/${item._id}/download`), download: true, 'aria-label': commonTexts.download };
  const buttons = actions(
    imageState(item) === 'yes' && responsiveButton('link', browseTexts.copyLink, copyLink),
    h('a.button', linkAttributes, icon('download'), h('span.wide-only', commonTexts.download)),
    mayWrite && [
      responsiveButton('pencil', commonTexts.edit, () => showEditDialog({ type: 'item', doc: item }, refresh)),
      responsiveButton('trash', commonTexts.delete, () => removeItem(item)),
    ],
  );
  const heading = h('div.item-heading.row.between', breadcrumbs(path, item.name), buttons);
  const page = { item, folder, path, buttons, heading, title: h('h1', item.name), mayWrite };
  return imageState(item) === 'yes' ? imagePage(page, route, context) : filesPage(page, context);
}

/** The page of an item that is not an image, or not an image yet. */
async function filesPage({ item, heading, title, mayWrite }: ItemPage, { main, signal, refresh }: ViewContext): Promise<View> {
  const isPreparing = imageState(item) === 'soon';
  const preparingNotice = isPreparing && h('p.notice.surface', { role: 'status' }, browseTexts.preparing);
  const notice = preparingNotice || refusalNotice(item, mayWrite, refresh);
  const files = await fileSection(item, signal);
  signal.throwIfAborted();
  const [facts, ...metadata] = itemSections(item);
  const panel = h('div.panel.surface.raised', facts, files, ...metadata);
  fill(main, h('div.page.item-page.column', heading, title, notice, panel));
  // The server may still create the image, for example when missing parts of it arrive.
  const hasChanged = async () => !isSame(item, await request('GET', `item/${item._id}`, { signal }));
  return { title: item.name, hasChanged };
}

/** The page of an image, or of its files if the image cannot be opened. */
async function imagePage(page: ItemPage, route: Route, context: ViewContext): Promise<View> {
  const { item, title, heading } = page;
  const { main, signal } = context;
  title.classList.add('visually-hidden');
  const stageElement = h('section.stage.grow', { 'aria-label': imageTexts.image });
  const stagesElement = h('div.stages', stageElement);
  const panel = h('aside.side-panel', { 'aria-label': imageTexts.about });
  fill(main, h('div.item-layout', title, heading, stagesElement, panel));
  try {
    return await showImage(page, { stageElement, stagesElement, panel }, route, context);
  } catch (error) {
    if (signal.aborted) throw error;
    fill(stageElement, errorNotice(error));
    fill(panel, ...itemSections(item), await fileSection(item, signal));
    return { title: item.name };
  }
}

async function showImage(
  page: ItemPage,
  { stageElement, stagesElement, panel }: { stageElement: HTMLElement; stagesElement: HTMLElement; panel: HTMLElement },
  route: Route,
  { main, signal, refresh }: ViewContext,
): Promise<View> {
  const { item, folder, buttons, mayWrite } = page;
  const metadata = await request('GET', `item/${item._id}/tiles`, { signal });
  signal.throwIfAborted();
  let viewQuery: Partial<ViewQuery> = {};
  let comparison: ReturnType<typeof offerComparison> | null = null;
  const listAddress = readListAddress(route.query);
  const writeAddress = () =>
    replaceRoute(routeHash('item', item._id, { ...listAddress, ...viewQuery, ...comparison?.addressParameters() }));
  const reopen = () => void refresh();
  const image = await openImage({
    element: stageElement,
    item,
    metadata,
    query: route.query,
    onAddress(query) {
      viewQuery = query;
      return writeAddress();
    },
    onRetry: reopen,
    mayWrite,
    offersFirstShape: true,
    mayManage: folder._accessLevel >= 2,
    signal,
  });
  const pixelSizeElement = mayWrite ? pixelSizeButton(item._id, metadata, reopen) : null;
  const technical = technicalSection(item._id, signal);
  fill(panel, ...imagePanels(image, metadata, undefined, pixelSizeElement), h('div.associated-place'), technical);
  const itemFollower = followItem(page, technical, signal);
  void fillAssociated(panel, item, signal);
  comparison = offerComparison({ first: { image, item, metadata }, stagesElement, panel, onChange: writeAddress, signal });
  const sharedQuery = () => ({ ...viewQuery, channels: image.channelsQuery(), hide: null, comment: null });
  if (currentUser() !== null)
    buttons.prepend(responsiveButton('people', commonTexts.share, () => shareImage({ item, folder, viewQuery: sharedQuery })));
  buttons.prepend(responsiveButton('image', openInTexts.open, () => showOpenInDialog(item, metadata)));
  buttons.prepend(comparison.button);
  // Parameters for annotations and comments do not apply to other images.
  const neighborQuery = () => ({ ...viewQuery, hide: null, coloring: null, comment: null });
  buttons.before(neighborLinks({ id: item._id, listAddress, viewQuery: neighborQuery, signal }));
  comparison.update(route.query);
  setUpPrinting({ main, currentTitle: () => item.name, image, getSecondImage: comparison.getSecondImage, signal });
  return {
    get title() {
      return item.name;
    },
    hasChanged: itemFollower.showChanges,
    update(next) {
      image.update(next.query);
      comparison?.update(next.query);
    },
  };
}

/** Shows the facts of an open image's item before the technical metadata, and updates these facts in place, so that the image stays open. */
function followItem({ item, path, title, heading, mayWrite }: ItemPage, technical: HTMLElement, signal: AbortSignal) {
  let lastItem = item;
  let shownSections: HTMLElement[] = [];
  showSections();
  return { showChanges };

  function showSections() {
    const previousSections = shownSections;
    shownSections = itemSections(item, { mayWrite, onSaved: showChanges });
    technical.before(...shownSections);
    for (const oldSection of previousSections) oldSection.remove();
  }

  /** Requests the item again, and shows its new name and metadata. @returns whether the item has other changes, for which the view must be rebuilt */
  async function showChanges() {
    const newItem = await request('GET', `item/${item._id}`, { signal });
    if (isSame(lastItem, newItem) || signal.aborted) return false;
    if (!isSame(lastItem.largeImage, newItem.largeImage) || lastItem.folderId !== newItem.folderId) return true;
    lastItem = newItem;
    Object.assign(item, { meta: {} }, newItem);
    title.textContent = item.name;
    heading.firstElementChild?.replaceWith(breadcrumbs(path, item.name));
    showSections();
    return false;
  }
}

async function fillAssociated(panel: HTMLElement, item: Item, signal: AbortSignal) {
  const target = panel.querySelector('.associated-place');
  try {
    const associated = await associatedSection(item, signal);
    if (!signal.aborted) target?.replaceWith(...(associated ? [associated] : []));
  } catch (error) {
    if (!signal.aborted) target?.replaceWith(errorNotice(error));
  }
}

/** Warnings about a file that the server reads in its original folder, if the file is missing or has changed. */
function fileNotices({ fileMissing, fileChanged }: Item) {
  const notice = (text: string) => h('p.notice.notice-warning.surface', { role: 'status' }, text);
  return [
    ...(fileMissing ? [notice(browseTexts.fileMissing(formatDate(fileMissing)))] : []),
    ...(fileChanged ? [notice(browseTexts.fileChanged(formatDate(fileChanged)))] : []),
  ];
}

/** The sections about an item: notices, facts, state and metadata. */
function itemSections(item: Item, editing: { mayWrite: boolean; onSaved: () => Promise<unknown> } | null = null) {
  const { meta = {} } = item;
  const facts = section(browseTexts.item, true, itemFacts(item));
  const metadata = Object.keys(meta).length === 0 ? [] : [section(browseTexts.metadata, true, valueTree(meta))];
  const state = statePanel(item, editing);
  const stateSection = state ? [section(stateTexts.state, true, state)] : [];
  return [...fileNotices(item), facts, ...stateSection, ...metadata];
}

/** The reason why a file is not shown as an image, and a button to try again. */
function refusalNotice(item: Item, mayWrite: boolean, refresh: () => Promise<void>) {
  if (!item.largeImageRefused) return null;
  const notice = createNotice();
  const retry = notice.createButton(commonTexts.tryAgain, async () => {
    await request('POST', `item/${item._id}/tiles`);
    await refresh();
  });
  const text = h('p', browseTexts.notShown(item.largeImageRefused));
  return h('div.notice.notice-warning.surface', { role: 'status' }, text, notice.element, mayWrite && retry);
}

async function fileSection(item: Item, signal: AbortSignal) {
  const files = await request('GET', `item/${item._id}/files`, { query: { limit: 0 }, signal });
  const rows = files.map(({ _id, name, mimeType, size }) => {
    const link = h('a', { href: apiUrl(`file/${_id}/download`), download: true }, icon('file'), name);
    return h('li.row.wrap.between', link, h('span.quiet-text', [mimeType, formatBytes(size ?? 0)].filter(Boolean).join(' · ')));
  });
  return section(browseTexts.files, true, rows.length > 0 ? h('ul.files.column', ...rows) : h('p', browseTexts.noFiles));
}

/** Copies the address, which contains the complete view. */
function copyLink() {
  const { href } = location;
  void copyText(href, browseTexts.linkCopied, () => prompt(browseTexts.copyThisLink, href));
}

/** Asks whether to put an item into the trash. Afterwards, the page of its folder is shown; an undo returns to the item's page. */
function removeItem(item: Item) {
  let isOnItemPage = true;
  void moveToTrash([{ type: 'item', doc: item }], async () => {
    goTo(isOnItemPage ? routeHash('folder', item.folderId) : routeHash('item', item._id));
    isOnItemPage = !isOnItemPage;
  });
}
