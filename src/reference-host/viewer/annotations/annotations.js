// @ts-check
import { messageOf } from '../dom.js';
import { displayOf } from './display.js';
import { editAnnotation } from './editor.js';
import { drawingLayer } from './layer.js';
import { OverlayPictures } from './overlay-pictures.js';
import { annotationPanel } from './panel.js';
import { Sheet } from './sheet.js';
import { toolbar } from './toolbar.js';
import { Tools } from './tools.js';

/**
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('../image/stage.js').Stage} Stage
 * @typedef {import('../image/metadata.js').ImageMetadata} ImageMetadata
 * @typedef {import('../browse/model.js').Item} Item
 */

/** While the view moves, what is shown is brought in line with it this often, in milliseconds. */
const refreshMs = 150;

/**
 * The annotations of an image, on the stage and in the panel beside it.
 *
 * @param {object} options
 * @param {Item} options.item
 * @param {ImageMetadata} options.metadata
 * @param {Stage} options.stage
 * @param {HTMLElement} options.drawing that the image is drawn in
 * @param {HTMLElement} options.container where the tools go
 * @param {string[]} options.hide ids of annotations that are not to be seen
 * @param {() => void} options.onHide called when others are hidden
 * @param {AbortSignal} options.signal
 */
export function showAnnotations({ item, metadata, stage, drawing, container, hide, onHide, signal }) {
  for (const id of hide) displayOf(id).visible = false;
  let isListed = false;
  /** @type {Map<string, Sheet>} by the id of the annotation */
  const sheets = new Map();
  /** @type {{ sheet: Sheet, editor: ReturnType<typeof editAnnotation>, end: AbortController } | null} */
  let work = null;
  /** @type {Element | null} */
  let hovered = null;
  const accent = getComputedStyle(document.documentElement).getPropertyValue('--annotation-accent').trim() || '#5b3fd6';

  const bar = toolbar((tool) => tools.use(tool));
  container.append(bar.element);
  const tools = new Tools({
    stage,
    shapes: () => (work?.sheet.visible ? work.sheet.elements() : []),
    selected: () => work?.editor.selected() ?? null,
    select: (element) => work?.editor.select(element),
    commit: (before, after) => work?.editor.commit(before, after),
    make: (members) => {
      if (!work) throw new Error('No annotation is being edited.');
      return work.editor.make(members);
    },
    editing: () => work !== null,
    redraw: () => redraw(),
    onTool: () => bar.show(tools.tool),
  });
  const pictures = new OverlayPictures({ signal, onLoad: () => redraw(), onProblem: (text) => panel.say(text) });
  const redraw = drawingLayer(stage, drawing, {
    *overlays() {
      for (const sheet of sheets.values()) yield* sheet.overlays();
    },
    picture: (element) => pictures.of(element),
    *shapes() {
      for (const sheet of sheets.values())
        if (sheet.visible) yield { elements: withDraft(sheet), opacity: sheet.display.opacity };
    },
    hovered: () => hovered,
    above(painter) {
      const selected = tools.draft ?? work?.editor.selected();
      if (!selected || !work?.sheet.visible) return;
      const shown = tools.tip && selected.points ? { ...selected, points: [...selected.points, tipOf(tools.tip)] } : selected;
      painter.selection(shown, { accent, handles: tools.tool === 'select' || selected.points !== undefined });
    },
  });
  const panel = annotationPanel({
    item,
    signal,
    onList,
    onVisible,
    onEdit: edit,
    onRenamed: async () => work?.editor.reload(),
    onConflict: async (reason) => (await work?.editor.takeOver(reason)) ?? reason,
  });
  followPointer();
  document.addEventListener('keydown', onKey, { signal });
  stage.onMove(throttled(refresh, signal));
  stage.onRest(refresh);
  signal.addEventListener('abort', () => closeAll(), { once: true });
  return {
    panel: panel.element,
    /** Ids of the annotations that the reader has hidden. */
    hidden: () =>
      isListed ? [...sheets].flatMap(([id, { display, visible }]) => (display.visible === false && !visible ? [id] : [])) : hide,
    /** Hides these and no others. @param {string[]} ids */
    hideOnly(ids) {
      for (const [id, sheet] of sheets)
        if (ids.includes(id) || sheet.display.visible === false) sheet.show({ visible: !ids.includes(id) });
      panel.refresh();
    },
  };

  /** @param {unknown} error */
  function showError(error) {
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

  /** Takes over what the server says there is. @param {AnnotationRecord[]} records */
  function onList(records) {
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
      const sheet = new Sheet({ record, stage, metadata, redraw, onError: showError });
      sheets.set(record._id, sheet);
      sheet.show({});
    }
    isListed = true;
    redraw();
    return (/** @type {string} */ id) => sheets.get(id)?.visible ?? false;
  }

  /** @param {string} id @param {boolean} visible */
  function onVisible(id, visible) {
    sheets.get(id)?.show({ visible });
    onHide();
  }

  /** Begins to work on an annotation; `null` ends it. @param {string | null} id */
  function edit(id) {
    work?.end.abort();
    tools.use('select');
    work = null;
    const sheet = id === null ? null : sheets.get(id);
    bar.element.hidden = !sheet;
    if (sheet) {
      sheet.show({ visible: true });
      onHide();
      const end = new AbortController();
      const onSaved = () => panel.update(sheet.record);
      const say = (/** @type {string} */ text) => panel.say(text);
      work = { sheet, end, editor: editAnnotation({ sheet, signal: end.signal, redraw, report: say, onSaved }) };
    }
    redraw();
    return work?.editor.element ?? null;
  }

  /** The shapes of a sheet, with the one that is being changed as it is at the moment. @param {Sheet} sheet @returns {Iterable<Element>} */
  function withDraft(sheet) {
    const { draft } = tools;
    if (!draft || sheet !== work?.sheet) return sheet.elements();
    const shapes = [...sheet.elements()];
    const index = shapes.findIndex(({ id }) => id === draft.id);
    return index < 0 ? [...shapes, draft] : shapes.with(index, draft);
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

  /** @param {PointerEvent} event */
  function hover(event) {
    const box = drawing.getBoundingClientRect();
    const at = { x: event.clientX - box.left, y: event.clientY - box.top };
    tools.hover(at);
    stage.canvas.style.cursor = event.buttons === 0 ? tools.cursor(at) : stage.canvas.style.cursor;
    if (event.buttons !== 0) return;
    /** @type {Element | null} */
    let found = null;
    for (const sheet of sheets.values()) if (sheet.visible) found = tools.topmost(sheet.elements(), at) ?? found;
    if (found === hovered) return;
    hovered = found;
    redraw();
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (!work || target.closest('input, textarea, select, dialog')) return;
    const isButton = target.closest('button, a, summary') !== null;
    if (event.key === 'Escape') tools.cancel();
    else if (event.key === 'Enter' && !isButton) tools.finish();
    else if ((event.key === 'Delete' || event.key === 'Backspace') && !isButton) {
      if (!(event.key === 'Backspace' && tools.dropVertex())) work.editor.removeSelected();
    } else if (event.ctrlKey || event.metaKey) {
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      work.editor.step(key === 'y' || event.shiftKey ? 'redo' : 'undo');
    } else return;
    event.preventDefault();
  }
}

/** @param {import('./model.js').Point} point @returns {import('./model.js').Coordinate} */
function tipOf({ x, y }) {
  return [x, y, 0];
}

/** Calls at most once in a while, and once more at the end. @param {() => void} call @param {AbortSignal} signal */
function throttled(call, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      call();
    }, refreshMs);
  };
}
