import { createNotice, table } from '../admin/parts.js';
import type { Documents } from '../answers.js';
import { requestList, request } from '../api.js';
import { copyText } from '../clipboard.js';
import { button, fill, h, icon, showPlainDialog, type Child } from '../dom.js';
import { checkbox, choice, field } from '../forms.js';
import { formatDate } from '../format.js';
import type { ViewQuery } from '../image/view-address.js';
import { routeHash } from '../router.js';
import { sharingTexts as texts } from '../sharing-texts.js';
import { browseTexts, openInTexts } from '../texts.js';
import type { Folder, Item } from './browse-model.js';
import { levelChoiceOf, sharePlace } from './share-dialog.js';

type Link = Documents['Link'];

const dayMs = 86_400_000;

/** A dialog that makes links to the page of an image, leads to the permissions of its folder, and shows who may see the image. */
export function shareImage({ item, folder, viewQuery }: { item: Item; folder: Folder; viewQuery: () => Partial<ViewQuery> }) {
  const path = `item/${item._id}/link` as const;
  const notice = createNotice();
  const newLink = h('div.stack.column');
  const links = h('ul.column', { 'aria-label': texts.links });
  const folderPart = h('div.stack.column');
  const accessTable = h('div.stack.column');
  const durationTitles = Object.fromEntries([7, 30, 365].map((days) => [days, texts.days(days)]));
  const days = choice(durationTitles, '7', { name: 'days' });
  const annotations = checkbox(texts.annotations, { name: 'annotations', checked: true });
  const associated = checkbox(texts.associated, { name: 'associated' });
  const dialog = showPlainDialog(
    texts.title(item.name),
    h('p', texts.about),
    field(texts.end, days),
    annotations.element,
    associated.element,
    notice.createButton(texts.make, createLink, { kind: 'primary' }),
    notice.element,
    newLink,
    links,
    folderPart,
    h('h3', texts.whoMay),
    accessTable,
  );
  dialog.classList.add('wide');
  void showLinks().catch(notice.showError);
  void showFolder().catch(notice.showError);

  async function createLink() {
    const expires = new Date(Date.now() + Number(days.value) * dayMs).toISOString();
    const json = {
      name: texts.linkName,
      opens: ['view'],
      annotations: annotations.input.checked,
      associated: associated.input.checked,
      expires,
    };
    const { token } = await request('POST', path, { json });
    const address = new URL(location.href);
    address.hash = routeHash('view', token, viewQuery());
    const input = h('input', { readonly: true, value: address.href, 'aria-label': texts.address });
    // If the browser refuses to copy, the address is selected, so that the user can copy it with the keyboard.
    const copyAddress = () => void copyText(address.href, openInTexts.copied, () => input.select());
    const copyButton = button(texts.copy, copyAddress, { icon: 'link' });
    fill(newLink, h('p', texts.linkCreated(formatDate(expires))), h('div.column', input, copyButton));
    input.select();
    await showLinks();
  }

  async function showLinks() {
    const [itemLinks, folderLinks] = await Promise.all([request('GET', path), request('GET', `folder/${folder._id}/link`)]);
    const isUsable = ({ expires }: Link) => expires === null || new Date(expires) > new Date();
    const rows = itemLinks.filter((link) => isUsable(link) && link.opens.includes('view')).map(linkRow);
    fill(links, ...(rows.length > 0 ? rows : [h('li.quiet-text', texts.noLinks)]));
    await showAccess([...itemLinks, ...folderLinks].filter(isUsable));
  }

  function linkRow(link: Link) {
    const endText = link.expires === null ? openInTexts.noEnd : openInTexts.endsAt(formatDate(link.expires));
    const usageText = link.lastUsed === null ? openInTexts.neverUsed : openInTexts.usedAt(formatDate(link.lastUsed));
    const linkText = [`${link.prefix}…`, endText, usageText].join(' · ');
    const revokeButton = notice.createButton(openInTexts.revoke, () => revokeLink(link), {
      name: openInTexts.revokeNamed(link.prefix),
    });
    return h('li.row.between', h('span.break', icon('link'), ` ${linkText}`), revokeButton);
  }

  async function revokeLink({ _id }: Link) {
    await request('DELETE', `link/${_id}`);
    fill(newLink);
    notice.showSuccess(openInTexts.revoked);
    await showLinks();
  }

  async function showFolder() {
    const { total } = await requestList('item', { query: { folderId: folder._id, limit: 1 } });
    const openPermissions = () => {
      dialog.close();
      sharePlace({ type: 'folder', doc: folder, level: folder._accessLevel }, async () => {});
    };
    const permissionsButton = folder._accessLevel >= 2 && button(texts.openFolder, openPermissions, { icon: 'people' });
    fill(
      folderPart,
      h('p', texts.folder(folder.name, Math.max(total - 1, 0))),
      permissionsButton && h('div.actions', permissionsButton),
    );
  }

  async function showAccess(usableLinks: readonly Link[]) {
    const grants = folder._accessLevel >= 2 ? await request('GET', `folder/${folder._id}/access`) : null;
    const rows = accessRows(folder, grants, usableLinks);
    fill(
      accessTable,
      table([texts.who, texts.may, texts.because], rows, texts.whoMay),
      !grants && h('p.quiet-text', texts.onlySome),
    );
  }
}

/** Rows of a table: who has access to an image, at which level, and why. @param grants the access list of the image's folder; `null` if the user may not read it */
function accessRows(folder: Folder, grants: Documents['AccessList'] | null, links: readonly Link[]): Child[][] {
  const { levels } = browseTexts;
  const users = (grants?.users ?? []).map((grant) => {
    const name = grant.login ? `${grant.name} (${grant.login})` : (grant.name ?? grant.id);
    return [name, levels[levelChoiceOf(grant)], texts.byFolder];
  });
  const groups = (grants?.groups ?? []).map((grant) => [grant.name ?? grant.id, levels[levelChoiceOf(grant)], texts.byGroup]);
  const holders = links.map(({ name, prefix, expires }) => {
    const endText = expires === null ? null : formatDate(expires);
    return [texts.holders, levels.see, texts.byLink(name || `${prefix}…`, endText)];
  });
  return [
    ...(folder.public ? [[texts.everybody, levels.see, texts.byPublic]] : []),
    ...users,
    ...groups,
    ...holders,
    [texts.administrators, levels.administer, texts.bySite],
  ];
}
