import { ApiError, request, type Query } from '../api.js';
import { debounced, errorNotice, fill, h, icon, trackNewest } from '../dom.js';
import { field } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';
import { nameOf } from '../session.js';

/** A user or group among the results. */
export interface PersonOrGroup {
  kind: 'users' | 'groups';
  id: string;
  name: string;
  login?: string;
}

const maxResults = 8;

/** Searches documents by their names and descriptions. */
async function searchDocuments(query: Query, signal?: AbortSignal) {
  const results = await request('GET', 'resource/search', { query, ...(signal && { signal }) });
  // The response is a list only if nothing was searched.
  return Array.isArray(results) ? {} : results;
}

/** Finds users and groups whose names begin with the words. The first letter may be upper or lower case. */
export async function findByName(words: string, types: ('user' | 'group')[]) {
  const query = { mode: 'prefix', types: JSON.stringify(types), limit: maxResults };
  const spellings = new Set([words, words.toLowerCase(), words.charAt(0).toUpperCase() + words.slice(1)]);
  const answers = await Promise.all([...spellings].map((q) => searchDocuments({ ...query, q })));
  const unique = <T extends { _id: string }>(documents: T[]) => [
    ...new Map(documents.map((document) => [document._id, document])).values(),
  ];
  return { user: unique(answers.flatMap(({ user = [] }) => user)), group: unique(answers.flatMap(({ group = [] }) => group)) };
}

async function findPeople(words: string, types: ('user' | 'group')[]): Promise<PersonOrGroup[]> {
  const { user, group } = await findByName(words, types);
  return [
    ...user.map((match) => ({ kind: 'users' as const, id: match._id, login: match.login, name: nameOf(match) })),
    ...group.map(({ _id, name }) => ({ kind: 'groups' as const, id: _id, name })),
  ];
}

/** A field that finds users and groups while the user types, and calls `onFound` with the user or group that the user selects. */
export function personSearch(onFound: (person: PersonOrGroup) => void, types: ('user' | 'group')[] = ['user', 'group']) {
  const results = h('ul.picker-list', { 'aria-label': browseTexts.found, hidden: true });
  const input = h('input', {
    type: 'search',
    autocomplete: 'off',
    oninput: debounced(() => void search()),
    onkeydown: onKeyDown,
  });
  const trackSearch = trackNewest();
  const label = types.includes('group') ? browseTexts.personOrGroup : browseTexts.person;
  return h('div.picker.column', field(label, input, browseTexts.personHint), results);

  /** Enter selects the first result, instead of submitting the surrounding form. */
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    results.querySelector('button')?.click();
  }

  async function search() {
    const isNewest = trackSearch();
    const words = input.value.trim();
    results.hidden = words === '';
    if (words === '') return;
    try {
      const people = await findPeople(words, types);
      if (!isNewest()) return;
      fill(
        results,
        ...people.map((person) => h('li', personButton(person))),
        people.length === 0 && h('li.quiet-text', commonTexts.none),
      );
    } catch (error) {
      // Not every server on which the viewer element is used has this route.
      const isAbsent = error instanceof ApiError && error.status === 404;
      fill(results, h('li', errorNotice(isAbsent ? new Error(browseTexts.noPersonSearch) : error)));
    }
  }

  function personButton(person: PersonOrGroup) {
    const choose = () => {
      input.value = '';
      results.hidden = true;
      input.focus();
      onFound(person);
    };
    const personLabel = person.login ? `${person.name} (${person.login})` : person.name;
    return h('button.pick.row', { onclick: choose }, icon(person.kind === 'users' ? 'person' : 'people'), personLabel);
  }
}
