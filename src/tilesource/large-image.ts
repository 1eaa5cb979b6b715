import { BadValueError, TileSourceError } from '../errors.js';
import { parseEdge, type Rgba } from './color.js';
import type { EncodedImage, TileSource } from './tile-source.js';
import { dziDescription, dziMaxLevel, dziTileRegion, parseDziName, parseDziOptions } from './render/deep-zoom.js';
import {
  checkOutputSize,
  encodePicture,
  hasDefaultQuality,
  parseEncoding,
  transcodePicture,
  defaultKernel,
  type EncodingOptions,
} from './render/encode.js';
import { checkTile, croppedTileContent, levelScale, type Box } from './geometry.js';
import { fitSize } from './region-plan.js';
import { compositeRequest } from './render/composite.js';
import { CorruptTiles } from './render/corrupt-tiles.js';
import { readBands, readHistogram, readPixel } from './measure/measures.js';
import { profileDescription } from './render/icc.js';
import { iiifFacts, planIiif } from './render/iiif.js';
import { transformPicture } from './render/transform.js';
import { projectToWebMercator, requireWebMercator } from './geo/web-mercator.js';
import { wireMetadata, type LargeImageMetadata } from './metadata.js';
import { crop, pad, toPicture, addAlpha, type Picture } from './render/pixels.js';
import { pictureDefaults } from './picture-parameters.js';
import { quadInfo } from './quad-info.js';
import { returnBytes } from './style/reused-bytes.js';
import { rawEncoding, streamRawRegion } from './render/raw-samples.js';
import { RegionMaker, corruptTilesMember } from './render/region.js';
import { scalePicture } from './render/scale.js';
import { backgroundOf } from './render/appearance.js';
import { Renderer } from './render/renderer.js';
import {
  defaultMaxOutputPixels,
  type EncodedPicture,
  type LargeImage,
  type LargeImageOptions,
  type TileRequest,
  type ZRequest,
} from './requests.js';
import { renderSprite } from './render/tile-frames.js';
import { zProjectionOf, createZProjector } from './render/z-projection.js';

/** Creates the large image of an opened tile source. The caller closes the source. */
export function openLargeImage(source: TileSource, options: LargeImageOptions = {}): LargeImage {
  return createImage(source, options, new Renderer(source, options));
}

/**
 * Creates an image that supports the z parameters. A request with z parameters is answered from the z projection that they define.
 */
function createImage(source: TileSource, options: LargeImageOptions, renderer: Renderer): LargeImage {
  const planeImage = createPlaneImage(source, options, renderer);
  const imageOverZ = createZProjector(source, renderer, options.rasterCache, (projected, rasterCache) =>
    createPlaneImage(projected, { ...options, rasterCache }, new Renderer(projected, { ...options, rasterCache })),
  );
  const imageFor = (request: ZRequest): LargeImage => {
    const projection = zProjectionOf(source.metadata, request);
    return projection === null ? planeImage : imageOverZ(projection);
  };
  return {
    ...planeImage,
    tile: async (request) => imageFor(request).tile(removeZ(request)),
    region: async (request) => imageFor(request).region(removeZ(request)),
    thumbnail: async (request) => imageFor(request).thumbnail(removeZ(request)),
    pixel: async (request) => imageFor(request).pixel(removeZ(request)),
    pixels: async (request, frameList) => imageFor(request).pixels(removeZ(request), frameList),
    histogram: async (request) => imageFor(request).histogram(removeZ(request)),
    tileFrames: async (request) => imageFor(request).tileFrames(removeZ(request)),
    dziTile: async (request) => imageFor(request).dziTile(removeZ(request)),
  };
}

/** Creates an image for requests without z parameters. */
function createPlaneImage(source: TileSource, options: LargeImageOptions, renderer: Renderer): LargeImage {
  const { metadata } = source;
  const maxPixels = options.maxOutputPixels ?? defaultMaxOutputPixels;
  const regionMaker = new RegionMaker(renderer, options);

  const imageInProjection = createProjector(source, options, renderer);
  return {
    metadata: (projection) => (projection === undefined ? wireMetadata(metadata) : imageInProjection(projection).metadata),

    async internalMetadata() {
      const profiles = Array.from({ length: renderer.frameCount }, (_, frame) => source.iccProfile?.(frame) ?? null);
      return {
        ...(await source.internalMetadata?.()),
        ...(options.sourceName !== undefined && { tilesource: options.sourceName }),
        ...(profiles.some((profile) => profile !== null) && {
          iccprofiles: profiles.map((profile) => profile && (profileDescription(profile) ?? 'present')),
        }),
        populatedLevels: source.populatedLevels.length,
        ...(renderer.corruptTiles.length > 0 && {
          corruptTiles: renderer.corruptTiles.map(({ tile, reason }) => ({ ...tile, reason })),
        }),
      };
    },

    async tile({ projection, ...request }) {
      if (projection !== undefined) return imageInProjection(projection).image.tile(request);
      return encodeTile(source, renderer, request, options.minLevel);
    },
    async region({ projection, ...request }) {
      if (projection !== undefined) return imageInProjection(projection).image.region(request);
      if (request.encoding === rawEncoding) return streamRawRegion(renderer, request, options);
      if (request.frameList !== undefined) {
        throw new BadValueError(`frameList is for encoding=${rawEncoding}. A picture of a region shows one frame.`);
      }
      return regionMaker.renderRegion(request);
    },
    async thumbnail({ projection, composite = false, ...otherParameters }) {
      const request = composite ? { ...compositeRequest(metadata), ...otherParameters } : otherParameters;
      if (projection === undefined) return regionMaker.renderThumbnail(request);
      const { image, extent } = imageInProjection(projection);
      const { left, top, width, height } = extent;
      const bounds = { left, top, right: left + width, bottom: top + height };
      const box = request.width === undefined && request.height === undefined ? { width: 256, height: 256 } : {};
      return image.region({ ...bounds, ...request, ...box });
    },

    pixel: (request) => readPixel(renderer, request),

    async pixels(request, frameList) {
      if (frameList.length > 10_000)
        throw new BadValueError(`frameList has ${frameList.length} entries; at most 10000 are allowed`);
      return Promise.all(frameList.map(async (frame) => ({ frame, ...(await readPixel(renderer, { ...request, frame })) })));
    },

    histogram: (request) => readHistogram(renderer, request),
    bands: (request) => readBands(renderer, request),

    tileFrames: (request) => renderSprite(renderer, regionMaker, request),
    quadInfo: (request) => quadInfo(wireMetadata(metadata), request),
    associatedImages: () => [...(source.associatedImages ?? [])],

    associatedImage: (name, request) => encodeAssociated(source, name, request, maxPixels),

    async associatedImageMetadata(name, { signal } = {}) {
      const associated = await source.readAssociatedImage?.(name, signal && { signal });
      if (!associated) return {};
      const { raster, format } = associated;
      return { sizeX: raster.width, sizeY: raster.height, mode: modeName(raster), ...(format !== undefined && { format }) };
    },

    dzi: (request) => dziDescription(metadata, parseDziOptions(request)),

    async dziTile(request) {
      const dzi = parseDziOptions(request);
      const name = parseDziName(request.name);
      const { box: shownBox, output } = dziTileRegion(metadata, dzi, { level: request.level, x: name.x, y: name.y });
      // The last column and row of a level may show less of the image than the others, and must not be stretched.
      const scale = 2 ** (dziMaxLevel(metadata) - request.level);
      const box = { ...shownBox, width: output.width * scale, height: output.height * scale };
      const encodingOptions = parseEncoding({ ...request, encoding: name.encoding ?? dzi.encoding });
      return regionMaker.renderExactBox({ box, output }, encodingOptions, request);
    },

    iiifFacts: () => iiifFacts(metadata, maxPixels),

    iiifPlan(request, frame) {
      renderer.checkFrame(frame, true);
      return planIiif(metadata, request, maxPixels);
    },

    async iiifPicture({ box, output, transform, encoding, tile }, { frame, signal }) {
      const request = { encoding, frame, ...(signal && { signal }) };
      if (tile) return encodeTile(source, renderer, { ...request, ...tile });
      const encodingOptions = parseEncoding({ encoding, tiffCompression: 'lzw' });
      const isPlain = !transform.mirror && transform.degrees === 0 && transform.tone === 'asItIs';
      const transformOption = isPlain ? {} : { transform: (picture: Picture) => transformPicture(picture, transform, signal) };
      return regionMaker.renderExactBox({ box, output, ...transformOption }, encodingOptions, {
        frame,
        ...(signal && { signal }),
      });
    },
  };
}

function removeZ<Request extends ZRequest>(request: Request): Omit<Request, keyof ZRequest> {
  const { zProject: _method, zFrom: _from, zTo: _to, ...rest } = request;
  return rest;
}

async function encodeAssociated(
  source: TileSource,
  name: string,
  request: Parameters<LargeImage['associatedImage']>[1],
  maxPixels: number,
): Promise<EncodedPicture | null> {
  const encodingOptions = parseEncoding(request);
  if (encodingOptions.encoding === 'TILED')
    throw new BadValueError('Invalid encoding "TILED": for regions, thumbnails and tile_frames only');
  const { width, height, signal } = request;
  for (const side of [width, height]) {
    if (side !== undefined && !(Number.isInteger(side) && side >= 1)) {
      throw new BadValueError('Invalid width or height.  Minimum value is 1.');
    }
  }
  const associated = await source.readAssociatedImage?.(name, signal && { signal });
  if (!associated) return null;
  const picture = await toPicture(associated.raster, associated.white);
  const size =
    width === undefined && height === undefined
      ? picture
      : fitSize(picture, { ...(width !== undefined && { width }), ...(height !== undefined && { height }) });
  checkOutputSize(size, encodingOptions, maxPixels);
  const window = { left: 0, top: 0, width: picture.width, height: picture.height };
  const scaling = { box: window, window, output: size, kernel: defaultKernel(picture, size), isWhole: true };
  const bytes = await encodePicture(await scalePicture(picture, scaling, signal), encodingOptions, { signal });
  return { kind: 'bytes', bytes, type: encodingOptions.type };
}

/** The image in a map projection. */
interface ProjectedImage {
  image: LargeImage;
  /** The part of the projected pyramid that shows the image, in its pixels of full resolution. */
  extent: Box;
  metadata: LargeImageMetadata;
}

/** Returns a function that projects the image to web Mercator, the only supported projection. The first call creates the image. */
function createProjector(
  source: TileSource,
  options: LargeImageOptions,
  renderer: Renderer,
): (projection: string) => ProjectedImage {
  let projected: ProjectedImage | undefined;
  return (projection) => {
    requireWebMercator(projection);
    projected ??= createProjectedImage(source, options, renderer);
    return projected;
  };
}

function createProjectedImage(source: TileSource, options: LargeImageOptions, renderer: Renderer): ProjectedImage {
  const { source: projectedSource, extent, bounds } = projectToWebMercator(source);
  const { sourceBounds, sourceLevels, sourceSizeX, sourceSizeY } = wireMetadata(source.metadata);
  const sourceMembers = { bounds, sourceBounds, sourceLevels, sourceSizeX, sourceSizeY } as Partial<LargeImageMetadata>;
  const image = createImage(projectedSource, options, new Renderer(projectedSource, options, renderer));
  return { image, extent, metadata: { ...wireMetadata(projectedSource.metadata), ...sourceMembers } };
}

/** Name of the mode of a picture, as in the Python Imaging Library. */
function modeName({ bands, dtype }: { bands: number; dtype: string }): string {
  if (dtype === 'uint16' && bands === 1) return 'I;16';
  return ['L', 'LA', 'RGB', 'RGBA'][bands - 1] ?? 'RGB';
}

/** Whether the stored bytes of a tile are the requested picture. */
function isRequestedPicture(stored: EncodedImage, options: EncodingOptions): boolean {
  if (stored.encoding === 'PNG') return options.encoding === 'PNG';
  if (!hasDefaultQuality(options)) return false;
  return stored.encoding === options.encoding || (stored.encoding === 'JPEG' && options.encoding === 'JFIF');
}

/** @throws TileSourceError if the stored bytes are damaged. */
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

async function encodeTile(source: TileSource, renderer: Renderer, request: TileRequest, minLevel = 0): Promise<EncodedPicture> {
  const { metadata, populatedLevels } = source;
  const { level, x, y, frame = pictureDefaults.frame, signal } = request;
  checkTile(metadata, { level, x, y }, minLevel);
  renderer.checkFrame(frame, true);
  const options = parseEncoding(request);
  if (options.encoding === 'TILED')
    throw new BadValueError('Invalid encoding "TILED": for regions, thumbnails and tile_frames only');
  const edge = parseEdge(request.edge);
  const appearance = { ...(await renderer.displayAppearance(request, frame, signal)), mayDropAlpha: !options.keepsAlpha };
  const address = { level, x, y, frame };
  const keepsColors = !appearance.style && metadata.white === undefined;
  const canSendStored = keepsColors && populatedLevels.includes(level) && renderer.profileFor(frame, appearance) === null;
  if (canSendStored && source.readStoredTile) {
    // Stored tiles are completely inside the image, so `edge` does not change them.
    const storedTile = await source.readStoredTile(address, signal && { signal });
    if (storedTile) {
      const bytes = isRequestedPicture(storedTile, options)
        ? storedTile.bytes
        : await transcode(storedTile, metadata.bandCount, options, signal);
      return { kind: 'bytes', bytes, type: options.type };
    }
  }
  // If the tile is stored and corrupt, `renderTile` fails. If it is made from finer tiles and some are corrupt, it gets holes.
  const corrupt = new CorruptTiles();
  let picture = await renderer.renderTile({ ...address, corrupt }, appearance, signal);
  if (corrupt.count > 0) {
    corrupt.throwIfAllCorrupt();
    picture = { ...picture, data: picture.data.slice() };
    const scale = levelScale(metadata, level);
    const [left, top] = [x * metadata.tileWidth * scale, y * metadata.tileHeight * scale];
    await corrupt.drawHoles(picture, { left, top, width: picture.width * scale, height: picture.height * scale });
  }
  const size = { width: metadata.tileWidth, height: metadata.tileHeight };
  if (edge.kind === 'crop') picture = crop(picture, croppedTileContent(metadata, address));
  else if (edge.color) picture = pad(crop(picture, croppedTileContent(metadata, address)), size, edge.color);
  else picture = await padBorderTile(picture, size, options.keepsAlpha);
  const bytes = await encodePicture(picture, options, { background: backgroundOf(appearance), signal });
  // Without a style, the picture may be in a cache of the source, so its memory must not be reused.
  if (appearance.style && corrupt.count === 0) returnBytes(picture.data);
  return { kind: 'bytes', bytes, type: options.type, ...corruptTilesMember(corrupt) };
}

/** Pads a tile at the border: with transparent pixels if the encoding has alpha, otherwise with black. */
async function padBorderTile(picture: Picture, size: { width: number; height: number }, keepsAlpha: boolean): Promise<Picture> {
  if (picture.width === size.width && picture.height === size.height) return picture;
  return keepsAlpha ? pad(await addAlpha(picture), size, transparent) : pad(picture, size, black);
}
