import { messageOf, tell } from '../dom.js';
import { editAnnotation } from './editor.js';
import { followKeys } from './keys.js';
import { aim } from './drawing/aim.js';
import { isArea, isLocked } from './drawing/shapes.js';
import type { Tool } from './drawing/tool-names.js';
import { drawingLayer } from './drawing/layer.js';
import { OverlayPictures } from './drawing/overlay-pictures.js';
import { AnnotationPanel } from './panel/panel.js';
import { objectsPanel } from './objects/objects-panel.js';
import { polygonOf } from './drawing/polygons.js';
import { shapeCard } from './shape-card.js';
import { Sheets } from './sheets.js';
import { SmallAnnotations } from './small-annotations.js';
import { toolbar } from './toolbar.js';
import { Tools } from './drawing/tools.js';
import type { Painter } from './drawing/paint.js';
import type { Sheet } from './sheet.js';
import type { Element, Point } from './model.js';
import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from '../image/metadata.js';
import type { ImageItem } from '../browse/model.js';
import { annotationTexts } from '../annotation-texts.js';

/** Color of the selection. */
const accent = '#5b3fd6';

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
  /** called when the hidden annotations change */
  onHide: () => void;
  /** called if the item was removed or the user has lost access */
  onRefused: () => void;
  signal: AbortSignal;
}) {
  const { item, metadata, stage, drawing, container, hide, onHide, onRefused, signal } = options;
  let work: { sheet: Sheet; editor: ReturnType<typeof editAnnotation>; end: AbortController } | null = null;
  let hovered: Element | null = null;
  /** the table of the shapes of an annotation */
  let objects: { id: string; panel: ReturnType<typeof objectsPanel>; end: AbortController } | null = null;

  const bar = toolbar({
    radius: 20,
    onRadius: (radius) => (tools.brushRadius = radius),
    onTool: (tool) => {
      use(tool === tools.tool ? 'select' : tool);
      // After a click, the keys of tools work; keyboard users stay on the button.
      if (!container.querySelector('.annotation-tools :focus-visible')) stage.canvas.focus({ preventScroll: true });
    },
  });
  const card = shapeCard(metadata);
  container.append(card.element, bar.element);
  const tools = new Tools({
    stage,
    shapes: () => (work?.sheet.visible ? work.sheet.elements() : []),
    selected: () => work?.editor.selected() ?? null,
    select(element, isAdding) {
      work?.editor.select(element, isAdding);
      if (element && objects?.id === work?.sheet.record._id) void objects?.panel.reveal(element);
    },
    pick: (outline, isAdding) => work?.editor.pick(outline, isAdding),
    find: (id) => work?.editor.find(id) ?? null,
    commit: (...edits) => work?.editor.commit(...edits),
    split: (line) => work?.editor.split(line),
    make: (members) => {
      if (!work) throw new Error(annotationTexts.notEdited);
      return work.editor.make(members);
    },
    editing: () => work !== null,
    inspect(at) {
      const shape = shapeAt(at);
      card.pin(shape);
      if (shape && objects && sheets.get(objects.id)?.find(shape.id) === shape) void objects.panel.reveal(shape);
    },
    redraw: () => redrawLive(),
    onError: (error) => panel.say(messageOf(error)),
    onTool: () => bar.show(tools.tool),
  });
  const sheets = new Sheets({
    stage,
    metadata,
    small: new SmallAnnotations(item._id, signal),
    hide,
    onHide,
    redraw: () => redraw(),
    onMore: () => redrawMore(),
    onError: (error) => signal.aborted || panel.say(messageOf(error)),
    onGone: (sheet) => work?.sheet === sheet && edit(null),
  });
  const pictures = new OverlayPictures({ signal, onLoad: () => redraw(), onProblem: (text) => panel.say(text) });
  const { redraw, redrawMore, redrawLive } = drawingLayer(stage, drawing, {
    overlays: () => sheets.visible.flatMap((sheet) => sheet.overlays()),
    picture: (element) => pictures.of(element),
    shapes: (box) => sheets.visible.map((sheet) => ({ elements: sheet.elements(box), opacity: sheet.display.opacity })),
    labelled: () => sheets.visible.flatMap((sheet) => sheet.labelled()),
    covers: (box) => sheets.covers(box),
    live: () => (work?.sheet.visible ? tools.live : []),
    hovered: () => hovered,
    above(painter) {
      const { mark, isBrush, live } = tools;
      const isVisible = work?.sheet.visible ?? false;
      const chosen = isVisible && work ? work.editor.selection() : [];
      const draft = isVisible ? tools.draft : null;
      const [only = null] = chosen.length === 1 ? chosen : [];
      const shape = mark ?? draft ?? only;
      const shown = tools.tip && shape?.points && shape !== only ? withTip(shape, tools.tip) : shape;
      // An outline that is drawn around shapes has no facts of interest.
      card.show((mark && tools.tool !== 'measure' ? null : shown) ?? hovered);
      const isMarked = markObjects(painter);
      const isLive = ({ id }: Element) => live.some((other) => other.id === id);
      painter.selections(
        chosen.filter((one) => one !== shape && !isLive(one)),
        accent,
      );
      if (shown && !(isBrush && isLive(shown))) {
        const hasHandles = mark ? mark.points !== undefined : tools.tool === 'select' || draft?.points !== undefined;
        painter.selection(shown, { accent, handles: hasHandles && !isLocked(shown) });
      }
      if (isVisible && isBrush && tools.brushAt) painter.brush(tools.brushAt, tools.brushRadius, accent);
      return isMarked || isBrush || shown !== null || chosen.length > 0;
    },
  });
  const panel: AnnotationPanel = new AnnotationPanel({
    item,
    image: container,
    signal,
    onList(records) {
      sheets.apply(records);
      const open = records.find(({ _id }) => _id === objects?.id);
      if (open) objects?.panel.update(open);
      else closeObjects();
      void work?.editor.learnGroups();
      return (id) => sheets.get(id)?.visible ?? false;
    },
    onShow: (id, changes) => sheets.show(id, changes),
    finishDrawing: () => tools.finish(),
    onEdit: edit,
    onTable: openObjects,
    onRenamed: async () => work?.editor.reload(),
    onConflict: async (reason) => (await work?.editor.takeOver()) ?? reason,
    onRefused,
  });
  drawing.addEventListener('pointermove', oncePerFrame(hover, signal));
  aim(stage, drawing, tools, signal);
  const editor = () => work?.editor ?? null;
  followKeys(container.getRootNode(), { tools, editor, use, canvas: stage.canvas, unpin: () => card.pin(null), signal });
  stage.onMove(throttled(() => sheets.refresh(), signal));
  stage.onRest(() => signal.aborted || sheets.refresh());
  signal.addEventListener('abort', () => (tools.finish(), work?.end.abort(), closeObjects(), sheets.close()), { once: true });
  return {
    panel: panel.element,
    hidden: () => sheets.hidden,
    /** Must be called after the address was updated with the hidden annotations. */
    tell: () => sheets.tell(),
    /** Hides exactly these annotations, and those that the user has hidden after the address was entered. */
    hideOnly(ids: string[]) {
      sheets.hideOnly(ids);
      panel.refresh();
    },
  };

  /** Shows the table of the shapes of an annotation, or closes it. */
  function openObjects(id: string, mayCreate: boolean) {
    const isOpen = objects?.id === id;
    closeObjects();
    const sheet = sheets.get(id);
    if (isOpen || !sheet) return;
    const end = new AbortController();
    const made = objectsPanel({
      record: sheet.record,
      itemId: item._id,
      mayCreate,
      view: stage.view,
      outline,
      goTo: ({ x, y }) => stage.goTo({ ...stage.place(), x, y }),
      onMarks: redrawLive,
      onMade: () => panel.reload(),
      onClose: closeObjects,
      signal: end.signal,
    });
    objects = { id, panel: made, end };
    container.append(made.element);
    made.close.focus();
  }

  function closeObjects() {
    objects?.end.abort();
    objects?.panel.element.remove();
    objects = null;
    redrawLive();
  }

  /** The area that was measured last, or the selected one. */
  function outline(): Point[] | null {
    const selected = tools.measured?.closed ? tools.measured : (work?.editor.selected() ?? null);
    const polygon = selected && isArea(selected) ? polygonOf(selected) : null;
    return polygon?.points.map(([x, y]) => ({ x, y })) ?? null;
  }

  /** Marks the shapes that are selected in the table. @returns whether there are any */
  function markObjects(painter: Painter) {
    const sheet = objects && sheets.get(objects.id);
    if (!objects || !sheet?.visible || objects.panel.marked.size === 0) return false;
    for (const [id, at] of objects.panel.marked) {
      const shape = sheet.hasShapes ? sheet.find(id) : null;
      if (shape) painter.selections([shape], accent);
      else if (at) painter.spot(at, accent);
    }
    return true;
  }

  function use(tool: Tool) {
    tools.use(tool);
    // A hole needs a selected polygon.
    if (tools.tool !== tool) tell(annotationTexts.tools[tool][1]);
  }

  /** Starts editing an annotation; `null` ends editing. */
  function edit(id: string | null): HTMLElement | null {
    // An unfinished shape is kept as an unsaved change.
    tools.finish();
    tools.use('select');
    work?.end.abort();
    work = null;
    const sheet = id === null ? undefined : sheets.get(id);
    bar.setEditing(sheet !== undefined);
    card.pin(null);
    if (sheet) {
      sheets.show(sheet.record._id, { visible: true });
      const end = new AbortController();
      const onSaved = () => panel.update(sheet.record);
      const editor = editAnnotation({ sheet, signal: end.signal, redraw, zoom: stage.zoom, report: panel.say, onSaved });
      work = { sheet, end, editor };
    }
    redraw();
    return work?.editor.element ?? null;
  }

  /** The topmost shape at a point of the stage, of any annotation. */
  function shapeAt(at: Point) {
    let found: Element | null = null;
    for (const sheet of sheets.visible) found = tools.topmost(sheet.elements(), at) ?? found;
    return found;
  }

  function hover(event: PointerEvent) {
    const box = drawing.getBoundingClientRect();
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    tools.hover(at);
    if (event.buttons !== 0) return;
    stage.canvas.style.cursor = tools.cursor(at);
    const found = shapeAt(at);
    if (found === hovered) return;
    hovered = found;
    redrawLive();
  }
}

/** A line or polygon with the next vertex at the pointer. */
function withTip(shape: Element, { x, y }: Point): Element {
  return { ...shape, points: [...(shape.points ?? []), [x, y, 0]] };
}

/** Calls at most once per frame of the screen, with the last event. */
function oncePerFrame<E extends Event>(call: (event: E) => void, signal: AbortSignal) {
  let last: E | null = null;
  const run = () => {
    const event = last as E;
    last = null;
    if (!signal.aborted) call(event);
  };
  return (event: E) => {
    if (!last) requestAnimationFrame(run);
    last = event;
  };
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
