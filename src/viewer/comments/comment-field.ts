import { announce, debounced, fill, h, icon, trackNewest } from '../dom.js';
import { field } from '../forms.js';
import { findByName } from '../browse/person-search.js';
import { commentTexts as texts } from '../comment-texts.js';
import { nameOf } from '../session.js';

/** Maximum length of a comment that the server accepts, in characters. */
const maxTextLength = 5000;

/** Matches an `@` and the beginning of a login at the end of the text before the caret. */
const mentionStart = /(?:^|[^\p{L}\p{N}_.@/-])@([\p{L}\p{N}._-]+)$/u;

/** A field for a comment that suggests people while the user types `@` and the beginning of a name or login. */
export function commentField(label: string, value = '') {
  const suggestions = h('ul.picker-list', { 'aria-label': texts.suggestions, hidden: true });
  const input = h('textarea', { name: 'text', rows: 3, maxlength: maxTextLength, dir: 'auto', required: true });
  input.value = value;
  const trackSearch = trackNewest();
  const suggest = debounced(() => void search());
  input.addEventListener('input', suggest);
  const element = h('div.column.comment-field', field(label, input, texts.textHint), suggestions);
  element.addEventListener('keydown', onKeyDown);
  return { element, input };

  function typedLoginStart() {
    return mentionStart.exec(input.value.slice(0, input.selectionStart))?.[1] ?? null;
  }

  async function search() {
    const isNewest = trackSearch();
    const loginStart = typedLoginStart();
    // A server that has its own users may not have this route; then nobody is suggested.
    const { user } = loginStart === null ? { user: [] } : await findByName(loginStart, ['user']).catch(() => ({ user: [] }));
    if (!isNewest() || typedLoginStart() !== loginStart) return;
    suggestions.hidden = user.length === 0;
    fill(suggestions, ...user.map((person) => h('li', suggestionButton(person))));
    if (user.length > 0) announce(texts.people(user.length));
  }

  function suggestionButton(person: Parameters<typeof nameOf>[0] & object) {
    return h('button.pick.row', { onclick: () => choose(person.login) }, icon('person'), `${nameOf(person)} (${person.login})`);
  }

  function choose(login: string) {
    const caret = input.selectionStart;
    const start = caret - (typedLoginStart()?.length ?? 0);
    input.setRangeText(`${login} `, start, caret, 'end');
    closeSuggestions();
  }

  function closeSuggestions() {
    suggestions.hidden = true;
    input.focus();
  }

  /** The arrow keys go through the suggestions, and Escape closes them. */
  function onKeyDown(event: KeyboardEvent) {
    if (suggestions.hidden) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      closeSuggestions();
      return;
    }
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const focusTargets = [input, ...suggestions.querySelectorAll('button')];
    const focusedElement = (input.getRootNode() as Document | ShadowRoot).activeElement as HTMLElement;
    focusTargets[Math.min(Math.max(focusTargets.indexOf(focusedElement as never) + step, 0), focusTargets.length - 1)]?.focus();
  }
}
