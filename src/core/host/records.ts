import type { Model } from 'mongoose';
import type { HostFields, StoredDocument } from '../../host.js';
import type { EnteredScale } from '../entered-scale.js';

/** An item, as the plugin knows it. */
export interface ItemRecord {
  id: string;
  name: string;
  folderId: string;
  /** Time of the last change in milliseconds; the time of creation if the host does not store it; otherwise 0. */
  changed: number;
  largeImage: LargeImageMarker | null;
  /** The files that its image waits for, if the item is not a large image yet. */
  missingFiles: MissingFiles | null;
  /** The size of a pixel that a user has entered. */
  scale: EnteredScale | null;
  doc: StoredDocument;
}

/** A file, as the plugin knows it. */
export interface FileRecord {
  id: string;
  name: string;
  /** `null` for files that are attached to something and not listed. */
  itemId: string | null;
  mimeType: string;
  /** Length in bytes. */
  size: number;
  doc: StoredDocument;
}

/** A folder, as the plugin knows it. */
export interface FolderRecord {
  id: string;
  name: string;
  parentId: string | null;
  doc: StoredDocument;
}

/** Files that an item needs for its image and does not have yet. */
export interface MissingFiles {
  /** The file that refers to the others. */
  fileId: string;
  /** Paths of missing files, relative to that file; `*` for any. */
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
  /** True while the creation is unfinished. */
  expected?: boolean;
  /** The job that makes or made the file. */
  jobId?: string;
  /** Whether to notify the user when the job ends. */
  notify?: boolean;
  /** Changes when another file of the item changes that the tile source also reads. */
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
