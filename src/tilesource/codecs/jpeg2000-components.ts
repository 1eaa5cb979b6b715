import { bufferOf } from '../../core/buffer-of.js';

/** How components are grouped for decoding, by their number, if the library cannot decode all of them at once. */
const componentGroupsByCount: Readonly<Record<number, readonly (readonly number[])[]>> = { 2: [[0], [1]], 4: [[0, 1, 2], [3]] };

/** Offset in a code stream of the number of components. The description of the first component follows it. */
const componentCountOffset = 40;

/**
 * Wraps a code stream in JP2 files, each of which selects one or three components, because the library decodes no other number.
 * Returns `null` if the code stream can be decoded unchanged.
 */
export function selectComponents(codeStream: Uint8Array): { components: readonly number[]; file: Uint8Array }[] | null {
  const bytes = bufferOf(codeStream);
  if (bytes.length < componentCountOffset + 3 || bytes.readUInt32BE(0) !== 0xff_4f_ff_51) return null;
  const groups = componentGroupsByCount[bytes.readUInt16BE(componentCountOffset)];
  return groups?.map((components) => ({ components, file: wrapComponents(bytes, components) })) ?? null;
}

function createBox(type: string, ...parts: readonly Uint8Array[]): Buffer {
  const boxHeader = Buffer.alloc(8);
  boxHeader.writeUInt32BE(parts.reduce((sum, { length }) => sum + length, boxHeader.length));
  boxHeader.write(type, 4, 'latin1');
  return Buffer.concat([boxHeader, ...parts]);
}

/**
 * Creates a JP2 file that selects components: each of its channels is mapped directly to a component. The format requires a
 * palette, which is not used.
 */
function wrapComponents(codeStream: Buffer, components: readonly number[]): Buffer {
  const readUnsigned = (at: number) => codeStream.readUInt32BE(at);
  // Height, width and number of components.
  const header = Buffer.alloc(14);
  header.writeUInt32BE(readUnsigned(12) - readUnsigned(20), 0);
  header.writeUInt32BE(readUnsigned(8) - readUnsigned(16), 4);
  header.writeUInt16BE(codeStream.readUInt16BE(componentCountOffset), 8);
  // Depth and sign of the samples. The channels of the palette must have the same depth and sign.
  const depth = codeStream.readUInt8(componentCountOffset + 2);
  header.set([depth, 7, 0, 0], 10);
  const count = components.length;
  const entryBytes = Math.ceil(((depth & 127) + 1) / 8);
  return Buffer.concat([
    createBox('jP  ', Buffer.from([0x0d, 0x0a, 0x87, 0x0a])),
    createBox('ftyp', Buffer.from('jp2 \0\0\0\0jp2 ', 'latin1')),
    createBox(
      'jp2h',
      createBox('ihdr', header),
      createBox('colr', Buffer.from([1, 0, 0, 0, 0, 0, count === 3 ? 16 : 17])), // sRGB or gray
      createBox('pclr', Buffer.from([0, 1, count]), Buffer.alloc(count, depth), Buffer.alloc(count * entryBytes)),
      createBox('cmap', Buffer.from(components.flatMap((component) => [0, component, 0, 0]))),
    ),
    createBox('jp2c', codeStream),
  ]);
}

/** The samples of some components, interleaved. */
interface ComponentSamples {
  components: readonly number[];
  data: Uint8Array;
}

/** Interleaves the components of a picture. */
export function joinComponents(parts: readonly ComponentSamples[], sampleBytes: 1 | 2): Uint8Array<ArrayBuffer> {
  const bands = parts.reduce((sum, { components }) => sum + components.length, 0);
  const out = new Uint8Array(parts.reduce((sum, { data }) => sum + data.length, 0));
  const samplesOf = (bytes: Uint8Array) =>
    sampleBytes === 1 ? bytes : new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2);
  const joinedSamples = samplesOf(out);
  for (const { components, data } of parts) {
    const source = samplesOf(data);
    const step = components.length;
    for (const [position, component] of components.entries()) {
      for (let from = position, to = component; from < source.length; from += step, to += bands)
        joinedSamples[to] = source[from]!;
    }
  }
  return out;
}
