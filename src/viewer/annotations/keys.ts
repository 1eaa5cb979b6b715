import type { editAnnotation } from './editor.js';
import type { Tools } from './drawing/tools.js';

/** The parts of the page that keys control. */
interface KeyUsers {
  tools: Tools;
  /** the editor of the edited annotation; `null` while none is edited */
  editor: () => Pick<ReturnType<typeof editAnnotation>, 'removeSelected' | 'step'> | null;
  /** closes the facts of a shape */
  unpin: () => void;
  signal: AbortSignal;
}

/** Follows the keys that are pressed anywhere on the page. */
export function followKeys(root: Node, { signal, ...users }: KeyUsers) {
  const onKeyDown = (event: Event) => act(event as KeyboardEvent, users) && event.preventDefault();
  root.addEventListener('keydown', onKeyDown, { signal });
}

/** Does what a key is for while something is drawn or edited. @returns whether it is for anything */
function act(event: KeyboardEvent, { tools, editor, unpin }: Omit<KeyUsers, 'signal'>) {
  const { key } = event;
  const target = event.target as HTMLElement;
  const isModified = event.ctrlKey || event.metaKey;
  // In these controls, Ctrl-Z has no other meaning.
  const isStep = isModified && target.closest('select, input:is([type=checkbox], [type=radio], [type=color])');
  if (!isStep && target.closest('input, textarea, select, dialog')) return false;
  const edited = editor();
  if (key === 'Escape') unpin();
  if (!edited && tools.tool !== 'measure') return false;
  const isButton = target.closest('button, a, summary') !== null;
  if (key === 'Escape') tools.cancel();
  else if (key === 'Enter' && !isButton) tools.finish();
  else if (key === 'Delete' && !isButton) edited?.removeSelected();
  else if (key === 'Backspace' && !isButton) {
    if (!tools.dropVertex()) edited?.removeSelected();
  } else if (isModified && /^[zy]$/i.test(key)) edited?.step(/y/i.test(key) || event.shiftKey ? 'redo' : 'undo');
  else return false;
  return true;
}
