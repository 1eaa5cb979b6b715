import { forEachRange } from '../../core/concurrency/slices.js';
import type { ImageMetadata } from '../tile-source.js';

/** Number of frames that are examined between two checks of the time. */
const framesPerCheck = 16_384;

/**
 * Finds the frames that have the same position as `frame` on every axis except `axis`, including `frame` itself. The frames are in
 * ascending order, each with its position on `axis`.
 */
export async function framesAlong(
  { frames = [] }: ImageMetadata,
  frame: number,
  axis: string,
  signal?: AbortSignal,
): Promise<{ frame: number; position: number }[]> {
  const { [axis]: _position, ...otherPositions } = frames[frame]?.axes ?? {};
  const otherAxes = Object.keys(otherPositions);
  const positions: { frame: number; position: number }[] = [];
  await forEachRange(
    frames.length,
    framesPerCheck,
    (from, to) => {
      for (let number = from; number < to; number += 1) {
        const { axes } = frames[number]!;
        const isSame = otherAxes.every((name) => axes[name] === otherPositions[name]);
        if (isSame && Object.keys(axes).every((name) => name === axis || otherPositions[name] !== undefined)) {
          positions.push({ frame: number, position: axes[axis] ?? 0 });
        }
      }
    },
    signal,
  );
  return positions;
}
