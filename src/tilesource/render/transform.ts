import { runProcessing } from '../process/processing.js';
import { openPicture } from './encode.js';
import { hasAlpha, type Picture, type Transform } from './pixels.js';

/** Gray values from here on are white in bitonal pictures. */
const whiteFrom = 128;

/** Mirrors, rotates and tones a picture. Gray and bitonal results have one band, in which transparent pixels are white. */
export async function transformPicture(
  picture: Picture,
  { mirror, degrees, tone }: Transform,
  signal?: AbortSignal,
): Promise<Picture> {
  let image = openPicture(picture);
  let { bands } = picture;
  if (tone !== 'asItIs') {
    if (hasAlpha(picture)) image = image.flatten({ background: '#fff' });
    image = tone === 'bitonal' ? image.threshold(whiteFrom) : image.greyscale();
    bands = 1;
  }
  // sharp always mirrors before it rotates, independent of the order of the calls.
  if (mirror) image = image.flop();
  if (degrees !== 0) image = image.rotate(degrees);
  if (bands <= 2) image = image.toColourspace('b-w');
  const rawImage = image.raw();
  const { data, info } = await runProcessing(() => rawImage.toBuffer({ resolveWithObject: true }), signal);
  return { data, width: info.width, height: info.height, bands: bandsOf(info.channels), dtype: 'uint8' };
}

function bandsOf(channels: number): Picture['bands'] {
  return channels === 1 || channels === 2 || channels === 3 ? channels : 4;
}
