import { CorruptTileError } from '../../errors.js';
import { forEachRange } from '../../core/concurrency/slices.js';
import { positionInPixels } from '../geo/region-units.js';
import { isSameSize } from '../geometry.js';
import { regionBox } from '../region-plan.js';
import { pictureDefaults } from '../picture-parameters.js';
import { createRaster, type Raster, type SampleType } from '../raster.js';
import type { Style } from '../style/parse.js';
import { thresholdRange } from '../style/range.js';
import { stylePixel } from '../style/render.js';
import { canBeShown } from '../render/pixels.js';
import type { BandSummary, HistogramRequest, LargeImage, PixelRequest, PixelValue } from '../requests.js';
import { measureSamples } from './measure-samples.js';
import { pickSamples } from './sample-selection.js';
import { bandInterpretations, bandStatistics, histogramOf, widenStatistics, type HistogramBand } from './histogram.js';
import type { Renderer } from '../render/renderer.js';

/** The histogram of a region: of its stored samples, or of its colors if the request has a style. */
export async function readHistogram(renderer: Renderer, request: HistogramRequest): Promise<HistogramBand[]> {
  const bands = await readHistogramBands(renderer, request);
  const { frame = pictureDefaults.frame, threshold, signal } = request;
  if (threshold === undefined) return bands;
  const survey = await renderer.survey(frame, await renderer.appearanceOf(undefined), signal);
  return bands.map((band, index) => ({ ...band, thresholds: thresholdRange(survey, index, [threshold, threshold]) }));
}

function nullIfCorrupt(error: unknown): null {
  if (error instanceof CorruptTileError) return null;
  throw error;
}

async function readHistogramBands(renderer: Renderer, request: HistogramRequest): Promise<HistogramBand[]> {
  const frame = request.frame ?? pictureDefaults.frame;
  renderer.checkFrame(frame);
  const appearance = await renderer.appearanceOf(request.style);
  const plan = renderer.planRegion(request);
  if (!plan) return [];
  const { signal, resample = false } = request;
  const usesMeans = resample !== false && resample !== 0 && !appearance.style && !isSameSize(plan.region, plan.output);
  // If a tile is corrupt, the intact samples are counted as stored, instead of means of samples.
  const means = usesMeans ? await renderer.readMixedSamples(plan, frame, appearance, signal).catch(nullIfCorrupt) : null;
  if (means !== null) return histogramOf([means], request);
  const measuredSamples = await measureSamples(renderer, { region: plan.region, frame }, appearance, signal);
  const { style } = appearance;
  const samples = style
    ? await convertToStyleType(measuredSamples.samples, style, renderer.metadata.dtype)
    : measuredSamples.samples;
  const statistics = widenStatistics([await bandStatistics(samples), await bandStatistics(measuredSamples.extremes)]);
  return histogramOf(await pickSamples(samples, plan.output), request, statistics);
}

/** Interpretation and statistics of each band, by band number from 1. */
export async function readBands(
  renderer: Renderer,
  { frame = pictureDefaults.frame, signal }: Parameters<LargeImage['bands']>[0],
): Promise<Record<string, BandSummary>> {
  renderer.checkFrame(frame);
  const appearance = await renderer.appearanceOf(undefined);
  const { sizeX, sizeY } = renderer.metadata;
  const wholeImage = { left: 0, top: 0, width: sizeX, height: sizeY };
  const { samples, extremes } = await measureSamples(renderer, { region: wholeImage, frame }, appearance, signal);
  const interpretations = bandInterpretations(renderer.metadata.bandCount);
  const statistics = widenStatistics([await bandStatistics(samples), await bandStatistics(extremes)]);
  return Object.fromEntries(
    statistics.map(({ min, max, mean, stdev }, band): [string, BandSummary] => [
      String(band + 1),
      { interpretation: interpretations[band] ?? 'unknown', min, max, mean, stdev },
    ]),
  );
}

/** The samples of one pixel, and the color in which it is displayed. Empty if the pixel is outside the image. */
export async function readPixel(renderer: Renderer, request: PixelRequest): Promise<PixelValue> {
  const { left = 0, top = 0, units, frame = pictureDefaults.frame, signal } = request;
  renderer.checkFrame(frame);
  const { metadata } = renderer;
  const appearance = await renderer.appearanceOf(request.style);
  const { style } = appearance;
  const box = regionBox(metadata, {
    ...positionInPixels(metadata, { left, top, ...(units !== undefined && { units }) }),
    regionWidth: 1,
    regionHeight: 1,
    unitsWH: 'base_pixels',
  });
  if (box.width === 0 || box.height === 0) return {};
  const levelBox = { level: metadata.levels - 1, frame, box: { ...box, width: 1, height: 1 } };
  if (style && style.functions.length > 0) {
    const value = [...(await renderer.renderBox(levelBox, appearance, signal)).data];
    return { value: value.map((sample) => convertSampleToStyleType(sample, style, metadata.dtype)), ...channelValues(value) };
  }
  if (style) {
    const value = await stylePixel(style, await renderer.styleInputs(levelBox, { ...appearance, style }, signal));
    const channels = value.map((sample) => Math.floor(sample));
    return { value: value.map((sample) => convertSampleToStyleType(sample, style, metadata.dtype)), ...channelValues(channels) };
  }
  const raster = await renderer.readSamples(levelBox, appearance, signal);
  const displayedRaster = canBeShown({ ...metadata, bands: raster.bands })
    ? raster
    : await renderer.renderBox(levelBox, await renderer.displayAppearance(request, frame, signal), signal);
  return { value: Array.from(raster.data), ...channelValues([...displayedRaster.data]) };
}

/** Converts a color value from 0 to 255 to the sample type that the style names. */
function convertSampleToStyleType(sample: number, { dtype }: Style, sourceDtype: SampleType): number {
  const outputDtype = dtype === 'source' ? sourceDtype : dtype;
  if (outputDtype === 'uint8') return Math.floor(sample);
  if (outputDtype === 'uint16') return Math.floor((sample * 65_535) / 255);
  return outputDtype !== null && outputDtype.startsWith('float') ? sample / 255 : sample;
}

/** Converts rasters of color values to the sample type that the style names. */
async function convertToStyleType(rasters: readonly Raster[], style: Style, sourceDtype: SampleType): Promise<readonly Raster[]> {
  const outputDtype = style.dtype === 'source' ? sourceDtype : style.dtype;
  const dtype = outputDtype === 'uint16' ? 'uint16' : outputDtype?.startsWith('float') ? 'float32' : 'uint8';
  if (dtype === 'uint8') return rasters;
  const convertedRasters: Raster[] = [];
  for (const raster of rasters) {
    const out = createRaster({ ...raster, dtype });
    await forEachRange(raster.data.length, 65_536, (from, to) => {
      for (let at = from; at < to; at += 1) out.data[at] = convertSampleToStyleType(raster.data[at]!, style, sourceDtype);
    });
    convertedRasters.push(out);
  }
  return convertedRasters;
}

/** The displayed samples of a pixel, by the names of their channels. */
function channelValues(samples: readonly number[]): PixelValue {
  const names = samples.length <= 2 ? (['l', 'a'] as const) : (['r', 'g', 'b', 'a'] as const);
  return Object.fromEntries(samples.map((sample, index) => [names[index], sample]));
}
