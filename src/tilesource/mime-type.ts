import { recognizeFormat } from './sources/sharp/format.js';

/** The mime type according to the first bytes of a picture; `null` if it is unknown. */
export function recognizeMimeType(bytes: Uint8Array): string | null {
  const format = recognizeFormat(bytes.subarray(0, 4096));
  if (format === null) return null;
  return format === 'svg' ? 'image/svg+xml' : `image/${format}`;
}
