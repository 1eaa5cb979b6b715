import { h } from '../../dom.js';
import { CellLayer, snapToPixel, type Cell, type CellLayout } from '../../stage/cells.js';
import { boxAround, type Box, type Element } from '../annotation-model.js';
import { Painter, type Context } from './painter.js';
import { everywhere } from './patches.js';
import type { Stage } from '../../stage/stage-contract.js';
import type { OverlayPicture } from './overlay-pictures.js';

/** The content of the stage, bottom first: overlays, tiles of the server, shapes, labels, and everything that `paintAbove` paints. */
export type LayerContent = {
  visibleOverlays: () => Iterable<Element>;
  getOrFetchPicture: (element: Element) => OverlayPicture | null;
  /** for each annotation, at least the shapes that overlap a box of the image */
  shapesIn: (box: Box) => Iterable<{ elements: Iterable<Element>; opacity: number }>;
  /** shapes whose labels are always visible */
  labeledShapes: () => Element[];
  /** whether all shapes that overlap a box of the image are loaded */
  areShapesLoadedIn: (box: Box) => boolean;
  /** shapes that are being changed, which are drawn in each frame */
  liveShapes: () => readonly Element[];
  hoveredShape: () => Element | null;
  /** paints above the shapes; returns whether it has painted anything */
  paintAbove: (painter: Painter) => boolean;
};

/** Side of a cell, in CSS pixels. */
const cellSide = 256;

/** Shapes within this distance of a cell, in CSS pixels, are drawn in the cell too, because their lines may reach into it. */
const cellMargin = cellSide / 8;

/** Maximum number of points drawn in one frame, so that no frame takes long. */
const maxPointsPerFrame = 6000;

/** Cost of a shape in addition to its points, as a number of points. */
const costOfShape = 8;

/**
 * The drawing above the image: cells of shapes, which move with the view, and a canvas for everything that changes under the
 * pointer.
 *
 * @param element the element that the stage fills
 * @returns functions that redraw everything, only the cells that were incomplete, or only the live canvas
 */
export function drawingLayer(stage: Stage, element: HTMLElement, content: LayerContent) {
  const liveCanvas = h('canvas.live-layer', { 'aria-hidden': 'true' });
  let labeledShapes: Element[] = [];
  /** Ids of the shapes that the cells leave out, because the live canvas shows them. */
  let idsLeftOutOfCells = '';
  /** Number of points that may still be drawn in this frame. */
  let pointsLeft = maxPointsPerFrame;
  const cellCanvas = new OffscreenCanvas(1, 1);
  const overlayCanvas = new OffscreenCanvas(1, 1);
  /** Ids of the overlays that were drawn last. */
  let overlayIds = '';
  let hasDrawnLive = false;
  let isLiveRedrawScheduled = false;
  // The live canvas must be below the overview in the corner.
  element.querySelector('.navigator')?.before(liveCanvas);
  const overlayLayer = new CellLayer({ stage, depth: 'picture', createLayout: layOutOverlays, concurrency: 1 });
  const shapeLayer = new CellLayer({ stage, depth: 'shapes', createLayout: layOutShapes, concurrency: 1, onShown: redrawLive });
  // The live canvas is drawn in the same frame as the image, so that shapes do not lag behind the image.
  stage.onMove(drawLive);
  return { redraw, redrawIncomplete, redrawLive };

  function redraw() {
    redrawOverlays(true);
    shapeLayer.redraw();
  }

  /** @param isChanged whether the same overlays look different now */
  function redrawOverlays(isChanged: boolean) {
    const ids = [...content.visibleOverlays()].map(({ id }) => id).join(' ');
    if (ids === '' && overlayIds !== '') overlayLayer.hide();
    if (ids !== '' && (isChanged || ids !== overlayIds)) overlayLayer.redraw();
    overlayIds = ids;
  }

  function redrawLive() {
    if (isLiveRedrawScheduled) return;
    isLiveRedrawScheduled = true;
    requestAnimationFrame(() => {
      isLiveRedrawScheduled = false;
      if (liveCanvas.isConnected) drawLive();
    });
  }

  /** Redraws the cells whose missing shapes have arrived. */
  function redrawIncomplete() {
    redrawOverlays(false);
    updateLabels();
    shapeLayer.redrawCells(({ missingBox }: ShapeCell) => missingBox !== undefined && content.areShapesLoadedIn(missingBox));
    redrawLive();
  }

  function updateLabels() {
    const liveIds = content.liveShapes().map(({ id }) => id);
    idsLeftOutOfCells = liveIds.join(' ');
    labeledShapes = content.labeledShapes().filter(({ id }) => !liveIds.includes(id));
  }

  function layOutShapes(placement: DOMMatrix): CellLayout {
    updateLabels();
    return {
      ...squareCells(placement),
      draw: (cell, signal) => drawCell(cell, placement, signal),
      isReady: ({ box }) => content.areShapesLoadedIn(toImageBox(box, placement, cellMargin)),
    };
  }

  function layOutOverlays(placement: DOMMatrix): CellLayout {
    return { ...squareCells(placement), draw: async (cell) => drawOverlays(cell, placement) };
  }

  function drawOverlays({ box }: Cell, placement: DOMMatrix): ImageBitmap {
    const painter = makeCellPainter(overlayCanvas, box, placement);
    for (const overlay of content.visibleOverlays()) {
      const picture = content.getOrFetchPicture(overlay);
      if (picture) painter.paintOverlay(overlay, picture);
    }
    return overlayCanvas.transferToImageBitmap();
  }

  async function drawCell(cell: ShapeCell, placement: DOMMatrix, signal: AbortSignal): Promise<ImageBitmap | null> {
    const boxWithMargin = toImageBox(cell.box, placement, cellMargin);
    const liveIds = content.liveShapes().map(({ id }) => id);
    if (content.areShapesLoadedIn(boxWithMargin)) delete cell.missingBox;
    else cell.missingBox = boxWithMargin;
    const painter = makeCellPainter(cellCanvas, cell.box, placement);
    let isEmpty = true;
    for (const { elements, opacity } of content.shapesIn(boxWithMargin)) {
      const visibleShapes = [...elements].filter((shape) => painter.isInView(shape) && !liveIds.includes(shape.id));
      isEmpty &&= visibleShapes.length === 0;
      for (let start = 0, end = 0; start < visibleShapes.length; start = end) {
        if (pointsLeft <= 0) {
          painter.flush();
          await nextFrame();
          signal.throwIfAborted();
          pointsLeft = maxPointsPerFrame;
        }
        for (; end < visibleShapes.length && pointsLeft > 0; end += 1)
          pointsLeft -= costOfShape + (visibleShapes[end]?.points?.length ?? 4);
        painter.paintShapes(visibleShapes.slice(start, end), opacity);
      }
    }
    // More shapes have arrived while the cell was drawn.
    if (cell.missingBox && content.areShapesLoadedIn(cell.missingBox)) return drawCell(cell, placement, signal);
    return isEmpty ? null : cellCanvas.transferToImageBitmap();
  }

  function drawLive() {
    const hoveredShape = content.hoveredShape();
    const painter = makePainter(liveCanvas, stage.size(), stage.placement(), stage.visibleBox(), hasDrawnLive);
    const shapes = content.liveShapes();
    if (shapes.map(({ id }) => id).join(' ') !== idsLeftOutOfCells) shapeLayer.redraw();
    painter.paintShapes(shapes, 1);
    const labels = hoveredShape && !labeledShapes.includes(hoveredShape) ? [...labeledShapes, hoveredShape] : labeledShapes;
    for (const shape of labels) if (shape.label?.visibility !== 'hidden') painter.paintLabel(shape);
    hasDrawnLive = content.paintAbove(painter) || shapes.length > 0 || labels.length > 0;
    liveCanvas.hidden = !hasDrawnLive;
  }
}

/** Converts a box of the stage, extended beyond its sides, to image coordinates. */
function toImageBox({ left, top, right, bottom }: Box, placement: DOMMatrix, marginOnStage: number = 0) {
  const stageToImage = placement.inverse();
  const [columns, rows] = [
    [left - marginOnStage, right + marginOnStage],
    [top - marginOnStage, bottom + marginOnStage],
  ];
  return boxAround(columns.flatMap((x) => rows.map((y) => stageToImage.transformPoint({ x, y }))));
}

/** Cells that are squares on the screen. */
function squareCells(placement: DOMMatrix) {
  const side = snapToPixel(cellSide);
  return { toImage: placement.inverse(), width: side, height: side, origin: { x: 0, y: 0 }, range: everywhere };
}

function makeCellPainter(canvas: OffscreenCanvas, box: Box, placement: DOMMatrix) {
  const { left, top, right, bottom } = box;
  const cellPlacement = new DOMMatrix().translate(-left, -top).multiply(placement);
  return makePainter(canvas, { width: right - left, height: bottom - top }, cellPlacement, toImageBox(box, placement));
}

/** `missingBox`: the box of the image whose shapes were missing when the cell was drawn. */
type ShapeCell = Cell & { missingBox?: Box };

function nextFrame() {
  return new Promise<void>((resolve) => requestAnimationFrame(() => resolve()));
}

/** @param mustClear whether the canvas may have an earlier drawing, which must be erased */
function makePainter(
  canvas: HTMLCanvasElement | OffscreenCanvas,
  { width, height }: { width: number; height: number },
  placement: DOMMatrix,
  visibleBox: Box,
  mustClear: boolean = true,
) {
  const ratio = devicePixelRatio;
  const size = { width: Math.round(width * ratio), height: Math.round(height * ratio) };
  // Canvases of cells are kept in software memory, because `flush` reads from them.
  const context = canvas.getContext('2d', { willReadFrequently: canvas instanceof OffscreenCanvas }) as Context;
  if (canvas.width !== size.width || canvas.height !== size.height) Object.assign(canvas, size);
  else if (mustClear) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
  }
  return new Painter(context, ratio, placement, visibleBox);
}
