// @ts-check
import { announce, h, messageOf } from '../dom.js';

/**
 * A panel with a heading.
 *
 * @param {string} title
 * @param {...(import('../dom.js').Child | import('../dom.js').Child[])} content
 */
export function panel(title, ...content) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  return h('section', { class: 'panel stack', 'aria-labelledby': id }, h('h2', { id }, title), ...content);
}

/**
 * A line that says what became of an action: good news, or what went wrong.
 *
 * @returns {{ element: HTMLElement, good: (text: string) => void, bad: (error: unknown) => void, clear: () => void }}
 */
export function outcome() {
  const element = h('p', { class: 'outcome', 'data-testid': 'outcome', hidden: true });
  /** @param {string} text @param {'good' | 'bad'} kind */
  const show = (text, kind) => {
    element.textContent = text;
    element.dataset.kind = kind;
    element.setAttribute('role', kind === 'bad' ? 'alert' : 'status');
    element.hidden = false;
  };
  return {
    element,
    good(text) {
      show(text, 'good');
      announce(text);
    },
    bad: (error) => show(messageOf(error), 'bad'),
    clear() {
      element.hidden = true;
      element.textContent = '';
    },
  };
}

/**
 * A button that is disabled while its action runs.
 *
 * @param {object} what
 * @param {string} what.label
 * @param {string} [what.name] what a screen reader says, where the label alone is not enough
 * @param {'primary' | 'danger' | ''} [what.kind]
 * @param {() => Promise<void>} what.run
 * @param {(error: unknown) => void} what.failed
 */
export function actionButton({ label, name, kind = '', run, failed }) {
  const button = h('button', { class: `button ${kind}`, type: 'button', 'aria-label': name, onclick: act }, label);
  return button;

  async function act() {
    button.disabled = true;
    button.setAttribute('aria-busy', 'true');
    try {
      await run();
    } catch (error) {
      failed(error);
    } finally {
      button.disabled = false;
      button.removeAttribute('aria-busy');
    }
  }
}

/**
 * A table; cells are texts or elements.
 *
 * @param {string[]} columns
 * @param {import('../dom.js').Child[][]} rows
 * @param {string} label
 */
export function table(columns, rows, label) {
  return h(
    'div',
    { class: 'table-frame' },
    h(
      'table',
      { class: 'table', 'aria-label': label },
      h('thead', {}, h('tr', {}, ...columns.map((column) => h('th', { scope: 'col' }, column)))),
      h('tbody', {}, ...rows.map((cells) => h('tr', {}, ...cells.map((cell) => h('td', {}, cell))))),
    ),
  );
}

/**
 * A labelled input.
 *
 * @param {string} label
 * @param {HTMLElement} input has an id
 * @param {string} [hint]
 */
export function field(label, input, hint) {
  const hintId = `${input.id}-hint`;
  if (hint) input.setAttribute('aria-describedby', hintId);
  return h(
    'div',
    { class: 'field' },
    h('label', { for: input.id }, label),
    input,
    hint && h('p', { class: 'hint', id: hintId }, hint),
  );
}
