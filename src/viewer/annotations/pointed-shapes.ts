import type { StageAnnotation } from './stage-annotation.js';
import { shapeCard } from './shape-card.js';
import type { Element, Point } from './annotation-model.js';
import type { Tools } from './drawing/tools.js';
import type { ImageMetadata } from '../image/image-metadata.js';

/** A shape, and the annotation to which it belongs. */
export interface ShapeOfAnnotation {
  annotation: StageAnnotation;
  shape: Element;
}

/** The shape under the pointer, and the shape that was clicked while no annotation was edited. A card shows facts of one of the two. */
export class PointedShapes {
  hoveredShape: Element | null = null;
  #clickedShape: ShapeOfAnnotation | null = null;
  readonly #card: ReturnType<typeof shapeCard>;

  constructor(
    metadata: ImageMetadata,
    private readonly tools: Tools,
    private readonly visibleAnnotations: () => StageAnnotation[],
  ) {
    this.#card = shapeCard(metadata);
  }

  get element() {
    return this.#card.element;
  }

  /** The topmost shape at a point of the stage, of any annotation. */
  shapeAt(stagePoint: Point): ShapeOfAnnotation | null {
    for (const annotation of this.visibleAnnotations().toReversed()) {
      const shape = this.tools.topmostOf(annotation.shownElements(), stagePoint);
      if (shape) return { annotation, shape };
    }
    return null;
  }

  /** @returns whether another shape is under the pointer now */
  hover(stagePoint: Point) {
    const previousShape = this.hoveredShape;
    this.hoveredShape = this.shapeAt(stagePoint)?.shape ?? null;
    return this.hoveredShape !== previousShape;
  }

  /** Opens the card of the shape at a point of the stage, or closes the open card if there is no shape. */
  openCardAt(stagePoint: Point) {
    this.#clickedShape = this.shapeAt(stagePoint);
    this.#card.pin(this.#clickedShape?.shape ?? null);
    return this.#clickedShape;
  }

  closeCard() {
    this.#card.pin(null);
  }

  /** The clicked shape, while its card is open. */
  get shapeOfOpenCard() {
    return this.#clickedShape?.shape === this.#card.pinnedShape() ? this.#clickedShape : null;
  }

  /** Shows facts of a shape that is drawn or selected, otherwise of the shape under the pointer. A card that was opened by a click stays. */
  showFacts(shape: Element | null) {
    this.#card.show(shape ?? this.hoveredShape);
  }
}
