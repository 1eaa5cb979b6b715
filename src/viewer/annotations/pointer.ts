import type { Point } from './model.js';

/** Calls a function with the position of the pointer, in pixels of the stage, at most once per frame of the screen. */
export function onPointer(drawing: HTMLElement, call: (at: Point, isPressed: boolean) => void, signal: AbortSignal) {
  let lastEvent: PointerEvent | null = null;
  const report = () => {
    const { clientX, clientY, buttons } = lastEvent as PointerEvent;
    lastEvent = null;
    if (signal.aborted) return;
    const { left, top } = drawing.getBoundingClientRect();
    call({ x: clientX - left, y: clientY - top }, buttons !== 0);
  };
  drawing.addEventListener('pointermove', (event) => {
    if (!lastEvent) requestAnimationFrame(report);
    lastEvent = event;
  });
}
