import { button, h, showDialog, type Child } from './dom.js';
import { commonTexts, helpTexts } from './texts.js';

/** A dialog with a heading and a button to close it. */
export function plainDialog(title: string, ...content: Child[]) {
  const close = button('', () => dialog.close(), { picture: 'close', name: commonTexts.close });
  const heading = h('div.dialog-heading.row.between', h('h2', title), close);
  const dialog = h('dialog.dialog.surface', { 'aria-label': title }, heading, h('div.stack.column', ...content));
  showDialog(dialog);
  return dialog;
}

/** Lists the keys where somebody presses `?`. */
export function offerHelp(root: Node, signal?: AbortSignal) {
  const listen = (event: Event) => {
    const { key, target } = event as KeyboardEvent;
    if (key !== '?' || (target as HTMLElement).closest('input, textarea, select, dialog')) return;
    const rows = helpTexts.list.flatMap(([name, action]) => [h('dt', h('kbd', name)), h('dd', action)]);
    plainDialog(helpTexts.keys, h('dl.keys', ...rows));
  };
  root.addEventListener('keydown', listen, signal ? { signal } : {});
}
