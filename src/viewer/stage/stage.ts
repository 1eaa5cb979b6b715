import { fill, h } from '../dom.js';
import { FrameStack } from './frame-stack.js';
import { createGeometry, type StageGeometry } from './stage-geometry.js';
import { loadOpenSeadragon, type OpenSeadragon as OpenSeadragonLibrary, type TiledImage, type Viewer } from './openseadragon.js';
import { createTileLayer } from './tile-layer.js';
import { createTileSource } from './tile-source.js';
import type { ImageItem } from '../browse/browse-model.js';
import type { ImageMetadata } from '../image/image-metadata.js';
import { imageTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';
import type { CellStage } from './cells.js';
import type { FrameAppearance, Painter, PointerListener, Stage, ViewPosition } from './stage-contract.js';

/** From this zoom on, in screen pixels per image pixel, single pixels are displayed as squares. */
export const sharpZoom = 3;

/** Screen pixels per image pixel at the highest zoom. */
const maxZoom = 24;

/** A time limit that is never reached: the maximum delay of a timer, in milliseconds. */
const neverMs = 2 ** 31 - 1;

/** Keys by which OpenSeadragon flips the image. They are disabled, because the page has no control to flip the image back. */
const disabledKeys = new Set(['f', 'F']);

interface StageOptions {
  element: HTMLElement;
  item: ImageItem;
  metadata: ImageMetadata;
  frame: number;
  appearance: FrameAppearance;
  onProblem: (message: string) => void;
  signal: AbortSignal;
}

/** Fills an element with a zoomable image. The image is closed when the signal aborts. */
export async function openStage(options: StageOptions): Promise<Stage> {
  const { element, item, metadata, frame, appearance, onProblem, signal } = options;
  const OpenSeadragon = await loadOpenSeadragon();
  signal.throwIfAborted();
  const navigatorElement = h('div.navigator.raised', { 'aria-hidden': 'true' });
  const drawing = h('div.drawing');
  /** Everything above the image is painted on this canvas while a filter changes the image's brightness or contrast, so that the filter does not change what is above the image. */
  const upperCanvas = h('canvas.veil', { 'aria-hidden': 'true', hidden: true });
  fill(element, drawing, upperCanvas, navigatorElement);
  const viewer = createViewer(OpenSeadragon, { element: drawing, navigatorElement });
  signal.addEventListener('abort', () => closeViewer(viewer), { once: true });
  viewer.addHandler('tile-load-failed', ({ message }) => onProblem(`${imageTexts.partsMissing} ${message}`));
  const frameStack = new FrameStack(
    viewer,
    (key, queue) => createTileSource(item, metadata, queue, ...parseFrameKey(key)),
    signal,
  );
  let image = await frameStack.show(frameKey(frame, appearance));
  signal.throwIfAborted();
  const canvas = prepareCanvas(viewer, imageTexts.keysOf(item.name));
  const geometry = createGeometry(OpenSeadragon, viewer, () => image, metadata);
  const viewControls = createViewControls(viewer, () => image, geometry);
  showPixelsSharply(viewer, geometry);
  panByMiddleButton(canvas, (x, y) =>
    viewer.viewport.panBy(viewer.viewport.deltaPointsFromPixels(new OpenSeadragon.Point(-x, -y)), true),
  );
  const cellStage: CellStage = {
    ...geometry,
    canvas,
    addPainter: createAddPainter(viewer, upperCanvas),
    repaint: () => void (signal.aborted || viewer.forceRedraw()),
    onRest: (listener) => viewer.addHandler('animation-finish', listener),
  };
  return {
    ...geometry,
    ...viewControls,
    ...cellStage,
    async showFrame(newFrame, { likely = [], ...newAppearance }) {
      image = await frameStack.show(
        frameKey(newFrame, newAppearance),
        likely.map((other) => frameKey(other, newAppearance)),
      );
    },
    whenDrawn: () => new Promise((done) => image.whenFullyLoaded(() => done())),
    setLight({ brightness, contrast }) {
      upperCanvas.hidden = brightness === 100 && contrast === 100;
      viewer.forceRedraw();
      viewer.drawer.canvas.style.filter = `brightness(${brightness}%) contrast(${contrast}%)`;
    },
    addTileLayer: () => createTileLayer(cellStage, metadata, (reason) => onProblem(`${annotationTexts.partsMissing} ${reason}`)),
    onPointer: (listener) => listenToPointer(viewer, listener),
    onMove(listener) {
      for (const name of ['animation', 'resize', 'open'] as const) viewer.addHandler(name, listener);
      listener();
    },
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
    // From this zoom on, the library would draw tiles on a second canvas, which smooths them.
    smoothTileEdgesMinZoom: Infinity,
    animationTime: matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 0.6,
    gestureSettingsMouse: { clickToZoom: false, dblClickToZoom: true },
  });
  // The overview has its own time limit, but its tiles wait in the same queue.
  viewer.navigator.imageLoader.timeout = neverMs;
  viewer.addHandler('canvas-key', (event) => {
    const { key } = event.originalEvent as KeyboardEvent;
    if (disabledKeys.has(key)) event.preventDefaultAction = true;
  });
  return viewer;
}

/** Closes a viewer. The library may still try to order the images of the overview afterwards, when they no longer exist. */
function closeViewer(viewer: Viewer) {
  const { world } = viewer.navigator;
  viewer.destroy();
  world.setItemIndex = () => undefined;
}

/** Gives the canvas of a viewer, which takes the focus, a role and a name. */
function prepareCanvas(viewer: Viewer, name: string) {
  const canvas = viewer.canvas as HTMLElement;
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-roledescription', imageTexts.deepZoom);
  canvas.setAttribute('aria-label', name);
  return canvas;
}

/** The part of a stage that moves the view. An image that is completely visible stays completely visible when the size of the stage changes. */
function createViewControls(viewer: Viewer, getImage: () => TiledImage, { position, size }: StageGeometry) {
  const { viewport } = viewer;
  let isHome = true;
  let isResized = false;
  viewer.addHandler('resize', () => {
    isResized = true;
    // The overview is smaller on a narrow stage, which the library does not notice.
    viewer.navigator.updateSize();
  });
  viewer.addHandler('viewport-change', () => {
    if (isResized && isHome) viewport.goHome(true);
    else isHome = position() === null;
    isResized = false;
  });
  return {
    goTo({ x, y, width }: ViewPosition) {
      isHome = false;
      viewport.zoomTo(getImage().imageToViewportZoom(size().width / width), undefined, true);
      viewport.panTo(getImage().imageToViewportCoordinates(x, y), true);
    },
    zoomBy(factor: number) {
      viewport.zoomBy(factor);
      viewport.applyConstraints();
    },
    rotate: (degrees: number, isImmediate = false) => void viewport.setRotation(degrees, isImmediate),
    goHome: (isImmediate = false) => void viewport.goHome(isImmediate),
  };
}

function showPixelsSharply(viewer: Viewer, { zoom }: StageGeometry) {
  let isSmooth = true;
  viewer.addHandler('viewport-change', () => {
    if (isSmooth !== zoom() < sharpZoom) viewer.drawer.setImageSmoothingEnabled((isSmooth = !isSmooth));
  });
}

/** Returns a stage's `addPainter`. Painters paint on the canvas of the viewer or, while a filter changes that canvas, on `upperCanvas`. */
function createAddPainter(viewer: Viewer, upperCanvas: HTMLCanvasElement): CellStage['addPainter'] {
  const layers = { picture: new Set<Painter>(), shapes: new Set<Painter>() };
  viewer.addHandler('update-viewport', () => {
    const { context } = viewer.drawer as unknown as { context: CanvasRenderingContext2D };
    const target = upperCanvas.hidden ? context : clearCanvas(upperCanvas, context.canvas);
    target.save();
    target.imageSmoothingEnabled = true;
    for (const paint of [...layers.picture, ...layers.shapes]) paint(target, devicePixelRatio);
    target.restore();
  });
  return (paint, depth) => {
    layers[depth].add(paint);
    return () => layers[depth].delete(paint);
  };
}

/** Clears a canvas and gives it the size of another canvas. @returns the context of the cleared canvas */
function clearCanvas(canvas: HTMLCanvasElement, { width, height }: HTMLCanvasElement) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  if (canvas.width === width && canvas.height === height) context.clearRect(0, 0, width, height);
  else Object.assign(canvas, { width, height });
  return context;
}

/** Moves the view with the middle button, independent of the tool. @param pan moves the view by a distance in CSS pixels */
function panByMiddleButton(canvas: HTMLElement, pan: (x: number, y: number) => void) {
  let lastPosition: { pointerId: number; x: number; y: number } | null = null;
  const isMiddle = ({ button }: MouseEvent) => button === 1;
  canvas.addEventListener('pointerdown', (event) => {
    if (!isMiddle(event)) return;
    lastPosition = { pointerId: event.pointerId, x: event.clientX, y: event.clientY };
    canvas.setPointerCapture(event.pointerId);
  });
  // By default, the middle button scrolls the page.
  canvas.addEventListener('mousedown', (event) => isMiddle(event) && event.preventDefault());
  canvas.addEventListener('pointermove', ({ pointerId, clientX: x, clientY: y }) => {
    if (pointerId !== lastPosition?.pointerId) return;
    pan(x - lastPosition.x, y - lastPosition.y);
    lastPosition = { pointerId, x, y };
  });
  const endPan = ({ pointerId }: PointerEvent) => {
    if (pointerId === lastPosition?.pointerId) lastPosition = null;
  };
  canvas.addEventListener('pointerup', endPan);
  canvas.addEventListener('pointercancel', endPan);
}

function frameKey(frame: number, { style, projection }: FrameAppearance) {
  return JSON.stringify([frame, { style, projection }]);
}

function parseFrameKey(key: string): [frame: number, appearance: FrameAppearance] {
  return JSON.parse(key);
}

function listenToPointer(viewer: Viewer, listener: PointerListener) {
  let isGestureTaken = false;
  /** Once a pen has been used, only the pen draws, and fingers move the view, because the hand rests on the screen. */
  let hasPen = false;
  viewer.addHandler('canvas-press', ({ position, originalEvent }) => {
    const { pointerType } = originalEvent as PointerEvent;
    hasPen ||= pointerType === 'pen';
    (viewer.canvas as HTMLElement).focus({ preventScroll: true });
    isGestureTaken = !(hasPen && pointerType === 'touch') && listener.press(position);
  });
  viewer.addHandler('canvas-pinch', () => {
    if (isGestureTaken) listener.cancel();
    isGestureTaken = false;
  });
  viewer.addHandler('canvas-drag', (event) => {
    if (!isGestureTaken) return;
    event.preventDefaultAction = true;
    listener.drag(event.position);
  });
  viewer.addHandler('canvas-drag-end', (event) => {
    if (isGestureTaken) event.preventDefaultAction = true;
  });
  const hasShift = ({ originalEvent }: { originalEvent: Event }) => (originalEvent as MouseEvent).shiftKey;
  viewer.addHandler('canvas-release', (event) => isGestureTaken && listener.release(event.position, hasShift(event)));
  viewer.addHandler('canvas-click', (event) => {
    if (!isGestureTaken && event.quick) listener.click(event.position, hasShift(event));
  });
  viewer.addHandler('canvas-double-click', (event) => {
    if (listener.doubleClick(event.position)) event.preventDefaultAction = true;
  });
}
