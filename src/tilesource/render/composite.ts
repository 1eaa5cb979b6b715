import { tryParseColor } from '../color.js';
import type { RequestOf } from '../picture-parameters.js';
import { automaticShare, channelColors, usualColor } from '../style/usual-colors.js';
import type { ImageMetadata } from '../tile-source.js';

/**
 * The frame and style that show an image with several channels as a mixture of its first channels, at the middle z plane. An image
 * without several channels gets no style.
 */
export function compositeRequest({ frames = [], channels, bandCount }: ImageMetadata): RequestOf<'frame' | 'style'> {
  const depth = axisLength(frames, 'Z');
  const middleFrame = frames.findIndex(({ axes }) =>
    Object.entries(axes).every(([axis, at]) => at === (axis === 'Z' ? (depth - 1) >> 1 : 0)),
  );
  const frame = middleFrame > 0 ? { frame: middleFrame } : {};
  const channelCount = axisLength(frames, 'C');
  if (channelCount < 2 || bandCount > 2) return frame;
  const bands = Array.from({ length: Math.min(channelCount, channelColors.length) }, (_, channel) => {
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
function axisLength(frames: NonNullable<ImageMetadata['frames']>, axis: string) {
  let size = 1;
  for (const { axes } of frames) size = Math.max(size, (axes[axis] ?? 0) + 1);
  return size;
}
