import { boundingBox, type BoundingBox, type OverlaySize } from '../../../../annotation-format/bounding-box.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { idWord } from '../packs/ids.js';
import { elementText } from './list-writer.js';
import type { LoadedPack } from '../read/loader.js';
import { AppearanceTable } from '../read/appearances.js';
import { createRows, type PackRows } from '../packs/pack.js';
import { requireColumns, requireText } from '../read/select.js';

/** An element in the form in which a pack stores it, while its window is edited. */
export interface PackedElement {
  id: string;
  position: number;
  text: Buffer;
  box: BoundingBox;
  /** See AppearanceTable. */
  appearance: string;
  group: string | null;
}

/** Returns the elements of a pack that was loaded with columns and text. */
export function unpackElements(pack: LoadedPack): PackedElement[] {
  const columns = requireColumns(pack);
  const text = requireText(pack);
  const offsets = columns.textOffsets();
  const appearances = columns.appearanceTexts();
  const groups = columns.appearances().map(({ group }) => group);
  return Array.from({ length: columns.count }, (_, row) => {
    const appearanceIndex = columns.appearanceIndices[row] as number;
    return {
      id: columns.idAt(row),
      position: columns.positions[row] as number,
      text: text.subarray(offsets[row], offsets[row + 1]),
      box: columns.boxAt(row),
      appearance: appearances[appearanceIndex] as string,
      group: groups[appearanceIndex] as string | null,
    };
  });
}

/** Converts a checked element to the form in which a pack stores it. */
export function toPackedElement(
  element: AnnotationElement,
  id: string,
  position: number,
  overlaySize: OverlaySize | null,
): PackedElement {
  const appearances = new AppearanceTable();
  appearances.findOrAdd(element);
  return {
    id,
    position,
    text: Buffer.from(elementText(element, id)),
    box: boundingBox(element, overlaySize),
    appearance: appearances.texts[0] as string,
    group: appearances.groups[0] as string | null,
  };
}

export function createPack(elements: readonly PackedElement[]): { rows: PackRows; text: Buffer } {
  const rows = createRows(elements.length);
  const appearanceIndices = new Map<string, number>();
  for (const [i, { id, position, text, box, appearance }] of elements.entries()) {
    rows.positions[i] = position;
    rows.textLengths[i] = text.length;
    rows.details[i] = box.details;
    rows.lowx[i] = box.lowx;
    rows.highx[i] = box.highx;
    rows.lowy[i] = box.lowy;
    rows.highy[i] = box.highy;
    rows.lowz[i] = box.lowz;
    rows.highz[i] = box.highz;
    rows.ids.high[i] = idWord(id, 0);
    rows.ids.middle[i] = idWord(id, 1);
    rows.ids.low[i] = idWord(id, 2);
    let index = appearanceIndices.get(appearance);
    if (index === undefined) {
      index = rows.appearanceTexts.length;
      appearanceIndices.set(appearance, index);
      rows.appearanceTexts.push(appearance);
    }
    rows.appearanceIndices[i] = index;
  }
  return { rows, text: Buffer.concat(elements.map(({ text }) => text)) };
}
