import { annotationTexts } from '../annotation-texts.js';
import { editAnnotation, type Editor } from './editor.js';
import type { AnnotationRecord } from './model.js';
import type { Sheet } from './sheet.js';
import type { ToolContext } from './drawing/tool-context.js';

/** The part of the tools' context that is about the edited annotation. */
type EditingContext = Pick<
  ToolContext,
  'shapes' | 'selected' | 'select' | 'pick' | 'find' | 'commit' | 'keepDraft' | 'split' | 'make' | 'editing'
>;

/** The annotation that is being edited, at most one. */
export class EditedAnnotation {
  #current: { sheet: Sheet; editor: Editor; end: AbortController } | null = null;

  constructor(
    private readonly parts: {
      redraw: () => void;
      /** screen pixels per image pixel */
      zoom: () => number;
      /** shows what went wrong, or clears the message */
      report: (message: string) => void;
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
    const end = new AbortController();
    const onSaved = () => this.parts.onSaved(sheet.record);
    const editor = editAnnotation({ ...this.parts, sheet, onSaved, signal: end.signal });
    this.#current = { sheet, editor, end };
  }

  end() {
    this.#current?.end.abort();
    this.#current = null;
  }

  /** The functions by which the tools change the edited annotation. They do nothing while there is none. */
  get toolContext(): EditingContext {
    return {
      shapes: () => (this.sheet?.visible ? this.sheet.elements() : []),
      selected: () => this.editor?.selection.only ?? null,
      select: (element, isAdding) => this.editor?.selection.select(element, isAdding),
      pick: (outline, isAdding) => this.editor?.selection.pick(outline, isAdding),
      find: (id) => this.editor?.find(id) ?? null,
      commit: (...edits) => this.editor?.commit(...edits),
      keepDraft: (draft) => this.sheet?.edits.keepDraft(draft, this.sheet.record),
      split: (line) => this.editor?.split(line),
      make: (members) => {
        if (!this.editor) throw new Error(annotationTexts.notEdited);
        return this.editor.make(members);
      },
      editing: () => this.editor !== null,
    };
  }
}
