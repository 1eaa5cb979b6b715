import { boundingBox, type BoundingBox, type OverlaySize } from '../../../../annotation-format/bounding-box.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { idWord } from './ids.js';
import { elementText } from '../write/list-writer.js';
import type { LoadedPack } from '../read/loader.js';
import { LookTable } from '../read/looks.js';
import { emptyRows, type PackRows } from './pack.js';
import { columnsOf, packText } from '../read/select.js';

/** One element of a pack that is being changed. */
export interface PackItem {
  id: string;
  place: number;
  text: Buffer;
  box: BoundingBox;
  /** See LookTable. */
  look: string;
  group: string | null;
}

/** The elements of a pack with columns and text. */
export function itemsOf(pack: LoadedPack): PackItem[] {
  const columns = columnsOf(pack);
  const text = packText(pack);
  const offsets = columns.offsets();
  const looks = columns.lookTexts();
  const groups = columns.looks().map(({ group }) => group);
  return Array.from({ length: columns.count }, (_, at) => {
    const look = columns.lookIndices[at] as number;
    return {
      id: columns.idAt(at),
      place: columns.places[at] as number,
      text: text.subarray(offsets[at], offsets[at + 1]),
      box: columns.boxAt(at),
      look: looks[look] as string,
      group: groups[look] as string | null,
    };
  });
}

/** A checked element as an item of a pack. */
export function itemOf(element: AnnotationElement, id: string, place: number, overlay: OverlaySize | null): PackItem {
  const looks = new LookTable();
  looks.indexOf(element);
  return {
    id,
    place,
    text: Buffer.from(elementText(element, id)),
    box: boundingBox(element, overlay),
    look: looks.texts[0] as string,
    group: looks.groups[0] as string | null,
  };
}

/** A pack made of items. */
export function packOfItems(items: readonly PackItem[]): { rows: PackRows; text: Buffer } {
  const rows = emptyRows(items.length);
  const lookIndices = new Map<string, number>();
  for (const [i, { id, place, text, box, look }] of items.entries()) {
    rows.places[i] = place;
    rows.lengths[i] = text.length;
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
    let index = lookIndices.get(look);
    if (index === undefined) {
      index = rows.looks.length;
      lookIndices.set(look, index);
      rows.looks.push(look);
    }
    rows.lookIndices[i] = index;
  }
  return { rows, text: Buffer.concat(items.map(({ text }) => text)) };
}
