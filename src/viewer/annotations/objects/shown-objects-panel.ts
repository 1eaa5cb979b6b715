import { selectionColor } from '../drawing/selection-marks.js';
import type { Painter } from '../drawing/painter.js';
import type { AnnotationRecord, Element } from '../annotation-model.js';
import type { StageAnnotation } from '../stage-annotation.js';
import type { ObjectFilter } from './object-requests.js';
import { objectsPanel, type ObjectsPanelOptions } from './objects-panel.js';

/** The table of the shapes of an annotation, in a panel on the image. At most one is open. */
export class ShownObjectsPanel {
  #open: { id: string; panel: ReturnType<typeof objectsPanel>; controller: AbortController } | null = null;

  constructor(
    private readonly options: Pick<
      ObjectsPanelOptions,
      'itemId' | 'currentView' | 'drawnOutline' | 'goTo' | 'onMarksChange' | 'onCreated'
    > & {
      /** called when the user has changed the filter of an annotation */
      onFilter: (id: string, filter: ObjectFilter | null) => void;
      container: HTMLElement;
      annotationOf: (id: string) => StageAnnotation | undefined;
    },
  ) {}

  /** Shows the table of an annotation, or closes it. */
  toggle(id: string, mayCreate: boolean) {
    const isOpen = this.#open?.id === id;
    this.close();
    const annotation = this.options.annotationOf(id);
    if (isOpen || !annotation) return;
    const controller = new AbortController();
    const panel = objectsPanel({
      ...this.options,
      record: annotation.record,
      mayCreate,
      initialFilter: annotation.display.coloring.filter,
      onFilter: (filter) => this.options.onFilter(id, filter),
      onClose: () => this.close(),
      signal: controller.signal,
    });
    this.#open = { id, panel, controller };
    this.options.container.append(panel.element);
    panel.closeButton.focus();
  }

  close() {
    this.#open?.controller.abort();
    this.#open?.panel.element.remove();
    this.#open = null;
    this.options.onMarksChange();
  }

  /** Shows a filter that was changed elsewhere. */
  showFilter(id: string) {
    const annotation = this.options.annotationOf(id);
    if (annotation && this.#open?.id === id) this.#open.panel.setFilter(annotation.display.coloring.filter);
  }

  /** Shows the newest version. The table of an annotation that is no longer listed is closed. */
  update(records: readonly AnnotationRecord[]) {
    const record = records.find(({ _id }) => _id === this.#open?.id);
    if (record) this.#open?.panel.update(record);
    else this.close();
  }

  /** Selects a shape that was clicked on the image, if the table of its annotation is open. */
  reveal(annotation: StageAnnotation | null, shape: Element) {
    if (this.#open && this.#open.id === annotation?.record._id) void this.#open.panel.reveal(shape);
  }

  /** Marks the shapes that are selected in the table. @returns whether there are any */
  paintMarks(painter: Painter) {
    const annotation = this.#open && this.options.annotationOf(this.#open.id);
    if (!this.#open || !annotation?.isVisible || this.#open.panel.selectedPoints.size === 0) return false;
    for (const [id, imagePoint] of this.#open.panel.selectedPoints) {
      const shape = annotation.showsShapes ? annotation.find(id) : null;
      if (shape) painter.markTogether([shape], selectionColor);
      else if (imagePoint) painter.markSpot(imagePoint, selectionColor);
    }
    return true;
  }
}
