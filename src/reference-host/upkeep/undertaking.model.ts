import { Schema, type Types } from 'mongoose';
import type { AccessList } from '../access/access-list.model.js';
import type { RootType } from '../tree/folder.model.js';
import type { ItemPosition } from '../tree/item.model.js';

/** Models of what can be removed with all that belongs to it. */
export type RemovableType = 'file' | 'item' | 'folder' | 'collection' | 'user' | 'group';

/** Permissions that are to hold below a document, as far as somebody administers what lies there. */
interface SpreadAccess {
  access: AccessList;
  public?: boolean;
  publicFlags?: string[];
}

/** A document by its model. */
export interface NamedDocument {
  type: RemovableType;
  id: Types.ObjectId;
}

/** A write of several steps, and what is needed to finish or undo it. */
export type Undertaking =
  /** Finished where the document is gone; where it is still there, nothing has happened. */
  | { kind: 'removal'; type: RemovableType; doc: { _id: Types.ObjectId } }
  /** Finished: none of them is there. */
  | { kind: 'removals'; named: NamedDocument[] }
  /** Finished: what was in the folder at that time is removed. */
  | { kind: 'emptying'; id: Types.ObjectId; before: Date }
  /** Undone: what was being made is removed. */
  | { kind: 'making'; type: 'item' | 'folder'; id: Types.ObjectId }
  /** Finished: the names that it had before are free. */
  | { kind: 'naming'; type: 'item' | 'folder'; id: Types.ObjectId; before: Date }
  /** Finished: so they are, and everything below the folder belongs to the root above it. */
  | { kind: 'move'; id: Types.ObjectId; before: Date; from: { baseParentType: RootType; baseParentId: Types.ObjectId } }
  /** Finished: the sizes of both items, and of what they lie in, are right wherever the file is now. */
  | { kind: 'file-move'; items: ItemPosition[] }
  /** Finished: the folders below get the permissions, unless the document above has got others since. */
  | {
      kind: 'access';
      type: 'folder' | 'collection';
      id: Types.ObjectId;
      change: SpreadAccess;
      administrator: { id: Types.ObjectId | null; admin: boolean; groups: Types.ObjectId[] };
    }
  /** Finished: the user gets the folders of new users. */
  | { kind: 'registration'; id: Types.ObjectId };

/** An undertaking that is under way. */
export type UndertakingDocument = Undertaking & {
  _id: Types.ObjectId;
  process: string;
};

/** Schema of {@link UndertakingDocument}; the rest of it differs from kind to kind. */
export const undertakingSchema = new Schema<UndertakingDocument>({ process: String }, { versionKey: false, strict: false });
