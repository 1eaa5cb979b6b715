import { siteStorage } from '../../storage.js';

/** The tools in the order of the toolbar. */
export const toolNames = [
  'select',
  'box',
  'lasso',
  'rectangle',
  'ellipse',
  'polygon',
  'line',
  'point',
  'brush',
  'eraser',
  'hole',
  'split',
  'measure',
] as const;

export type Tool = (typeof toolNames)[number];

/** Tools that keep the selection, because they change it or work on it. Other tools clear the selection. */
export const selectionTools: ReadonlySet<Tool> = new Set(['select', 'box', 'lasso', 'brush', 'eraser', 'split']);

/** Tools whose drawing is used to select, cut, measure or make a hole, but not saved as a shape. */
export const transientTools: ReadonlySet<Tool> = new Set(['box', 'lasso', 'hole', 'split', 'measure']);

/** Tools that draw rings. */
export const ringTools: ReadonlySet<Tool> = new Set(['polygon', 'hole', 'lasso']);

/** Tools that can draw the first shape of an image. */
export const firstShapeTools: ReadonlySet<Tool> = new Set(['rectangle', 'ellipse', 'polygon', 'line', 'point', 'brush']);

/** Which tools can be used now: all tools, the ruler and the tools that can draw the first shape, or only the ruler. */
export type ToolOffer = 'all' | 'first' | 'measure';

export function isOffered(tool: Tool, toolOffer: ToolOffer) {
  return toolOffer === 'all' || tool === 'measure' || (toolOffer === 'first' && firstShapeTools.has(tool));
}

/** Keys that choose tools while the image has the focus. */
export const toolKeys: Readonly<Record<string, Tool>> = {
  v: 'select',
  r: 'rectangle',
  e: 'ellipse',
  p: 'polygon',
  l: 'line',
  o: 'point',
  b: 'brush',
  m: 'measure',
};

const storageKey = 'large-image-tool-keys';

/** Whether keys choose tools. Users can turn that off, because speech input may press single keys by accident. */
export const toolKeySetting = {
  get isOn() {
    return siteStorage.get(storageKey) !== 'off';
  },
  set isOn(isOn: boolean) {
    siteStorage.set(storageKey, isOn ? 'on' : 'off');
  },
};
