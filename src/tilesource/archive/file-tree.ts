import type { ByteReader } from '../contract.js';

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
