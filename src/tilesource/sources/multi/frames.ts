import { forEachRange } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata, ImageMetadata } from '../../tile-source.js';
import { wireFrames } from '../../metadata.js';
import type { MultiDescription, SourceEntry } from './multi-description.js';

/** Maximum number of frames of an image, and of all its sources together. */
const maxFrames = 100_000;
/** Number of frames that are assigned before other work on the event loop can run. */
const framesPerSlice = 200;

/** A frame of a source that is drawn in a frame of the image. */
export interface SourceFrame {
  /** Index of the source in the list of sources, in which a pattern is replaced by an entry for each file that matches. */
  sourceIndex: number;
  frame: number;
}

/** The frames of an image. `parts` has a list for each frame, in the order of drawing. */
export interface MultiFrames {
  parts: readonly (readonly SourceFrame[])[];
  frames: readonly FrameMetadata[];
  channels: readonly string[];
}

type SourceMetadata = Pick<ImageMetadata, 'frames' | 'channels'>;

/** The axes that need not be declared. The channel is first, because channels have names. */
const defaultAxes = ['c', 'z', 't', 'xy'];

function propertyOf(entry: SourceEntry, name: string): unknown {
  return Object.hasOwn(entry, name) ? entry[name] : undefined;
}

function numberProperty(entry: SourceEntry, name: string): number | undefined {
  const value = propertyOf(entry, name);
  return typeof value === 'number' ? value : undefined;
}

/** The position on an axis of the image for a frame that has the index `value` on this axis in its source. */
function axisPosition(entry: SourceEntry, axis: string, value: number): number {
  const fixedPosition = numberProperty(entry, `${axis}Set`);
  if (fixedPosition !== undefined) return fixedPosition;
  const offset = numberProperty(entry, axis) ?? 0;
  const listed = propertyOf(entry, `${axis}Values`);
  const values = Array.isArray(listed) ? (listed as number[]) : [];
  const [first] = values;
  if (first === undefined) return value + offset;
  if (values.length === 1) return first + value + offset;
  if (value < values.length) return values[value]! + offset;
  const last = values.at(-1)!;
  return last + (last - values.at(-2)!) * (value - values.length + 1) + offset;
}

/**
 * Returns a function for the index of a frame of a source along each axis. Indexes follow from the strides of `framesAsAxes`; without
 * these, they are in the metadata of the source.
 */
function axisIndexesOf(
  { framesAsAxes }: SourceEntry,
  frames: readonly FrameMetadata[],
  axes: readonly string[],
): (frame: number) => Record<string, number> {
  if (framesAsAxes === undefined) {
    const upper = axes.map((axis) => axis.toUpperCase());
    return (index) => Object.fromEntries(axes.map((axis, i) => [axis, frames[index]!.axes[upper[i]!] ?? 0]));
  }
  const strides = Object.entries(framesAsAxes).toSorted(([, a], [, b]) => b - a);
  return (index) => {
    const indexes: Record<string, number> = {};
    let length = frames.length;
    for (const [axis, stride] of strides) {
      indexes[axis] = Math.floor(index / stride) % Math.max(1, Math.floor(length / stride));
      length = stride;
    }
    return indexes;
  };
}

/** Collects the frames of the image, one source after the other. */
class FrameTable {
  readonly channels: string[];
  readonly #axes: readonly string[];
  readonly #partsByFrame = new Map<number, SourceFrame[]>();
  readonly #entryByPosition = new Map<string, { key: readonly number[]; parts: SourceFrame[] }>();
  #hasAxes = true;
  #lastFrame = -1;
  #lastZ = -1;
  #partCount = 0;

  constructor({ axes = [], channels = [] }: Pick<MultiDescription, 'axes' | 'channels'>) {
    this.#axes = [...new Set([...defaultAxes, ...axes])];
    this.channels = [...channels];
  }

  async addSource(
    sourceIndex: number,
    entry: SourceEntry,
    metadata: SourceMetadata,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const positioned = this.#withPosition(entry);
    const names = [...(metadata.channels ?? [])];
    const ownNames = entry.channels ?? (entry.channel === undefined ? [] : [entry.channel]);
    names.splice(0, ownNames.length, ...ownNames);
    if (names.length > this.channels.length) this.channels.push(...names.slice(this.channels.length));
    const frames = metadata.frames ?? [{ axes: {} }];
    const axesOfFrame = axisIndexesOf(entry, frames, this.#axes);
    const chosenFrames = entry.frames === undefined ? null : new Set(entry.frames);
    const sourceHasAxes = frames.length <= 1 || wireFrames(frames).IndexRange !== undefined;
    const addFrame = (frame: number) => {
      if (chosenFrames?.has(frame) === false) return;
      const axisIndices = axesOfFrame(frame);
      const key = this.#axes.map((axis) => axisPosition(positioned, axis, axisIndices[axis] ?? 0));
      const channel = names[axisIndices.c ?? 0];
      if (channel !== undefined)
        key[0] = this.#channelPosition(channel, key[0]!, { entry: positioned, isNamed: ownNames.length > 0 });
      this.#addPart(key, axisPosition(positioned, 'frame', frame), { sourceIndex, frame });
      this.#hasAxes = (this.#hasAxes && sourceHasAxes) || key.some((value) => value !== 0);
    };
    await forEachFrame(frames.length, addFrame, signal);
  }

  /** Places a source without positions on axes after all sources that were added before. */
  #withPosition(entry: SourceEntry): SourceEntry {
    const positionNames = ['frame', ...this.#axes].flatMap((axis) => [axis, `${axis}Values`]);
    if (positionNames.some((name) => propertyOf(entry, name) !== undefined)) return entry;
    return {
      ...entry,
      ...(this.#lastFrame >= 0 && { frame: this.#lastFrame + 1 }),
      ...(this.#lastZ >= 0 && { z: this.#lastZ + 1 }),
    };
  }

  #channelPosition(name: string, position: number, { entry, isNamed }: { entry: SourceEntry; isNamed: boolean }): number {
    if (!this.channels.includes(name) && (isNamed || this.channels.length === position)) this.channels.push(name);
    const isPositioned = propertyOf(entry, 'c') !== undefined || propertyOf(entry, 'cValues') !== undefined;
    return isPositioned || !this.channels.includes(name) ? position : this.channels.indexOf(name);
  }

  #addPart(key: readonly number[], frame: number, part: SourceFrame): void {
    this.#partCount += 1;
    const areIntegers = [...key, frame].every((value) => Number.isInteger(value) && value >= 0);
    if (!areIntegers || frame >= maxFrames || this.#partCount > maxFrames) {
      throw new TileSourceError(
        `The image has more than ${maxFrames} frames, or some with an index that is not a whole number from 0.`,
      );
    }
    const name = key.join();
    const entryOfFrame = this.#entryByPosition.get(name) ?? { key, parts: [] };
    entryOfFrame.parts.push(part);
    this.#entryByPosition.set(name, entryOfFrame);
    const samePosition = this.#partsByFrame.get(frame);
    if (samePosition === undefined) this.#partsByFrame.set(frame, [part]);
    else samePosition.push(part);
    this.#lastFrame = Math.max(this.#lastFrame, frame);
    this.#lastZ = Math.max(this.#lastZ, key[this.#axes.indexOf('z')]!);
  }

  async buildFrames(signal: AbortSignal | undefined): Promise<MultiFrames> {
    if (this.#entryByPosition.size === 0)
      throw new TileSourceError('The image has no frames: its sources have none of the chosen ones.');
    const { channels } = this;
    if (!this.#hasAxes) {
      const parts = Array.from({ length: this.#lastFrame + 1 }, (_, frame) => this.#partsByFrame.get(frame) ?? []);
      return { parts, frames: parts.map(() => ({ axes: {} })), channels };
    }
    const keys = [...this.#entryByPosition.values()].map(({ key }) => key);
    const counts = this.#axes.map((_, axis) => keys.reduce((max, key) => Math.max(max, key[axis]! + 1), 1));
    const total = counts.reduce((product, count) => product * count, 1);
    if (total > maxFrames) throw new TileSourceError(`The image has ${total} frames; at most ${maxFrames} are supported.`);
    const parts: (readonly SourceFrame[])[] = [];
    const frames: FrameMetadata[] = [];
    const addFrame = (frame: number) => {
      let remainder = frame;
      const key = counts.map((count) => {
        const value = remainder % count;
        remainder = Math.floor(remainder / count);
        return value;
      });
      const used = this.#axes.flatMap((axis, i) => (counts[i]! > 1 ? [[axis.toUpperCase(), key[i]!] as const] : []));
      parts.push(this.#entryByPosition.get(key.join())?.parts ?? []);
      frames.push({ axes: Object.fromEntries(used) });
    };
    await forEachFrame(total, addFrame, signal);
    return { parts, frames, channels };
  }
}

function forEachFrame(count: number, work: (frame: number) => void, signal: AbortSignal | undefined): Promise<void> {
  const workOnRun = (from: number, to: number) => {
    for (let frame = from; frame < to; frame += 1) work(frame);
  };
  return forEachRange(count, framesPerSlice, workOnRun, signal);
}

/**
 * Combines the frames of the sources to the frames of the image.
 *
 * @param metadataOfSources the metadata of each source, in the order of the entries.
 * @throws TileSourceError if there are too many frames or none.
 */
export async function combineFrames(
  description: Pick<MultiDescription, 'axes' | 'channels'>,
  entries: readonly SourceEntry[],
  metadataOfSources: readonly SourceMetadata[],
  signal?: AbortSignal,
): Promise<MultiFrames> {
  const table = new FrameTable(description);
  for (const [source, entry] of entries.entries()) await table.addSource(source, entry, metadataOfSources[source]!, signal);
  return table.buildFrames(signal);
}

/** The names of the axes that a description may use. */
export function axesOf({ axes = [] }: Pick<MultiDescription, 'axes'>): string[] {
  return [...new Set([...defaultAxes, ...axes])];
}
