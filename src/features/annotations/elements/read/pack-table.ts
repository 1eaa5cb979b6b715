import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { PackColumns } from '../packs/pack.js';
import { parsedElement } from './locate.js';
import { cellsOf, TableDraft } from '../write/table-draft.js';

/** The table of packs that are in no segment, from the texts of their elements, pack by pack. @param each takes every element, and is awaited. */
export async function tableOfPacks(
  packs: AsyncIterable<{ columns: PackColumns; text: Buffer }> | Iterable<{ columns: PackColumns; text: Buffer }>,
  each: (element: AnnotationElement) => Promise<void> | void = () => {},
): Promise<TableDraft> {
  const table = new TableDraft();
  for await (const { columns, text } of packs) {
    const offsets = columns.offsets();
    const appearances = columns.appearanceTexts();
    for (let at = 0; at < columns.count; at += 1) {
      const box = columns.boxAt(at);
      const element = await parsedElement(text.subarray(offsets[at], offsets[at + 1]));
      const appearance = appearances[columns.appearanceIndices[at] as number] as string;
      const [order, bytes] = [columns.positions[at] as number, columns.lengths[at] as number];
      table.add(cellsOf(element, box), { id: columns.idAt(at), box, order, bytes, appearance });
      await each(element);
    }
  }
  return table;
}
