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

  /** The selected shape, if it is only one. */
  get onlyShape() {
    const [first = null, second] = this.shapes;
    return second ? null : first;
  }

  /** @param isAdding adds the shape to the selected ones, or removes it from them */
  select(next: Element | null, isAdding: boolean = false) {
    const id = next?.id;
    if (id === undefined) {
      if (!isAdding) this.selectAll([]);
    } else if (!isAdding) this.selectAll([id]);
    else this.selectAll(this.#ids.includes(id) ? this.#ids.filter((other) => other !== id) : [...this.#ids, id]);
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
    const enclosed = [...annotation.shownElements()].filter((shape) => touches(outline, middleOfBox(shape), 0));
    if (enclosed.length === 0) showMessage(annotationTexts.pickedNone);
    const ids = enclosed.map(({ id }) => id);
    this.selectAll(isAdding ? [...new Set([...this.#ids, ...ids])] : ids);
  }

  /** Deselects shapes that no longer exist. */
  dropRemoved() {
    this.#ids = this.shapes.map(({ id }) => id);
  }
}
