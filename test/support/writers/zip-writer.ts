import { deflateRawSync } from 'node:zlib';

/** Positions of structures in a written archive. */
export interface ZipFileBytes {
  file: Buffer;
  /** Directory, local headers and short files. */
  near: { offset: number; length: number }[];
}

/** Writes a ZIP file with variants that other writers do not offer. */
export function writeZip(
  files: Readonly<Record<string, Uint8Array | string>>,
  { deflated = [], claimedSize, extra = 0 }: { deflated?: readonly string[]; claimedSize?: number; extra?: number } = {},
): ZipFileBytes {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  const near: ZipFileBytes['near'] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const plain = Buffer.from(content);
    const isDeflated = deflated.includes(name);
    const data = isDeflated ? deflateRawSync(plain) : plain;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(isDeflated ? 8 : 0, 4);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(isDeflated ? (claimedSize ?? plain.length) : data.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const localHead = Buffer.from(common);
    // The directory does not mention these extra bytes, which come before the content.
    localHead.writeUInt16LE(extra, 24);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), localHead, Buffer.from(name), Buffer.alloc(extra), data]);
    const entry = Buffer.alloc(46);
    entry.write('PK\x01\x02', 0, 'latin1');
    entry.writeUInt16LE(20, 4);
    common.copy(entry, 6);
    entry.writeUInt32LE(offset, 42);
    directory.push(Buffer.concat([entry, Buffer.from(name)]));
    near.push({ offset, length: local.length - data.length + Math.min(data.length, 2000) });
    parts.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 0, 'latin1');
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  near.push({ offset, length: listed.length + end.length });
  return { file: Buffer.concat([...parts, listed, end]), near };
}
