// @ts-check
import { contains, overlaps } from './model.js';
import { displayOf } from './display.js';
import { editsOf } from './edits.js';
import { loadElements, overlayTileUrl } from './requests.js';
import { isOverlay } from './overlay-pictures.js';
import { isOutlined } from './shapes.js';

/**
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').Box} Box
 * @typedef {import('../image/stage.js').Stage} Stage
 * @typedef {import('../image/metadata.js').ImageMetadata} ImageMetadata
 */

/** Most shapes of one annotation that are fetched and drawn by this page; with more in sight the server's pictures are shown. */
const maxShapes = 5000;
/** Most points of the shapes that are fetched at a time. */
const maxDetails = 250_000;
/** How far around the view shapes are fetched, as a share of its size. */
const margin = 0.3;
/** Shapes lie closer together than on average where people look: above this share of `maxShapes` it is not worth asking. */
const worthAsking = 1.5;
/** Where there were too many, it is asked again when the view has become smaller by this factor. */
const askAgainBelow = 0.7;

/**
 * One annotation on the stage: as shapes when few enough are in sight, else as the server's picture of all of them.
 */
export class Sheet {
  /** @type {Map<string, Element>} as stored, of the region that was fetched */
  #stored = new Map();
  /** @type {Element[]} image and pixelmap elements among those that were fetched last */
  #overlays = [];
  /** @type {Box | null} what `#stored` is all of */
  #covered = null;
  /** @type {AbortController | null} */
  #asking = null;
  /** @type {Box | null} */
  #askedFor = null;
  /** Where there were too many shapes, and how much of the image was seen. @type {{ covers: Box, share: number } | null} */
  #refused = null;
  /** @type {import('../image/frame-stack.js').TiledImage | null} */
  #tiles = null;
  /** Tiles of another version, seen until the new ones are here. @type {import('../image/frame-stack.js').TiledImage | null} */
  #formerTiles = null;
  /** Version and groups that the picture is of. */
  #tilesOf = '';
  #closed = false;
  #shown = 'none';

  /**
   * @param {object} options
   * @param {AnnotationRecord} options.record
   * @param {Stage} options.stage
   * @param {ImageMetadata} options.metadata
   * @param {() => void} options.redraw called when there is something else to draw
   * @param {(error: unknown) => void} options.onError
   */
  constructor({ record, stage, metadata, redraw, onError }) {
    this.record = record;
    this.stage = stage;
    this.metadata = metadata;
    this.redraw = redraw;
    this.onError = onError;
    this.edits = editsOf(record._id);
    this.display = displayOf(record._id);
  }

  get visible() {
    return this.display.visible ?? this.record.annotation.display?.visible !== false;
  }

  /** Whether the shapes in sight are at hand, so that they can be grasped. */
  get hasShapes() {
    return this.#shown === 'shapes';
  }

  /** What is at hand: all shapes in sight, or only unsaved ones above the picture. */
  all() {
    return this.edits.applied(this.hasShapes ? this.#stored : new Map());
  }

  /** What of it this page draws. @returns {Generator<Element, void>} */
  *elements() {
    const { hidden } = this.display;
    for (const element of this.all()) if (!hidden.has(element.group ?? null)) yield element;
  }

  /** Elements that lay other images over this one, as far as they are at hand. @returns {readonly Element[]} */
  overlays() {
    const { hidden } = this.display;
    return this.visible ? this.#overlays.filter(({ group = null }) => !hidden.has(group)) : [];
  }

  /** @param {string} id */
  find(id) {
    return this.edits.find(id, this.#stored);
  }

  /** Shows it in another way. @param {Partial<import('./display.js').Display>} changes */
  show(changes) {
    Object.assign(this.display, changes);
    this.refresh();
    this.redraw();
  }

  /** Takes another version of the annotation; `elements`: as they are now, where this page knows. @param {AnnotationRecord} record @param {Iterable<Element>} [elements] */
  update(record, elements) {
    const changed = record._version !== this.record._version;
    this.record = record;
    if (elements) this.#stored = new Map([...elements].map((element) => [element.id, element]));
    else if (changed) {
      this.#covered = null;
      this.#refused = null;
      this.#stop();
    }
    this.refresh();
    this.redraw();
  }

  /** Brings what is shown in line with the view. */
  refresh() {
    if (this.#closed) return;
    const view = this.stage.view();
    if (!this.visible || this.record._elementCount === 0) {
      this.#stop();
      if (this.record._elementCount === 0) {
        this.#stored.clear();
        this.#overlays = [];
      }
      this.#present(this.visible ? 'shapes' : 'none');
      return;
    }
    if (this.#covered && contains(this.#covered, this.#inside(view))) {
      this.#present('shapes');
      return;
    }
    const wanted = this.#wanted(view);
    if (wanted === null) {
      this.#stop();
      this.#present('tiles');
    } else if (!this.#askedFor || !contains(this.#askedFor, this.#inside(view))) void this.#load(wanted);
  }

  close() {
    this.#closed = true;
    this.#stop();
    this.#present('none');
    if (this.#tiles) this.stage.removeTiles(this.#tiles);
    this.#tiles = null;
  }

  /** The part of a box that lies on the image. @param {Box} box @returns {Box} */
  #inside({ left, top, right, bottom }) {
    const { sizeX, sizeY } = this.metadata;
    return { left: Math.max(0, left), top: Math.max(0, top), right: Math.min(sizeX, right), bottom: Math.min(sizeY, bottom) };
  }

  /** What to fetch for a view; `null`: too much. @param {Box} view @returns {{ region: Box | null, covers: Box, share: number } | null} */
  #wanted(view) {
    const { _elementCount: count, _detailsCount: details } = this.record;
    const everywhere = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    if (count <= maxShapes && details < maxDetails) return { region: null, covers: everywhere, share: 1 };
    const { sizeX, sizeY } = this.metadata;
    const seen = this.#inside(view);
    const share = (Math.max(0, seen.right - seen.left) * Math.max(0, seen.bottom - seen.top)) / (sizeX * sizeY);
    if (Math.max(count / maxShapes, details / maxDetails) * share > worthAsking) return null;
    if (this.#refused && contains(this.#refused.covers, seen) && share > this.#refused.share * askAgainBelow) return null;
    const across = (view.right - view.left) * margin;
    const down = (view.bottom - view.top) * margin;
    const region = { left: view.left - across, top: view.top - down, right: view.right + across, bottom: view.bottom + down };
    return { region, covers: region, share };
  }

  #stop() {
    this.#asking?.abort();
    this.#asking = null;
    this.#askedFor = null;
  }

  /** @param {{ region: Box | null, covers: Box, share: number }} wanted */
  async #load({ region, covers, share }) {
    this.#stop();
    const asking = new AbortController();
    this.#asking = asking;
    this.#askedFor = covers;
    // Until the shapes are here, the picture of all is better than the shapes of another place.
    if (region && !(this.#covered && overlaps(this.#covered, this.stage.view()))) this.#present('tiles');
    try {
      const { signal } = asking;
      const elements = await loadElements(this.record, { region, limit: maxShapes, maxDetails, signal });
      if (signal.aborted) return;
      this.#overlays = elements?.filter(isOverlay) ?? [];
      const shapes = elements?.filter((element) => !isOverlay(element));
      // Heatmaps and the like are drawn by the server only.
      if (!shapes?.every(isOutlined)) {
        this.#covered = null;
        if (region) {
          this.#askedFor = null;
          this.#refused = { covers, share };
        }
        this.#present('tiles');
        this.redraw();
        return;
      }
      this.#covered = covers;
      this.#refused = null;
      this.#stored = new Map(shapes.map((element) => [element.id, element]));
      this.#askedFor = null;
      this.#present('shapes');
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#askedFor = null;
      this.onError(error);
    }
  }

  /** @param {'none' | 'shapes' | 'tiles'} what */
  #present(what) {
    if (this.#shown !== what) {
      this.#shown = what;
      this.redraw();
    }
    if (what === 'tiles') return void this.#showTiles();
    this.#tiles?.setOpacity(0);
    this.#dropFormer();
  }

  #dropFormer() {
    if (this.#formerTiles) this.stage.removeTiles(this.#formerTiles);
    this.#formerTiles = null;
  }

  async #showTiles() {
    const { record, metadata, stage } = this;
    const { opacity, hidden } = this.display;
    const groups = hidden.size === 0 ? null : (record.groups ?? []).filter((name) => !hidden.has(name));
    const shown = JSON.stringify([record._version, groups]);
    if (this.#tilesOf === shown) {
      this.#tiles?.setOpacity(opacity);
      return;
    }
    this.#tilesOf = shown;
    const { sizeX, sizeY, tileWidth, tileHeight, levels } = metadata;
    const tiles = await stage.addTiles({
      width: sizeX,
      height: sizeY,
      tileWidth,
      tileHeight,
      tileOverlap: 0,
      minLevel: 0,
      maxLevel: levels - 1,
      hasTransparency: () => true,
      /** @param {number} level @param {number} x @param {number} y */
      getTileUrl: (level, x, y) => overlayTileUrl(record, groups, level, x, y),
    });
    const former = this.#tiles;
    // Another version has come in the meantime, or nothing is to be seen any more.
    if (this.#closed || this.#tilesOf !== shown) {
      stage.removeTiles(tiles);
      return;
    }
    this.#tiles = tiles;
    this.#dropFormer();
    this.#formerTiles = former;
    if (this.#shown === 'tiles') {
      tiles.setOpacity(this.display.opacity);
      tiles.whenFullyLoaded(() => this.#tiles === tiles && this.#dropFormer());
    } else this.#dropFormer();
  }
}
