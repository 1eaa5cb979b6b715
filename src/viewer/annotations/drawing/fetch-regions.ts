import type { Box } from '../annotation-model.js';

/** Shapes are fetched up to this distance from the view, as a share of the view's size. */
const marginShare = 0.3;

/** While the view moves, shapes are fetched ahead for about the distance that the view moves in this time, in milliseconds. */
const aheadMs = 400;

/** A box, extended by a share of its size on each side, and by a distance in the direction of movement. */
function extendBox({ left, top, right, bottom }: Box, share: number, aheadX: number = 0, aheadY: number = 0): Box {
  const [across, down] = [(right - left) * share, (bottom - top) * share];
  return {
    left: left - across + Math.min(0, aheadX),
    top: top - down + Math.min(0, aheadY),
    right: right + across + Math.max(0, aheadX),
    bottom: bottom + down + Math.max(0, aheadY),
  };
}

/**
 * The region to fetch for a view. Its edges are multiples of a power of two, so that there are no narrow gaps between regions.
 *
 * @param aheadX how far the region is extended to the right, or to the left if negative; `aheadY` likewise downwards or upwards
 */
export function regionOf(view: Box, aheadX: number = 0, aheadY: number = 0): Box {
  const { left, top, right, bottom } = extendBox(view, marginShare, aheadX, aheadY);
  const gridSize = 2 ** Math.floor(Math.log2((view.right - view.left) / 10));
  const [roundDown, roundUp] = [
    (value: number) => Math.floor(value / gridSize) * gridSize,
    (value: number) => Math.ceil(value / gridSize) * gridSize,
  ];
  return { left: roundDown(left), top: roundDown(top), right: roundUp(right), bottom: roundUp(bottom) };
}

/** Tells which region of the image to fetch for a view that may be moving. */
export class FetchRegions {
  /** A box that follows the view. Its distance from the view shows how fast the view moves. */
  #trailingBox: Box = { left: 0, top: 0, right: 0, bottom: 0 };
  #lastUpdateMs = 0;

  /** @returns `viewWithMargin`: the view, extended on all sides; `upcomingView`: this box, extended further in the direction of movement; `region`: the box to fetch */
  update(view: Box) {
    const [width, trailingBox] = [view.right - view.left, this.#trailingBox];
    const passedMs = performance.now() - this.#lastUpdateMs;
    this.#lastUpdateMs += passedMs;
    const isZoomed = Math.abs(width - trailingBox.right + trailingBox.left) > width / 1000;
    const remainingShare = isZoomed ? 0 : Math.max(0, 1 - passedMs / aheadMs);
    // After a jump, the region must still be next to the view.
    const distanceAhead = (side: 'left' | 'top') =>
      Math.max(-width, Math.min(width, (view[side] - trailingBox[side]) * remainingShare));
    const [x, y] = [distanceAhead('left'), distanceAhead('top')];
    this.#trailingBox = { left: view.left - x, top: view.top - y, right: view.right - x, bottom: view.bottom - y };
    const viewWithMargin = extendBox(view, marginShare / 2);
    return { viewWithMargin, upcomingView: extendBox(view, marginShare / 2, x / 2, y / 2), region: regionOf(view, x, y) };
  }
}
