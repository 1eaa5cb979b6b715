import { messageOf, tell } from '../dom.js';
import { writeColorings, type Coloring } from './coloring/coloring.js';
import { figureLayers } from './figure-layers.js';
import { followKeys } from './keys.js';
import { aim } from './drawing/aim.js';
import { isArea } from './drawing/shapes.js';
import { drawsFirst, type Tool } from './drawing/tool-names.js';
import { drawingLayer } from './drawing/layer.js';
import { paintMarks } from './drawing/marks.js';
import { OverlayPictures } from './drawing/overlay-pictures.js';
import { AnnotationPanel } from './panel/panel.js';
import { OpenObjects } from './objects/open-objects.js';
import { onPointer } from './pointer.js';
import { polygonOf } from './drawing/polygons.js';
import { shapeCard } from './shape-card.js';
import type { Sheet } from './sheet.js';
import { Sheets } from './sheets.js';
import { SmallAnnotations } from './small-annotations.js';
import { toolbar } from './toolbar.js';
import { Tools } from './drawing/tools.js';
import { Work } from './work.js';
import type { Editor } from './editor.js';
import type { Box, Element, Point } from './model.js';
import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from '../image/metadata.js';
import type { ImageItem } from '../browse/model.js';
import { annotationTexts } from '../annotation-texts.js';

/** Interval in milliseconds at which annotations are updated while the view moves. */
const refreshMs = 50;

/** Shows the annotations of an image, on the stage and in their panel. */
export function showAnnotations(options: {
  item: ImageItem;
  metadata: ImageMetadata;
  stage: Stage;
  /** element in which the image is drawn */
  drawing: HTMLElement;
  /** element for the tools */
  container: HTMLElement;
  /** ids of hidden annotations */
  hide: string[];
  /** colors and filters by the id of their annotation */
  colorings: ReadonlyMap<string, Coloring>;
  /** whether tools for the first shape are offered if there are no annotations */
  offersFirst: boolean;
  /** called when the hidden annotations change */
  onHide: () => void;
  /** called if the item was removed or the user has lost access */
  onRefused: () => void;
  signal: AbortSignal;
}) {
  const { item, metadata, stage, drawing, container, hide, colorings, offersFirst, onHide, onRefused, signal } = options;
  let hovered: Element | null = null;
  let inspected: ReturnType<typeof shapeAt> = null;
  const report = (message: string) => panel.say(message);
  const work = new Work({
    zoom: stage.zoom,
    redraw: () => redraw(),
    report,
    onSaved: (record) => panel.update(record),
  });
  const bar = toolbar({
    radius: 20,
    onRadius: (radius) => (tools.brushRadius = radius),
    onTool: (tool) => {
      void use(tool === tools.tool ? 'select' : tool);
      // After a click, the keys of tools work; keyboard users stay on the button.
      if (!container.querySelector('.annotation-tools :focus-visible')) stage.canvas.focus({ preventScroll: true });
    },
  });
  const card = shapeCard(metadata);
  container.append(card.element, bar.element);
  const { bench } = work;
  const tools = new Tools({
    ...bench,
    stage,
    select(element, isAdding) {
      bench.select(element, isAdding);
      if (element) objects.reveal(work.sheet, element);
    },
    inspect(at) {
      const found = shapeAt(at);
      inspected = found;
      card.pin(found?.shape ?? null);
      if (found) objects.reveal(found.sheet, found.shape);
    },
    redraw: () => redrawLive(),
    onError: (error) => report(messageOf(error)),
    onTool: () => bar.show(tools.tool),
  });
  const sheets = new Sheets({
    stage,
    metadata,
    small: new SmallAnnotations(item._id, signal),
    hide,
    colorings,
    onHide,
    redraw: () => redraw(),
    onMore: () => redrawMore(),
    onError: (error) => signal.aborted || report(messageOf(error)),
    onGone: (sheet) => work.sheet === sheet && edit(null),
  });
  const objects = new OpenObjects({
    itemId: item._id,
    container,
    sheetOf: (id) => sheets.get(id),
    view: stage.view,
    outline,
    goTo: ({ x, y }) => stage.goTo({ ...stage.place(), x, y }),
    onMarks: () => redrawLive(),
    onMade: () => panel.reload(),
    onFilter(id, filter) {
      const sheet = sheets.get(id);
      if (sheet) sheets.show(id, { coloring: { ...sheet.display.coloring, filter } });
      panel.refreshColoring(id);
    },
  });
  const pictures = new OverlayPictures({ signal, onLoad: () => redraw(), onProblem: report });
  const { redraw, redrawMore, redrawLive } = drawingLayer(stage, drawing, {
    overlays: () => sheets.visible.flatMap((sheet) => sheet.overlays()),
    picture: (element) => pictures.of(element),
    shapes: (box) => sheets.visible.map((sheet) => ({ elements: sheet.painted(box), opacity: sheet.display.opacity })),
    labelled: () => sheets.visible.flatMap((sheet) => sheet.labelled()),
    covers: (box) => sheets.covers(box),
    live: () => (work.visible ? tools.live : []),
    hovered: () => hovered,
    above(painter) {
      const isMarked = objects.mark(painter);
      const { isAny, known } = paintMarks(painter, tools, work.visible?.selection.shapes ?? null);
      card.show(known ?? hovered);
      return isMarked || isAny;
    },
  });
  const panel: AnnotationPanel = new AnnotationPanel({
    item,
    image: container,
    signal,
    onList(records) {
      sheets.apply(records);
      objects.update(records);
      offerTools();
      return (id) => sheets.get(id)?.visible ?? false;
    },
    onShow: (id, changes) => {
      sheets.show(id, changes);
      if (changes.coloring) objects.showFilter(id);
    },
    finishDrawing: () => tools.finish(),
    onEdit: edit,
    onTable: (id, mayCreate) => objects.toggle(id, mayCreate),
    onRenamed: async () => work.editor?.reload(),
    onConflict: async (reason) => (await work.editor?.takeOver()) ?? reason,
    onRefused,
  });
  onPointer(drawing, hover, signal);
  aim(stage, drawing, tools, signal);
  const root = container.getRootNode();
  followKeys(root, {
    tools,
    editor: () => work.editor,
    isOffered: (tool) => tool === 'measure' || work.editor !== null || (mayBegin() && drawsFirst.has(tool)),
    use: (tool) => void use(tool),
    canvas: stage.canvas,
    unpin: () => card.pin(null),
    signal,
  });
  stage.onMove(throttled(() => sheets.refresh(), signal));
  stage.onRest(() => signal.aborted || sheets.refresh());
  signal.addEventListener('abort', () => (tools.finish(), work.end(), objects.close(), sheets.close()), { once: true });
  return {
    panel: panel.element,
    hidden: () => sheets.hidden,
    coloring: () => writeColorings(sheets.colorings),
    /** The visible annotations in a box of the image, bottom first, for figures. */
    layersIn: (box: Box, asking: AbortSignal) => figureLayers(sheets.visible, pictures, box, asking),
    /** Shows these colors and filters, and no others. */
    color(next: ReadonlyMap<string, Coloring>) {
      sheets.color(next);
      panel.refresh();
    },
    /** The topmost shape at a point of the stage. */
    shapeAt: (at: Point) => asTarget(shapeAt(at)),
    /** The selected shape, or the one whose card was opened. */
    selectedShape() {
      const shape = bench.selected();
      if (work.sheet && shape) return asTarget({ sheet: work.sheet, shape });
      return inspected?.shape === card.pinned() ? asTarget(inspected) : null;
    },
    /** Must be called after the address was updated with the hidden annotations. */
    tell: () => sheets.tell(),
    /** Hides exactly these annotations, and those that the user has hidden after the address was entered. */
    hideOnly(ids: string[]) {
      sheets.hideOnly(ids);
      panel.refresh();
    },
  };

  /** The area that was measured last, or the selected one. */
  function outline(): Point[] | null {
    const selected = tools.measured?.closed ? tools.measured : bench.selected();
    const polygon = selected && isArea(selected) ? polygonOf(selected) : null;
    return polygon?.points.map(([x, y]) => ({ x, y })) ?? null;
  }

  async function use(tool: Tool) {
    if (!work.editor && drawsFirst.has(tool)) {
      try {
        await panel.begin();
      } catch (error) {
        report(messageOf(error));
      }
      if (!work.editor || signal.aborted) return;
    }
    tools.use(tool);
    // A hole needs a selected polygon.
    if (tools.tool !== tool) tell(annotationTexts.tools[tool][1]);
  }

  /** Whether a tool makes the first annotation of the image. */
  function mayBegin() {
    return offersFirst && panel.mayBegin;
  }

  function offerTools() {
    bar.offer(work.editor ? 'all' : mayBegin() ? 'first' : 'measure');
  }

  /** Starts editing an annotation; `null` ends editing. */
  function edit(id: string | null): Editor | null {
    // An unfinished shape is kept as an unsaved change.
    tools.finish();
    tools.use('select');
    work.end();
    const sheet = id === null ? undefined : sheets.get(id);
    card.pin(null);
    if (sheet) {
      sheets.show(sheet.record._id, { visible: true });
      work.begin(sheet);
    }
    offerTools();
    redraw();
    return work.editor;
  }

  function asTarget(found: ReturnType<typeof shapeAt>) {
    return found && { annotationId: found.sheet.record._id, elementId: found.shape.id };
  }

  /** The topmost shape at a point of the stage, of any annotation. */
  function shapeAt(at: Point): { sheet: Sheet; shape: Element } | null {
    for (const sheet of sheets.visible.toReversed()) {
      const shape = tools.topmost(sheet.elements(), at);
      if (shape) return { sheet, shape };
    }
    return null;
  }

  function hover(at: Point, isPressed: boolean) {
    tools.hover(at);
    if (isPressed) return;
    stage.canvas.style.cursor = tools.cursor(at);
    const found = shapeAt(at)?.shape ?? null;
    if (found === hovered) return;
    hovered = found;
    redrawLive();
  }
}

/** Calls at most once per interval, and once more at the end. */
function throttled(call: () => void, signal: AbortSignal) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      call();
    }, refreshMs);
  };
}
