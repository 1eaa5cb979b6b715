declare module 'crc-32/crc32c.js' {
  const crc32c: {
    /** Computes the CRC-32C of bytes, as a signed integer of 32 bits. */
    buf(bytes: Uint8Array): number;
  };
  export default crc32c;
}
