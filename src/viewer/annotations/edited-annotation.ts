import { annotationTexts } from '../annotation-texts.js';
import { editAnnotation, type Editor } from './editor.js';
import type { AnnotationRecord } from './annotation-model.js';
import type { StageAnnotation } from './stage-annotation.js';
import type { ToolContext } from './drawing/tool-context.js';

/** The part of the tools' context that is about the edited annotation. */
type EditingContext = Pick<
  ToolContext,
  | 'graspableShapes'
  | 'selectedShape'
  | 'select'
  | 'selectInside'
  | 'find'
  | 'commit'
  | 'keepDraft'
  | 'split'
  | 'makeShape'
  | 'isEditing'
>;

/** Holds the annotation that is being edited, if there is one. */
export class EditedAnnotation {
  #current: { annotation: StageAnnotation; editor: Editor; controller: AbortController } | null = null;

  constructor(
    private readonly options: {
      redraw: () => void;
      /** screen pixels per image pixel */
      zoom: () => number;
      /** shows what went wrong, or clears the message */
      showProblem: (message: string) => void;
      onSaved: (record: AnnotationRecord) => void;
    },
  ) {}

  get editor() {
    return this.#current?.editor ?? null;
  }

  get annotation() {
    return this.#current?.annotation ?? null;
  }

  /** The editor while the edited annotation is visible. */
  get visibleEditor() {
    return this.annotation?.isVisible ? this.editor : null;
  }

  begin(annotation: StageAnnotation) {
    this.end();
    const controller = new AbortController();
    const onSaved = () => this.options.onSaved(annotation.record);
    const editor = editAnnotation({ ...this.options, annotation, onSaved, signal: controller.signal });
    this.#current = { annotation, editor, controller };
  }

  end() {
    this.#current?.controller.abort();
    this.#current = null;
  }

  /** The functions with which the tools change the edited annotation. While no annotation is edited, they do nothing, except that `makeShape` throws. */
  get toolContext(): EditingContext {
    return {
      graspableShapes: () => (this.annotation?.isVisible ? this.annotation.shownElements() : []),
      selectedShape: () => this.editor?.selection.onlyShape ?? null,
      select: (element, isAdding) => this.editor?.selection.select(element, isAdding),
      selectInside: (outline, isAdding) => this.editor?.selection.selectInside(outline, isAdding),
      find: (id) => this.editor?.find(id) ?? null,
      commit: (...edits) => this.editor?.commit(...edits),
      keepDraft: (draft) => this.annotation?.edits.keepDraft(draft, this.annotation.record),
      split: (line) => this.editor?.split(line),
      makeShape: (members) => {
        if (!this.editor) throw new Error(annotationTexts.notEdited);
        return this.editor.makeShape(members);
      },
      isEditing: () => this.editor !== null,
    };
  }
}
