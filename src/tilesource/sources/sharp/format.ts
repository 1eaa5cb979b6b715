/** Formats that the source hands to libvips. */
export type FileFormat = 'jpeg' | 'png' | 'gif' | 'webp' | 'tiff' | 'avif' | 'svg';

/** Beginnings of files as text of one byte per character. */
const beginnings: readonly [start: string, format: FileFormat][] = [
  ['\xff\xd8\xff', 'jpeg'],
  ['\x89PNG\r\n\x1a\n', 'png'],
  ['GIF87a', 'gif'],
  ['GIF89a', 'gif'],
  ['II*\0', 'tiff'],
  ['MM\0*', 'tiff'],
  ['II+\0', 'tiff'],
  ['MM\0+', 'tiff'],
];

/** The format that the first bytes (some thousand of them) of a file show, whatever it is called; `null` for others. */
export function recognizeFormat(head: Uint8Array): FileFormat | null {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString('latin1');
  const known = beginnings.find(([start]) => text.startsWith(start));
  if (known) return known[1];
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'webp';
  // Brands of an ISO container: major at 8, compatible ones from 16.
  if (text.startsWith('ftyp', 4) && /avi[fs]/.test(text.slice(8, 64))) return 'avif';
  const isMarkup = /^(?:\xef\xbb\xbf)?\s*</.test(text);
  return isMarkup && /<(?:[\w-]+:)?svg[\s>/]/.test(text) ? 'svg' : null;
}

/** Beginnings of pictures that nothing here reads. */
const foreignBeginnings: readonly [start: string, name: string][] = [
  ['8BPS\0', 'Photoshop'],
  ['\x76\x2f\x31\x01', 'OpenEXR'],
];

/** Name of a format that nothing here reads, by the first bytes of a file; `null` where it is another. */
export function foreignFormat(head: Uint8Array): string | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(16, head.byteLength)).toString('latin1');
  return foreignBeginnings.find(([start]) => text.startsWith(start))?.[1] ?? null;
}
