import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TileOutsideError, TileSourceError } from '../../src/errors.js';
import { tiffSource } from '../../src/tilesource/sources/tiff/tiff-source.js';
import { memoryInput } from '../support/memory-input.js';
import { pattern } from '../support/pattern.js';
import { grayTags, writeTiff, type TagValue, type WrittenDirectory } from '../support/tiff-writer.js';

/** Same files on every run; set another number to look elsewhere. */
const seed = Number(process.env.TIFF_FUZZ_SEED ?? 20_261_121);
const filesPerKind = 450;
/** A mutated file that keeps the source busy for longer hangs. */
const deadline = 5000;
const memoryLimit = 1024 * 1024 * 1024;

function random(state: number): () => number {
  let a = state;
  return () => {
    a = (a + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const picture = (): Sharp => sharp(pattern(300, 200, 3), { raw: { width: 300, height: 200, channels: 3 } });
const grayPlane = (fill: number): WrittenDirectory => ({
  tags: grayTags(64, 64, 32),
  chunks: Array.from({ length: 4 }, () => Buffer.alloc(32 * 32, fill)),
});

function omeFile(): Buffer {
  const xml =
    '<?xml version="1.0"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" ' +
    'DimensionOrder="XYCZT" SizeX="64" SizeY="64" SizeC="2" SizeZ="2" SizeT="1" Type="uint8" PhysicalSizeX="0.5" PhysicalSizeY="0.5">' +
    '<Channel ID="Channel:0" Name="DAPI"/><Channel ID="Channel:1" Name="FITC"/><TiffData/></Pixels></Image></OME>';
  const planes = [10, 20, 30, 40].map(grayPlane);
  const sub = { tags: grayTags(32, 32, 32), chunks: [Buffer.alloc(1024, 7)] };
  return writeTiff(
    planes.map((plane, index) => {
      const described: Record<number, TagValue> = index === 0 ? { ...plane.tags, 270: { ascii: xml } } : plane.tags;
      return { ...plane, sub: [sub], tags: described };
    }),
  );
}

function svsLike(): Buffer {
  const description = 'Aperio Image Library v11.2.1 \r\n64x64 (32x32)|AppMag = 20|MPP = 0.4990';
  const strip = (text: string): WrittenDirectory => ({
    tags: {
      256: { long: [16] },
      257: { long: [16] },
      258: { short: [8] },
      259: { short: [1] },
      262: { short: [1] },
      277: { short: [1] },
      278: { long: [8] },
      270: { ascii: text },
    },
    chunks: [Buffer.alloc(128, 1), Buffer.alloc(128, 2)],
  });
  const base = grayPlane(99);
  return writeTiff([
    { ...base, tags: { ...base.tags, 270: { ascii: description } } },
    strip('Aperio Image Library v11.2.1 \r\n64x64 -> 16x16'),
    strip('Aperio Image Library v11.2.1 \r\nlabel 16x16'),
    strip('Aperio Image Library v11.2.1 \r\nmacro 16x16'),
  ]);
}

async function kinds(): Promise<Map<string, Buffer>> {
  const tile = { tile: true, tileWidth: 64, tileHeight: 64 };
  return new Map([
    [
      'tiled jpeg pyramid',
      await picture()
        .tiff({ ...tile, pyramid: true, compression: 'jpeg' })
        .toBuffer(),
    ],
    [
      'tiled lzw',
      await picture()
        .tiff({ ...tile, compression: 'lzw', predictor: 'horizontal' })
        .toBuffer(),
    ],
    [
      'bigtiff deflate',
      await picture()
        .tiff({ ...tile, pyramid: true, compression: 'deflate', bigtiff: true })
        .toBuffer(),
    ],
    ['ome multi-frame', omeFile()],
    ['svs-like', svsLike()],
  ]);
}

const interesting = [0, 1, 2, 3, 7, 8, 0x7f, 0x80, 0xff];

/** Changes some bytes, mostly where directories are; sometimes whole 32-bit words, or cuts the file. */
function mutate(original: Buffer, next: () => number): Buffer {
  const file = Buffer.from(original);
  const pick = (limit: number): number => Math.floor(next() * limit);
  const firstDirectory = Math.min(
    original.length - 1,
    file.readUInt16LE(2) === 43 ? Number(file.readBigUInt64LE(8)) : file.readUInt32LE(4),
  );
  const changes = 1 + pick(6);
  for (let i = 0; i < changes; i++) {
    const nearDirectory = next() < 0.7;
    const at = nearDirectory ? Math.min(file.length - 1, firstDirectory + pick(300)) : pick(file.length);
    const kind = pick(4);
    if (kind === 0) file[at] = pick(256);
    else if (kind === 1) file[at] = interesting[pick(interesting.length)] ?? 0;
    else if (at + 4 <= file.length) {
      if (kind === 2) file.writeUInt32LE([0, 1, 0xff_ff_ff_ff, 0x80_00_00_00, file.length, firstDirectory][pick(6)] ?? 0, at);
      else file.writeUInt32LE(pick(file.length), at);
    }
  }
  return next() < 0.1 ? file.subarray(0, pick(file.length)) : file;
}

/** Opens a file and asks for everything once. Only errors that are meant for the caller may come out. */
async function exercise(bytes: Uint8Array): Promise<{ stray: string[]; readers: number; opened: boolean }> {
  const input = memoryInput(bytes);
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
      const source = await tiffSource.open(input);
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
        for (const name of source.associatedImages ?? []) await expected(source.readAssociatedImage?.(name) ?? Promise.resolve());
        await expected(source.internalMetadata?.() ?? Promise.resolve());
      } finally {
        await source.close();
      }
    })(),
  );
  return { stray: input.strayReads, readers: input.openReaders(), opened };
}

const rejections: unknown[] = [];
const noteRejection = (reason: unknown): void => void rejections.push(reason);
beforeAll(() => void process.on('unhandledRejection', noteRejection));
afterAll(() => void process.off('unhandledRejection', noteRejection));

it('meets thousands of mutated files with clear errors only: no crash, hang, stray read, leak or unbounded memory', async () => {
  let files = 0;
  let readable = 0;
  for (const [kind, original] of await kinds()) {
    const whole = await exercise(original);
    expect(whole.opened, `${kind} itself opens`).toBe(true);
    const next = random(seed ^ kind.length);
    for (let index = 0; index < filesPerKind; index++) {
      const file = mutate(original, next);
      const label = `${kind}, file ${index}, TIFF_FUZZ_SEED=${seed}`;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`hangs: ${label}`)), deadline);
      });
      try {
        const result = await Promise.race([exercise(file), late]);
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
    expect(process.memoryUsage().rss, `memory after ${kind}`).toBeLessThan(memoryLimit);
  }
  expect(files).toBeGreaterThanOrEqual(2000);
  // Mutations that never got past the header would test nothing.
  expect(readable).toBeGreaterThan(files / 10);
  expect(rejections).toEqual([]);
}, 110_000);
