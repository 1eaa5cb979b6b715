import { boxAround, overlaps, type Box, type Point } from '../annotations/annotation-model.js';
import type { Stage } from './stage-contract.js';

/** The part of the stage that cells need. */
export type CellStage = Pick<Stage, 'canvas' | 'size' | 'placement' | 'addPainter' | 'repaint' | 'onRest'>;

/** Cells are drawn up to this distance from the stage, as a share of the stage's size. */
const drawReach = 0.25;
/** Pending cells are kept up to this distance from the stage, as a share of the stage's size. */
const pendingReach = 0.5;

/** Maximum number of pixels in all kept cells, which take 64 MiB. Cells are kept so that returning to a position needs no drawing. */
const maxKeptPixels = 16 * 1024 * 1024;

/** While the user zooms, cells are redrawn when they are enlarged or reduced by more than this factor. */
const maxScaling = 1.6;

/** An edge of the view counts as moved if it has moved at least this far, in pixels, since the previous redraw. */
const minMove = 0.05;

/** A cell: its position in the grid, and its box in pixels of the layout. */
export interface Cell {
  column: number;
  row: number;
  box: Box;
}

/** How a layer on the image is divided into cells at one zoom. */
export interface CellLayout {
  /** The matrix from layout pixels to image pixels. Layout pixels have the size that stage pixels had when the layout was made. */
  toImage: DOMMatrix;
  /** size of a cell, before its edges are rounded to whole pixels of the screen */
  width: number;
  height: number;
  /** top left corner of the cell in column 0 and row 0 */
  origin: Point;
  /** the first and last column (`left`, `right`) and row (`top`, `bottom`) */
  range: Box;
  /** draws a cell; `null` if it is empty */
  draw: (cell: Cell, signal: AbortSignal) => Promise<ImageBitmap | null>;
  /** Whether a cell can be drawn completely. A cell that is not ready is drawn only if it is visible. */
  isReady?: (cell: Cell) => boolean;
  /** Adapts to another placement without redrawing cells; returns whether this was possible. */
  refit?: (placement: DOMMatrix) => boolean;
}

interface TrackedCell extends Cell {
  picture: ImageBitmap | null;
  state: 'pending' | 'drawing' | 'drawn';
  controller: AbortController;
}

/** Rounds to whole pixels of the screen. */
export function snapToPixel(value: number) {
  return Math.round(value * devicePixelRatio) / devicePixelRatio;
}

/** The cells of a layout. */
class CellGrid {
  readonly cells: Map<string, TrackedCell> = new Map();
  /** The area of the layout in which cells are drawn; `null` for all cells. */
  areaToDraw: Box | null = null;
  #lastVisibleBox: Box | null = null;

  constructor(readonly layout: CellLayout) {}

  /** The matrix from pixels of the layout to pixels of the stage. */
  toStage(placement: DOMMatrix) {
    return placement.multiply(this.layout.toImage);
  }

  /**
   * Paints the cells that overlap a box of the layout. Unless the view is rotated, cells begin and end at whole pixels of the canvas, so that moved
   * cells are not interpolated and zoomed cells have no gaps between them.
   *
   * @param ratio pixels of the canvas per CSS pixel
   */
  paint(context: CanvasRenderingContext2D, ratio: number, placement: DOMMatrix, visibleBox: Box) {
    const layoutToStage = this.toStage(placement);
    const isRotated = Math.abs(layoutToStage.b) > 1e-6;
    if (isRotated) context.setTransform(new DOMMatrix().scale(ratio).multiply(layoutToStage));
    const [x, y] = [snapToPixel(layoutToStage.e), snapToPixel(layoutToStage.f)];
    const scale = isRotated || Math.abs(layoutToStage.a - 1) < 1e-6 ? 1 : layoutToStage.a;
    const onCanvas = (value: number, offset: number) => (isRotated ? value : Math.round((value * scale + offset) * ratio));
    for (const { box, picture } of this.cells.values()) {
      if (!picture || !overlaps(box, visibleBox)) continue;
      const [left, top] = [onCanvas(box.left, x), onCanvas(box.top, y)];
      context.drawImage(picture, left, top, onCanvas(box.right, x) - left, onCanvas(box.bottom, y) - top);
    }
    context.resetTransform();
  }

  boxOf(column: number, row: number): Box {
    const { origin, width, height } = this.layout;
    const [left, right] = [column, column + 1].map((index) => snapToPixel(origin.x + index * width)) as [number, number];
    const [top, bottom] = [row, row + 1].map((index) => snapToPixel(origin.y + index * height)) as [number, number];
    return { left, top, right, bottom };
  }

  /** While the view moves, limits drawing to visible cells and to cells ahead of the movement. */
  limitAreaToDraw(visibleBox: Box, nearBox: Box) {
    const lastVisibleBox = this.#lastVisibleBox ?? visibleBox;
    this.#lastVisibleBox = visibleBox;
    const [leftMove, topMove, rightMove, bottomMove] = (['left', 'top', 'right', 'bottom'] as const).map((side) => {
      const move = visibleBox[side] - lastVisibleBox[side];
      return Math.abs(move) < minMove ? 0 : move;
    }) as [number, number, number, number];
    if (!leftMove && !topMove && !rightMove && !bottomMove) return;
    this.areaToDraw = {
      left: leftMove < 0 ? nearBox.left : visibleBox.left,
      top: topMove < 0 ? nearBox.top : visibleBox.top,
      right: rightMove > 0 ? nearBox.right : visibleBox.right,
      bottom: bottomMove > 0 ? nearBox.bottom : visibleBox.bottom,
    };
  }

  /** Updates the boxes of all cells after the layout was refitted. */
  repositionCells() {
    for (const cell of this.cells.values()) cell.box = this.boxOf(cell.column, cell.row);
  }

  dropCell(key: string, { picture, controller }: TrackedCell) {
    controller.abort();
    picture?.close();
    this.cells.delete(key);
  }

  /** Adds the missing cells that overlap `nearBox`, and drops cells outside `farBox` that are not drawn yet. */
  addCells(nearBox: Box, farBox: Box) {
    for (const [key, cell] of this.cells) if (cell.state !== 'drawn' && !overlaps(cell.box, farBox)) this.dropCell(key, cell);
    const { origin, width, height, range } = this.layout;
    const columnAt = (x: number) => Math.floor((x - origin.x) / width);
    const rowAt = (y: number) => Math.floor((y - origin.y) / height);
    for (let row = Math.max(range.top, rowAt(nearBox.top)); row <= Math.min(range.bottom, rowAt(nearBox.bottom)); row += 1)
      for (
        let column = Math.max(range.left, columnAt(nearBox.left));
        column <= Math.min(range.right, columnAt(nearBox.right));
        column += 1
      ) {
        const key = `${column} ${row}`;
        if (this.cells.has(key)) continue;
        const controller = new AbortController();
        this.cells.set(key, { column, row, box: this.boxOf(column, row), picture: null, state: 'pending', controller });
      }
    if (this.cells.size > maxKeptPixels / (width * height * devicePixelRatio ** 2)) this.dropCellsOutside(nearBox);
  }

  dropCellsOutside(area: Box) {
    for (const [key, cell] of this.cells) if (!overlaps(cell.box, area)) this.dropCell(key, cell);
  }

  close() {
    for (const [key, cell] of this.cells) this.dropCell(key, cell);
  }
}

interface CellLayerOptions {
  stage: CellStage;
  depth: 'picture' | 'shapes';
  createLayout: (placement: DOMMatrix) => CellLayout;
  /** maximum number of cells drawn at the same time */
  concurrency: number;
  /** from 0 to 1 */
  opacity?: () => number;
  /** called when a new layout has become visible */
  onShown?: () => void;
}

/**
 * A layer on the image that is drawn in cells. While the view is panned, existing cells are copied to the canvas of the image, which is cheap,
 * and only new cells near the view are drawn. When the view comes to rest at another zoom, all cells are redrawn, and the new cells replace the old
 * cells at once. Cells are not elements above the image, because the browser would blend such elements with the image in every frame.
 */
export class CellLayer {
  #shownGrid: CellGrid | null = null;
  /** The next grid, which stays invisible until all of its cells on the stage are drawn. */
  #nextGrid: CellGrid | null = null;
  #isRedrawScheduled = false;
  #drawingCount = 0;
  readonly #stopPainting: () => void;

  constructor(private readonly options: CellLayerOptions) {
    const { stage, depth } = options;
    this.#stopPainting = stage.addPainter((context, ratio) => this.#paint(context, ratio), depth);
    stage.onRest(() => this.#redrawAtRest());
  }

  #paint(context: CanvasRenderingContext2D, ratio: number) {
    this.#followView();
    if (!this.#shownGrid) return;
    const placement = this.options.stage.placement();
    context.globalAlpha = this.options.opacity?.() ?? 1;
    this.#shownGrid.paint(context, ratio, placement, this.#stageBox(this.#shownGrid.toStage(placement), 0));
  }

  /** Redraws all cells. */
  redraw() {
    if (this.#isRedrawScheduled) return;
    this.#isRedrawScheduled = true;
    requestAnimationFrame(() => {
      if (this.#isRedrawScheduled && this.options.stage.canvas.isConnected) this.#startGrid();
      this.#isRedrawScheduled = false;
    });
  }

  /** Redraws the affected cells. Each cell shows its old picture until the cell is redrawn. */
  redrawCells(isAffected: (cell: Cell) => boolean) {
    for (const cell of (this.#nextGrid ?? this.#shownGrid)?.cells.values() ?? [])
      if (cell.state === 'drawn' && isAffected(cell)) cell.state = 'pending';
    this.#drawNext();
  }

  hide() {
    this.#isRedrawScheduled = false;
    this.#shownGrid?.close();
    this.#nextGrid?.close();
    this.#shownGrid = this.#nextGrid = null;
    this.options.stage.repaint();
  }

  remove() {
    this.#stopPainting();
    this.hide();
  }

  #startGrid() {
    this.#nextGrid?.close();
    this.#nextGrid = new CellGrid(this.options.createLayout(this.options.stage.placement()));
    this.#followView();
  }

  #followView() {
    const newestGrid = this.#nextGrid ?? this.#shownGrid;
    if (!newestGrid) return;
    const placement = this.options.stage.placement();
    const layoutToStage = newestGrid.toStage(placement);
    const scaling = Math.hypot(layoutToStage.a, layoutToStage.b);
    if (scaling > maxScaling || scaling < 1 / maxScaling) return this.#startGrid();
    const nearBox = this.#stageBox(layoutToStage, drawReach);
    newestGrid.addCells(nearBox, this.#stageBox(layoutToStage, pendingReach));
    newestGrid.limitAreaToDraw(this.#stageBox(layoutToStage, 0), nearBox);
    this.#drawNext();
    this.#showNextGrid();
  }

  /** The box of the stage in pixels of a layout, extended by a share of its size. */
  #stageBox(layoutToStage: DOMMatrix, share: number): Box {
    const { width, height } = this.options.stage.size();
    const toLayout = layoutToStage.inverse();
    const corners = [-share, 1 + share].flatMap((x) =>
      [-share, 1 + share].map((y) => toLayout.transformPoint({ x: x * width, y: y * height })),
    );
    return boxAround(corners);
  }

  /** Redraws the cells when the view has come to rest at another zoom, so that nothing is blurred. */
  #redrawAtRest() {
    const newestGrid = this.#nextGrid ?? this.#shownGrid;
    if (!newestGrid) return;
    newestGrid.areaToDraw = null;
    this.#drawNext();
    const placement = this.options.stage.placement();
    const { a, b, e, f } = newestGrid.toStage(placement);
    const isSharp = Math.hypot(a - 1, b) < 1e-6 && Math.hypot(e - snapToPixel(e), f - snapToPixel(f)) < 0.02;
    if (isSharp) return;
    if (!newestGrid.layout.refit?.(placement)) return this.#startGrid();
    newestGrid.repositionCells();
    newestGrid.dropCellsOutside(this.#stageBox(newestGrid.toStage(placement), drawReach));
    // Tiles are scaled to their size on the screen, which has changed.
    this.redrawCells(() => true);
    this.options.stage.repaint();
  }

  #drawNext() {
    while (this.#drawingCount < this.options.concurrency) {
      const grid = this.#nextGrid ?? this.#shownGrid;
      const cell = grid && this.#nextCell(grid);
      if (!grid || !cell) return;
      this.#drawingCount += 1;
      void this.#drawCell(grid, cell);
    }
  }

  /** The cell to draw next: the nearest to the center of the stage. */
  #nextCell(grid: CellGrid) {
    const visibleBox = this.#stageBox(grid.toStage(this.options.stage.placement()), 0);
    const { left, top, right, bottom } = visibleBox;
    const { layout, areaToDraw } = grid;
    const distanceToCenter = ({ box }: TrackedCell) =>
      Math.hypot(box.left + box.right - left - right, box.top + box.bottom - top - bottom);
    const isDue = (cell: TrackedCell) =>
      (!areaToDraw || overlaps(cell.box, areaToDraw)) && (overlaps(cell.box, visibleBox) || (layout.isReady?.(cell) ?? true));
    let nearest: TrackedCell | null = null;
    for (const cell of grid.cells.values())
      if (cell.state === 'pending' && (!nearest || distanceToCenter(cell) < distanceToCenter(nearest)) && isDue(cell))
        nearest = cell;
    return nearest;
  }

  async #drawCell(grid: CellGrid, cell: TrackedCell) {
    cell.state = 'drawing';
    const { signal } = cell.controller;
    const picture = await grid.layout.draw(cell, signal).catch(() => null);
    this.#drawingCount -= 1;
    if (signal.aborted) picture?.close();
    else {
      cell.state = 'drawn';
      cell.picture?.close();
      cell.picture = picture;
      if (grid === this.#shownGrid) this.options.stage.repaint();
      this.#showNextGrid();
    }
    this.#drawNext();
  }

  #showNextGrid() {
    if (!this.#nextGrid) return;
    const visibleBox = this.#stageBox(this.#nextGrid.toStage(this.options.stage.placement()), 0);
    if (this.#shownGrid)
      for (const { box, state } of this.#nextGrid.cells.values()) if (state !== 'drawn' && overlaps(box, visibleBox)) return;
    this.#shownGrid?.close();
    this.#shownGrid = this.#nextGrid;
    this.#nextGrid = null;
    this.options.stage.repaint();
    this.options.onShown?.();
  }
}
