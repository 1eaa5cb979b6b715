import type { Editor } from './editor.js';
import { toolKeys, toolKeySetting, type Tool } from './drawing/tool-names.js';
import type { Tools } from './drawing/tools.js';

/** The parts of the page that keys control. */
interface KeyTargets {
  tools: Tools;
  /** the editor of the edited annotation; `null` while no annotation is edited */
  getEditor: () => Pick<Editor, 'removeSelected' | 'undoOrRedo' | 'save'> | null;
  /** whether a tool can be chosen now */
  isOffered: (tool: Tool) => boolean;
  chooseTool: (tool: Tool) => void;
  /** the image's element that takes the keyboard focus */
  canvas: HTMLElement;
  /** closes the card of the clicked shape */
  closeCard: () => void;
  signal: AbortSignal;
}

/** Handles keys that are pressed anywhere on the page. */
export function followKeys(root: Node, { signal, ...targets }: KeyTargets) {
  const onKeyDown = (event: Event) => handleKey(event as KeyboardEvent, targets) && event.preventDefault();
  root.addEventListener('keydown', onKeyDown, { signal });
  // These keys are captured before they reach the library that draws the image, which has its own use for R.
  const onToolKey = (event: Event) => handleToolKey(event as KeyboardEvent, targets) && event.stopPropagation();
  root.addEventListener('keydown', onToolKey, { capture: true, signal });
}

/** Chooses a tool by its key. @returns whether the key is for a tool */
function handleToolKey(
  { key, target, ctrlKey, metaKey, altKey }: KeyboardEvent,
  { isOffered, chooseTool, canvas }: Omit<KeyTargets, 'signal'>,
) {
  const tool = toolKeys[key];
  if (tool === undefined || target !== canvas || ctrlKey || metaKey || altKey || !toolKeySetting.isOn) return false;
  if (!isOffered(tool)) return false;
  chooseTool(tool);
  return true;
}

/** Carries out the action of a key while something is drawn or edited. @returns whether the key has an action */
function handleKey(event: KeyboardEvent, { tools, getEditor, closeCard }: Omit<KeyTargets, 'signal'>) {
  const { key } = event;
  const target = event.target as HTMLElement;
  const isModified = event.ctrlKey || event.metaKey;
  const currentEditor = getEditor();
  if (isModified && key.toLowerCase() === 's' && currentEditor && !target.closest('dialog')) {
    // A field applies its text only when it loses the focus or at Enter, so it is told to apply the text before saving.
    if (target.matches('input[type=text]')) target.dispatchEvent(new Event('change'));
    void currentEditor.save();
    return true;
  }
  // Browsers undo nothing in these controls, so the keys undo changes of shapes there too.
  const lacksOwnUndo = target.closest('select, input:is([type=checkbox], [type=radio], [type=color])') !== null;
  if (!(isModified && lacksOwnUndo) && target.closest('input, textarea, select, dialog')) return false;
  if (key === 'Escape') closeCard();
  if (!currentEditor && tools.tool !== 'measure') return false;
  const isButton = target.closest('button, a, summary') !== null;
  if (key === 'Escape') tools.cancel();
  else if (key === 'Enter' && !isButton) tools.finishDrawing();
  else if (key === 'Delete' && !isButton) currentEditor?.removeSelected();
  else if (key === 'Backspace' && !isButton) {
    if (!tools.removeLastVertex()) currentEditor?.removeSelected();
  } else if (isModified && /^[zy]$/i.test(key)) currentEditor?.undoOrRedo(/y/i.test(key) || event.shiftKey ? 'redo' : 'undo');
  else return false;
  return true;
}
