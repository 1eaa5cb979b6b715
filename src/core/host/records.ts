import type { Model } from 'mongoose';
import type { HostFields, StoredDocument } from '../../host.js';
import type { EnteredScale } from '../entered-scale.js';

/** An item of the host. */
export interface ItemRecord {
  id: string;
  name: string;
  folderId: string;
  /** Time of the last change. If the host does not store it, the time of creation, or 0. */
  changedAtMs: number;
  largeImage: LargeImageMarker | null;
  /** The files that the item's image waits for, if the item is not a large image yet. */
  missingFiles: MissingFiles | null;
  /** The size of a pixel that a user has entered. */
  scale: EnteredScale | null;
  doc: StoredDocument;
}

/** A file of the host. */
export interface FileRecord {
  id: string;
  name: string;
  /** `null` for files that are only attached to a document, and are not listed among the files of an item. */
  itemId: string | null;
  mimeType: string;
  /** Length in bytes. */
  size: number;
  doc: StoredDocument;
}

/** A folder of the host. */
export interface FolderRecord {
  id: string;
  name: string;
  parentId: string | null;
  doc: StoredDocument;
}

/** Files that an item needs for its image and does not have yet. */
export interface MissingFiles {
  /** The file that refers to the missing files. */
  fileId: string;
  /** Paths of missing files, relative to that file. The path `*` stands for any file. */
  missing: readonly string[];
}

/** The record on an item that makes it a large image (`item.largeImage`). Ids are text here. */
export interface LargeImageMarker {
  /** The file to serve. Absent while a job is making it. */
  fileId?: string;
  /** Tile source that reads the file. */
  sourceName?: string;
  /** The uploaded file, if {@link LargeImageMarker.fileId} was made from it by a job. */
  originalId?: string;
  /** True while the creation of the large image is unfinished. */
  expected?: boolean;
  /** The job that makes or made the file. */
  jobId?: string;
  /** Whether to notify the user when the job ends. */
  notify?: boolean;
  /** A text that changes when the tile source also reads other files of the item, and one of these changes. */
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
