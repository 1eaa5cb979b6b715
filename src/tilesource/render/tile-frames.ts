import { BadValueError, TileSourceError } from '../../errors.js';
import { mapConcurrently } from '../../core/concurrency/map-concurrently.js';
import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { encodePicture, parseEncoding } from './encode.js';
import { blit, createByteConverter, solidPicture, addAlpha, grayToColor, type Picture } from './pixels.js';
import { CorruptTiles } from './corrupt-tiles.js';
import { corruptTilesMember, type RegionMaker } from './region.js';
import { backgroundOf } from './appearance.js';
import type { Renderer } from './renderer.js';
import type { EncodedPicture, StreamedPicture, TileFramesRequest } from '../requests.js';

/** Number of frames that are read at the same time. */
const frameConcurrency = 2;
/** Maximum number of frames of one picture. */
const maxFrames = 16_384;

/** Parses a list of frame numbers, separated by commas, optionally in brackets. @throws BadValueError */
export function parseFrameList(text: string | undefined): number[] | undefined {
  const inner = text
    ?.trim()
    .replace(/^\[(.*)\]$/s, '$1')
    .trim();
  if (!inner) return undefined;
  return inner.split(',').map((part) => {
    const number = part.trim() === '' ? NaN : Number(part);
    if (!Number.isSafeInteger(number))
      throw new BadValueError(`Invalid frameList "${text}": must be whole numbers separated by commas`);
    return number;
  });
}

/** Columns and rows of a sprite. @throws BadValueError */
export function spriteGrid(frames: number, framesAcross?: number): { columns: number; rows: number } {
  if (framesAcross !== undefined && !(Number.isInteger(framesAcross) && framesAcross >= 1)) {
    throw new BadValueError(`Invalid framesAcross ${framesAcross}. Minimum value is 1.`);
  }
  const columns = Math.min(frames, framesAcross ?? Math.ceil(Math.sqrt(frames)));
  return { columns, rows: Math.ceil(frames / columns) };
}

/** Renders one picture with the same region of several frames, row by row. */
export async function renderSprite(
  renderer: Renderer,
  regions: RegionMaker,
  request: TileFramesRequest,
): Promise<EncodedPicture | StreamedPicture> {
  const { frameList, framesAcross, ...region } = request;
  const listedFrames = (frameList ?? []).filter((frame) => Number.isInteger(frame) && frame >= 0 && frame < renderer.frameCount);
  const frames = listedFrames.length > 0 ? listedFrames : Array.from({ length: renderer.frameCount }, (_, frame) => frame);
  if (frames.length > maxFrames) {
    throw new BadValueError(
      `One picture shows at most ${maxFrames} frames, not ${frames.length}. Choose some of them with frameList.`,
    );
  }
  const { columns, rows } = spriteGrid(frames.length, framesAcross);
  const [firstFrame] = frames;
  if (frames.length === 1 && firstFrame !== undefined) return regions.renderRegion({ ...region, frame: firstFrame });
  const encoding = parseEncoding(request);
  const prepared = await regions.prepare({ ...region, frame: frames[0] ?? 0 });
  if (!prepared) return { kind: 'bytes', bytes: new Uint8Array(0), type: encoding.type };
  const cellSize = prepared.canvas;
  const size = { width: cellSize.width * columns, height: cellSize.height * rows };
  // The sprite is assembled in memory, even for TILED, so its size is limited as for TIFF.
  regions.checkSize(size, { ...encoding, encoding: encoding.encoding === 'TILED' ? 'TIFF' : encoding.encoding });
  const { fill, plan } = prepared;
  const isCentered = fill?.anchor === 'center';
  const offset = {
    left: isCentered ? Math.floor((cellSize.width - plan.output.width) / 2) : 0,
    top: isCentered ? Math.floor((cellSize.height - plan.output.height) / 2) : 0,
  };
  const isPadded = cellSize.width !== plan.output.width || cellSize.height !== plan.output.height;
  const addsColor = isPadded && fill !== null && !(fill.color[0] === fill.color[1] && fill.color[1] === fill.color[2]);
  // A sample of 0 is not black in every sample type.
  const emptySample = prepared.appearance.style ? 0 : createByteConverter(renderer.metadata.dtype, renderer.metadata.white)(0);
  let sprite: Picture | undefined;
  let holeCount = 0;
  const positionsOfFrames = new Map<number, number[]>();
  for (const [position, frame] of frames.entries()) {
    const existing = positionsOfFrames.get(frame);
    if (existing === undefined) positionsOfFrames.set(frame, [position]);
    else existing.push(position);
  }
  await mapConcurrently([...positionsOfFrames], frameConcurrency, async ([frame, positions]) => {
    const corrupt = new CorruptTiles();
    let picture = await regions.drawRegion({ ...prepared, frame }, corrupt, request.signal);
    corrupt.throwIfAllCorrupt();
    // Without a style, a tiled picture consists of the image's samples, among which no holes may be drawn.
    if (encoding.encoding === 'TILED' && prepared.appearance.style === null && corrupt.count > 0) throw corrupt.errors[0]!;
    holeCount += corrupt.count;
    if (addsColor) picture = await grayToColor(picture);
    sprite ??= solidPicture(size, picture.bands, [emptySample, emptySample, emptySample, 0]);
    const cellPicture = await convertToBands(picture, sprite.bands);
    const padding = isPadded && fill ? solidPicture(cellSize, sprite.bands, fill.color) : null;
    for (const position of positions) {
      const at = { left: (position % columns) * cellSize.width, top: Math.floor(position / columns) * cellSize.height };
      if (padding !== null) blit(sprite, padding, at);
      blit(sprite, cellPicture, { left: at.left + offset.left, top: at.top + offset.top });
      if (isSliceOver()) await nextSlice(request.signal);
    }
  });
  if (!sprite) return { kind: 'bytes', bytes: new Uint8Array(0), type: encoding.type };
  const holesMember = corruptTilesMember({ count: holeCount });
  if (encoding.encoding === 'TILED')
    return { ...(await regions.streamPicture(sprite, encoding, request.signal)), ...holesMember };
  const background = fill?.color ?? backgroundOf(prepared.appearance);
  const bytes = await encodePicture(sprite, encoding, { signal: request.signal, background });
  return { kind: 'bytes', bytes, type: encoding.type, ...holesMember };
}

/**
 * Converts a frame to the bands of the first frame. Usually, all frames of an image have the same bands, but some files break this
 * rule.
 */
async function convertToBands(picture: Picture, bands: Picture['bands']): Promise<Picture> {
  let out = picture;
  if (bands >= 3) out = await grayToColor(out);
  if (bands === 2 || bands === 4) out = await addAlpha(out);
  if (out.bands !== bands)
    throw new TileSourceError('The frames have different numbers of bands and cannot be combined in one picture');
  return out;
}
