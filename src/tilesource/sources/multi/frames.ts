import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata, ImageMetadata } from '../../contract.js';
import { wireFrames } from '../../metadata.js';
import type { MultiDescription, SourceEntry } from './description.js';

/** Most frames of an image, and most frames of sources that are in it. */
const maxFrames = 100_000;

/** One frame of a source, as part of a frame of the image. */
export interface FramePart {
  /** Number of the source in the description, patterns being written out. */
  source: number;
  frame: number;
}

/** The frames of an image: what each is made of, in the order in which it is drawn. */
export interface MultiFrames {
  parts: readonly (readonly FramePart[])[];
  frames: readonly FrameMetadata[];
  channels: readonly string[];
}

type Facts = Pick<ImageMetadata, 'frames' | 'channels'>;

/** Axes that every image may have; channels first, because they have names. */
const usualAxes = ['c', 'z', 't', 'xy'];

function member(entry: SourceEntry, name: string): unknown {
  return Object.hasOwn(entry, name) ? entry[name] : undefined;
}

function numberOf(entry: SourceEntry, name: string): number | undefined {
  const value = member(entry, name);
  return typeof value === 'number' ? value : undefined;
}

/** Where a frame of a source lies on an axis, that lies at `value` in the source. */
function positionOf(entry: SourceEntry, axis: string, value: number): number {
  const set = numberOf(entry, `${axis}Set`);
  if (set !== undefined) return set;
  const base = numberOf(entry, axis) ?? 0;
  const listed = member(entry, `${axis}Values`);
  const values = Array.isArray(listed) ? (listed as number[]) : [];
  const [first] = values;
  if (first === undefined) return value + base;
  if (values.length === 1) return first + value + base;
  if (value < values.length) return values[value]! + base;
  const last = values.at(-1)!;
  return last + (last - values.at(-2)!) * (value - values.length + 1) + base;
}

/** Places of the frames of a source by axis, as `framesAsAxes` counts them, or as the source itself does. */
function sourceAxes(entry: SourceEntry, facts: Facts, axes: readonly string[]): Record<string, number>[] {
  const frames = facts.frames ?? [{ axes: {} }];
  const { framesAsAxes } = entry;
  if (framesAsAxes === undefined) {
    return frames.map((frame) => Object.fromEntries(axes.map((axis) => [axis, frame.axes[axis.toUpperCase()] ?? 0])));
  }
  const strides = Object.entries(framesAsAxes).toSorted(([, a], [, b]) => b - a);
  return frames.map((_, index) => {
    const allAxisIndices: Record<string, number> = {};
    let length = frames.length;
    for (const [axis, stride] of strides) {
      allAxisIndices[axis] = Math.floor(index / stride) % Math.max(1, Math.floor(length / stride));
      length = stride;
    }
    return allAxisIndices;
  });
}

/** Puts the frames of sources together, one source after the other. */
class FrameTable {
  readonly channels: string[];
  readonly #axes: readonly string[];
  readonly #byFrame = new Map<number, FramePart[]>();
  readonly #byAxes = new Map<string, { key: readonly number[]; parts: FramePart[] }>();
  #hasAxes = true;
  #lastFrame = -1;
  #lastZ = -1;
  #count = 0;

  constructor({ axes = [], channels = [] }: Pick<MultiDescription, 'axes' | 'channels'>) {
    this.#axes = [...new Set([...usualAxes, ...axes])];
    this.channels = [...channels];
  }

  add(source: number, entry: SourceEntry, facts: Facts): void {
    const positioned = this.#positioned(entry);
    const names = [...(facts.channels ?? [])];
    const named = entry.channels ?? (entry.channel === undefined ? [] : [entry.channel]);
    names.splice(0, named.length, ...named);
    if (names.length > this.channels.length) this.channels.push(...names.slice(this.channels.length));
    const allAxisIndices = sourceAxes(entry, facts, this.#axes);
    const isChosen = entry.frames === undefined ? null : new Set(entry.frames);
    const isCounted = allAxisIndices.length <= 1 || wireFrames(facts.frames ?? []).IndexRange !== undefined;
    for (const [frame, axisIndices] of allAxisIndices.entries()) {
      if (isChosen?.has(frame) === false) continue;
      const key = this.#axes.map((axis) => positionOf(positioned, axis, axisIndices[axis] ?? 0));
      const channel = names[axisIndices.c ?? 0];
      if (channel !== undefined) key[0] = this.#channelOf(channel, key[0]!, { entry: positioned, isNamed: named.length > 0 });
      this.#put(key, positionOf(positioned, 'frame', frame), { source, frame });
      this.#hasAxes = (this.#hasAxes && isCounted) || key.some((value) => value !== 0);
    }
  }

  /** A source that says nothing of its place comes behind all others. */
  #positioned(entry: SourceEntry): SourceEntry {
    const says = ['frame', ...this.#axes].flatMap((axis) => [axis, `${axis}Values`]);
    if (says.some((name) => member(entry, name) !== undefined)) return entry;
    return {
      ...entry,
      ...(this.#lastFrame >= 0 && { frame: this.#lastFrame + 1 }),
      ...(this.#lastZ >= 0 && { z: this.#lastZ + 1 }),
    };
  }

  #channelOf(name: string, position: number, { entry, isNamed }: { entry: SourceEntry; isNamed: boolean }): number {
    if (!this.channels.includes(name) && (isNamed || this.channels.length === position)) this.channels.push(name);
    const says = member(entry, 'c') !== undefined || member(entry, 'cValues') !== undefined;
    return says || !this.channels.includes(name) ? position : this.channels.indexOf(name);
  }

  #put(key: readonly number[], frame: number, part: FramePart): void {
    this.#count += 1;
    const isWhole = [...key, frame].every((value) => Number.isInteger(value) && value >= 0);
    if (!isWhole || frame >= maxFrames || this.#count > maxFrames) {
      throw new TileSourceError(
        `The image has more than ${maxFrames} frames, or some at places that are no whole numbers from 0.`,
      );
    }
    const name = key.join();
    const there = this.#byAxes.get(name) ?? { key, parts: [] };
    there.parts.push(part);
    this.#byAxes.set(name, there);
    const beside = this.#byFrame.get(frame);
    if (beside === undefined) this.#byFrame.set(frame, [part]);
    else beside.push(part);
    this.#lastFrame = Math.max(this.#lastFrame, frame);
    this.#lastZ = Math.max(this.#lastZ, key[this.#axes.indexOf('z')]!);
  }

  result(): MultiFrames {
    if (this.#byAxes.size === 0) throw new TileSourceError('The image has no frames: its sources have none that are chosen.');
    const { channels } = this;
    if (!this.#hasAxes) {
      const parts = Array.from({ length: this.#lastFrame + 1 }, (_, frame) => this.#byFrame.get(frame) ?? []);
      return { parts, frames: parts.map(() => ({ axes: {} })), channels };
    }
    const keys = [...this.#byAxes.values()].map(({ key }) => key);
    const counts = this.#axes.map((_, axis) => keys.reduce((most, key) => Math.max(most, key[axis]! + 1), 1));
    const total = counts.reduce((product, count) => product * count, 1);
    if (total > maxFrames) throw new TileSourceError(`The image has ${total} frames; at most ${maxFrames} are supported.`);
    const parts: (readonly FramePart[])[] = [];
    const frames: FrameMetadata[] = [];
    for (let frame = 0; frame < total; frame++) {
      let rest = frame;
      const key = counts.map((count) => {
        const value = rest % count;
        rest = Math.floor(rest / count);
        return value;
      });
      const used = this.#axes.flatMap((axis, i) => (counts[i]! > 1 ? [[axis.toUpperCase(), key[i]!] as const] : []));
      parts.push(this.#byAxes.get(key.join())?.parts ?? []);
      frames.push({ axes: Object.fromEntries(used) });
    }
    return { parts, frames, channels };
  }
}

/**
 * Puts the frames of the sources together.
 *
 * @param facts of each source, in the order of the entries.
 * @throws TileSourceError where there are too many or none.
 */
export function frameTable(
  description: Pick<MultiDescription, 'axes' | 'channels'>,
  entries: readonly SourceEntry[],
  facts: readonly Facts[],
): MultiFrames {
  const table = new FrameTable(description);
  for (const [source, entry] of entries.entries()) table.add(source, entry, facts[source]!);
  return table.result();
}

/** Names of the axes that a description may speak of. */
export function axesOf({ axes = [] }: Pick<MultiDescription, 'axes'>): string[] {
  return [...new Set([...usualAxes, ...axes])];
}
