import type { TiledImage, Viewer } from './openseadragon.js';
import { requestPicture } from '../api.js';
import { TileQueue } from './tile-queue.js';

/** Number of frames whose decoded tiles are kept, so that switching between them needs no request. */
const keptFrames = 6;

/**
 * The frames of an image in their styles, stacked, with one visible. A new frame covers the previous one as its tiles arrive, so
 * the view is never empty between two frames.
 */
export class FrameStack {
  /** most recently shown last */
  #images: Map<string, Promise<TiledImage>> = new Map();
  /**
   * The images that were added to the viewer, lowest first. They are below everything else in it.
   */
  #added: TiledImage[] = [];
  #shown: string | null = null;
  #queue = new TileQueue(requestPicture);

  /** @param sourceOf makes the tile source of a frame and style, whose tiles the queue fetches */
  constructor(
    private readonly viewer: Viewer,
    private readonly sourceOf: (frame: string, queue: TileQueue) => object,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.#queue.setVisible(), { once: true });
  }

  /**
   * Shows a frame. Resolves with its image when the image is in the stack; its tiles may arrive later.
   *
   * @param likely frames that the user may select next
   */
  async show(frame: string, likely: string[] = []): Promise<TiledImage> {
    this.#shown = frame;
    const image = await this.#image(frame);
    // The viewer may have been closed.
    this.signal.throwIfAborted();
    // The user has selected another frame in the meantime.
    if (this.#shown !== frame) return image;
    for (const added of this.#added) added.setPreload(false);
    this.#queue.setVisible(image.source);
    this.#added = [...this.#added.filter((added) => added !== image), image];
    const { world } = this.viewer;
    const top = this.#added.length - 1;
    if (world.getIndexOfItem(image) !== top) world.setItemIndex(image, top);
    image.setOpacity(1);
    this.viewer.forceRedraw();
    // A hidden image remembers its tiles as they were when it was last visible. One update brings it up to date.
    this.viewer.addOnceHandler('update-viewport', () => {
      image.whenFullyLoaded(() => void this.#settle(frame, image, likely));
    });
    return image;
  }

  #image(frame: string): Promise<TiledImage> {
    const frameImage = this.#images.get(frame);
    this.#images.delete(frame);
    const image = frameImage ?? this.#add(frame);
    this.#images.set(frame, image);
    image.catch(() => this.#images.delete(frame));
    return image;
  }

  #add(frame: string): Promise<TiledImage> {
    return new Promise((resolve, reject) => {
      this.viewer.addTiledImage({
        tileSource: this.sourceOf(frame, this.#queue),
        opacity: 0,
        index: 0,
        success: (event) => {
          const { item } = event as unknown as { item: TiledImage };
          this.#added.unshift(item);
          resolve(item);
        },
        error: reject,
      });
    });
  }

  /** Called when all tiles of the visible frame have arrived. Hides the other frames, drops old ones, and fetches the frames that are likely to be next. */
  async #settle(frame: string, image: TiledImage, likely: string[]) {
    if (this.#shown !== frame) return;
    for (const other of this.#added) if (other !== image) other.setOpacity(0);
    for (const [old, oldImage] of this.#images) {
      if (this.#images.size <= keptFrames || old === frame) break;
      this.#images.delete(old);
      const oldFrame = await oldImage;
      this.#added = this.#added.filter((added) => added !== oldFrame);
      this.viewer.world.removeItem(oldFrame);
    }
    if (savesData()) return;
    for (const next of likely) {
      if (this.#shown !== frame) return;
      // A frame that is fetched ahead must not displace the visible one.
      const ahead = await this.#image(next);
      await this.#image(frame);
      if (this.#shown !== frame) return;
      this.#queue.setVisible(image.source, ahead.source);
      ahead.setPreload(true);
    }
  }
}

/** Whether the user's browser is set to save data. */
function savesData() {
  return (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
}
