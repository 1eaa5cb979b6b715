import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FetchRegions, regionOf } from '../../../src/viewer/annotations/drawing/fetch-regions.js';
import type { Box } from '../../../src/viewer/annotations/annotation-model.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

const view = (left: number, top: number, width: number = 1000): Box => ({
  left,
  top,
  right: left + width,
  bottom: top + width / 2,
});

/** The required region at the end of a movement that is reported in parts, one every 50 ms. */
function moved(regions: FetchRegions, x: number, y: number, steps: number = 60) {
  let [left, top] = [0, 0];
  for (let step = 0; step < steps; step += 1) {
    regions.update(view(left, top));
    vi.advanceTimersByTime(50);
    [left, top] = [left + x, top + y];
  }
  return { ...regions.update(view(left, top)), left, top };
}

it('needs more ahead when the view moves, and the same on each side when it rests', () => {
  const still = moved(new FetchRegions(), 0, 0);
  expect(still.upcomingView).toEqual(still.viewWithMargin);
  expect(still.region).toEqual(regionOf(view(0, 0)));
  const { upcomingView, region, left, top, viewWithMargin } = moved(new FetchRegions(), 100, -20);
  const unmoved = regionOf(view(left, top));
  // The view moves by two widths in a second.
  expect([upcomingView.right - viewWithMargin.right, viewWithMargin.top - upcomingView.top].map(Math.round)).toEqual([350, 70]);
  expect([upcomingView.left, upcomingView.bottom]).toEqual([viewWithMargin.left, viewWithMargin.bottom]);
  expect(region.right - unmoved.right).toBeGreaterThan(600);
  expect([region.left, region.bottom]).toEqual([unmoved.left, unmoved.bottom]);
  expect(region.top).toBeLessThan(unmoved.top - 100);
  // After a short drag at the same speed, only a little more is fetched.
  const drag = moved(new FetchRegions(), 100, 0, 2);
  expect(drag.upcomingView.right - drag.viewWithMargin.right).toBeLessThan(150);
});

it('fetches adjacent regions at any speed, and has no speed after a rest or zoom', () => {
  const regions = new FetchRegions();
  const { region, left } = moved(regions, 5000, 0);
  expect(region.right).toBeLessThan(left + 1000 + 1500);
  // A view that is reported twice at the same moment keeps its speed.
  expect(regions.update(view(left, 0)).region).toEqual(region);
  vi.advanceTimersByTime(50);
  const zoomed = view(left + 5000, 0, 500);
  expect(regions.update(zoomed).region).toEqual(regionOf(zoomed));
  vi.advanceTimersByTime(1000);
  const later = view(left + 9000, 0, 500);
  expect(regions.update(later).region).toEqual(regionOf(later));
});
