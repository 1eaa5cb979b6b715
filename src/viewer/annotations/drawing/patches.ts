import { boxOf, isOverlay } from './shapes.js';
import { partsOutsideBox, overlaps, type Box, type Element } from '../annotation-model.js';

/** Maximum number of shapes, and of their points, kept for one annotation in addition to the shapes near the view. */
const maxShapes = 20_000;
const maxPoints = 500_000;

/** The result of one request: all elements that touch a box, each with a number that increases in the order of the annotation. */
export type Patch = { box: Box; elements: readonly Element[]; orders: readonly number[] };

/** A patch with the boxes of its elements, which are searched when a cell is drawn, and with the number of points of its elements. */
type IndexedPatch = Patch & { boxes: readonly Box[]; pointCount: number };

export const everywhere: Box = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

/** The loaded elements of one version of an annotation, so that returning to a position needs no request. */
export class Patches {
  /** the most recently used patch is last */
  #patches: IndexedPatch[] = [];

  /** The parts of a box that are not loaded. */
  missingParts(box: Box): Box[] {
    return partsOutside([box], this.#patches);
  }

  /** Replaces the elements of a box after a change, and drops everything outside the box. New elements come last. */
  replaceElements(box: Box, elements: readonly Element[]) {
    const orderById = new Map(this.#patches.flatMap((patch) => patch.elements.map(({ id }, index) => [id, patch.orders[index]])));
    const orders = elements.map(({ id }) => orderById.get(id) ?? Infinity);
    this.#patches = this.#overlappingPatches(box).map((patch) =>
      indexPatch({ box: intersection(patch.box, box), elements, orders }),
    );
  }

  add(patch: Patch) {
    this.#patches.push(indexPatch(patch));
  }

  clear() {
    this.#patches = [];
  }

  /** Drops patches that do not touch the box, least recently used first, until the remaining patches are within the maximum. */
  trim(box: Box) {
    const touchingPatches = this.#overlappingPatches(box);
    this.#patches = [
      ...mostRecentWithinLimit(this.#patches.filter((patch) => !touchingPatches.includes(patch))),
      ...touchingPatches,
    ];
  }

  /** The loaded elements that touch a box and pass a test, by id, in the order of the annotation. */
  elementsIn(box: Box, test: (element: Element) => boolean = () => true): Map<string, Element> {
    const entriesById: Map<string, [order: number, element: Element]> = new Map();
    for (const { elements, orders, boxes } of this.#overlappingPatches(box))
      for (const [index, element] of elements.entries())
        if (test(element) && overlaps(boxes[index] ?? everywhere, box) && !entriesById.has(element.id))
          entriesById.set(element.id, [orders[index] ?? index, element]);
    // New elements have the order `Infinity`. The difference of two infinite orders is not a number, so new elements keep their order.
    const sortedEntries = [...entriesById.values()].sort(([a], [b]) => a - b || 0);
    return new Map(sortedEntries.map(([, element]) => [element.id, element]));
  }

  /** Number of loaded elements in a box. An element that several requests have returned counts several times. */
  countIn(box: Box) {
    return this.#overlappingPatches(box).reduce(
      (sum, { boxes }) => sum + boxes.filter((elementBox) => overlaps(elementBox, box)).length,
      0,
    );
  }

  #overlappingPatches(box: Box) {
    return this.#patches.filter((patch) => overlaps(patch.box, box));
  }
}

function intersection(box: Box, other: Box): Box {
  return {
    left: Math.max(box.left, other.left),
    top: Math.max(box.top, other.top),
    right: Math.min(box.right, other.right),
    bottom: Math.min(box.bottom, other.bottom),
  };
}

function indexPatch(patch: Patch): IndexedPatch {
  const boxes = patch.elements.map((element) => (isOverlay(element) ? everywhere : boxOf(element)));
  return { ...patch, boxes, pointCount: patch.elements.reduce((sum, { points }) => sum + (points?.length ?? 1), 0) };
}

/** The most recently used patches, up to the maximum numbers of shapes and points. */
function mostRecentWithinLimit(patches: IndexedPatch[]) {
  let [shapeCount, pointCount] = [0, 0];
  const lastDropped = patches.findLastIndex((patch) => {
    shapeCount += patch.elements.length;
    pointCount += patch.pointCount;
    return shapeCount > maxShapes || pointCount > maxPoints;
  });
  return patches.slice(lastDropped + 1);
}

/** The parts of boxes that are outside all other boxes. */
export function partsOutside(boxes: Box[], others: Iterable<{ box: Box }>): Box[] {
  let remainingParts = boxes;
  for (const { box } of others)
    remainingParts = remainingParts.flatMap((part) => (overlaps(part, box) ? partsOutsideBox(part, box) : [part]));
  return remainingParts;
}
