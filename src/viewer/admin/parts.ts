import { announce, button, h, messageOf, type ButtonOptions, type Child } from '../dom.js';
import type { Route } from '../router.js';

/** Builds the content of a section. `signal` aborts when the user leaves the section. */
export type SectionBuilder = (context: { signal: AbortSignal; route: Route }) => Promise<HTMLElement[]>;

/** A panel with a heading. */
export function panel(title: string, ...content: (Child | Child[])[]) {
  const id = `panel-${title.toLowerCase().replace(/[^a-z]+/g, '-')}`;
  return h('section.panel.surface.raised.stack.column', { 'aria-labelledby': id }, h('h2', { id }, title), ...content);
}

/** A line for the result of an action, and buttons that show their results in it. */
export function createNotice() {
  const element = h('p.outcome.break', { 'data-testid': 'outcome', hidden: true });
  return { element, showSuccess, showError, clear, createButton };

  function showOutcome(text: string, kind: 'good' | 'bad') {
    element.textContent = text;
    element.dataset.kind = kind;
    element.setAttribute('role', kind === 'bad' ? 'alert' : 'status');
    element.hidden = false;
  }

  function showSuccess(text: string) {
    showOutcome(text, 'good');
    announce(text);
  }

  function showError(error: unknown) {
    showOutcome(messageOf(error), 'bad');
  }

  function clear() {
    element.hidden = true;
    element.textContent = '';
  }

  function createButton(label: string, run: () => Promise<void>, options?: ButtonOptions) {
    const act = () => (clear(), run().catch(showError));
    const control = button(label, () => void onceAtATime(control, act), options);
    return control;
  }
}

/** A table; cells are texts or elements. */
export function table(columns: string[], rows: Child[][], label: string) {
  return h(
    'div.table-frame',
    // A table that is wider than the screen can be scrolled with the keyboard.
    { tabindex: 0, role: 'group', 'aria-label': label },
    h(
      'table.table.numbers',
      { 'aria-label': label },
      h('thead', h('tr', ...columns.map((column) => h('th', { scope: 'col' }, column)))),
      h('tbody', ...rows.map((cells) => h('tr', ...cells.map((cell) => h('td', cell))))),
    ),
  );
}

/** Runs the action of a button, unless it is already running. Meanwhile, the button is not disabled, because a disabled button would lose the focus. */
export async function onceAtATime(control: HTMLButtonElement, run: () => Promise<void>) {
  if (control.ariaBusy) return;
  control.ariaBusy = 'true';
  await run();
  control.ariaBusy = null;
}
