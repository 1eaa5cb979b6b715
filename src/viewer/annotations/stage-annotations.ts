import { plainColoring, type Coloring } from './coloring/coloring.js';
import { displayOf, type Display } from './annotation-display.js';
import { StageAnnotation, type StageAnnotationOptions } from './stage-annotation.js';
import type { AnnotationRecord, Box } from './annotation-model.js';

interface StageAnnotationsOptions extends Omit<StageAnnotationOptions, 'record'> {
  /** ids of the annotations that the address hides */
  hiddenIds: string[];
  /** colors and filters in the address, by the id of their annotation */
  colorings: ReadonlyMap<string, Coloring>;
  /** writes the hidden annotations, the colors and the filters to the address */
  writeAddress: () => void;
  /** called before an annotation that is no longer listed is removed */
  onGone: (annotation: StageAnnotation) => void;
}

/** The annotations of an image on its stage. */
export class StageAnnotations {
  readonly #annotationsById: Map<string, StageAnnotation> = new Map();
  #hasList = false;
  /** Ids of hidden annotations in the last known address. */
  #hiddenIdsInAddress: string[];

  constructor(private readonly options: StageAnnotationsOptions) {
    this.#hiddenIdsInAddress = options.hiddenIds;
    for (const id of options.hiddenIds) displayOf(id).visible = false;
    for (const [id, coloring] of options.colorings) displayOf(id).coloring = coloring;
  }

  get(id: string) {
    return this.#annotationsById.get(id);
  }

  /** The visible annotations, topmost last. */
  get visibleAnnotations() {
    return [...this.#annotationsById.values()].filter((annotation) => annotation.isVisible);
  }

  /** Ids of the annotations that the user has hidden. */
  get hiddenIds() {
    if (!this.#hasList) return this.options.hiddenIds;
    return [...this.#annotationsById].flatMap(([id, { display, isVisible }]) =>
      display.visible === false && !isVisible ? [id] : [],
    );
  }

  /** Whether all shapes in a box that this page has to draw are loaded. */
  areShapesLoadedIn(box: Box) {
    return this.visibleAnnotations.every((annotation) => annotation.areShapesLoadedIn(box));
  }

  /** Adds, updates and removes annotations, so that they match a new list of the server. */
  update(records: AnnotationRecord[]) {
    const ids = new Set(records.map(({ _id }) => _id));
    for (const [id, annotation] of this.#annotationsById) {
      if (ids.has(id)) continue;
      this.options.onGone(annotation);
      annotation.close();
      this.#annotationsById.delete(id);
    }
    for (const record of records) {
      const annotation = this.#annotationsById.get(record._id);
      if (!annotation) this.#add(record);
      else if (annotation.record !== record) annotation.update(record);
    }
    // Annotations that were hidden on an earlier visit of this image are added to the address.
    const isFirst = !this.#hasList;
    this.#hasList = true;
    if (isFirst) this.options.writeAddress();
    this.options.redraw();
  }

  #add(record: AnnotationRecord) {
    const annotation = new StageAnnotation({ ...this.options, record });
    this.#annotationsById.set(record._id, annotation);
    annotation.changeDisplay({});
  }

  changeDisplay(id: string, changes: Partial<Display>) {
    this.#annotationsById.get(id)?.changeDisplay(changes);
    if (changes.visible !== undefined || changes.coloring) this.options.writeAddress();
  }

  /** Colors and filters of the annotations; before the list has arrived, the colors and filters in the address. */
  get colorings(): Iterable<readonly [id: string, coloring: Coloring]> {
    if (!this.#hasList) return this.options.colorings;
    return [...this.#annotationsById].map(([id, { display }]) => [id, display.coloring] as const);
  }

  /** Shows these colors and filters, and no others. */
  setColorings(colorings: ReadonlyMap<string, Coloring>) {
    for (const [id, annotation] of this.#annotationsById)
      annotation.changeDisplay({ coloring: colorings.get(id) ?? plainColoring });
  }

  /** Remembers which annotations the address hides. Must be called after the address was updated. */
  rememberAddress() {
    this.#hiddenIdsInAddress = this.hiddenIds;
  }

  /** Applies another address: hides these annotations, and shows annotations that the former address hid. Other hidden annotations stay hidden. */
  applyHiddenIds(ids: string[]) {
    if (!this.#hasList) for (const id of ids) displayOf(id).visible = false;
    for (const [id, annotation] of this.#annotationsById)
      if (ids.includes(id)) annotation.changeDisplay({ visible: false });
      else if (this.#hiddenIdsInAddress.includes(id)) annotation.changeDisplay({ visible: true });
  }

  /** Updates the visible shapes or tiles after the view has moved. */
  refresh() {
    for (const annotation of this.#annotationsById.values()) annotation.refresh();
  }

  close() {
    for (const annotation of this.#annotationsById.values()) annotation.close();
    this.#annotationsById.clear();
  }
}
