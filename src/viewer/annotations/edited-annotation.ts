import { annotationTexts } from '../annotation-texts.js';
import { editAnnotation, type Editor } from './editor.js';
import type { AnnotationRecord } from './model.js';
import type { Sheet } from './sheet.js';
import type { ToolContext } from './drawing/tool-context.js';

/** The part of the tools' context that is about the edited annotation. */
type EditingContext = Pick<
  ToolContext,
  'shapes' | 'selectedShape' | 'select' | 'selectInside' | 'find' | 'commit' | 'keepDraft' | 'split' | 'makeShape' | 'isEditing'
>;

/** The annotation that is being edited, at most one. */
export class EditedAnnotation {
  #current: { sheet: Sheet; editor: Editor; controller: AbortController } | null = null;

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

  get sheet() {
    return this.#current?.sheet ?? null;
  }

  /** The editor while the edited annotation is visible. */
  get visible() {
    return this.sheet?.visible ? this.editor : null;
  }

  begin(sheet: Sheet) {
    this.end();
    const controller = new AbortController();
    const onSaved = () => this.options.onSaved(sheet.record);
    const editor = editAnnotation({ ...this.options, sheet, onSaved, signal: controller.signal });
    this.#current = { sheet, editor, controller };
  }

  end() {
    this.#current?.controller.abort();
    this.#current = null;
  }

  /** The functions with which the tools change the edited annotation. Without one, they do nothing, except that `makeShape` throws. */
  get toolContext(): EditingContext {
    return {
      shapes: () => (this.sheet?.visible ? this.sheet.shownElements() : []),
      selectedShape: () => this.editor?.selection.onlyShape ?? null,
      select: (element, isAdding) => this.editor?.selection.select(element, isAdding),
      selectInside: (outline, isAdding) => this.editor?.selection.selectInside(outline, isAdding),
      find: (id) => this.editor?.find(id) ?? null,
      commit: (...edits) => this.editor?.commit(...edits),
      keepDraft: (draft) => this.sheet?.edits.keepDraft(draft, this.sheet.record),
      split: (line) => this.editor?.split(line),
      makeShape: (members) => {
        if (!this.editor) throw new Error(annotationTexts.notEdited);
        return this.editor.makeShape(members);
      },
      isEditing: () => this.editor !== null,
    };
  }
}
