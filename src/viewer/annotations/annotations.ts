import { messageOf } from '../dom.js';
import { displayOf, type Display } from './display.js';
import { editAnnotation } from './editor.js';
import { aim } from './drawing/aim.js';
import { drawingLayer } from './drawing/layer.js';
import { OverlayPictures } from './drawing/overlay-pictures.js';
import { annotationPanel } from './panel.js';
import { shapeCard } from './shape-card.js';
import { Sheet } from './sheet.js';
import { toolbar } from './toolbar.js';
import { Tools } from './drawing/tools.js';
import type { AnnotationRecord, Coordinate, Element, Point } from './model.js';
import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from '../image/metadata.js';
import type { Item } from '../browse/model.js';
import { annotationTexts } from '../texts.js';

/** Interval in milliseconds at which annotations are updated while the view moves. */
const refreshMs = 50;

/** The annotations of an image, on the stage and in the panel beside it. */
export function showAnnotations(options: {
  item: Item;
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
  signal: AbortSignal;
}) {
  const { item, metadata, stage, drawing, container, hide, onHide, signal } = options;
  for (const id of hide) displayOf(id).visible = false;
  let isListed = false;
  /** Ids of hidden annotations in the last known address. */
  let told = hide;
  /** sheets by the id of their annotation */
  const sheets: Map<string, Sheet> = new Map();
  let work: { sheet: Sheet; editor: ReturnType<typeof editAnnotation>; end: AbortController } | null = null;
  let hovered: Element | null = null;
  const accent = getComputedStyle(container).getPropertyValue('--annotation-accent').trim() || '#5b3fd6';

  const bar = toolbar((tool) => tools.use(tool === tools.tool ? 'select' : tool));
  const card = shapeCard(metadata);
  container.append(card.element);
  container.append(bar.element);
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
  const pictures = new OverlayPictures({ signal, onLoad: () => redraw(), onProblem: (text) => panel.say(text) });
  const { redraw, redrawMore, redrawLive } = drawingLayer(stage, drawing, {
    *overlays() {
      for (const sheet of sheets.values()) yield* sheet.overlays();
    },
    picture: (element) => pictures.of(element),
    *shapes(box) {
      for (const sheet of sheets.values())
        if (sheet.visible) yield { elements: sheet.elements(box), opacity: sheet.display.opacity };
    },
    labelled: () => [...sheets.values()].flatMap((sheet) => (sheet.visible ? sheet.labelled() : [])),
    covers: (box) => [...sheets.values()].every((sheet) => sheet.covers(box)),
    live: () => (tools.draft && tools.tool !== 'measure' && work?.sheet.visible ? [tools.draft] : []),
    hovered: () => hovered,
    above(painter) {
      const ruler = tools.tool === 'measure' ? (tools.draft ?? tools.measured) : null;
      const selected = ruler ?? tools.draft ?? work?.editor.selected();
      card.show(selected ?? hovered);
      if (!selected || !(ruler || work?.sheet.visible)) return false;
      const shown = tools.tip && selected.points ? { ...selected, points: [...selected.points, tipOf(tools.tip)] } : selected;
      if (tools.tip) card.show(shown);
      painter.selection(shown, { accent, handles: tools.tool === 'select' || selected.points !== undefined });
      return true;
    },
  });
  const panel = annotationPanel({
    item,
    signal,
    onList,
    onShow,
    onEdit: edit,
    onRenamed: async () => work?.editor.reload(),
    onConflict: async (reason) => (await work?.editor.takeOver(reason)) ?? reason,
  });
  followPointer();
  aim(stage, drawing, tools, signal);
  const root = container.getRootNode();
  root.addEventListener('keydown', (event) => onKey(event as KeyboardEvent), { signal });
  stage.onMove(throttled(refresh, signal));
  stage.onRest(refresh);
  signal.addEventListener('abort', () => closeAll(), { once: true });
  return {
    panel: panel.element,
    hidden,
    /** Must be called when the address contains the hidden annotations. */
    tell: () => void (told = hidden()),
    /** Hides exactly these annotations, and those that the user has hidden after the address was entered. */
    hideOnly(ids: string[]) {
      if (!isListed) for (const id of ids) displayOf(id).visible = false;
      for (const [id, sheet] of sheets)
        if (ids.includes(id)) sheet.show({ visible: false });
        else if (told.includes(id)) sheet.show({ visible: true });
      panel.refresh();
    },
  };

  /** Ids of the annotations that the user has hidden. */
  function hidden() {
    return isListed
      ? [...sheets].flatMap(([id, { display, visible }]) => (display.visible === false && !visible ? [id] : []))
      : hide;
  }

  function showError(error: unknown) {
    if (!signal.aborted) panel.say(messageOf(error));
  }

  function refresh() {
    if (!signal.aborted) for (const sheet of sheets.values()) sheet.refresh();
  }

  function closeAll() {
    work?.end.abort();
    for (const sheet of sheets.values()) sheet.close();
    sheets.clear();
  }

  /** Applies a new list of the server. */
  function onList(records: AnnotationRecord[]) {
    const kept = new Set(records.map(({ _id }) => _id));
    for (const [id, sheet] of sheets) {
      if (kept.has(id)) continue;
      if (work?.sheet === sheet) edit(null);
      sheet.close();
      sheets.delete(id);
    }
    for (const record of records) {
      const known = sheets.get(record._id);
      if (known) {
        if (known.record !== record) known.update(record);
        continue;
      }
      const sheet = new Sheet({ record, stage, metadata, redraw, onMore: redrawMore, onError: showError });
      sheets.set(record._id, sheet);
      sheet.show({});
    }
    // Annotations that were hidden on an earlier visit of this image are added to the address.
    const isFirst = !isListed;
    isListed = true;
    if (isFirst) onHide();
    redraw();
    return (id: string) => sheets.get(id)?.visible ?? false;
  }

  function onShow(id: string, changes: Partial<Display>) {
    sheets.get(id)?.show(changes);
    if (changes.visible !== undefined) onHide();
  }

  /** Begins to edit an annotation; `null` ends editing. */
  function edit(id: string | null) {
    work?.end.abort();
    tools.use('select');
    work = null;
    const sheet = id === null ? null : sheets.get(id);
    bar.setEditing(sheet !== null && sheet !== undefined);
    card.pin(null);
    if (sheet) {
      sheet.show({ visible: true });
      onHide();
      const end = new AbortController();
      const onSaved = () => panel.update(sheet.record);
      const say = (text: string) => panel.say(text);
      work = { sheet, end, editor: editAnnotation({ sheet, signal: end.signal, redraw, report: say, onSaved }) };
    }
    redraw();
    return work?.editor.element ?? null;
  }

  function followPointer() {
    let asked = false;
    drawing.addEventListener('pointermove', (event) => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        if (!signal.aborted) hover(event);
      });
    });
  }

  /** The topmost shape at a point of the stage, of any annotation. */
  function shapeAt(at: Point) {
    let found: Element | null = null;
    for (const sheet of sheets.values()) if (sheet.visible) found = tools.topmost(sheet.elements(), at) ?? found;
    return found;
  }

  function hover(event: PointerEvent) {
    const box = drawing.getBoundingClientRect();
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    tools.hover(at);
    stage.canvas.style.cursor = event.buttons === 0 ? tools.cursor(at) : stage.canvas.style.cursor;
    if (event.buttons !== 0) return;
    const found = shapeAt(at);
    if (found === hovered) return;
    hovered = found;
    redrawLive();
  }

  function onKey(event: KeyboardEvent) {
    const target = event.target as HTMLElement;
    const isStep =
      (event.ctrlKey || event.metaKey) && target.closest('select, input:is([type=checkbox], [type=radio], [type=color])');
    if (!isStep && target.closest('input, textarea, select, dialog')) return;
    if (event.key === 'Escape') card.pin(null);
    if (!work && tools.tool !== 'measure') return;
    const isButton = target.closest('button, a, summary') !== null;
    if (event.key === 'Escape') tools.cancel();
    else if (event.key === 'Enter' && !isButton) tools.finish();
    else if ((event.key === 'Delete' || event.key === 'Backspace') && !isButton) {
      if (!(event.key === 'Backspace' && tools.dropVertex())) work?.editor.removeSelected();
    } else if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      work?.editor.step(key === 'y' || event.shiftKey ? 'redo' : 'undo');
    } else return;
    event.preventDefault();
  }
}

function tipOf({ x, y }: Point): Coordinate {
  return [x, y, 0];
}

/** Calls at most once in a while, and once more at the end. */
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
