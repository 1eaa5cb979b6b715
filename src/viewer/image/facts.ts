import { request } from '../api.js';
import { errorNotice, fill, h } from '../dom.js';
import { formatBytes, formatCount, formatDate, formatLength, formatNumber } from '../format.js';
import type { Item } from '../browse/browse-model.js';
import type { ImageMetadata } from './image-metadata.js';
import { commonTexts, imageTexts } from '../texts.js';

/** A list of terms with values. Pairs without a value are left out. */
export function factList(pairs: (readonly [string, string | null | undefined])[]) {
  const rows = pairs.flatMap(([term, value]) => (value ? [h('dt', term), h('dd', value)] : []));
  return h('dl.facts', ...rows);
}

export function itemFacts(item: Item) {
  return factList([
    [imageTexts.itemFacts.size, formatBytes(item.size ?? 0)],
    [imageTexts.itemFacts.created, formatDate(item.created)],
    [imageTexts.itemFacts.updated, formatDate(item.updated)],
    [commonTexts.description, item.description],
  ]);
}

export function imageFacts(metadata: ImageMetadata) {
  const {
    sizeX,
    sizeY,
    mm_x: mmX,
    mm_y: mmY,
    magnificationComputed: isMagnificationComputed,
    pixelSizeEntered: isPixelSizeEntered,
    frames = [],
    levels,
    tileWidth,
    tileHeight,
  } = metadata;
  const magnification = isMagnificationComputed ? null : metadata.magnification;
  const labels = imageTexts.facts;
  return factList([
    [labels.size, `${formatCount(sizeX)} × ${formatCount(sizeY)} px`],
    [labels.extent, mmX && mmY ? `${formatLength(sizeX * mmX, 3)} × ${formatLength(sizeY * mmY, 3)}` : null],
    [
      labels.pixelSize,
      mmX && mmY
        ? isPixelSizeEntered
          ? imageTexts.entered(pixelSizeText(mmX, mmY))
          : pixelSizeText(mmX, mmY)
        : imageTexts.unknown,
    ],
    [labels.magnification, magnification ? `${formatNumber(magnification, 3)}×` : imageTexts.unknown],
    [labels.frames, frames.length > 1 ? formatCount(frames.length) : null],
    [labels.levels, imageTexts.levelsOf(levels, tileWidth, tileHeight)],
    [labels.samples, [metadata.bandCount && `${metadata.bandCount} ×`, metadata.dtype].filter(Boolean).join(' ')],
  ]);
}

function pixelSizeText(mmX: number, mmY: number) {
  return `${formatLength(mmX)} × ${formatLength(mmY)}`;
}

/** A section of the side panel that can be folded. */
export function section(title: string, isOpen: boolean, ...content: HTMLElement[]) {
  return h('details.section', { open: isOpen }, h('summary.small.strong', title), h('div.section-content.small', ...content));
}

/** The internal metadata of the file, which is requested when the user opens the section. */
export function technicalSection(itemId: string, signal: AbortSignal) {
  const content = h('div', h('p.quiet-text', commonTexts.loading));
  const element = section(imageTexts.technical, false, content);
  element.addEventListener('toggle', () => void load(), { once: true });
  return element;

  async function load() {
    try {
      fill(content, valueTree(await request('GET', `item/${itemId}/tiles/internal_metadata`, { signal })));
    } catch (error) {
      if (!signal.aborted) fill(content, errorNotice(error));
    }
  }
}

/** A tree of a JSON value, in which lists and objects can be opened. */
export function valueTree(value: unknown): HTMLElement {
  if (typeof value !== 'object' || value === null)
    return h('span.value.break', value === null ? '–' : `${value as string | number | boolean}`);
  const entries = Object.entries(value);
  if (entries.length === 0) return h('span.quiet-text', imageTexts.empty);
  return h('ul.tree', ...entries.map(([key, member]) => h('li', memberTree(key, member))));
}

function memberTree(key: string, value: unknown) {
  if (typeof value !== 'object' || value === null) return h('div.row.wrap', h('span.break.quiet-text', key), valueTree(value));
  const children = h('div');
  // Children are made when they are first visible, because a tree may have tens of thousands of values.
  const ontoggle = () => children.hasChildNodes() || fill(children, valueTree(value));
  return h('details', { ontoggle }, h('summary.break', key), children);
}
