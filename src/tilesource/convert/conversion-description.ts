import { open } from 'node:fs/promises';
import type { ImageMetadata } from '../tile-source.js';
import { wireMetadata } from '../metadata.js';

/** Contents of the description in a converted file. */
export interface ConversionSummary {
  metadata: ImageMetadata;
  /** Internal metadata of the original file. */
  internal: Record<string, unknown>;
  levelCount: number;
  frameCount: number;
  associatedNames: readonly string[];
  /** The options of the conversion. */
  arguments: Record<string, unknown>;
  version: string;
}

/** Internal metadata that has more characters as JSON is left out. */
const maxInternalLength = 2 ** 20;

/**
 * The description of the first directory, as JSON with the members that large_image_converter writes. Tile sources read frames and
 * scale from it.
 *
 * @param frame the number of the frame if the file has several; otherwise `null`.
 */
export function describeConversion(summary: ConversionSummary, frame: number | null): string {
  const { levelCount, frameCount, associatedNames, version } = summary;
  const metadata = wireMetadata(summary.metadata);
  const internal = JSON.stringify(summary.internal).length <= maxInternalLength ? summary.internal : {};
  return toAsciiJson({
    large_image_converter: {
      version,
      conversion_epoch: Math.floor(Date.now() / 1000),
      levels: levelCount,
      frames: frameCount,
      associated: associatedNames.length,
      arguments: summary.arguments,
    },
    metadata,
    internal,
    ...(frame !== null && { frame: metadata.frames?.[frame] }),
    ...(metadata.channels && { channels: metadata.channels }),
  });
}

/** The description of the directory of a frame after the first. */
export function describeFrame(metadata: ImageMetadata, frame: number): string {
  return toAsciiJson({ frame: wireMetadata(metadata).frames?.[frame] });
}

/** Converts a value to JSON in ASCII, because text in a TIFF is ASCII. Other characters become `\u` escapes. */
function toAsciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (codeUnit) => `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

const imageDescription = 270;
/** XResolution, YResolution, ResolutionUnit. */
const resolutionTags = [282, 283, 296];

/**
 * Gives the first directory of a little-endian TIFF a new description. Removes its resolution unless `keepsResolution` is set:
 * libvips writes a resolution even if it is unknown. The changed directory is appended to the file, and the header is updated to
 * refer to it.
 */
export async function replaceDescription(path: string, text: string, options: { keepsResolution: boolean }): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const read = async (length: number, at: number) => {
      const bytes = Buffer.alloc(length);
      const { bytesRead } = await file.read(bytes, 0, length, at);
      if (bytesRead !== length) throw new Error('libvips wrote a truncated TIFF');
      return bytes;
    };
    const header = await read(16, 0);
    if (header.toString('latin1', 0, 2) !== 'II') throw new Error('libvips wrote a TIFF that is not little-endian');
    const isBig = header.readUInt16LE(2) === 43;
    const offsetBytes = isBig ? 8 : 4;
    const readOffset = (bytes: Buffer, at: number) => (isBig ? Number(bytes.readBigUInt64LE(at)) : bytes.readUInt32LE(at));
    const writeOffset = (bytes: Buffer, value: number, at: number) =>
      isBig ? bytes.writeBigUInt64LE(BigInt(value), at) : bytes.writeUInt32LE(value, at);
    const oldDirectoryOffset = readOffset(header, isBig ? 8 : 4);
    const countFieldBytes = isBig ? 8 : 2;
    const entryBytes = isBig ? 20 : 12;
    const countBytes = await read(countFieldBytes, oldDirectoryOffset);
    const entryCount = isBig ? Number(countBytes.readBigUInt64LE(0)) : countBytes.readUInt16LE(0);
    /** The entries, and the offset of the next directory. */
    const oldEntries = await read(entryCount * entryBytes + offsetBytes, oldDirectoryOffset + countFieldBytes);
    const tagsToDrop = [imageDescription, ...(options.keepsResolution ? [] : resolutionTags)];
    const entries: Buffer[] = [];
    for (let index = 0; index < entryCount; index += 1) {
      const entry = oldEntries.subarray(index * entryBytes, (index + 1) * entryBytes);
      if (!tagsToDrop.includes(entry.readUInt16LE(0))) entries.push(entry);
    }
    const fileSize = (await file.stat()).size;
    const textOffset = fileSize + (fileSize % 2);
    const textBytes = Buffer.from(`${text}\0`, 'latin1');
    const descriptionEntry = Buffer.alloc(entryBytes);
    descriptionEntry.writeUInt16LE(imageDescription, 0);
    descriptionEntry.writeUInt16LE(2, 2);
    writeOffset(descriptionEntry, textBytes.length, 4);
    writeOffset(descriptionEntry, textOffset, 4 + offsetBytes);
    entries.push(descriptionEntry);
    entries.sort((a, b) => a.readUInt16LE(0) - b.readUInt16LE(0));
    const directory = Buffer.alloc(countFieldBytes + entries.length * entryBytes + offsetBytes);
    if (isBig) directory.writeBigUInt64LE(BigInt(entries.length), 0);
    else directory.writeUInt16LE(entries.length, 0);
    entries.forEach((entry, index) => entry.copy(directory, countFieldBytes + index * entryBytes));
    oldEntries.copy(directory, directory.length - offsetBytes, entryCount * entryBytes);
    const newDirectoryOffset = textOffset + textBytes.length + (textBytes.length % 2);
    await file.write(textBytes, 0, textBytes.length, textOffset);
    await file.write(directory, 0, directory.length, newDirectoryOffset);
    writeOffset(header, newDirectoryOffset, isBig ? 8 : 4);
    await file.write(header, 0, 16, 0);
  } finally {
    await file.close();
  }
}
