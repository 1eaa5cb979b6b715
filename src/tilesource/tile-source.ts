import type { GeoReference } from './geo/georeference.js';
import type { Raster, SampleType } from './raster.js';
import type { CorruptTiles } from './render/corrupt-tiles.js';

/** Priorities that a tile source can have for a file. The lowest number wins. `manual` sources are never chosen automatically. */
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

/** Options for reading bytes. */
export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Memory that the reader can fill with the bytes, from its first byte, if they fit. This saves an allocation for each read. */
  into?: Uint8Array | undefined;
}

/** Random access to the bytes of a file, independent of where the file is stored. */
export interface ByteReader {
  /** Length of the file in bytes. */
  readonly size: number;
  /**
   * Reads `length` bytes from `offset`, or fewer if the file ends before that. Never reads outside the file, and never allocates
   * more than the size of the file. The bytes belong to the caller, who can change them.
   */
  read(offset: number, length: number, options?: ReadOptions): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** The file that a tile source should open, with the files around it. */
export interface SourceInput {
  /** File name with extension. */
  name: string;
  /** Mime type, if it is known. */
  mimeType?: string;
  /** Path of the file on this machine, or `null` if the bytes are elsewhere and only {@link SourceInput.open} reaches them. */
  path: string | null;
  /** Opens the bytes for random access. The caller closes the reader. */
  open(): Promise<ByteReader>;
  /**
   * The other files of the same item, for formats of several files. Absent if there can be no other files. Sources that call this
   * function declare {@link TileSourceDefinition.readsCompanions}.
   */
  companions?(): Promise<readonly SourceInput[]>;
  /**
   * The folder of the file, for images of several files. Absent if there is no folder. Sources that call this function declare
   * {@link TileSourceDefinition.readsFolder}.
   */
  folder?(): SourceFolder;
}

/** The folder of a file, with the other files in it and in its subfolders. Nothing above the folder can be reached. */
export interface SourceFolder {
  /** The file at a path relative to this folder, with `/` between names; `null` if there is none. */
  file(path: string): Promise<FolderFile | null>;
  /**
   * Lists the files directly in the folder at `path`, where `''` is this folder. The result contains sorted paths relative to this
   * folder, or is `null` if there is no such folder.
   */
  files(path: string): Promise<readonly string[] | null>;
  /**
   * Opens the folder at `path` with everything below it, for images whose files are read by their paths. `null` if there is no such
   * folder.
   *
   * @throws TileSourceError if the folder contains too many folders.
   */
  tree(path: string): Promise<FileTree | null>;
  /**
   * The file of the large image of a host's item, which can be in any folder; `null` if there is none. An image that uses this file
   * is shown only to those who can read that item. Absent if there are no items.
   */
  item?(id: string): Promise<FolderFile | null>;
}

/** Another file in the folder. */
export interface FolderFile extends SourceInput {
  /** Identifies the file: two files with the same id are the same file. */
  readonly id: string;
  /**
   * Opens the file as an image, and calls `use`. Callers that use the file at the same time or soon afterwards share the opened
   * image.
   *
   * @throws TileSourceError if the file is not an image, or is itself made from the borrowing image.
   */
  borrow<R>(
    use: (image: BorrowedImage) => Promise<R> | R,
    options?: { sourceName?: string; signal?: AbortSignal | undefined },
  ): Promise<R>;
}

/** An opened image, which the lender closes. */
export interface BorrowedImage {
  readonly sourceName: string;
  readonly source: Omit<TileSource, 'close'>;
  /** Samples of a rectangle of any level, in pixels of the level, as stored in the file. The rectangle is inside the level. */
  samples(where: FrameBox, signal?: AbortSignal): Promise<Raster>;
  /** The same rectangle rendered with a style, in 8-bit samples. */
  styled(where: FrameBox, style: object, signal?: AbortSignal): Promise<Raster>;
}

/** A rectangle of one frame at one level. */
export interface FrameBox {
  /** Negative levels are coarser than level 0; each halves the size again. */
  level: number;
  frame: number;
  /** In pixels of the level. */
  box: { left: number; top: number; width: number; height: number };
  /** Whether levels that the file does not contain are made by picking pixels of a finer level instead of averaging them. */
  nearest?: boolean;
  /** Collects the corrupt tiles, which are left empty. Without this collection, reading fails at the first corrupt tile. */
  corrupt?: CorruptTiles | undefined;
}

/** Default of {@link SourceOptions.maxDecodedPixels}. */
export const defaultMaxDecodedPixels = 0x3fff * 0x3fff;

/** Limits and options for every source. Pixels are counted as width times height of one frame. */
export interface SourceOptions {
  signal?: AbortSignal;
  /** An image that is not stored in tiles is served as a single tile if no side has more pixels than this. */
  maxSmallImageSize?: number;
  /** Maximum number of pixels of an image that a source decodes as a whole. */
  maxDecodedPixels?: number;
  /** Directory for temporary files of a source; default the system's. */
  temporaryDirectory?: string;
}

/** Position of a plane in a multi-frame image. Axes that the image does not use are left out. */
export interface FrameMetadata {
  /** Positions by the name of the axis, such as `{ C: 0, Z: 3 }`. */
  axes: Readonly<Record<string, number>>;
  /** Name of the channel, if the file has one. */
  channel?: string;
  /** Color in which the channel should be shown, as `#rrggbb`, if the file has one. */
  color?: string;
  /** Name of the position along axis XY, such as a scene, if the file has one. */
  position?: string;
  /** Further members of the frame from the file, sent unchanged. */
  extra?: Readonly<Record<string, unknown>>;
}

/** Metadata of an image. Sizes are in pixels of full resolution. */
export interface ImageMetadata {
  sizeX: number;
  sizeY: number;
  /** Tile size of every level, in pixels. */
  tileWidth: number;
  tileHeight: number;
  /** Number of levels; level 0 is the coarsest and `levels - 1` is full resolution. */
  levels: number;
  /** Objective power, or `null` if the file does not contain it. */
  magnification: number | null;
  /** Millimeters per base-layer pixel, or `null`. */
  mmX: number | null;
  mmY: number | null;
  /** Millimeters from one z plane to the next, if the file contains this distance. */
  mmZ?: number;
  /** Seconds from one time to the next, if the file contains this duration. */
  secondsT?: number;
  /** Whether a user has entered `mmX` and `mmY`, because the file does not contain them. */
  isScaleEntered?: boolean;
  /** Type of the samples returned by {@link TileSource.readTile}. */
  dtype: SampleType;
  /** Samples per pixel. */
  bandCount: number;
  /**
   * The sample that is shown as white, if it is less than the largest value of `dtype`, such as 1023 for samples of 10 bits. Black
   * is 0 in unsigned samples, and `-white - 1` in signed samples.
   */
  white?: number;
  /** One entry per frame, in frame order; absent or of length 1 for a single-frame image. */
  frames?: readonly FrameMetadata[];
  /** Channel names in the order of axis C, if the file names them. */
  channels?: readonly string[];
  /** The position of the image on the earth, if the file declares it. */
  geo?: GeoReference;
  /** Value of samples where nothing was measured. Such samples are left out of means. */
  nodata?: number;
  /**
   * Whether the image has a palette. Its colors must not be averaged, because a color between two palette colors means nothing.
   */
  indexed?: boolean;
  /** Number of bits of a sample that the file uses, if `dtype` has more bits, such as 12 of 16. */
  sampleBits?: number;
}

/** Address of a tile: `x` and `y` count tiles from the upper left, `frame` counts planes from 0. */
export interface TileAddress {
  level: number;
  x: number;
  y: number;
  frame: number;
}

/** Encodings in which a tile can be stored in a file and sent unchanged. */
export type StoredEncoding = 'JPEG' | 'PNG' | 'WEBP';

/** A complete encoded picture, ready to send. */
export interface EncodedImage {
  encoding: StoredEncoding;
  bytes: Uint8Array;
  width: number;
  height: number;
  /**
   * Size of the area at the upper left whose pixels the file contains. Present if this area is smaller than the tile's part of the
   * image, because the file rounds the sizes of levels down.
   */
  content?: { width: number; height: number };
}

/** The photometric interpretations that DICOM allows for the encoded tiles of whole slides. */
export type StoredColors = 'MONOCHROME2' | 'RGB' | 'YBR_FULL_422' | 'YBR_ICT' | 'YBR_RCT';

/** The tiles of a level of one frame as stored in the file: all in the same encoding, and none missing. */
export interface StoredLevel {
  /** `jpeg2000-lossless`: the code streams use the reversible transformation. */
  encoding: 'jpeg' | 'jpeg2000' | 'jpeg2000-lossless';
  colors: StoredColors;
  /** Length in bytes of the result of {@link StoredLevel.read} for a tile. Tiles are numbered row by row, from 0. */
  lengthOf(tile: number): number;
  /** The stored bytes of a tile, as a complete picture of full tile size. @throws TileSourceError if they are corrupt. */
  read(tile: number, signal?: AbortSignal): Promise<Uint8Array>;
}

/** An attribute in the JSON of DICOM (PS3.18 F). */
export interface DicomJsonElement {
  vr: string;
  Value?: unknown[];
  BulkDataURI?: string;
  InlineBinary?: string;
}

/** A data set in the JSON of DICOM. */
export type DicomJson = Record<string, DicomJsonElement>;

/** Access to the contents of a DICOM file, without conversion. */
export interface DicomFile {
  /** The attributes, without the samples. Long values are replaced by addresses below `bulkRoot`. */
  json(bulkRoot: string, signal?: AbortSignal): Promise<DicomJson>;
  /** A long value by its path below `bulkRoot`; `null` if there is none. */
  value(path: readonly string[], signal?: AbortSignal): Promise<Uint8Array | null>;
  /** Whether frames are encoded, each separately. */
  isEncapsulated: boolean;
  transferSyntax: string;
  instanceUid: string;
  frames: number;
  /** Length of the file in bytes. */
  size: number;
  /** Bytes of the file. */
  bytes(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** The stored bytes of the frame with this number, from 0. @throws TileSourceError if they are corrupt. */
  frame(number: number, signal?: AbortSignal): Promise<Uint8Array>;
  /** The decoded samples of a frame, as stored: colors as RGB. @throws TileSourceError if they are corrupt. */
  decoded(number: number, signal?: AbortSignal): Promise<Raster>;
}

/** A lossy codec, or a codec whose files do not tell whether their compression was lossless. */
export type LossyCodec = 'jpeg' | 'jpeg2000' | 'jpegxr' | 'jpegxl' | 'webp' | 'heif' | 'avif';

/** A small picture in the file besides its main image, such as a label, macro or thumbnail. */
export interface AssociatedImage {
  raster: Raster;
  /** The sample that is shown as white, if it is less than the largest value of its type; see {@link ImageMetadata.white}. */
  white?: number;
  /** Codec in which the file stores the image, for information. */
  format?: string;
  /** The lossy codec with which the image was compressed; missing or `null` if there was none. */
  lossyCodec?: LossyCodec | null;
}

/** Options of {@link TileSource.readTile}. */
export interface TileOptions {
  signal?: AbortSignal;
  nearest?: boolean;
  corrupt?: CorruptTiles;
}

/**
 * An opened image file. Methods can be called at the same time by many requests; {@link TileSource.close} is called once, when no
 * other call is running.
 */
export interface TileSource {
  readonly metadata: ImageMetadata;
  /**
   * Levels that the file contains, ascending; `levels - 1` is always among them. Tiles of the other levels are made from the next
   * finer level of this list.
   */
  readonly populatedLevels: readonly number[];
  /** The number of stored parts, such as chunks or frames, that make up a tile. Absent if a tile is stored as one part. */
  readonly partsPerTile?: number;
  /**
   * Decodes one tile of a populated level. The result is the part of the tile inside the image: `tileWidth` by `tileHeight`, less
   * at the right and bottom border. The caller has checked the address.
   *
   * @param options with `nearest`, a source that resamples picks the nearest pixel instead of mixing pixels. With `corrupt`, a
   * source that makes a tile of several parts, such as tiles of other images, may leave corrupt parts empty and add them to this
   * collection.
   * @throws TileSourceError where the file is corrupt or its compression unsupported.
   */
  readTile(address: TileAddress, options?: TileOptions): Promise<Raster>;
  /**
   * The stored bytes of a tile, if a browser can show them unchanged and with the right colors, and if the tile has exactly
   * `tileWidth` by `tileHeight` pixels, all of them inside the image. `null` otherwise.
   *
   * @param options with `partial`, the tile can extend beyond the right and bottom border, where its pixels are undefined.
   */
  readStoredTile?(address: TileAddress, options?: { signal?: AbortSignal; partial?: boolean }): Promise<EncodedImage | null>;
  /** The tiles of a populated level as stored; `null` unless all tiles are stored in one encoding that other programs can read. */
  storedLevel?(where: { level: number; frame: number }, options?: { signal?: AbortSignal }): Promise<StoredLevel | null>;
  /** The files of the image, if it is DICOM. */
  readonly dicomFiles?: readonly DicomFile[];
  /** Names of the associated images, sorted. */
  readonly associatedImages?: readonly string[];
  /** Decodes an associated image; `null` for an unknown name. */
  readAssociatedImage?(name: string, options?: { signal?: AbortSignal }): Promise<AssociatedImage | null>;
  /** Free-form metadata of the file, for `GET tiles/internal_metadata`. */
  internalMetadata?(): Promise<Record<string, unknown>>;
  /** ICC profile of the samples of a frame, or `null`. {@link TileSource.readTile} does not apply it. */
  iccProfile?(frame: number): Uint8Array | null;
  /**
   * Memory in bytes that this source retains while open, if the amount matters. It counts towards the limit of the source cache.
   */
  readonly retainedBytes?: number;
  /**
   * For a source without stored tiles: whether the samples are known to come from lossy compression. Then a conversion also uses
   * lossy compression.
   */
  readonly isLossy?: boolean;
  /** The lossy codec that the samples were compressed with; `null` if there was none. */
  lossyCodec?(signal?: AbortSignal): Promise<LossyCodec | null>;
  close(): Promise<void>;
}

/** Declares a tile source. Authors of further tile sources write such a definition. */
export interface TileSourceDefinition {
  /** Unique; stored as `largeImage.sourceName`. */
  readonly name: string;
  /** Version of the reader or of the library that it uses, for `GET large_image/sources`. */
  readonly version?: string;
  /** Priority by extension (lower case, without dot); `default` applies to unlisted extensions. */
  readonly extensions: Readonly<Record<string, Priority>> & { readonly default: Priority };
  /** Priority by mime type; `default` applies to unlisted types. */
  readonly mimeTypes: Readonly<Record<string, Priority>> & { readonly default: Priority };
  /** Whether an image can consist of several files of an item. The image is reopened when one of them is added or removed. */
  readonly readsCompanions?: boolean;
  /**
   * Whether an image can include other files of its folder: `files`, which are read as bytes, or `images`, which other sources
   * open. The image is shown only to callers who can read all of these files, and is reopened when one of them is added, changed or
   * removed.
   */
  readonly readsFolder?: 'files' | 'images';
  /**
   * Whether an image may include another file of its folder. By default, it may include every file.
   *
   * @param name the name of the image's file.
   * @param path the path of the other file, relative to the folder.
   */
  mayHold?(name: string, path: string): boolean;
  /** Whether this source reads pictures that browsers can show themselves: JPEG and PNG. */
  readonly readsWebPictures?: boolean;
  /** Whether the child process of a conversion opens the file itself. Otherwise its parent process reads the image for it. */
  readonly opensInConversion?: boolean;
  /** Whether this source reads the files that conversions write. Exactly one source does. */
  readonly readsConversions?: boolean;
  /**
   * The series of files to which a file belongs, for formats whose images are stored in several files that may arrive as separate
   * items. `null` if the file belongs to no series.
   *
   * @param metadata the result of {@link TileSource.internalMetadata}.
   */
  seriesOf?(metadata: Readonly<Record<string, unknown>>): { series: string; study: string } | null;
  /** Whether a file is an intact image that has too many pixels to be opened directly, so that it must be converted. */
  isOnlyTooLarge?(input: SourceInput, temporaryDirectory: string): Promise<boolean>;
  /** Priority by the complete name of a file, in lower case, for names whose extension does not tell the format. */
  readonly fileNames?: Readonly<Record<string, Priority>>;
  /** Files whose names match are refused by this source. */
  readonly ignoredNames?: RegExp;
  /**
   * Opens a file.
   *
   * @throws TileSourceError with a readable message if the file is not for this source. Then nothing stays open.
   */
  open(input: SourceInput, options?: SourceOptions): Promise<TileSource>;
}

/** Files by their paths, in an archive or in folders. */
export interface FileTree {
  /** Opens the file at a path; `null` if there is none. Closing the tree closes the file. */
  file(path: string): Promise<Pick<ByteReader, 'size' | 'read'> | null>;
  /** Whether missing files may still arrive, as in a folder that is being uploaded. */
  readonly mayGrow?: boolean;
  /** Memory in bytes that the tree retains while open. */
  readonly retainedBytes: number;
  close(): Promise<void>;
}
