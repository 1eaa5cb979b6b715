import { errorNotice, fill, h } from '../../dom.js';
import type { AnnotationRecord } from '../annotation-model.js';

/** State that the parts of the panel share. */
export interface ObjectsContext {
  /** the version of the annotation that is shown */
  currentRecord: () => AnnotationRecord;
  /** Runs a task that the user has started, and shows its error. */
  run: (task: () => Promise<unknown>) => Promise<void>;
  onError: (error: unknown) => void;
  signal: AbortSignal;
}

/** Runs tasks that the user has started. Its element shows the error of the last task. */
export function createTaskRunner(signal: AbortSignal) {
  const element = h('div', { role: 'alert' });
  const clear = () => fill(element);
  return { element, clear, onError, run };

  function onError(error: unknown) {
    if (!signal.aborted) fill(element, errorNotice(error));
  }

  async function run(task: () => Promise<unknown>) {
    clear();
    try {
      await task();
    } catch (error) {
      onError(error);
    }
  }
}
