import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { PackColumns } from '../packs/pack.js';
import { parseElement } from './locate.js';
import { cellsOf, TableDraft } from '../write/table-draft.js';

/**
 * Makes the table of packs that are in no segment. For this, the texts of all their elements are parsed.
 *
 * @param onElement is called with each element and awaited.
 */
export async function draftTableOfPacks(
  packs: AsyncIterable<{ columns: PackColumns; text: Buffer }> | Iterable<{ columns: PackColumns; text: Buffer }>,
  onElement: (element: AnnotationElement) => Promise<void> | void = () => {},
): Promise<{ table: TableDraft; packColumns: PackColumns[] }> {
  const table = new TableDraft();
  const packColumns: PackColumns[] = [];
  for await (const { columns, text } of packs) {
    const offsets = columns.textOffsets();
    for (let row = 0; row < columns.count; row += 1) {
      const element = await parseElement(text.subarray(offsets[row], offsets[row + 1]));
      table.add(cellsOf(element, columns.boxAt(row)));
      await onElement(element);
    }
    packColumns.push(columns);
  }
  return { table, packColumns };
}
