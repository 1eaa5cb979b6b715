import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, it } from 'vitest';
import { describeTileSource } from '../../src/testing/tile-source.js';
import { tiffSource } from '../../src/tilesource/sources/tiff/tiff-source.js';
import { sampleFile } from '../support/images/data.js';
import { pattern } from '../support/images/pattern.js';

const folder = mkdtempSync(join(tmpdir(), 'tiff-source-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const picture = sharp(pattern(700, 500, 3), { raw: { width: 700, height: 500, channels: 3 } });
const pyramid = join(folder, 'pyramid.tif');
writeFileSync(
  pyramid,
  await picture.tiff({ tile: true, pyramid: true, tileWidth: 128, tileHeight: 128, compression: 'jpeg' }).toBuffer(),
);
describeTileSource(() => tiffSource, pyramid, { describe, it });

for (const name of ['CMU-1-Small-Region.svs', 'multi-channel-z-series.ome.tif', 'test_orient6.tif', 'sample.tif']) {
  const path = sampleFile(name);
  if (path !== null) describeTileSource(() => tiffSource, path, { describe, it });
}
