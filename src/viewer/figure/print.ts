import { fill, h } from '../dom.js';
import { formatCount, formatDate, formatLength, formatNumber, scaleBar } from '../format.js';
import { factList } from '../image/facts.js';
import type { FigureSource } from './compose-figure.js';
import { fontOf } from './figure-marks.js';
import { areaOfView, cropToImage } from './image-area.js';
import { printTexts } from '../figure-texts.js';
import { imageTexts } from '../texts.js';

/** An open image, and a function that makes a picture of its stage. */
interface PrintSource {
  figure: FigureSource;
  takeSnapshot: () => HTMLCanvasElement;
}

/** Lets the browser print the view of an image and its facts instead of the page. @param options `getSecondImage` returns the second image, if two images are compared */
export function setUpPrinting(options: {
  main: HTMLElement;
  /** the current name of the image */
  currentTitle: () => string;
  image: PrintSource;
  getSecondImage?: () => PrintSource | null;
  signal: AbortSignal;
}) {
  const { main, currentTitle, image, getSecondImage = () => null, signal } = options;
  const sheet = h('section.print-sheet.column', { 'aria-hidden': 'true' });
  main.append(sheet);
  addEventListener('beforeprint', showSheet, { signal });
  addEventListener('afterprint', clearSheet, { signal });

  function clearSheet() {
    fill(sheet);
    for (const pane of main.querySelectorAll<HTMLElement>('.frozen')) {
      pane.classList.remove('frozen');
      for (const side of ['width', 'height']) pane.style.removeProperty(side);
    }
  }

  /** Browsers print immediately after this event, so there is no time to load anything: the picture is a copy of the screen. */
  function showSheet() {
    const second = getSecondImage();
    const images = second ? [image, second] : [image];
    const pageFacts = factList([
      [printTexts.printed, formatDate(new Date().toISOString())],
      [printTexts.address, location.href],
    ]);
    for (const { figure } of images) freezeSize(figure);
    fill(
      sheet,
      h('h1', currentTitle()),
      h('div.print-images', ...images.map((shownImage) => printedImage(shownImage, second !== null))),
      pageFacts,
    );
  }
}

/** Keeps the size of a stage while the page is laid out for paper, because a new size would change its view. */
function freezeSize({ stage }: FigureSource) {
  const pane = stage.canvas.closest<HTMLElement>('.stage');
  const { width, height } = stage.size();
  pane?.style.setProperty('width', `${width}px`);
  pane?.style.setProperty('height', `${height}px`);
  pane?.classList.add('frozen');
}

function printedImage(image: PrintSource, showsName: boolean) {
  const { item, metadata, stage } = image.figure;
  const { sizeX, sizeY, mm_x: mmX, mm_y: mmY, magnification, magnificationComputed } = metadata;
  const bar = scaleBar({ zoom: stage.zoom(), mmPerPixel: mmX, maxWidth: maxBarWidth });
  const area = cropToImage({ ...areaOfView(stage), rotation: 0 }, metadata);
  const isWhole = stage.position() === null || area === null;
  const facts = factList([
    [imageTexts.image, showsName ? item.name : null],
    [printTexts.size, `${formatCount(sizeX)} × ${formatCount(sizeY)} px`],
    [printTexts.pixelSize, mmX && mmY ? `${formatLength(mmX)} × ${formatLength(mmY)}` : imageTexts.unknown],
    [printTexts.magnification, magnification && !magnificationComputed ? `${formatNumber(magnification, 3)}×` : null],
    [printTexts.scale, bar.label],
    [printTexts.view, isWhole ? null : printTexts.viewOf(area)],
  ]);
  return h('figure.column', image.takeSnapshot(), facts);
}

/** Maximum width of the scale bar in CSS pixels. */
const maxBarWidth = 150;

/** A picture of the stage as it is on the screen, with a scale bar in the corner. */
export function snapshotOf({ stage, metadata }: FigureSource, drawingElement: HTMLElement): HTMLCanvasElement {
  const layers = drawingElement.querySelectorAll<HTMLCanvasElement>('.drawing .openseadragon-canvas canvas, .veil, .live-layer');
  const bounds = drawingElement.getBoundingClientRect();
  const ratio = devicePixelRatio;
  const canvas = h('canvas', { width: Math.round(bounds.width * ratio), height: Math.round(bounds.height * ratio) });
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.fillStyle = '#ffffff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.scale(ratio, ratio);
  for (const layer of layers) {
    // Hidden layers have no size.
    if (layer.offsetWidth === 0) continue;
    context.filter = layer.style.filter || 'none';
    context.drawImage(layer, 0, 0, bounds.width, bounds.height);
  }
  context.filter = 'none';
  const { width, label } = scaleBar({ zoom: stage.zoom(), mmPerPixel: metadata.mm_x, maxWidth: maxBarWidth });
  const bottom = bounds.height - 14;
  context.fillStyle = 'rgb(255 255 255 / 85%)';
  context.fillRect(10, bottom - 28, width + 20, 36);
  context.fillStyle = '#16181f';
  context.fillRect(20, bottom - 3, width, 3);
  context.font = fontOf(13, true);
  context.textAlign = 'center';
  context.fillText(label, 20 + width / 2, bottom - 9);
  return canvas;
}
