import { unlink } from 'node:fs/promises';
import type { Metadata, SharpOptions } from 'sharp';
import { fileInput } from '../../byte-reader.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { lossyCodecOf } from './format.js';
import type { ImageMetadata, LossyCodec, SourceOptions, TileSource } from '../../tile-source.js';
import { levelCount } from '../../geometry.js';
import { runLongProcessing } from '../../process/processing.js';
import type { Raster } from '../../raster.js';
import { tiffSource } from '../tiff/tiff-source.js';
import { describeHeader, sampleFormOf, tileSide, openUpright } from './decode.js';
import type { PreparedFile } from './prepared-file.js';
import { temporaryPath, unlinkOpenFile } from '../../../core/temporary-files.js';

/** Seconds after which a conversion is aborted. */
const maxConversionSeconds = 900;

/** Only one pyramid is made at a time, because each uses all threads of libvips. */
const conversionQueue = new WorkQueue({ name: 'conversions', running: 1 });

/** Converts a large picture to a temporary pyramidal TIFF, from which its tiles are read. */
export async function openPyramid(
  preparedFile: PreparedFile,
  settings: SharpOptions,
  header: Metadata,
  options: SourceOptions & { directory: string },
): Promise<TileSource> {
  const { directory, signal } = options;
  const path = temporaryPath(directory, '.tiff');
  const form = sampleFormOf(header);
  const codec = lossyCodecOf(preparedFile.format);
  const isLossy = codec !== null && form.dtype === 'uint8' && form.bands % 2 === 1;
  try {
    await conversionQueue.run(
      () =>
        runLongProcessing(async () => {
          await openUpright(preparedFile, settings, form, 0)
            .timeout({ seconds: maxConversionSeconds })
            .tiff({
              tile: true,
              tileWidth: tileSide,
              tileHeight: tileSide,
              pyramid: true,
              bigtiff: true,
              ...(isLossy ? { compression: 'jpeg', quality: 92 } : { compression: 'lzw', predictor: 'horizontal' }),
            })
            .toFile(path);
        }, signal),
      { signal },
    );
    // A finished pyramid is kept even if the caller has aborted in the meantime.
    const { signal: _ignored, ...optionsWithoutSignal } = options;
    const pyramid = await tiffSource.open(fileInput(path), optionsWithoutSignal);
    await preparedFile.release();
    const profile = form.mustConvert ? null : (header.icc ?? null);
    return new PyramidImage(pyramid, { header, profile, codec }, await unlinkOpenFile(path));
  } catch (error) {
    await unlink(path).catch(() => {});
    throw error;
  }
}

/** Presents a temporary pyramid as the file from which it was made. */
class PyramidImage implements TileSource {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly readStoredTile: TileSource['readStoredTile'];
  readonly retainedBytes: number;
  readonly #pyramid: TileSource;
  readonly #header: Metadata;
  readonly #profile: Uint8Array | null;
  readonly #codec: LossyCodec | null;
  readonly #discard: () => Promise<void>;

  constructor(
    pyramid: TileSource,
    { header, profile, codec }: { header: Metadata; profile: Uint8Array | null; codec: LossyCodec | null },
    discard: () => Promise<void>,
  ) {
    this.#pyramid = pyramid;
    this.#header = header;
    this.#profile = profile;
    this.#codec = codec;
    this.#discard = discard;
    // The resolution in the pyramid is a default of libvips, not the resolution of the file.
    this.metadata = { ...pyramid.metadata, levels: levelCount(pyramid.metadata), magnification: null, mmX: null, mmY: null };
    this.populatedLevels = pyramid.populatedLevels;
    this.readStoredTile = pyramid.readStoredTile && ((address, options) => pyramid.readStoredTile!(address, options));
    this.retainedBytes = pyramid.retainedBytes ?? 0;
  }

  readTile(...args: Parameters<TileSource['readTile']>): Promise<Raster> {
    return this.#pyramid.readTile(...args);
  }

  async lossyCodec(): Promise<LossyCodec | null> {
    return this.#codec;
  }

  async internalMetadata(): Promise<Record<string, unknown>> {
    return describeHeader(this.#header);
  }

  iccProfile(): Uint8Array | null {
    return this.#profile;
  }

  async close(): Promise<void> {
    await this.#pyramid.close();
    await this.#discard();
  }
}
