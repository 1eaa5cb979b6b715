import { TileSourceError } from '../../errors.js';

const tags = { width: 0xbc_80, height: 0xbc_81, imageOffset: 0xbc_c0, imageBytes: 0xbc_c1, alphaOffset: 0xbc_c2 };

/** First bytes of a code stream: `WMPHOTO` and a zero. */
const signature = 0x57_4d_50_48_4f_54_4f_00n;
/** Length of the header of a code stream, up to and including the size of the image. */
const codeStreamHeaderBytes = 20;

/**
 * Reads width and height of a JPEG XR file (ITU-T T.832, annex A) from its directory, and checks that the file is complete. The
 * decoder does not check this: it reads missing bytes as zeros, and allocates memory for the size in the code stream.
 *
 * @param what name of the file in messages.
 * @throws TileSourceError if the file is not JPEG XR, is truncated, or has a code stream that is larger than the directory says.
 */
export function readJpegXrSize(bytes: Uint8Array, what: string): { width: number; height: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fail = (): never => {
    throw new TileSourceError(`Truncated or corrupt file: ${what} is not a complete JPEG XR picture.`);
  };
  if (view.byteLength < 8 || view.getUint32(0) >>> 8 !== 0x49_49_bc) fail();
  const directoryOffset = view.getUint32(4, true);
  if (directoryOffset + 2 > view.byteLength) fail();
  const entryCount = view.getUint16(directoryOffset, true);
  if (directoryOffset + 2 + entryCount * 12 > view.byteLength) fail();
  const valueByTag = new Map<number, number>();
  for (let entry = 0; entry < entryCount; entry++) {
    const at = directoryOffset + 2 + entry * 12;
    const type = view.getUint16(at + 2, true);
    const value = type === 3 ? view.getUint16(at + 8, true) : type === 1 ? view.getUint8(at + 8) : view.getUint32(at + 8, true);
    valueByTag.set(view.getUint16(at, true), value);
  }
  const [width, height] = [valueByTag.get(tags.width) ?? 0, valueByTag.get(tags.height) ?? 0];
  const end = (valueByTag.get(tags.imageOffset) ?? Infinity) + (valueByTag.get(tags.imageBytes) ?? Infinity);
  if (width < 1 || height < 1 || end > view.byteLength) fail();
  for (const offset of [valueByTag.get(tags.imageOffset), valueByTag.get(tags.alphaOffset)]) {
    if (offset === undefined || offset === 0) continue;
    const size = codeStreamSize(view, offset);
    if (size === null || size.width > width || size.height > height) fail();
  }
  return { width, height };
}

/** Width and height in the header of a code stream (ITU-T T.832, 8.3); `null` if there is no code stream. */
function codeStreamSize(view: DataView, offset: number): { width: number; height: number } | null {
  if (offset + codeStreamHeaderBytes > view.byteLength || view.getBigUint64(offset) !== signature) return null;
  const hasShortSides = (view.getUint8(offset + 10) & 0x80) !== 0;
  const readSide = (index: 0 | 1) =>
    (hasShortSides ? view.getUint16(offset + 12 + 2 * index) : view.getUint32(offset + 12 + 4 * index)) + 1;
  return { width: readSide(0), height: readSide(1) };
}
