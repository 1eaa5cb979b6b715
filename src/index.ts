export { install } from './install.js';
export type { MetricsRegistry, InstallOptions, Installation } from './installation.js';
export { startWorker, type Worker } from './worker.js';
export { InvalidHostError } from './core/host/check-host.js';

// Implemented by hosts
export type {
  AccessEntry,
  AccessLevel,
  AccessList,
  Caller,
  Host,
  HostAccess,
  HostApp,
  HostAuth,
  HostAuthOptions,
  HostStrategy,
  HostTokens,
  HostDirectory,
  HostEventName,
  HostEventPayloads,
  HostEvents,
  HostFields,
  HostFiles,
  HostFileTree,
  HostLogger,
  HostModel,
  HostNotification,
  NewFile,
  NewFileContent,
  StoredDocument,
  WorkerHost,
} from './host.js';
export { HostEventEmitter, ModelEvents } from './core/host/host-events.js';

// Implemented by tile caches
export type { CachedTile, CacheReport, TileCache } from './features/caches/tile-cache.js';
export type { CacheBackend } from './features/caches/open-tile-cache.js';

// Implemented by tile sources
export {
  priorities,
  type AssociatedImage,
  type BorrowedImage,
  type ByteReader,
  type EncodedImage,
  type FolderFile,
  type FrameBox,
  type FrameMetadata,
  type ImageMetadata,
  type Priority,
  type SourceFolder,
  type SourceInput,
  type SourceOptions,
  type StoredEncoding,
  type TileAddress,
  type FileTree,
  type TileSource,
  type TileSourceDefinition,
} from './tilesource/tile-source.js';
export { findTileSources } from './tilesource/registry/installed-sources.js';
export { levelCount, tileContent, type PyramidShape } from './tilesource/geometry.js';
export { createRaster, type Raster, type Samples, type SampleType } from './tilesource/raster.js';

// Errors
export {
  AccessDeniedError,
  BusyError,
  CorruptTileError,
  FailedReadError,
  LargeImageError,
  MissingPartsError,
  OtherFormatError,
  TileSourceError,
  type ErrorCode,
} from './errors.js';
