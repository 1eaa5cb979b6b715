import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../../core/concurrency/lru-options.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import type { Queues } from '../../../core/concurrency/queues.js';
import type { ItemRecord } from '../../../core/host/records.js';
import { LargeImageError } from '../../../errors.js';
import type { Reply } from '../../../http/reply.js';
import type { AnnotationServices } from '../../annotations/annotation-services.js';
import type { AnnotationRecord } from '../../annotations/documents/annotation-record.js';
import type { StoredElements } from '../../annotations/elements/element-store.js';
import type { AnnotationOverlay } from '../../annotations/overlay/overlay.js';
import type { Images } from '../../images/images.js';
import { shapeOf, type ArrayImage } from '../arrays.js';
import { compressChunk } from '../chunk-bytes.js';
import { chunkShapeOf, multiscaleMetadata } from '../image-nodes.js';
import { noSuchKeyError } from '../keys.js';
import type { ZarrNode, ZarrNodes } from '../nodes.js';
import { readRanks, type Ranks } from './ranks.js';
import { paintLabel, type LabelPixels, type LabelView } from './rasterize.js';
import { parseChunkKey, replyWithChunk, type ChunkAddress, type StoreRequest } from '../store.js';

/** Maximum number of annotations that are listed as labels. */
const maxLabels = 500;
/** Maximum number of annotations whose groups are remembered. */
const maxRememberedAnnotations = 1000;
/** Maximum number of annotations whose ranks are remembered. */
const maxRanks = 4;

const objectsSuffix = '.objects';

type LabelType = 'uint8' | 'uint16' | 'uint32';
const labelArrays = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array } as const;

interface GroupLabel {
  name: string | null;
  color: string;
}

/** Options of {@link ZarrLabels}. */
export interface ZarrLabelsOptions {
  annotations: AnnotationServices;
  overlay: AnnotationOverlay;
  images: Images;
  queues: Queues;
}

/**
 * Annotations as labels. A pixel belongs to the last element that contains its center. In `labels/<id>`, the pixel has the number of
 * the element's group, and in `labels/<id>.objects` it has the number of the element. Both count from 1; 0 is the background.
 */
export class ZarrLabels {
  readonly #groups = new LRUCache<string, GroupLabel[]>(limitEntries(maxRememberedAnnotations));
  readonly #ranks = new LRUCache<string, Promise<Ranks>>(limitEntries(maxRanks));

  constructor(private readonly options: ZarrLabelsOptions) {}

  /** The group `labels` with the labels that the caller can read; empty if there are none. */
  async makeNodes(item: ItemRecord, image: ArrayImage, { caller, signal }: StoreRequest): Promise<ZarrNodes> {
    const nodes = new Map<string, ZarrNode>();
    const names: string[] = [];
    for await (const annotation of this.options.annotations.lists.listInItem(item.id, caller)) {
      signal.throwIfAborted();
      const title = annotation.head.name ?? annotation.id;
      const groups = await this.#loadGroups(annotation.elements, signal);
      const labelMetadata = {
        colors: groups.map(colorEntry),
        properties: groups.map(({ name }, index) => ({ 'label-value': index + 1, group: name })),
      };
      names.push(annotation.id, `${annotation.id}${objectsSuffix}`);
      addLabel(nodes, image, { path: annotation.id, title, dtype: smallestTypeFor(groups.length), labelMetadata });
      addLabel(nodes, image, {
        path: `${annotation.id}${objectsSuffix}`,
        title: `${title} (objects)`,
        dtype: 'uint32',
        labelMetadata: {},
      });
      if (names.length >= 2 * maxLabels) break;
    }
    if (names.length > 0) nodes.set('', { kind: 'group', ome: { labels: names } });
    return nodes;
  }

  /** Answers the key of a chunk below `labels`. @throws NotFoundError if there is no such chunk. */
  async answerChunk(
    item: ItemRecord,
    image: ArrayImage,
    [path = '', ...chunkSegments]: readonly string[],
    request: StoreRequest,
  ): Promise<Reply> {
    const showsObjects = path.endsWith(objectsSuffix);
    const id = showsObjects ? path.slice(0, -objectsSuffix.length) : path;
    const chunk = parseChunkKey(withoutChannels(image), chunkSegments, request.version);
    if (chunk === null || !/^[0-9a-f]{24}$/.test(id)) throw noSuchKeyError();
    const annotation = await this.#loadAnnotation(id, item, request);
    const { elements } = annotation;
    const { images, queues } = this.options;
    const { level, row, column } = chunk;
    const kind = showsObjects ? 'objects' : 'groups';
    const key = `zarr-labels/${annotation.id}/${elements.content}/${kind}/${image.chunkSide}/${level}/${row}/${column}`;
    const { queuedAs, signal } = request;
    const make = async (sharedSignal: AbortSignal) => {
      const bytes = await this.#paint(elements, image, chunk, { showsObjects, signal: sharedSignal });
      return { bytes: bytes === null ? new Uint8Array(0) : await compressChunk(bytes), type: 'application/octet-stream' };
    };
    const requester = { caller: queuedAs, signal };
    return replyWithChunk(
      request,
      key,
      async () => (await images.makeCached(key, make, { requester, queue: queues.elements })).bytes,
    );
  }

  async #loadAnnotation(id: string, item: ItemRecord, { caller }: StoreRequest): Promise<AnnotationRecord> {
    try {
      const annotation = await this.options.annotations.writer.load(id, 0, caller);
      if (annotation.itemId === item.id && annotation.active) return annotation;
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      // A program may have seen the label before, and would treat 404 as an area without elements.
      if (error.code === 'access-denied') throw new LargeImageError('login-required', error.message, { cause: error });
      if (error.code !== 'unknown-id' && error.code !== 'invalid') throw error;
    }
    throw noSuchKeyError();
  }

  /** The samples of a chunk; `null` if no element overlaps the chunk. */
  async #paint(
    elements: StoredElements,
    image: ArrayImage,
    { level, row, column }: ChunkAddress,
    { showsObjects, signal }: { showsObjects: boolean; signal: AbortSignal },
  ): Promise<Uint8Array<ArrayBuffer> | null> {
    const side = image.chunkSide;
    const view: LabelView = { left: column * side, top: row * side, side, scale: 2 ** level };
    const pixels: LabelPixels = new labelArrays[showsObjects ? 'uint32' : smallestTypeFor(elements.groups.length)](side * side);
    const numberByGroup = new Map(elements.groups.map((name, index) => [name, index + 1]));
    const ranks = showsObjects ? await this.#getRanks(elements, signal) : null;
    const [lowX, lowY, span] = [view.left * view.scale, view.top * view.scale, side * view.scale];
    // Lines are a pixel wide, and may extend a pixel beyond their boxes.
    const margin = view.scale;
    const conditions = [
      { field: 'highx', operator: '$gte', value: lowX - margin },
      { field: 'highy', operator: '$gte', value: lowY - margin },
      { field: 'lowx', operator: '$lt', value: lowX + span + margin },
      { field: 'lowy', operator: '$lt', value: lowY + span + margin },
    ] as const;
    for await (const { element, order } of this.options.annotations.store.scan(elements, { conditions, signal })) {
      const label = ranks === null ? numberByGroup.get(element.group ?? null)! : ranks.rankOf(order) + 1;
      paintLabel(pixels, view, element, label);
      if (isSliceOver()) await nextSlice(signal);
    }
    const isEmpty = pixels.every((label) => label === 0);
    return isEmpty ? null : new Uint8Array(pixels.buffer as ArrayBuffer, pixels.byteOffset, pixels.byteLength);
  }

  #getRanks(elements: StoredElements, signal: AbortSignal): Promise<Ranks> {
    const cachedRanks = this.#ranks.get(elements.content);
    if (cachedRanks !== undefined) return cachedRanks;
    // The ranks are read for all requests that wait for them, so the signal of one request does not cancel the reading.
    signal.throwIfAborted();
    const ranksPromise = readRanks(this.options.annotations.store, elements);
    this.#ranks.set(elements.content, ranksPromise);
    ranksPromise.catch(() => this.#ranks.delete(elements.content));
    return ranksPromise;
  }

  async #loadGroups(elements: StoredElements, signal: AbortSignal): Promise<GroupLabel[]> {
    const cachedGroups = this.#groups.get(elements.content);
    if (cachedGroups !== undefined) return cachedGroups;
    const groupByName = await this.options.overlay.countGroups(elements, { signal });
    const groups = elements.groups.map((name) => ({ name, color: groupByName.get(name)?.color ?? '#000000' }));
    this.#groups.set(elements.content, groups);
    return groups;
  }
}

/** The smallest type for the numbers of this many groups. */
function smallestTypeFor(groupCount: number): LabelType {
  return groupCount < 2 ** 8 ? 'uint8' : groupCount < 2 ** 16 ? 'uint16' : 'uint32';
}

function withoutChannels(image: ArrayImage): ArrayImage {
  return { ...image, lengths: { ...image.lengths, c: 1 } };
}

function colorEntry({ color }: GroupLabel, index: number): Record<string, unknown> {
  const [red, green, blue] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return { 'label-value': index + 1, rgba: [red, green, blue, 255] };
}

/** Adds the nodes of a label: its group, and an array for each level of the image. */
function addLabel(
  nodes: Map<string, ZarrNode>,
  image: ArrayImage,
  {
    path,
    title,
    dtype,
    labelMetadata,
  }: { path: string; title: string; dtype: LabelType; labelMetadata: Record<string, unknown> },
): void {
  const labelImage = withoutChannels(image);
  const label = { ...labelMetadata, source: { image: '../../../' } };
  nodes.set(path, { kind: 'group', ome: { multiscales: [multiscaleMetadata(labelImage, title)], 'image-label': label } });
  for (const level of image.levels.keys()) {
    const shape = shapeOf(labelImage, level);
    nodes.set(`${path}/${level}`, {
      kind: 'array',
      shape,
      chunkShape: chunkShapeOf(labelImage),
      axes: labelImage.axes,
      dtype,
      codec: 'zstd',
    });
  }
}
