import { expect } from 'vitest';
import { TileOutsideError, TileSourceError } from '../../../src/errors.js';
import type { TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { casesOf } from '../run/sample.js';
import { memoryInput } from './memory-input.js';

/** A mutated file that takes longer than this hangs: on an idle machine none takes a second. */
const deadline = 120_000;
/** Bytes by which the memory of the process may grow. */
const memoryLimit = 768 * 1024 * 1024;

/** Numbers from 0 to 1 that are the same on every run. */
export function random(state: number): () => number {
  let a = state;
  return () => {
    a = (a + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const interesting = [0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff];

/** How a file is mutated. */
export interface Mutation {
  /** Parts of the file in which most changes are made: headers and directories. */
  near?: readonly { offset: number; length: number }[];
  bigEndian?: boolean;
}

/** Changes some bytes, most of them in structures. Sometimes changes whole 32-bit words, or cuts the file. */
export function mutate(original: Buffer, next: () => number, { near = [], bigEndian = false }: Mutation = {}): Buffer {
  const file = Buffer.from(original);
  const pick = (limit: number): number => Math.floor(next() * limit);
  const changes = 1 + pick(6);
  for (let i = 0; i < changes; i++) {
    const stretch = near[pick(near.length)];
    const isNear = stretch !== undefined && next() < 0.7;
    const at = isNear ? Math.min(file.length - 1, stretch.offset + pick(stretch.length)) : pick(file.length);
    const kind = pick(4);
    if (kind === 0) file[at] = pick(256);
    else if (kind === 1) file[at] = interesting[pick(interesting.length)] ?? 0;
    else if (at + 4 <= file.length) {
      const word =
        kind === 2 ? ([0, 1, 0xff_ff_ff_ff, 0x80_00_00_00, 0x7f_ff_ff_ff, file.length][pick(6)] ?? 0) : pick(file.length);
      if (bigEndian) file.writeUInt32BE(word, at);
      else file.writeUInt32LE(word, at);
    }
  }
  return next() < 0.1 ? file.subarray(0, pick(file.length)) : file;
}

/** Opens a file and reads everything once. Only errors for the caller may be thrown. */
async function exercise(
  definition: TileSourceDefinition,
  bytes: Uint8Array,
  name: string,
): Promise<{ stray: string[]; readers: number; opened: boolean }> {
  const input = memoryInput(bytes, name);
  let opened = false;
  const expected = async (work: Promise<unknown>): Promise<void> => {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof TileSourceError || error instanceof TileOutsideError)) throw error;
    }
  };
  await expected(
    (async () => {
      const source = await definition.open(input);
      opened = true;
      try {
        const frames = source.metadata.frames?.length ?? 1;
        for (const level of source.populatedLevels.slice(-2)) {
          for (const frame of new Set([0, frames - 1])) {
            const address = { level, x: 0, y: 0, frame };
            await expected(source.readTile(address));
            await expected(source.readStoredTile?.(address) ?? Promise.resolve());
          }
        }
        for (const each of source.associatedImages ?? []) await expected(source.readAssociatedImage?.(each) ?? Promise.resolve());
        await expected(source.internalMetadata?.() ?? Promise.resolve());
      } finally {
        await source.close();
      }
    })(),
  );
  return { stray: input.strayReads, readers: input.openReaderCount(), opened };
}

/** Factor for the number of files that tests open: `FUZZ_TIMES=20 npx vitest run FILE` searches longer. */
const times = Number(process.env.FUZZ_TIMES ?? 1);

/** A kind of file that is mutated. */
export interface FuzzKind extends Mutation {
  file: Buffer;
  /** Name of the file, for sources that look at it. */
  name: string;
}

/**
 * Opens thousands of mutated files. There may be no crash, hang, read outside the file, open reader, unlimited memory or
 * unhandled rejection, and only errors for the caller.
 *
 * @param options `count` files of each kind; `seed`, which the environment variable FUZZ_SEED sets, to try other mutations.
 */
export async function fuzz(
  definition: TileSourceDefinition,
  kinds: ReadonlyMap<string, FuzzKind>,
  { count, seed = Number(process.env.FUZZ_SEED ?? 20_261_121) }: { count: number; seed?: number },
): Promise<{ files: number; readable: number }> {
  const rejections: unknown[] = [];
  const recordRejection = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', recordRejection);
  const { rss } = process.memoryUsage();
  const cases = casesOf(count, 1 / 4) * times;
  let files = 0;
  let readable = 0;
  try {
    for (const [kind, { file, name, ...mutation }] of kinds) {
      const unchanged = await exercise(definition, file, name);
      expect(unchanged.opened, `${kind} itself opens`).toBe(true);
      const next = random(seed ^ kind.length);
      for (let index = 0; index < cases; index++) {
        const mutated = mutate(file, next, mutation);
        const label = `${kind}, file ${index}, FUZZ_SEED=${seed}`;
        let timer: NodeJS.Timeout | undefined;
        const late = new Promise<never>((_resolve, reject) => {
          timer = setTimeout(() => reject(new Error(`hangs: ${label}`)), deadline);
        });
        try {
          const result = await Promise.race([exercise(definition, mutated, name), late]);
          expect(result.stray, label).toEqual([]);
          expect(result.readers, `readers left open: ${label}`).toBe(0);
          if (result.opened) readable += 1;
        } catch (error) {
          throw new Error(`failed on ${label}`, { cause: error });
        } finally {
          clearTimeout(timer);
        }
        files += 1;
      }
      expect(process.memoryUsage().rss - rss, `memory after ${kind}`).toBeLessThan(memoryLimit);
    }
  } finally {
    process.off('unhandledRejection', recordRejection);
  }
  expect(rejections).toEqual([]);
  return { files, readable };
}
