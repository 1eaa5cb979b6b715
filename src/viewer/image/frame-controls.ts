import { button, h, slider } from '../dom.js';
import { pause } from '../api.js';
import { choice, field } from '../forms.js';
import { projectionControls, type Projection } from './projection.js';
import { axesOf, frameAt, positionOf, type Axis, type ImageMetadata } from './image-metadata.js';
import { imageTexts } from '../texts.js';

/** Axes that can be played. */
const playableAxes = new Set(['IndexZ', 'IndexT', 'Frame']);
/** Time from one frame to the next while an axis plays, in milliseconds. The time for loading the frame is added. */
const stepMs = 200;
/** Maximum time to wait until a frame is complete, in milliseconds. */
const maxLoadMs = 10_000;
/** Maximum number of series or scenes in a drop-down list. If there are more, a slider is used. */
const maxListedPositions = 1000;

/**
 * Sliders and drop-down lists for the axes of a multi-frame image; `null` if no axis needs a control.
 *
 * @param isMixed whether all channels are displayed together, so that they need no slider
 * @param handlers `onFrame` is called with the new frame and the frames that are likely to follow, `onProjection` with a new projection.
 *   `whenDrawn` resolves when the frame is complete, and playing stops when `signal` aborts
 */
export function frameControls(
  metadata: ImageMetadata,
  initial: { frame: number; projection: Projection | null },
  isMixed: boolean,
  handlers: {
    onFrame: (frame: number, likelyNext: number[]) => Promise<void>;
    onProjection: (projection: Projection | null) => void;
    whenDrawn: () => Promise<void>;
    signal: AbortSignal;
  },
) {
  const axes = axesOf(metadata).filter(({ key }) => !(isMixed && key === 'IndexC'));
  if (axes.length === 0) return null;
  let { frame } = initial;
  const rows = axes.map((axis) => {
    const onMove = (position: number) => void move(axis, position);
    const isListed = axis.key === 'IndexXY' && axis.range <= maxListedPositions;
    return { axis, ...(isListed ? axisList(axis, onMove) : axisSlider(axis, onMove, playableAxes.has(axis.key) ? play : null)) };
  });
  const zRow = rows.find(({ axis }) => axis.key === 'IndexZ');
  const projectionPart =
    zRow && projectionControls({ axis: zRow.axis, currentPlane: () => positionOf(zRow.axis, frame), onChange: changeProjection });
  const element = h('div.frame-controls.column', ...rows.map((row) => row.element), projectionPart?.element);
  set(initial.frame, initial.projection);
  return { element, set };

  /** Shows a frame and a projection that were selected elsewhere. */
  function set(newFrame: number, projection: Projection | null) {
    frame = newFrame;
    updateRows();
    projectionPart?.set(projection);
    showOrHideZ(projection);
  }

  /** Hides the z slider while a projection is shown, because the projection has its own range of planes. */
  function showOrHideZ(projection: Projection | null) {
    if (!zRow) return;
    zRow.element.hidden = projection !== null;
    if (projection !== null) zRow.stop();
  }

  function changeProjection(projection: Projection | null) {
    showOrHideZ(projection);
    handlers.onProjection(projection);
  }

  function updateRows() {
    for (const row of rows) row.show(frame);
  }

  /** Shows the positions of an axis one after another, repeatedly, until the signal aborts. */
  async function play(axis: Axis, stopSignal: AbortSignal) {
    const eitherSignal = AbortSignal.any([stopSignal, handlers.signal]);
    while (!eitherSignal.aborted) {
      // A hidden page draws nothing, so its frames are never complete.
      if (!document.hidden) {
        await move(axis, (positionOf(axis, frame) + 1) % axis.range);
        await Promise.race([handlers.whenDrawn(), pause(maxLoadMs, eitherSignal)]);
      }
      await pause(stepMs, eitherSignal);
    }
  }

  function move(axis: Axis, position: number) {
    const isForward = position >= positionOf(axis, frame);
    frame = frameAt(axis, frame, position);
    updateRows();
    const nextPosition = isForward ? position + 1 : position - 1;
    return handlers.onFrame(frame, nextPosition >= 0 && nextPosition < axis.range ? [frameAt(axis, frame, nextPosition)] : []);
  }
}

/** A drop-down list of the positions of an axis. */
function axisList(axis: Axis, onMove: (position: number) => void) {
  const names = Array.from({ length: axis.range }, (_, index) => axis.names[index] ?? `${axis.label} ${index + 1}`);
  const select = choice(Object.fromEntries(names.map((name, index) => [`${index}`, name])), '0', {
    onchange: () => onMove(Number(select.value)),
  });
  const show = (frame: number) => void (select.value = String(positionOf(axis, frame)));
  return { element: field(axis.label, select), show, stop: () => undefined };
}

/** A slider for an axis. @param play plays the axis until the signal aborts; `null` if the axis cannot be played */
function axisSlider(
  axis: Axis,
  onMove: (position: number) => void,
  play: ((axis: Axis, stopSignal: AbortSignal) => Promise<void>) | null,
) {
  let playController: AbortController | null = null;
  const oninput = () => {
    stop();
    onMove(input.valueAsNumber);
  };
  const { input, output, element } = slider(axis.label, { min: 0, max: axis.range - 1, step: 1, oninput });
  const toggle = button('', () => (playController ? stop() : start()), {
    icon: 'play',
    name: imageTexts.play(axis.label),
    isPressed: false,
  });
  if (play) element.append(toggle);
  element.classList.toggle('playable', play !== null);
  return {
    element,
    stop,
    show(frame: number) {
      const position = positionOf(axis, frame);
      const name = axis.names[position];
      const countedPosition = imageTexts.positionOf(position + 1, axis.range);
      const positionText = axis.distanceOf ? imageTexts.positionAt(countedPosition, axis.distanceOf(position)) : countedPosition;
      input.value = String(position);
      input.setAttribute('aria-valuetext', name ? `${name}, ${positionText}` : positionText);
      output.textContent = name ? `${name} · ${positionText}` : positionText;
    },
  };

  function start() {
    playController = new AbortController();
    toggle.setAttribute('aria-pressed', 'true');
    void play?.(axis, playController.signal);
  }

  function stop() {
    playController?.abort();
    playController = null;
    toggle.setAttribute('aria-pressed', 'false');
  }
}
