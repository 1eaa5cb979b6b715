import { contains, nameOf, outside, overlaps, type AnnotationRecord, type Box, type Element } from './model.js';
import { displayOf, type Display } from './display.js';
import { editsOf, type Edits } from './edits.js';
import { groupFilter, loadElements, overlayTileUrl } from './requests.js';
import { isOverlay } from './drawing/overlay-pictures.js';
import { boxOf, isOutlined } from './drawing/shapes.js';
import type { Stage } from '../stage/contract.js';
import type { ImageMetadata } from '../image/metadata.js';
import { annotationTexts } from '../texts.js';
import type { TileLayer, TileUrl } from '../stage/tile-layer.js';

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

export interface SheetOptions {
  record: AnnotationRecord;
  stage: Stage;
  metadata: ImageMetadata;
  /** called when there is something else to draw */
  redraw: () => void;
  /** called when there are shapes of more of the image than before */
  onMore: () => void;
  onError: (error: unknown) => void;
}

/** A box that reaches beyond each side by a share of its size. */
function widened({ left, top, right, bottom }: Box, share: number): Box {
  const across = (right - left) * share;
  const down = (bottom - top) * share;
  return { left: left - across, top: top - down, right: right + across, bottom: bottom + down };
}

/** One annotation on the stage: as shapes when few enough are in sight, else as the server's picture of all of them. */
export class Sheet {
  /** as stored, of the region that was fetched */
  #stored: Map<string, Element> = new Map();
  /** Version of the annotation that they are of. */
  #storedOf: number | null = null;
  /** image and pixelmap elements among those that were fetched last */
  #overlays: Element[] = [];
  /** what `#stored` is all of */
  #covered: Box | null = null;
  #asking: AbortController | null = null;
  #askedFor: Box | null = null;
  /** Where there were too many shapes, and how much of the image was seen. */
  #refused: { covers: Box; share: number } | null = null;
  #tiles: TileLayer | null = null;
  /** Version and groups that the picture is of. */
  #tilesOf: { shown: string; url: TileUrl } | null = null;
  #closed = false;
  #shown = 'none';
  record: AnnotationRecord;
  readonly edits: Edits;
  readonly display: Display;

  constructor(private readonly options: SheetOptions) {
    this.record = options.record;
    this.edits = editsOf(options.record._id);
    this.display = displayOf(options.record._id);
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

  /** What of it this page draws. */
  *elements(): Generator<Element, void> {
    const { hidden } = this.display;
    for (const element of this.all()) if (!hidden.has(element.group ?? null)) yield element;
  }

  /** Elements that lay other images over this one, as far as they are at hand. */
  overlays(): readonly Element[] {
    const { hidden } = this.display;
    return this.visible ? this.#overlays.filter(({ group = null }) => !hidden.has(group)) : [];
  }

  /** Whether all of it that meets a box of the image is at hand, or is not drawn by this page. */
  covers(box: Box) {
    return !this.visible || !this.hasShapes || (this.#covered !== null && contains(this.#covered, this.#inside(box)));
  }

  find(id: string) {
    return this.edits.find(id, this.#stored);
  }

  /** Shows it in another way. */
  show(changes: Partial<Display>) {
    Object.assign(this.display, changes);
    this.refresh();
    this.options.redraw();
  }

  /** Takes another version of the annotation; `elements`: as they are now, where this page knows. */
  update(record: AnnotationRecord, elements?: Iterable<Element>) {
    const changed = record._version !== this.record._version;
    this.record = record;
    if (elements) {
      this.#stored = new Map([...elements].map((element) => [element.id, element]));
      this.#storedOf = record._version;
    } else if (changed) {
      this.#covered = null;
      this.#refused = null;
      this.#stop();
    }
    this.refresh();
    this.options.redraw();
  }

  /** Brings what is shown in line with the view. */
  refresh() {
    if (this.#closed) return;
    const view = this.options.stage.view();
    if (!this.visible || this.record._elementCount === 0) {
      this.#stop();
      if (this.record._elementCount === 0) {
        this.#stored.clear();
        this.#overlays = [];
      }
      this.#present(this.visible ? 'shapes' : 'none');
      return;
    }
    const isCovered = this.#covered !== null && contains(this.#covered, this.#inside(view));
    if (isCovered) this.#present('shapes');
    const soon = this.#inside(widened(view, margin / 2));
    if (this.#covered && contains(this.#covered, soon)) return;
    const wanted = this.#wanted(view);
    if (wanted) {
      if (!this.#askedFor || !contains(this.#askedFor, soon)) void this.#load(wanted);
    } else if (!isCovered) {
      this.#stop();
      this.#present('tiles');
    }
  }

  close() {
    this.#closed = true;
    this.#stop();
    this.#present('none');
    this.#tiles?.remove();
    this.#tiles = null;
  }

  /** The part of a box that lies on the image. */
  #inside({ left, top, right, bottom }: Box): Box {
    const { sizeX, sizeY } = this.options.metadata;
    return { left: Math.max(0, left), top: Math.max(0, top), right: Math.min(sizeX, right), bottom: Math.min(sizeY, bottom) };
  }

  /** What to fetch for a view; `null`: too much. */
  #wanted(view: Box): { region: Box | null; covers: Box; share: number } | null {
    const { _elementCount: count, _detailsCount: details } = this.record;
    const everywhere = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
    if (count <= maxShapes && details < maxDetails) return { region: null, covers: everywhere, share: 1 };
    const { sizeX, sizeY } = this.options.metadata;
    const seen = this.#inside(view);
    const share = (Math.max(0, seen.right - seen.left) * Math.max(0, seen.bottom - seen.top)) / (sizeX * sizeY);
    if (Math.max(count / maxShapes, details / maxDetails) * share > worthAsking) return null;
    if (this.#refused && contains(this.#refused.covers, seen) && share > this.#refused.share * askAgainBelow) return null;
    const region = widened(view, margin);
    return { region, covers: region, share };
  }

  #stop() {
    this.#asking?.abort();
    this.#asking = null;
    this.#askedFor = null;
  }

  async #load({ region, covers, share }: { region: Box | null; covers: Box; share: number }) {
    this.#stop();
    const asking = new AbortController();
    this.#asking = asking;
    this.#askedFor = covers;
    // Until the shapes are here, the picture of all is better than the shapes of another place.
    if (region && !(this.#covered && overlaps(this.#covered, this.options.stage.view()))) this.#present('tiles');
    try {
      const elements = await this.#elementsOf(region, asking.signal);
      if (asking.signal.aborted) return;
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
        this.options.redraw();
        return;
      }
      this.#covered = covers;
      this.#refused = null;
      const known = this.#storedOf === this.record._version ? this.#stored : new Map<string, Element>();
      this.#storedOf = this.record._version;
      // What is known of a shape, as its outline, is kept with it.
      this.#stored = new Map(shapes.map((element) => [element.id, known.get(element.id) ?? element]));
      this.#askedFor = null;
      this.#present('shapes');
      this.options.onMore();
      const everywhere = this.#inside({ left: 0, top: 0, right: Infinity, bottom: Infinity });
      const isOutside = !region && shapes.length > 0 && !shapes.some((element) => overlaps(boxOf(element), everywhere));
      if (isOutside) this.options.onError(new Error(annotationTexts.outside(nameOf(this.record))));
    } catch (error) {
      if (asking.signal.aborted) return;
      this.#askedFor = null;
      this.options.onError(error);
    }
  }

  /**
   * The elements that meet a region, or all; of what is at hand only those beyond it are fetched.
   *
   * @returns `null`: they are too many
   */
  async #elementsOf(region: Box | null, signal: AbortSignal): Promise<Element[] | null> {
    const load = (part: Box | null) => loadElements(this.record, { region: part, limit: maxShapes, maxDetails, signal });
    const covered = this.#storedOf === this.record._version ? this.#covered : null;
    if (!region || !covered || !overlaps(covered, region)) return load(region);
    const atHand = [...this.#overlays, ...[...this.#stored.values()].filter((element) => overlaps(boxOf(element), region))];
    const parts = await Promise.all(outside(region, covered).map(load));
    const found = parts.every((part) => part !== null) ? parts.flat() : null;
    if (!found) return null;
    const elements = [...new Map([...atHand, ...found].map((element) => [element.id, element])).values()];
    return elements.length > maxShapes ? null : elements;
  }

  #present(what: 'none' | 'shapes' | 'tiles') {
    if (this.#shown !== what) {
      this.#shown = what;
      this.options.redraw();
    }
    if (what === 'tiles') this.#showTiles();
    else this.#tiles?.hide();
  }

  #showTiles() {
    const { record, options, display } = this;
    const filter = groupFilter(record, display.hidden) ?? {};
    const shown = JSON.stringify([record._version, filter]);
    if (this.#tilesOf?.shown !== shown)
      this.#tilesOf = { shown, url: (level, x, y) => overlayTileUrl(record, filter, level, x, y) };
    this.#tiles ??= options.stage.addTiles();
    this.#tiles.show(this.#tilesOf.url, display.opacity);
  }
}
