import { h, showPlainDialog } from './dom.js';
import { toolKeySetting } from './annotations/drawing/tool-names.js';
import { helpTexts } from './texts.js';

/** Lists the keyboard shortcuts when the user presses `?`. */
export function offerHelp(root: Node, signal?: AbortSignal) {
  const onKeyDown = (event: Event) => {
    const { key, target } = event as KeyboardEvent;
    if (key !== '?' || (target as HTMLElement).closest('input, textarea, select, dialog')) return;
    const rows = helpTexts.list.flatMap(([name, action]) => [h('dt', h('kbd', name)), h('dd', action)]);
    const checked = toolKeySetting.isOn;
    const box = h('input', { type: 'checkbox', checked, onchange: () => (toolKeySetting.isOn = box.checked) });
    showPlainDialog(helpTexts.keys, h('dl.keys', ...rows), h('label.row', box, helpTexts.toolKeys));
  };
  root.addEventListener('keydown', onKeyDown, signal ? { signal } : {});
}
