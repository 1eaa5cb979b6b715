import { requestList, request } from '../api.js';
import { imageState, type ImageItem, type Item } from '../browse/browse-model.js';
import { fill, h, icon, messageOf, trackNewest, showPlainDialog } from '../dom.js';
import { field } from '../forms.js';
import { parseRoute } from '../router.js';
import { compareTexts } from '../texts.js';

/** Maximum number of images that are offered at once. */
const maxOffered = 100;

/** A dialog that offers the other images of an item's folder, finds images by words, and accepts a link to any image. */
export function chooseImage(first: ImageItem, { signal, onChosen }: { signal: AbortSignal; onChosen: (id: string) => void }) {
  const results = h('ul.picker-list', { 'aria-label': compareTexts.images });
  const searchInput = h('input', { type: 'search', autocomplete: 'off', oninput: () => void search() });
  const dialog = showPlainDialog(compareTexts.compare, field(compareTexts.find, searchInput), h('div.picker.column', results));
  const trackSearch = trackNewest();
  void search();

  async function search() {
    const isNewest = trackSearch();
    try {
      const items = await findItems(searchInput.value.trim());
      if (!isNewest()) return;
      const images = items.filter((item) => item._id !== first._id && imageState(item) === 'yes');
      fill(
        results,
        ...images.map((item) => h('li', imageButton(item))),
        images.length === 0 && h('li.quiet-text', compareTexts.nothing),
      );
    } catch (error) {
      if (isNewest() && !signal.aborted) fill(results, h('li.form-error', messageOf(error)));
    }
  }

  async function findItems(text: string) {
    const linkedId = text.includes('#item/') ? parseRoute(text.slice(text.indexOf('#'))).id : '';
    if (linkedId !== '') return [await request('GET', `item/${encodeURIComponent(linkedId)}`, { signal })];
    const query = { ...(text === '' ? { folderId: first.folderId } : { text }), limit: maxOffered };
    return (await requestList('item', { query, signal })).entries;
  }

  function imageButton({ _id: id, name }: Item) {
    const choose = () => {
      dialog.close();
      onChosen(id);
    };
    return h('button.pick.row', { onclick: choose }, icon('image'), name);
  }
}
