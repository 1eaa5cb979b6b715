import { annotationTexts } from '../../annotation-texts.js';
import { newId, overlaps, type Edit, type Element } from '../annotation-model.js';
import { areaOf, asPolygon, polygonOf, loadPolygonTools } from './polygons.js';
import { boxOf, isLocked } from './shapes.js';

/** Half the width of a cut, in pixels of the image: the smallest that the library distinguishes. */
const cutRadius = 0.01;

/** Areas can be merged if the gap between them is narrower than this, in pixels of the image. The parts of a split area have a gap, because of the cut and of rounding. */
const maxGap = 0.1;

function unlockedAreas(shapes: readonly Element[]) {
  return shapes.flatMap((shape) => {
    const polygon = isLocked(shape) ? null : polygonOf(shape);
    return polygon ? [{ shape, polygon }] : [];
  });
}

/** Merges areas into the first shape. @throws Error if they do not touch each other */
export async function makeMergeEdits(shapes: readonly Element[]): Promise<Edit[]> {
  const [first, ...others] = unlockedAreas(shapes);
  if (!first || others.length === 0) return [];
  const { unite, bridge } = await loadPolygonTools();
  const polygons = [first, ...others].map(({ polygon }) => polygon);
  const unitedPolygons = unite(polygons);
  const [mergedPolygon, secondPolygon] = unitedPolygons.length > 1 ? bridge(polygons, maxGap) : unitedPolygons;
  if (!mergedPolygon || secondPolygon) throw new Error(annotationTexts.mergeApart);
  const removals = others.map(({ shape }) => ({ before: shape, after: null }));
  return [{ before: first.shape, after: asPolygon(first.shape, mergedPolygon) }, ...removals];
}

/** Cuts areas along a line. The largest part stays the same shape. */
export async function makeSplitEdits(shapes: readonly Element[], line: Element): Promise<Edit[]> {
  const tools = await loadPolygonTools();
  const cutArea = tools.thickenLine(
    (line.points ?? []).map(([x, y]) => ({ x, y })),
    cutRadius,
  );
  const candidates = unlockedAreas(shapes.filter((shape) => overlaps(boxOf(shape), boxOf(line))));
  return candidates.flatMap(({ shape, polygon }): Edit[] => {
    const parts = tools.subtract([polygon], cutArea).toSorted((a, b) => areaOf(b) - areaOf(a));
    if (parts.length < 2) return [];
    return parts.map((part, index) => {
      const after = asPolygon(shape, part);
      return index === 0 ? { before: shape, after } : { before: null, after: { ...after, id: newId() } };
    });
  });
}

/** Removes vertices of polygons and lines. `distance` is how far the outline may move, in pixels of the image. */
export async function makeSimplifyEdits(shapes: readonly Element[], distance: number): Promise<Edit[]> {
  const tools = await loadPolygonTools();
  return shapes.flatMap((before): Edit[] => {
    const { type, points = [], holes = [], closed = false } = before;
    if (type !== 'polyline' || isLocked(before)) return [];
    const simplifiedPoints = tools.simplify(points, distance, closed);
    const simplifiedHoles = holes.map((hole) => tools.simplify(hole, distance, true));
    const countVertices = (rings: readonly (readonly unknown[])[]) => rings.reduce((sum, ring) => sum + ring.length, 0);
    if (countVertices([simplifiedPoints, ...simplifiedHoles]) === countVertices([points, ...holes])) return [];
    return [{ before, after: { ...before, points: simplifiedPoints, ...(holes.length > 0 && { holes: simplifiedHoles }) } }];
  });
}
