import { showMessage } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import { middleOfBox, touches } from './drawing/shapes.js';
import type { Element } from './annotation-model.js';
import type { StageAnnotation } from './stage-annotation.js';

/** The selected shapes of the edited annotation. */
export class Selection {
  #ids: readonly string[] = [];

  constructor(
    private readonly annotation: StageAnnotation,
    private readonly onChange: () => void,
  ) {}

  get shapes(): Element[] {
    return this.#ids.flatMap((id) => this.annotation.find(id) ?? []);
  }

  /** The selected shape; `null` unless exactly one shape is selected. */
  get onlyShape() {
    const [first = null, second] = this.shapes;
    return second ? null : first;
  }

  /** Selects a shape. With `isAdding`, the shape is added to the selection or, if it is selected already, removed; otherwise, it replaces the selection. */
  select(shape: Element | null, isAdding: boolean = false) {
    const id = shape?.id;
    if (id === undefined) {
      if (!isAdding) this.selectAll([]);
    } else if (!isAdding) this.selectAll([id]);
    else this.selectAll(this.#ids.includes(id) ? this.#ids.filter((selectedId) => selectedId !== id) : [...this.#ids, id]);
  }

  selectAll(ids: readonly string[]) {
    this.#ids = ids;
    this.onChange();
  }

  /** Selects the shapes whose center is inside an outline. */
  selectInside(outline: Element, isAdding: boolean) {
    const { annotation } = this;
    if (!annotation.showsShapes && annotation.record._elementCount > 0) {
      showMessage(annotationTexts.pickZoom);
      return;
    }
    const enclosedShapes = [...annotation.shownElements()].filter((shape) => touches(outline, middleOfBox(shape), 0));
    if (enclosedShapes.length === 0) showMessage(annotationTexts.pickedNone);
    const ids = enclosedShapes.map(({ id }) => id);
    this.selectAll(isAdding ? [...new Set([...this.#ids, ...ids])] : ids);
  }

  /** Deselects shapes that no longer exist. */
  dropRemoved() {
    this.#ids = this.shapes.map(({ id }) => id);
  }
}
