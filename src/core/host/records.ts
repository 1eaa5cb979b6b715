import type { Model } from 'mongoose';
import type { HostFields, StoredDocument } from '../../host.js';

/** An item, as the plugin knows it. */
export interface ItemRecord {
  id: string;
  name: string;
  folderId: string;
  /** Time of the last change in milliseconds; of creation where the host keeps no such time; else 0. */
  changed: number;
  largeImage: LargeImageMarker | null;
  /** The files that its image waits for, where the item is no large image yet. */
  waiting: Waiting | null;
  doc: StoredDocument;
}

/** The facts about a file that the plugin uses. */
export interface FileRecord {
  id: string;
  name: string;
  /** `null` for files that are attached to something and listed nowhere. */
  itemId: string | null;
  mimeType: string;
  /** Length in bytes. */
  size: number;
  doc: StoredDocument;
}

/** The facts about a folder that the plugin uses. */
export interface FolderRecord {
  id: string;
  name: string;
  parentId: string | null;
  doc: StoredDocument;
}

/** The missing files of an item. */
export interface Waiting {
  /** The file that speaks of the others. */
  fileId: string;
  /** Paths of files that are not there, from that file; `*` for any. */
  missing: readonly string[];
}

/** The record on an item that makes it a large image (`item.largeImage`). Ids are text here. */
export interface LargeImageMarker {
  /** The file that is served. Absent while a job is making it. */
  fileId?: string;
  /** Tile source that reads the file. */
  sourceName?: string;
  /** The uploaded file, where {@link LargeImageMarker.fileId} was made from it by a job. */
  originalId?: string;
  /** True while the creation is unfinished. */
  expected?: boolean;
  /** The job that makes or made the file. */
  jobId?: string;
  /** Whether to notify the user when the job ends. */
  notify?: boolean;
  /** Changes when another file of the item does that the tile source reads, too. */
  revision?: string;
}

/** The host's models, the names of their fields, and functions that read their documents. */
export interface HostParts {
  items: Model<Record<string, unknown>>;
  files: Model<Record<string, unknown>>;
  folders: Model<Record<string, unknown>>;
  fields: HostFields;
  itemOf: (doc: StoredDocument) => ItemRecord;
  fileOf: (doc: StoredDocument) => FileRecord;
  folderOf: (doc: StoredDocument) => FolderRecord;
}
