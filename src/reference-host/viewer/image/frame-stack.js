// @ts-check

/** @typedef {InstanceType<import('./openseadragon.js').OpenSeadragon['TiledImage']>} TiledImage */
/** @typedef {InstanceType<import('./openseadragon.js').OpenSeadragon['Viewer']>} Viewer */

/** How many frames keep their decoded tiles: going back and forth between them needs no request. */
const keptFrames = 6;

/**
 * The frames of one image, lying on one another, of which one is seen. A new frame covers the former one as its tiles arrive, so
 * the picture never goes blank between two frames.
 */
export class FrameStack {
  /** @type {Map<number, Promise<TiledImage>>} most recently shown last */
  #images = new Map();
  /** Those that are in the world, which lie below everything else. @type {TiledImage[]} lowest first */
  #added = [];
  /** @type {number | null} */
  #shown = null;

  /**
   * @param {Viewer} viewer
   * @param {(frame: number) => object} sourceOf
   */
  constructor(viewer, sourceOf) {
    this.viewer = viewer;
    this.sourceOf = sourceOf;
  }

  /**
   * Shows a frame; resolves with its image when it is in the stack, which is before its tiles have come.
   *
   * @param {number} frame
   * @param {number[]} [likely] frames that the reader may want next
   * @returns {Promise<TiledImage>}
   */
  async show(frame, likely = []) {
    this.#shown = frame;
    const image = await this.#image(frame);
    // The reader has moved on while the image was being added.
    if (this.#shown !== frame) return image;
    for (const added of this.#added) added.setPreload(false);
    this.#added = [...this.#added.filter((added) => added !== image), image];
    this.viewer.world.setItemIndex(image, this.#added.length - 1);
    image.setOpacity(1);
    this.viewer.forceRedraw();
    // What a hidden image says of its tiles is of the view it had when it was last seen; one round brings it up to date.
    this.viewer.addOnceHandler('update-viewport', () => {
      image.whenFullyLoaded(() => void this.#settle(frame, image, likely));
    });
    return image;
  }

  /** @param {number} frame @returns {Promise<TiledImage>} */
  #image(frame) {
    const known = this.#images.get(frame);
    this.#images.delete(frame);
    const image = known ?? this.#add(frame);
    this.#images.set(frame, image);
    image.catch(() => this.#images.delete(frame));
    return image;
  }

  /** @param {number} frame @returns {Promise<TiledImage>} */
  #add(frame) {
    return new Promise((resolve, reject) => {
      this.viewer.addTiledImage({
        tileSource: this.sourceOf(frame),
        opacity: 0,
        index: 0,
        success: (event) => {
          const { item } = /** @type {any} */ (event);
          this.#added.unshift(item);
          resolve(item);
        },
        error: reject,
      });
    });
  }

  /**
   * All tiles of the seen frame have come: the others go out of sight, old ones are dropped, and one likely frame is fetched.
   *
   * @param {number} frame
   * @param {TiledImage} image
   * @param {number[]} likely
   */
  async #settle(frame, image, likely) {
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
      if (this.#shown === frame) ahead.setPreload(true);
    }
  }
}

/** Whether the reader has asked for as little traffic as possible. */
function savesData() {
  return /** @type {{ connection?: { saveData?: boolean } }} */ (navigator).connection?.saveData === true;
}
