import type { GeoReference } from './geo/georeference.js';
import type { Raster, SampleType } from './raster.js';

/**
 * How strongly a tile source wants a file; the lowest number wins. `manual` sources are never chosen by themselves.
 */
export const priorities = {
  named: 0,
  preferred: 1,
  higher: 2,
  high: 3,
  medium: 4,
  low: 5,
  lower: 6,
  implicitHigh: 7,
  implicit: 8,
  implicitLow: 9,
  fallbackHigh: 10,
  fallback: 11,
  manual: 12,
} as const;

/** One of the numbers of {@link priorities}. */
export type Priority = (typeof priorities)[keyof typeof priorities];

/** How bytes are read. */
export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Memory that the bytes may be put into, from its beginning, where they fit: a reader need not take new memory for each piece. */
  into?: Uint8Array | undefined;
}

/** Random access to the bytes of a file, wherever they lie. */
export interface ByteReader {
  /** Length of the file in bytes. */
  readonly size: number;
  /**
   * Reads up to `length` bytes from `offset`; fewer only where the file ends. Never reads outside the file and never allocates
   * more than the file can deliver. The bytes belong to the caller, who may change them.
   */
  read(offset: number, length: number, options?: ReadOptions): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** What a tile source is given to open. */
export interface SourceInput {
  /** File name with extension. */
  name: string;
  /** Mime type, as far as it is known. */
  mimeType?: string;
  /** Path of the file on this machine, or `null` where the bytes are elsewhere and only {@link SourceInput.open} reaches them. */
  path: string | null;
  /** Opens the bytes for random access. The caller closes the reader. */
  open(): Promise<ByteReader>;
  /**
   * The other files of the same item, by name, for formats of several files. Absent where there can be none. Sources that ask for them say
   * so with {@link TileSourceDefinition.readsCompanions}.
   */
  companions?(): Promise<readonly SourceInput[]>;
  /**
   * The folder in which the file lies, for images of several files. Absent where there is none. Sources that look into it say so with
   * {@link TileSourceDefinition.readsFolder}.
   */
  folder?(): SourceFolder;
}

/** A folder as it is seen from a file in it: what lies beside the file and below, and nothing above. */
export interface SourceFolder {
  /** The file at a path from here, names with `/` between them; `null` where there is none. */
  file(path: string): Promise<FolderFile | null>;
  /** Paths from here of the files directly in a folder, `''` being this one, sorted; `null` where there is no such folder. */
  files(path: string): Promise<readonly string[] | null>;
  /**
   * A folder with all that lies below it, for images whose files are read by their paths; `null` where there is none.
   *
   * @throws TileSourceError where there are too many folders in it.
   */
  tree(path: string): Promise<FileTree | null>;
  /**
   * The file of the large image of an item of the host, wherever it lies; `null` where there is none. What is made of it is shown only to those
   * who may read the item. Absent where there are no items.
   */
  item?(id: string): Promise<FolderFile | null>;
}

/** A file beside another one. */
export interface FolderFile extends SourceInput {
  /** Equal for the same file only. */
  readonly id: string;
  /**
   * Opens the file as an image for one use. Whoever else uses it at the same time or soon after has the same one.
   *
   * @throws TileSourceError where it is no image, or one that is made of the image that asks.
   */
  borrow<R>(
    use: (image: BorrowedImage) => Promise<R> | R,
    options?: { sourceName?: string; signal?: AbortSignal | undefined },
  ): Promise<R>;
}

/** An opened image that somebody else closes. */
export interface BorrowedImage {
  /** Name of the source that reads it. */
  readonly sourceName: string;
  readonly source: Omit<TileSource, 'close'>;
  /** Samples of a rectangle of any level, in pixels of the level, as the file has them. The rectangle lies inside the level. */
  samples(where: FrameBox, signal?: AbortSignal): Promise<Raster>;
  /** The same as it looks with a style, in bytes. */
  styled(where: FrameBox, style: object, signal?: AbortSignal): Promise<Raster>;
}

/** A rectangle of a level, in its pixels, of one frame. */
export interface FrameBox {
  level: number;
  frame: number;
  box: { left: number; top: number; width: number; height: number };
}

/** Most pixels of an image that a source decodes as a whole, where {@link SourceOptions} does not say. */
export const defaultMaxDecodedPixels = 0x3fff * 0x3fff;

/** Limits and switches that hold for every source. Pixels are counted as width times height of one frame. */
export interface SourceOptions {
  signal?: AbortSignal;
  /** Longest side, in pixels, of an image that is served as one single tile when it is not stored in tiles. */
  maxSmallImageSize?: number;
  /** Largest image, in pixels, that a source may decode as a whole. */
  maxDecodedPixels?: number;
  /** Directory for temporary files of a source; default the system's. */
  temporaryDirectory?: string;
}

/** Position of a plane in a multi-frame image. Axes that the image does not use are left out. */
export interface FrameMetadata {
  /** Positions by axis name without the word Index: `{ C: 0, Z: 3 }`. */
  axes: Readonly<Record<string, number>>;
  /** Name of the channel, where the file gives one. */
  channel?: string;
  /** Colour in which the channel is meant to be shown, as `#rrggbb`, where the file gives one. */
  color?: string;
  /** Further members of the frame as the file gives them; sent as they are. */
  extra?: Readonly<Record<string, unknown>>;
}

/** What an image is, in base-layer pixels. */
export interface ImageMetadata {
  sizeX: number;
  sizeY: number;
  /** Tile size of every level, in pixels. */
  tileWidth: number;
  tileHeight: number;
  /** Number of levels; level 0 is the coarsest and `levels - 1` is full resolution. */
  levels: number;
  /** Objective power, or `null` when the file says nothing. */
  magnification: number | null;
  /** Millimetres per base-layer pixel, or `null`. */
  mmX: number | null;
  mmY: number | null;
  /** Type of the samples that {@link TileSource.readTile} delivers. */
  dtype: SampleType;
  /** Samples per pixel. */
  bandCount: number;
  /** One entry per frame, in frame order; absent or of length 1 for a single-frame image. */
  frames?: readonly FrameMetadata[];
  /** Channel names in the order of axis C, when the file names them. */
  channels?: readonly string[];
  /** Where the image lies on the earth, when the file says so. */
  geo?: GeoReference;
  /** Whether its colours are those of a palette: what lies between two of them stands for nothing. */
  indexed?: boolean;
}

/** Which tile: `x` and `y` count tiles from the upper left, `frame` counts planes from 0. */
export interface TileAddress {
  level: number;
  x: number;
  y: number;
  frame: number;
}

/** Encodings in which a tile may be stored in a file and sent as it is. */
export type StoredEncoding = 'JPEG' | 'PNG' | 'WEBP';

/** Bytes of a whole encoded picture, ready to be sent. */
export interface EncodedImage {
  encoding: StoredEncoding;
  bytes: Uint8Array;
  width: number;
  height: number;
  /** How much of it, from the upper left, shows the image, where that is less than the part that lies inside the image. */
  content?: { width: number; height: number };
}

/** A small picture that belongs to the file beside its main image: label, macro, thumbnail. */
export interface AssociatedImage {
  raster: Raster;
  /** Codec the file stores it in, for information. */
  format?: string;
}

/**
 * An opened image file. Methods may be called at the same time from many requests; {@link TileSource.close} is called once, when
 * no other call is under way.
 */
export interface TileSource {
  readonly metadata: ImageMetadata;
  /**
   * Levels that the file really holds, ascending; always contains `levels - 1`. Tiles of the others are made from the next finer
   * level of this list.
   */
  readonly populatedLevels: readonly number[];
  /**
   * Decodes one tile of a populated level. The result is what lies inside the image: `tileWidth` by `tileHeight`, less at the
   * right and bottom border. The address has been checked.
   *
   * @param options `nearest`: a source that makes its tiles of other pixels picks them instead of mixing them.
   * @throws TileSourceError where the file is corrupt or its compression unsupported.
   */
  readTile(address: TileAddress, options?: { signal?: AbortSignal; nearest?: boolean }): Promise<Raster>;
  /**
   * The stored bytes of a tile, when they can be shown by a browser as they are, with true colours, and are of exactly
   * `tileWidth` by `tileHeight` pixels that all lie inside the image. `null` otherwise.
   *
   * @param options `partial`: a tile may reach over the right and lower border, where it may show anything.
   */
  readStoredTile?(address: TileAddress, options?: { signal?: AbortSignal; partial?: boolean }): Promise<EncodedImage | null>;
  /** Names of the associated images, sorted. */
  readonly associatedImages?: readonly string[];
  /** Decodes an associated image; `null` for an unknown name. */
  readAssociatedImage?(name: string, options?: { signal?: AbortSignal }): Promise<AssociatedImage | null>;
  /** Free-form facts from the file, for GET tiles/internal_metadata. */
  internalMetadata?(): Promise<Record<string, unknown>>;
  /** ICC profile of the samples of a frame, or `null`. {@link TileSource.readTile} does not apply it. */
  iccProfile?(frame: number): Uint8Array | null;
  /** Memory in bytes that this source keeps while open, beyond small change; bounds the source cache. */
  readonly retainedBytes?: number;
  close(): Promise<void>;
}

/** A way of reading files: what the registry holds and what a plugin author writes. */
export interface TileSourceDefinition {
  /** Unique; stored as `largeImage.sourceName`. */
  readonly name: string;
  /** Version of the reader or of the library behind it, for GET large_image/sources. */
  readonly version?: string;
  /** Priority by extension (lower case, without dot), and for unlisted ones. */
  readonly extensions: Readonly<Record<string, Priority>> & { readonly default: Priority };
  /** Priority by mime type, and for unlisted ones. */
  readonly mimeTypes: Readonly<Record<string, Priority>> & { readonly default: Priority };
  /** Whether an image may lie in several files of an item: it is opened anew when one of them comes or goes. */
  readonly readsCompanions?: boolean;
  /**
   * Whether an image may be made of other files of its folder: `files`, read as bytes, or `images`, opened by other sources. Whoever may not read
   * all of them is not shown the image, and it is opened anew when one of them comes, changes or goes.
   */
  readonly readsFolder?: 'files' | 'images';
  /**
   * Whether a file of the folder may belong to an image, by the name of the image's file and the path of the other from there. Default: all may.
   */
  mayHold?(name: string, path: string): boolean;
  /** Priority by the whole name of a file, in lower case, where its extension says too little. */
  readonly fileNames?: Readonly<Record<string, Priority>>;
  /** Files whose names match are refused by this source. */
  readonly ignoredNames?: RegExp;
  /**
   * Opens a file.
   *
   * @throws TileSourceError with a readable message when this is not a file for this source. Nothing stays open then.
   */
  open(input: SourceInput, options?: SourceOptions): Promise<TileSource>;
}

/** Files by their paths, wherever they lie: in an archive, in folders. */
export interface FileTree {
  /** Opens a file; `null` where there is none. Closing the tree closes it. */
  file(path: string): Promise<Pick<ByteReader, 'size' | 'read'> | null>;
  /** Whether files that are missing may still come, as into a folder that is being uploaded. */
  readonly mayGrow?: boolean;
  /** Memory that it keeps while open, in bytes. */
  readonly retainedBytes: number;
  close(): Promise<void>;
}
