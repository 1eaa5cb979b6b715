import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type { StoredElements } from '../elements/contract.js';
import type { AccessEntry } from '../../../host.js';

/** Who may do what with an annotation. */
export interface AnnotationAccess {
  users: AccessEntry[];
  groups: AccessEntry[];
}

/** What every version of an annotation has of its own. Versions share the elements that did not change. */
export interface AnnotationState {
  itemId: string;
  creatorId: string | null;
  created: Date;
  updated: Date;
  /** Who made this version. */
  updatedId: string | null;
  /** Taken from one sequence for all annotations: rises with every change of any of them. */
  version: number;
  /** Name, description, attributes and display. */
  head: AnnotationHead;
  elements: StoredElements;
}

/** An annotation as it is now. Ids are text. */
export interface AnnotationRecord extends AnnotationState {
  id: string;
  /** False once it was deleted and can be restored. */
  active: boolean;
  access: AnnotationAccess;
  public: boolean;
  publicFlags?: readonly string[];
  /** Counts changes of access: part of entity tags. */
  accessStamp: number;
}

/** A former version of an annotation. */
export interface AnnotationVersionRecord extends AnnotationState {
  /** Id of this record. */
  id: string;
  annotationId: string;
}

/** Conditions of lists of annotations; all must hold. */
export interface AnnotationFilter {
  /** Default true; `null`: whatever it is. */
  active?: boolean | null;
  itemIds?: readonly string[];
  creatorId?: string;
  name?: string;
  /** Only those whose present version was made before this number of the sequence. */
  versionBelow?: number;
  /** Only those that have attributes. */
  withAttributes?: boolean;
  /** Words of name or description; one of them must occur. */
  words?: readonly string[];
  /** What the caller must be allowed to do; absent: not asked. */
  permitted?: { level: 0 | 1 | 2; userId: string | null; groupIds: readonly string[]; byListOnly?: boolean };
}

/** How a list is cut and ordered. */
export interface AnnotationPaging {
  /** 0: all. */
  limit: number;
  offset: number;
  /** Names as on the wire, with directions. */
  sort: readonly (readonly [string, 1 | -1])[];
}
