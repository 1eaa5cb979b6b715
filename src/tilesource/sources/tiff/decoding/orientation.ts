import { bitsOf, createRaster, type Raster } from '../../../raster.js';
import type { StoredRegion } from '../region.js';

/**
 * How to get displayed pixels from stored pixels, by TIFF orientation: whether rows and columns are swapped, and then which stored
 * axes are reversed.
 */
const transforms: Readonly<Record<number, { swap: boolean; flipX: boolean; flipY: boolean }>> = {
  1: { swap: false, flipX: false, flipY: false },
  2: { swap: false, flipX: true, flipY: false },
  3: { swap: false, flipX: true, flipY: true },
  4: { swap: false, flipX: false, flipY: true },
  5: { swap: true, flipX: false, flipY: false },
  6: { swap: true, flipX: false, flipY: true },
  7: { swap: true, flipX: true, flipY: true },
  8: { swap: true, flipX: true, flipY: false },
};

function transformOf(orientation: number): { swap: boolean; flipX: boolean; flipY: boolean } {
  return transforms[orientation] ?? { swap: false, flipX: false, flipY: false };
}

/** Whether the orientation exchanges width and height. */
export function swapsSides(orientation: number): boolean {
  return transformOf(orientation).swap;
}

/** The stored rectangle that is displayed as `shownRegion`, in a stored image of the size `storedSize`. */
export function storedRegionOf(
  shownRegion: StoredRegion,
  orientation: number,
  storedSize: { width: number; height: number },
): StoredRegion {
  const { swap, flipX, flipY } = transformOf(orientation);
  const region = swap
    ? { left: shownRegion.top, top: shownRegion.left, width: shownRegion.height, height: shownRegion.width }
    : { ...shownRegion };
  if (flipX) region.left = storedSize.width - region.left - region.width;
  if (flipY) region.top = storedSize.height - region.top - region.height;
  return region;
}

/** The rectangle as which a stored rectangle is displayed: the inverse of {@link storedRegionOf}. */
export function shownRegionOf(
  region: StoredRegion,
  orientation: number,
  storedSize: { width: number; height: number },
): StoredRegion {
  const { swap, flipX, flipY } = transformOf(orientation);
  const { width, height } = region;
  const left = flipX ? storedSize.width - region.left - width : region.left;
  const top = flipY ? storedSize.height - region.top - height : region.top;
  return swap ? { left: top, top: left, width: height, height: width } : { left, top, width, height };
}

/** Converts stored pixels to the displayed orientation. */
export function orient(raster: Raster, orientation: number): Raster {
  const { swap, flipX, flipY } = transformOf(orientation);
  if (!swap && !flipX && !flipY) return raster;
  const { bands, width: storedWidth, height: storedHeight } = raster;
  const [width, height] = swap ? [storedHeight, storedWidth] : [storedWidth, storedHeight];
  const result = createRaster({ width, height, bands, dtype: raster.dtype });
  const [samples, oriented] = [bitsOf(raster.data), bitsOf(result.data)];
  for (let y = 0, out = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const storedX = swap ? y : x;
      const storedY = swap ? x : y;
      const column = flipX ? storedWidth - 1 - storedX : storedX;
      const row = flipY ? storedHeight - 1 - storedY : storedY;
      const from = (row * storedWidth + column) * bands;
      for (let band = 0; band < bands; band++) oriented[out++] = samples[from + band] ?? 0;
    }
  }
  return result;
}
