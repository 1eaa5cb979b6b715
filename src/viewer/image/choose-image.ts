import { list, request } from '../api.js';
import { imageState, type ImageItem, type Item } from '../browse/model.js';
import { fill, h, icon, messageOf, newestOnly, plainDialog } from '../dom.js';
import { field } from '../forms.js';
import { parseRoute } from '../router.js';
import { compareTexts } from '../texts.js';

/** Number of images that are offered at once. */
const offered = 100;

/** A dialog that offers the other images of an item's folder, finds images by words, and accepts a link to any image. */
export function chooseImage(first: ImageItem, { signal, onChosen }: { signal: AbortSignal; onChosen: (id: string) => void }) {
  const results = h('ul.picker-list', { 'aria-label': compareTexts.images });
  const link = h('input', { type: 'search', autocomplete: 'off', oninput: () => void search() });
  const dialog = plainDialog(compareTexts.compare, field(compareTexts.find, link), h('div.picker.column', results));
  const begin = newestOnly();
  void search();

  async function search() {
    const isNewest = begin();
    try {
      const items = await find(link.value.trim());
      if (!isNewest()) return;
      const images = items.filter((item) => item._id !== first._id && imageState(item) === 'yes');
      fill(
        results,
        ...images.map((item) => h('li', pick(item))),
        images.length === 0 && h('li.quiet-text', compareTexts.nothing),
      );
    } catch (error) {
      if (isNewest() && !signal.aborted) fill(results, h('li.form-error', messageOf(error)));
    }
  }

  async function find(text: string) {
    const linked = text.includes('#item/') ? parseRoute(text.slice(text.indexOf('#'))).id : '';
    if (linked !== '') return [await request('GET', `item/${encodeURIComponent(linked)}`, { signal })];
    const query = { ...(text === '' ? { folderId: first.folderId } : { text }), limit: offered };
    return (await list('item', { query, signal })).entries;
  }

  function pick({ _id: id, name }: Item) {
    const choose = () => {
      dialog.close();
      onChosen(id);
    };
    return h('button.pick.row', { onclick: choose }, icon('image'), name);
  }
}
