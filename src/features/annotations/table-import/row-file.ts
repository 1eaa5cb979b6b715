import { open, type FileHandle } from 'node:fs/promises';
import { LargeImageError } from '../../../errors.js';

/** Maximum size of a file in bytes. */
const maxBytes = 4 * 1024 ** 3;
/** When at least this many bytes are pending, the pending texts are written to the file. */
const flushBytes = 1024 * 1024;
/** Two texts are read together if the gap between them has fewer bytes than this. */
const maxGapBytes = 8 * 1024;
/** Maximum number of bytes that are read together. */
const maxReadBytes = 4 * 1024 * 1024;

/** The places of the texts of rows in a file, as offsets and lengths in bytes. */
export interface RowPlaces {
  starts: Float64Array;
  lengths: Uint32Array;
}

/** Writes the texts of rows to a new file, one after the other. */
export class RowFile {
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];
  #pendingTexts: string[] = [];
  #pendingBytes = 0;
  #totalBytes = 0;

  private constructor(private readonly file: FileHandle) {}

  static async create(path: string): Promise<RowFile> {
    return new RowFile(await open(path, 'wx', 0o600));
  }

  /** Number of rows that were added. */
  get count(): number {
    return this.#starts.length;
  }

  /** Adds a row, and writes a separator before it. */
  async addRow(text: string, separator = ''): Promise<void> {
    await this.write(separator);
    this.#starts.push(this.#totalBytes);
    const length = Buffer.byteLength(text);
    this.#lengths.push(length);
    await this.#write(text, length);
  }

  /** Writes text that belongs to no row. */
  async write(text: string): Promise<void> {
    if (text !== '') await this.#write(text, Buffer.byteLength(text));
  }

  async #write(text: string, length: number): Promise<void> {
    this.#pendingTexts.push(text);
    this.#pendingBytes += length;
    this.#totalBytes += length;
    if (this.#totalBytes > maxBytes)
      throw new LargeImageError('too-large', `The values of the table take more than ${maxBytes} bytes.`);
    if (this.#pendingBytes >= flushBytes) await this.#flush();
  }

  async #flush(): Promise<void> {
    const text = this.#pendingTexts.join('');
    this.#pendingTexts = [];
    this.#pendingBytes = 0;
    await this.file.writeFile(text);
  }

  /** Writes pending texts to the file. @returns the places of all rows. */
  async flushAndLocate(): Promise<RowPlaces> {
    await this.#flush();
    return { starts: Float64Array.from(this.#starts), lengths: Uint32Array.from(this.#lengths) };
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

/** Reads the texts of some rows of a file, in the order of `rows`. Texts that are near each other are read together. */
export async function textsOfRows(file: FileHandle, { starts, lengths }: RowPlaces, rows: ArrayLike<number>): Promise<string[]> {
  const texts = Array.from<string>({ length: rows.length });
  const order = Uint32Array.from(rows, (_, i) => i).sort((a, b) => starts[rows[a]!]! - starts[rows[b]!]!);
  const startOf = (i: number) => starts[rows[order[i]!]!]!;
  const endOf = (i: number) => startOf(i) + lengths[rows[order[i]!]!]!;
  for (let from = 0, to = 0; from < order.length; from = to) {
    const start = startOf(from);
    let end = endOf(from);
    const isNear = (i: number) => startOf(i) - end < maxGapBytes && endOf(i) - start < maxReadBytes;
    for (to = from + 1; to < order.length && isNear(to); to += 1) end = endOf(to);
    const bytes = Buffer.allocUnsafe(end - start);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
    if (bytesRead < bytes.length) throw new Error('a temporary file ends early');
    for (let i = from; i < to; i += 1) texts[order[i]!] = bytes.toString('utf8', startOf(i) - start, endOf(i) - start);
  }
  return texts;
}
