import { requestList, request } from '../api.js';
import { nameFields } from '../browse/dialog-parts.js';
import { readPage } from '../browse/paging.js';
import { isSame, naturalOrder, type Place } from '../browse/browse-model.js';
import { placeRow } from '../browse/place-row.js';
import { createSelection } from '../browse/list-selection.js';
import { append, button, fill, h, icon } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { languageChoice } from '../languages/choice.js';
import { goTo, routeHash, type Route, type ViewContext, type View } from '../router.js';
import { currentUser, type User } from '../session.js';
import { sharingTexts } from '../sharing-texts.js';
import { accountTexts, browseTexts } from '../texts.js';

/** The start page with all collections that the user can see. */
export async function homeView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  const page = readPage(route.query, { size: 50, listName: 'collections' });
  const requestCollections = () => requestList('collection', { query: { ...page.query, sort: naturalOrder }, signal });
  const results = await requestCollections();
  const { entries, total } = results;
  signal.throwIfAborted();
  const user = currentUser();
  const pageElement = h('div.page.column');
  const selection = createSelection({ page: pageElement, refresh, signal });
  const collectionRow = (doc: Place) =>
    placeRow('collection', doc, {
      note: doc.description,
      checkbox: selection.createCheckbox({ type: 'collection', doc, level: doc._accessLevel }),
    });
  const createButton = button(browseTexts.newCollection, createCollection, { icon: 'plus', kind: 'primary' });
  const sharedLink = user && h('a.button', { href: routeHash('shared') }, icon('people'), sharingTexts.withMe);
  const heading = h('div.page-heading.row.wrap', h('h1', browseTexts.collections), sharedLink, user?.admin && createButton);
  const content =
    total === 0 && page.pageNumber === 1
      ? noCollectionsNotice(user)
      : h('ul.places', { 'aria-label': browseTexts.collections }, ...entries.map(collectionRow));
  append(pageElement, [heading, content, page.createLinks(total), selection.bar, languageChoice()]);
  fill(main, pageElement);
  selection.update();
  return {
    title: '',
    hasChanged: async () =>
      !isSame(results, await requestCollections(), { ignoredMember: 'size' }) && selection.bar.hidden === true,
  };
}

function noCollectionsNotice(user: User | null) {
  const notice = (title: string, text: string, ...links: HTMLElement[]) =>
    h('div.empty.column.quiet-text', icon('collection'), h('h2', title), h('p', text), h('p.actions.wrap', ...links));
  const link = (href: string, words: string, kind = '') => h('a', { class: `button ${kind}`, href }, words);
  const signIn = link('#sign-in', accountTexts.signIn, 'primary');
  const register = link('#register', accountTexts.createAnAccount);
  if (user === null) return notice(browseTexts.emptyPublic, browseTexts.emptyPublicMore, signIn, register);
  if (user.admin) return notice(browseTexts.emptyHome, browseTexts.collectionsHint);
  return notice(
    browseTexts.emptyHomeVisible,
    browseTexts.emptyHomeOwn,
    link(routeHash('user', user._id), accountTexts.myFolders, 'primary'),
  );
}

function createCollection() {
  showFormDialog({
    title: browseTexts.newCollection,
    action: browseTexts.createCollection,
    fields: [...nameFields(), { name: 'public', label: browseTexts.everybody, type: 'checkbox' }],
    async send(values) {
      const form = { ...values, description: values.description || null };
      const collection = await request('POST', 'collection', { form });
      goTo(routeHash('collection', collection._id));
    },
  });
}
