import { type Point, boxAround } from '../annotations/model.js';
import { fill, h } from '../dom.js';
import { FrameStack } from './frame-stack.js';
import { loadOpenSeadragon, type OpenSeadragon as OpenSeadragonLibrary, type TiledImage, type Viewer } from './openseadragon.js';
import { tileLayer } from './tile-layer.js';
import { tileSource } from './tile-source.js';
import type { ImageItem } from '../browse/model.js';
import type { ImageMetadata } from '../image/metadata.js';
import { imageTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';
import type { Ground } from './cells.js';
import type { Look, Paint, PointerListener, Stage, ViewPosition } from './contract.js';

/** Above this zoom single pixels are displayed as squares. */
export const sharpZoom = 3;

/** Screen pixels per image pixel at the highest zoom. */
const maxZoom = 24;

/** Maximum of a timer, in milliseconds. */
const neverMs = 2 ** 31 - 1;

/** Keys by which OpenSeadragon flips the image. They are disabled, because the page has no control for it. */
const unusedKeys = new Set(['f', 'F']);

/** Opens an image in an element, which it fills, until the signal aborts. */
export async function openStage(options: {
  element: HTMLElement;
  item: ImageItem;
  metadata: ImageMetadata;
  frame: number;
  look: Look;
  onProblem: (message: string) => void;
  signal: AbortSignal;
}): Promise<Stage> {
  const { element, item, metadata, frame, look, onProblem, signal } = options;
  const OpenSeadragon = await loadOpenSeadragon();
  signal.throwIfAborted();
  const navigatorElement = h('div.navigator.raised', { 'aria-hidden': 'true' });
  const drawing = h('div.drawing');
  /** Canvas for everything on the image while brightness or contrast are changed, so that its colors stay unchanged. */
  const veil = h('canvas.veil', { 'aria-hidden': 'true', hidden: true });
  fill(element, drawing, veil, navigatorElement);
  const viewer = createViewer(OpenSeadragon, { element: drawing, navigatorElement });
  signal.addEventListener('abort', () => viewer.destroy(), { once: true });
  viewer.addHandler('tile-load-failed', ({ message }) => onProblem(`${imageTexts.partsMissing} ${message}`));
  const stack = new FrameStack(viewer, (key, queue) => tileSource(item, metadata, queue, ...readKey(key)), signal);
  let image = await stack.show(keyOf(frame, look));
  signal.throwIfAborted();
  const canvas = viewer.canvas as HTMLElement;
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-roledescription', imageTexts.deepZoom);
  canvas.setAttribute('aria-label', imageTexts.keysOf(item.name));

  const zoom = () => image.viewportToImageZoom(viewer.viewport.getZoom(true));
  const { sizeX, sizeY } = metadata;
  const placement = () => {
    const [origin, right, bottom] = [
      [0, 0],
      [sizeX, 0],
      [0, sizeY],
    ].map(([x, y]) => image.imageToViewerElementCoordinates(new OpenSeadragon.Point(x, y)));
    const { x, y } = origin as Point;
    const a = ((right as Point).x - x) / sizeX;
    const b = ((right as Point).y - y) / sizeX;
    return new DOMMatrix([a, b, ((bottom as Point).x - x) / sizeY, ((bottom as Point).y - y) / sizeY, x, y]);
  };
  const size = () => {
    const { x: width, y: height } = viewer.viewport.getContainerSize();
    return { width, height };
  };
  const toImage = (x: number, y: number) => {
    const point = image.viewerElementToImageCoordinates(new OpenSeadragon.Point(x, y));
    return { x: point.x, y: point.y };
  };
  const onMove = (listener: () => void) => {
    for (const name of ['animation', 'resize', 'open'] as const) viewer.addHandler(name, listener);
    listener();
  };
  const onRest = (listener: () => void) => viewer.addHandler('animation-finish', listener);
  const position = () => positionOf(viewer, image);
  let isHome = true;
  let isResized = false;
  viewer.addHandler('resize', () => {
    isResized = true;
    // The overview is smaller on a narrow stage, which the library does not notice.
    viewer.navigator.updateSize();
  });
  let isSmooth = true;
  viewer.addHandler('viewport-change', () => {
    // An image that is shown whole stays so when the size of the stage changes.
    if (isResized && isHome) viewer.viewport.goHome(true);
    else isHome = position() === null;
    isResized = false;
    if (isSmooth !== zoom() < sharpZoom) viewer.drawer.setImageSmoothingEnabled((isSmooth = !isSmooth));
  });
  const paintOn = paintedLayers(viewer, veil);
  panByMiddleButton(canvas, (x, y) =>
    viewer.viewport.panBy(viewer.viewport.deltaPointsFromPixels(new OpenSeadragon.Point(-x, -y)), true),
  );
  const ground: Ground = {
    canvas,
    size,
    placement,
    paintOn,
    repaint: () => void (signal.aborted || viewer.forceRedraw()),
    onRest,
  };
  return {
    ...ground,
    async showFrame(index, { likely = [], ...next }) {
      image = await stack.show(
        keyOf(index, next),
        likely.map((other) => keyOf(other, next)),
      );
    },
    whenDrawn: () => new Promise((done) => image.whenFullyLoaded(() => done())),
    setLight({ brightness, contrast }) {
      veil.hidden = brightness === 100 && contrast === 100;
      viewer.forceRedraw();
      viewer.drawer.canvas.style.filter = `brightness(${brightness}%) contrast(${contrast}%)`;
    },
    zoom,
    toImage,
    view() {
      const { width, height } = size();
      return boxAround([toImage(0, 0), toImage(width, 0), toImage(0, height), toImage(width, height)]);
    },
    addTiles: () => tileLayer(ground, metadata, (reason) => onProblem(`${annotationTexts.partsMissing} ${reason}`)),
    onPointer: (listener) => listenToPointer(viewer, listener),
    position,
    goTo({ x, y, width }) {
      isHome = false;
      viewer.viewport.zoomTo(image.imageToViewportZoom(size().width / width), undefined, true);
      viewer.viewport.panTo(image.imageToViewportCoordinates(x, y), true);
    },
    zoomBy(factor) {
      viewer.viewport.zoomBy(factor);
      viewer.viewport.applyConstraints();
    },
    place() {
      const { width, height } = size();
      return { ...toImage(width / 2, height / 2), width: width / zoom() };
    },
    turned: () => viewer.viewport.getRotation(true),
    rotation: () => ((viewer.viewport.getRotation() % 360) + 360) % 360,
    rotate: (degrees, isImmediate = false) => void viewer.viewport.setRotation(degrees, isImmediate),
    goHome: (isImmediate = false) => void viewer.viewport.goHome(isImmediate),
    onMove,
  };
}

/** A viewer without its own controls. */
function createViewer(
  OpenSeadragon: OpenSeadragonLibrary,
  { element, navigatorElement }: { element: HTMLElement; navigatorElement: HTMLElement },
) {
  const viewer = OpenSeadragon({
    drawer: 'canvas',
    showNavigationControl: false,
    silenceMultiImageWarnings: true,
    crossOriginPolicy: false,
    // Tiles have their own queue (`tile-queue.ts`), so the library's limit is turned off.
    imageLoaderLimit: 0,
    timeout: neverMs,
    element,
    showNavigator: true,
    navigatorElement,
    navigatorAutoFade: false,
    navigatorOpacity: 1,
    visibilityRatio: 0.4,
    minZoomImageRatio: 0.5,
    maxZoomPixelRatio: maxZoom,
    zoomPerScroll: 1.35,
    // Tiles that are drawn by way of a second canvas are smoothed there.
    smoothTileEdgesMinZoom: Infinity,
    animationTime: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 0.6,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
  });
  // It has its own limit, and its tiles wait in the same queue.
  viewer.navigator.imageLoader.timeout = neverMs;
  viewer.addHandler('canvas-key', (event) => {
    const { key } = event.originalEvent as KeyboardEvent;
    if (unusedKeys.has(key)) event.preventDefaultAction = true;
  });
  return viewer;
}

/** The view; `null` if the whole image is seen. */
function positionOf(viewer: Viewer, image: TiledImage): ViewPosition | null {
  const bounds = viewer.viewport.getBoundsNoRotate();
  const home = viewer.viewport.getHomeBoundsNoRotate();
  const same = (side: 'x' | 'y' | 'width') => Math.abs(bounds[side] - home[side]) < home.width / 1000;
  if (same('x') && same('y') && same('width')) return null;
  const seen = image.viewportToImageRectangle(bounds);
  // Coordinates have as many digits as are distinguishable on the screen.
  const digits = Math.min(3, Math.max(0, Math.ceil(4 - Math.log10(seen.width))));
  const round = (value: number) => Number(value.toFixed(digits));
  return { x: round(seen.x + seen.width / 2), y: round(seen.y + seen.height / 2), width: round(seen.width) };
}

/** Paints layers on the image, on the canvas of the viewer or, while that is changed by a filter, on the one above it. */
function paintedLayers(viewer: Viewer, veil: HTMLCanvasElement): Ground['paintOn'] {
  const layers = { picture: new Set<Paint>(), shapes: new Set<Paint>() };
  viewer.addHandler('update-viewport', () => {
    const { context } = viewer.drawer as unknown as { context: CanvasRenderingContext2D };
    const ground = veil.hidden ? context : cleared(veil, context.canvas);
    ground.save();
    ground.imageSmoothingEnabled = true;
    for (const paint of [...layers.picture, ...layers.shapes]) paint(ground, devicePixelRatio);
    ground.restore();
  });
  return (paint, depth) => {
    layers[depth].add(paint);
    return () => layers[depth].delete(paint);
  };
}

/** An empty canvas of the same size as another one, ready for painting. */
function cleared(canvas: HTMLCanvasElement, { width, height }: HTMLCanvasElement) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  if (canvas.width === width && canvas.height === height) context.clearRect(0, 0, width, height);
  else Object.assign(canvas, { width, height });
  return context;
}

/** Moves the view with the middle button, whatever tool is used. @param pan moves it by a distance in CSS pixels */
function panByMiddleButton(canvas: HTMLElement, pan: (x: number, y: number) => void) {
  let last: { pointer: number; x: number; y: number } | null = null;
  const isMiddle = ({ button }: MouseEvent) => button === 1;
  canvas.addEventListener('pointerdown', (event) => {
    if (!isMiddle(event)) return;
    last = { pointer: event.pointerId, x: event.clientX, y: event.clientY };
    canvas.setPointerCapture(event.pointerId);
  });
  // Otherwise, browsers scroll the page.
  canvas.addEventListener('mousedown', (event) => isMiddle(event) && event.preventDefault());
  canvas.addEventListener('pointermove', ({ pointerId, clientX: x, clientY: y }) => {
    if (pointerId !== last?.pointer) return;
    pan(x - last.x, y - last.y);
    last = { pointer: pointerId, x, y };
  });
  const end = ({ pointerId }: PointerEvent) => {
    if (pointerId === last?.pointer) last = null;
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
}

function keyOf(frame: number, { style, projection }: Look) {
  return JSON.stringify([frame, { style, projection }]);
}

function readKey(key: string): [frame: number, look: Look] {
  return JSON.parse(key);
}

function listenToPointer(viewer: Viewer, listener: PointerListener) {
  let taken = false;
  /** Once a pen has been used, it draws, and fingers move the view: a hand rests on the screen. */
  let hasPen = false;
  viewer.addHandler('canvas-press', ({ position, originalEvent }) => {
    const { pointerType } = originalEvent as PointerEvent;
    hasPen ||= pointerType === 'pen';
    (viewer.canvas as HTMLElement).focus({ preventScroll: true });
    taken = !(hasPen && pointerType === 'touch') && listener.press(position);
  });
  viewer.addHandler('canvas-pinch', () => {
    if (taken) listener.cancel();
    taken = false;
  });
  viewer.addHandler('canvas-drag', (event) => {
    if (!taken) return;
    event.preventDefaultAction = true;
    listener.drag(event.position);
  });
  viewer.addHandler('canvas-drag-end', (event) => {
    if (taken) event.preventDefaultAction = true;
  });
  const withShift = ({ originalEvent }: { originalEvent: Event }) => (originalEvent as MouseEvent).shiftKey;
  viewer.addHandler('canvas-release', (event) => taken && listener.release(event.position, withShift(event)));
  viewer.addHandler('canvas-click', (event) => {
    if (!taken && event.quick) listener.click(event.position, withShift(event));
  });
  viewer.addHandler('canvas-double-click', (event) => {
    if (listener.doubleClick(event.position)) event.preventDefaultAction = true;
  });
}
