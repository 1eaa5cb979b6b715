import { windowPositions } from './pack-index.js';

/** How many elements go into a pack and a window. It can differ from write to write, because stored data does not depend on it. */
export interface PackLayout {
  /** Maximum number of elements in a pack; at most 4095. */
  packElements: number;
  /** A pack is closed when its text is longer than this, in bytes. */
  packTextBytes: number;
  /** Maximum number of elements in a window; at most 65,536. */
  windowElements: number;
  /** A window is closed when its text is longer than this, in bytes. */
  windowTextBytes: number;
  /** Maximum number of packs of a window that are in no segment of its table. Readers of the table parse the texts of these packs. */
  maxLoosePacks: number;
  /** Maximum number of segments of a window's table. Instead of a further one, a segment of the whole window is written. */
  maxSegments: number;
}

/** How these values were chosen: docs/annotation-store.md. */
export const defaultPackLayout: PackLayout = {
  packElements: 128,
  packTextBytes: 512 * 1024,
  windowElements: windowPositions,
  windowTextBytes: 32 * 1024 * 1024,
  maxLoosePacks: 64,
  maxSegments: 8,
};
