import { windowPositions } from './pack-index.js';

/** How many elements go into a pack and a window. It can differ from write to write, because stored data does not depend on it. */
export interface Layout {
  /** Maximum number of elements in a pack; at most 4095. */
  packElements: number;
  /** A pack is closed when its text is longer than this, in bytes. */
  packTextBytes: number;
  /** Maximum number of elements in a window; at most 65,536. */
  windowElements: number;
  /** A window is closed when its text is longer than this, in bytes. */
  windowTextBytes: number;
  /** Packs of a window that may be in no segment of its table: a reader of the table reads their texts. */
  loosePacks: number;
  /** Segments of the table of a window; more are put together. */
  segments: number;
}

/** Measured: see docs/annotation-store.md. */
export const defaultLayout: Layout = {
  packElements: 128,
  packTextBytes: 512 * 1024,
  windowElements: windowPositions,
  windowTextBytes: 32 * 1024 * 1024,
  loosePacks: 64,
  segments: 8,
};
