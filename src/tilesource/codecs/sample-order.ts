/** How a decoding thread rearranges decompressed bytes to samples. */
export interface SampleOrder {
  /** Whether the low bytes of all 16-bit samples precede all high bytes. */
  hiLo?: boolean;
  /** Set if the samples of a pixel are stored blue first. A fourth sample is dropped. */
  blueFirst?: { samplesPerPixel: 3 | 4; sampleBytes: 1 | 2 | 4 };
}

type Elements = Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer>;

/** A view of the bytes as samples of `sampleBytes` bytes each. */
function elementsOf(bytes: Uint8Array<ArrayBuffer>, sampleBytes: 1 | 2 | 4): Elements {
  if (sampleBytes === 1) return bytes;
  const length = Math.floor(bytes.length / sampleBytes);
  const alignedBytes = bytes.byteOffset % sampleBytes === 0 ? bytes : bytes.slice();
  return sampleBytes === 2
    ? new Uint16Array(alignedBytes.buffer, alignedBytes.byteOffset, length)
    : new Uint32Array(alignedBytes.buffer, alignedBytes.byteOffset, length);
}

/** Joins low and high bytes to 16-bit samples. */
function unpackHiLo(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const half = bytes.length >> 1;
  const pairedBytes = new Uint8Array(half * 2);
  for (let i = 0; i < half; i++) {
    pairedBytes[2 * i] = bytes[i]!;
    pairedBytes[2 * i + 1] = bytes[half + i]!;
  }
  return pairedBytes;
}

/** Reorders samples to red, green, blue, in the same buffer. A fourth sample is dropped. */
function putRedFirst(elements: Elements, samplesPerPixel: 3 | 4): Uint8Array<ArrayBuffer> {
  const pixelCount = Math.floor(elements.length / samplesPerPixel);
  for (let i = 0, from = 0, to = 0; i < pixelCount; i++, from += samplesPerPixel, to += 3) {
    const [blue, green, red] = [elements[from]!, elements[from + 1]!, elements[from + 2]!];
    elements[to] = red;
    elements[to + 1] = green;
    elements[to + 2] = blue;
  }
  return new Uint8Array(elements.buffer, elements.byteOffset, pixelCount * 3 * elements.BYTES_PER_ELEMENT);
}

/** Rearranges decompressed bytes to interleaved samples, red first. May change `bytes`. */
export function orderSamples(bytes: Uint8Array<ArrayBuffer>, { hiLo, blueFirst }: SampleOrder): Uint8Array<ArrayBuffer> {
  const pairedBytes = hiLo === true ? unpackHiLo(bytes) : bytes;
  return blueFirst === undefined
    ? pairedBytes
    : putRedFirst(elementsOf(pairedBytes, blueFirst.sampleBytes), blueFirst.samplesPerPixel);
}
