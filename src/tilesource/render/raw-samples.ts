import { BadValueError, TileSourceError } from '../../errors.js';
import { PyramidWriter } from '../pyramid/pyramid-writer.js';
import { tagOf, type DirectoryPlan, type TiffContainer } from '../pyramid/container.js';
import { packingTags, packTile, type TilePacking } from '../pyramid/tiles.js';
import { pictureDefaults } from '../picture-parameters.js';
import { sampleBytes } from '../raster.js';
import type { EncodedPicture, LargeImageOptions, RegionRequest, StreamedPicture } from '../requests.js';
import { parseEncoding } from './encode.js';
import { framesAlong } from './frames-along.js';
import { describeRegion, planeOrder } from './ome-description.js';
import { readPickedBlock } from './picked-samples.js';
import { asStored } from './appearance.js';
import type { Renderer } from './renderer.js';
import { planScaling, windowAtLevel } from './scale.js';
import { blockSide, streamTiff, tileSide } from './tiled-tiff.js';

/** Maximum number of bytes of samples in one response. */
const maxSampleBytes = 2 ** 32;
/** Maximum number of frames in one response. */
const maxFrames = 16_384;

/** Maximum number of pixels of a reduced region whose samples are picked at full resolution. */
const maxPickedPixels = 2 ** 24;

/** The encoding of {@link streamRawRegion} in requests. */
export const rawEncoding = 'OMETIFF';

/**
 * Streams the samples of a region as stored in the file, without colors, color correction and holes. The result is an OME-TIFF with
 * one directory for each frame. If the region is scaled, nearest pixels are picked.
 *
 * @throws BadValueError for requests that would change samples or are too large, and CorruptTileError for a corrupt tile.
 */
export async function streamRawRegion(
  renderer: Renderer,
  request: RegionRequest,
  { temporaryDirectory }: LargeImageOptions,
): Promise<EncodedPicture | StreamedPicture> {
  const { signal, frame = pictureDefaults.frame } = request;
  const packing = packingOf(request);
  const frames = await requestedFrames(renderer, frame, request.frameList, signal);
  const plan = renderer.planRegion(request);
  if (plan === null) return { kind: 'bytes', bytes: new Uint8Array(0), type: 'image/tiff' };
  const { metadata } = renderer;
  const { region, output } = plan;
  const { bandCount: bands, dtype } = metadata;
  const bytes = output.width * output.height * bands * sampleBytes(dtype) * frames.length;
  if (bytes > maxSampleBytes) {
    throw new BadValueError(
      `The samples of ${output.width} x ${output.height} pixels in ${frames.length} frames have ${bytes} bytes; ` +
        `at most ${maxSampleBytes} are allowed. Choose a smaller region or fewer frames, or convert the image.`,
    );
  }
  const readsFinest = region.width * region.height <= maxPickedPixels;
  const level = readsFinest ? metadata.levels - 1 : plan.level;
  const window = windowAtLevel(metadata, region, level);
  const scaling = planScaling(metadata, level, window, { output, kernel: 'nearest' });
  const order = planeOrder(metadata, frames);
  const pixelsPerCm = {
    x: metadata.mmX && (10 * output.width) / region.width / metadata.mmX,
    y: metadata.mmY && (10 * output.height) / region.height / metadata.mmY,
  };
  const tileTags = packingTags({ bands, dtype }, packing);

  const writeFrame = async (container: TiffContainer, writtenFrame: number, index: number): Promise<DirectoryPlan> => {
    const drawing = { level, frame: writtenFrame, appearance: asStored, scaling };
    const image = {
      ...output,
      bands,
      dtype,
      read: (box: Parameters<typeof readPickedBlock>[2]) => readPickedBlock(renderer, drawing, box, signal),
    };
    const writer = new PyramidWriter(container, image, {
      tileSide,
      blockSide,
      nearest: true,
      encode: (tile) => packTile(tile, packing),
      signal,
    });
    const levels = (await writer.write()).map((directory, halvings): DirectoryPlan => {
      const scale = 2 ** halvings;
      const resolution =
        pixelsPerCm.x && pixelsPerCm.y
          ? [tagOf.rational(282, pixelsPerCm.x / scale), tagOf.rational(283, pixelsPerCm.y / scale), tagOf.short(296, 3)]
          : [];
      return { ...directory, tags: [...directory.tags, ...tileTags, ...resolution] };
    });
    const profile = renderer.profileFor(writtenFrame, { style: null, correctsColors: true });
    const frameTags = [
      ...(profile === null ? [] : [tagOf.bytes(34_675, profile)]),
      ...(index === 0 ? [tagOf.ascii(270, describeRegion(metadata, order, { region, output }))] : []),
    ];
    return { ...levels[0]!, tags: [...levels[0]!.tags, ...frameTags], subDirectories: levels.slice(1) };
  };
  return streamTiff(
    async (container) => {
      const directories: DirectoryPlan[] = [];
      for (const [index, writtenFrame] of order.frames.entries()) {
        directories.push(await writeFrame(container, writtenFrame, index));
      }
      return container.writeDirectories(directories, { bigTiff: 'when needed' });
    },
    temporaryDirectory === undefined ? {} : { directory: temporaryDirectory },
  );
}

/** How the tiles are packed. @throws BadValueError for parameters that would change samples. */
function packingOf({ style, fill, tiffCompression }: RegionRequest): TilePacking {
  if (style !== undefined && style !== '') {
    throw new BadValueError(`A style changes samples, so it cannot be combined with encoding=${rawEncoding}.`);
  }
  if (fill !== undefined && fill.toLowerCase() !== 'none') {
    throw new BadValueError(`fill adds pixels, so it cannot be combined with encoding=${rawEncoding}.`);
  }
  // Deflate is the default, because every reader of TIFF supports it.
  const { compression } = parseEncoding({ encoding: 'TILED', tiffCompression: tiffCompression || 'deflate' });
  if (compression === 'jpeg' || compression === 'webp') {
    throw new BadValueError(
      `Invalid tiffCompression '${compression}': ${rawEncoding} keeps samples, with none, lzw, deflate, packbits or zstd.`,
    );
  }
  return { compression, quality: 0, halvesChroma: false, predictor: true, effort: null };
}

/** The frames of a request: the listed frames, or all channels of its frame. @throws BadValueError, TileSourceError */
async function requestedFrames(
  renderer: Renderer,
  frame: number,
  list: readonly number[] | undefined,
  signal: AbortSignal | undefined,
): Promise<number[]> {
  renderer.checkFrame(frame);
  if (list !== undefined && list.length > 0) {
    if (list.length > maxFrames)
      throw new BadValueError(`frameList has ${list.length} entries; at most ${maxFrames} are allowed.`);
    for (const listedFrame of list) renderer.checkFrame(listedFrame);
    return [...new Set(list)];
  }
  const channels = await framesAlong(renderer.metadata, frame, 'C', signal);
  if (channels.length > maxFrames) {
    throw new TileSourceError(`The image has ${channels.length} channels; choose at most ${maxFrames} of them with frameList.`);
  }
  return channels.length > 0 ? channels.map((channel) => channel.frame) : [frame];
}
