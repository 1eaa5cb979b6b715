import { saveFile } from '../api.js';
import { button, h, showPlainDialog, showMessage } from '../dom.js';
import { formatNumber } from '../format.js';
import { form } from '../forms.js';
import type { FrameAppearance } from '../stage/stage-contract.js';
import { figureTexts } from '../figure-texts.js';
import { imageTexts } from '../texts.js';
import { chooseBox } from './choose-box.js';
import { composeFigure, figureSize, type FigureSource } from './compose-figure.js';
import { drawMarks } from './draw-marks.js';
import {
  entriesIn,
  entryFields,
  readSize,
  readStoredEntries,
  storeEntries,
  figureSettings,
  type FigureEntries,
} from './figure-entries.js';
import { pngOf, tiffOf } from './figure-files.js';
import { boundsOf, areaAt, sameAreaOnSecond, areaOfView, cropToImage, type ImageArea } from './image-area.js';
import { isWritableInPdf, pdfOf } from './pdf.js';
import { samplesPart } from './samples-part.js';
import { svgOf } from './svg.js';

const extensions = { png: 'png', tiff: 'tif', svg: 'svg', pdf: 'pdf' } as const;

type Format = keyof typeof extensions;

export interface FigureDialogOptions {
  source: FigureSource;
  /** the second image, if two images are compared */
  getComparedSource: () => FigureSource | null;
  /** element of the stage, on which a box can be drawn */
  drawingElement: HTMLElement;
  /** the frame and how it is shown; `shownChannels`: the frames of the visible channels, or `null` if all channels or none are visible */
  currentDisplay: () => FrameAppearance & { frame: number; shownChannels: number[] | null };
  signal: AbortSignal;
}

/**
 * Shows a dialog that saves the view, or a box on it, as a figure or as samples.
 *
 * @param previousChoice the area that the user has just chosen, and what the user had entered before; `null` for the whole view
 */
export function showFigureDialog(
  options: FigureDialogOptions,
  previousChoice: { area: ImageArea; entries: FigureEntries } | null = null,
) {
  const { source, getComparedSource, drawingElement, currentDisplay, signal } = options;
  const { item, metadata, stage } = source;
  const closeController = new AbortController();
  const initialEntries = previousChoice?.entries ?? readStoredEntries();
  const comparedSource = getComparedSource();
  const sources = comparedSource ? [source, comparedSource] : [source];
  const area = previousChoice?.area ?? areaOfView(stage);
  const shownArea = comparedSource ? area : (cropToImage(area, metadata) ?? area);
  const areas = comparedSource ? [shownArea, sameAreaOnSecond(shownArea, stage, comparedSource.stage)] : [shownArea];
  const box = boundsOf(shownArea, metadata);
  const name = `${item.name.replace(/(\.ome)?\.\w+$/i, '')}_region_${box?.left ?? 0}_${box?.top ?? 0}`;
  const canMeasure = sources.some((candidate) => candidate.metadata.mm_x !== null);
  const sizeText = h('p.quiet-text.small', { role: 'status' });
  const element = form({
    fields: entryFields(initialEntries, canMeasure),
    content: [!canMeasure && h('p.hint.quiet-text.small', figureTexts.noScaleBar), sizeText],
    action: figureTexts.makeFigure,
    send: saveFigure,
  });
  element.classList.add('figure-form');
  element.addEventListener('input', showSize);
  showSize();
  const boxButtons = [
    button(figureTexts.changeBox, () => void drawBox(), { icon: 'box' }),
    previousChoice && button(figureTexts.useView, showWholeView),
  ];
  const boxSize = h('p', box ? figureTexts.boxOf(box.right - box.left, box.bottom - box.top) : figureTexts.outside);
  const boxRow = h('div.row.wrap.between', boxSize, h('div.row.wrap', ...boxButtons.flatMap((control) => control || [])));
  const samplesElement =
    box && samplesPart({ itemId: item._id, name, box, display: currentDisplay(), onSaved: () => dialog.close() });
  const dialog = showPlainDialog(
    imageTexts.saveView,
    boxRow,
    element,
    samplesElement && h('details.figure-samples', h('summary', figureTexts.samples), samplesElement),
  );
  dialog.addEventListener('close', () => closeController.abort());
  signal.addEventListener('abort', () => dialog.close(), { once: true });

  function currentEntries() {
    return entriesIn(element, initialEntries);
  }

  function showSize() {
    const { width, dpi } = readSize(currentEntries());
    const size = width >= 1 && dpi > 0 ? figureSize(areas, width) : null;
    const centimeters = (pixels: number) => formatNumber((pixels / dpi) * 2.54, 3);
    sizeText.textContent = size ? figureTexts.result(width, size.height, centimeters(width), centimeters(size.height)) : '';
  }

  async function drawBox() {
    const entries = currentEntries();
    dialog.close();
    const drawnBox = await chooseBox(drawingElement, signal);
    if (!signal.aborted)
      showFigureDialog(
        options,
        drawnBox ? { area: areaAt(stage, drawnBox), entries } : previousChoice && { ...previousChoice, entries },
      );
  }

  function showWholeView() {
    const entries = currentEntries();
    dialog.close();
    showFigureDialog(options, { area: areaOfView(stage), entries });
  }

  async function saveFigure() {
    const entries = currentEntries();
    const settings = figureSettings(entries);
    const stopSignal = AbortSignal.any([signal, closeController.signal]);
    const figure = await composeFigure(sources, areas, settings, stopSignal);
    const format = entries.format as Format;
    const file = await makeFile(figure, format, settings.dpi, stopSignal);
    stopSignal.throwIfAborted();
    storeEntries({ ...entries, title: '' });
    await saveFile(file, `${name}.${extensions[format]}`);
    dialog.close();
    if (figure.notes.length > 0) showMessage(figure.notes.join(' '));
  }
}

async function makeFile(
  { figure, canvas }: Awaited<ReturnType<typeof composeFigure>>,
  format: Format,
  dpi: number,
  signal: AbortSignal,
) {
  if (format === 'pdf') {
    await drawMarks(canvas, figure, signal, (mark) => !isWritableInPdf(mark));
    return pdfOf(figure, canvas, dpi, signal);
  }
  if (format !== 'svg') await drawMarks(canvas, figure, signal);
  if (format === 'tiff') return tiffOf(canvas, dpi, signal);
  const png = await pngOf(canvas, dpi);
  if (!png) throw new Error(figureTexts.failed);
  return format === 'svg' ? svgOf(figure, png, dpi, signal) : png;
}
