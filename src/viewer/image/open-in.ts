import { createNotice } from '../admin/parts.js';
import { apiUrl, request } from '../api.js';
import type { Documents } from '../answers.js';
import { copyText } from '../clipboard.js';
import { button, fill, h, icon, showPlainDialog } from '../dom.js';
import { choice, checkbox, field } from '../forms.js';
import { formatDate } from '../format.js';
import { currentUser } from '../session.js';
import { commonTexts, openInTexts } from '../texts.js';
import type { ImageMetadata } from './image-metadata.js';

type Link = Documents['Link'];

interface ProgramText {
  program: string;
  text: string;
  hint?: string;
}

/** Axes within one image of OME-Zarr. Frames along other axes are separate images. */
const axesInImage = new Set(['IndexC', 'IndexZ', 'IndexT']);

const dayMs = 86_400_000;

/** A dialog with commands and code for other programs, and the links that these programs use. */
export function showOpenInDialog(item: { _id: string; name: string }, metadata: Pick<ImageMetadata, 'IndexRange' | 'mm_x'>) {
  const path = `item/${item._id}/link` as const;
  const isSingleImage = Object.entries(metadata.IndexRange ?? {}).every(([axis, range]) => axesInImage.has(axis) || range <= 1);
  const notice = createNotice();
  const newLinkElement = h('div.stack.column', { 'data-testid': 'open-in-lines' });
  const list = h('ul.column', { 'aria-label': openInTexts.links });
  const days = choice({ 1: openInTexts.days(1), 7: openInTexts.days(7), 30: openInTexts.days(30) }, '7', { name: 'days' });
  const associated = checkbox(openInTexts.associated, { name: 'associated' });
  if (currentUser() === null) {
    showPlainDialog(openInTexts.title, h('p', openInTexts.signIn));
    return;
  }
  showPlainDialog(
    openInTexts.title,
    h('p', openInTexts.about),
    field(openInTexts.end, days),
    associated.element,
    notice.createButton(openInTexts.make, makeLink, { kind: 'primary' }),
    notice.element,
    newLinkElement,
    list,
  ).classList.add('wide');
  void showLinks().catch(notice.showError);

  async function makeLink() {
    const expires = new Date(Date.now() + Number(days.value) * dayMs).toISOString();
    const json = { name: openInTexts.linkName, expires, associated: associated.input.checked };
    const link = await request('POST', path, { json });
    fill(newLinkElement, h('p', openInTexts.shownOnce(formatDate(expires))), ...programTexts(link).map(programEntry));
    await showLinks();
  }

  function programTexts({ token, opens }: Pick<Link, 'opens'> & { token: string }): ProgramText[] {
    const name = encodeURIComponent(item.name.replace(/[^\w.-]+/g, '_'));
    const zarrUrl = (route: string) =>
      new URL(`${apiUrl(`item/${item._id}/${route}/t/${token}/${name}.ome.zarr`)}${isSingleImage ? '' : '/0'}`, location.href)
        .href;
    // Without a pixel size, the server offers no DICOM of the image.
    const offersDicom = opens.includes('dicomweb') && typeof metadata.mm_x === 'number';
    const dicomUrl = new URL(apiUrl(`dicomweb/t/${token}`), location.href).href;
    const [zarr3Url, zarr2Url] = [zarrUrl('zarr'), zarrUrl('zarr2')];
    return [
      { program: 'Python', text: `import zarr\nimage = zarr.open_group("${zarr3Url}", mode="r")\nimage["0"]` },
      { program: 'napari', text: `napari --plugin napari-ome-zarr "${zarr3Url}"`, hint: openInTexts.onlyReader },
      { program: 'QuPath', text: zarr2Url, hint: openInTexts.notTried },
      { program: 'Vitessce', text: `{ "fileType": "image.ome-zarr", "url": "${zarr2Url}" }`, hint: openInTexts.notTried },
      { program: 'neuroglancer', text: `zarr://${zarr2Url}` },
      ...(offersDicom ? [{ program: 'DICOMweb', text: dicomUrl, hint: openInTexts.dicomClients }] : []),
    ];
  }

  function programEntry({ program, text, hint }: ProgramText) {
    const showToCopy = () => prompt(commonTexts.copy, text);
    const copyCommand = () => void copyText(text, openInTexts.copied, showToCopy);
    const copy = button('', copyCommand, { icon: 'link', name: openInTexts.copyFor(program) });
    const heading = h('div.row.between', h('h3', program), copy);
    return h('div.column', heading, h('pre.break', text), hint && h('p.hint.quiet-text.small', hint));
  }

  async function showLinks() {
    const links = await request('GET', path);
    const usableLinks = links.filter(
      ({ opens, expires }) =>
        (opens.includes('zarr') || opens.includes('dicomweb')) && (expires === null || new Date(expires) > new Date()),
    );
    const rows = usableLinks.map((link) => {
      const endText = link.expires === null ? openInTexts.noEnd : openInTexts.endsAt(formatDate(link.expires));
      const usageText = link.lastUsed === null ? openInTexts.neverUsed : openInTexts.usedAt(formatDate(link.lastUsed));
      const linkText = [link.name || openInTexts.linkName, `${link.prefix}…`, endText, usageText].join(' · ');
      const revoke = notice.createButton(openInTexts.revoke, () => revokeLink(link), {
        name: openInTexts.revokeNamed(link.prefix),
      });
      return h('li.row.between', h('span.break', icon('link'), ` ${linkText}`), revoke);
    });
    fill(list, ...(rows.length > 0 ? rows : [h('li.quiet-text', openInTexts.noLinks)]));
  }

  async function revokeLink({ _id }: Link) {
    await request('DELETE', `link/${_id}`);
    fill(newLinkElement);
    notice.showSuccess(openInTexts.revoked);
    await showLinks();
  }
}
