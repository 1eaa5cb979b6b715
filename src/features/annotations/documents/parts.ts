import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { LargeImageError } from '../../../errors.js';
import type { Caller, Host, HostLogger } from '../../../host.js';
import type { Settings } from '../../settings/settings.js';
import type { AnnotationPermissions } from '../access/permissions.js';
import type { ElementStore } from '../elements/contract.js';
import type { AnnotationDensities } from '../overlay/densities.js';
import type { OverlayImages } from '../overlay/overlay-images.js';
import type { AnnotationRecord } from './annotation-record.js';
import type { AnnotationModel } from './annotation.model.js';
import type { AnnotationBodies } from './body.js';

/** What the services for annotations work with. */
export interface AnnotationParts {
  model: AnnotationModel;
  store: ElementStore;
  densities: Pick<AnnotationDensities, 'prepare' | 'sweep'>;
  bodies: AnnotationBodies;
  permissions: AnnotationPermissions;
  overlayImages: Pick<OverlayImages, 'sizesFor'>;
  records: HostRecords;
  settings: Settings;
  notify: Host['notify'];
  logger: HostLogger;
  /** Where changes wait; those of one annotation wait for each other before. */
  changing: WorkQueue;
}

/** A condition that a request puts on the version it changes. @throws LargeImageError `precondition-failed` */
export type Precondition = (current: AnnotationRecord) => void;

/** What a request that changes an annotation comes with. */
export interface ChangeRequest {
  id: string;
  caller: Caller | null;
  /** Absent: any version will do. */
  precondition?: Precondition | undefined;
  /** The annotation as it was when the caller's right to change it was found; saves looking at it once more. */
  current?: AnnotationRecord | undefined;
  signal?: AbortSignal;
}

/** The annotation has moved on since it was read. */
export class Superseded extends LargeImageError {
  constructor() {
    super('conflict', 'The annotation was changed by somebody else meanwhile.');
  }
}
