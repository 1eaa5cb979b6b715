import { h } from '../../dom.js';
import type { Stage } from '../../stage/stage-contract.js';
import type { Tools } from './tools.js';

/**
 * Makes the image usable with the keyboard: the arrow keys move the image under a cross in the middle of the stage, and Space
 * clicks at the cross.
 *
 * @param element the element that the stage fills
 */
export function addKeyboardCross(stage: Stage, element: HTMLElement, tools: Tools, signal: AbortSignal) {
  const cross = h('div.aim', { 'aria-hidden': 'true', hidden: true });
  element.append(cross);
  const middle = () => {
    const { width, height } = stage.size();
    return { x: width / 2, y: height / 2 };
  };
  const letToolsFollow = () => {
    if (!cross.hidden) tools.followCross(middle());
  };
  stage.onMove(letToolsFollow);
  stage.onRest(letToolsFollow);
  // While Space is held, dragging moves the view; Space alone is a click when it is released.
  let willClick = false;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === ' ') {
      event.preventDefault();
      if (event.repeat) return;
      willClick = tools.isPaused = true;
    } else if (!event.key.startsWith('Arrow')) return;
    cross.hidden = false;
  };
  const onKeyUp = ({ key }: KeyboardEvent) => {
    if (key !== ' ') return;
    tools.isPaused = false;
    if (willClick) tools.clickByKey(middle());
    willClick = false;
  };
  const releaseSpace = () => (willClick = tools.isPaused = false);
  stage.canvas.addEventListener('keydown', onKeyDown, { signal });
  stage.canvas.addEventListener('keyup', onKeyUp, { signal });
  element.addEventListener('pointerdown', () => (willClick = false), { signal, capture: true });
  stage.canvas.addEventListener('blur', releaseSpace, { signal });
  const hide = () => (cross.hidden = true);
  // Browsers also report a move if the page has moved under the pointer.
  const onMove = ({ movementX, movementY }: PointerEvent) => void ((movementX !== 0 || movementY !== 0) && hide());
  element.addEventListener('pointermove', onMove, { signal });
  element.addEventListener('pointerdown', hide, { signal });
  stage.canvas.addEventListener('blur', hide, { signal });
}
