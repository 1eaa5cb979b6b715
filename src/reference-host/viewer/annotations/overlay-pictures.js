// @ts-check
import { apiUrl, request } from '../api.js';

/**
 * @typedef {import('./model.js').Element} Element
 *
 * What an overlay shows; `width` and `height` are those of its image at full resolution, the picture may have fewer pixels.
 * @typedef {{ picture: CanvasImageSource, width: number, height: number }} OverlayPicture
 */

/** Longest side of the picture of an overlay: one picture is enough at usual zooms, and finer ones would be tiles. */
const maxSide = 2048;
/** Longest side of a pixelmap: its pixels are numbers, of which no smaller picture can be made. */
const maxMapSide = 4096;

/** Whether an element lays another image over this one. @param {Element} element */
export function isOverlay({ type }) {
  return type === 'image' || type === 'pixelmap';
}

/** The item that an overlay shows: the field is called after the host's brand. @param {Element} element @returns {string} */
function itemOf(element) {
  const field = Object.keys(element).find((key) => key.endsWith('Id')) ?? '';
  return String(/** @type {Record<string, unknown>} */ (/** @type {unknown} */ (element))[field]);
}

/** Pictures of overlays, fetched when they are first to be drawn. */
export class OverlayPictures {
  /** @type {Map<string, OverlayPicture | null>} `null` while it is being fetched, and where there is none */
  #pictures = new Map();

  /**
   * @param {object} options
   * @param {AbortSignal} options.signal
   * @param {() => void} options.onLoad
   * @param {(text: string) => void} options.onProblem
   */
  constructor({ signal, onLoad, onProblem }) {
    this.signal = signal;
    this.onLoad = onLoad;
    this.onProblem = onProblem;
  }

  /** The picture of an element, as soon as it is here. @param {Element} element @returns {OverlayPicture | null} */
  of(element) {
    const { type, values, categories, boundaries } = element;
    const key = JSON.stringify([itemOf(element), type, values, categories, boundaries]);
    const known = this.#pictures.get(key);
    if (known === undefined) {
      this.#pictures.set(key, null);
      void this.#load(key, element);
    }
    return known ?? null;
  }

  /** @param {string} key @param {Element} element */
  async #load(key, element) {
    const { signal } = this;
    try {
      const id = itemOf(element);
      const { sizeX: width, sizeY: height } = await request('GET', `item/${id}/tiles`, { signal });
      const isMap = element.type === 'pixelmap';
      if (isMap && Math.max(width, height) > maxMapSide) throw new Error('it is too large for this page.');
      const shrink = isMap ? 1 : Math.min(1, maxSide / Math.max(width, height));
      const size = { width: Math.ceil(width * shrink), height: Math.ceil(height * shrink) };
      const image = new Image();
      image.src = apiUrl(`item/${id}/tiles/region`, { ...size, encoding: 'PNG' });
      await image.decode();
      if (signal.aborted) return;
      this.#pictures.set(key, { picture: isMap ? colored(image, element) : image, width, height });
      this.onLoad();
    } catch (error) {
      if (!signal.aborted) this.onProblem(`An overlay cannot be shown: ${/** @type {Error} */ (error).message}`);
    }
  }
}

/** A picture in which each pixel has the color of the category that its value stands for. @param {HTMLImageElement} image @param {Element} element */
function colored(image, element) {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: image.naturalWidth, height: image.naturalHeight });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true }));
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  const colors = colorsOf(element);
  const { data } = pixels;
  for (let at = 0; at < data.length; at += 4) {
    // The picture is gray: red is the value.
    const color = (data[at] ?? 0) * 4;
    for (let channel = 0; channel < 4; channel += 1) data[at + channel] = colors[color + channel] ?? 0;
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** Red, green, blue and opacity for each pixel value; values without a category are not seen. @param {Element} element */
function colorsOf({ values = [], categories = [], boundaries = false }) {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width: 256, height: 1 });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { willReadFrequently: true }));
  for (let value = 0; value < 256; value += 1) {
    const category = categories[values[boundaries ? value >> 1 : value] ?? -1];
    if (!category) continue;
    const isStroke = boundaries && value % 2 === 1;
    context.fillStyle = (isStroke ? category.strokeColor : undefined) ?? category.fillColor;
    context.fillRect(value, 0, 1, 1);
  }
  return context.getImageData(0, 0, 256, 1).data;
}
