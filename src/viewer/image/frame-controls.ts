import { h, slider } from '../dom.js';
import { projectionControls, type Projection } from './projection.js';
import { axesOf, frameAt, positionOf, type Axis, type ImageMetadata } from './metadata.js';
import { imageTexts } from '../texts.js';

/**
 * Sliders for the axes of a multi-frame image; `null` if there are none.
 *
 * @param isMixed whether channels are displayed together, so that they need no slider
 * @param on `frame` is called with the neighbors on the axis that was moved, nearest first; `projection` when planes of z are combined
 *   in another way
 */
export function frameControls(
  metadata: ImageMetadata,
  start: { frame: number; projection: Projection | null },
  isMixed: boolean,
  on: { frame: (frame: number, likely: number[]) => void; projection: (projection: Projection | null) => void },
) {
  const axes = axesOf(metadata).filter(({ key }) => !(isMixed && key === 'IndexC'));
  if (axes.length === 0) return null;
  let { frame } = start;
  const rows = axes.map((axis) => ({ axis, ...axisRow(axis, (position) => move(axis, position)) }));
  const depth = rows.find(({ axis }) => axis.key === 'IndexZ');
  const projecting =
    depth && projectionControls({ axis: depth.axis, plane: () => positionOf(depth.axis, frame), onChange: project });
  const element = h('div.frame-controls.column', ...rows.map((row) => row.element), projecting?.element);
  set(start.frame, start.projection);
  return { element, set };

  /** Shows a frame and a projection that were selected elsewhere. */
  function set(next: number, projection: Projection | null) {
    frame = next;
    showAll();
    projecting?.set(projection);
    showDepth(projection);
  }

  /** The planes of a projection are chosen by its range. */
  function showDepth(projection: Projection | null) {
    if (depth) depth.element.hidden = projection !== null;
  }

  function project(projection: Projection | null) {
    showDepth(projection);
    on.projection(projection);
  }

  function showAll() {
    for (const row of rows) row.show(frame);
  }

  function move(axis: Axis, position: number) {
    const forward = position >= positionOf(axis, frame);
    frame = frameAt(axis, frame, position);
    showAll();
    const next = forward ? position + 1 : position - 1;
    on.frame(frame, next >= 0 && next < axis.range ? [frameAt(axis, frame, next)] : []);
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
