import { processed } from '../process/processing.js';
import { openPicture } from './encode.js';
import { hasAlpha, type Picture, type Transform } from './pixels.js';

/** Gray values from this one on are white in two tones. */
const whiteFrom = 128;

/** A turned picture. Gray and two tones have one band: what was transparent is white. */
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
  // sharp mirrors before it turns, whatever the order of the calls.
  if (mirror) image = image.flop();
  if (degrees !== 0) image = image.rotate(degrees);
  if (bands <= 2) image = image.toColourspace('b-w');
  const transformed = image.raw();
  const { data, info } = await processed(() => transformed.toBuffer({ resolveWithObject: true }), signal);
  return { data, width: info.width, height: info.height, bands: bandsOf(info.channels), dtype: 'uint8' };
}

function bandsOf(channels: number): Picture['bands'] {
  return channels === 1 || channels === 2 || channels === 3 ? channels : 4;
}
