import type { ParquetWriter } from 'hyparquet-writer';

/** The description of one part at the end of a file. */
export type RowGroup = ParquetWriter['row_groups'][number];

/** The description of a part that begins at `offset`. */
export function movedGroup(group: RowGroup, offset: number): RowGroup {
  const moved = (position: bigint) => position + BigInt(offset);
  const columns = group.columns.map(({ file_offset, meta_data, ...column }) => {
    if (meta_data === undefined) throw new Error('The writer describes every column');
    const { data_page_offset, dictionary_page_offset } = meta_data;
    const dictionary = dictionary_page_offset !== undefined && { dictionary_page_offset: moved(dictionary_page_offset) };
    const data = { ...meta_data, data_page_offset: moved(data_page_offset), ...dictionary };
    return { ...column, file_offset: moved(file_offset), meta_data: data };
  });
  return { ...group, columns, ...(group.file_offset !== undefined && { file_offset: moved(group.file_offset) }) };
}
