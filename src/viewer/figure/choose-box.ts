import type { Box } from '../annotations/annotation-model.js';
import { h } from '../dom.js';
import { figureTexts } from '../figure-texts.js';

/** Minimum side of a box in pixels of the stage. Smaller boxes count as accidental. */
const minSide = 4;

/** Lets the user drag a box on an element. @returns the box in pixels of the element; `null` if the user cancels the choice */
export function chooseBox(element: HTMLElement, signal: AbortSignal): Promise<Box | null> {
  return new Promise((resolve) => {
    const boxElement = h('div.chosen-box', { hidden: true });
    const hint = h('p.chosen-box-hint.surface.raised', { role: 'status' }, figureTexts.drawHint);
    const cover = h(
      'div.box-chooser',
      { tabindex: 0, role: 'application', 'aria-label': figureTexts.changeBox },
      boxElement,
      hint,
    );
    let dragStart: { x: number; y: number; pointerId: number } | null = null;
    let box: Box | null = null;
    const endChoice = (chosenBox: Box | null) => {
      cover.remove();
      resolve(chosenBox);
    };
    const pointOnElement = ({ clientX, clientY }: PointerEvent) => {
      const { left, top, width, height } = cover.getBoundingClientRect();
      return { x: Math.min(width, Math.max(0, clientX - left)), y: Math.min(height, Math.max(0, clientY - top)) };
    };
    cover.addEventListener('pointerdown', (event) => {
      if (event.button !== 0) return;
      event.preventDefault();
      cover.setPointerCapture(event.pointerId);
      dragStart = { ...pointOnElement(event), pointerId: event.pointerId };
    });
    cover.addEventListener('pointermove', (event) => {
      if (dragStart?.pointerId !== event.pointerId) return;
      const { x, y } = pointOnElement(event);
      box = {
        left: Math.min(x, dragStart.x),
        top: Math.min(y, dragStart.y),
        right: Math.max(x, dragStart.x),
        bottom: Math.max(y, dragStart.y),
      };
      boxElement.hidden = false;
      const sides = { left: box.left, top: box.top, width: box.right - box.left, height: box.bottom - box.top };
      for (const [side, value] of Object.entries(sides)) boxElement.style.setProperty(side, `${value}px`);
    });
    cover.addEventListener('pointerup', () => {
      dragStart = null;
      const isLargeEnough = box !== null && box.right - box.left >= minSide && box.bottom - box.top >= minSide;
      if (isLargeEnough) endChoice(box);
      else boxElement.hidden = true;
    });
    cover.addEventListener('pointercancel', () => (dragStart = null));
    cover.addEventListener('keydown', (event) => {
      event.stopPropagation();
      if (event.key !== 'Escape') return;
      // Otherwise, the same key press would close the dialog that opens next.
      event.preventDefault();
      endChoice(null);
    });
    signal.addEventListener('abort', () => endChoice(null), { once: true });
    element.append(cover);
    cover.focus();
  });
}
