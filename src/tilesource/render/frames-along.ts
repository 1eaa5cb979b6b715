import { forEachRange } from '../../core/concurrency/slices.js';
import type { ImageMetadata } from '../tile-source.js';

/** Number of examined frames between two checks of the time. */
const framesAtOnce = 16_384;

/**
 * The frames that differ from a frame at most in this axis, including the frame itself, in ascending order, each with its position
 * on the axis.
 */
export async function framesAlong(
  { frames = [] }: ImageMetadata,
  frame: number,
  axis: string,
  signal?: AbortSignal,
): Promise<{ frame: number; position: number }[]> {
  const { [axis]: _place, ...others } = frames[frame]?.axes ?? {};
  const names = Object.keys(others);
  const positions: { frame: number; position: number }[] = [];
  await forEachRange(
    frames.length,
    framesAtOnce,
    (from, to) => {
      for (let number = from; number < to; number += 1) {
        const { axes } = frames[number]!;
        const isSame = names.every((name) => axes[name] === others[name]);
        if (isSame && Object.keys(axes).every((name) => name === axis || others[name] !== undefined)) {
          positions.push({ frame: number, position: axes[axis] ?? 0 });
        }
      }
    },
    signal,
  );
  return positions;
}
