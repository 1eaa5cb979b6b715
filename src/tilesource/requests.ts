import type { Readable } from 'node:stream';
import type { LargeImageMetadata } from './metadata.js';
import type { Raster } from './raster.js';
import type { HistogramBand } from './measure/histogram.js';
import type { IiifFacts, IiifPlan, IiifRequest } from './render/iiif.js';
import type { QuadInfo, QuadInfoOptions } from './quad-info.js';
import type { RequestOf } from './picture-parameters.js';

/** Color correction: `true` is perceptual, `false` is off, otherwise one of the four intents of ICC. */
export type IccOption = boolean | 'PERCEPTUAL' | 'RELATIVE_COLORIMETRIC' | 'SATURATION' | 'ABSOLUTE_COLORIMETRIC';

/** Encoding parameters of a request, not checked yet. */
export type EncodingRequest = RequestOf<'encoding' | 'jpegQuality' | 'jpegSubsampling' | 'tiffCompression'>;

/** Combines the z planes of each frame, from `zFrom` to `zTo` inclusive, by `max`, `mean` or `min`. */
export type ZRequest = RequestOf<'zProject' | 'zFrom' | 'zTo'>;

/** Options of every request for a picture. */
export interface RenderRequest extends EncodingRequest, ZRequest, RequestOf<'frame' | 'projection' | 'style'> {
  signal?: AbortSignal;
}

/** A tile by its level, column and row. */
export interface TileRequest extends RenderRequest {
  level: number;
  x: number;
  y: number;
  /**
   * The treatment of tiles at the border. Absent, `none` or `false`: they are padded to full size, with transparent pixels if the
   * encoding has alpha, otherwise with black. `crop` or `true`: they are cropped. Any other text is a color to pad with.
   */
  edge?: string;
}

/** Requested size or scale of a region, and how to scale it. The default is Lanczos to shrink and bicubic to enlarge. */
export type RegionOutput = RequestOf<'width' | 'height' | 'magnification' | 'mm_x' | 'mm_y' | 'exact' | 'resample'>;

/** The rectangle of a region. */
type RegionRectangle = RequestOf<'left' | 'top' | 'right' | 'bottom' | 'regionWidth' | 'regionHeight' | 'units' | 'unitsWH'>;

/** A rectangle of the image at a scale. */
export interface RegionRequest extends RenderRequest, RegionRectangle, RegionOutput, RequestOf<'fill'> {
  /** Only for `encoding=OMETIFF`: the frames to return. By default, all channels of the frame. */
  frameList?: readonly number[];
}

/** The whole image, scaled to fit in a box of `width` by `height`; 256 by 256 if neither is given. */
export interface ThumbnailRequest extends RenderRequest, RequestOf<'width' | 'height' | 'fill' | 'composite'> {}

/** One position, or the same position in several frames. */
export interface PixelRequest extends ZRequest, RequestOf<'left' | 'top' | 'units' | 'frame' | 'style'> {
  signal?: AbortSignal;
}

/** One pixel: its samples (`value`), and its gray value or color as displayed. Empty outside the image. */
export interface PixelValue {
  value?: number[];
  l?: number;
  r?: number;
  g?: number;
  b?: number;
  a?: number;
}

/** A histogram of the samples of a region. */
export interface HistogramRequest
  extends RegionRectangle, RegionOutput, ZRequest, RequestOf<'frame' | 'style' | 'bins' | 'density' | 'threshold'> {
  rangeMin?: number;
  rangeMax?: number;
  /** Makes all bins of integer samples equally wide, with a whole number as their width. */
  roundRange?: boolean;
  signal?: AbortSignal;
}

/** Interpretation and statistics of a band. In a large image, only parts of the finest level are measured. */
export interface BandSummary {
  interpretation: string;
  min: number;
  max: number;
  mean: number;
  stdev: number;
}

/** The same region of several frames, side by side. An empty `frameList` means all frames. */
export interface TileFramesRequest extends RegionRequest, RequestOf<'frameList' | 'framesAcross'> {}

/** An associated image, scaled to fit into a box of `width` by `height`. A small image is enlarged. */
export interface AssociatedImageRequest extends EncodingRequest, RequestOf<'width' | 'height'> {
  signal?: AbortSignal;
}

/** Parameters of Deep Zoom. */
export interface DziRequest {
  /** Number of pixels shared with neighbors on each side; default 0. */
  overlap?: number;
  /** Power of two; default 256. */
  tilesize?: number;
  /** `JPEG` (default) or `PNG`. */
  encoding?: string;
}

/** A tile of Deep Zoom. If the extension of the name is jpg, jpeg or png, it takes precedence over `encoding`. */
interface DziTileRequest extends DziRequest, Omit<RenderRequest, 'encoding'> {
  level: number;
  /** `<x>_<y>.<extension>` */
  name: string;
}

/** A complete picture. `bytes` is empty if the request selects nothing. */
export interface EncodedPicture {
  kind: 'bytes';
  bytes: Uint8Array;
  /** Mime type. */
  type: string;
  /** Number of tiles that are holes in the picture, because their bytes are corrupt. Such a picture must not be cached. */
  corruptTiles?: number;
}

/** A picture that is read from a temporary file. The file is removed when the stream ends or is destroyed. */
export interface StreamedPicture {
  kind: 'stream';
  stream: Readable;
  type: string;
  /** Length of the stream in bytes. */
  size: number;
  /** Number of corrupt tiles; holes are drawn where they are. */
  corruptTiles?: number;
}

/**
 * A cache of decoded tiles that were expensive to make, because the file does not contain their level. Keys are unique in one
 * image.
 */
export interface RasterCache {
  get(key: string): Raster | undefined;
  set(key: string, raster: Raster): void;
}

/** Options for serving an image. */
export interface LargeImageOptions {
  /** Name of the tile source, for {@link LargeImage.internalMetadata}. */
  sourceName?: string;
  /** Tiles of coarser levels than this do not exist; default 0. */
  minLevel?: number;
  /** Color correction if neither request nor style specifies one; default `true`. */
  icc?: IccOption;
  /** Cache for tiles of missing levels. Default: a small least-recently-used cache for this image. */
  rasterCache?: RasterCache;
  /** Number of tiles of one request that are read at the same time; default 4. */
  readConcurrency?: number;
  /** Maximum output in pixels of everything except TILED; default {@link defaultMaxOutputPixels}. */
  maxOutputPixels?: number;
  /** Directory in which TILED output is made; default the system's. */
  temporaryDirectory?: string;
  /** Called for problems that do not make a request fail, such as an unusable color profile. Called once per image and kind. */
  warn?: (fields: object, event: string) => void;
}

/** Default of {@link LargeImageOptions.maxOutputPixels}: 134 million. */
export const defaultMaxOutputPixels = 2 ** 27;

/**
 * An opened image, with everything that routes need for their responses. The image does not cache encoded pictures; the caller
 * does.
 */
export interface LargeImage {
  /**
   * Metadata of the image as sent in responses. With `projection`, the metadata describe the projected image.
   *
   * @throws BadValueError for an unknown projection, and TileSourceError if the image cannot be projected.
   */
  metadata(projection?: string): LargeImageMetadata;
  /** Metadata of the file, with `tilesource`, `iccprofiles` and `populatedLevels`. */
  internalMetadata(): Promise<Record<string, unknown>>;
  /**
   * One tile. The stored bytes are returned without decoding if style, profile, edge and encoding allow it.
   *
   * @throws TileOutsideError if there is no such tile or frame.
   */
  tile(request: TileRequest): Promise<EncodedPicture>;
  /** @throws BadValueError for sizes, units, colors or encodings that are not allowed. */
  region(request: RegionRequest): Promise<EncodedPicture | StreamedPicture>;
  thumbnail(request: ThumbnailRequest): Promise<EncodedPicture | StreamedPicture>;
  pixel(request: PixelRequest): Promise<PixelValue>;
  /** One entry per listed frame, each with its number. */
  pixels(request: PixelRequest, frameList: readonly number[]): Promise<(PixelValue & { frame: number })[]>;
  /** One entry per band. */
  histogram(request: HistogramRequest): Promise<HistogramBand[]>;
  /** Statistics by band number, from 1. */
  bands(request: { frame?: number; signal?: AbortSignal }): Promise<Record<string, BandSummary>>;
  tileFrames(request: TileFramesRequest): Promise<EncodedPicture | StreamedPicture>;
  /** Computes how {@link LargeImage.tileFrames} can show the frames in few textures. */
  quadInfo(options: QuadInfoOptions): Promise<QuadInfo>;
  /** Names of the associated images, sorted. */
  associatedImages(): string[];
  /** `null` for an unknown name. */
  associatedImage(name: string, request: AssociatedImageRequest): Promise<EncodedPicture | null>;
  /** `{ sizeX, sizeY, mode, format? }`, or `{}` for an unknown name. */
  associatedImageMetadata(name: string, options?: { signal?: AbortSignal }): Promise<Record<string, unknown>>;
  /** The Deep Zoom description as XML. @throws BadParameterError for invalid parameters. */
  dzi(request: DziRequest): string;
  dziTile(request: DziTileRequest): Promise<EncodedPicture>;
  /** The data of the image for info.json of the IIIF Image API. */
  iiifFacts(): IiifFacts;
  /**
   * @throws BadParameterError if the request breaks the rules of the IIIF Image API, and TileOutsideError if there is no such
   * frame.
   */
  iiifPlan(request: IiifRequest, frame: number): IiifPlan;
  iiifPicture(plan: IiifPlan, options: { frame: number; signal?: AbortSignal }): Promise<EncodedPicture>;
}

/**
 * Version of how pictures look and histograms are counted. Cache keys of tiles, entity tags, and the records of stored thumbnails
 * contain this version. A release in which the same request for the same file gives a visibly different picture, or other numbers,
 * must increment it; otherwise caches, browsers and stored files keep showing the old results.
 */
export const rendering: { readonly version: number } = { version: 2 };
