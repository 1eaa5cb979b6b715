import type { TileOptions } from '../../tile-source.js';
import { levelScale, levelSize, type Box } from '../../geometry.js';
import type { Raster } from '../../raster.js';
import { blit } from '../../render/pixels.js';
import type { Point } from './multi-description.js';
import type { MultiMember, Edges } from './placement.js';
import type { Affine } from './warp.js';
import { drawResampled, sampleConversion, type Drawing, type SampleConversion } from './resample.js';

/** The place of a tile in the image, in pixels of full resolution. */
interface Window {
  /** Pixels of full resolution per pixel of the tile. */
  scale: number;
  /** Left edge of the tile. */
  left: number;
  /** Upper edge of the tile. */
  top: number;
  /** Right edge of the image, which may divide pixels of the tile. */
  right: number;
  /** Lower edge of the image, which may divide pixels of the tile. */
  bottom: number;
}

/** A frame of a source that should be drawn. */
interface MemberFrame {
  member: MultiMember;
  frame: number;
  /** Whether the color profile of the source is applied. */
  appliesProfile: boolean;
  /** The image's value of white, if it is not the largest value of its sample type. */
  white: number | undefined;
}

/** Maximum number of pixels of a source that are read for one tile. */
const maxPartPixels = 2 ** 24;
/** Width in pixels of the border that is read around the drawn pixels, because interpolation needs neighbors. */
const margin = 2;
/** Number of samples along each axis that are averaged if a pixel of the tile shows more than one pixel of the source. */
const samplesWhenReduced = 3;
/** Tolerance for rounding errors of ratios and their logarithms. */
const tolerance = 1e-9;

/** The points of a grid over the covered area of the tile, including its edges, in pixels of the image's full resolution. */
function gridPoints({ scale, left, top }: Window, coveredArea: Edges): Point[] {
  const stepCount = 16;
  const points: Point[] = [];
  for (let i = 0; i <= stepCount; i++) {
    for (let j = 0; j <= stepCount; j++) {
      const column = coveredArea.left + ((coveredArea.right - coveredArea.left) * i) / stepCount;
      const row = coveredArea.top + ((coveredArea.bottom - coveredArea.top) * j) / stepCount;
      points.push([left + column * scale, top + row * scale]);
    }
  }
  return points;
}

/**
 * Number of source pixels per pixel of the tile: `min` along the axis with fewer source pixels, `max` along the other axis. A warp
 * is measured in the middle of the area.
 */
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

/**
 * The part of the tile that the source may cover, in pixels of the tile. For a warp, the part is only estimated, so a margin is
 * added.
 */
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
 * Converts a rectangle of the source in full resolution to a rectangle in pixels of a level, and adds a margin. `null` if the
 * result is empty.
 */
function levelBox({ metadata, placement: { crop } }: MultiMember, level: number, visibleArea: Edges): Box | null {
  const scale = levelScale(metadata, level);
  const size = levelSize(metadata, level);
  const spanOf = (from: number, to: number, cropStart: number, cropEnd: number, length: number): [number, number] => {
    // The margin stays within the crop, so that pixels that are cropped off do not bleed in by interpolation.
    const start = Math.max(Math.floor(cropStart / scale), Math.floor(from / scale) - margin);
    return [start, Math.min(length, Math.ceil(cropEnd / scale), Math.ceil(to / scale) + margin) - start];
  };
  const [left, width] = spanOf(visibleArea.left, visibleArea.right, crop.left, crop.right, size.width);
  const [top, height] = spanOf(visibleArea.top, visibleArea.bottom, crop.top, crop.bottom, size.height);
  return width > 0 && height > 0 ? { left, top, width, height } : null;
}

/** Reads the part of a source's frame that a tile shows; `null` if the tile does not show the frame. */
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
  const visibleArea = {
    left: Math.max(placement.crop.left, Math.min(...points.map(([x]) => x))),
    top: Math.max(placement.crop.top, Math.min(...points.map(([, y]) => y))),
    right: Math.min(placement.crop.right, Math.max(...points.map(([x]) => x))),
    bottom: Math.min(placement.crop.bottom, Math.max(...points.map(([, y]) => y))),
  };
  if (!(visibleArea.right > visibleArea.left && visibleArea.bottom > visibleArea.top)) return null;
  const { min, max } = pixelDensity(memberFrame, window, coveredArea);
  const finestLevel = metadata.levels - 1;
  const halvings = Math.floor(Math.log2(min) + tolerance);
  let level = finestLevel - Math.max(0, halvings);
  let box = levelBox(member, level, visibleArea);
  while (box !== null && box.width * box.height > maxPartPixels) box = levelBox(member, --level, visibleArea);
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

/**
 * Rounds the right or lower edge of the crop to whole pixels. `end` is the edge of the image. A pixel that the crop's edge divides
 * is included if the crop covers at least half of the pixel's part inside the image.
 */
function roundCropEdge(edge: number, end: number): number {
  const wholePixels = Math.floor(edge);
  const fraction = edge - wholePixels;
  return fraction > 0 && fraction * 2 >= Math.min(1, end - wholePixels) ? wholePixels + 1 : wholePixels;
}

function isIdentity({ divisor, offset }: SampleConversion): boolean {
  return divisor === 1 && offset === 0;
}

/**
 * Draws the result of {@link readDrawing} on a tile. Pixels are copied if the pixels of source and tile coincide, and interpolated
 * otherwise.
 */
export async function paint(target: Raster, drawing: Drawing, signal?: AbortSignal): Promise<void> {
  const { part, affine, crop, scale, coveredArea, conversion } = drawing;
  const { raster } = part;
  const haveSameSamples = raster.dtype === target.dtype && raster.bands === target.bands && raster.bands % 2 === 1;
  if (affine !== null && haveSameSamples && isIdentity(conversion)) {
    const factor = scale / part.scale;
    const isTranslation = affine.a * factor === 1 && affine.d * factor === 1 && affine.b === 0 && affine.c === 0;
    const [x, y] = [(affine.a * drawing.left + affine.x) / part.scale, (affine.d * drawing.top + affine.y) / part.scale];
    const edges = [crop.left, crop.top, crop.right, crop.bottom].map((edge) => edge / part.scale);
    const isAligned = [x, y, edges[0]!, edges[1]!].every((value) => Number.isInteger(value));
    if (isTranslation && isAligned) {
      const [endX, endY] = [
        (affine.a * drawing.right + affine.x) / part.scale,
        (affine.d * drawing.bottom + affine.y) / part.scale,
      ];
      // The rectangle of the tile that is drawn.
      const left = Math.max(coveredArea.left, edges[0]! - x);
      const top = Math.max(coveredArea.top, edges[1]! - y);
      const right = Math.min(coveredArea.right, roundCropEdge(edges[2]!, endX) - x, part.left + raster.width - x);
      const bottom = Math.min(coveredArea.bottom, roundCropEdge(edges[3]!, endY) - y, part.top + raster.height - y);
      const sourceBox = { left: left + x - part.left, top: top + y - part.top, width: right - left, height: bottom - top };
      if (sourceBox.width > 0 && sourceBox.height > 0 && sourceBox.left >= 0 && sourceBox.top >= 0) {
        blit(target, raster, { left, top }, sourceBox);
        return;
      }
    }
  }
  await drawResampled(target, drawing, affine === null, signal);
}
