import type { TiledImage, Viewer } from './openseadragon.js';
import { requestPicture } from '../api.js';
import { TileQueue } from './tile-queue.js';

/** How many frames keep their decoded tiles: going back and forth between them needs no request. */
const keptFrames = 6;

/**
 * The frames of one image, each in its style, lying on one another, of which one is seen. A new frame covers the former one as its tiles arrive, so
 * the picture never goes blank between two frames.
 */
export class FrameStack {
  /** most recently shown last */
  #images: Map<string, Promise<TiledImage>> = new Map();
  /**
   * Those that are in the world, which lie below everything else.
   * lowest first
   */
  #added: TiledImage[] = [];
  #shown: string | null = null;
  #queue = new TileQueue(requestPicture);

  /** @param sourceOf of a frame and its style, by the queue that its tiles are fetched by */
  constructor(
    private readonly viewer: Viewer,
    private readonly sourceOf: (frame: string, queue: TileQueue) => object,
    private readonly signal: AbortSignal,
  ) {
    signal.addEventListener('abort', () => this.#queue.want(), { once: true });
  }

  /**
   * Shows a frame; resolves with its image when it is in the stack, which is before its tiles have come.
   *
   * @param likely frames that the reader may want next
   */
  async show(frame: string, likely: string[] = []): Promise<TiledImage> {
    this.#shown = frame;
    const image = await this.#image(frame);
    // The viewer is gone, and its images with it.
    this.signal.throwIfAborted();
    // The reader has moved on while the image was being added.
    if (this.#shown !== frame) return image;
    for (const added of this.#added) added.setPreload(false);
    this.#queue.want(image.source);
    this.#added = [...this.#added.filter((added) => added !== image), image];
    const { world } = this.viewer;
    const top = this.#added.length - 1;
    // The overview follows a moment later, and fails when the viewer has been closed by then.
    if (world.getIndexOfItem(image) !== top) world.setItemIndex(image, top);
    image.setOpacity(1);
    this.viewer.forceRedraw();
    // What a hidden image says of its tiles is of the view it had when it was last seen; one round brings it up to date.
    this.viewer.addOnceHandler('update-viewport', () => {
      image.whenFullyLoaded(() => void this.#settle(frame, image, likely));
    });
    return image;
  }

  #image(frame: string): Promise<TiledImage> {
    const known = this.#images.get(frame);
    this.#images.delete(frame);
    const image = known ?? this.#add(frame);
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

  /** All tiles of the seen frame have come: the others go out of sight, old ones are dropped, and one likely frame is fetched. */
  async #settle(frame: string, image: TiledImage, likely: string[]) {
    if (this.#shown !== frame) return;
    for (const other of this.#added) if (other !== image) other.setOpacity(0);
    for (const [old, oldImage] of this.#images) {
      if (this.#images.size <= keptFrames || old === frame) break;
      this.#images.delete(old);
      const gone = await oldImage;
      this.#added = this.#added.filter((added) => added !== gone);
      this.viewer.world.removeItem(gone);
    }
    if (savesData()) return;
    for (const next of likely) {
      if (this.#shown !== frame) return;
      // A frame that is only fetched ahead must not push the seen one out of the kept ones.
      const ahead = await this.#image(next);
      await this.#image(frame);
      if (this.#shown !== frame) return;
      this.#queue.want(image.source, ahead.source);
      ahead.setPreload(true);
    }
  }
}

/** Whether the reader has asked for as little traffic as possible. */
function savesData() {
  return (navigator as { connection?: { saveData?: boolean } }).connection?.saveData === true;
}
