import { Schema, type Types } from 'mongoose';
import type { AccessList } from '../access/access-list.model.js';
import type { RootType } from '../tree/folder.model.js';
import type { ItemLocation } from '../tree/item.model.js';
import type { TrashedDocument } from '../trash/trash-mark.js';

/** Models whose documents can be removed with everything that belongs to them. */
export type RemovableType = 'file' | 'item' | 'folder' | 'collection' | 'user' | 'group';

/** Permissions of a document that are copied to the folders below it, where the caller administers them. */
interface RecordedAccessChange {
  access: AccessList;
  public?: boolean;
  publicFlags?: string[];
}

/** The model and id of a document. */
export interface DocumentReference {
  type: RemovableType;
  id: Types.ObjectId;
}

/**
 * A multi-step write, with everything that is needed to finish or undo it after an interruption. The comment of each kind says what
 * recovery does.
 */
export type Undertaking =
  /** Finish if the document no longer exists. Otherwise nothing has happened yet. */
  | { kind: 'removal'; type: RemovableType; doc: { _id: Types.ObjectId } }
  /** Finish: remove all documents. */
  | { kind: 'removals'; named: DocumentReference[] }
  /** Finish for the items that no longer exist. */
  | { kind: 'item-removals'; items: { _id: Types.ObjectId }[] }
  /** Finish: remove everything that was in the folder at that time. */
  | { kind: 'emptying'; id: Types.ObjectId; before: Date }
  /** Undo: remove the new item or folder. */
  | { kind: 'making'; type: 'item' | 'folder'; id: Types.ObjectId }
  /** Undo: remove the new items, and the records of files whose item does not exist. */
  | { kind: 'registering'; ids: Types.ObjectId[] }
  /** Finish: release the former names of the item or folder. */
  | { kind: 'naming'; type: 'item' | 'folder'; id: Types.ObjectId; before: Date }
  /** Finish: release the former names of the folder, and make everything below it belong to its new root. */
  | { kind: 'move'; id: Types.ObjectId; before: Date; from: { baseParentType: RootType; baseParentId: Types.ObjectId } }
  /** Finish: correct the sizes of both items, and of the folders and roots that contain them. */
  | { kind: 'file-move'; items: ItemLocation[] }
  /** Finish: copy the permissions to the folders below, if the document still has them. */
  | {
      kind: 'access';
      type: 'folder' | 'collection';
      id: Types.ObjectId;
      change: RecordedAccessChange;
      administrator: { id: Types.ObjectId | null; admin: boolean; groups: Types.ObjectId[] };
    }
  /** Finish: hide everything in the folders that were marked at that time. */
  | { kind: 'trashing'; named: TrashedDocument[]; at: Date }
  /** Finish if the document has been claimed for restoring. Otherwise nothing has happened yet. */
  | ({ kind: 'restoring' } & TrashedDocument)
  /** Finish: remove the documents permanently. */
  | { kind: 'trash-removal'; named: TrashedDocument[] }
  /** Finish: make the user administrator if no other user was registered earlier, and create the user's folders. */
  | { kind: 'registration'; id: Types.ObjectId };

/** A recorded undertaking, with the process that does it. */
export type UndertakingDocument = Undertaking & {
  _id: Types.ObjectId;
  process: string;
};

/** Schema of {@link UndertakingDocument}. The other fields depend on the kind. */
export const undertakingSchema = new Schema<UndertakingDocument>({ process: String }, { versionKey: false, strict: false });
