import { requestList, request } from '../api.js';
import { itemCard } from '../browse/item-card.js';
import { placeRow } from '../browse/place-row.js';
import { debounced, errorNotice, fill, h, trackNewest } from '../dom.js';
import { formatCount } from '../format.js';
import { replaceRoute, routeHash, type Route, type ViewContext, type View } from '../router.js';
import { browseTexts, commonTexts } from '../texts.js';
import { naturalOrder, parentPathText, type Item, type Place } from '../browse/browse-model.js';

/** The first matching documents of one kind. `total` is the number of all matching documents of this kind. */
interface ListedDocuments<D> {
  entries: D[];
  total: number;
}

interface Matches {
  collection: ListedDocuments<Place>;
  folder: ListedDocuments<Place>;
  item: ListedDocuments<Item>;
}

const kinds = ['collection', 'folder', 'item'] as const;

/** Maximum number of results of each kind. */
const maxResults = 60;

/** Minimum number of letters for a search. */
const minLetters = 2;

/** A search for documents with words in their names, descriptions, metadata and tags. */
export async function searchView(route: Route, { main, signal }: ViewContext): Promise<View> {
  const resultsElement = h('div.stack.column', { 'aria-live': 'polite' });
  const input = h('input', {
    type: 'search',
    autocomplete: 'off',
    'aria-label': browseTexts.searchAll,
    oninput: onTyped,
  });
  input.value = route.query.get('q') ?? '';
  fill(main, h('div.page.column', h('h1', commonTexts.search), h('div.field.column', input), resultsElement));
  input.focus();
  const startSearch = trackNewest();
  const showSoon = debounced(() => void showResults());
  /** The words and their results, as JSON; `''` if no results are shown. */
  let shownResults = '';
  await showResults();
  return {
    title: input.value === '' ? commonTexts.search : browseTexts.searchFor(input.value),
    /** Updates the results in place, so that the user can continue typing. */
    async hasChanged() {
      if (shownResults !== '') await showResults({ isUpdate: true });
      return false;
    },
  };

  /** Hides the previous results immediately, even if the new results take long. */
  function onTyped() {
    startSearch();
    shownResults = '';
    showWaiting();
    showSoon();
  }

  function showWaiting() {
    const isShort = input.value.trim().length < minLetters;
    fill(resultsElement, h('p.quiet-text', isShort ? browseTexts.searchHint : browseTexts.searching));
  }

  async function showResults({ isUpdate = false } = {}) {
    const words = input.value.trim();
    const isNewest = startSearch();
    if (signal.aborted) return;
    replaceRoute(routeHash('search', '', { q: words || null }));
    if (shownResults === '') showWaiting();
    if (words.length < minLetters) return;
    try {
      const matches = await findDocuments(words, signal);
      const newResults = JSON.stringify([words, matches]);
      if (newResults === shownResults) return;
      const pathsById = await requestPaths(matches, signal);
      if (!isNewest()) return;
      shownResults = newResults;
      fill(resultsElement, ...resultSections(words, matches, pathsById));
    } catch (error) {
      if (!signal.aborted && isNewest() && !isUpdate) fill(resultsElement, errorNotice(error));
    }
  }
}

/** The documents that contain all the words, sorted by name. */
async function findDocuments(words: string, signal: AbortSignal): Promise<Matches> {
  const options = { query: { find: words, limit: maxResults, sort: naturalOrder }, signal };
  const [collection, folder, item] = await Promise.all([
    requestList('collection', options),
    requestList('folder', options),
    requestList('item', options),
  ]);
  return { collection, folder, item };
}

/** The paths of the folders and items in the results, by id. A path that the user may not see is missing. */
async function requestPaths({ folder, item }: Matches, signal: AbortSignal) {
  if (folder.total + item.total === 0) return {};
  const idsOf = ({ entries }: ListedDocuments<{ _id: string }>) => entries.map(({ _id }) => _id);
  const json = { folder: idsOf(folder), item: idsOf(item) };
  const paths = await request('POST', 'resource/paths', { json, signal });
  const pathsById: Record<string, string> = { ...paths.folder, ...paths.item };
  return Object.fromEntries(Object.entries(pathsById).map(([id, path]) => [id, parentPathText(path)]));
}

function resultSections(words: string, matches: Matches, pathsById: Record<string, string>) {
  const { collection, folder, item } = matches;
  const rows = {
    collection: collection.entries.map((document) => placeRow('collection', document, { note: document.description })),
    folder: folder.entries.map((document) => placeRow('folder', document, { note: pathsById[document._id] })),
    item: item.entries.map((document) => itemCard(document, { note: pathsById[document._id] })),
  };
  const kindsWithResults = kinds.filter((kind) => rows[kind].length > 0);
  if (kindsWithResults.length === 0) {
    return [h('div.empty.column.quiet-text', h('h2', browseTexts.nothingFound(words)), h('p', browseTexts.nothingFoundHint))];
  }
  return kindsWithResults.map((kind) => {
    const { total } = matches[kind];
    const count = total <= maxResults ? formatCount(total) : browseTexts.firstFound(maxResults, total);
    const heading = h('h2.count.quiet-text.small', `${browseTexts.whatFound[kind]} · ${count}`);
    return h('section', heading, h('ul', { class: kind === 'item' ? 'cards' : 'places' }, ...rows[kind]));
  });
}
