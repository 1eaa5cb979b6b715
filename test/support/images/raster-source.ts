import type { ImageMetadata, TileSource } from '../../../src/tilesource/tile-source.js';
import { levelCount, tileContent } from '../../../src/tilesource/geometry.js';
import { blit } from '../../../src/tilesource/render/pixels.js';
import { createRaster, type Raster } from '../../../src/tilesource/raster.js';

/** A tile source that cuts its tiles out of rasters in memory: one per frame, full resolution only. */
export function rasterSource(frames: Raster | Raster[], facts: Partial<ImageMetadata> & { icc?: Uint8Array } = {}) {
  const rasters = Array.isArray(frames) ? frames : [frames];
  const [first] = rasters;
  if (!first) throw new Error('A source needs a frame');
  const { icc, ...further } = facts;
  const size = { sizeX: first.width, sizeY: first.height, tileWidth: facts.tileWidth ?? 64, tileHeight: facts.tileHeight ?? 64 };
  const metadata: ImageMetadata = {
    ...size,
    levels: levelCount(size),
    magnification: null,
    mmX: null,
    mmY: null,
    dtype: first.dtype,
    bandCount: first.bands,
    ...(rasters.length > 1 && { frames: rasters.map((_, C) => ({ axes: { C } })) }),
    ...further,
  };
  const tilesRead: { level: number; x: number; y: number; frame: number }[] = [];
  const source: TileSource = {
    metadata,
    populatedLevels: [metadata.levels - 1],
    async readTile(address, options) {
      options?.signal?.throwIfAborted();
      tilesRead.push(address);
      const raster = rasters[address.frame];
      if (!raster) throw new Error(`no frame ${address.frame}`);
      const tile = createRaster({ ...tileContent(metadata, address), bands: raster.bands, dtype: raster.dtype });
      blit(tile, raster, { left: -address.x * metadata.tileWidth, top: -address.y * metadata.tileHeight });
      return tile;
    },
    iccProfile: () => icc ?? null,
    async close() {},
  };
  return { source, tilesRead };
}

/** A raster whose samples are computed by a function. */
export function paint(
  shape: { width: number; height: number; bands: number; dtype?: Raster['dtype'] },
  sample: (x: number, y: number, band: number) => number,
): Raster {
  const raster = createRaster({ dtype: 'uint8', ...shape });
  for (let y = 0; y < shape.height; y += 1) {
    for (let x = 0; x < shape.width; x += 1) {
      for (let band = 0; band < shape.bands; band += 1) {
        raster.data[(y * shape.width + x) * shape.bands + band] = sample(x, y, band);
      }
    }
  }
  return raster;
}
