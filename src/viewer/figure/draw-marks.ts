import { forEachMark, fontOf, type MarkColor, type Mark, type Segment } from './figure-marks.js';
import type { Figure } from './compose-figure.js';

/** Draws marks on the picture of a figure. @param isWanted whether a mark is drawn */
export async function drawMarks(
  canvas: HTMLCanvasElement,
  { parts }: Figure,
  signal: AbortSignal,
  isWanted: (mark: Mark) => boolean = () => true,
) {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.lineJoin = context.lineCap = 'round';
  for (const { clip, marks } of parts) {
    context.save();
    context.beginPath();
    context.rect(clip.left, clip.top, clip.right - clip.left, clip.bottom - clip.top);
    context.clip();
    await forEachMark(marks.filter(isWanted), signal, draw);
    context.restore();
  }

  function draw(mark: Mark) {
    if ('path' in mark) {
      const path = new Path2D(mark.path.map(segmentText).join(''));
      if (mark.fill) context.fillStyle = applyColor(mark.fill);
      if (mark.fill) context.fill(path, 'evenodd');
      if (!mark.stroke) return;
      context.strokeStyle = applyColor(mark.stroke);
      context.lineWidth = mark.stroke.width;
      context.stroke(path);
      return;
    }
    const { text, x, y, fontSize, isBold, isCentered, color, halo } = mark;
    context.font = fontOf(fontSize, isBold);
    context.textAlign = isCentered ? 'center' : 'left';
    if (halo) {
      context.strokeStyle = applyColor({ rgb: '#ffffff', alpha: 1 });
      context.lineWidth = halo;
      context.strokeText(text, x, y);
    }
    context.fillStyle = applyColor(color);
    context.fillText(text, x, y);
  }

  /** Sets the opacity. @returns the color for a style of the context */
  function applyColor({ rgb, alpha }: MarkColor) {
    context.globalAlpha = alpha;
    return rgb;
  }
}

/** A segment in the syntax of SVG. */
function segmentText([name, ...numbers]: Segment) {
  return `${name}${numbers.join(' ')}`;
}
