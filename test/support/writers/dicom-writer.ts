/** A file to be written. */
export interface WrittenDicom {
  rows: number;
  columns: number;
  frames: readonly Uint8Array[];
  transferSyntax: string;
  photometric: string;
  samples: number;
  bits: number;
  /** Number of these bits that are used; by default all. */
  stored?: number;
  isSigned?: boolean;
  /** Type of uncompressed pixels; default OW. */
  type?: 'OB' | 'OW';
  /** Palettes of the three colors, of 16 bits. */
  palette?: { first: number; colors: readonly (readonly number[])[] };
  /** Size of the whole image if the frames are the tiles of a slide. */
  matrix?: { columns: number; rows: number };
  /** Whether frames are stored in fragments, as is usual for compressed frames. */
  encapsulated?: boolean;
  claimedFrames?: number;
  instanceUid?: string;
  seriesUid?: string;
  studyUid?: string;
}

const longTypes = new Set(['OB', 'OW', 'SQ', 'UN']);

function element(group: number, number: number, type: string, value: Buffer, length = value.length + (value.length % 2)): Buffer {
  const isLong = longTypes.has(type);
  const head = Buffer.alloc(isLong ? 12 : 8);
  head.writeUInt16LE(group, 0);
  head.writeUInt16LE(number, 2);
  head.write(type, 4, 'latin1');
  if (isLong) head.writeUInt32LE(length, 8);
  else head.writeUInt16LE(length, 6);
  return Buffer.concat([head, value, Buffer.alloc(value.length % 2, type === 'UI' || type === 'OB' ? 0 : 0x20)]);
}

const text = (value: string): Buffer => Buffer.from(value, 'latin1');

function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function long(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function item(number: number, value: Uint8Array): Buffer {
  const padded = Buffer.concat([value, Buffer.alloc(value.length % 2)]);
  return Buffer.concat([short(0xff_fe), short(number), long(padded.length), padded]);
}

function pixelData(frames: readonly Uint8Array[], isEncapsulated: boolean, type: 'OB' | 'OW'): Buffer {
  if (!isEncapsulated) return element(0x7f_e0, 0x10, type, Buffer.concat(frames));
  const pieces = frames.map((frame) => item(0xe0_00, frame));
  let offset = 0;
  const table = pieces.map((piece) => {
    const at = long(offset);
    offset += piece.length;
    return at;
  });
  const content = Buffer.concat([item(0xe0_00, Buffer.concat(table)), ...pieces, item(0xe0_dd, Buffer.alloc(0))]);
  return element(0x7f_e0, 0x10, 'OB', content, 0xff_ff_ff_ff);
}

function paletteOf({ palette, isSigned }: WrittenDicom): Buffer[] {
  if (palette === undefined) return [];
  const { first, colors } = palette;
  const head = Buffer.concat([short(colors[0]!.length), short(first & 0xff_ff), short(16)]);
  return [
    ...[1, 2, 3].map((band) => element(0x00_28, 0x11_00 + band, isSigned === true ? 'SS' : 'US', head)),
    ...colors.map((values, band) => element(0x00_28, 0x12_01 + band, 'OW', Buffer.concat(values.map(short)))),
  ];
}

/** The same file in the transfer syntax Explicit VR Big Endian. Its elements must have 16-bit integers, text, or bytes. */
export function asBigEndian(file: Buffer): Buffer {
  const swapped = Buffer.from(file);
  const metaEnd = 132 + 12 + file.readUInt32LE(140);
  for (let at = metaEnd; at + 8 <= file.length;) {
    const type = file.toString('latin1', at + 4, at + 6);
    const isLong = longTypes.has(type);
    const length = isLong ? file.readUInt32LE(at + 8) : file.readUInt16LE(at + 6);
    const start = at + (isLong ? 12 : 8);
    swapped.subarray(at, at + 4).swap16();
    if (isLong) swapped.writeUInt32BE(length, at + 8);
    else swapped.writeUInt16BE(length, at + 6);
    if (['US', 'SS', 'OW'].includes(type)) swapped.subarray(start, start + length).swap16();
    at = start + length;
  }
  return swapped;
}

/** Writes a DICOM file with everything that a reader needs. */
export function writeDicom(written: WrittenDicom): { file: Buffer; near: { offset: number; length: number }[] } {
  const { rows, columns, frames, transferSyntax, photometric, samples, bits, matrix } = written;
  const isEncapsulated = written.encapsulated ?? transferSyntax.startsWith('1.2.840.10008.1.2.4');
  const sopClass = matrix === undefined ? '1.2.840.10008.5.1.4.1.1.7' : '1.2.840.10008.5.1.4.1.1.77.1.6';
  const meta = element(0x00_02, 0x10, 'UI', text(transferSyntax));
  const head = Buffer.concat([
    Buffer.alloc(128),
    text('DICM'),
    element(0x00_02, 0x00, 'UL', long(meta.length)),
    meta,
    element(0x00_08, 0x08, 'CS', text('ORIGINAL\\PRIMARY\\VOLUME\\NONE')),
    element(0x00_08, 0x16, 'UI', text(sopClass)),
    element(0x00_08, 0x18, 'UI', text(written.instanceUid ?? '1.2.3.4')),
    ...(written.studyUid === undefined ? [] : [element(0x00_20, 0x0d, 'UI', text(written.studyUid))]),
    element(0x00_20, 0x0e, 'UI', text(written.seriesUid ?? '1.2.3')),
    element(0x00_20, 0x93_11, 'CS', text('TILED_FULL')),
    element(0x00_28, 0x02, 'US', short(samples)),
    element(0x00_28, 0x04, 'CS', text(photometric)),
    element(0x00_28, 0x08, 'IS', text(String(written.claimedFrames ?? frames.length))),
    element(0x00_28, 0x10, 'US', short(rows)),
    element(0x00_28, 0x11, 'US', short(columns)),
    element(0x00_28, 0x01_00, 'US', short(bits)),
    element(0x00_28, 0x01_01, 'US', short(written.stored ?? bits)),
    element(0x00_28, 0x01_03, 'US', short(written.isSigned === true ? 1 : 0)),
    ...paletteOf(written),
    ...(matrix === undefined
      ? []
      : [element(0x00_48, 0x06, 'UL', long(matrix.columns)), element(0x00_48, 0x07, 'UL', long(matrix.rows))]),
  ]);
  const file = Buffer.concat([head, pixelData(frames, isEncapsulated, written.type ?? 'OW')]);
  return { file, near: [{ offset: 132, length: head.length - 132 + 60 }] };
}
