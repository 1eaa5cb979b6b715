import { apiUrl, request, requestPicture } from '../../api.js';
import type { Element } from '../annotation-model.js';
import { annotationTexts } from '../../annotation-texts.js';

/**
 * The picture of an overlay. `width` and `height` are the size of the overlay's image at full resolution; the picture may have fewer pixels.
 */
export type OverlayPicture = { picture: CanvasImageSource; width: number; height: number };

/** Draws an overlay in pixels of the image below it. The overlay's point `[x, y]` is shown at `[x, y] · matrix + offsets`. */
export function drawOverlay(
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  { transform = {}, opacity = 1 }: Element,
  { picture, width, height }: OverlayPicture,
) {
  const {
    xoffset = 0,
    yoffset = 0,
    matrix = [
      [1, 0],
      [0, 1],
    ],
  } = transform;
  context.transform(...matrix[0], ...matrix[1], xoffset, yoffset);
  context.globalAlpha = opacity;
  context.drawImage(picture, 0, 0, width, height);
}

/** Maximum side of the picture of an overlay. One picture is enough at usual zooms; finer pictures would need tiles. */
const maxSide = 2048;
/** Maximum side of a pixelmap, whose pixels are numbers that cannot be scaled down. */
const maxPixelmapSide = 4096;

/** The id of the item that an overlay shows. The field is named after the host and ends in `Id`, as `girderId` does. */
function itemIdOf(element: Element): string {
  const field = Object.keys(element).find((key) => key.endsWith('Id')) ?? '';
  return String((element as unknown as Record<string, unknown>)[field]);
}

/** Overlays with the same key have the same picture. */
function pictureKey(element: Element) {
  const { type, values, categories, boundaries } = element;
  return JSON.stringify([itemIdOf(element), type, values, categories, boundaries]);
}

/** Pictures of overlays, fetched when they are first drawn. */
export class OverlayPictures {
  /** by {@link pictureKey}; `null` while a picture is being fetched, and if that has failed */
  #pictures: Map<string, OverlayPicture | null> = new Map();
  #loadPromises: Map<string, Promise<void>> = new Map();

  constructor(private readonly options: { signal: AbortSignal; onLoad: () => void; onProblem: (text: string) => void }) {}

  /** The picture of an element; `null` until the picture has arrived. The first call begins to fetch the picture. */
  getOrFetchPicture(element: Element): OverlayPicture | null {
    const key = pictureKey(element);
    const cachedPicture = this.#pictures.get(key);
    if (cachedPicture === undefined) {
      this.#pictures.set(key, null);
      this.#loadPromises.set(key, this.#load(key, element));
    }
    return cachedPicture ?? null;
  }

  /** Waits until the picture of an element has arrived; `null` if it cannot be loaded. */
  async loadPicture(element: Element): Promise<OverlayPicture | null> {
    this.getOrFetchPicture(element);
    await this.#loadPromises.get(pictureKey(element));
    return this.getOrFetchPicture(element);
  }

  async #load(key: string, element: Element) {
    const { signal, onLoad, onProblem } = this.options;
    try {
      const id = itemIdOf(element);
      const { sizeX: width, sizeY: height } = await request('GET', `item/${id}/tiles`, { signal });
      const isPixelmap = element.type === 'pixelmap';
      if (isPixelmap && Math.max(width, height) > maxPixelmapSide) throw new Error(annotationTexts.overlayTooLarge);
      const scale = isPixelmap ? 1 : Math.min(1, maxSide / Math.max(width, height));
      const size = { width: Math.ceil(width * scale), height: Math.ceil(height * scale) };
      const image = await requestPicture(apiUrl(`item/${id}/tiles/region`, { ...size, encoding: 'PNG' }), signal);
      if (signal.aborted) return;
      this.#pictures.set(key, { picture: isPixelmap ? colorByCategory(image, element) : image, width, height });
      onLoad();
    } catch (error) {
      if (!signal.aborted) onProblem(annotationTexts.overlayFailed((error as Error).message));
    }
  }
}

/** A picture in which each pixel has the color of its category. */
function colorByCategory(image: ImageBitmap, element: Element) {
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext('2d', { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
  context.drawImage(image, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height);
  const colors = colorTable(element);
  const { data } = pixels;
  for (let offset = 0; offset < data.length; offset += 4) {
    // The picture is gray, so red is the value.
    const colorOffset = (data[offset] ?? 0) * 4;
    for (let channel = 0; channel < 4; channel += 1) data[offset + channel] = colors[colorOffset + channel] ?? 0;
  }
  context.putImageData(pixels, 0, 0);
  return canvas;
}

/** Red, green, blue and opacity for each pixel value; values without a category are transparent. */
function colorTable({ values = [], categories = [], boundaries = false }: Element) {
  const canvas = new OffscreenCanvas(256, 1);
  const context = canvas.getContext('2d', { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
  for (let value = 0; value < 256; value += 1) {
    const category = categories[values[boundaries ? value >> 1 : value] ?? -1];
    if (!category) continue;
    const isStroke = boundaries && value % 2 === 1;
    context.fillStyle = (isStroke ? category.strokeColor : undefined) ?? category.fillColor;
    context.fillRect(value, 0, 1, 1);
  }
  return context.getImageData(0, 0, 256, 1).data;
}
