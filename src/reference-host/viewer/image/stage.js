// @ts-check
import { fill, h } from '../dom.js';
import { FrameStack } from './frame-stack.js';
import { loadOpenSeadragon } from './openseadragon.js';
import { tileSource } from './tile-source.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 * @typedef {InstanceType<import('./openseadragon.js').OpenSeadragon['TiledImage']>} TiledImage
 */

/** What part of an image is seen: its centre and its width, in full-resolution pixels. @typedef {{ x: number, y: number, width: number }} ViewPosition */

/**
 * What follows the pointer on the stage; places are in pixels of the stage. `press` says whether the gesture is meant for it: then
 * the view stays where it is. `doubleClick` says the same.
 *
 * @typedef {object} PointerListener
 * @property {(at: Point) => boolean} press
 * @property {(at: Point) => void} drag
 * @property {(at: Point) => void} release
 * @property {(at: Point) => void} click a short press that was not meant for it
 * @property {(at: Point) => boolean} doubleClick
 */

/** @typedef {{ x: number, y: number }} Point */

/**
 * The drawing area of an open image.
 *
 * @typedef {object} Stage
 * @property {HTMLElement} canvas takes the keyboard focus
 * @property {(frame: number, likely?: number[]) => Promise<void>} showFrame
 * @property {() => number} zoom screen pixels per full-resolution pixel
 * @property {(x: number, y: number) => { x: number, y: number }} toImage from pixels of the stage to pixels of the image
 * @property {() => { scale: number, x: number, y: number }} placement where the image lies: `stage = image × scale + (x, y)`
 * @property {() => { left: number, top: number, right: number, bottom: number }} view what is seen, in pixels of the image
 * @property {(source: object) => Promise<TiledImage>} addTiles lays tiles over the image, unseen at first
 * @property {(image: TiledImage) => void} removeTiles
 * @property {(listener: PointerListener) => void} onPointer
 * @property {() => ViewPosition | null} position `null` while the whole image is seen as when it was opened
 * @property {(place: ViewPosition) => void} goTo
 * @property {(factor: number) => void} zoomBy
 * @property {() => void} goHome
 * @property {(listener: () => void) => void} onMove called while the view moves and when the stage changes its size
 * @property {(listener: () => void) => void} onRest called when the view has come to rest
 */

/** Above this zoom single pixels are meant to be seen as squares. */
const sharpZoom = 3;
/** Screen pixels per image pixel at the highest zoom. */
const maxZoom = 24;
/** Keys that OpenSeadragon turns or flips the image with, for which this page shows no way back. */
const unusedKeys = new Set(['r', 'R', 'f', 'F']);

/**
 * Opens an image in an element, which it fills, until the signal aborts.
 *
 * @param {object} options
 * @param {HTMLElement} options.element
 * @param {Item} options.item
 * @param {ImageMetadata} options.metadata
 * @param {number} options.frame
 * @param {(message: string) => void} options.onProblem
 * @param {AbortSignal} options.signal
 * @returns {Promise<Stage>}
 */
export async function openStage({ element, item, metadata, frame, onProblem, signal }) {
  const OpenSeadragon = await loadOpenSeadragon();
  signal.throwIfAborted();
  const navigatorElement = h('div', { class: 'navigator', 'aria-hidden': 'true' });
  const drawing = h('div', { class: 'drawing' });
  fill(element, drawing, navigatorElement);
  const viewer = OpenSeadragon({
    element: drawing,
    drawer: 'canvas',
    showNavigationControl: false,
    showNavigator: true,
    navigatorElement,
    navigatorAutoFade: false,
    silenceMultiImageWarnings: true,
    crossOriginPolicy: false,
    imageLoaderLimit: 6,
    visibilityRatio: 0.4,
    minZoomImageRatio: 0.5,
    maxZoomPixelRatio: maxZoom,
    zoomPerScroll: 1.35,
    // Tiles that are drawn by way of a second canvas are smoothed there.
    smoothTileEdgesMinZoom: Infinity,
    animationTime: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 0.6,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
  });
  signal.addEventListener('abort', () => viewer.destroy(), { once: true });
  viewer.addHandler('canvas-key', (event) => {
    const { key } = /** @type {KeyboardEvent} */ (event.originalEvent);
    if (unusedKeys.has(key)) event.preventDefaultAction = true;
  });
  /** @type {Set<TiledImage>} */
  const overlays = new Set();
  viewer.addHandler('tile-load-failed', ({ tiledImage }) => {
    const what = overlays.has(tiledImage) ? 'annotations' : 'image';
    onProblem(`Some parts of the ${what} could not be loaded.`);
  });
  const stack = new FrameStack(viewer, (index) => tileSource(item, metadata, index));
  let image = await stack.show(frame);
  signal.throwIfAborted();
  const canvas = /** @type {HTMLElement} */ (viewer.canvas);
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-roledescription', 'deep zoom image');
  canvas.setAttribute('aria-label', `${item.name}. Arrow keys move the view, plus and minus zoom, 0 shows the whole image.`);

  const zoom = () => image.viewportToImageZoom(viewer.viewport.getZoom(true));
  const placement = () => {
    const origin = image.imageToViewerElementCoordinates(new OpenSeadragon.Point(0, 0));
    return { scale: zoom(), x: origin.x, y: origin.y };
  };
  viewer.addHandler('animation', () => viewer.drawer.setImageSmoothingEnabled(zoom() < sharpZoom));
  return {
    canvas,
    async showFrame(index, likely) {
      image = await stack.show(index, likely);
    },
    zoom,
    toImage(x, y) {
      const point = image.viewerElementToImageCoordinates(new OpenSeadragon.Point(x, y));
      return { x: point.x, y: point.y };
    },
    placement,
    view() {
      const { scale, x, y } = placement();
      const { width, height } = drawing.getBoundingClientRect();
      return { left: -x / scale, top: -y / scale, right: (width - x) / scale, bottom: (height - y) / scale };
    },
    addTiles(tileSourceOf) {
      return new Promise((resolve, reject) => {
        viewer.addTiledImage({
          tileSource: tileSourceOf,
          opacity: 0,
          success: (event) => {
            const { item } = /** @type {any} */ (event);
            overlays.add(item);
            resolve(item);
          },
          error: reject,
        });
      });
    },
    removeTiles(overlay) {
      if (overlays.delete(overlay) && !signal.aborted) viewer.world.removeItem(overlay);
    },
    onPointer: (listener) => listenToPointer(viewer, listener),
    position() {
      const bounds = viewer.viewport.getBounds();
      const home = viewer.viewport.getHomeBounds();
      const same = (/** @type {'x' | 'y' | 'width'} */ side) => Math.abs(bounds[side] - home[side]) < home.width / 1000;
      if (same('x') && same('y') && same('width')) return null;
      const seen = image.viewportToImageRectangle(bounds);
      // As many digits as can be told apart on the screen.
      const digits = Math.min(3, Math.max(0, Math.ceil(4 - Math.log10(seen.width))));
      const round = (/** @type {number} */ value) => Number(value.toFixed(digits));
      return { x: round(seen.x + seen.width / 2), y: round(seen.y + seen.height / 2), width: round(seen.width) };
    },
    goTo({ x, y, width }) {
      const { width: across, height: down } = drawing.getBoundingClientRect();
      const height = (width * down) / across;
      viewer.viewport.fitBounds(image.imageToViewportRectangle(x - width / 2, y - height / 2, width, height), true);
    },
    zoomBy(factor) {
      viewer.viewport.zoomBy(factor);
      viewer.viewport.applyConstraints();
    },
    goHome: () => viewer.viewport.goHome(),
    onMove(listener) {
      for (const name of /** @type {const} */ (['animation', 'resize', 'open'])) viewer.addHandler(name, listener);
      listener();
    },
    onRest: (listener) => viewer.addHandler('animation-finish', listener),
  };
}

/** @param {import('./frame-stack.js').Viewer} viewer @param {PointerListener} listener */
function listenToPointer(viewer, listener) {
  let taken = false;
  viewer.addHandler('canvas-press', ({ position }) => (taken = listener.press(position)));
  viewer.addHandler('canvas-drag', (event) => {
    if (!taken) return;
    event.preventDefaultAction = true;
    listener.drag(event.position);
  });
  viewer.addHandler('canvas-drag-end', (event) => {
    if (taken) event.preventDefaultAction = true;
  });
  viewer.addHandler('canvas-release', ({ position }) => taken && listener.release(position));
  viewer.addHandler('canvas-click', (event) => {
    if (!taken && event.quick) listener.click(event.position);
  });
  viewer.addHandler('canvas-double-click', (event) => {
    if (listener.doubleClick(event.position)) event.preventDefaultAction = true;
  });
}
