import { yieldToPage } from './figure-marks.js';

/** Pixels per inch. This resolution is stored in the file, so that the picture is printed at the intended size. */
export type Dpi = number;

/** Number of rows that are read from a canvas at once. */
const rowsAtATime = 64;

/** The pixels of a canvas as red, green and blue bytes, a few rows at a time, so that the page stays responsive. */
export async function* readRows(canvas: HTMLCanvasElement, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { width, height } = canvas;
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  for (let top = 0; top < height; top += rowsAtATime) {
    const { data } = context.getImageData(0, top, width, Math.min(rowsAtATime, height - top));
    const rows = new Uint8Array((data.length / 4) * 3);
    for (let source = 0, target = 0; source < data.length; source += 4, target += 3) {
      rows[target] = data[source] as number;
      rows[target + 1] = data[source + 1] as number;
      rows[target + 2] = data[source + 2] as number;
    }
    yield rows;
    await yieldToPage();
    signal.throwIfAborted();
  }
}

/** Compresses parts with zlib as one stream, in a thread of the browser. */
export async function deflate(parts: AsyncIterable<Uint8Array<ArrayBuffer>> | Iterable<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const { readable, writable } = new CompressionStream('deflate');
  const compressedBlob = new Response(readable).blob();
  const writer = writable.getWriter();
  for await (const part of parts) await writer.write(part);
  await writer.close();
  return compressedBlob;
}

/** The picture as PNG; `null` if the browser cannot make it. */
export async function pngOf(canvas: HTMLCanvasElement, dpi: Dpi): Promise<Blob | null> {
  const png = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
  return png && new Blob([png.slice(0, headerBytes), densityChunk(dpi), png.slice(headerBytes)], { type: 'image/png' });
}

/** Number of bytes of a PNG's signature and first chunk. */
const headerBytes = 33;

/** The PNG chunk that stores the resolution in pixels per meter. */
function densityChunk(dpi: Dpi) {
  const bytes = new Uint8Array(21);
  const view = new DataView(bytes.buffer);
  const perMeter = Math.round(dpi / 0.0254);
  view.setUint32(0, 9);
  bytes.set(new TextEncoder().encode('pHYs'), 4);
  view.setUint32(8, perMeter);
  view.setUint32(12, perMeter);
  view.setUint8(16, 1);
  view.setUint32(17, checksum(bytes.subarray(4, 17)));
  return bytes;
}

/** CRC-32 as in PNG. */
function checksum(bytes: Uint8Array) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** The picture as TIFF: red, green and blue in strips that are compressed with deflate. */
export async function tiffOf(canvas: HTMLCanvasElement, dpi: Dpi, signal: AbortSignal): Promise<Blob> {
  const strips: Blob[] = [];
  for await (const rows of readRows(canvas, signal)) strips.push(await deflate([rows]));
  const [short, long, rational] = [3, 4, 5];
  const entryCount = 13;
  // Values that do not fit into their entries follow the header and the directory.
  const outsideValuesAt = 8 + 2 + entryCount * 12 + 4;
  const stripOffsetsAt = outsideValuesAt + 6 + 2 * 8;
  const stripSizesAt = stripOffsetsAt + 4 * strips.length;
  const firstStripAt = stripSizesAt + 4 * strips.length;
  const hasOneStrip = strips.length === 1;
  const directory = [
    [256, long, 1, canvas.width],
    [257, long, 1, canvas.height],
    [258, short, 3, outsideValuesAt],
    [259, short, 1, 8],
    [262, short, 1, 2],
    [273, long, strips.length, hasOneStrip ? firstStripAt : stripOffsetsAt],
    [277, short, 1, 3],
    [278, long, 1, rowsAtATime],
    [279, long, strips.length, hasOneStrip ? (strips[0] as Blob).size : stripSizesAt],
    [282, rational, 1, outsideValuesAt + 6],
    [283, rational, 1, outsideValuesAt + 14],
    [284, short, 1, 1],
    [296, short, 1, 2],
  ] as const;
  const view = new DataView(new ArrayBuffer(firstStripAt));
  let offset = 0;
  const write16 = (value: number) => (view.setUint16(offset, value, true), (offset += 2));
  const write32 = (value: number) => (view.setUint32(offset, value, true), (offset += 4));
  write16(0x4949);
  write16(42);
  write32(8);
  write16(entryCount);
  for (const [tag, type, count, value] of directory) {
    write16(tag);
    write16(type);
    write32(count);
    write32(value);
  }
  write32(0);
  for (const bits of [8, 8, 8]) write16(bits);
  for (const value of [Math.round(dpi * 100), 100, Math.round(dpi * 100), 100]) write32(value);
  let stripAt = firstStripAt;
  for (const { size } of strips) {
    write32(stripAt);
    stripAt += size;
  }
  for (const { size } of strips) write32(size);
  return new Blob([view, ...strips], { type: 'image/tiff' });
}
