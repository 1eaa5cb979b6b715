import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { LargeImageError } from '../../../errors.js';
import type { Caller, Host, HostLogger } from '../../../host.js';
import type { Settings } from '../../settings/settings.js';
import type { AnnotationPermissions } from '../access/permissions.js';
import type { ElementStore } from '../elements/element-store.js';
import type { ElementFollower } from '../element-followers.js';
import type { OverlayImages } from '../overlay-images.js';
import type { AnnotationRecord } from './annotation-record.js';
import type { AnnotationModel } from './annotation.model.js';
import type { AnnotationBodies } from './body.js';

/** Dependencies shared by the annotation services. */
export interface AnnotationDependencies {
  model: AnnotationModel;
  store: ElementStore;
  /** Informs other features, which derive data from elements. */
  followers: ElementFollower;
  bodies: AnnotationBodies;
  permissions: AnnotationPermissions;
  overlayImages: Pick<OverlayImages, 'sizeFinderFor'>;
  records: HostRecords;
  settings: Settings;
  notify: Host['notify'];
  logger: HostLogger;
  /** The queue of changes of all annotations. Changes of the same annotation wait for each other before they enter this queue. */
  changeQueue: WorkQueue;
}

/** Checks whether the `If-Match` header of a request permits a change of this version. @throws LargeImageError `precondition-failed` */
export type CheckPrecondition = (current: AnnotationRecord) => void;

/** A request that changes an annotation. */
export interface ChangeRequest {
  id: string;
  caller: Caller | null;
  /** If absent, the request can change any version. */
  checkPrecondition?: CheckPrecondition | undefined;
  /** The annotation, if it was already read to check the caller's permission. */
  current?: AnnotationRecord | undefined;
  signal?: AbortSignal;
}

/** Thrown if the annotation was changed after it was read. */
export class SupersededError extends LargeImageError {
  constructor() {
    super('conflict', 'Someone else changed the annotation in the meantime.');
  }
}
