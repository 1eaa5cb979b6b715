import { recognizeFormat } from './sources/sharp/format.js';

/** The mime type that the first bytes of a picture show; `null` where they show none. */
export function recognizeType(bytes: Uint8Array): string | null {
  const format = recognizeFormat(bytes.subarray(0, 4096));
  if (format === null) return null;
  return format === 'svg' ? 'image/svg+xml' : `image/${format}`;
}
