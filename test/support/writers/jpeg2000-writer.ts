import { createRequire } from 'node:module';

interface Encoder {
  getDecodedBuffer(frame: {
    width: number;
    height: number;
    bitsPerSample: number;
    componentCount: number;
    isSigned: boolean;
  }): Uint8Array;
  setQuality(lossless: boolean, ratio: number): void;
  encode(): void;
  getEncodedBuffer(): Uint8Array;
}

interface Samples {
  data: Uint8Array;
  width: number;
  height: number;
  components: number;
}

const [startOfTile, sizes] = [0xff_90, 0xff_51];
/** The position of a marker in a code stream. */
export const marker = (file: Buffer, number: number): number => file.indexOf(Buffer.from([number >> 8, number & 255]));

/**
 * A JPEG 2000 code stream of one tile, its components not transformed. @param ratio the ratio of lossy compression; 0 for
 * lossless.
 */
export async function writeJpeg2000({ data, width, height, components }: Samples, ratio = 0): Promise<Buffer> {
  const load = createRequire(import.meta.url)('@cornerstonejs/codec-openjpeg') as () => Promise<{
    J2KEncoder: new () => Encoder;
  }>;
  const encoder = new (await load()).J2KEncoder();
  encoder.getDecodedBuffer({ width, height, bitsPerSample: 8, componentCount: components, isSigned: false }).set(data);
  encoder.setQuality(ratio === 0, ratio);
  encoder.encode();
  return Buffer.from(encoder.getEncodedBuffer());
}

/** Joins code streams into one, as its tiles from left to right. Their width is a power of two. */
export function joinTiles(tiles: readonly Buffer[], width: number): Buffer {
  const header = Buffer.from(tiles[0]!.subarray(0, marker(tiles[0]!, startOfTile)));
  const siz = marker(header, sizes);
  header.writeUInt32BE(width * tiles.length, siz + 6);
  header.writeUInt32BE(width, siz + 22);
  const parts = tiles.map((tile, number) => {
    const part = Buffer.from(tile.subarray(marker(tile, startOfTile), -2));
    part.writeUInt16BE(number, 4);
    return part;
  });
  return Buffer.concat([header, ...parts, Buffer.from([0xff, 0xd9])]);
}

const box = (type: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
};

/** A code stream of 8-bit samples in the boxes of JP2. @param further boxes of the header, such as a palette. */
export function jp2Of(codeStream: Buffer, further: readonly { type: string; content: Buffer }[] = []): Buffer {
  const siz = marker(codeStream, sizes);
  const ihdr = Buffer.alloc(14);
  ihdr.writeUInt32BE(codeStream.readUInt32BE(siz + 10), 0);
  ihdr.writeUInt32BE(codeStream.readUInt32BE(siz + 6), 4);
  ihdr.writeUInt16BE(codeStream.readUInt16BE(siz + 38), 8);
  ihdr.set([7, 7], 10);
  const isGray = codeStream.readUInt16BE(siz + 38) === 1 && further.length === 0;
  const colors = Buffer.from([1, 0, 0, 0, 0, 0, isGray ? 17 : 16]);
  return Buffer.concat([
    box('jP  ', Buffer.from([0x0d, 0x0a, 0x87, 0x0a])),
    box('ftyp', Buffer.from('jp2 \0\0\0\0jp2 ', 'latin1')),
    box('jp2h', box('ihdr', ihdr), box('colr', colors), ...further.map(({ type, content }) => box(type, content))),
    box('jp2c', codeStream),
  ]);
}
