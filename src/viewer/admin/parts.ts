import { announce, h, messageOf } from '../dom.js';
import type { Child } from '../dom.js';

/** A panel with a heading. */
export function panel(title: string, ...content: (Child | Child[])[]) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  return h('section.panel.surface.raised.stack.column', { 'aria-labelledby': id }, h('h2', { id }, title), ...content);
}

/** A line that says what became of an action: good news, or what went wrong. */
export function outcome(): {
  element: HTMLElement;
  good: (text: string) => void;
  bad: (error: unknown) => void;
  clear: () => void;
} {
  const element = h('p.outcome.break', { 'data-testid': 'outcome', hidden: true });
  const show = (text: string, kind: 'good' | 'bad') => {
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

/** A button that is disabled while its action runs. */
export function actionButton(options: {
  label: string;
  /** what a screen reader says, where the label alone is not enough */
  name?: string;
  kind?: 'primary' | 'danger' | '';
  run: () => Promise<void>;
  failed: (error: unknown) => void;
}) {
  const { label, name, kind = '', run, failed } = options;
  const button = h('button', { class: `button ${kind}`, 'aria-label': name, onclick: act }, label);
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

/** A table; cells are texts or elements. */
export function table(columns: string[], rows: Child[][], label: string) {
  return h(
    'div.table-frame',
    // Where it is wider than the screen, it is scrolled by the keyboard too.
    { tabindex: 0, role: 'group', 'aria-label': label },
    h(
      'table.table.numbers',
      { 'aria-label': label },
      h('thead', h('tr', ...columns.map((column) => h('th', { scope: 'col' }, column)))),
      h('tbody', ...rows.map((cells) => h('tr', ...cells.map((cell) => h('td', cell))))),
    ),
  );
}
