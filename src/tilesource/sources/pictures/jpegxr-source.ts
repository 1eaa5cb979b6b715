import sharp from 'sharp';
import { TileSourceError } from '../../../errors.js';
import { codecThreads } from '../../codecs/threads/codec-threads.js';
import { readJpegXrSize } from '../../codecs/jpeg-xr.js';
import { priorities, type TileSourceDefinition } from '../../tile-source.js';
import { runProcessing } from '../../process/processing.js';
import { maxPixels, openDecodedPicture, readWholeFile } from './decoded-picture.js';

const pictureName = 'the picture (JPEG XR)';

/** Reads JPEG XR (HD Photo), decoded as a whole by the package jpegxr. */
export const jpegXrSource: TileSourceDefinition = {
  name: 'jpegxr',
  extensions: { default: priorities.manual, jxr: priorities.low, wdp: priorities.low, hdp: priorities.low },
  mimeTypes: { default: priorities.manual, 'image/jxr': priorities.low, 'image/vnd.ms-photo': priorities.low },
  async open(input, options = {}) {
    const isJpegXr = (head: Buffer) => head.length >= 8 && head.readUInt32BE(0) >>> 8 === 0x49_49_bc;
    const bytes = await readWholeFile(input, isJpegXr, 'JPEG XR', options.signal);
    const { width, height } = readJpegXrSize(bytes, pictureName);
    if (width * height > maxPixels) {
      throw new TileSourceError(`The JPEG XR picture has ${width} by ${height} pixels; at most ${maxPixels} are supported.`);
    }
    const { info, data } = await codecThreads.decodePicture({ codec: 'jpegxr', bytes }, pictureName, options.signal);
    const { componentCount: bands, bitsPerSample: bits } = info;
    if ((bands !== 1 && bands !== 3) || bits > 16) {
      throw new TileSourceError(
        `JPEG XR with ${bands} samples of ${bits} bits is not supported; it can have 1 or 3 samples of up to 16 bits.`,
      );
    }
    const pixels = bits === 16 ? new Uint16Array(data.buffer, 0, data.length / 2) : data;
    const raw = { width: info.width, height: info.height, channels: bands as 1 | 3 };
    const gray = bits === 16 ? 'grey16' : 'b-w';
    const color = bits === 16 ? 'rgb16' : 'srgb';
    const image = sharp(pixels, { raw, limitInputPixels: false }).toColourspace(bands === 1 ? gray : color);
    const png = await runProcessing(() => image.png({ compressionLevel: 1 }).toBuffer(), options.signal);
    return openDecodedPicture('jpegxr', { png, icc: null, metadata: { width, height, bits, bands } }, options);
  },
};
