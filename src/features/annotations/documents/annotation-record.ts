import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type { StoredElements } from '../elements/element-store.js';
import type { AccessEntry } from '../../../host.js';

/** The access list of an annotation. */
export interface AnnotationAccess {
  users: AccessEntry[];
  groups: AccessEntry[];
}

/** The content of a version of an annotation. Versions share elements that did not change between them. */
export interface AnnotationState {
  itemId: string;
  creatorId: string | null;
  created: Date;
  updated: Date;
  /** Id of the user who made this version. */
  updatedId: string | null;
  /** Number of the version. All annotations share one sequence of numbers, so a later version of any annotation has a higher number. */
  version: number;
  /** Name, description, attributes and display: everything except the elements. */
  head: AnnotationHead;
  elements: StoredElements;
}

/** The current version of an annotation, and its permissions. */
export interface AnnotationRecord extends AnnotationState {
  id: string;
  /** False if the annotation was deleted. It can be restored then. */
  active: boolean;
  access: AnnotationAccess;
  public: boolean;
  publicFlags?: readonly string[];
  /** Number of changes that make no new version, such as changes of permissions. It is a part of entity tags. */
  accessStamp: number;
  /** When the content of the item's file last changed after the annotation was created. */
  fileChanged?: Date;
}

/** A previous version of an annotation. */
export interface AnnotationVersionRecord extends AnnotationState {
  /** Id of this record. */
  id: string;
  annotationId: string;
}

/** Conditions that the annotations in a list must meet, all of them together. */
export interface AnnotationFilter {
  /**
   * True (default): only active annotations. False: only deleted annotations. `null`: active and deleted annotations, and also those of hidden
   * items.
   */
  active?: boolean | null;
  itemIds?: readonly string[];
  /** Only annotations of this item. `itemIds` is a further condition. `null`: no annotations at all. */
  onlyOf?: string | null;
  creatorId?: string;
  name?: string;
  /** Only annotations whose current version is below this number. */
  versionBelow?: number;
  /** Only annotations with attributes. */
  withAttributes?: boolean;
  /** Only annotations with at least one of these words in name or description. */
  words?: readonly string[];
  /**
   * Only annotations on which the user, or one of the groups, has the level. With `byListOnly`, an annotation is not readable merely
   * because it is public.
   */
  permitted?: { level: 0 | 1 | 2; userId: string | null; groupIds: readonly string[]; byListOnly?: boolean };
}

/** Selects and orders a part of a list. */
export interface AnnotationPaging {
  /** Maximum number of entries; 0 means no limit. */
  limit: number;
  offset: number;
  /** Sort keys with directions. The names are those of requests. */
  sort: readonly (readonly [string, 1 | -1])[];
}
