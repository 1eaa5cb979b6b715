/** Id of the section of a WebAssembly module that describes its memory. */
const memorySection = 5;

/** Size of a page of WebAssembly memory in bytes. */
const pageBytes = 2 ** 16;

/** Reads an unsigned number in LEB128 (seven bits in each byte). Returns the number, and the position after its bytes. */
function readNumber(bytes: Uint8Array, from: number): [value: number, end: number] {
  for (let at = from, value = 0, factor = 1; at < bytes.length; at += 1, factor *= 128) {
    const byte = bytes[at]!;
    value += (byte & 127) * factor;
    if (byte < 128) return [value, at + 1];
  }
  throw new Error('The WebAssembly module is damaged.');
}

function encodeNumber(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...encodeNumber(Math.floor(value / 128))];
}

/**
 * Limits the memory of a WebAssembly module to `maxBytes`, so that decoding a file that needs more fails instead of exhausting the
 * server.
 *
 * @param module a module that defines its memory, and does not import it.
 */
export function limitWasmMemory(module: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> {
  for (let at = 8; at < module.length;) {
    const [size, bodyOffset] = readNumber(module, at + 1);
    if (module[at] === memorySection) {
      const [, flagsOffset] = readNumber(module, bodyOffset);
      const [minPages] = readNumber(module, flagsOffset + 1);
      const content = [1, 1, ...encodeNumber(minPages), ...encodeNumber(Math.max(minPages, Math.floor(maxBytes / pageBytes)))];
      const section = Uint8Array.of(memorySection, ...encodeNumber(content.length), ...content);
      return Uint8Array.from(Buffer.concat([module.subarray(0, at), section, module.subarray(bodyOffset + size)]));
    }
    at = bodyOffset + size;
  }
  throw new Error('The WebAssembly module has no memory.');
}
