import { createReadStream } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { findProgram } from '../../../core/concurrency/program.js';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import { createTemporaryDirectory } from '../../../core/temporary-files.js';
import { BadParameterError, LargeImageError } from '../../../errors.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { ChangeRequest } from '../documents/annotation-dependencies.js';
import type { AnnotationEdits } from '../documents/edits.js';
import type { AnnotationLifecycle } from '../documents/lifecycle.js';
import type { ElementStore, StoredElements } from '../elements/element-store.js';
import { patchElement } from './element-patch.js';
import type { ImportFunctions, Refusal, TableInput } from './import-thread.js';
import type { ImportCell, TableKind } from './incoming-table.js';
import { maxNamedIds, type PatchTable } from './patch-rows.js';
import { textsOfRows } from './row-file.js';
import { findId, idAt } from './row-ids.js';
import { saveBody } from './save-body.js';

const timeoutMs = 30 * 60_000;
const memoryMiB = 2048;
/** Maximum number of tables that wait for a thread. */
const maxWaitingTables = 16;
/** If at most this many elements change, only their packs are written. Otherwise, all packs are written. */
const maxEditedElements = 2000;
/** Number of elements that get their values at a time. */
const elementsAtOnce = 4096;
/** Number of bytes of a document that are read at a time. */
const readBytes = 256 * 1024;
const inputName = 'The table';

/** The formats of tables by media type. */
const kindsByMediaType: ReadonlyMap<string, TableKind> = new Map([
  ['text/csv', 'csv'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['application/vnd.apache.arrow.stream', 'arrow'],
]);

/** Finds the format that a `Content-Type` names. Returns `null` if it is not a format of tables. */
export function tableKindOf(contentType: string | undefined): TableKind | null {
  return kindsByMediaType.get((contentType ?? '').split(';')[0]!.trim().toLowerCase()) ?? null;
}

/** Like {@link tableKindOf}, for tables of shapes, which cannot be CSV. */
export function shapeTableKindOf(contentType: string | undefined): TableKind | null {
  const kind = tableKindOf(contentType);
  return kind === 'csv' ? null : kind;
}

/** Media types of tables. */
export const tableTypes = [...kindsByMediaType.keys()];
/** Media types of tables of shapes. */
export const shapeTableTypes = tableTypes.filter((type) => shapeTableKindOf(type) !== null);

/** Options of {@link TableImports}. */
export interface TableImportsOptions {
  store: ElementStore;
  edits: AnnotationEdits;
  lifecycle: AnnotationLifecycle;
  brand: string;
  temporaryDirectory: string;
  /** Maximum size of a table in bytes. */
  maxBytes: number;
}

/** Reads tables that clients send. Each table is first saved as a temporary file, and then read in a thread. */
export class TableImports {
  readonly #threads = new ThreadPool<ImportFunctions>({
    program: findProgram(import.meta.url, { source: './import-thread.ts', built: 'table-import-thread' }),
    name: 'tables',
    timeoutMs,
    memoryMiB,
    maxWaiting: maxWaitingTables,
  });

  constructor(private readonly options: TableImportsOptions) {}

  close(): Promise<void> {
    return this.#threads.close();
  }

  /**
   * Sets values of elements, in one new version.
   *
   * @param table `removesEmpty`: whether an empty cell removes the element's value.
   * @returns `changedCount`: number of elements with new values.
   * @throws BadParameterError that names the ids for which there is no element.
   */
  async patch(
    request: ChangeRequest & { signal: AbortSignal },
    { body, kind, removesEmpty }: { body: Readable; kind: TableKind; removesEmpty: boolean },
  ): Promise<{ annotation: AnnotationRecord; changedCount: number }> {
    const { signal } = request;
    return this.#withBody(body, kind, signal, async (input, directory) => {
      const rowsPath = join(directory, 'rows');
      const table = requireAccepted(await this.#threads.run('patchRows', { ...input, to: rowsPath }, { inputName, signal }));
      const file = await open(rowsPath, 'r');
      try {
        const patch = new TablePatch(table, file, removesEmpty, signal);
        const annotation =
          table.count <= maxEditedElements ? await this.#edit(request, patch) : await this.#rewrite(request, patch);
        return { annotation, changedCount: table.count };
      } finally {
        await file.close();
      }
    });
  }

  /**
   * Makes an annotation from a table of shapes.
   *
   * @param options `admit`: called after the table was read. Checks that the caller may still annotate the item, and returns the item.
   */
  async create(
    { body, kind, name }: { body: Readable; kind: TableKind; name: string | undefined },
    { admit, caller, signal }: { admit: () => Promise<ItemRecord>; caller: Caller | null; signal: AbortSignal },
  ): Promise<{ created: readonly AnnotationRecord[]; skippedCount: number }> {
    return this.#withBody(body, kind, signal, async (input, directory) => {
      const { brand } = this.options;
      const options = { directory, brand, name };
      const result = requireAccepted(await this.#threads.run('elementRows', { ...input, options }, { inputName, signal }));
      const document = createReadStream(join(directory, result.file), { highWaterMark: readBytes });
      const { created } = await this.options.lifecycle.create(await admit(), document, 'created', { caller, signal });
      return { created, skippedCount: result.skippedCount };
    });
  }

  async #edit(request: ChangeRequest, patch: TablePatch): Promise<AnnotationRecord> {
    const { ids } = patch;
    const cells = await patch.cellsOf(ids.map((_, i) => i));
    const { annotation } = await this.options.edits.changeElements(request, {
      elementIds: ids,
      changes: async (stored, editing) => {
        const elements = await editing.find(stored, ids, request);
        const unknownIds = ids.filter((id) => !elements.has(id));
        if (unknownIds.length > 0) throw unknownIdsError(unknownIds, unknownIds.length);
        return { put: ids.map((id, i) => patch.apply(elements.get(id)!, cells[i]!)) };
      },
    });
    return annotation;
  }

  #rewrite({ current: _before, ...request }: ChangeRequest, patch: TablePatch): Promise<AnnotationRecord> {
    return this.options.lifecycle.rewriteElements(request, (stored) => patch.patchAll(this.options.store, stored));
  }

  async #withBody<Result>(
    body: Readable,
    kind: TableKind,
    signal: AbortSignal,
    read: (input: TableInput, directory: string) => Promise<Result>,
  ): Promise<Result> {
    const directory = await createTemporaryDirectory(this.options.temporaryDirectory);
    try {
      const path = join(directory.path, 'body');
      await saveBody(body, path, this.options.maxBytes, signal);
      return await read({ path, kind }, directory.path);
    } finally {
      await directory.remove();
    }
  }
}

function requireAccepted<Result extends object>(result: Result | Refusal): Result {
  if ('refusalMessage' in result) throw new LargeImageError(result.code, result.refusalMessage);
  return result;
}

function unknownIdsError(ids: readonly string[], count: number): BadParameterError {
  const listedIds = ids.slice(0, maxNamedIds);
  const unlistedCount = count - listedIds.length;
  const more = unlistedCount > 0 ? ` and ${unlistedCount} more` : '';
  return new BadParameterError(
    `The annotation has no elements with these ids: ${listedIds.join(', ')}${more}. Nothing was changed.`,
  );
}

/** Values for elements, which are read from a file when they are needed. */
class TablePatch {
  /** The row of each id, by the id's position among the sorted ids. */
  readonly #rowByPosition: Uint32Array;

  constructor(
    private readonly table: PatchTable,
    private readonly file: FileHandle,
    private readonly removesEmpty: boolean,
    private readonly signal: AbortSignal,
  ) {
    this.#rowByPosition = table.ids.rows;
  }

  /** The ids of all elements with values, sorted. */
  get ids(): string[] {
    return Array.from({ length: this.table.count }, (_, i) => idAt(this.table.ids.words, i));
  }

  /** Reads the cells of some ids. @param positions the positions of these ids among the sorted ids. */
  async cellsOf(positions: readonly number[]): Promise<ImportCell[][]> {
    const texts = await textsOfRows(
      this.file,
      this.table.places,
      positions.map((position) => this.#rowByPosition[position]!),
    );
    const cells: ImportCell[][] = [];
    for (const text of texts) {
      cells.push(JSON.parse(text) as ImportCell[]);
      if (isSliceOver()) await nextSlice(this.signal);
    }
    return cells;
  }

  apply(element: AnnotationElement, cells: readonly ImportCell[]): AnnotationElement {
    return patchElement(element, this.table.targets, cells, this.removesEmpty);
  }

  /**
   * Yields all elements of a version with their new values.
   *
   * @throws BadParameterError after the last element, if some ids belong to no element.
   */
  async *patchAll(store: ElementStore, stored: StoredElements): AsyncGenerator<AnnotationElement, void, undefined> {
    const { ids, count } = this.table;
    const foundFlags = new Uint8Array(count);
    let matchedCount = 0;
    let batch: AnnotationElement[] = [];
    const patchBatch = async function* (this: TablePatch) {
      const matchedPositions: number[] = [];
      const idPositions: number[] = [];
      for (const element of batch) {
        const position = findId(ids, element.id!);
        idPositions.push(position);
        if (position < 0) continue;
        matchedPositions.push(position);
        foundFlags[position] = 1;
        matchedCount += 1;
      }
      const cells = await this.cellsOf(matchedPositions);
      let nextMatch = 0;
      for (const [i, element] of batch.entries()) {
        yield idPositions[i]! < 0 ? element : this.apply(element, cells[nextMatch++]!);
        if (isSliceOver()) await nextSlice(this.signal);
      }
      batch = [];
    }.bind(this);
    for await (const { element } of store.scan(stored, { signal: this.signal })) {
      batch.push(element);
      if (batch.length === elementsAtOnce) yield* patchBatch();
    }
    yield* patchBatch();
    if (matchedCount === count) return;
    const unknownIds: string[] = [];
    for (let i = 0; i < count && unknownIds.length < maxNamedIds; i += 1) {
      if (foundFlags[i] === 0) unknownIds.push(idAt(ids.words, i));
    }
    throw unknownIdsError(unknownIds, count - matchedCount);
  }
}
