import { Schema, type Types } from 'mongoose';
import type { AccessList } from '../access/access-list.model.js';
import type { RootType } from '../tree/folder.model.js';
import type { ItemPosition } from '../tree/item.model.js';
import type { TrashedDocument } from '../trash/trash-mark.js';

/** Models whose documents can be removed with everything that belongs to them. */
export type RemovableType = 'file' | 'item' | 'folder' | 'collection' | 'user' | 'group';

/** Permissions that are copied to the folders below a document that the caller administers. */
interface SpreadAccess {
  access: AccessList;
  public?: boolean;
  publicFlags?: string[];
}

/** A document by model and id. */
export interface NamedDocument {
  type: RemovableType;
  id: Types.ObjectId;
}

/**
 * A multi-step write, with everything that is needed to finish or undo it after an interruption. The comment of each kind says what
 * recovery does.
 */
export type Undertaking =
  /** Complete it if the document no longer exists; otherwise nothing has happened yet. */
  | { kind: 'removal'; type: RemovableType; doc: { _id: Types.ObjectId } }
  /** Finish: remove all documents. */
  | { kind: 'removals'; named: NamedDocument[] }
  /** Complete it for those that no longer exist. */
  | { kind: 'item-removals'; items: { _id: Types.ObjectId }[] }
  /** Finish: remove everything that was in the folder at that time. */
  | { kind: 'emptying'; id: Types.ObjectId; before: Date }
  /** Undo: remove the new item or folder. */
  | { kind: 'making'; type: 'item' | 'folder'; id: Types.ObjectId }
  /** Undo: remove the new items, and the records of files that have none. */
  | { kind: 'registering'; ids: Types.ObjectId[] }
  /** Finish: release the names that it had before. */
  | { kind: 'naming'; type: 'item' | 'folder'; id: Types.ObjectId; before: Date }
  /** Finish: release its old names too, and make everything below the folder belong to its new root. */
  | { kind: 'move'; id: Types.ObjectId; before: Date; from: { baseParentType: RootType; baseParentId: Types.ObjectId } }
  /** Finish: correct the sizes of both items, and of the folders and roots that contain them. */
  | { kind: 'file-move'; items: ItemPosition[] }
  /** Finish: give the permissions to the folders below, unless the document has other permissions by now. */
  | {
      kind: 'access';
      type: 'folder' | 'collection';
      id: Types.ObjectId;
      change: SpreadAccess;
      administrator: { id: Types.ObjectId | null; admin: boolean; groups: Types.ObjectId[] };
    }
  /** Finish: hide everything in the folders that were marked at that time. */
  | { kind: 'trashing'; named: TrashedDocument[]; at: Date }
  /** Finish, if its restoring has begun. */
  | ({ kind: 'restoring' } & TrashedDocument)
  /** Finish: remove permanently. */
  | { kind: 'trash-removal'; named: TrashedDocument[] }
  /** Finish: create the folders of new users. */
  | { kind: 'registration'; id: Types.ObjectId };

/** A recorded undertaking, with the process that does it. */
export type UndertakingDocument = Undertaking & {
  _id: Types.ObjectId;
  process: string;
};

/** Schema of {@link UndertakingDocument}. The other fields depend on the kind. */
export const undertakingSchema = new Schema<UndertakingDocument>({ process: String }, { versionKey: false, strict: false });
