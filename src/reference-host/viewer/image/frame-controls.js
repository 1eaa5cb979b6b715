// @ts-check
import { h } from '../dom.js';
import { axesOf, frameAt, positionOf } from './metadata.js';

/**
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 * @typedef {import('./metadata.js').Axis} Axis
 */

/**
 * A slider for each axis of a multi-frame image; `null` for an image of one frame.
 *
 * @param {ImageMetadata} metadata
 * @param {number} start
 * @param {(frame: number, likely: number[]) => void} onFrame `likely`: neighbours on the axis that was moved, nearest first
 */
export function frameControls(metadata, start, onFrame) {
  const axes = axesOf(metadata);
  if (axes.length === 0) return null;
  let frame = start;
  const rows = axes.map((axis) => axisRow(axis, (position) => move(axis, position)));
  const element = h('div', { class: 'frame-controls' }, ...rows.map((row) => row.element));
  showAll();
  return {
    element,
    /** Takes over a frame that was chosen elsewhere. @param {number} next */
    set(next) {
      frame = next;
      showAll();
    },
  };

  function showAll() {
    for (const row of rows) row.show(frame);
  }

  /** @param {Axis} axis @param {number} position */
  function move(axis, position) {
    const forward = position >= positionOf(axis, frame);
    frame = frameAt(axis, frame, position);
    showAll();
    const next = forward ? position + 1 : position - 1;
    onFrame(frame, next >= 0 && next < axis.range ? [frameAt(axis, frame, next)] : []);
  }
}

/** @param {Axis} axis @param {(position: number) => void} onMove */
function axisRow(axis, onMove) {
  const id = `axis-${axis.key}`;
  const slider = h('input', {
    id,
    type: 'range',
    min: 0,
    max: axis.range - 1,
    step: 1,
    oninput: () => onMove(slider.valueAsNumber),
  });
  const value = h('output', { for: id, class: 'axis-value' });
  const element = h('div', { class: 'axis' }, h('label', { for: id }, axis.label), value, slider);
  return {
    element,
    /** @param {number} frame */
    show(frame) {
      const position = positionOf(axis, frame);
      const name = axis.names[position];
      const count = `${position + 1} of ${axis.range}`;
      slider.value = String(position);
      slider.setAttribute('aria-valuetext', name ? `${name}, ${count}` : count);
      value.textContent = name ? `${name} · ${count}` : count;
    },
  };
}
