import { sharedAbortController } from '../../../core/concurrency/abort.js';
import { boundingBox, unionBox, type BoundingBox } from '../../../annotation-format/bounding-box.js';
import { encodeDensity } from './draw/density/density-codec.js';
import { DensityCells } from './draw/density/density-cells.js';
import { blockSideTiles, densityLevels, type DensityClass } from './draw/density/density.js';
import { matchesConditions } from '../../../annotation-format/element-query.js';
import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { ElementStore, ElementText, StoredElements } from '../elements/element-store.js';
import type { HostLogger } from '../../../host.js';
import type { DensitySummary } from './density.model.js';
import { nextSlice } from '../../../core/concurrency/slices.js';
import { AnnotationDensities, minStoredElements } from './densities.js';
import { Drawer } from './drawer.js';
import { AnnotationOverlay } from './overlay.js';

/** Number of artificial shapes. A tile at full resolution contains some dozens of them. */
const shapeCount = 400;
const cornerCount = 12;
/** Side of the square in which the shapes lie, in base-layer pixels. */
const squareSide = 1024;
const tileSize = 256;
const densityCellCount = 16_384;
/** Scales at which tiles contain only drawn shapes, both shapes and densities, and only densities. */
const scales = [1, 4, 32];
const roundCount = 2;
/** Delay of the warm-up in milliseconds, so that it does not compete with requests that arrive just after the start. */
const delayMs = 250;

let isWarm = false;

/**
 * Draws some tiles of artificial shapes in the background, once per process. Otherwise the first tile of a process would take
 * several times longer, because the drawing code is compiled and connections to the database are opened.
 *
 * @param reads make the database queries of a tile, with ids that do not exist.
 * @returns a function that stops the warm-up.
 */
export function scheduleWarmUp(logger: HostLogger, reads: readonly (() => Promise<unknown>)[]): () => Promise<void> {
  const abortController = sharedAbortController();
  let runningWarmUp: Promise<void> = Promise.resolve();
  const run = () => {
    if (isWarm) return;
    isWarm = true;
    runningWarmUp = warmUp(reads, abortController.signal).catch((err: unknown) => {
      if (!abortController.signal.aborted) logger.warn({ err }, 'Annotation:Overlay:WarmUpFailed');
    });
  };
  const timer = setTimeout(run, delayMs).unref();
  return async () => {
    clearTimeout(timer);
    abortController.abort();
    await runningWarmUp;
  };
}

async function warmUp(reads: readonly (() => Promise<unknown>)[], signal: AbortSignal): Promise<void> {
  const { stored, overlay } = createArtificialOverlay();
  const style = { mode: 'element', groups: undefined, gain: undefined } as const;
  for (let round = 0; round < roundCount; round += 1) {
    signal.throwIfAborted();
    await Promise.all(reads.map((read) => read()));
    for (const scale of scales) {
      const view = { left: (round * tileSize * scale) % squareSide, top: 0, scale, width: tileSize, height: tileSize };
      await overlay.drawPng(stored, view, style, { signal });
      await nextSlice();
      await overlay.drawVectorTile(stored, view, style, { signal });
      await nextSlice();
    }
  }
}

/** Creates an overlay of artificial shapes, which are only in memory. */
function createArtificialOverlay(): { stored: StoredElements; overlay: AnnotationOverlay } {
  const elements = Array.from({ length: shapeCount }, (_, order): ElementText => {
    const element = createPolygon(order);
    const text = Buffer.from(JSON.stringify(element));
    return { type: element.type, group: null, text, box: boundingBox(element), order };
  });
  const box = elements.reduce<BoundingBox | null>((union, element) => unionBox(union, element.box), null)!;
  const { details: detailsCount } = box;
  // The count is large enough that densities are stored.
  const count = minStoredElements;
  const window = { id: 'warm-up', count, detailsCount, box, lowId: '', highId: '' };
  const stored = {
    family: window.id,
    content: window.id,
    count,
    detailsCount,
    groups: [null],
    box,
    windows: [window],
    references: [],
  };
  const store: Pick<ElementStore, 'scanTexts' | 'loadPackMarks' | 'idleMs'> = {
    idleMs: Infinity,
    async *scanTexts(_stored, { conditions = [] } = {}) {
      for (const element of elements) if (matchesConditions(element.box, conditions)) yield element;
    },
    async *loadPackMarks() {},
  };
  const logger = { debug: doNothing, info: doNothing, warn: doNothing, error: doNothing };
  const drawer = new Drawer();
  const densities = new AnnotationDensities({ store, drawer, model: createArtificialDensities(window.id), logger });
  return { stored, overlay: new AnnotationOverlay({ store, densities, drawer }) };
}

const doNothing = () => undefined;

function createPolygon(index: number): AnnotationElement {
  // The factors distribute the shapes evenly over the square.
  const [x, y] = [(index * 0.618 * squareSide) % squareSide, (index * 0.755 * squareSide) % squareSide];
  const points = Array.from({ length: cornerCount }, (_, corner): [number, number, number] => {
    const [angle, radius] = [(corner * 2 * Math.PI) / cornerCount, 6 + ((index + 3 * corner) % 7)];
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle), 0];
  });
  return { type: 'polyline', closed: true, points, fillColor: 'rgba(0, 0, 255, 0.5)', lineColor: '#00ff00', lineWidth: 2 };
}

/** Creates artificial densities for every level, which are the same in every tile. */
function createArtificialDensities(windowId: string): ConstructorParameters<typeof AnnotationDensities>[0]['model'] {
  const cells = new DensityCells();
  // The keys belong to two classes.
  for (let i = 0; i < densityCellCount; i += 1) cells.add((i * 13) % (2 * tileSize * tileSize), 0.001 * (1 + (i % 500)));
  const tile = encodeDensity(cells);
  const classes: DensityClass[] = [
    { group: null, color: [0, 0, 255, 0.5] },
    { group: null, color: [0, 255, 0, 1] },
  ];
  const levels = { finest: 0, coarsest: densityLevels - 1 };
  const summary: DensitySummary = { window: windowId, family: windowId, levels, classes, groups: [], levelCrowdings: [] };
  return {
    findSummaries: () => Promise.resolve([summary]),
    findBlocks: (addresses) =>
      Promise.resolve(addresses.map((address) => ({ ...address, tiles: Array<Buffer>(blockSideTiles ** 2).fill(tile) }))),
    write: () => Promise.resolve(),
    listFamilies: () => Promise.resolve([]),
    keepOnly: () => Promise.resolve(0),
  };
}
