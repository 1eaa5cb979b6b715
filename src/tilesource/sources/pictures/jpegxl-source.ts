import { priorities, type TileSourceDefinition } from '../../tile-source.js';
import { decodePicture, openDecodedPicture, readWholeFile } from './decoded-picture.js';

const containerSignature = Buffer.from('\0\0\0\x0cJXL \r\n\x87\n', 'latin1');

/** Reads JPEG XL, decoded as a whole by the optional package jxl-oxide-wasm. */
export const jpegXlSource: TileSourceDefinition = {
  name: 'jpegxl',
  extensions: { default: priorities.manual, jxl: priorities.low },
  mimeTypes: { default: priorities.manual, 'image/jxl': priorities.low },
  async open(input, options = {}) {
    const isJpegXl = (head: Buffer) =>
      head.readUInt16BE(0) === 0xff0a || head.subarray(0, containerSignature.length).equals(containerSignature);
    const bytes = await readWholeFile(input, (head) => head.length >= 12 && isJpegXl(head), 'JPEG XL', options.signal);
    const picture = await decodePicture({ format: 'jpegxl', bytes, what: 'the picture (JPEG XL)' }, options.signal);
    return openDecodedPicture('jpegxl', picture, options);
  },
};
