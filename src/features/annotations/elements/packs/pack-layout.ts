import { windowPositions } from './pack-index.js';

/** How many elements go into a pack and a window. What is stored does not depend on it: it may differ from write to write. */
export interface Layout {
  /** Most elements of a pack, at most 4095. */
  packElements: number;
  /** A pack is closed when its text gets longer than this, bytes. */
  packTextBytes: number;
  /** Most elements of a window, at most 65 536. */
  windowElements: number;
  /** A window is closed when its text gets longer than this, bytes. */
  windowTextBytes: number;
}

/** Measured: see docs/annotation-store.md. */
export const defaultLayout: Layout = {
  packElements: 128,
  packTextBytes: 512 * 1024,
  windowElements: windowPositions,
  windowTextBytes: 32 * 1024 * 1024,
};
