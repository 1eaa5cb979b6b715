import { deflate, readRows } from './figure-files.js';
import { forEachMark, widthOf, type MarkColor, type Mark, type Segment, type TextMark } from './figure-marks.js';
import type { Figure } from './compose-figure.js';

/** The characters with the codes 0x80 to 0x9f in PDF files, in this order. A space stands for an unused code. */
const specialCharacters = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

/** The codes of a text; `null` if one of its characters is missing from the standard fonts of PDF. */
function encodeText(text: string): number[] | null {
  const codes = Array.from(text.replaceAll(/[\u2009\u202f]/g, ' ')).map((letter) => {
    const code = letter.codePointAt(0) as number;
    if ((code >= 0x20 && code < 0x7f) || (code >= 0xa0 && code <= 0xff)) return code;
    return specialCharacters.includes(letter) ? 0x80 + specialCharacters.indexOf(letter) : -1;
  });
  return codes.includes(-1) ? null : codes;
}

/** Whether a PDF can contain a mark as vectors. Texts that the PDF cannot contain must be drawn on its picture. */
export function isWritableInPdf(mark: Mark) {
  return 'path' in mark || encodeText(mark.text) !== null;
}

/** The figure as a PDF of one page: the canvas as its picture, and the marks as vectors. */
export async function pdfOf(figure: Figure, canvas: HTMLCanvasElement, dpi: number, signal: AbortSignal): Promise<Blob> {
  const { width, height, parts } = figure;
  const pointsPerPixel = 72 / dpi;
  const opacityPercents = new Set<number>();
  const content = [
    `${shortNumber(pointsPerPixel)} 0 0 ${shortNumber(-pointsPerPixel)} 0 ${shortNumber(height * pointsPerPixel)} cm 1 j 1 J`,
    `q ${width} 0 0 ${-height} 0 ${height} cm /Picture Do Q`,
  ];
  for (const {
    clip: { left, top, right, bottom },
    marks,
  } of parts) {
    content.push(`q ${shortNumber(left)} ${shortNumber(top)} ${shortNumber(right - left)} ${shortNumber(bottom - top)} re W n`);
    await forEachMark(marks.filter(isWritableInPdf), signal, (mark) =>
      content.push('path' in mark ? pathOperators(mark) : textOperators(mark)),
    );
    content.push('Q');
  }
  const opacityStates = [...opacityPercents]
    .map((percent) => `/A${percent} << /ca ${percent / 100} /CA ${percent / 100} >>`)
    .join(' ');
  const picture = await deflate(readRows(canvas, signal));
  const contentStream = await deflate([new TextEncoder().encode(content.join('\n'))]);
  const font = (name: string) => `<< /Type /Font /Subtype /Type1 /BaseFont /${name} /Encoding /WinAnsiEncoding >>`;
  const resources = `/XObject << /Picture 5 0 R >> /ExtGState << ${opacityStates} >> /Font << /Helvetica 6 0 R /Helvetica-Bold 7 0 R >>`;
  return assembleFile([
    ['<< /Type /Catalog /Pages 2 0 R >>'],
    ['<< /Type /Pages /Kids [3 0 R] /Count 1 >>'],
    [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${shortNumber(width * pointsPerPixel)} ${shortNumber(height * pointsPerPixel)}] /Resources << ${resources} >> /Contents 4 0 R >>`,
    ],
    streamObject('', contentStream),
    streamObject(
      `/Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB /BitsPerComponent 8 `,
      picture,
    ),
    // Poppler reports an error if fonts are not separate objects.
    [font('Helvetica')],
    [font('Helvetica-Bold')],
  ]);

  function colorOperators({ rgb, alpha }: MarkColor, operator: 'rg' | 'RG') {
    const percent = Math.round(alpha * 100);
    opacityPercents.add(percent);
    const components = [1, 3, 5].map((start) => shortNumber(Number.parseInt(rgb.slice(start, start + 2), 16) / 255));
    return `/A${percent} gs ${components.join(' ')} ${operator}`;
  }

  function pathOperators({ path, fill, stroke }: Exclude<Mark, TextMark>) {
    const outline = path.map(segmentOperator).join(' ');
    const fillOperators = fill ? [colorOperators(fill, 'rg'), outline, 'f*'] : [];
    const strokeOperators = stroke ? [colorOperators(stroke, 'RG'), `${shortNumber(stroke.width)} w`, outline, 'S'] : [];
    return [...fillOperators, ...strokeOperators].join(' ');
  }

  function textOperators({ text, x, y, fontSize, isBold, isCentered, color, halo }: TextMark) {
    const left = isCentered ? x - widthOf(text, fontSize, isBold) / 2 : x;
    const letters = (encodeText(text) as number[]).map((code) => code.toString(16).padStart(2, '0')).join('');
    const textState = `/Helvetica${isBold ? '-Bold' : ''} ${shortNumber(fontSize)} Tf 1 0 0 -1 ${shortNumber(left)} ${shortNumber(y)} Tm`;
    const haloOperators = halo
      ? `${colorOperators({ rgb: '#ffffff', alpha: 1 }, 'RG')} ${shortNumber(halo)} w BT 1 Tr ${textState} <${letters}> Tj ET `
      : '';
    return `${haloOperators}${colorOperators(color, 'rg')} BT 0 Tr ${textState} <${letters}> Tj ET`;
  }
}

const operators = { M: 'm', L: 'l', C: 'c', Z: 'h' } as const;

function segmentOperator([name, ...numbers]: Segment) {
  return [...numbers.map(shortNumber), operators[name]].join(' ');
}

function shortNumber(value: number) {
  return String(Number(value.toFixed(3)));
}

function streamObject(entries: string, data: Blob) {
  return [`<< ${entries}/Filter /FlateDecode /Length ${data.size} >>\nstream\n`, data, '\nendstream'];
}

/** A PDF file with these objects. The first object must be the catalog. */
function assembleFile(objects: (string | Blob)[][]) {
  const parts: (string | Blob)[] = ['%PDF-1.4\n'];
  let length = (parts[0] as string).length;
  const xrefEntries = objects.map((object, index) => {
    const offset = length;
    const pieces = [`${index + 1} 0 obj\n`, ...object, '\nendobj\n'];
    parts.push(...pieces);
    for (const part of pieces) length += typeof part === 'string' ? part.length : part.size;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const count = objects.length + 1;
  parts.push(
    `xref\n0 ${count}\n0000000000 65535 f \n${xrefEntries.join('')}`,
    `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${length}\n%%EOF\n`,
  );
  return new Blob(parts, { type: 'application/pdf' });
}
