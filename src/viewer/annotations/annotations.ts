import { messageOf, tell } from '../dom.js';
import { editAnnotation } from './editor.js';
import { followKeys } from './keys.js';
import { aim } from './drawing/aim.js';
import { drawingLayer } from './drawing/layer.js';
import { OverlayPictures } from './drawing/overlay-pictures.js';
import { AnnotationPanel } from './panel/panel.js';
import { shapeCard } from './shape-card.js';
import { Sheets } from './sheets.js';
import { SmallAnnotations } from './small-annotations.js';
import { toolbar } from './toolbar.js';
import { Tools } from './drawing/tools.js';
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

  const bar = toolbar((tool) => {
    const asked = tool === tools.tool ? 'select' : tool;
    tools.use(asked);
    // A hole needs a selected polygon.
    if (tools.tool !== asked) tell(annotationTexts.tools[asked][1]);
  });
  const card = shapeCard(metadata);
  container.append(card.element, bar.element);
  const tools = new Tools({
    stage,
    shapes: () => (work?.sheet.visible ? work.sheet.elements() : []),
    selected: () => work?.editor.selected() ?? null,
    select: (element) => work?.editor.select(element),
    commit: (before, after) => work?.editor.commit(before, after),
    make: (members) => {
      if (!work) throw new Error(annotationTexts.notEdited);
      return work.editor.make(members);
    },
    editing: () => work !== null,
    inspect: (at) => card.pin(shapeAt(at)),
    redraw: () => redrawLive(),
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
    live: () => (tools.draft && tools.tool !== 'measure' && work?.sheet.visible ? [tools.draft] : []),
    hovered: () => hovered,
    above(painter) {
      const ruler = tools.tool === 'measure' ? (tools.draft ?? tools.measured) : null;
      const selected = ruler ?? tools.draft ?? work?.editor.selected();
      card.show(selected ?? hovered);
      if (!selected || !(ruler || work?.sheet.visible)) return false;
      const shown = tools.tip && selected.points ? withTip(selected, tools.tip) : selected;
      if (tools.tip) card.show(shown);
      painter.selection(shown, { accent, handles: tools.tool === 'select' || selected.points !== undefined });
      return true;
    },
  });
  const panel: AnnotationPanel = new AnnotationPanel({
    item,
    image: container,
    signal,
    onList(records) {
      sheets.apply(records);
      void work?.editor.learnGroups();
      return (id) => sheets.get(id)?.visible ?? false;
    },
    onShow: (id, changes) => sheets.show(id, changes),
    finishDrawing: () => tools.finish(),
    onEdit: edit,
    onRenamed: async () => work?.editor.reload(),
    onConflict: async (reason) => (await work?.editor.takeOver()) ?? reason,
    onRefused,
  });
  drawing.addEventListener('pointermove', oncePerFrame(hover, signal));
  aim(stage, drawing, tools, signal);
  const editor = () => work?.editor ?? null;
  followKeys(container.getRootNode(), { tools, editor, unpin: () => card.pin(null), signal });
  stage.onMove(throttled(() => sheets.refresh(), signal));
  stage.onRest(() => signal.aborted || sheets.refresh());
  signal.addEventListener('abort', () => (tools.finish(), work?.end.abort(), sheets.close()), { once: true });
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
      work = { sheet, end, editor: editAnnotation({ sheet, signal: end.signal, redraw, report: panel.say, onSaved }) };
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
