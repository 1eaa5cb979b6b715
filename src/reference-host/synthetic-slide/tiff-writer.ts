import { open, type FileHandle } from 'node:fs/promises';

/** The directory of one level, as written to the file. */
interface Level {
  width: number;
  height: number;
  offsets: number[];
  byteCounts: number[];
}

const tileSize = 256;

/** One entry of a directory: tag, TIFF type (2 text, 3 short, 4 long, 5 rational), values. */
type Entry = [tag: number, type: 2 | 3 | 4 | 5, values: string | readonly number[]];

const typeBytes = { 2: 1, 3: 2, 4: 4, 5: 8 } as const;

/**
 * Writes a pyramid of JPEG tiles of 256 pixels as classic TIFF (up to 4 GiB), tile by tile in any order.
 * The JPEG streams must be YCbCr with 2×2 subsampling, complete with their tables.
 */
export class PyramidWriter {
  private endOffset = 8;
  private readonly levels: Level[];

  private constructor(
    private readonly file: FileHandle,
    sizes: readonly { width: number; height: number }[],
  ) {
    this.levels = sizes.map(({ width, height }) => {
      const tiles = Math.ceil(width / tileSize) * Math.ceil(height / tileSize);
      return { width, height, offsets: Array<number>(tiles).fill(0), byteCounts: Array<number>(tiles).fill(0) };
    });
  }

  /** Creates the file, and fails if it exists. `sizes` has a size for each level, full resolution first. */
  static async create(path: string, sizes: readonly { width: number; height: number }[]): Promise<PyramidWriter> {
    return new PyramidWriter(await open(path, 'wx'), sizes);
  }

  /** Writes the tile at a column and row of a level (0 is full resolution). Calls can overlap. */
  async writeTile(levelIndex: number, column: number, row: number, jpeg: Buffer): Promise<void> {
    const level = this.levels[levelIndex];
    if (!level) throw new RangeError(`No level ${levelIndex}`);
    const tileIndex = row * Math.ceil(level.width / tileSize) + column;
    const offset = this.reserve(jpeg.length);
    level.offsets[tileIndex] = offset;
    level.byteCounts[tileIndex] = jpeg.length;
    await this.file.write(jpeg, 0, jpeg.length, offset);
  }

  /** Writes the directories, then the header, and closes the file. `mmPerPixel` is the size of a pixel at full resolution. */
  async finish(description: string, mmPerPixel: number): Promise<void> {
    const directories: { offset: number; nextFieldOffset: number }[] = [];
    const incompleteLevel = this.levels.findIndex((level) => level.offsets.includes(0));
    if (incompleteLevel >= 0) throw new Error(`Level ${incompleteLevel} has tiles that were not written`);
    const [fullLevel] = this.levels;
    for (const [index, level] of this.levels.entries()) {
      const scale = fullLevel ? fullLevel.width / level.width : 1;
      const perCentimeter = [Math.round((10 / (mmPerPixel * scale)) * 100), 100];
      const entries: Entry[] = [
        [254, 4, [index === 0 ? 0 : 1]],
        [256, 4, [level.width]],
        [257, 4, [level.height]],
        [258, 3, [8, 8, 8]],
        [259, 3, [7]],
        [262, 3, [6]],
        ...(index === 0 ? [[270, 2, description] satisfies Entry] : []),
        [277, 3, [3]],
        [282, 5, perCentimeter],
        [283, 5, perCentimeter],
        [284, 3, [1]],
        [296, 3, [3]],
        [322, 4, [tileSize]],
        [323, 4, [tileSize]],
        [324, 4, level.offsets],
        [325, 4, level.byteCounts],
        [530, 3, [2, 2]],
        [532, 5, [0, 1, 255, 1, 128, 1, 255, 1, 128, 1, 255, 1]],
      ];
      directories.push(await this.writeDirectory(entries));
    }
    // Each directory ends with the offset of the next.
    for (const [index, { nextFieldOffset }] of directories.entries()) {
      const nextField = Buffer.alloc(4);
      nextField.writeUInt32LE(directories[index + 1]?.offset ?? 0);
      await this.file.write(nextField, 0, 4, nextFieldOffset);
    }
    const header = Buffer.from('49492a0000000000', 'hex');
    header.writeUInt32LE(directories[0]?.offset ?? 0, 4);
    await this.file.write(header, 0, 8, 0);
    await this.file.sync();
    await this.file.close();
  }

  /** Closes the incomplete file. */
  async abandon(): Promise<void> {
    await this.file.close();
  }

  /** Reserves bytes at the end, at an even offset as the format requires. @returns the offset. */
  private reserve(bytes: number): number {
    const offset = this.endOffset;
    this.endOffset += bytes + (bytes % 2);
    if (this.endOffset > 0xffff_ffff) throw new RangeError('Classic TIFF ends at 4 GiB');
    return offset;
  }

  private async writeDirectory(entries: readonly Entry[]): Promise<{ offset: number; nextFieldOffset: number }> {
    const table = Buffer.alloc(2 + entries.length * 12 + 4);
    table.writeUInt16LE(entries.length);
    for (const [index, [tag, type, values]] of entries.entries()) {
      const entryOffset = 2 + index * 12;
      const bytes = encodeValues(type, values);
      table.writeUInt16LE(tag, entryOffset);
      table.writeUInt16LE(type, entryOffset + 2);
      table.writeUInt32LE(bytes.length / typeBytes[type], entryOffset + 4);
      if (bytes.length <= 4) bytes.copy(table, entryOffset + 8);
      else {
        const offset = this.reserve(bytes.length);
        await this.file.write(bytes, 0, bytes.length, offset);
        table.writeUInt32LE(offset, entryOffset + 8);
      }
    }
    const offset = this.reserve(table.length);
    await this.file.write(table, 0, table.length, offset);
    return { offset, nextFieldOffset: offset + table.length - 4 };
  }
}

function encodeValues(type: Entry[1], values: Entry[2]): Buffer {
  if (typeof values === 'string') return Buffer.from(`${values}\0`, 'latin1');
  const valueBytes = type === 3 ? 2 : 4;
  const bytes = Buffer.alloc(values.length * valueBytes);
  for (const [index, value] of values.entries()) {
    if (valueBytes === 2) bytes.writeUInt16LE(value, index * 2);
    else bytes.writeUInt32LE(value, index * 4);
  }
  return bytes;
}
