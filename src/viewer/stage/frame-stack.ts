import type { TiledImage, Viewer } from './openseadragon.js';
import { requestPicture } from '../api.js';
import { TileQueue } from './tile-queue.js';

/** Number of frames whose decoded tiles are kept, so that switching between them needs no request. */
const maxKeptFrames = 6;

/**
 * A stack of an image's frames, each in one style. The shown frame is on top. It covers the previous frame as its tiles arrive, so the view is
 * never empty between two frames.
 */
export class FrameStack {
  /** The images by the keys of their frames; the most recently shown frame is last. */
  #imagesByKey: Map<string, Promise<TiledImage>> = new Map();
  /** The images in the viewer, lowest first. Everything else in the viewer is above these images. */
  #stackedImages: TiledImage[] = [];
  #shownKey: string | null = null;
  #queue = new TileQueue(requestPicture);

  /** @param createSource makes the tile source of a frame. The source must request its tiles through the queue */
  constructor(
    private readonly viewer: Viewer,
    private readonly createSource: (frameKey: string, queue: TileQueue) => object,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.#queue.setVisibleSources(), { once: true });
  }

  /**
   * Shows a frame. Resolves with its image when the image is in the stack; its tiles may arrive later.
   *
   * @param likelyKeys keys of the frames that the user may select next
   */
  async show(frameKey: string, likelyKeys: string[] = []): Promise<TiledImage> {
    this.#shownKey = frameKey;
    const image = await this.#getImage(frameKey);
    // The viewer may have been closed.
    this.signal.throwIfAborted();
    // If the user has selected another frame in the meantime, that frame is shown instead.
    if (this.#shownKey !== frameKey) return image;
    for (const stackedImage of this.#stackedImages) stackedImage.setPreload(false);
    this.#queue.setVisibleSources(image.source);
    this.#stackedImages = [...this.#stackedImages.filter((stackedImage) => stackedImage !== image), image];
    const { world } = this.viewer;
    const top = this.#stackedImages.length - 1;
    if (world.getIndexOfItem(image) !== top) world.setItemIndex(image, top);
    image.setOpacity(1);
    this.viewer.forceRedraw();
    // A hidden image still has the tiles that were in view when it was last visible. One update of the viewer brings the image up to date.
    this.viewer.addOnceHandler('update-viewport', () => {
      image.whenFullyLoaded(() => void this.#hideOtherFrames(frameKey, image, likelyKeys));
    });
    return image;
  }

  #getImage(frameKey: string): Promise<TiledImage> {
    const frameImage = this.#imagesByKey.get(frameKey);
    this.#imagesByKey.delete(frameKey);
    const image = frameImage ?? this.#addImage(frameKey);
    this.#imagesByKey.set(frameKey, image);
    image.catch(() => this.#imagesByKey.delete(frameKey));
    return image;
  }

  #addImage(frameKey: string): Promise<TiledImage> {
    return new Promise((resolve, reject) => {
      this.viewer.addTiledImage({
        tileSource: this.createSource(frameKey, this.#queue),
        opacity: 0,
        index: 0,
        success: (event) => {
          const { item } = event as unknown as { item: TiledImage };
          this.#stackedImages.unshift(item);
          resolve(item);
        },
        error: reject,
      });
    });
  }

  /** Called when all tiles of the visible frame have arrived. Hides the other frames, drops the least recently shown frames, and fetches the frames that are likely to be shown next. */
  async #hideOtherFrames(frameKey: string, image: TiledImage, likelyKeys: string[]) {
    if (this.#shownKey !== frameKey) return;
    for (const other of this.#stackedImages) if (other !== image) other.setOpacity(0);
    for (const [oldKey, oldImage] of this.#imagesByKey) {
      if (this.#imagesByKey.size <= maxKeptFrames || oldKey === frameKey) break;
      this.#imagesByKey.delete(oldKey);
      const loadedOldImage = await oldImage;
      this.#stackedImages = this.#stackedImages.filter((stackedImage) => stackedImage !== loadedOldImage);
      this.viewer.world.removeItem(loadedOldImage);
    }
    if (isSavingData()) return;
    for (const nextKey of likelyKeys) {
      if (this.#shownKey !== frameKey) return;
      const nextImage = await this.#getImage(nextKey);
      // The visible frame becomes the most recent one again, so that frames that are fetched ahead do not displace it.
      await this.#getImage(frameKey);
      if (this.#shownKey !== frameKey) return;
      this.#queue.setVisibleSources(image.source, nextImage.source);
      nextImage.setPreload(true);
    }
  }
}

/** Whether the user has set the browser to save data. */
function isSavingData() {
  return (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
}
