import type { Readable } from 'node:stream';
import type { LargeImageMetadata } from './metadata.js';
import type { Raster } from './raster.js';
import type { HistogramBand } from './measure/histogram.js';
import type { IiifFacts, IiifPlan, IiifRequest } from './render/iiif.js';
import type { QuadInfo, QuadInfoOptions } from './quad-info.js';
import type { RequestOf } from './picture-parameters.js';

/** Color correction: `true` is perceptual, `false` is off, otherwise one of the four intents of ICC. */
export type IccOption = boolean | 'PERCEPTUAL' | 'RELATIVE_COLORIMETRIC' | 'SATURATION' | 'ABSOLUTE_COLORIMETRIC';

/** Encoding parameters as they arrive in requests. They are not checked yet. */
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
   * Absent, `none` or `false`: tiles at the border are padded to full size, transparent if the encoding has alpha, otherwise black.
   * `crop` or `true`: only the content. Anything else: a color to pad with.
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

/** Samples and display channels of one pixel; empty outside the image. */
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

/** Interpretation and statistics of a band. If the image is large, only parts of its finest level are measured. */
export interface BandSummary {
  interpretation: string;
  min: number;
  max: number;
  mean: number;
  stdev: number;
}

/** The same region of several frames side by side. An empty list of frames means all. */
export interface TileFramesRequest extends RegionRequest, RequestOf<'frameList' | 'framesAcross'> {}

/** An associated image, scaled into a box of at most `width` by `height` (it can be enlarged). */
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

/** Raw tiles that were expensive to make (of levels that the file does not contain). Keys are unique within one opened image. */
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
  /** Called at most once per image and kind of problem that does not make a request fail, e.g. an unusable color profile. */
  warn?: (fields: object, event: string) => void;
}

/** Default of {@link LargeImageOptions.maxOutputPixels}: 134 million. */
export const defaultMaxOutputPixels = 2 ** 27;

/**
 * An opened image, with everything that routes need for their responses. Encoded pictures are not cached here, but by the caller.
 */
export interface LargeImage {
  /**
   * Metadata of the image as in responses; with a projection, of the projected image.
   *
   * @throws BadValueError for an unknown projection; TileSourceError if the image cannot be projected.
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
  /** How to cover the frames with few textures made by {@link LargeImage.tileFrames}. */
  quadInfo(options: QuadInfoOptions): Promise<QuadInfo>;
  /** Names of the associated images, sorted. */
  associatedImages(): string[];
  /** `null` for an unknown name. */
  associatedImage(name: string, request: AssociatedImageRequest): Promise<EncodedPicture | null>;
  /** `{ sizeX, sizeY, mode, format? }`, or `{}` for an unknown name. */
  associatedImageMetadata(name: string, options?: { signal?: AbortSignal }): Promise<Record<string, unknown>>;
  /** The Deep Zoom description, XML. @throws BadParameterError */
  dzi(request: DziRequest): string;
  dziTile(request: DziTileRequest): Promise<EncodedPicture>;
  /** The data of the image for info.json of the IIIF Image API. */
  iiifFacts(): IiifFacts;
  /**
   * @throws BadParameterError if the request breaks the rules of the IIIF Image API; TileOutsideError if there is no such frame.
   */
  iiifPlan(request: IiifRequest, frame: number): IiifPlan;
  iiifPicture(plan: IiifPlan, options: { frame: number; signal?: AbortSignal }): Promise<EncodedPicture>;
}

/**
 * Version of how pictures look and histograms are counted. It is part of the keys of tile caches, of entity tags, and of the
 * records of stored thumbnails. Every release in which the same request for the same file gives a visibly different picture, or
 * other numbers, must increment it; otherwise caches, browsers and stored files keep showing the old ones.
 */
export const rendering: { readonly version: number } = { version: 2 };
