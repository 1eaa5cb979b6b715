import type { AnnotationRecord } from '../model.js';

/** What the parts of the panel have in common. */
export interface ObjectsContext {
  /** the version of the annotation that is shown */
  record: () => AnnotationRecord;
  /** Runs a task of the user, and shows what goes wrong. */
  run: (task: () => Promise<unknown>) => Promise<void>;
  onError: (error: unknown) => void;
  signal: AbortSignal;
}
