import type { Stage } from '../../stage/stage-contract.js';
import type { Edit, Element, Point } from '../annotation-model.js';

/** The environment of the tools. */
export interface ToolContext {
  stage: Stage;
  /** shapes that can be grasped, topmost last; none while nothing is edited */
  graspableShapes: () => Iterable<Element>;
  /** the selected shape, if it is only one */
  selectedShape: () => Element | null;
  /** selects a shape; `isAdding` adds it to the selected ones, or removes it from them */
  select: (element: Element | null, isAdding?: boolean) => void;
  /** selects the shapes whose center is inside an outline */
  selectInside: (outline: Element, isAdding: boolean) => void;
  /** finds the current state of a shape; `null` if it no longer exists */
  find: (id: string) => Element | null;
  /** adds finished changes to the unsaved changes */
  commit: (...edits: Edit[]) => void;
  /** keeps a shape that is only half drawn; `null` if there is none */
  keepDraft: (draft: Element | null) => void;
  /** cuts shapes along a line */
  split: (line: Element) => void;
  /** makes a new element in the selected group and its color */
  makeShape: (members: Pick<Element, 'type'> & Partial<Element>) => Element;
  isEditing: () => boolean;
  /** called at a click while nothing is edited */
  inspect: (stagePoint: Point) => void;
  redraw: () => void;
  onError: (error: unknown) => void;
  /** called when another tool is selected */
  onToolChange: () => void;
}
