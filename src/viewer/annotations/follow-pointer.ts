import type { Point } from './annotation-model.js';

/** Calls a function with the position of the pointer, in pixels of the stage, at most once per frame of the screen. */
export function followPointer(
  element: HTMLElement,
  onMove: (stagePoint: Point, isPressed: boolean) => void,
  signal: AbortSignal,
) {
  let lastEvent: PointerEvent | null = null;
  const reportPosition = () => {
    const { clientX, clientY, buttons } = lastEvent as PointerEvent;
    lastEvent = null;
    if (signal.aborted) return;
    const { left, top } = element.getBoundingClientRect();
    onMove({ x: clientX - left, y: clientY - top }, buttons !== 0);
  };
  element.addEventListener('pointermove', (event) => {
    if (!lastEvent) requestAnimationFrame(reportPosition);
    lastEvent = event;
  });
}
