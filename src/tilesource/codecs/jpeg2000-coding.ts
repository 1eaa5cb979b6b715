import { bufferOf } from '../../core/buffer-of.js';

/** How the components of a JPEG 2000 code stream are transformed. */
export interface Jpeg2000Coding {
  /** Whether a color transform combined the first three components, as for red, green and blue. */
  hasColorTransform: boolean;
  /** Whether the wavelet transform is reversible, and therefore without loss. */
  isReversible: boolean;
}

/** Reads the COD marker segment (ISO 15444-1 A.6.1) of the main header; `null` if there is none. */
export function readJpeg2000Coding(bytes: Uint8Array): Jpeg2000Coding | null {
  const view = bufferOf(bytes);
  const start = view.indexOf(Buffer.from([0xff, 0x4f, 0xff, 0x51]));
  if (start < 0) return null;
  for (let at = start + 2; at + 4 <= view.length;) {
    const marker = view.readUInt16BE(at);
    // The main header ends with the first tile-part.
    if (marker === 0xff_90 || marker < 0xff_00) return null;
    if (marker === 0xff_52) {
      return at + 14 <= view.length ? { hasColorTransform: view[at + 8] === 1, isReversible: view[at + 13] === 1 } : null;
    }
    at += 2 + view.readUInt16BE(at + 2);
  }
  return null;
}
