/**
 * Measures pictures of bytes before and after the process has handled every other type of samples. The JavaScript compiler makes slow code of
 * loops that process more than four types of arrays.
 */
import { halve } from '../src/tilesource/pyramid/halve.js';
import { createRaster, type SampleType } from '../src/tilesource/raster.js';
import { bandStatistics } from '../src/tilesource/measure/histogram.js';
import { decimate, resizeNearest } from '../src/tilesource/render/pixels.js';
import { parseStyle, type Style } from '../src/tilesource/style/parse.js';
import { StyleMemo } from '../src/tilesource/style/color-table.js';
import { styleRaster } from '../src/tilesource/style/render.js';
import { median, timed } from './support/measure.js';

const target = 2;
const otherTypes: SampleType[] = ['uint16', 'float32', 'int16', 'int8', 'uint32', 'int32', 'float64'];
const rounds = 15;

const style = (await parseStyle({
  bands: [
    { band: 1, min: 0, max: 100, palette: '#f00' },
    { band: 2, min: 0, max: 90, palette: ['#000', '#0f0'] },
  ],
})) as Style;

function work(dtype: SampleType): Record<string, () => unknown> {
  const raster = createRaster({ width: 512, height: 512, bands: 3, dtype });
  for (let at = 0; at < raster.data.length; at += 1) raster.data[at] = (at * 7) % 120;
  const inputs = {
    frame: 0,
    rasters: new Map([[0, raster]]),
    survey: () => Promise.reject(new Error('The style names its ranges.')),
    memo: new StyleMemo(),
  };
  return {
    'half the size': () => halve(raster, {}),
    'every second pixel': () => decimate(raster, 2),
    'nearest pixels': () => resizeNearest(raster, { width: 300, height: 300 }),
    'facts of bands': () => bandStatistics([raster]),
    'two colors': () => styleRaster(style, inputs),
  };
}

async function measure(dtype: SampleType): Promise<Map<string, number>> {
  const results = new Map<string, number>();
  for (const [name, run] of Object.entries(work(dtype))) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) times.push((await timed(async () => run()))[1]);
    results.set(name, median(times));
  }
  return results;
}

await measure('uint8');
const alone = await measure('uint8');
for (const dtype of otherTypes) await measure(dtype);
const after = await measure('uint8');
for (const [name, ms] of after) {
  const ratio = ms / alone.get(name)!;
  console.log(
    `${name.padEnd(20)} ${ms.toFixed(2)} ms after every kind of samples, ${alone.get(name)!.toFixed(2)} ms before: ${ratio.toFixed(2)} ×` +
      `, at most ${target} ×: ${ratio <= target ? 'reached' : 'NOT REACHED'}`,
  );
}
