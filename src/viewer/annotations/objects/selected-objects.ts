import { h } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { browseTexts } from '../../texts.js';
import type { Point } from '../annotation-model.js';

/** The shapes that are selected in the table, with the button that clears the selection. */
export class SelectedObjects {
  /** positions of the selected shapes on the image, by the ids of the shapes; `null` while a position is not known */
  #pointsById: Map<string, Point | null> = new Map();
  readonly clearButton = h('button.link-button', { hidden: true, onclick: () => this.onClear() });

  constructor(
    private readonly onChange: () => void,
    private readonly onClear: () => void,
  ) {}

  get points(): ReadonlyMap<string, Point | null> {
    return this.#pointsById;
  }

  replace(pointsById: Map<string, Point | null>) {
    this.#pointsById = pointsById;
    this.#update();
  }

  add({ id, x, y }: { id: string; x: number; y: number }) {
    this.#pointsById.set(id, { x, y });
    this.#update();
  }

  delete(id: string) {
    this.#pointsById.delete(id);
    this.#update();
  }

  #update() {
    const { size } = this.#pointsById;
    const selectionText = objectTexts.selected(size);
    this.clearButton.hidden = size === 0;
    this.clearButton.textContent = `${selectionText} ✕`;
    this.clearButton.setAttribute('aria-label', `${selectionText}. ${browseTexts.clearSelection}`);
    this.onChange();
  }
}
