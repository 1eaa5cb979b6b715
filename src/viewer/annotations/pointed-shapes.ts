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

/** The shape under the pointer, and the shape that was clicked while nothing was edited. A card shows facts of one of them. */
export class PointedShapes {
  hovered: Element | null = null;
  #clicked: ShapeOfAnnotation | null = null;
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
    const previousShape = this.hovered;
    this.hovered = this.shapeAt(stagePoint)?.shape ?? null;
    return this.hovered !== previousShape;
  }

  /** Opens the card of the shape at a point of the stage, or closes the open one if there is no shape. */
  openCardAt(stagePoint: Point) {
    this.#clicked = this.shapeAt(stagePoint);
    this.#card.pin(this.#clicked?.shape ?? null);
    return this.#clicked;
  }

  closeCard() {
    this.#card.pin(null);
  }

  /** The clicked shape, while its card is open. */
  get shapeOfOpenCard() {
    return this.#clicked?.shape === this.#card.pinned() ? this.#clicked : null;
  }

  /** Shows facts of a shape that is drawn or selected, otherwise of the one under the pointer. An open card stays. */
  showFacts(shape: Element | null) {
    this.#card.show(shape ?? this.hovered);
  }
}
