import type { ImageItem } from '../../browse/browse-model.js';
import type { Display } from '../annotation-display.js';
import type { Editor } from '../editor.js';
import type { AnnotationRecord } from '../annotation-model.js';

/** The parts of the page that the list of annotations uses. */
export interface PanelOptions {
  item: ImageItem;
  /** the element of the image, on which files can be dropped too */
  imageElement: HTMLElement;
  signal: AbortSignal;
  /** called with a new list; returns a function that tells which annotations are visible */
  onList: (records: AnnotationRecord[]) => (id: string) => boolean;
  onDisplayChange: (id: string, changes: Partial<Display>) => void;
  /** turns a half-drawn shape into an unsaved change */
  finishDrawing: () => void;
  /** starts editing an annotation; `null` ends editing */
  onEdit: (id: string | null) => Editor | null;
  /** shows the table of the shapes of an annotation, or closes it */
  onToggleTable: (id: string, mayCreate: boolean) => void;
  /** loads the edited annotation again */
  reloadEdited: () => Promise<unknown>;
  /** reloads the edited annotation after a conflict; returns the message to show, which is `reason` if no annotation is edited */
  reloadAfterConflict: (reason: string) => Promise<string>;
  /** called if the item was removed or the user has lost access */
  onRefused: () => void;
}
