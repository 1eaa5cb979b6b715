import { forEachMark, fontFamily, type MarkColor, type Mark, type Segment } from './figure-marks.js';
import type { Figure } from './compose-figure.js';

/** The figure as SVG, which contains the picture. @param picture a PNG */
export async function svgOf({ width, height, parts }: Figure, picture: Blob, dpi: number, signal: AbortSignal): Promise<Blob> {
  const toMillimeters = (pixels: number) => `${Number(((pixels / dpi) * 25.4).toFixed(3))}mm`;
  const elements: string[] = [];
  for (const [index, { clip, marks }] of parts.entries()) {
    const { left, top, right, bottom } = clip;
    elements.push(
      `<clipPath id="part-${index}"><rect x="${left}" y="${top}" width="${right - left}" height="${bottom - top}"/></clipPath>`,
      `<g clip-path="url(#part-${index})">`,
    );
    await forEachMark(marks, signal, (mark) => elements.push(elementOf(mark)));
    elements.push('</g>');
  }
  return new Blob(
    [
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="${toMillimeters(width)}" height="${toMillimeters(height)}" `,
      `viewBox="0 0 ${width} ${height}">\n<image width="${width}" height="${height}" xlink:href="`,
      await dataUrl(picture),
      '"/>\n',
      elements.join('\n'),
      '\n</svg>\n',
    ],
    { type: 'image/svg+xml' },
  );
}

function elementOf(mark: Mark) {
  if ('path' in mark) {
    const { path, fill, stroke } = mark;
    const fillAttributes = fill ? `${colorAttributes('fill', fill)} fill-rule="evenodd"` : 'fill="none"';
    const strokeAttributes = stroke
      ? ` ${colorAttributes('stroke', stroke)} stroke-width="${shortNumber(stroke.width)}" stroke-linejoin="round" stroke-linecap="round"`
      : '';
    return `<path d="${path.map(segmentText).join('')}" ${fillAttributes}${strokeAttributes}/>`;
  }
  const { x, y, fontSize, isBold, isCentered, halo } = mark;
  const haloAttributes = halo
    ? ` stroke="#ffffff" stroke-width="${shortNumber(halo)}" stroke-linejoin="round" paint-order="stroke"`
    : '';
  const font = `font-family="${fontFamily}" font-size="${shortNumber(fontSize)}"${isBold ? ' font-weight="bold"' : ''}`;
  const anchor = isCentered ? ' text-anchor="middle"' : '';
  return `<text x="${shortNumber(x)}" y="${shortNumber(y)}" ${font}${anchor} ${colorAttributes('fill', mark.color)}${haloAttributes}>${escapeXml(mark.text)}</text>`;
}

function segmentText([name, ...numbers]: Segment) {
  return `${name}${numbers.map(shortNumber).join(' ')}`;
}

function colorAttributes(name: string, { rgb, alpha }: MarkColor) {
  return `${name}="${rgb}"${alpha < 1 ? ` ${name}-opacity="${shortNumber(alpha)}"` : ''}`;
}

function shortNumber(value: number) {
  return String(Number(value.toFixed(3)));
}

/** Escapes a text, and replaces characters that XML does not allow. */
function escapeXml(text: string) {
  const allowedText = text.replaceAll(/\s/g, ' ').replaceAll(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '\ufffd');
  return allowedText.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function dataUrl(blob: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error as DOMException);
    reader.readAsDataURL(blob);
  });
}
