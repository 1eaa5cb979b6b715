import { Schema, type Types } from 'mongoose';

/** Properties of a file that is served in place. They tell whether it was moved or replaced. */
export interface InPlaceState {
  modified: Date;
  /** Device and inode number of the file. */
  inode: string;
  /** A hash of the length, the first and the last bytes of the file. */
  digest: string;
  /** A hash of all bytes of the file, if `digest` does not cover all of them. It is computed in the background. */
  contents?: string;
  /** When the file was found with another time or inode, but the same `digest`. Until the whole file is read again, the hash in `contents` may be wrong. */
  touched?: Date;
  /** Whether the files in its folder and below belong to it, such as the chunks of a Zarr. */
  isTree: boolean;
  /** If `isTree`: a hash of the names and states of all files in the folder and below. */
  tree?: string;
}

/** Where the bytes of a file are stored. */
export type FileStorage =
  /** In the data directory, under this key, possibly shared with other files. */
  | { kind: 'stored'; key: string }
  /**
   * Elsewhere on this machine. The host never writes or removes the file, but others may; `modified` is its modification time when
   * it was last read.
   */
  | ({ kind: 'in-place'; path: string } & Partial<InPlaceState>)
  /** An object in a bucket, under the key `path`. The host never writes or removes it. `isTree` and `tree` are as in {@link InPlaceState}. */
  | { kind: 'bucket'; bucket: string; path: string; etag: string; isTree?: boolean; tree?: string }
  /** An address to which clients are redirected. No bytes are stored. */
  | { kind: 'link' };

/** A file of an item, or one that is attached to a document and removed with it. */
export interface FileDocument {
  _id: Types.ObjectId;
  name: string;
  mimeType: string;
  /** Length in bytes; absent for links. */
  size?: number;
  /** `null` for attached files. */
  itemId: Types.ObjectId | null;
  attachedToType?: string;
  attachedToId?: Types.ObjectId;
  /** Lower-case parts of the name after the first dot. */
  exts: string[];
  linkUrl?: string;
  storage: FileStorage;
  creatorId: Types.ObjectId | null;
  created: Date;
  updated?: Date;
}

const storage = new Schema(
  {
    kind: { type: String, required: true },
    key: String,
    path: String,
    modified: Date,
    inode: String,
    digest: String,
    contents: String,
    touched: Date,
    isTree: Boolean,
    tree: String,
    bucket: String,
    etag: String,
  },
  { _id: false },
);

/** Schema of {@link FileDocument}. */
export const fileSchema = new Schema<FileDocument>(
  {
    name: { type: String, required: true },
    mimeType: { type: String, default: 'application/octet-stream' },
    size: Number,
    itemId: { type: Schema.Types.ObjectId, default: null },
    attachedToType: String,
    attachedToId: Schema.Types.ObjectId,
    exts: [String],
    linkUrl: String,
    storage: { type: storage, required: true },
    creatorId: { type: Schema.Types.ObjectId, default: null },
    created: Date,
    updated: Date,
  },
  { versionKey: false },
)
  .index({ itemId: 1, name: 1 })
  .index({ attachedToId: 1 })
  .index({ 'storage.key': 1 })
  .index({ 'storage.path': 1 });
