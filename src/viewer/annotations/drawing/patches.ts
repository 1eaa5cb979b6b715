import { boxOf, isOverlay } from './shapes.js';
import { outside, overlaps, type Box, type Element } from '../model.js';

/** Shapes, and points of shapes, of one annotation that are kept beside those near the view. */
const maxShapes = 20_000;
const maxPoints = 500_000;

/** What one request brought: all elements that meet a box, each with a number that grows in the order of the annotation. */
export type Patch = { box: Box; elements: readonly Element[]; orders: readonly number[] };

/** The elements of one version of an annotation as far as they are at hand: going back to a place needs no request. */
export class Patches {
  /** most recently used last */
  #patches: Patch[] = [];

  /** The parts of a box that are not at hand. */
  missing(box: Box): Box[] {
    return without([box], this.#patches);
  }

  /** After a change: what is known of a box, which is these elements; new ones are the last of all. */
  change(box: Box, elements: readonly Element[]) {
    const known = new Map(this.#patches.flatMap((patch) => patch.elements.map(({ id }, index) => [id, patch.orders[index]])));
    const orders = elements.map(({ id }) => known.get(id) ?? Infinity);
    this.#patches = this.#meeting(box).map((patch) => ({ box: shared(patch.box, box), elements, orders }));
  }

  add(patch: Patch) {
    this.#patches.push(patch);
  }

  clear() {
    this.#patches = [];
  }

  /** What is at hand of a box, by id and in the order of the annotation. Of what lies elsewhere, much is let go, longest unused first. */
  near(box: Box): Map<string, Element> {
    const used = this.#meeting(box);
    this.#patches = [...lately(this.#patches.filter((patch) => !used.includes(patch))), ...used];
    return this.within(box);
  }

  /** What is at hand of a box, by id and in the order of the annotation. */
  within(box: Box): Map<string, Element> {
    const found: Map<string, [order: number, element: Element]> = new Map();
    for (const { elements, orders } of this.#meeting(box))
      for (const [index, element] of elements.entries())
        if ((isOverlay(element) || overlaps(boxOf(element), box)) && !found.has(element.id))
          found.set(element.id, [orders[index] ?? index, element]);
    // Two that are new stay as they are: the difference is no number.
    const sorted = [...found.values()].sort(([a], [b]) => a - b || 0);
    return new Map(sorted.map(([, element]) => [element.id, element]));
  }

  #meeting(box: Box) {
    return this.#patches.filter((patch) => overlaps(patch.box, box));
  }
}

function shared(box: Box, other: Box): Box {
  return {
    left: Math.max(box.left, other.left),
    top: Math.max(box.top, other.top),
    right: Math.min(box.right, other.right),
    bottom: Math.min(box.bottom, other.bottom),
  };
}

/** The last of these, as many as may be kept. */
function lately(patches: Patch[]) {
  let [shapes, points] = [0, 0];
  const first = patches.findLastIndex(({ elements }) => {
    shapes += elements.length;
    points += elements.reduce((sum, element) => sum + (element.points?.length ?? 1), 0);
    return shapes > maxShapes || points > maxPoints;
  });
  return patches.slice(first + 1);
}

/** What is left of boxes outside of others. */
export function without(boxes: Box[], others: Iterable<{ box: Box }>): Box[] {
  let left = boxes;
  for (const { box } of others) left = left.flatMap((part) => (overlaps(part, box) ? outside(part, box) : [part]));
  return left;
}
