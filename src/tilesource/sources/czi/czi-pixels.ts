import { TileSourceError } from '../../../errors.js';
import type { Box } from '../../geometry.js';
import type { FileBlocks } from '../../process/decoded-blocks.js';
import { createRaster, type Raster } from '../../raster.js';
import { crop } from '../../render/pixels.js';
import { canReadRowsSeparately, isQuicklyDecoded, readBlock, type RowRange } from './block-pixels.js';
import { groupFor, type BlockGroup, type CziLayout } from './czi-layout.js';
import { paint } from './paint-blocks.js';
import type { CziBytes } from './segments.js';
import type { SubBlock } from './sub-blocks.js';

/** Number of sub-blocks of a rectangle that are decoded at the same time. */
const blocksAtOnce = 4;
/** Maximum number of sub-blocks in one tile. */
const maxBlocksPerTile = 10_000;

/** A rectangle of a frame at a scale. The scale is in pixels of full resolution per pixel. */
export interface CziRegion {
  frame: number;
  scale: number;
  /** The rectangle, in pixels of that scale. */
  box: Box;
}

/** Draws rectangles of the image from its sub-blocks. */
export class CziPixels {
  constructor(
    private readonly file: CziBytes,
    private readonly layout: CziLayout,
    private readonly blocks: FileBlocks,
  ) {}

  /** Draws a rectangle. Pixels that no sub-block covers are zero. @throws TileSourceError if a sub-block cannot be decoded. */
  async read({ frame, scale, box }: CziRegion, signal?: AbortSignal): Promise<Raster> {
    const { dtype, bands } = this.layout;
    const groups = (this.layout.frames[frame]?.scenes ?? []).flatMap((scene) => groupFor(scene, scale) ?? []);
    const [onlyGroup, ...otherGroups] = groups;
    const hasOneGroup = onlyGroup !== undefined && otherGroups.length === 0;
    const wholeBlock = hasOneGroup ? await this.#readWholeBlock(onlyGroup, { scale, box }, signal) : null;
    if (wholeBlock !== null) return wholeBlock;
    const target = createRaster({ width: box.width, height: box.height, bands, dtype });
    for (const group of groups) await this.#drawGroup(target, group, { scale, box }, signal);
    return target;
  }

  /** Reads a rectangle that is a whole sub-block or its upper left part, so that nothing has to be drawn; `null` for other rectangles. */
  async #readWholeBlock(
    { scale: storedScale, blocks }: BlockGroup,
    { scale, box }: { scale: number; box: Box },
    signal: AbortSignal | undefined,
  ): Promise<Raster | null> {
    const { left, top, width, height } = box;
    const imageBox = { left: left * scale, top: top * scale, width: width * scale, height: height * scale };
    const [block, ...otherBlocks] = blocks.filter((each) => doBoxesOverlap(this.#boxOf(each), imageBox));
    if (block === undefined || otherBlocks.length > 0 || storedScale !== scale || canReadRowsSeparately(block)) return null;
    const blockBox = this.#boxOf(block);
    const coversBox =
      blockBox.left === imageBox.left &&
      blockBox.top === imageBox.top &&
      block.storedWidth >= width &&
      block.storedHeight >= height;
    if (!coversBox) return null;
    // A sub-block that is one tile is not needed by any other tile, so that it need not be cached.
    const isWholeTile = block.storedWidth === width && block.storedHeight === height;
    const raster =
      isWholeTile && isQuicklyDecoded(block)
        ? await readBlock(this.file, block, null, signal)
        : (await this.#readBlock(block, storedScale, imageBox, signal)).raster;
    return raster.dtype === this.layout.dtype && raster.bands === this.layout.bands ? crop(raster, box) : null;
  }

  async #drawGroup(
    target: Raster,
    group: BlockGroup,
    { scale, box }: { scale: number; box: Box },
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const imageBox = {
      left: box.left * scale,
      top: box.top * scale,
      width: box.width * scale,
      height: box.height * scale,
    };
    if (!doBoxesOverlap(group.box, imageBox)) return;
    const overlappingBlocks = group.blocks.filter((block) => doBoxesOverlap(this.#boxOf(block), imageBox));
    if (overlappingBlocks.length > maxBlocksPerTile) {
      throw new TileSourceError(
        `${overlappingBlocks.length} sub-blocks of the CZI overlap one tile; at most ${maxBlocksPerTile} are supported.`,
      );
    }
    for (let start = 0; start < overlappingBlocks.length; start += blocksAtOnce) {
      signal?.throwIfAborted();
      const batch = overlappingBlocks.slice(start, start + blocksAtOnce);
      const pictures = await Promise.all(batch.map((block) => this.#readBlock(block, group.scale, imageBox, signal)));
      for (const [index, { raster, top }] of pictures.entries()) {
        const blockBox = this.#boxOf(batch[index]!);
        paint(target, raster, {
          left: blockBox.left / scale - box.left,
          top: (blockBox.top + top * group.scale) / scale - box.top,
          step: group.scale / scale,
        });
      }
    }
  }

  /**
   * Decodes a sub-block. If its rows can be read separately, only the rows that the rectangle needs are decoded.
   *
   * @returns the decoded rows, and the index of the first of them.
   */
  async #readBlock(
    block: SubBlock,
    scale: number,
    imageBox: Box,
    signal: AbortSignal | undefined,
  ): Promise<{ raster: Raster; top: number }> {
    if (!canReadRowsSeparately(block)) {
      const key = String(block.position);
      return {
        raster: await this.blocks.read(key, (sharedSignal) => readBlock(this.file, block, null, sharedSignal), signal),
        top: 0,
      };
    }
    const { top } = this.#boxOf(block);
    const firstRow = Math.max(0, Math.floor((imageBox.top - top) / scale));
    const endRow = Math.min(block.storedHeight, Math.ceil((imageBox.top + imageBox.height - top) / scale));
    const rows: RowRange = { top: Math.min(firstRow, block.storedHeight - 1), height: Math.max(1, endRow - firstRow) };
    return { raster: await readBlock(this.file, block, rows, signal), top: rows.top };
  }

  #boxOf({ left, top, width, height }: SubBlock): Box {
    return { left: left - this.layout.left, top: top - this.layout.top, width, height };
  }
}

function doBoxesOverlap(a: Box, b: Box): boolean {
  return a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;
}
