import { tryParseColor } from '../color.js';
import type { RequestOf } from '../picture-parameters.js';
import { automaticShare, channelColors, usualColor } from '../style/usual-colors.js';
import type { ImageMetadata } from '../tile-source.js';

/**
 * How an image with several channels is shown as a mixture of the first ones, at the middle of its z planes. An image without channels is shown
 * as it is.
 */
export function compositeOf({ frames = [], channels, bandCount }: ImageMetadata): RequestOf<'frame' | 'style'> {
  const depth = sizeOf(frames, 'Z');
  const middle = frames.findIndex(({ axes }) =>
    Object.entries(axes).every(([axis, at]) => at === (axis === 'Z' ? (depth - 1) >> 1 : 0)),
  );
  const frame = middle > 0 ? { frame: middle } : {};
  const count = sizeOf(frames, 'C');
  if (count < 2 || bandCount > 2) return frame;
  const bands = Array.from({ length: Math.min(count, channelColors.length) }, (_, channel) => {
    const framedelta = frames.findIndex(({ axes }) =>
      Object.entries(axes).every(([axis, at]) => at === (axis === 'C' ? channel : 0)),
    );
    const { color, channel: name = channels?.[channel] } = frames[framedelta] ?? {};
    const fileColor = color !== undefined && tryParseColor(color) !== null ? color : null;
    const palette = fileColor ?? (name === undefined ? null : usualColor(name)) ?? channelColors[channel];
    return { framedelta, palette, min: `min:${automaticShare}`, max: `max:${automaticShare}` };
  });
  // Files may leave out channels.
  return { ...frame, style: JSON.stringify({ bands: bands.filter(({ framedelta }) => framedelta >= 0) }) };
}

/** Number of positions on an axis. */
function sizeOf(frames: NonNullable<ImageMetadata['frames']>, axis: string) {
  let size = 1;
  for (const { axes } of frames) size = Math.max(size, (axes[axis] ?? 0) + 1);
  return size;
}
