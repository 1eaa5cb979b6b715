import { h } from '../../dom.js';
import type { Stage } from '../../stage/contract.js';
import type { Tools } from './tools.js';

/**
 * Makes the image usable with the keyboard: the arrow keys move it below a cross in the middle of the stage, and Space presses
 * there.
 *
 * @param element that the stage fills
 */
export function aim(stage: Stage, element: HTMLElement, tools: Tools, signal: AbortSignal) {
  const cross = h('div.aim', { 'aria-hidden': 'true', hidden: true });
  element.append(cross);
  const middle = () => {
    const { width, height } = stage.size();
    return { x: width / 2, y: height / 2 };
  };
  const follow = () => {
    if (!cross.hidden) tools.follow(middle());
  };
  stage.onMove(follow);
  stage.onRest(follow);
  const onKey = (event: KeyboardEvent) => {
    if (event.key === ' ') {
      event.preventDefault();
      tools.strike(middle());
    } else if (!event.key.startsWith('Arrow')) return;
    cross.hidden = false;
  };
  stage.canvas.addEventListener('keydown', onKey, { signal });
  const hide = () => (cross.hidden = true);
  // Browsers also report moves if only the page has moved below the pointer.
  const onMove = ({ movementX, movementY }: PointerEvent) => void ((movementX !== 0 || movementY !== 0) && hide());
  element.addEventListener('pointermove', onMove, { signal });
  element.addEventListener('pointerdown', hide, { signal });
  stage.canvas.addEventListener('blur', hide, { signal });
}
