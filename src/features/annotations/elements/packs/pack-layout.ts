import { windowPositions } from './pack-index.js';

/** Limits of packs, windows and tables. They can differ from write to write, because readers do not depend on them. */
export interface PackLayout {
  /** Maximum number of elements in a pack; at most 4095. */
  packElements: number;
  /** A pack is closed when its text is longer than this, in bytes. */
  packTextBytes: number;
  /** Maximum number of elements in a window; at most 65,536. */
  windowElements: number;
  /** A window is closed when its text is longer than this, in bytes. */
  windowTextBytes: number;
  /** Maximum number of packs of a window that are in no segment of its table. To read the table, the texts of these packs are parsed. */
  maxLoosePacks: number;
  /** Maximum number of segments of a window's table. Instead of a further segment, a single segment for the whole window is written. */
  maxSegments: number;
}

/** docs/annotation-store.md explains the choice of these values. */
export const defaultPackLayout: PackLayout = {
  packElements: 128,
  packTextBytes: 512 * 1024,
  windowElements: windowPositions,
  windowTextBytes: 32 * 1024 * 1024,
  maxLoosePacks: 64,
  maxSegments: 8,
};
