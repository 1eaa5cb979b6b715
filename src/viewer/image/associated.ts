import { apiUrl, request } from '../api.js';
import { itemVersion, type ImageItem } from '../browse/browse-model.js';
import { h, showPlainDialog } from '../dom.js';
import { section } from './facts.js';
import { imageTexts } from '../texts.js';

/** Maximum sizes of a picture in the list and in the dialog, in pixels. */
const thumbnailSize = { width: 320, height: 240 };
const enlargedSize = { width: 1600, height: 1200 };

/** A section with the associated images of the file, such as its label and its macro image; `null` if the file has none. */
export async function associatedSection(item: ImageItem, signal: AbortSignal) {
  const names: string[] = await request('GET', `item/${item._id}/tiles/images`, { signal });
  if (names.length === 0) return null;
  const list = h('ul.associated', ...names.map((name) => h('li', pictureButton(item, name))));
  return section(imageTexts.associated, true, list);
}

function pictureUrl(item: ImageItem, name: string, box: { width: number; height: number }) {
  return apiUrl(`item/${item._id}/tiles/images/${encodeURIComponent(name)}`, { ...box, _: itemVersion(item) });
}

function pictureButton(item: ImageItem, name: string) {
  const failureText = h('span.quiet-text', imageTexts.pictureFailed);
  const image = h('img', { alt: '', loading: 'lazy', onerror: () => image.replaceWith(failureText) });
  image.src = pictureUrl(item, name, thumbnailSize);
  const attributes = { 'aria-label': imageTexts.enlarge(name), onclick: () => enlarge(item, name) };
  return h('button.associated-picture.surface.column', attributes, image, h('span.break', name));
}

function enlarge(item: ImageItem, name: string) {
  const dialog = showPlainDialog(
    name,
    h('img', { src: pictureUrl(item, name, enlargedSize), alt: imageTexts.pictureOf(name, item.name) }),
  );
  dialog.classList.add('picture-dialog');
  // A click outside the picture closes the dialog.
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
}
