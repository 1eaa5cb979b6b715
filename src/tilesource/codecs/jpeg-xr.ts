import { TileSourceError } from '../../errors.js';

const tags = { width: 0xbc_80, height: 0xbc_81, imageOffset: 0xbc_c0, imageBytes: 0xbc_c1 };

/**
 * Width and height of a JPEG XR file (ITU-T T.832, annex A), after a look at its directory: the decoder takes what is missing of a file
 * that is cut short for zeros.
 *
 * @throws TileSourceError where it is none, or ends before its picture does.
 */
export function jpegXrSize(bytes: Uint8Array, what: string): { width: number; height: number } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fail = (): never => {
    throw new TileSourceError(`Truncated or corrupt file: ${what} is no whole JPEG XR picture.`);
  };
  if (view.byteLength < 8 || view.getUint32(0) >>> 8 !== 0x49_49_bc) fail();
  const directory = view.getUint32(4, true);
  if (directory + 2 > view.byteLength) fail();
  const count = view.getUint16(directory, true);
  if (directory + 2 + count * 12 > view.byteLength) fail();
  const values = new Map<number, number>();
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    const type = view.getUint16(at + 2, true);
    const value = type === 3 ? view.getUint16(at + 8, true) : type === 1 ? view.getUint8(at + 8) : view.getUint32(at + 8, true);
    values.set(view.getUint16(at, true), value);
  }
  const [width, height] = [values.get(tags.width) ?? 0, values.get(tags.height) ?? 0];
  const end = (values.get(tags.imageOffset) ?? Infinity) + (values.get(tags.imageBytes) ?? Infinity);
  if (width < 1 || height < 1 || end > view.byteLength) fail();
  return { width, height };
}
