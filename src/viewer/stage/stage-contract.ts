import type { Point } from '../annotations/annotation-model.js';
import type { Projection } from '../image/projection.js';
import type { LightSettings } from '../image/brightness.js';
import type { TileLayer } from './tile-layer.js';

/** How a frame is shown. An empty `style` means the server's default. `projection` is `null` if a single z plane is shown. */
export interface FrameAppearance {
  style: string;
  projection: Projection | null;
}

/** The drawing area of an open image. */
export interface Stage {
  /** takes the keyboard focus */
  canvas: HTMLElement;
  /** @param appearance `likely` lists frames that the user may select next; they are loaded in advance */
  showFrame: (frame: number, appearance: FrameAppearance & { likely?: number[] }) => Promise<void>;
  /** Resolves when all visible tiles of the shown frame have arrived. */
  whenDrawn: () => Promise<void>;
  setLight: (light: LightSettings) => void;
  /** screen pixels per full-resolution pixel */
  zoom: () => number;
  /** converts pixels of the stage to pixels of the image */
  toImage: (x: number, y: number) => { x: number; y: number };
  /** in screen pixels */
  size: () => { width: number; height: number };
  /** the matrix from pixels of the image to pixels of the stage */
  placement: () => DOMMatrix;
  /** bounding box of the view in pixels of the image */
  visibleBox: () => { left: number; top: number; right: number; bottom: number };
  /**
   * Adds a function that paints on the image whenever the image is drawn. Shapes are painted above pictures.
   *
   * @returns a function that removes the painter
   */
  addPainter: (paint: Painter, depth: 'picture' | 'shapes') => () => void;
  /** redraws the image and everything on it */
  repaint: () => void;
  /** adds a layer of tiles over the image; the layer is empty at first */
  addTileLayer: () => TileLayer;
  onPointer: (listener: PointerListener) => void;
  /** the view; `null` while the whole image is visible, as after {@link goHome} */
  position: () => ViewPosition | null;
  goTo: (position: ViewPosition) => void;
  zoomBy: (factor: number) => void;
  /** the view at the current moment of an animation, unrounded */
  animatedPosition: () => ViewPosition;
  /** degrees, clockwise, from 0 to below 360 */
  rotation: () => number;
  /** rotation at the current moment of an animation, in degrees; it may be outside the range of {@link rotation} */
  animatedRotation: () => number;
  /** @param isImmediate without an animation */
  rotate: (degrees: number, isImmediate?: boolean) => void;
  goHome: (isImmediate?: boolean) => void;
  /** called while the view moves and when the stage changes its size */
  onMove: (listener: () => void) => void;
  /** called when the view has come to rest */
  onRest: (listener: () => void) => void;
}

/**
 * A handler of the pointer on the stage. Points are in pixels of the stage, and `isAdding` is true while Shift is held. `press` and `doubleClick` return whether the handler takes the gesture,
 * in which case the view does not move.
 */
export interface PointerListener {
  press: (stagePoint: Point) => boolean;
  drag: (stagePoint: Point) => void;
  release: (stagePoint: Point, isAdding: boolean) => void;
  /** ends the gesture without an effect, because a second finger begins to move the view */
  cancel: () => void;
  /** a click whose gesture `press` did not take */
  click: (stagePoint: Point, isAdding: boolean) => void;
  doubleClick: (stagePoint: Point) => boolean;
}

/** A function that paints on the image. Coordinates are pixels of the canvas. @param ratio pixels of the canvas per CSS pixel */
export type Painter = (context: CanvasRenderingContext2D, ratio: number) => void;

/** The visible part of an image: its center and its width in full-resolution pixels. */
export type ViewPosition = { x: number; y: number; width: number };
