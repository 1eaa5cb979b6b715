import { automaticShare } from '../image/channels.js';

/** Side in pixels at which a picture is looked at. */
const lookedAt = 64;
/** Below this everything looks black. */
const darkest = 24;

/** Whether a picture that has been loaded is black for the eye, as samples of 16 bits are that use few of their bits. */
export function isDark(image: HTMLImageElement): boolean {
  // Of pictures of another server, pages may not know what they look like.
  if (new URL(image.src).origin !== location.origin) return false;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = lookedAt;
  const context = canvas.getContext('2d');
  if (!context) return false;
  context.drawImage(image, 0, 0, lookedAt, lookedAt);
  const { data } = context.getImageData(0, 0, lookedAt, lookedAt);
  return data.every((value, at) => at % 4 === 3 || value < darkest);
}

/** Shows an image of any bands by automatic contrast: one that has no colours is gray in each of them. */
export const automaticStyle = JSON.stringify({
  bands: Object.entries({ red: '#f00', green: '#0f0', blue: '#00f' }).map(([band, palette]) => ({
    band,
    palette,
    min: `min:${automaticShare}`,
    max: `max:${automaticShare}`,
  })),
});
