const magic = 0xfd_2f_b5_28;

/**
 * Decoded size in bytes that a Zstandard frame declares (RFC 8878, section 3.1.1.1); `null` if it declares none.
 *
 * @throws Error if the bytes are not a Zstandard frame.
 */
export function zstdContentSize(bytes: Uint8Array): number | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 6 || view.getUint32(0, true) !== magic) throw new Error('no Zstandard frame');
  const descriptor = view.getUint8(4);
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const sizeOffset = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes;
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  if (sizeOffset + sizeBytes > bytes.length) throw new Error('a Zstandard frame that is cut short');
  if (sizeBytes === 0) return null;
  if (sizeBytes === 1) return view.getUint8(sizeOffset);
  if (sizeBytes === 2) return view.getUint16(sizeOffset, true) + 256;
  return sizeBytes === 4 ? view.getUint32(sizeOffset, true) : Number(view.getBigUint64(sizeOffset, true));
}
