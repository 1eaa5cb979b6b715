import { BadValueError, TileSourceError } from '../errors.js';
import { parseEdge, type Rgba } from './color.js';
import type { EncodedImage, TileSource } from './contract.js';
import { dziDescription, dziTileRegion, parseDziName, parseDziOptions } from './render/deep-zoom.js';
import {
  checkOutputSize,
  encodePicture,
  hasDefaultQuality,
  parseEncoding,
  transcodePicture,
  type EncodingOptions,
} from './render/encode.js';
import { checkTile, croppedTileContent, fitSize, regionBox } from './geometry.js';
import { bandInterpretations, bandStatistics, histogramOf } from './render/histogram.js';
import { profileDescription } from './render/icc.js';
import { iiifFacts, planIiif } from './render/iiif.js';
import { transformPicture } from './render/transform.js';
import { wireMetadata } from './metadata.js';
import { crop, pad, toDisplayByte, toPicture, withAlpha, type Picture } from './render/pixels.js';
import { quadInfo } from './quad-info.js';
import { RegionMaker } from './render/region.js';
import { Renderer } from './render/renderer.js';
import {
  defaultMaxOutputPixels,
  type BandFacts,
  type EncodedPicture,
  type LargeImage,
  type LargeImageOptions,
  type PixelRequest,
  type PixelValue,
  type TileRequest,
} from './requests.js';
import { stylePixel } from './style/render.js';
import { tileFrames } from './render/tile-frames.js';

/** Side, in pixels, to which an image is reduced for histograms and band facts, unless a request says otherwise. */
const factsSide = 2048;

/** Pixels up to which a histogram counts a level finer than it needs. */
const countedPixels = 2 ** 24;

/** Serves an opened tile source. Closing the source stays with the caller. */
export function openLargeImage(source: TileSource, options: LargeImageOptions = {}): LargeImage {
  const renderer = new Renderer(source, options);
  const { metadata } = source;
  const maxPixels = options.maxOutputPixels ?? defaultMaxOutputPixels;
  const regions = new RegionMaker(renderer, options);

  const image: LargeImage = {
    metadata: () => wireMetadata(metadata),

    async internalMetadata() {
      const profiles = Array.from({ length: renderer.frameCount }, (_, frame) => source.iccProfile?.(frame) ?? null);
      return {
        ...(await source.internalMetadata?.()),
        ...(options.sourceName !== undefined && { tilesource: options.sourceName }),
        ...(profiles.some((profile) => profile !== null) && {
          iccprofiles: profiles.map((profile) => profile && (profileDescription(profile) ?? 'present')),
        }),
        populatedLevels: source.populatedLevels.length,
      };
    },

    tile: (request) => renderTile(source, renderer, request, options.minLevel),
    region: (request) => regions.region(request),
    thumbnail: (request) => regions.thumbnail(request),

    pixel: (request) => readPixel(renderer, request),

    pixels(request, frameList) {
      if (frameList.length > 10_000)
        throw new BadValueError(`frameList has ${frameList.length} entries; at most 10000 are allowed`);
      return Promise.all(frameList.map(async (frame) => ({ frame, ...(await readPixel(renderer, { ...request, frame })) })));
    },

    async histogram(request) {
      const frame = request.frame ?? 0;
      renderer.checkFrame(frame);
      const appearance = await renderer.appearanceOf(request.style);
      const sized = [request.width, request.height, request.magnification, request.mmX, request.mmY].some(
        (value) => value !== undefined,
      );
      const plan = renderer.plan(sized ? request : { ...request, width: factsSide, height: factsSide }, countedPixels);
      if (!plan) return [];
      if (appearance.style) {
        return histogramOf(
          await renderer.box({ level: plan.level, frame, box: plan.levelBox }, appearance, request.signal),
          request,
        );
      }
      const resample = sized && request.resample !== false && request.resample !== 0;
      const raster = await renderer.reducedSamples(plan, frame, { resample, ...(request.signal && { signal: request.signal }) });
      return histogramOf(raster, request);
    },

    async bands({ frame = 0, signal }) {
      renderer.checkFrame(frame);
      const small = Math.max(metadata.sizeX, metadata.sizeY) <= factsSide;
      const plan = renderer.plan(small ? {} : { width: factsSide, height: factsSide });
      if (!plan) return {};
      const raster = await renderer.reducedSamples(plan, frame, { resample: true, ...(signal && { signal }) });
      const names = bandInterpretations(raster.bands);
      const facts = (await bandStatistics(raster)).map(({ min, max, mean, stdev }, band): [string, BandFacts] => [
        String(band + 1),
        { interpretation: names[band] ?? 'unknown', min, max, mean, stdev },
      ]);
      return Object.fromEntries(facts);
    },

    tileFrames: (request) => tileFrames(renderer, regions, request),
    quadInfo: (request) => quadInfo(wireMetadata(metadata), request),
    associatedImages: () => [...(source.associatedImages ?? [])],

    async associatedImage(name, request) {
      const encoding = parseEncoding(request);
      if (encoding.encoding === 'TILED')
        throw new BadValueError('Invalid encoding "TILED": for regions, thumbnails and tile_frames only');
      const { width, height, signal } = request;
      for (const side of [width, height]) {
        if (side !== undefined && !(Number.isInteger(side) && side >= 1)) {
          throw new BadValueError('Invalid width or height.  Minimum value is 1.');
        }
      }
      const found = await source.readAssociatedImage?.(name, signal && { signal });
      if (!found) return null;
      const picture = await toPicture(found.raster);
      const size =
        width === undefined && height === undefined
          ? picture
          : fitSize(picture, { ...(width !== undefined && { width }), ...(height !== undefined && { height }) });
      checkOutputSize(size, encoding, maxPixels);
      const larger = size.width > picture.width;
      const resize = { width: size.width, height: size.height, kernel: larger ? ('cubic' as const) : ('lanczos3' as const) };
      return { kind: 'bytes', bytes: await encodePicture(picture, encoding, { resize, signal }), type: encoding.type };
    },

    async associatedImageMetadata(name, { signal } = {}) {
      const found = await source.readAssociatedImage?.(name, signal && { signal });
      if (!found) return {};
      const { raster, format } = found;
      return { sizeX: raster.width, sizeY: raster.height, mode: modeName(raster), ...(format !== undefined && { format }) };
    },

    dzi: (request) => dziDescription(metadata, parseDziOptions(request)),

    async dziTile(request) {
      const dzi = parseDziOptions(request);
      const name = parseDziName(request.name);
      const { box, output } = dziTileRegion(metadata, dzi, { level: request.level, x: name.x, y: name.y });
      const encoding = parseEncoding({ ...request, encoding: name.encoding ?? dzi.encoding });
      return regions.exactBox({ box, output }, encoding, request);
    },

    iiifFacts: () => iiifFacts(metadata, maxPixels),

    iiifPlan(request, frame) {
      renderer.checkFrame(frame, true);
      return planIiif(metadata, request, maxPixels);
    },

    async iiifPicture({ box, output, transform, encoding, tile }, { frame, signal }) {
      const request = { encoding, frame, ...(signal && { signal }) };
      if (tile) return renderTile(source, renderer, { ...request, ...tile });
      const options = parseEncoding({ encoding, tiffCompression: 'lzw' });
      const isPlain = !transform.mirror && transform.degrees === 0 && transform.tone === 'asItIs';
      const finish = isPlain ? {} : { finish: (picture: Picture) => transformPicture(picture, transform, signal) };
      return regions.exactBox({ box, output, ...finish }, options, { frame, ...(signal && { signal }) });
    },
  };
  return image;
}

function modeName({ bands, dtype }: { bands: number; dtype: string }): string {
  if (dtype === 'uint16' && bands === 1) return 'I;16';
  return ['L', 'LA', 'RGB', 'RGBA'][bands - 1] ?? 'RGB';
}

/** Whether the stored bytes of a tile are what was asked for. */
function answers(stored: EncodedImage, options: EncodingOptions): boolean {
  if (stored.encoding === 'PNG') return options.encoding === 'PNG';
  if (!hasDefaultQuality(options)) return false;
  return stored.encoding === options.encoding || (stored.encoding === 'JPEG' && options.encoding === 'JFIF');
}

/** @throws TileSourceError where the stored bytes are damaged. */
async function transcode(
  stored: EncodedImage,
  bands: number,
  options: EncodingOptions,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  try {
    return await transcodePicture(stored.bytes, bands, options, signal);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new TileSourceError(`A tile of the file cannot be decoded as ${stored.encoding}`, { cause });
  }
}

const transparent: Rgba = [0, 0, 0, 0];
const black: Rgba = [0, 0, 0, 255];

async function renderTile(source: TileSource, renderer: Renderer, request: TileRequest, minLevel = 0): Promise<EncodedPicture> {
  const { metadata, populatedLevels } = source;
  const { level, x, y, frame = 0, signal } = request;
  checkTile(metadata, { level, x, y }, minLevel);
  renderer.checkFrame(frame, true);
  const options = parseEncoding(request);
  if (options.encoding === 'TILED')
    throw new BadValueError('Invalid encoding "TILED": for regions, thumbnails and tile_frames only');
  const edge = parseEdge(request.edge);
  const appearance = { ...(await renderer.appearanceOf(request.style)), opaque: !options.alpha };
  const address = { level, x, y, frame };
  const untouched = !appearance.style && populatedLevels.includes(level) && renderer.profileFor(frame, appearance) === null;
  if (untouched && source.readStoredTile) {
    // Stored tiles lie wholly inside the image, so `edge` changes nothing about them.
    const stored = await source.readStoredTile(address, signal && { signal });
    if (stored) {
      const fits = answers(stored, options);
      const bytes = fits ? stored.bytes : await transcode(stored, metadata.bandCount, options, signal);
      return { kind: 'bytes', bytes, type: options.type };
    }
  }
  let picture = await renderer.tile(address, appearance, signal);
  const size = { width: metadata.tileWidth, height: metadata.tileHeight };
  if (edge.kind === 'crop') picture = crop(picture, croppedTileContent(metadata, address));
  else if (edge.color) picture = pad(crop(picture, croppedTileContent(metadata, address)), size, edge.color);
  else picture = await padPlain(picture, size, options.alpha);
  return { kind: 'bytes', bytes: await encodePicture(picture, options, { signal }), type: options.type };
}

/** Completes a border tile: with transparent pixels where the encoding can, else with black. */
async function padPlain(picture: Picture, size: { width: number; height: number }, alpha: boolean): Promise<Picture> {
  if (picture.width === size.width && picture.height === size.height) return picture;
  return alpha ? pad(await withAlpha(picture), size, transparent) : pad(picture, size, black);
}

async function readPixel(renderer: Renderer, request: PixelRequest): Promise<PixelValue> {
  const { left = 0, top = 0, units, frame = 0, signal } = request;
  renderer.checkFrame(frame);
  const { metadata } = renderer;
  const { style } = await renderer.appearanceOf(request.style);
  const box = regionBox(metadata, {
    left,
    top,
    ...(units !== undefined && { units }),
    regionWidth: 1,
    regionHeight: 1,
    unitsWH: 'base_pixels',
  });
  if (box.width === 0 || box.height === 0) return {};
  const where = { level: metadata.levels - 1, frame, box: { ...box, width: 1, height: 1 } };
  if (style) {
    const value = await stylePixel(style, await renderer.styleInputs(where, style, signal));
    return { value, ...channels(value.map((sample) => Math.floor(sample))) };
  }
  const raster = await renderer.samples(where, signal);
  const value = Array.from(raster.data);
  const shown = value.slice(0, raster.bands > 4 ? 3 : raster.bands);
  return { value, ...channels(shown.map((sample) => toDisplayByte(sample, raster.dtype))) };
}

function channels(samples: readonly number[]): PixelValue {
  const names = samples.length <= 2 ? (['l', 'a'] as const) : (['r', 'g', 'b', 'a'] as const);
  return Object.fromEntries(samples.map((sample, position) => [names[position], sample]));
}
