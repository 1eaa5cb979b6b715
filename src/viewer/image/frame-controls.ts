import { h, slider } from '../dom.js';
import { axesOf, frameAt, positionOf, type Axis, type ImageMetadata } from './metadata.js';
import { imageTexts } from '../texts.js';

/**
 * Sliders for the axes of a multi-frame image; `null` if there are none.
 *
 * @param isMixed whether channels are displayed together, so that they need no slider
 * @param onFrame `likely`: neighbors on the axis that was moved, nearest first
 */
export function frameControls(
  metadata: ImageMetadata,
  start: number,
  isMixed: boolean,
  onFrame: (frame: number, likely: number[]) => void,
) {
  const axes = axesOf(metadata).filter(({ key }) => !(isMixed && key === 'IndexC'));
  if (axes.length === 0) return null;
  let frame = start;
  const rows = axes.map((axis) => axisRow(axis, (position) => move(axis, position)));
  const element = h('div.frame-controls.column', ...rows.map((row) => row.element));
  showAll();
  return {
    element,
    /** Shows a frame that was selected elsewhere. */
    set(next: number) {
      frame = next;
      showAll();
    },
  };

  function showAll() {
    for (const row of rows) row.show(frame);
  }

  function move(axis: Axis, position: number) {
    const forward = position >= positionOf(axis, frame);
    frame = frameAt(axis, frame, position);
    showAll();
    const next = forward ? position + 1 : position - 1;
    onFrame(frame, next >= 0 && next < axis.range ? [frameAt(axis, frame, next)] : []);
  }
}

function axisRow(axis: Axis, onMove: (position: number) => void) {
  const oninput = () => onMove(input.valueAsNumber);
  const { input, value, element } = slider(axis.label, { min: 0, max: axis.range - 1, step: 1, oninput });
  return {
    element,
    show(frame: number) {
      const position = positionOf(axis, frame);
      const name = axis.names[position];
      const count = imageTexts.positionOf(position + 1, axis.range);
      input.value = String(position);
      input.setAttribute('aria-valuetext', name ? `${name}, ${count}` : count);
      value.textContent = name ? `${name} · ${count}` : count;
    },
  };
}
