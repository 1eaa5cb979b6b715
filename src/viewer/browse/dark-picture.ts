import { automaticShare } from '../../tilesource/style/usual-colors.js';

/** Side in pixels to which a picture is scaled before it is examined. */
const examinedSide = 64;
/** Samples below this look black. */
const darkLimit = 24;

/** Whether a loaded picture looks black, as pictures of 16-bit samples do if only few of the bits are used. */
export function isDark(image: HTMLImageElement): boolean {
  // The browser does not let pages read pixels of pictures from another server.
  if (new URL(image.src).origin !== location.origin) return false;
  const context = new OffscreenCanvas(examinedSide, examinedSide).getContext('2d') as OffscreenCanvasRenderingContext2D;
  context.drawImage(image, 0, 0, examinedSide, examinedSide);
  const { data } = context.getImageData(0, 0, examinedSide, examinedSide);
  return data.every((value, offset) => offset % 4 === 3 || value < darkLimit);
}

/** The style with automatic contrast for an image of any number of bands. */
export const automaticStyle = JSON.stringify({
  bands: Object.entries({ red: '#f00', green: '#0f0', blue: '#00f' }).map(([band, palette]) => ({
    band,
    palette,
    min: `min:${automaticShare}`,
    max: `max:${automaticShare}`,
  })),
});
