import { recognizeFormat } from './sources/sharp/format.js';

/** Recognizes the mime type of a picture by its first bytes; `null` if the type is unknown. */
export function recognizeMimeType(bytes: Uint8Array): string | null {
  const format = recognizeFormat(bytes.subarray(0, 4096));
  if (format === null) return null;
  return format === 'svg' ? 'image/svg+xml' : `image/${format}`;
}
