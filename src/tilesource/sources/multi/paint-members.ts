import type { TileOptions } from '../../tile-source.js';
import { levelScale, levelSize, type Box } from '../../geometry.js';
import type { Raster } from '../../raster.js';
import { blit } from '../../render/pixels.js';
import type { Point } from './multi-description.js';
import type { MultiMember, Edges } from './placement.js';
import type { Affine } from './warp.js';
import { drawResampled, sampleConversion, type Drawing, type SampleConversion } from './resample.js';

/** The rectangle of a tile: its upper left corner in pixels of full resolution, and its scale, the number of these pixels per pixel of the tile. */
interface Window {
  scale: number;
  left: number;
  top: number;
  /** The right and lower edge of the image. Pixels of the tile that cross them are shown only in part. */
  right: number;
  bottom: number;
}

/** A frame of a source that should be drawn. */
interface MemberFrame {
  member: MultiMember;
  frame: number;
  /** Whether the color profile of the source is applied. */
  appliesProfile: boolean;
  /** The sample of the image that is shown as white, if it is not the largest of its type. */
  white: number | undefined;
}

/** Maximum number of pixels of a source that are read for one tile. */
const maxPartPixels = 2 ** 24;
/** Width in pixels of the border that is read around the drawn pixels, because interpolation needs neighbors. */
const margin = 2;
/** Samples along each axis that are averaged for a pixel of the tile when it shows more than one pixel of the source. */
const samplesWhenReduced = 3;
/** Tolerance for rounding errors of ratios and their logarithms. */
const tolerance = 1e-9;

/** The points of a grid over a part of the tile, including its edges, in pixels of full resolution. */
function gridPoints({ scale, left, top }: Window, coveredArea: Edges): Point[] {
  const steps = 16;
  const points: Point[] = [];
  for (let i = 0; i <= steps; i++) {
    for (let j = 0; j <= steps; j++) {
      const column = coveredArea.left + ((coveredArea.right - coveredArea.left) * i) / steps;
      const row = coveredArea.top + ((coveredArea.bottom - coveredArea.top) * j) / steps;
      points.push([left + column * scale, top + row * scale]);
    }
  }
  return points;
}

/** Pixels of the source per pixel of the tile: the smaller and the larger number of both axes. A warp is measured at the middle of the part. */
function pixelDensity({ member: { placement } }: MemberFrame, window: Window, coveredArea: Edges): { min: number; max: number } {
  const { scale, left, top } = window;
  const scalesOf = ({ a, b, c, d }: Affine): number[] => [Math.hypot(a, c) * scale, Math.hypot(b, d) * scale];
  if (placement.affineToSource !== null) {
    const [x, y] = scalesOf(placement.affineToSource);
    return { min: Math.min(x!, y!), max: Math.max(x!, y!) };
  }
  const sourcePointAt = (column: number, row: number): Point => placement.toSource([left + column * scale, top + row * scale]);
  const middle: Point = [(coveredArea.left + coveredArea.right) / 2, (coveredArea.top + coveredArea.bottom) / 2];
  const [origin, right, below] = [
    sourcePointAt(...middle),
    sourcePointAt(middle[0] + 1, middle[1]),
    sourcePointAt(middle[0], middle[1] + 1),
  ];
  const distance = (p: Point, q: Point): number => Math.max(1e-6, Math.hypot(p[0] - q[0], p[1] - q[1]));
  const [x, y] = [distance(origin, right), distance(origin, below)];
  return { min: Math.min(x, y), max: Math.max(x, y) };
}

/** The part of the tile that the source may cover, in pixels of the tile. For a warp this is an estimate, which gets a margin. */
function coveredAreaOf({ member: { placement } }: MemberFrame, window: Window, { width, height }: Raster): Edges {
  const { scale, left, top } = window;
  const slack = placement.affineToSource === null ? margin : 0;
  return {
    left: Math.max(0, Math.floor((placement.box.left - left) / scale) - slack),
    top: Math.max(0, Math.floor((placement.box.top - top) / scale) - slack),
    right: Math.min(width, Math.ceil((placement.box.right - left) / scale) + slack),
    bottom: Math.min(height, Math.ceil((placement.box.bottom - top) / scale) + slack),
  };
}

/**
 * The rectangle of a level of the source, in pixels of that level, for a rectangle of full resolution, with a margin; `null` if it
 * is empty.
 */
function levelBox({ metadata, placement: { crop } }: MultiMember, level: number, visible: Edges): Box | null {
  const scale = levelScale(metadata, level);
  const size = levelSize(metadata, level);
  const spanOf = (from: number, to: number, first: number, last: number, length: number): [number, number] => {
    // The margin stays within the crop, so that pixels that are cropped off do not bleed in by interpolation.
    const start = Math.max(Math.floor(first / scale), Math.floor(from / scale) - margin);
    return [start, Math.min(length, Math.ceil(last / scale), Math.ceil(to / scale) + margin) - start];
  };
  const [left, width] = spanOf(visible.left, visible.right, crop.left, crop.right, size.width);
  const [top, height] = spanOf(visible.top, visible.bottom, crop.top, crop.bottom, size.height);
  return width > 0 && height > 0 ? { left, top, width, height } : null;
}

/** Reads the part of a frame of a source that a tile shows; `null` if the tile shows nothing of it. */
export async function readDrawing(
  target: Raster,
  window: Window,
  memberFrame: MemberFrame,
  { signal, corrupt }: Pick<TileOptions, 'corrupt' | 'signal'>,
): Promise<Drawing | null> {
  const { member, frame, appliesProfile } = memberFrame;
  const { metadata, placement, entry, file } = member;
  const coveredArea = coveredAreaOf(memberFrame, window, target);
  if (coveredArea.right <= coveredArea.left || coveredArea.bottom <= coveredArea.top) return null;
  const points = gridPoints(window, coveredArea).map(placement.toSource);
  const visible = {
    left: Math.max(placement.crop.left, Math.min(...points.map(([x]) => x))),
    top: Math.max(placement.crop.top, Math.min(...points.map(([, y]) => y))),
    right: Math.min(placement.crop.right, Math.max(...points.map(([x]) => x))),
    bottom: Math.min(placement.crop.bottom, Math.max(...points.map(([, y]) => y))),
  };
  if (!(visible.right > visible.left && visible.bottom > visible.top)) return null;
  const { min, max } = pixelDensity(memberFrame, window, coveredArea);
  const finestLevel = metadata.levels - 1;
  const power = Math.floor(Math.log2(min) + tolerance);
  let level = finestLevel - Math.max(0, power);
  let box = levelBox(member, level, visible);
  while (box !== null && box.width * box.height > maxPartPixels) box = levelBox(member, --level, visible);
  if (box === null) return null;
  const request = { level, frame, box, corrupt };
  const raster = await file.borrow(
    (image) => {
      if (entry.style !== undefined) return image.styled(request, entry.style, signal);
      return appliesProfile ? image.styled(request, { icc: true }, signal) : image.samples(request, signal);
    },
    { signal, ...(entry.sourceName !== undefined && { sourceName: entry.sourceName }) },
  );
  const scale = levelScale(metadata, level);
  return {
    part: { raster, left: box.left, top: box.top, scale },
    toSource: placement.toSource,
    affine: placement.affineToSource,
    crop: placement.crop,
    ...window,
    coveredArea,
    samplesPerAxis: max / scale > 1 + tolerance ? samplesWhenReduced : 1,
    conversion: sampleConversion(
      { dtype: raster.dtype, white: metadata.white },
      { dtype: target.dtype, white: memberFrame.white },
      entry,
    ),
  };
}

/** The end of the pixels to draw. A pixel that the edge of the crop divides is drawn if the crop covers at least half of it, not counting what is outside the image. */
function shownEnd(edge: number, end: number): number {
  const whole = Math.floor(edge);
  const fraction = edge - whole;
  return fraction > 0 && fraction * 2 >= Math.min(1, end - whole) ? whole + 1 : whole;
}

function changesNothing({ divisor, offset }: SampleConversion): boolean {
  return divisor === 1 && offset === 0;
}

/** Draws the part that was read on the tile. Pixels are copied when those of source and tile coincide, and otherwise interpolated. */
export async function paint(target: Raster, drawing: Drawing, signal?: AbortSignal): Promise<void> {
  const { part, affine, crop, scale, coveredArea, conversion } = drawing;
  const { raster } = part;
  const haveSameSamples = raster.dtype === target.dtype && raster.bands === target.bands && raster.bands % 2 === 1;
  if (affine !== null && haveSameSamples && changesNothing(conversion)) {
    const factor = scale / part.scale;
    const isStraight = affine.a * factor === 1 && affine.d * factor === 1 && affine.b === 0 && affine.c === 0;
    const [x, y] = [(affine.a * drawing.left + affine.x) / part.scale, (affine.d * drawing.top + affine.y) / part.scale];
    const edges = [crop.left, crop.top, crop.right, crop.bottom].map((edge) => edge / part.scale);
    const isAligned = [x, y, edges[0]!, edges[1]!].every((value) => Number.isInteger(value));
    if (isStraight && isAligned) {
      const [endX, endY] = [
        (affine.a * drawing.right + affine.x) / part.scale,
        (affine.d * drawing.bottom + affine.y) / part.scale,
      ];
      // The rectangle of the tile that is drawn.
      const left = Math.max(coveredArea.left, edges[0]! - x);
      const top = Math.max(coveredArea.top, edges[1]! - y);
      const right = Math.min(coveredArea.right, shownEnd(edges[2]!, endX) - x, part.left + raster.width - x);
      const bottom = Math.min(coveredArea.bottom, shownEnd(edges[3]!, endY) - y, part.top + raster.height - y);
      const from = { left: left + x - part.left, top: top + y - part.top, width: right - left, height: bottom - top };
      if (from.width > 0 && from.height > 0 && from.left >= 0 && from.top >= 0) {
        blit(target, raster, { left, top }, from);
        return;
      }
    }
  }
  await drawResampled(target, drawing, affine === null, signal);
}
