import { requestList } from '../api.js';
import { emptyNote } from '../browse/item-list.js';
import { isSame } from '../browse/browse-model.js';
import { readPage } from '../browse/paging.js';
import { placeRow } from '../browse/place-row.js';
import { fill, h } from '../dom.js';
import type { Route, View, ViewContext } from '../router.js';
import { sharingTexts } from '../sharing-texts.js';
import { browseTexts } from '../texts.js';

/** The collections and folders that others have shared with the user. */
export async function sharedView(route: Route, { main, signal }: ViewContext): Promise<View> {
  const page = readPage(route.query, { size: 50, listName: sharingTexts.withMe });
  const requestPlaces = () => requestList('resource/shared', { query: page.query, signal });
  const results = await requestPlaces();
  signal.throwIfAborted();
  const { see, change, administer } = browseTexts.levels;
  const rows = results.entries.map((doc) =>
    placeRow(doc._modelType, doc, { note: [see, change, administer][Math.max(doc._accessLevel, 0)] }),
  );
  const content =
    results.total === 0
      ? emptyNote('people', sharingTexts.nothing, sharingTexts.nothingMore)
      : h('ul.places', { 'aria-label': sharingTexts.withMe }, ...rows);
  fill(
    main,
    h('div.page.column', h('div.page-heading.row.wrap', h('h1', sharingTexts.withMe)), content, page.createLinks(results.total)),
  );
  return {
    title: sharingTexts.withMe,
    hasChanged: async () => !isSame(results, await requestPlaces(), { ignoredMember: 'size' }),
  };
}
