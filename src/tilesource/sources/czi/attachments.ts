import { TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';
import { uint64At, textAt, type CziBytes } from './segments.js';

/** Maximum number of entries of the attachment directory that are read. Ordinary files have fewer than ten. */
const maxAttachments = 1000;
const entryBytes = 128;
const headerBytes = 256;

/** The names of associated images, by the format's names of attachments. */
const associatedNames: Readonly<Record<string, string>> = { Label: 'label', SlidePreview: 'macro', Thumbnail: 'thumbnail' };

/** An attached picture. */
export interface Attachment {
  /** `CZI` or `JPG`. */
  type: string;
  /** Position of the attachment's segment in the file. */
  position: number;
}

/**
 * Reads the directory of attachments, and returns the attached pictures by the names of associated images. If the directory is
 * corrupt, pictures are missing from the result, but the image can still be read.
 */
export async function readAttachments(file: CziBytes, position: number): Promise<Map<string, Attachment>> {
  const attachments = new Map<string, Attachment>();
  if (position === 0) return attachments;
  try {
    const segment = await file.readSegment(position, 'ZISRAWATTDIR');
    const count = (await file.readExactly(segment.start, 4, 'the directory of attachments')).getInt32(0, true);
    if (count < 1) return attachments;
    const length = Math.min(count, maxAttachments) * entryBytes;
    const view = await file.readExactly(segment.start + headerBytes, length, 'the directory of attachments');
    for (let at = 0; at < length; at += entryBytes) {
      const type = textAt(view, at + 40, 8);
      const name = associatedNames[textAt(view, at + 48, 80)];
      if (name === undefined || attachments.has(name) || !['CZI', 'JPG'].includes(type)) continue;
      attachments.set(name, { type, position: uint64At(view, at + 12, 'the position of an attachment') });
    }
  } catch (error) {
    if (!(error instanceof TileSourceError)) throw error;
  }
  return attachments;
}

/** Position and length of an attachment's bytes. @throws TileSourceError if the attachment exceeds the file. */
export async function findAttachmentRange(file: CziBytes, { position }: Attachment): Promise<{ offset: number; length: number }> {
  const segment = await file.readSegment(position, 'ZISRAWATTACH');
  const length = uint64At(await file.readExactly(segment.start, 8, 'an attachment'), 0, 'the length of an attachment');
  const offset = segment.start + headerBytes;
  if (offset + length > file.size) {
    throw new TileSourceError(`Truncated or corrupt CZI: an attachment claims ${length} bytes at ${offset} of ${file.size}.`);
  }
  return { offset, length };
}

/** Presents a part of a file as a file. Closing the result does not close the whole file. */
export function presentAsFile(reader: ByteReader, { offset, length }: { offset: number; length: number }): ByteReader {
  return {
    size: length,
    read: (at, byteCount, options) =>
      reader.read(offset + Math.min(at, length), Math.max(0, Math.min(byteCount, length - at)), options),
    close: () => Promise.resolve(),
  };
}
