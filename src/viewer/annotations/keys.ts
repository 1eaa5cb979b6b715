import type { Tools } from './drawing/tools.js';

interface KeyActions {
  tools: Tools;
  isEditing: () => boolean;
  /** takes the card of the clicked shape away */
  unpin: () => void;
  removeSelected: () => void;
  step: (way: 'undo' | 'redo') => void;
}

/** Listens to the keys for drawing and editing. */
export function listenToKeys(root: Node, actions: KeyActions, signal: AbortSignal) {
  const listen = (event: Event) => onKey(event as KeyboardEvent, actions) && event.preventDefault();
  root.addEventListener('keydown', listen, { signal });
}

/** @returns whether the key was for one of the actions */
function onKey(event: KeyboardEvent, { tools, isEditing, unpin, removeSelected, step }: KeyActions) {
  const { key } = event;
  const target = event.target as HTMLElement;
  const isModified = event.ctrlKey || event.metaKey;
  // These controls have no use of their own for Ctrl-Z.
  const isStep = isModified && target.closest('select, input:is([type=checkbox], [type=radio], [type=color])');
  if (!isStep && target.closest('input, textarea, select, dialog')) return false;
  if (key === 'Escape') unpin();
  if (!isEditing() && tools.tool !== 'measure') return false;
  const isButton = target.closest('button, a, summary') !== null;
  if (key === 'Escape') tools.cancel();
  else if (key === 'Enter' && !isButton) tools.finish();
  else if (key === 'Delete' && !isButton) removeSelected();
  else if (key === 'Backspace' && !isButton) {
    if (!tools.dropVertex()) removeSelected();
  } else if (isModified && /^[zy]$/i.test(key)) step(/y/i.test(key) || event.shiftKey ? 'redo' : 'undo');
  else return false;
  return true;
}
