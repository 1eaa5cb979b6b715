import { save } from '../api.js';
import { button, h, plainDialog, tell } from '../dom.js';
import { formatNumber } from '../format.js';
import { form } from '../forms.js';
import type { Look } from '../stage/contract.js';
import { figureTexts } from '../figure-texts.js';
import { imageTexts } from '../texts.js';
import { chooseBox } from './choose-box.js';
import { composeFigure, sizeOf, type FigureSource } from './compose.js';
import { drawMarks } from './draw.js';
import { pngOf, tiffOf } from './files.js';
import { boundsOf, frameAt, frameBeside, frameOfView, onImage, type Frame } from './frame.js';
import { isWritable, pdfOf } from './pdf.js';
import { samplesPart } from './samples.js';
import { svgOf } from './svg.js';

const endings = { png: 'png', tiff: 'tif', svg: 'svg', pdf: 'pdf' } as const;

type Format = keyof typeof endings;

/** Pixels per inch that can be chosen. */
const dpiRange = { min: 30, max: 2400 } as const;

/** The entries of the dialog, as inputs have them. */
type Entries = Record<'format' | 'width' | 'unit' | 'dpi' | 'title' | 'scaleBar' | 'annotations' | 'legend', string>;

const firstEntries: Entries = {
  format: 'png',
  width: '1600',
  unit: 'px',
  dpi: '300',
  title: '',
  scaleBar: 'true',
  annotations: 'true',
  legend: 'true',
};

const storageKey = 'figure';

export interface FigureDialogOptions {
  source: FigureSource;
  /** the image that is compared with it */
  beside: () => FigureSource | null;
  /** element of the stage, on which a box can be drawn */
  drawing: HTMLElement;
  /** the frames of the visible channels if there are others */
  shown: () => Look & { frame: number; some: number[] | null };
  signal: AbortSignal;
}

/** A dialog that saves the view, or a box on it, as a figure or as samples. */
export function figureDialog(options: FigureDialogOptions, chosen: { frame: Frame; entries: Entries } | null = null) {
  const { source, beside, drawing, shown, signal } = options;
  const { item, metadata, stage } = source;
  const end = new AbortController();
  const entries = chosen?.entries ?? storedEntries();
  const other = beside();
  const sources = other ? [source, other] : [source];
  const frame = chosen?.frame ?? frameOfView(stage);
  const seen = other ? frame : (onImage(frame, metadata) ?? frame);
  const frames = other ? [seen, frameBeside(seen, stage, other.stage)] : [seen];
  const box = boundsOf(seen, metadata);
  const name = `${item.name.replace(/(\.ome)?\.\w+$/i, '')}_region_${box?.left ?? 0}_${box?.top ?? 0}`;
  const canMeasure = sources.some((one) => one.metadata.mm_x !== null);
  const result = h('p.quiet-text.small', { role: 'status' });
  const element = form({
    fields: fields(),
    content: [!canMeasure && h('p.hint.quiet-text.small', figureTexts.noScaleBar), result],
    action: figureTexts.makeFigure,
    send,
  });
  element.classList.add('figure-form');
  element.addEventListener('input', showResult);
  showResult();
  const chooser = [
    button(figureTexts.changeBox, () => void drawBox(), { picture: 'box' }),
    chosen && button(figureTexts.useView, () => reopen(null)),
  ];
  const about = h('p', box ? figureTexts.boxOf(box.right - box.left, box.bottom - box.top) : figureTexts.outside);
  const part = h('div.row.wrap.between', about, h('div.row.wrap', ...chooser.flatMap((one) => one || [])));
  const samples = box && samplesPart({ itemId: item._id, name, box, shown: shown(), onSaved: () => dialog.close() });
  const dialog = plainDialog(
    imageTexts.saveView,
    part,
    element,
    samples && h('details.figure-samples', h('summary', figureTexts.samples), samples),
  );
  dialog.addEventListener('close', () => end.abort());
  signal.addEventListener('abort', () => dialog.close(), { once: true });

  function fields() {
    const number = { type: 'number', step: 'any', min: 0 };
    return [
      { name: 'format', label: figureTexts.format, options: figureTexts.formats, value: entries.format },
      { name: 'width', label: figureTexts.width, value: entries.width, ...number },
      { name: 'unit', label: figureTexts.unit, options: figureTexts.units, value: entries.unit },
      { name: 'dpi', label: figureTexts.dpi, value: entries.dpi, ...number },
      { name: 'title', label: figureTexts.title, value: entries.title, maxlength: 200, hint: figureTexts.titleHint },
      toggle('scaleBar', figureTexts.scaleBar, canMeasure),
      toggle('annotations', figureTexts.annotations),
      toggle('legend', figureTexts.legend),
    ];
  }

  function toggle(name: 'scaleBar' | 'annotations' | 'legend', label: string, isPossible = true) {
    return { name, label, type: 'checkbox', value: isPossible && entries[name] === 'true', disabled: !isPossible };
  }

  /** The entries as they are now, including boxes that are not checked. */
  function entered(): Entries {
    const values = Object.fromEntries(new FormData(element)) as Partial<Entries>;
    const isOn = (name: 'scaleBar' | 'annotations' | 'legend') =>
      String(element.querySelector<HTMLInputElement>(`[name="${name}"]`)?.checked === true);
    const scaleBar = canMeasure ? isOn('scaleBar') : entries.scaleBar;
    return { ...entries, ...values, scaleBar, annotations: isOn('annotations'), legend: isOn('legend') };
  }

  function showResult() {
    const { width, dpi } = sizeFrom(entered());
    const size = width >= 1 && dpi > 0 ? sizeOf(frames, width) : null;
    const centimeters = (pixels: number) => formatNumber((pixels / dpi) * 2.54, 3);
    result.textContent = size ? figureTexts.result(width, size.height, centimeters(width), centimeters(size.height)) : '';
  }

  async function drawBox() {
    const kept = entered();
    dialog.close();
    const drawn = await chooseBox(drawing, signal);
    if (!signal.aborted)
      figureDialog(options, drawn ? { frame: frameAt(stage, drawn), entries: kept } : chosen && { ...chosen, entries: kept });
  }

  function reopen(next: Frame | null) {
    const kept = entered();
    dialog.close();
    figureDialog(options, { frame: next ?? frameOfView(stage), entries: kept });
  }

  async function send() {
    const kept = entered();
    const { width, dpi } = sizeFrom(kept);
    if (!(dpi >= dpiRange.min && dpi <= dpiRange.max)) throw new Error(figureTexts.dpiRange(dpiRange.min, dpiRange.max));
    const isOn = (key: 'scaleBar' | 'annotations' | 'legend') => kept[key] === 'true';
    const wishes = {
      width,
      dpi,
      title: kept.title.trim(),
      scaleBar: isOn('scaleBar'),
      annotations: isOn('annotations'),
      legend: isOn('legend'),
    };
    const leave = AbortSignal.any([signal, end.signal]);
    const made = await composeFigure(sources, frames, wishes, leave);
    const format = kept.format as Format;
    const file = await fileOf(made, format, dpi, leave);
    leave.throwIfAborted();
    storeEntries({ ...kept, title: '' });
    await save(file, `${name}.${endings[format]}`);
    dialog.close();
    if (made.notes.length > 0) tell(made.notes.join(' '));
  }
}

/** Width in pixels and pixels per inch; `NaN` where the entry is no number. */
function sizeFrom({ width, unit, dpi }: Entries) {
  const [size, density] = [width, dpi].map((text) => (text.trim() === '' ? NaN : Number(text))) as [number, number];
  const factor = { px: 1, in: density, cm: density / 2.54 }[unit] ?? 1;
  return { width: Math.round(size * factor), dpi: density };
}

async function fileOf(
  { figure, canvas }: Awaited<ReturnType<typeof composeFigure>>,
  format: Format,
  dpi: number,
  signal: AbortSignal,
) {
  if (format === 'pdf') {
    await drawMarks(canvas, figure, signal, (mark) => !isWritable(mark));
    return pdfOf(figure, canvas, dpi, signal);
  }
  if (format !== 'svg') await drawMarks(canvas, figure, signal);
  if (format === 'tiff') return tiffOf(canvas, dpi, signal);
  const png = await pngOf(canvas, dpi);
  if (!png) throw new Error(figureTexts.failed);
  return format === 'svg' ? svgOf(figure, png, dpi, signal) : png;
}

/** The choices made for the last figure. */
function storedEntries(): Entries {
  try {
    const stored = JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Record<string, unknown>;
    const known = Object.entries(firstEntries).map(([key, value]) => [
      key,
      typeof stored[key] === 'string' ? stored[key] : value,
    ]);
    return Object.fromEntries(known) as Entries;
  } catch {
    // Pages may forbid storage.
    return firstEntries;
  }
}

function storeEntries(entries: Entries) {
  try {
    localStorage.setItem(storageKey, JSON.stringify(entries));
  } catch {
    // The choices are only a convenience.
  }
}
