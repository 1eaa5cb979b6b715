/** A sub-block to be written. */
export interface WrittenBlock {
  /** Positions on all axes except X and Y, including `S` and `M`. */
  axes: Readonly<Record<string, number>>;
  left: number;
  top: number;
  /** Size in pixels of full resolution; by default the stored size. */
  width?: number;
  height?: number;
  storedWidth: number;
  storedHeight: number;
  pixelType: number;
  compression: number;
  data: Uint8Array;
}

/** A file to be written. */
export interface WrittenCzi {
  blocks: readonly WrittenBlock[];
  /** Inside of `ImageDocument` `Metadata`. */
  xml?: string;
  attachments?: readonly { name: string; type: string; data: Uint8Array }[];
}

/** Positions of structures in a written file. */
export interface CziFile {
  file: Buffer;
  /** Header, directories and the heads of sub-blocks. */
  near: { offset: number; length: number }[];
}

function segment(name: string, data: Buffer): Buffer {
  const length = Math.ceil(data.length / 32) * 32;
  const bytes = Buffer.alloc(32 + length);
  bytes.write(name, 0, 'latin1');
  bytes.writeBigInt64LE(BigInt(length), 16);
  bytes.writeBigInt64LE(BigInt(data.length), 24);
  data.copy(bytes, 32);
  return bytes;
}

function entryOf(block: WrittenBlock, position: number): Buffer {
  const dimensions: [string, number, number, number][] = [
    ['X', block.left, block.width ?? block.storedWidth, block.storedWidth],
    ['Y', block.top, block.height ?? block.storedHeight, block.storedHeight],
    ...Object.entries(block.axes).map(([axis, start]): [string, number, number, number] => [axis, start, 1, 1]),
  ];
  const entry = Buffer.alloc(32 + dimensions.length * 20);
  entry.write('DV', 0, 'latin1');
  entry.writeInt32LE(block.pixelType, 2);
  entry.writeBigInt64LE(BigInt(position), 6);
  entry.writeInt32LE(block.compression, 18);
  entry.writeInt32LE(dimensions.length, 28);
  for (const [index, [axis, start, size, stored]] of dimensions.entries()) {
    const at = 32 + index * 20;
    entry.write(axis, at, 'latin1');
    entry.writeInt32LE(start, at + 4);
    entry.writeInt32LE(size, at + 8);
    entry.writeInt32LE(stored, at + 16);
  }
  return entry;
}

/** Writes a CZI file with what ZEISS's own library does not write: pyramids, JPEG, attachments. */
export function writeCzi({ blocks, xml, attachments = [] }: WrittenCzi): CziFile {
  const parts: Buffer[] = [segment('ZISRAWFILE', Buffer.alloc(512))];
  const near = [{ offset: 0, length: 112 }];
  let written = parts[0]!.length;
  const length = (): number => written;
  const add = (name: string, data: Buffer, structure: number): number => {
    const position = length();
    near.push({ offset: position, length: 32 + structure });
    const part = segment(name, data);
    parts.push(part);
    written += part.length;
    return position;
  };
  const entries = blocks.map((block) => {
    const position = length();
    const entry = entryOf(block, position);
    const head = Buffer.alloc(Math.max(256, 16 + entry.length));
    head.writeBigInt64LE(BigInt(block.data.length), 8);
    entry.copy(head, 16);
    add('ZISRAWSUBBLOCK', Buffer.concat([head, block.data]), 16 + entry.length);
    return entry;
  });
  const document = Buffer.from(`<ImageDocument><Metadata>${xml ?? ''}</Metadata></ImageDocument>`);
  const metadata = Buffer.alloc(256 + document.length);
  metadata.writeInt32LE(document.length, 0);
  document.copy(metadata, 256);
  const metadataPosition = add('ZISRAWMETADATA', metadata, metadata.length);
  const directory = Buffer.alloc(128);
  directory.writeInt32LE(entries.length, 0);
  const content = Buffer.concat([directory, ...entries]);
  const directoryPosition = add('ZISRAWDIRECTORY', content, content.length);
  const attached = attachments.map(({ name, type, data }) => {
    const entry = Buffer.alloc(128);
    entry.write('A1', 0, 'latin1');
    entry.writeBigInt64LE(BigInt(length()), 12);
    entry.write(type, 40, 'latin1');
    entry.write(name, 48, 'latin1');
    const head = Buffer.alloc(256);
    head.writeBigInt64LE(BigInt(data.length), 0);
    entry.copy(head, 16);
    add('ZISRAWATTACH', Buffer.concat([head, data]), 144);
    return entry;
  });
  const attachmentHead = Buffer.alloc(256);
  attachmentHead.writeInt32LE(attached.length, 0);
  const attachmentPosition = add('ZISRAWATTDIR', Buffer.concat([attachmentHead, ...attached]), 256 + attached.length * 128);
  const file = Buffer.concat(parts);
  file.writeInt32LE(1, 32);
  file.writeBigInt64LE(BigInt(directoryPosition), 32 + 52);
  file.writeBigInt64LE(BigInt(metadataPosition), 32 + 60);
  file.writeBigInt64LE(BigInt(attachments.length > 0 ? attachmentPosition : 0), 32 + 72);
  return { file, near };
}
