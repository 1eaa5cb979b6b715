import { forEachRange } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata, ImageMetadata } from '../../tile-source.js';
import { wireFrames } from '../../metadata.js';
import type { MultiDescription, SourceEntry } from './multi-description.js';

/** Maximum number of frames of an image, and of source frames that are drawn in them. */
const maxFrames = 100_000;
/** Number of frames that are assigned before other work on the event loop can run. */
const framesPerSlice = 200;

/** A frame of a source that is drawn in a frame of the image. */
export interface SourceFrame {
  /** Index in the list of sources, where an entry with a pattern is replaced by one entry for each matching file. */
  sourceIndex: number;
  frame: number;
}

/** The frames of an image. */
export interface MultiFrames {
  /** For each frame of the image, the source frames that are drawn in it, in the order of drawing. */
  partsByFrame: readonly (readonly SourceFrame[])[];
  frames: readonly FrameMetadata[];
  channels: readonly string[];
}

type SourceMetadata = Pick<ImageMetadata, 'frames' | 'channels'>;

/** The axes that need not be declared. {@link FrameTable} relies on the channel being first. */
const defaultAxes = ['c', 'z', 't', 'xy'];

function propertyOf(entry: SourceEntry, name: string): unknown {
  return Object.hasOwn(entry, name) ? entry[name] : undefined;
}

function numberPropertyOf(entry: SourceEntry, name: string): number | undefined {
  const value = propertyOf(entry, name);
  return typeof value === 'number' ? value : undefined;
}

/** Converts a frame's index on an axis of its source to a position on the same axis of the image. */
function axisPosition(entry: SourceEntry, axis: string, index: number): number {
  const fixedPosition = numberPropertyOf(entry, `${axis}Set`);
  if (fixedPosition !== undefined) return fixedPosition;
  const offset = numberPropertyOf(entry, axis) ?? 0;
  const property = propertyOf(entry, `${axis}Values`);
  const positions = Array.isArray(property) ? (property as number[]) : [];
  const [first] = positions;
  if (first === undefined) return index + offset;
  if (positions.length === 1) return first + index + offset;
  if (index < positions.length) return positions[index]! + offset;
  // Further indexes continue with the distance between the last two positions.
  const last = positions.at(-1)!;
  return last + (last - positions.at(-2)!) * (index - positions.length + 1) + offset;
}

/**
 * Returns a function that computes a source frame's index on each axis: from the strides in `framesAsAxes`, or without strides from
 * the source's metadata.
 */
function axisIndexesOf(
  { framesAsAxes }: SourceEntry,
  frames: readonly FrameMetadata[],
  axes: readonly string[],
): (frame: number) => Record<string, number> {
  if (framesAsAxes === undefined) {
    const upperCaseAxes = axes.map((axis) => axis.toUpperCase());
    return (index) => Object.fromEntries(axes.map((axis, i) => [axis, frames[index]!.axes[upperCaseAxes[i]!] ?? 0]));
  }
  const strides = Object.entries(framesAsAxes).toSorted(([, a], [, b]) => b - a);
  return (index) => {
    const indexes: Record<string, number> = {};
    let frameSpan = frames.length;
    for (const [axis, stride] of strides) {
      indexes[axis] = Math.floor(index / stride) % Math.max(1, Math.floor(frameSpan / stride));
      frameSpan = stride;
    }
    return indexes;
  };
}

/** Collects the frames of the image, one source after the other. */
class FrameTable {
  readonly channels: string[];
  readonly #axes: readonly string[];
  readonly #partsByFrame = new Map<number, SourceFrame[]>();
  readonly #partsByPosition = new Map<string, { position: readonly number[]; parts: SourceFrame[] }>();
  /** Whether the image's frames are arranged by their positions on axes. Otherwise they are arranged by their numbers. */
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
    const positionedEntry = this.#withPosition(entry);
    const channelNames = [...(metadata.channels ?? [])];
    const declaredNames = entry.channels ?? (entry.channel === undefined ? [] : [entry.channel]);
    channelNames.splice(0, declaredNames.length, ...declaredNames);
    if (channelNames.length > this.channels.length) this.channels.push(...channelNames.slice(this.channels.length));
    const frames = metadata.frames ?? [{ axes: {} }];
    const axisIndexesOfFrame = axisIndexesOf(entry, frames, this.#axes);
    const chosenFrames = entry.frames === undefined ? null : new Set(entry.frames);
    const sourceHasAxes = frames.length <= 1 || wireFrames(frames).IndexRange !== undefined;
    const addFrame = (frame: number) => {
      if (chosenFrames?.has(frame) === false) return;
      const axisIndexes = axisIndexesOfFrame(frame);
      const position = this.#axes.map((axis) => axisPosition(positionedEntry, axis, axisIndexes[axis] ?? 0));
      const channel = channelNames[axisIndexes.c ?? 0];
      if (channel !== undefined)
        position[0] = this.#channelPosition(channel, position[0]!, {
          entry: positionedEntry,
          isDeclared: declaredNames.length > 0,
        });
      this.#addPart(position, axisPosition(positionedEntry, 'frame', frame), { sourceIndex, frame });
      this.#hasAxes = (this.#hasAxes && sourceHasAxes) || position.some((value) => value !== 0);
    };
    await forEachFrame(frames.length, addFrame, signal);
  }

  /** If an entry has no position on any axis, returns the entry with a position after all sources that were added before. */
  #withPosition(entry: SourceEntry): SourceEntry {
    const positionProperties = ['frame', ...this.#axes].flatMap((axis) => [axis, `${axis}Values`]);
    if (positionProperties.some((name) => propertyOf(entry, name) !== undefined)) return entry;
    return {
      ...entry,
      ...(this.#lastFrame >= 0 && { frame: this.#lastFrame + 1 }),
      ...(this.#lastZ >= 0 && { z: this.#lastZ + 1 }),
    };
  }

  /**
   * Returns a channel's position on the axis of channels. A new name is added to the image's channels if the entry declares it, or
   * if it has the next free position.
   */
  #channelPosition(name: string, position: number, { entry, isDeclared }: { entry: SourceEntry; isDeclared: boolean }): number {
    if (!this.channels.includes(name) && (isDeclared || this.channels.length === position)) this.channels.push(name);
    const isPositioned = propertyOf(entry, 'c') !== undefined || propertyOf(entry, 'cValues') !== undefined;
    return isPositioned || !this.channels.includes(name) ? position : this.channels.indexOf(name);
  }

  #addPart(position: readonly number[], frame: number, part: SourceFrame): void {
    this.#partCount += 1;
    const areIntegers = [...position, frame].every((value) => Number.isInteger(value) && value >= 0);
    if (!areIntegers || frame >= maxFrames || this.#partCount > maxFrames) {
      throw new TileSourceError(
        `The image has more than ${maxFrames} frames, or some with an index that is not a whole number from 0.`,
      );
    }
    const key = position.join();
    const partsAtPosition = this.#partsByPosition.get(key) ?? { position, parts: [] };
    partsAtPosition.parts.push(part);
    this.#partsByPosition.set(key, partsAtPosition);
    const partsOfFrame = this.#partsByFrame.get(frame);
    if (partsOfFrame === undefined) this.#partsByFrame.set(frame, [part]);
    else partsOfFrame.push(part);
    this.#lastFrame = Math.max(this.#lastFrame, frame);
    this.#lastZ = Math.max(this.#lastZ, position[this.#axes.indexOf('z')]!);
  }

  async buildFrames(signal: AbortSignal | undefined): Promise<MultiFrames> {
    if (this.#partsByPosition.size === 0)
      throw new TileSourceError('The image has no frames: its sources have none of the chosen frames.');
    const { channels } = this;
    if (!this.#hasAxes) {
      const partsByFrame = Array.from({ length: this.#lastFrame + 1 }, (_, frame) => this.#partsByFrame.get(frame) ?? []);
      return { partsByFrame, frames: partsByFrame.map(() => ({ axes: {} })), channels };
    }
    const positions = [...this.#partsByPosition.values()].map(({ position }) => position);
    const axisLengths = this.#axes.map((_, axis) => positions.reduce((max, position) => Math.max(max, position[axis]! + 1), 1));
    const frameCount = axisLengths.reduce((product, length) => product * length, 1);
    if (frameCount > maxFrames)
      throw new TileSourceError(`The image has ${frameCount} frames; at most ${maxFrames} are supported.`);
    const partsByFrame: (readonly SourceFrame[])[] = [];
    const frames: FrameMetadata[] = [];
    const addFrame = (frame: number) => {
      let remainder = frame;
      const position = axisLengths.map((length) => {
        const value = remainder % length;
        remainder = Math.floor(remainder / length);
        return value;
      });
      const usedAxes = this.#axes.flatMap((axis, i) =>
        axisLengths[i]! > 1 ? [[axis.toUpperCase(), position[i]!] as const] : [],
      );
      partsByFrame.push(this.#partsByPosition.get(position.join())?.parts ?? []);
      frames.push({ axes: Object.fromEntries(usedAxes) });
    };
    await forEachFrame(frameCount, addFrame, signal);
    return { partsByFrame, frames, channels };
  }
}

function forEachFrame(count: number, work: (frame: number) => void, signal: AbortSignal | undefined): Promise<void> {
  const workOnRange = (from: number, to: number) => {
    for (let frame = from; frame < to; frame += 1) work(frame);
  };
  return forEachRange(count, framesPerSlice, workOnRange, signal);
}

/**
 * Combines the frames of the sources into the frames of the image.
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
  for (const [sourceIndex, entry] of entries.entries())
    await table.addSource(sourceIndex, entry, metadataOfSources[sourceIndex]!, signal);
  return table.buildFrames(signal);
}

/** The names of the axes that a description may use. */
export function axesOf({ axes = [] }: Pick<MultiDescription, 'axes'>): string[] {
  return [...new Set([...defaultAxes, ...axes])];
}
