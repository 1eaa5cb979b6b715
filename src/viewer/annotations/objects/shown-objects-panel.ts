import { selectionColor } from '../drawing/selection-marks.js';
import type { Painter } from '../drawing/painter.js';
import type { AnnotationRecord, Element } from '../annotation-model.js';
import type { StageAnnotation } from '../stage-annotation.js';
import type { ObjectFilter } from './object-requests.js';
import { objectsPanel, type ObjectsPanelOptions } from './objects-panel.js';

/** The table of the shapes of an annotation, in a panel on the image. At most one panel is open. */
export class ShownObjectsPanel {
  #openPanel: { id: string; panel: ReturnType<typeof objectsPanel>; controller: AbortController } | null = null;

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
    const isOpen = this.#openPanel?.id === id;
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
    this.#openPanel = { id, panel, controller };
    this.options.container.append(panel.element);
    panel.closeButton.focus();
  }

  close() {
    this.#openPanel?.controller.abort();
    this.#openPanel?.panel.element.remove();
    this.#openPanel = null;
    this.options.onMarksChange();
  }

  /** Shows a filter that was changed elsewhere. */
  showFilter(id: string) {
    const annotation = this.options.annotationOf(id);
    if (annotation && this.#openPanel?.id === id) this.#openPanel.panel.setFilter(annotation.display.coloring.filter);
  }

  /** Shows the newest version. The table of an annotation that is no longer listed is closed. */
  update(records: readonly AnnotationRecord[]) {
    const record = records.find(({ _id }) => _id === this.#openPanel?.id);
    if (record) this.#openPanel?.panel.update(record);
    else this.close();
  }

  /** Selects a shape that was clicked on the image, if the table of its annotation is open. */
  reveal(annotation: StageAnnotation | null, shape: Element) {
    if (this.#openPanel && this.#openPanel.id === annotation?.record._id) void this.#openPanel.panel.reveal(shape);
  }

  /** Marks the shapes that are selected in the table. @returns whether any shape is selected */
  paintMarks(painter: Painter) {
    const annotation = this.#openPanel && this.options.annotationOf(this.#openPanel.id);
    if (!this.#openPanel || !annotation?.isVisible || this.#openPanel.panel.selectedPoints.size === 0) return false;
    for (const [id, imagePoint] of this.#openPanel.panel.selectedPoints) {
      const shape = annotation.showsShapes ? annotation.find(id) : null;
      if (shape) painter.markSelected([shape], selectionColor);
      else if (imagePoint) painter.markPosition(imagePoint, selectionColor);
    }
    return true;
  }
}
