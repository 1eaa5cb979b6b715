import type { Stage } from '../../stage/stage-contract.js';
import type { Edit, Element, Point } from '../annotation-model.js';

/** The environment of the tools. */
export interface ToolContext {
  stage: Stage;
  /** shapes that can be grasped, topmost last; none while no annotation is edited */
  graspableShapes: () => Iterable<Element>;
  /** the selected shape; `null` unless exactly one shape is selected */
  selectedShape: () => Element | null;
  /** selects a shape. With `isAdding`, the shape is added to the selection or, if it is selected already, removed from it */
  select: (element: Element | null, isAdding?: boolean) => void;
  /** selects the shapes whose center is inside an outline */
  selectInside: (outline: Element, isAdding: boolean) => void;
  /** finds the current state of a shape; `null` if it no longer exists */
  find: (id: string) => Element | null;
  /** adds finished changes to the unsaved changes */
  commit: (...edits: Edit[]) => void;
  /** stores a half-drawn shape, so that it can be continued later; `null` removes the stored shape */
  keepDraft: (draft: Element | null) => void;
  /** cuts shapes along a line */
  split: (line: Element) => void;
  /** makes a new element in the chosen group and its color */
  makeShape: (members: Pick<Element, 'type'> & Partial<Element>) => Element;
  isEditing: () => boolean;
  /** called when the user clicks while no annotation is edited */
  inspect: (stagePoint: Point) => void;
  redraw: () => void;
  onError: (error: unknown) => void;
  /** called when another tool is selected */
  onToolChange: () => void;
}
