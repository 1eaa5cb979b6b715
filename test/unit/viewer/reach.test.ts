import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FetchRegions, regionOf } from '../../../src/viewer/annotations/drawing/reach.js';
import type { Box } from '../../../src/viewer/annotations/model.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const view = (left: number, top: number, width: number = 1000): Box => ({
  left,
  top,
  right: left + width,
  bottom: top + width / 2,
});

/** The required region at the end of a movement that is reported in parts, one every 50 ms. */
function moved(reach: FetchRegions, x: number, y: number, steps: number = 60) {
  let [left, top] = [0, 0];
  for (let step = 0; step < steps; step += 1) {
    reach.update(view(left, top));
    vi.advanceTimersByTime(50);
    [left, top] = [left + x, top + y];
  }
  return { ...reach.update(view(left, top)), left, top };
}

it('needs more ahead when the view moves, and the same on each side when it rests', () => {
  const still = moved(new FetchRegions(), 0, 0);
  expect(still.soon).toEqual(still.around);
  expect(still.region).toEqual(regionOf(view(0, 0)));
  const { soon, region, left, top, around } = moved(new FetchRegions(), 100, -20);
  const unmoved = regionOf(view(left, top));
  // The view moves by two widths in a second.
  expect([soon.right - around.right, around.top - soon.top].map(Math.round)).toEqual([350, 70]);
  expect([soon.left, soon.bottom]).toEqual([around.left, around.bottom]);
  expect(region.right - unmoved.right).toBeGreaterThan(600);
  expect([region.left, region.bottom]).toEqual([unmoved.left, unmoved.bottom]);
  expect(region.top).toBeLessThan(unmoved.top - 100);
  // After a short drag at the same speed, only a little more is fetched.
  const drag = moved(new FetchRegions(), 100, 0, 2);
  expect(drag.soon.right - drag.around.right).toBeLessThan(150);
});

it('fetches adjacent regions at any speed, and has no speed after a rest or zoom', () => {
  const reach = new FetchRegions();
  const { region, left } = moved(reach, 5000, 0);
  expect(region.right).toBeLessThan(left + 1000 + 1500);
  // A view that is reported twice at the same moment keeps its speed.
  expect(reach.update(view(left, 0)).region).toEqual(region);
  vi.advanceTimersByTime(50);
  const zoomed = view(left + 5000, 0, 500);
  expect(reach.update(zoomed).region).toEqual(regionOf(zoomed));
  vi.advanceTimersByTime(1000);
  const later = view(left + 9000, 0, 500);
  expect(reach.update(later).region).toEqual(regionOf(later));
});
