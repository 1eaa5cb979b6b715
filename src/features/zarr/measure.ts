import { CorruptTileError } from '../../errors.js';
import type { Box } from '../../tilesource/geometry.js';
import { bandInterpretations } from '../../tilesource/measure/histogram.js';
import { fullValue, minValue, type Raster } from '../../tilesource/raster.js';
import type { ImageMetadata } from '../../tilesource/tile-source.js';
import { sourceLevelOf, type ArrayImage } from './arrays.js';
import { toChunkBytes, compressChunk } from './chunk-bytes.js';
import type { ChunkCodec } from './nodes.js';

/** Facts about the samples of an image, measured on a coarse level. */
export interface Measurements {
  /** The member `omero` of the OME metadata: channels with their colors and contrast windows. */
  omero: Record<string, unknown>;
  codec: ChunkCodec;
}

/** Reads samples of a level of the tile source. A negative level is coarser than all levels of the source. */
export type ReadBox = (frameBox: { frame: number; level: number; box: Box }) => Promise<Raster>;

/** Maximum number of channels whose contrast is measured. The windows of further channels show the whole range. */
const maxMeasuredChannels = 64;
/** The share of samples that a window leaves out at each end. */
const clippedShare = 0.001;
/** Maximum number of samples that are sorted to find a window. */
const maxSortedSamples = 2 ** 16;
/**
 * Maximum number of levels between the coarsest dataset and the coarsest level in the file. If there are more, the dataset is not
 * computed, because that could read the whole image.
 */
const maxComputedLevels = 2;
/** Compression is used if it leaves less than this share of the bytes. */
const maxCompressedShare = 0.9;

const colorsOfBands = ['FF0000', '00FF00', '0000FF', 'FFFFFF'];
const colorsOfChannels = ['0000FF', '00FF00', 'FF0000', 'FF00FF', '00FFFF', 'FFFF00', 'FFFFFF'];

/** Measures contrast windows, and whether compression helps, on the coarsest dataset. */
export async function measureImage(image: ArrayImage, populatedLevels: readonly number[], read: ReadBox): Promise<Measurements> {
  const { metadata, lengths } = image;
  const coarseRegion = coarseBox(image, populatedLevels);
  const defaultZ = Math.floor(lengths.z / 2);
  const channels: Record<string, unknown>[] = [];
  let codec: ChunkCodec | null = null;
  let samples: Raster | null = null;
  let sampledFrame = -1;
  const isColor = hasColors(metadata);
  for (let c = 0; c < lengths.c; c += 1) {
    const frameBand = image.frameBandAt({ t: 0, c, z: defaultZ }) ?? image.frameBandAt({ t: 0, c, z: 0 });
    let window: [number, number] | null = null;
    if (frameBand !== null && Math.floor(c / metadata.bandCount) < maxMeasuredChannels && (!isColor || codec === null)) {
      if (frameBand.frame !== sampledFrame)
        samples = await read({ ...coarseRegion, frame: frameBand.frame }).catch(nullIfCorrupt);
      sampledFrame = frameBand.frame;
      if (samples === null) {
        channels.push(omeroChannelOf(image, c, null));
        continue;
      }
      if (codec === null) {
        const bytes = toChunkBytes(samples, frameBand.band, image.chunkSide);
        codec = (await compressChunk(bytes)).length < bytes.length * maxCompressedShare ? 'zstd' : 'none';
      }
      if (!isColor) window = contrastWindow(samples, frameBand.band);
    }
    channels.push(omeroChannelOf(image, c, window));
  }
  const model = isColor || lengths.c > 1 ? 'color' : 'greyscale';
  return { omero: { channels, rdefs: { model, defaultT: 0, defaultZ } }, codec: codec ?? 'zstd' };
}

/** Ignores corrupt tiles: the window of the channel is then unknown, but the other chunks of the image can still be read. */
function nullIfCorrupt(error: unknown): null {
  if (error instanceof CorruptTileError) return null;
  throw error;
}

/** The whole of the coarsest dataset, or a chunk-sized part of the coarsest level of the file. */
function coarseBox(image: ArrayImage, populatedLevels: readonly number[]): { level: number; box: Box } {
  const coarsestIndex = image.levels.length - 1;
  const level = sourceLevelOf(image, coarsestIndex);
  const storedLevel = populatedLevels[0] ?? image.metadata.levels - 1;
  if (storedLevel - level <= maxComputedLevels) return { level, box: { left: 0, top: 0, ...image.levels[coarsestIndex]! } };
  const size = image.levels[image.metadata.levels - 1 - storedLevel]!;
  const width = Math.min(size.width, image.chunkSide);
  const height = Math.min(size.height, image.chunkSide);
  const left = Math.floor((size.width - width) / 2);
  return { level: storedLevel, box: { left, top: Math.floor((size.height - height) / 2), width, height } };
}

/** Whether the bands are colors, which are shown unchanged. */
function hasColors({ bandCount, dtype }: ImageMetadata): boolean {
  return dtype === 'uint8' && (bandCount === 3 || bandCount === 4);
}

/** The window of a band: the range of its samples without the most extreme samples; `null` if no sample is a number. */
function contrastWindow({ data, bands }: Raster, band: number): [number, number] | null {
  const pixelCount = data.length / bands;
  const step = Math.max(1, Math.ceil(pixelCount / maxSortedSamples));
  const values = new Float64Array(Math.ceil(pixelCount / step));
  let valueCount = 0;
  for (let pixel = 0; pixel < pixelCount; pixel += step) {
    const value = data[pixel * bands + band]!;
    if (Number.isFinite(value)) values[valueCount++] = value;
  }
  if (valueCount === 0) return null;
  const sortedValues = values.subarray(0, valueCount).sort();
  const clippedCount = Math.floor(clippedShare * valueCount);
  return [sortedValues[clippedCount]!, sortedValues[valueCount - 1 - clippedCount]!];
}

function omeroChannelOf({ metadata }: ArrayImage, c: number, window: [number, number] | null): Record<string, unknown> {
  const { bandCount, channels, frames, dtype, white } = metadata;
  const channel = Math.floor(c / bandCount);
  const band = c % bandCount;
  const frame = frames?.find(({ axes }) => (axes.C ?? 0) === channel);
  const isAlpha = band === bandCount - 1 && (bandCount === 2 || bandCount === 4);
  const ownName = channels?.[channel] ?? frame?.channel;
  const bandName = bandCount > 1 ? bandInterpretations(bandCount)[band] : undefined;
  const label = [ownName ?? (bandCount > 1 && channel === 0 ? undefined : `Channel ${channel + 1}`), bandName]
    .filter(Boolean)
    .join(' ');
  const max = white ?? fullValue(dtype);
  const isFloat = dtype.startsWith('float');
  const min = white === undefined ? minValue(dtype) : dtype.startsWith('int') ? -white - 1 : 0;
  const [start, end] = window ?? [min, max];
  return {
    label,
    color: channelColorOf({ ownColor: frame?.color, band, bandCount, channel, isOnly: (frames?.length ?? 1) === 1 }),
    active: !isAlpha,
    window: {
      start,
      end: end > start ? end : start + 1,
      min: isFloat ? Math.min(start, min) : min,
      max: isFloat ? Math.max(end, start + 1) : max,
    },
  };
}

function channelColorOf(channelInfo: {
  ownColor: string | undefined;
  band: number;
  bandCount: number;
  channel: number;
  isOnly: boolean;
}): string {
  const ownHex = /^#([0-9a-f]{6})/i.exec(channelInfo.ownColor ?? '')?.[1];
  if (ownHex !== undefined) return ownHex.toUpperCase();
  if (channelInfo.bandCount > 2) return colorsOfBands[channelInfo.band % colorsOfBands.length]!;
  return channelInfo.isOnly || channelInfo.bandCount === 2
    ? 'FFFFFF'
    : colorsOfChannels[channelInfo.channel % colorsOfChannels.length]!;
}
