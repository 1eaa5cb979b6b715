import { h } from '../dom.js';
import { choice, field } from '../forms.js';
import type { Axis } from './image-metadata.js';
import { imageTexts } from '../texts.js';

const methods = ['max', 'mean', 'min'] as const;

/** Maximum number of planes that the server combines. */
const maxPlanes = 256;

/** How z planes are combined into one plane: by the maximum, mean or minimum of their samples. `from` and `to` are the first and last plane, counted from 0. */
export interface Projection {
  method: (typeof methods)[number];
  from: number;
  to: number;
}

/** The parameters of a projection in requests to the server; `{}` without a projection. */
export function projectionQuery(projection: Projection | null): { zProject?: string; zFrom?: number; zTo?: number } {
  return projection === null ? {} : { zProject: projection.method, zFrom: projection.from, zTo: projection.to };
}

/** A projection in the form that addresses use: `max:3~17`, with planes counted from 0. */
export function writeProjection(projection: Projection | null) {
  return projection && `${projection.method}:${projection.from}~${projection.to}`;
}

/** The projection that an address describes; `null` if the address describes none, or if the image does not have these planes. */
export function readProjection(text: string | null, axis: Axis | undefined): Projection | null {
  const [name, range = ''] = (text ?? '').split(':');
  const method = methods.find((candidate) => candidate === name);
  if (method === undefined || axis === undefined) return null;
  const [from = 0, to = axis.range - 1] = range === '' ? [] : range.split('~').map(Number);
  const isValid = Number.isInteger(from) && Number.isInteger(to) && from >= 0 && to < axis.range && from <= to;
  return isValid && to - from < maxPlanes ? { method, from, to } : null;
}

/** Controls for a projection over z and its range of planes. @param options `currentPlane` returns the current plane, counted from 0 */
export function projectionControls(options: {
  axis: Axis;
  currentPlane: () => number;
  onChange: (projection: Projection | null) => void;
}) {
  const { axis, currentPlane, onChange } = options;
  let shownProjection: Projection | null = null;
  const methodSelect = choice({ '': imageTexts.onePlane, ...imageTexts.projections }, '', { onchange: choose });
  const inputs = (['from', 'to'] as const).map((bound) => {
    const input = h('input', { type: 'number', min: 1, max: axis.range, step: 1, onchange: () => setBound(bound, input) });
    return { bound, input };
  });
  const range = h('div.plane-range', ...inputs.map(({ bound, input }) => field(imageTexts.planes[bound], input)));
  const element = h('div.column', field(imageTexts.projection, methodSelect), range);
  set(null);
  return { element, set };

  /** Shows a projection that was selected elsewhere. */
  function set(newProjection: Projection | null) {
    shownProjection = newProjection;
    methodSelect.value = newProjection?.method ?? '';
    range.hidden = newProjection === null;
    for (const { bound, input } of inputs) input.value = newProjection ? String(newProjection[bound] + 1) : '';
  }

  function choose() {
    const method = methods.find((candidate) => candidate === methodSelect.value);
    set(method === undefined ? null : { ...(shownProjection ?? rangeAround(currentPlane())), method });
    onChange(shownProjection);
  }

  /** The largest allowed range of planes. The plane `middle` is in its middle, unless the stack ends before that. */
  function rangeAround(middle: number) {
    const count = Math.min(maxPlanes, axis.range);
    const from = Math.min(axis.range - count, Math.max(0, middle - Math.floor(count / 2)));
    return { from, to: from + count - 1 };
  }

  /** Sets one bound, and moves the other bound if necessary. */
  function setBound(bound: 'from' | 'to', input: HTMLInputElement) {
    if (shownProjection === null) return;
    const enteredPlane = Math.round(input.valueAsNumber) - 1;
    const value = Number.isNaN(enteredPlane) ? shownProjection[bound] : Math.min(axis.range - 1, Math.max(0, enteredPlane));
    const { from, to }: Projection = { ...shownProjection, [bound]: value };
    set(
      bound === 'from'
        ? { ...shownProjection, from, to: Math.min(Math.max(from, to), from + maxPlanes - 1) }
        : { ...shownProjection, from: Math.max(Math.min(from, to), to - maxPlanes + 1), to },
    );
    onChange(shownProjection);
  }
}
