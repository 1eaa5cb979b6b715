import { priorities, type TileSourceDefinition } from '../../tile-source.js';
import { decodePicture, openDecodedPicture, readWholeFile } from './decoded-picture.js';

/** Reads HEIC, decoded as a whole by the optional package libheif-js. AVIF is read by libvips. */
export const heifSource: TileSourceDefinition = {
  name: 'heif',
  extensions: { default: priorities.manual, heic: priorities.low, heif: priorities.low },
  mimeTypes: { default: priorities.manual, 'image/heic': priorities.low, 'image/heif': priorities.low },
  async open(input, options = {}) {
    const isHeif = (head: Buffer) => /^....ftyp(?:hei|hev|mif1|msf1)/s.test(head.toString('latin1'));
    const bytes = await readWholeFile(input, isHeif, 'HEIF', options.signal);
    const picture = await decodePicture({ format: 'heif', bytes, what: 'the picture (HEIF)' }, options.signal);
    return openDecodedPicture('heif', picture, options);
  },
};
