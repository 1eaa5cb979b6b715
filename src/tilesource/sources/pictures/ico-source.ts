import decodeIco from 'decode-ico';
import { TileSourceError } from '../../../errors.js';
import { priorities, type TileSourceDefinition } from '../../tile-source.js';
import { isRgbProfile, findProfileRange } from '../scanlines/bmp.js';
import { openDecodedPicture, encodePng, readWholeFile } from './decoded-picture.js';

/** Maximum number of pictures in one file. */
const maxPictures = 256;
/** Each picture has at least the header of a bitmap. */
const minPictureBytes = 40;
/** Maximum side of a bitmap. A picture that is stored as PNG has the limits of PNG files instead. */
const maxSide = 1024;

/** Reads icons and cursors. Of several pictures in a file, the picture with the most pixels is shown. */
export const icoSource: TileSourceDefinition = {
  name: 'ico',
  extensions: { default: priorities.manual, ico: priorities.low, cur: priorities.low },
  mimeTypes: { default: priorities.manual, 'image/vnd.microsoft.icon': priorities.low, 'image/x-icon': priorities.low },
  async open(input, options = {}) {
    const isIcon = (head: Buffer) => head.length >= 22 && head.readUInt16LE(0) === 0 && [1, 2].includes(head.readUInt16LE(2));
    const bytes = await readWholeFile(input, isIcon, 'ICO', options.signal);
    const count = bytes.readUInt16LE(4);
    if (count === 0 || count > maxPictures || 6 + count * 16 > bytes.length) {
      throw new TileSourceError(`Corrupt ICO: it claims ${count} pictures; it may have 1 to ${maxPictures}.`);
    }
    // Width, height and number of colors are bytes, in which 0 means 256.
    const entries = Array.from({ length: count }, (_, index) => {
      const entry = bytes.subarray(6 + index * 16, 22 + index * 16);
      return { entry, pixels: (entry[0] || 256) * (entry[1] || 256), bits: entry.readUInt16LE(6) };
    });
    const [largestEntry] = entries.toSorted((a, b) => b.pixels - a.pixels || b.bits - a.bits);
    const [length, offset] = [largestEntry!.entry.readUInt32LE(8), largestEntry!.entry.readUInt32LE(12)];
    if (length < minPictureBytes || offset + length > bytes.length)
      throw new TileSourceError('Corrupt ICO: its largest picture is outside the file.');
    const picture = bytes.subarray(offset, offset + length);
    const metadata = { pictures: count };
    if (picture.readUInt32BE(0) === 0x89504e47) return openDecodedPicture('ico', { png: picture, icc: null, metadata }, options);
    // The height in the header includes the mask, which is as high as the picture.
    const sides = [picture.readInt32LE(4), Math.abs(picture.readInt32LE(8)) / 2];
    if (sides.some((side) => side < 1 || side > maxSide)) {
      throw new TileSourceError(
        `Corrupt ICO: its largest picture has ${sides.join(' by ')} pixels; a side can have at most ${maxSide}.`,
      );
    }
    const singleIcon = Buffer.concat([bytes.subarray(0, 4), Buffer.of(1, 0), largestEntry!.entry, picture]);
    singleIcon.writeUInt32LE(22, 18);
    let decodedIcon: { width: number; height: number; data: ArrayLike<number> } | undefined;
    try {
      [decodedIcon] = decodeIco(singleIcon);
    } catch (cause) {
      throw new TileSourceError(`Corrupt ICO: its largest picture cannot be decoded (${String(cause)}).`, { cause });
    }
    if (decodedIcon === undefined) throw new TileSourceError('Corrupt ICO: it contains no image.');
    const { width, height } = decodedIcon;
    const png = await encodePng({ data: Uint8Array.from(decodedIcon.data), width, height, hasAlpha: true }, options.signal);
    const profileRange = findProfileRange(picture);
    const icc = profileRange === null ? null : picture.subarray(profileRange.offset, profileRange.offset + profileRange.length);
    return openDecodedPicture('ico', { png, icc: icc !== null && isRgbProfile(icc) ? icc : null, metadata }, options);
  },
};
