import { messageOf, showMessage } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import type { Stage } from '../stage/stage-contract.js';
import { addKeyboardCross } from './drawing/keyboard-cross.js';
import { firstShapeTools, isOffered, type ToolOffer, type Tool } from './drawing/tool-names.js';
import { Tools } from './drawing/tools.js';
import { followKeys } from './annotation-keys.js';
import type { AnnotationRecord, Element, Point } from './annotation-model.js';
import type { StageAnnotation } from './stage-annotation.js';
import { toolbar } from './toolbar.js';
import { EditedAnnotation } from './edited-annotation.js';

interface ToolboxOptions {
  stage: Stage;
  /** element in which the image is drawn */
  drawingElement: HTMLElement;
  /** element of the image and everything on it */
  container: HTMLElement;
  /** whether a tool may create the first annotation of the image */
  mayBeginFirstAnnotation: () => boolean;
  /** creates the first annotation of the image, and starts editing it */
  beginFirstAnnotation: () => Promise<void>;
  /** called when a shape of the edited annotation is selected */
  onSelect: (shape: Element) => void;
  /** called when the user clicks while no annotation is edited */
  onInspect: (stagePoint: Point) => void;
  /** called with a new version of the edited annotation */
  onSaved: (record: AnnotationRecord) => void;
  /** closes the card of the clicked shape */
  closeCard: () => void;
  /** redraws everything */
  redraw: () => void;
  /** redraws only the shapes that change under the pointer */
  redrawLive: () => void;
  /** shows what went wrong, or clears the message */
  showProblem: (message: string) => void;
  signal: AbortSignal;
}

/** The tools with their buttons and keys, and the edited annotation, which they change. */
export class Toolbox {
  readonly tools: Tools;
  readonly editedAnnotation: EditedAnnotation;
  readonly #bar: ReturnType<typeof toolbar>;
  /** The tool that was chosen last. It is not in use yet while an annotation is being created for it. */
  #chosenTool: Tool = 'select';

  constructor(private readonly options: ToolboxOptions) {
    const { stage, drawingElement, container, onSelect, onInspect, redraw, redrawLive, showProblem, signal } = options;
    this.editedAnnotation = new EditedAnnotation({ redraw, zoom: stage.zoom, showProblem, onSaved: options.onSaved });
    const { toolContext } = this.editedAnnotation;
    this.tools = new Tools({
      ...toolContext,
      stage,
      select(element, isAdding) {
        toolContext.select(element, isAdding);
        if (element) onSelect(element);
      },
      inspect: onInspect,
      redraw: redrawLive,
      onError: (error) => showProblem(messageOf(error)),
      onToolChange: () => this.#bar.show(this.tools.tool),
    });
    this.#bar = toolbar({
      radius: this.tools.brushRadius,
      onRadius: (radius) => (this.tools.brushRadius = radius),
      onTool: (tool) => this.#onToolButton(tool),
    });
    addKeyboardCross(stage, drawingElement, this.tools, signal);
    followKeys(container.getRootNode(), {
      tools: this.tools,
      getEditor: () => this.editedAnnotation.editor,
      isOffered: (tool) => isOffered(tool, this.#toolOffer),
      chooseTool: (tool) => void this.#useTool(tool),
      canvas: stage.canvas,
      closeCard: options.closeCard,
      signal,
    });
  }

  get element() {
    return this.#bar.element;
  }

  /** Ends editing, and starts editing an annotation; `null` only ends editing. */
  edit(annotation: StageAnnotation | null) {
    // An unfinished shape is kept as an unsaved change.
    this.tools.finishOrKeepDrawing();
    this.editedAnnotation.end();
    this.tools.useTool('select');
    const draft = annotation?.edits.draft;
    if (annotation) this.editedAnnotation.begin(annotation);
    if (draft) this.tools.resume(draft);
    this.updateOffer();
    return this.editedAnnotation.editor;
  }

  /** Offers the tools that can be used now. */
  updateOffer() {
    this.#bar.offer(this.#toolOffer);
  }

  /** Keeps an unfinished shape as an unsaved change, and ends editing. */
  close() {
    this.tools.finishOrKeepDrawing();
    this.editedAnnotation.end();
  }

  get #toolOffer(): ToolOffer {
    if (this.editedAnnotation.editor) return 'all';
    return this.options.mayBeginFirstAnnotation() ? 'first' : 'measure';
  }

  #onToolButton(tool: Tool) {
    const { container, stage } = this.options;
    void this.#useTool(tool === this.tools.tool ? 'select' : tool);
    // A click of the mouse moves the focus to the image, so that the keys of the tool work. Keyboard users stay on the button.
    if (!container.querySelector('.annotation-tools :focus-visible')) stage.canvas.focus({ preventScroll: true });
  }

  async #useTool(tool: Tool) {
    const { beginFirstAnnotation, showProblem, signal } = this.options;
    this.#chosenTool = tool;
    let isReady = true;
    if (!this.editedAnnotation.editor && firstShapeTools.has(tool)) {
      this.tools.delayGestures();
      try {
        await beginFirstAnnotation();
      } catch (error) {
        showProblem(messageOf(error));
      }
      if (this.#chosenTool !== tool) return;
      isReady = this.editedAnnotation.editor !== null && !signal.aborted;
    }
    if (isReady) this.tools.useTool(tool);
    this.tools.endDelay(isReady && firstShapeTools.has(tool));
    if (!isReady) return;
    // If the tool cannot be used now, its hint says what it needs. Drawing a hole, for example, needs a selected polygon.
    if (this.tools.tool !== tool) showMessage(annotationTexts.tools[tool][1]);
  }
}
