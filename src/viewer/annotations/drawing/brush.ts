import { newId, type Edit, type Element, type Point } from '../annotation-model.js';
import { areaOf, asPolygon, polygonOf, loadPolygonTools, type Polygon, type PolygonTools } from './polygons.js';

/** How a stroke begins. */
export interface StrokeStart {
  /** the shape that the stroke changes; it may be a new shape */
  shape: Element;
  /** whether the shape has no area yet */
  isNew: boolean;
  isErasing: boolean;
  /** in pixels of the image */
  radius: number;
  /** in pixels of the image */
  firstPoint: Point;
}

/** The brush and the eraser, which change the areas of shapes. */
export class Brush {
  #polygonTools: PolygonTools | null = null;
  #stroke: Stroke | null = null;

  constructor(private readonly options: { onChange: () => void; onError: (error: unknown) => void }) {}

  get isStroking() {
    return this.#stroke !== null;
  }

  /** The shapes that result from the stroke so far. */
  get strokeShapes(): Element[] {
    return this.#stroke?.shapes ?? [];
  }

  press(start: StrokeStart) {
    const stroke = new Stroke(start);
    this.#stroke = stroke;
    void this.#draw(stroke);
  }

  drag(imagePoint: Point) {
    this.#stroke?.pendingPoints.push(imagePoint);
    if (this.#stroke) void this.#draw(this.#stroke);
  }

  /** Ends the stroke. @param commit called with the changes */
  release(commit: (edits: Edit[]) => void) {
    const stroke = this.#stroke;
    if (!stroke) return;
    void this.#draw(stroke).then((isDrawn) => {
      if (this.#stroke === stroke) this.#stroke = null;
      if (isDrawn) commit(stroke.edits);
    });
  }

  discardStroke() {
    this.#stroke = null;
  }

  /** Adds the new points to the stroke, and loads the library first if needed. @returns whether drawing succeeded */
  async #draw(stroke: Stroke): Promise<boolean> {
    try {
      this.#polygonTools ??= await loadPolygonTools();
      stroke.draw(this.#polygonTools);
      this.options.onChange();
      return true;
    } catch (error) {
      this.#stroke = null;
      this.options.onError(error);
      return false;
    }
  }
}

/** A stroke over a shape. */
class Stroke {
  /** points of the stroke that are not drawn yet, in pixels of the image */
  readonly pendingPoints: Point[];
  #lastPoint: Point;
  #area: Polygon[];

  constructor(private readonly start: StrokeStart) {
    this.pendingPoints = [start.firstPoint];
    this.#lastPoint = start.firstPoint;
    const polygon = start.isNew ? null : polygonOf(start.shape);
    this.#area = polygon ? [polygon] : [];
  }

  draw(tools: PolygonTools) {
    if (this.pendingPoints.length === 0) return;
    const { radius, isErasing } = this.start;
    const line = [this.#lastPoint, ...this.pendingPoints.splice(0)];
    this.#lastPoint = line.at(-1) ?? this.#lastPoint;
    const strokeArea = tools.thickenLine(line, radius);
    this.#area = isErasing ? tools.subtract(this.#area, strokeArea) : tools.unite([...this.#area, ...strokeArea]);
  }

  /** The changed shape with the largest part of the area, and new shapes with the other parts. */
  get shapes(): Element[] {
    const [largestPart, ...otherParts] = this.#area.toSorted((a, b) => areaOf(b) - areaOf(a));
    if (!largestPart) return [];
    const { shape } = this.start;
    return [asPolygon(shape, largestPart), ...otherParts.map((part) => ({ ...asPolygon(shape, part), id: newId() }))];
  }

  get edits(): Edit[] {
    const { shape, isNew } = this.start;
    const [firstShape = null, ...newShapes] = this.shapes;
    const additions = newShapes.map((after) => ({ before: null, after }));
    return isNew && firstShape === null ? additions : [{ before: isNew ? null : shape, after: firstShape }, ...additions];
  }
}
