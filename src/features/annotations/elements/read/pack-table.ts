import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { PackColumns } from '../packs/pack.js';
import { parsedElement } from './locate.js';
import { cellsOf, TableDraft } from '../write/table-draft.js';

/** The table of packs that are in no segment, from the texts of their elements, pack by pack. @param each takes every element, and is awaited. */
export async function tableOfPacks(
  packs: AsyncIterable<{ columns: PackColumns; text: Buffer }> | Iterable<{ columns: PackColumns; text: Buffer }>,
  each: (element: AnnotationElement) => Promise<void> | void = () => {},
): Promise<{ table: TableDraft; packs: PackColumns[] }> {
  const table = new TableDraft();
  const read: PackColumns[] = [];
  for await (const { columns, text } of packs) {
    const offsets = columns.offsets();
    for (let at = 0; at < columns.count; at += 1) {
      const element = await parsedElement(text.subarray(offsets[at], offsets[at + 1]));
      table.add(cellsOf(element, columns.boxAt(at)));
      await each(element);
    }
    read.push(columns);
  }
  return { table, packs: read };
}
