import crc32c from 'crc-32/crc32c.js';

/** Returns the bytes without the CRC-32C at their end; `null` if the CRC-32C does not match. */
export function removeChecksum(bytes: Uint8Array): Uint8Array | null {
  const end = bytes.length - 4;
  if (end < 0) return null;
  const data = bytes.subarray(0, end);
  const storedChecksum = new DataView(bytes.buffer, bytes.byteOffset).getInt32(end, true);
  return crc32c.buf(data) === storedChecksum ? data : null;
}
