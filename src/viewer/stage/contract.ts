import type { Point } from '../annotations/model.js';
import type { Light } from '../image/brightness.js';
import type { TileLayer } from './tile-layer.js';

/** The drawing area of an open image. */
export interface Stage {
  /** takes the keyboard focus */
  canvas: HTMLElement;
  showFrame: (frame: number, look: { style: string; likely?: number[] }) => Promise<void>;
  setLight: (light: Light) => void;
  /** screen pixels per full-resolution pixel */
  zoom: () => number;
  /** from pixels of the stage to pixels of the image */
  toImage: (x: number, y: number) => { x: number; y: number };
  /** in pixels of the screen */
  size: () => { width: number; height: number };
  /** from pixels of the image to pixels of the stage */
  placement: () => DOMMatrix;
  /** the box around what is seen, in pixels of the image */
  view: () => { left: number; top: number; right: number; bottom: number };
  /**
   * Has something painted on the image whenever that is drawn; shapes lie above pictures.
   *
   * @returns takes it away
   */
  paintOn: (paint: Paint, depth: 'picture' | 'shapes') => () => void;
  /** draws the image and what lies on it anew */
  repaint: () => void;
  /** lays tiles over the image, none at first */
  addTiles: () => TileLayer;
  onPointer: (listener: PointerListener) => void;
  /** `null` while the whole image is seen as when it was opened */
  position: () => ViewPosition | null;
  goTo: (place: ViewPosition) => void;
  zoomBy: (factor: number) => void;
  /** the same at this moment of a movement, with all its digits */
  place: () => ViewPosition;
  /** degrees, clockwise, from 0 to below 360 */
  rotation: () => number;
  /** the same at this moment, without going back to 0 */
  turned: () => number;
  /** @param isImmediate without an animation */
  rotate: (degrees: number, isImmediate?: boolean) => void;
  goHome: () => void;
  /** called while the view moves and when the stage changes its size */
  onMove: (listener: () => void) => void;
  /** called when the view has come to rest */
  onRest: (listener: () => void) => void;
}

/**
 * What follows the pointer on the stage; places are in pixels of the stage. `press` says whether the gesture is meant for it: then
 * the view stays where it is. `doubleClick` says the same.
 */
export interface PointerListener {
  press: (at: Point) => boolean;
  drag: (at: Point) => void;
  release: (at: Point) => void;
  /** a short press that was not meant for it */
  click: (at: Point) => void;
  doubleClick: (at: Point) => boolean;
}

/** Paints on the image. @param ratio pixels of the canvas, of which coordinates are, per CSS pixel */
export type Paint = (context: CanvasRenderingContext2D, ratio: number) => void;

/** What part of an image is seen: its centre and its width, in full-resolution pixels. */
export type ViewPosition = { x: number; y: number; width: number };
