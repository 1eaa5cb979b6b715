import sharp from 'sharp';
import { describe, expect, it, vi } from 'vitest';
import { headerToJson } from '../../../../src/tilesource/sources/dicom/header-json.js';
import { dicomSource } from '../../../../src/tilesource/sources/dicom/dicom-source.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { expectRefused } from '../../../support/images/refusals.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { asBigEndian, writeDicom, type WrittenDicom } from '../../../support/writers/dicom-writer.js';
import { writeJpeg2000 } from '../../../support/writers/jpeg2000-writer.js';

// The library takes the functions of the console when it is loaded.
const written = vi.hoisted(() => (['error', 'warn', 'log'] as const).map((name) => vi.spyOn(console, name)));

const base = '1.2.840.10008.1.2';
/** Two frames of three by five pixels, so that frames of bytes begin in the middle of words. */
const small: WrittenDicom = {
  rows: 5,
  columns: 3,
  frames: [],
  transferSyntax: `${base}.1`,
  photometric: 'MONOCHROME2',
  samples: 1,
  bits: 8,
};

async function framesOf(file: Buffer): Promise<{ white: number | undefined; dtype: string; frames: number[][] }> {
  const source = await dicomSource.open(memoryInput(file, 'some.dcm'));
  const { white, dtype, frames, levels } = source.metadata;
  const samplesByFrame: number[][] = [];
  for (let frame = 0; frame < (frames?.length ?? 1); frame += 1) samplesByFrame.push(await wholeLevel(source, levels - 1, frame));
  await source.close();
  return { white, dtype, frames: samplesByFrame };
}

/** Whole numbers as little-endian bytes. */
function bytesOf(values: readonly number[], bits: number): Buffer {
  const bytes = Buffer.alloc((values.length * bits) / 8);
  for (const [i, value] of values.entries()) bytes.writeUIntLE((value >>> 0) & (2 ** bits - 1), (i * bits) / 8, bits / 8);
  return bytes;
}

describe('samples of DICOM', () => {
  const kinds = [
    { bits: 8, stored: 8, isSigned: false, white: undefined },
    { bits: 8, stored: 6, isSigned: true, white: 31 },
    { bits: 16, stored: 12, isSigned: false, white: 4095 },
    { bits: 16, stored: 13, isSigned: true, white: 4095 },
    { bits: 16, stored: 16, isSigned: true, white: undefined },
  ];
  it.each(kinds)('use $stored of $bits bits, signed: $isSigned, in either byte order, inverted or not', async (kind) => {
    const { bits, stored, isSigned } = kind;
    const least = isSigned ? -(2 ** (stored - 1)) : 0;
    const samples = [0, 1].map((frame) => Array.from({ length: 15 }, (_, i) => least + ((i * 997 + frame * 501) % 2 ** stored)));
    for (const photometric of ['MONOCHROME1', 'MONOCHROME2']) {
      const most = isSigned ? -1 : 2 ** stored - 1;
      const expected = samples.map((frame) => (photometric === 'MONOCHROME1' ? frame.map((value) => most - value) : frame));
      // The unused higher bits may have any value.
      const raw = samples.map((frame) =>
        bytesOf(
          frame.map((value) => value ^ (2 ** 16 - 2 ** stored)),
          bits,
        ),
      );
      for (const type of ['OW', 'OB'] as const) {
        if (type === 'OB' && bits > 8) continue;
        const written = { ...small, ...kind, photometric, frames: raw, type };
        const expectation = { white: kind.white, dtype: `${isSigned ? 'int' : 'uint'}${bits}`, frames: expected };
        expect(await framesOf(writeDicom(written).file)).toEqual(expectation);
        const bigEndian = asBigEndian(writeDicom({ ...written, transferSyntax: `${base}.2` }).file);
        expect(await framesOf(bigEndian)).toEqual(expectation);
      }
    }
  });

  it('frames of codecs have the sign of the file, which the codec does not know', async () => {
    const samples = Array.from({ length: 64 * 64 }, (_, i) => ((i * 7) & 255) - 128);
    const frame = await writeJpeg2000({ data: bytesOf(samples, 8), width: 64, height: 64, components: 1 });
    for (const [bits, dtype] of [
      [8, 'int8'],
      [16, 'int16'],
    ] as const) {
      const written = { ...small, rows: 64, columns: 64, bits, stored: 8, isSigned: true, frames: [frame] };
      const { file } = writeDicom({ ...written, transferSyntax: `${base}.4.90` });
      expect(await framesOf(file)).toMatchObject({ dtype, frames: [samples] });
    }
  });

  it('colors that two pixels share are unpacked, even in rows of odd length, unless the file has colors for each pixel', async () => {
    const shared = { ...small, photometric: 'YBR_FULL_422', samples: 3, rows: 2 };
    const row = [50, 60, 128, 228, 70, 0, 28, 128];
    const expected = [190, 0, 50, 200, 0, 60, 70, 104, 0];
    const { frames } = await framesOf(writeDicom({ ...shared, frames: [Buffer.from([...row, ...row])] }).file);
    expect(worstDifference(frames[0]!, [...expected, ...expected])).toBeLessThanOrEqual(1);
    const pixels = Array.from({ length: 6 }, () => [50, 128, 228]).flat();
    const unpacked = await framesOf(writeDicom({ ...shared, frames: [Buffer.from(pixels)] }).file);
    expect(worstDifference(unpacked.frames[0]!, Array.from({ length: 6 }, () => [190, 0, 50]).flat())).toBeLessThanOrEqual(22);
    expect(unpacked.frames[0]!.slice(0, 3)).toEqual(unpacked.frames[0]!.slice(15, 18));
  });

  it('palettes have signed indexes in signed files, and words in the byte order of the file', async () => {
    const palette = { first: -2, colors: [0, 1, 2].map((band) => [10, 20, 30].map((value) => (value + band) * 256 + 99)) };
    const written = { ...small, photometric: 'PALETTE COLOR', rows: 1, bits: 16, isSigned: true, palette };
    const frames = [bytesOf([-2, -1, 7], 16)];
    const expected = [10, 11, 12, 20, 21, 22, 30, 31, 32];
    expect((await framesOf(writeDicom({ ...written, frames }).file)).frames[0]).toEqual(expected);
    const bigEndian = asBigEndian(writeDicom({ ...written, frames, transferSyntax: `${base}.2` }).file);
    expect((await framesOf(bigEndian)).frames[0]).toEqual(expected);
  });

  it('frames that cannot be decoded are refused when the file is opened', async () => {
    const jpeg = await sharp({ create: { width: 3, height: 5, channels: 3, background: '#123456' } })
      .jpeg()
      .toBuffer();
    const twelve = Buffer.from(jpeg);
    twelve[twelve.indexOf(Buffer.from([0xff, 0xc0])) + 4] = 12;
    const lossless = Buffer.from(jpeg);
    lossless[lossless.indexOf(Buffer.from([0xff, 0xc0])) + 1] = 0xc3;
    const color = { ...small, samples: 3, photometric: 'YBR_FULL_422', transferSyntax: `${base}.4.51` };
    const cases: [WrittenDicom, string][] = [
      [{ ...color, frames: [twelve] }, 'JPEG with 12 bits'],
      [{ ...color, frames: [lossless] }, 'lossless JPEG with 8 bits'],
      [{ ...color, bits: 16, stored: 12, frames: [twelve] }, 'JPEG frames of 12 bits'],
      [{ ...small, samples: 3, photometric: 'YBR_PARTIAL_420', frames: [Buffer.alloc(45)] }, 'color space YBR_PARTIAL_420'],
    ];
    for (const [written, message] of cases) {
      await expect(dicomSource.open(memoryInput(writeDicom(written).file, 'refused.dcm'))).rejects.toThrow(message);
    }
  });

  it('a whole file without pixels holds no image, and is not called corrupt', async () => {
    const { file } = writeDicom({ ...small, frames: [Buffer.alloc(15)] });
    const pixels = file.indexOf(Buffer.from([0xe0, 0x7f, 0x10, 0]));
    const without = file.subarray(0, pixels);
    const kind = '1.2.840.10008.5.1.4.1.1.7';
    await expectRefused(dicomSource, memoryInput(without, 'plan.dcm'), `The DICOM file contains no image (${kind}).`);
    const list = Buffer.from(without);
    list.write('1.2.840.10008.1.3.10\0\0\0\0\0', list.indexOf(kind), 'latin1');
    await expectRefused(dicomSource, memoryInput(list, 'DICOMDIR'), 'contains no image (DICOMDIR)');
    await expectRefused(dicomSource, memoryInput(without.subarray(0, -3), 'cut.dcm'), 'Corrupt DICOM');
  });
});

it('reads an element whose type depends on others without writing to the console', async () => {
  // The smallest pixel value, in a file whose elements have no types.
  const bytes = Buffer.concat([
    Buffer.alloc(128),
    Buffer.from('DICM\x02\0\0\0UL\x04\0\x1a\0\0\0', 'latin1'),
    Buffer.from(`\x02\0\x10\0UI\x12\0${base}\0`, 'latin1'),
    Buffer.from('\x28\0\x06\x01\x02\0\0\0\x07\0', 'latin1'),
  ]);
  expect(Object.keys(await headerToJson(bytes, ''))).toEqual(['00280106']);
  expect(written.flatMap(({ mock }) => mock.calls)).toEqual([]);
});
