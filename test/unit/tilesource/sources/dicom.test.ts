import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { describeTileSource } from '../../../../src/testing/tile-source.js';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import type { SourceInput } from '../../../../src/tilesource/tile-source.js';
import { dicomSource } from '../../../../src/tilesource/sources/dicom/dicom-source.js';
import { sampleFile } from '../../../support/images/data.js';
import { writeDicom, type WrittenDicom } from '../../../support/writers/dicom-writer.js';
import { writeFixtures } from '../../../support/images/fixtures.js';
import { fuzz } from '../../../support/images/fuzz.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { pattern } from '../../../support/images/pattern.js';
import { samplesOf } from '../../../support/images/samples.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';

interface Written {
  name: string;
  width: number;
  height: number;
  bands: number;
  dtype: 'uint8' | 'uint16' | 'int16';
  frames: { axes: Record<string, number>; raw: string }[];
  companions?: string[];
}

const fixtures = writeFixtures<Written[]>('dicom.py', ['pydicom', 'imagecodecs', 'numpy']);
const folder = fixtures?.folder ?? '';
afterAll(() => fixtures?.remove());

function withCompanions(path: string, others: readonly string[]): SourceInput {
  return { ...fileInput(path), companions: () => Promise.resolve(others.map((other) => fileInput(other))) };
}

const jpegTile = (shade: number): Promise<Buffer> =>
  sharp(
    pattern(64, 64, 3).map((value) => (value + shade) & 255),
    { raw: { width: 64, height: 64, channels: 3 } },
  )
    .jpeg({ quality: 90 })
    .toBuffer();
const slideTiles = await Promise.all([0, 40, 80, 120].map(jpegTile));
/** A slide of 128 by 100 pixels in four tiles. */
const slide: WrittenDicom = {
  rows: 64,
  columns: 64,
  frames: slideTiles,
  transferSyntax: '1.2.840.10008.1.2.4.50',
  photometric: 'YBR_FULL_422',
  samples: 3,
  bits: 8,
  matrix: { columns: 128, rows: 100 },
};
const plain: WrittenDicom = {
  rows: 48,
  columns: 40,
  frames: [Buffer.from(pattern(80, 48, 1))],
  transferSyntax: '1.2.840.10008.1.2.1',
  photometric: 'MONOCHROME2',
  samples: 1,
  bits: 16,
};

describe.runIf(fixtures !== null)('DICOM files written by pydicom', () => {
  for (const { name, width, height, bands, dtype, frames, companions = [] } of fixtures?.manifest ?? []) {
    it(`${name} has the samples that were written, on every frame`, async () => {
      const source = await dicomSource.open(
        withCompanions(
          join(folder, name),
          companions.map((each) => join(folder, each)),
        ),
      );
      expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, bandCount: bands, dtype });
      expect(source.metadata.frames?.map(({ axes }) => axes) ?? [{}]).toEqual(frames.map(({ axes }) => axes));
      for (const [frame, { raw }] of frames.entries()) {
        const expected = samplesOf(readFileSync(join(folder, raw)), dtype);
        const actual = await wholeLevel(source, source.metadata.levels - 1, frame);
        // JPEG frames are decoded by two builds of one library.
        expect(worstDifference(actual, expected), `frame ${frame}`).toBeLessThanOrEqual(companions.length > 0 ? 1 : 0);
      }
      await source.close();
    });
  }

  it.each(['full', 'sparse', 'extended'])('joins the files of a series: levels, label, scale (%s)', async (kind) => {
    const others = ['-1.dcm', '-2.dcm', '-label.dcm'].map((end) => join(folder, kind + end));
    // Whichever file is opened, the image is the same.
    const source = await dicomSource.open(withCompanions(others[2]!, [join(folder, `${kind}-0.dcm`), others[0]!, others[1]!]));
    const { metadata } = source;
    expect(metadata).toMatchObject({
      sizeX: 900,
      sizeY: 700,
      tileWidth: 256,
      levels: 3,
      magnification: 20,
      mmX: 0.00025,
      mmY: 0.0005,
    });
    expect(source.populatedLevels).toEqual([0, 1, 2]);
    for (const step of [1, 2]) {
      const expected = readFileSync(join(folder, `${kind}-${step}.raw`));
      expect(worstDifference(await wholeLevel(source, 2 - step), expected)).toBeLessThanOrEqual(1);
    }
    expect(source.associatedImages).toEqual(['label']);
    const label = await source.readAssociatedImage?.('label');
    expect(worstDifference(label?.raster.data ?? [], readFileSync(join(folder, `${kind}-label.raw`)))).toBe(0);
    const stored = await source.readStoredTile?.({ level: 2, x: 0, y: 0, frame: 0 });
    const decoded = await sharp(stored?.bytes).raw().toBuffer();
    const tile = await source.readTile({ level: 2, x: 0, y: 0, frame: 0 });
    expect(worstDifference(decoded, tile.data)).toBe(0);
    const { dicom, openslide } = (await source.internalMetadata?.()) ?? {};
    expect(dicom).toMatchObject({ Manufacturer: 'Fixture', TotalPixelMatrixColumns: 900, Rows: 256 });
    expect(openslide).toMatchObject({ 'openslide.mpp-x': '0.25', 'dicom.Manufacturer': 'Fixture' });
    expect(JSON.stringify(dicom)).not.toContain('Nobody');
    await source.close();
  });

  if (fixtures !== null) {
    describeTileSource(() => dicomSource, join(folder, 'full-0.dcm'), { describe, it });
    describeTileSource(() => dicomSource, join(folder, 'ct.dcm'), { describe, it });
  }
});

const real = sampleFile('dicom_test_image.dcm');
if (real !== null) describeTileSource(() => dicomSource, real, { describe, it });

describe('DICOM', () => {
  it('shows a slide of JPEG tiles, and passes the stored ones on', async () => {
    const source = await dicomSource.open(memoryInput(writeDicom(slide).file, 'slide.dcm'));
    expect(source.metadata).toMatchObject({ sizeX: 128, sizeY: 100, tileWidth: 64, levels: 2, bandCount: 3 });
    const at = { level: 1, x: 1, y: 1, frame: 0 };
    expect(await source.readStoredTile?.({ ...at, y: 0 })).toMatchObject({ encoding: 'JPEG', width: 64, height: 64 });
    expect(await source.readStoredTile?.(at)).toBeNull();
    expect(await source.readStoredTile?.(at, { partial: true })).toMatchObject({ width: 64, height: 64 });
    const tile = await sharp(slideTiles[3]).raw().toBuffer();
    expect(worstDifference((await source.readTile(at)).data, tile.subarray(0, 64 * 36 * 3))).toBe(0);
    await source.close();
  });

  it('decodes RLE and palettes', async () => {
    const rle = Buffer.alloc(64 + 4);
    rle.writeUInt32LE(1, 0);
    rle.writeUInt32LE(64, 4);
    // Three times 7, then 1 and 2.
    Buffer.from([0xfe, 7, 1, 1]).copy(rle, 64);
    const written = { ...plain, rows: 1, columns: 5, bits: 8, transferSyntax: '1.2.840.10008.1.2.5', encapsulated: true };
    const source = await dicomSource.open(
      memoryInput(writeDicom({ ...written, frames: [Buffer.concat([rle, Buffer.from([2])])] }).file),
    );
    expect(await wholeLevel(source)).toEqual([7, 7, 7, 1, 2]);
    await source.close();
  });

  it.each([
    ['JPEG Lossless', { transferSyntax: '1.2.840.10008.1.2.4.70' }, 'JPEG Lossless'],
    ['files deflated as a whole', { transferSyntax: '1.2.840.10008.1.2.1.99' }, 'deflated'],
    ['samples of odd depths', { bits: 12 }, '12 bits'],
    ['frames past the end of the pixels', { rows: 4000, columns: 4000 }, 'beyond the end'],
    ['more frames than it has', { claimedFrames: 9_000_000 }, 'planes'],
  ])('refuses %s with a clear message', async (_name, change, message) => {
    await expectRefused(dicomSource, memoryInput(writeDicom({ ...plain, ...change }).file, 'bad.dcm'), message);
  });

  it.each([
    { columns: 0, rows: 100 },
    { columns: 128, rows: 0 },
  ])('refuses a slide of $columns by $rows pixels', async (matrix) => {
    const { file } = writeDicom({ ...slide, matrix });
    await expectRefused(
      dicomSource,
      memoryInput(file, 'empty.dcm'),
      `Corrupt DICOM: a slide of ${matrix.columns} by ${matrix.rows} pixels.`,
    );
  });

  it('leaves no file of a series open when one cannot be read', async () => {
    const good = writeDicom(slide).file;
    const inputs = [good, good.subarray(0, 400), Buffer.from('no DICOM at all')].map((file, i) => memoryInput(file, `${i}.dcm`));
    const source = await dicomSource.open({ ...inputs[0]!, companions: () => Promise.resolve(inputs.slice(1)) });
    await source.close();
    expect(inputs.map((input) => input.openReaderCount())).toEqual([0, 0, 0]);
  });

  it('reads mutated files, or refuses them with clear errors only', async () => {
    const kinds = new Map(
      Object.entries({ slide: writeDicom(slide), plain: writeDicom(plain) }).map(([kind, written]) => [
        kind,
        { ...written, name: basename(`${kind}.dcm`) },
      ]),
    );
    const result = await fuzz(dicomSource, kinds, { count: 200 });
    expect(result.files).toBeGreaterThan(30);
    expect(result.readable).toBeGreaterThan(result.files / 10);
  });
});

it('refuses tiles of too many frames, and joins the fragments of a frame', async () => {
  const point = {
    ...plain,
    rows: 1,
    columns: 1,
    frames: [new Uint8Array(2 ** 18)],
    claimedFrames: 2 ** 18,
    instanceUid: '1.2.6',
  };
  const { file: points } = writeDicom({ ...point, bits: 8, matrix: { columns: 512, rows: 512 } });
  const large = { ...plain, rows: 512, columns: 512, frames: Array.from({ length: 4 }, () => new Uint8Array(2 ** 18)) };
  const { file: slideFile } = writeDicom({ ...large, bits: 8, matrix: { columns: 1024, rows: 1024 } });
  const input = { ...memoryInput(slideFile, 'slide.dcm'), companions: async () => [memoryInput(points, 'points.dcm')] };
  const source = await dicomSource.open(input);
  expect(source.partsPerTile).toBe(2 ** 18);
  await expect(source.readTile({ level: 0, frame: 0, x: 0, y: 0 })).rejects.toThrow('would need 262144 frames; at most 4096');
  await source.close();

  const jpeg = slideTiles[0]!;
  const [start, rest] = [jpeg.subarray(0, 500), jpeg.subarray(500)];
  const fragments = [start, ...Array.from({ length: 3000 }, () => new Uint8Array(0)), rest];
  const single = { ...slide, matrix: { columns: 64, rows: 64 }, claimedFrames: 1 };
  const read = async (frames: readonly Uint8Array[]) => {
    const opened = await dicomSource.open(memoryInput(writeDicom({ ...single, frames }).file, 'one.dcm'));
    const { data } = await opened.readTile({ level: 0, frame: 0, x: 0, y: 0 });
    await opened.close();
    return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  };
  expect((await read(fragments)).equals(await read([jpeg]))).toBe(true);
});
