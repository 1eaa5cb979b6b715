import { bufferOf } from '../../core/buffer-of.js';
import sharp from 'sharp';
import { runProcessing } from '../process/processing.js';
import { hasAlpha, type Picture } from './pixels.js';

/**
 * Maximum number of a profile's entries that are read. Ordinary profiles have some twenty entries.
 */
const maxTags = 1000;
/** Maximum number of bytes of a profile's name that are read. */
const maxNameBytes = 4096;

/** The name that a color profile contains; `null` if the profile has none. */
export function profileDescription(profile: Uint8Array): string | null {
  const view = bufferOf(profile);
  if (view.length < 132 || view.toString('latin1', 36, 40) !== 'acsp') return null;
  const tagCount = Math.min(maxTags, view.readUInt32BE(128), Math.floor((view.length - 132) / 12));
  for (let tag = 0; tag < tagCount; tag += 1) {
    const entry = 132 + tag * 12;
    if (view.toString('latin1', entry, entry + 4) !== 'desc') continue;
    const start = view.readUInt32BE(entry + 4);
    const end = start + view.readUInt32BE(entry + 8);
    return end <= view.length ? readText(view.subarray(start, Math.min(end, start + maxNameBytes))) : null;
  }
  return null;
}

/** The text of a `desc` (version 2) or `mluc` (version 4) element. */
function readText(element: Buffer): string | null {
  if (element.length < 12) return null;
  const kind = element.toString('latin1', 0, 4);
  if (kind === 'desc') {
    return element.toString('latin1', 12, Math.min(element.length, 12 + element.readUInt32BE(8))).replace(/\0.*$/s, '') || null;
  }
  if (kind !== 'mluc' || element.length < 28 || element.readUInt32BE(8) === 0) return null;
  const length = element.readUInt32BE(20);
  const start = element.readUInt32BE(24);
  if (start + length > element.length) return null;
  const text = Buffer.from(element.subarray(start, start + (length & ~1)))
    .swap16()
    .toString('utf16le');
  return text.replaceAll('\0', '') || null;
}

/** Whether a profile says that the samples are sRGB, so that they need no conversion. */
export function isSrgbProfile(profile: Uint8Array): boolean {
  return /\bsRGB\b/i.test(profileDescription(profile) ?? '');
}

let srgbPromise: Promise<Uint8Array> | null = null;

/** The profile of sRGB that is part of libvips. */
export function srgbProfile(): Promise<Uint8Array> {
  srgbPromise ??= (async () => {
    const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } });
    const { icc } = await sharp(await pixel.withIccProfile('srgb').png().toBuffer()).metadata();
    return Uint8Array.from(icc!);
  })();
  return srgbPromise;
}

/**
 * Converts a picture to sRGB; gray stays gray. libvips only converts pictures that it reads from a file with a profile, so the
 * samples are passed as an uncompressed TIFF. libvips always uses the perceptual intent.
 *
 * @throws Error if libvips cannot use the profile.
 */
export async function convertToSrgb(picture: Picture, profile: Uint8Array): Promise<Picture> {
  let image = sharp(toTiff(picture, profile), { limitInputPixels: false, failOn: 'warning' }).toColourspace(
    picture.bands <= 2 ? 'b-w' : 'srgb',
  );
  // Raw output of gray with alpha would lose the alpha. Alpha needs no conversion, so it is copied from the picture.
  if (picture.bands === 2) image = image.removeAlpha();
  const rawImage = image.raw();
  const { data, info } = await runProcessing(() => rawImage.toBuffer({ resolveWithObject: true }));
  if (picture.bands === 2 && info.channels === 1) {
    const out = picture.data.slice();
    for (let pixel = 0; pixel < data.length; pixel += 1) out[pixel * 2] = data[pixel] ?? 0;
    return { ...picture, data: out };
  }
  if (info.channels !== picture.bands) throw new Error(`Color conversion gave ${info.channels} bands for ${picture.bands}.`);
  return { ...picture, data };
}

/** Writes the samples and the profile as an uncompressed TIFF with one strip. */
function toTiff(picture: Picture, profile: Uint8Array): Buffer {
  const { width, height, bands } = picture;
  /** If the values of an entry are stored outside the directory, the entry contains their number and their offset. */
  const entries: [tag: number, type: 3 | 4 | 7, valuesOrCount: number[] | number, offset?: number][] = [];
  const hasAlphaBand = hasAlpha(picture);
  const entryCount = hasAlphaBand ? 12 : 11;
  const bitsAt = 8 + 2 + entryCount * 12 + 4;
  const profileAt = bitsAt + 8;
  const dataAt = profileAt + profile.length + (profile.length % 2);
  entries.push([256, 4, width], [257, 4, height]);
  entries.push(bands <= 2 ? [258, 3, Array.from({ length: bands }, () => 8)] : [258, 3, bands, bitsAt]);
  entries.push([259, 3, 1], [262, 3, bands <= 2 ? 1 : 2], [273, 4, dataAt], [277, 3, bands], [278, 4, height]);
  entries.push([279, 4, width * height * bands], [284, 3, 1]);
  if (hasAlphaBand) entries.push([338, 3, 2]);
  entries.push([34675, 7, profile.length, profileAt]);
  const out = Buffer.alloc(dataAt + picture.data.length);
  out.write('II*\0', 0, 'latin1');
  out.writeUInt32LE(8, 4);
  out.writeUInt16LE(entries.length, 8);
  entries.forEach(([tag, type, valuesOrCount, offset], index) => {
    const at = 10 + index * 12;
    out.writeUInt16LE(tag, at);
    out.writeUInt16LE(type, at + 2);
    if (offset !== undefined) {
      out.writeUInt32LE(Number(valuesOrCount), at + 4);
      out.writeUInt32LE(offset, at + 8);
      return;
    }
    const values = Array.isArray(valuesOrCount) ? valuesOrCount : [valuesOrCount];
    out.writeUInt32LE(values.length, at + 4);
    values.forEach((value, position) =>
      type === 4 ? out.writeUInt32LE(value, at + 8) : out.writeUInt16LE(value, at + 8 + position * 2),
    );
  });
  for (let band = 0; band < 4; band += 1) out.writeUInt16LE(8, bitsAt + band * 2);
  out.set(profile, profileAt);
  out.set(picture.data, dataAt);
  return out;
}
