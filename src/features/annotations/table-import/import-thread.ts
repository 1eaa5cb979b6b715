import { LargeImageError, type ErrorCode } from '../../../errors.js';
import { isFullDiskCode } from '../../../core/full-disk.js';
import { createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { openArrow } from './arrow-table.js';
import { openCsv } from './csv-table.js';
import { writeElements, type ElementRowsOptions } from './element-rows.js';
import { toReadError, type IncomingTable, type TableKind } from './incoming-table.js';
import { openParquet } from './parquet-table.js';
import { writePatchRows } from './patch-rows.js';

/**
 * Why a table was refused. A refusal is returned instead of thrown, because an error that is thrown in a thread loses everything but its
 * message.
 */
export interface Refusal {
  /** The message for the client. */
  refusalMessage: string;
  code: ErrorCode;
}

/** A table that a client has sent, in a temporary file. */
export interface TableInput {
  path: string;
  kind: TableKind;
}

const openers = { csv: openCsv, parquet: openParquet, arrow: openArrow };

/** Opens a table, and calls `read` with it. Errors about the file become refusals. */
async function withTable<Result>(
  { path, kind }: TableInput,
  read: (table: IncomingTable) => Promise<Result>,
): Promise<Result | Refusal> {
  try {
    const table = await openers[kind](path).catch((error: unknown) => {
      throw toReadError(kind, error);
    });
    const rows: IncomingTable['rows'] = async function* (indices) {
      try {
        yield* table.rows(indices);
      } catch (error) {
        throw toReadError(kind, error);
      }
    };
    try {
      return await read({ ...table, rows });
    } finally {
      await table.close();
    }
  } catch (error) {
    if (error instanceof LargeImageError) return { refusalMessage: error.message, code: error.code };
    if (!isFullDiskCode((error as { code?: unknown }).code)) throw error;
    return { refusalMessage: 'There is no space left on the disk of the server.', code: 'storage-full' };
  }
}

const functions = {
  /** See {@link writeElements}. */
  elementRows: ({ options, ...input }: TableInput & { options: ElementRowsOptions }) =>
    withTable(input, (table) => writeElements(table, options)),
  /** See {@link writePatchRows}. `to` is the path of the file that is written. */
  patchRows: ({ to, ...input }: TableInput & { to: string }) => withTable(input, (table) => writePatchRows(table, to)),
};

/** The functions of the threads that read tables. */
export type ImportFunctions = typeof functions;

export default createCallHandler(functions);
