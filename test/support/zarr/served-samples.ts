import * as zarrita from 'zarrita';
import { expect } from 'vitest';
import { sampleArrays, type SampleType, type Samples } from '../../../src/tilesource/raster.js';
import type { Client } from '../hosts/reference-host.js';
import { uploadItem } from '../images/images.js';
import type { KnownFile } from './known-images.js';

/** An image whose samples are known. */
export interface KnownImage {
  dtype: SampleType;
  width: number;
  height: number;
  bands: number;
  /** The interleaved samples of each plane, by its `t/c/z`. */
  planes: Readonly<Record<string, Samples>>;
  /** Whether coarser levels keep the nearest pixel, as images with palettes do. */
  nearest?: boolean;
  /** Largest allowed difference from the served samples: more than 0 if two programs decode a lossy file. */
  tolerance?: number;
  /** Whether the file has stored levels. These are not made from the finest level, so only the finest level is compared. */
  hasStoredLevels?: boolean;
}

/** The store of an item, opened with zarrita. */
async function openStore(client: Client, item: string, at: 'zarr' | 'zarr2', below = '') {
  const store = new zarrita.FetchStore(`${client.url}/api/v1/item/${item}/${at}/image.ome.zarr${below}`, {
    overrides: { headers: { 'Girder-Token': client.token ?? '' } },
  });
  const group = await (at === 'zarr' ? zarrita.open.v3 : zarrita.open.v2)(store, { kind: 'group' });
  const attributes = group.attrs as Record<string, unknown>;
  const ome = (attributes.ome ?? attributes) as { multiscales: { axes: { name: string }[]; datasets: { path: string }[] }[] };
  return { group, ome };
}

/**
 * One band of a level, computed as for pictures: the average of the covered pixels, in which colors are weighted by their
 * opacity.
 */
function reduced(image: KnownImage, samples: Samples, band: number, level: number): Samples {
  const { width, height, bands, dtype, nearest = false } = image;
  const step = 2 ** level;
  const [columns, rows] = [Math.ceil(width / step), Math.ceil(height / step)];
  const out = new sampleArrays[dtype](columns * rows);
  const isFloat = dtype.startsWith('float');
  const alpha = !isFloat && (bands === 2 || bands === 4) ? bands - 1 : null;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const at = row * columns + column;
      if (nearest || level === 0) {
        out[at] = samples[(row * step * width + column * step) * bands + band]!;
        continue;
      }
      let [sum, count] = [0, 0];
      for (let y = row * step; y < Math.min(height, (row + 1) * step); y += 1) {
        for (let x = column * step; x < Math.min(width, (column + 1) * step); x += 1) {
          const pixel = (y * width + x) * bands;
          const weight = alpha === null || band === alpha ? 1 : samples[pixel + alpha]!;
          sum += weight * samples[pixel + band]!;
          count += weight;
        }
      }
      out[at] = isFloat ? sum / count : Math.floor(sum / count + 0.5);
    }
  }
  return out;
}

function worst(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  expect(actual.length).toBe(expected.length);
  let difference = 0;
  for (let index = 0; index < expected.length; index += 1) {
    const [actualValue, expectedValue] = [actual[index]!, expected[index]!];
    // NaN is equal to itself here.
    if (!Object.is(actualValue, expectedValue)) difference = Math.max(difference, Math.abs(actualValue - expectedValue));
  }
  return difference;
}

/** Compares every served sample of every plane and level of an item with the known samples. */
export async function expectServed(
  client: Client,
  item: string,
  image: KnownImage,
  { at = 'zarr', below = '' }: { at?: 'zarr' | 'zarr2'; below?: string } = {},
): Promise<void> {
  const { group, ome } = await openStore(client, item, at, below);
  const [multiscale] = ome.multiscales;
  const axes = multiscale!.axes.map(({ name }) => name);
  const { dtype, bands, width, height, tolerance = 0, hasStoredLevels = false } = image;
  for (const [level, { path }] of multiscale!.datasets.entries()) {
    const array = await zarrita.open(group.resolve(path), { kind: 'array' });
    expect(array.dtype).toBe(dtype);
    const size = [height, width].map((side) => Math.ceil(side / 2 ** level));
    expect(array.shape.slice(-2)).toEqual(size);
    if (hasStoredLevels && level > 0) continue;
    for (const [plane, samples] of Object.entries(image.planes)) {
      const [t, c, z] = plane.split('/').map(Number) as [number, number, number];
      for (let band = 0; band < bands; band += 1) {
        const place: Record<string, number | null> = { t, c: c * bands + band, z, y: null, x: null };
        const selection = axes.map((axis) => place[axis]!);
        const { data } = (await zarrita.get(array, selection)) as { data: Samples };
        const expected = reduced(image, samples, band, level);
        // The last digit of sums of floats, and of colors times opacity, depends on the order of addition.
        const rounding = level === 0 ? 0 : dtype.startsWith('float') ? 1e-3 : bands % 2 === 0 ? 1 : 0;
        const difference = worst(data, expected);
        expect(difference, `${plane}, band ${band}, level ${level}`).toBeLessThanOrEqual(Math.max(tolerance, rounding));
      }
    }
  }
}

/** Uploads a file together with the files from which it is made. */
export async function uploadKnown(
  client: Client,
  folder: string,
  { file, parts = {}, make }: KnownFile,
): Promise<{ item: string; known: KnownImage }> {
  const { bytes, known } = await make();
  for (const [name, part] of Object.entries(parts)) await uploadItem(client, folder, name, part);
  return { item: await uploadItem(client, folder, file, bytes), known };
}
