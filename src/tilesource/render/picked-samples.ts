import { isSameSize, type Box, type Window } from '../geometry.js';
import type { ImageMetadata } from '../tile-source.js';
import type { Raster } from '../raster.js';
import type { LevelBox } from './compose.js';
import { resizeNearest } from './pixels.js';
import type { Appearance } from './appearance.js';
import type { Renderer } from './renderer.js';
import { planScaling, type Scaling } from './scale.js';

/** The part of a level to draw. */
export interface Drawing {
  level: number;
  frame: number;
  appearance: Appearance;
  scaling: Scaling;
}

/** The rectangle to read for a drawing. */
export function boxToRead({ level, frame, scaling: { box, kernel } }: Omit<Drawing, 'appearance'>): LevelBox {
  return { level, frame, box, ...(kernel === 'nearest' && { nearest: true }) };
}

/** How a block of a scaled region is read and scaled. */
export function scalingOfBlock(
  metadata: ImageMetadata,
  { level, scaling }: Pick<Drawing, 'level' | 'scaling'>,
  block: Box,
): Scaling {
  const { box, window, output, kernel } = scaling;
  const [x, y] = [window.width / output.width, window.height / output.height];
  const part: Window = {
    left: box.left + window.left + block.left * x,
    top: box.top + window.top + block.top * y,
    width: block.width * x,
    height: block.height * y,
  };
  return planScaling(metadata, level, part, { output: block, kernel, isPart: x !== 1 || y !== 1 });
}

/** Reads a block of a scaled region. Each pixel gets the samples of the nearest pixel of the source. */
export async function readPickedBlock(renderer: Renderer, drawing: Drawing, block: Box, signal?: AbortSignal): Promise<Raster> {
  const scaling = scalingOfBlock(renderer.metadata, drawing, block);
  const samples = await renderer.readSamples(boxToRead({ ...drawing, scaling }), drawing.appearance, signal);
  return isSameSize(samples, block) ? samples : resizeNearest(samples, block, scaling.window);
}
