import type { ParquetWriter } from 'hyparquet-writer';

/** The description of a row group at the end of a Parquet file. */
export type RowGroup = ParquetWriter['row_groups'][number];

/** Adds `offset` to all positions in a row group that is placed `offset` bytes after the position for which it was written. */
export function shiftRowGroup(group: RowGroup, offset: number): RowGroup {
  const shift = (position: bigint) => position + BigInt(offset);
  const columns = group.columns.map(({ file_offset, meta_data, ...column }) => {
    if (meta_data === undefined) throw new Error('The writer describes every column');
    const { data_page_offset, dictionary_page_offset } = meta_data;
    const dictionary = dictionary_page_offset !== undefined && { dictionary_page_offset: shift(dictionary_page_offset) };
    const shiftedMetadata = { ...meta_data, data_page_offset: shift(data_page_offset), ...dictionary };
    return { ...column, file_offset: shift(file_offset), meta_data: shiftedMetadata };
  });
  return { ...group, columns, ...(group.file_offset !== undefined && { file_offset: shift(group.file_offset) }) };
}
