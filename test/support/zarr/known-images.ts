import sharp from 'sharp';
import { sampleArrays, type SampleType, type Samples } from '../../../src/tilesource/raster.js';
import { pattern } from '../images/pattern.js';
import { writeCzi } from '../writers/czi-writer.js';
import { writeDicom } from '../writers/dicom-writer.js';
import { jp2Of, writeJpeg2000 } from '../writers/jpeg2000-writer.js';
import { grayTags, writeTiff, type TagValue, type WrittenDirectory } from '../writers/tiff-writer.js';
import { writeZip } from '../writers/zip-writer.js';
import type { KnownImage } from './served-samples.js';

/** A file of an item, its contents, and the files in the same folder from which it is made. */
export interface KnownFile {
  name: string;
  file: string;
  parts?: Readonly<Record<string, Buffer>>;
  make: () => Promise<{ bytes: Buffer; known: KnownImage }>;
}

const types = Object.keys(sampleArrays) as SampleType[];
const isFloat = (dtype: SampleType) => dtype.startsWith('float');
const isSigned = (dtype: SampleType) => dtype.startsWith('int');
const bytesOf = ({ buffer, byteOffset, byteLength }: Samples) => Buffer.from(buffer, byteOffset, byteLength);

/** Samples from the whole range of a type, different in each plane. */
function spread(dtype: SampleType, count: number, seed = 0): Samples {
  const samples = new sampleArrays[dtype](count);
  const bits = samples.BYTES_PER_ELEMENT * 8;
  for (let index = 0; index < count; index += 1) {
    const step = (index + seed * 101) * 7919;
    if (isFloat(dtype)) samples[index] = ((step % 65_521) - 30_000) / 7;
    else samples[index] = ((step % 65_521) / 65_521) * 2 ** bits - (isSigned(dtype) ? 2 ** (bits - 1) : 0);
  }
  return samples;
}

/** Uncompressed tiles or strips of interleaved samples. */
function directoryOf(
  { dtype, width, height, bands }: Omit<KnownImage, 'planes'>,
  samples: Samples,
  tile: { width: number; height: number } | null,
  more: Record<number, TagValue> = {},
): WrittenDirectory {
  const size = samples.BYTES_PER_ELEMENT * bands;
  const bytes = bytesOf(samples);
  const { width: across, height: down } = tile ?? { width, height: 100 };
  const chunks: Buffer[] = [];
  for (let top = 0; top < height; top += down) {
    for (let left = 0; left < width; left += across) {
      const rows = tile === null ? Math.min(down, height - top) : down;
      const chunk = Buffer.alloc(across * rows * size);
      for (let row = 0; row < Math.min(rows, height - top); row += 1) {
        const start = ((top + row) * width + left) * size;
        bytes.copy(chunk, row * across * size, start, start + Math.min(across, width - left) * size);
      }
      chunks.push(chunk);
    }
  }
  const { 322: _across, 323: _down, ...tags } = grayTags(width, height, 256);
  const repeated = (value: number) => ({ short: Array.from({ length: bands }, () => value) });
  const colors = bands === 3 || bands === 4 ? 3 : 1;
  const written: Record<number, TagValue> = {
    ...tags,
    258: repeated(samples.BYTES_PER_ELEMENT * 8),
    262: { short: [colors === 3 ? 2 : 1] },
    277: { short: [bands] },
    339: repeated(isFloat(dtype) ? 3 : isSigned(dtype) ? 2 : 1),
    ...more,
  };
  if (bands > colors)
    written[338] = { short: Array.from({ length: bands - colors }, () => (bands === 2 || bands === 4 ? 2 : 0)) };
  if (tile === null) written[278] = { long: [down] };
  else Object.assign(written, { 322: { short: [across] }, 323: { short: [down] } });
  return { chunks, tags: written };
}

interface Shape {
  dtype?: SampleType;
  width?: number;
  height?: number;
  bands?: number;
}

function tiff(
  what: string,
  shape: Shape,
  tile: { width: number; height: number } | null = { width: 256, height: 256 },
): KnownFile {
  const { dtype = 'uint8', width = 700, height = 300, bands = 1 } = shape;
  return {
    name: `a TIFF of ${what}`,
    file: 'image.tif',
    make: async () => {
      const samples = spread(dtype, width * height * bands);
      // Averages lose the colors of transparent pixels.
      if (bands === 4) for (let alpha = 3; alpha < samples.length; alpha += 4) samples[alpha] = Math.max(1, samples[alpha]!);
      const image = { dtype, width, height, bands, planes: { '0/0/0': samples } };
      return { bytes: writeTiff([directoryOf(image, samples, tile)]), known: image };
    },
  };
}

/** Planes of an image of several frames: time, channel and depth. */
function planesOf(dtype: SampleType, { t, c, z, size }: { t: number; c: number; z: number; size: number }) {
  const planes: Record<string, Samples> = {};
  let seed = 0;
  for (let time = 0; time < t; time += 1) {
    for (let depth = 0; depth < z; depth += 1) {
      for (let channel = 0; channel < c; channel += 1) planes[`${time}/${channel}/${depth}`] = spread(dtype, size, (seed += 1));
    }
  }
  return planes;
}

const omeTiff: KnownFile = {
  name: 'an OME-TIFF of times, channels and depths',
  file: 'image.ome.tif',
  make: async () => {
    const shape = { dtype: 'uint16', width: 300, height: 280, bands: 1 } as const;
    const planes = planesOf('uint16', { t: 2, c: 2, z: 3, size: 300 * 280 });
    const xml =
      '<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYCZT" ' +
      'Type="uint16" SizeX="300" SizeY="280" SizeC="2" SizeZ="3" SizeT="2"><Channel ID="Channel:0:0" SamplesPerPixel="1"/>' +
      '<Channel ID="Channel:0:1" SamplesPerPixel="1"/><TiffData/></Pixels></Image></OME>';
    const directories = Object.values(planes).map((samples, index) =>
      directoryOf(shape, samples, { width: 256, height: 256 }, index === 0 ? { 270: { ascii: xml } } : {}),
    );
    return { bytes: writeTiff(directories), known: { ...shape, planes } };
  },
};

const zarr: KnownFile = {
  name: 'an OME-Zarr of times, channels and depths',
  file: 'image.ome.zarr.zip',
  make: async () => {
    const shape = { dtype: 'float32', width: 300, height: 280, bands: 1 } as const;
    const [t, c, z] = [2, 2, 2];
    const planes = planesOf('float32', { t, c, z, size: 300 * 280 });
    const axes = [
      { name: 't', type: 'time' },
      { name: 'c', type: 'channel' },
      ...['z', 'y', 'x'].map((name) => ({ name, type: 'space' })),
    ];
    const transformations = [{ type: 'scale', scale: [1, 1, 1, 1, 1] }];
    const files: Record<string, Buffer> = {
      '.zgroup': Buffer.from(JSON.stringify({ zarr_format: 2 })),
      '.zattrs': Buffer.from(
        JSON.stringify({
          multiscales: [{ version: '0.4', axes, datasets: [{ path: '0', coordinateTransformations: transformations }] }],
        }),
      ),
      '0/.zarray': Buffer.from(
        JSON.stringify({
          zarr_format: 2,
          shape: [t, c, z, 280, 300],
          chunks: [1, 1, 1, 280, 300],
          dtype: '<f4',
          compressor: null,
          fill_value: 0,
          order: 'C',
          filters: null,
          dimension_separator: '/',
        }),
      ),
    };
    for (const [plane, samples] of Object.entries(planes)) files[`0/${plane}/0/0`] = bytesOf(samples);
    return { bytes: writeZip(files).file, known: { ...shape, planes } };
  },
};

const czi: KnownFile = {
  name: 'a CZI of channels and depths',
  file: 'image.czi',
  make: async () => {
    const shape = { dtype: 'uint16', width: 300, height: 280, bands: 1 } as const;
    const planes = planesOf('uint16', { t: 1, c: 2, z: 2, size: 300 * 280 });
    const blocks = Object.entries(planes).map(([plane, samples]) => {
      const [, C, Z] = plane.split('/').map(Number) as [number, number, number];
      const size = { storedWidth: 300, storedHeight: 280 };
      return { axes: { C, Z, M: 0 }, left: 0, top: 0, ...size, pixelType: 1, compression: 0, data: bytesOf(samples) };
    });
    return { bytes: writeCzi({ blocks }).file, known: { ...shape, planes } };
  },
};

const dicom: KnownFile = {
  name: 'a DICOM file of signed samples',
  file: 'image.dcm',
  make: async () => {
    const samples = spread('int16', 300 * 280);
    const { file } = writeDicom({
      rows: 280,
      columns: 300,
      frames: [bytesOf(samples)],
      transferSyntax: '1.2.840.10008.1.2.1',
      photometric: 'MONOCHROME2',
      samples: 1,
      bits: 16,
      isSigned: true,
    });
    return { bytes: file, known: { dtype: 'int16', width: 300, height: 280, bands: 1, planes: { '0/0/0': samples } } };
  },
};

const jpeg2000: KnownFile = {
  name: 'a JPEG 2000 picture',
  file: 'image.jp2',
  make: async () => {
    const data = new Uint8Array(pattern(600, 300, 3));
    const bytes = jp2Of(await writeJpeg2000({ data, width: 600, height: 300, components: 3 }));
    // Its coarser levels are the resolutions of the wavelet.
    const image = {
      dtype: 'uint8',
      width: 600,
      height: 300,
      bands: 3,
      planes: { '0/0/0': data },
      hasStoredLevels: true,
    } as const;
    return { bytes, known: image };
  },
};

const png16: KnownFile = {
  name: 'a PNG of 16 bits',
  file: 'image.png',
  make: async () => {
    const samples = spread('uint16', 600 * 300) as Uint16Array<ArrayBuffer>;
    const bytes = await sharp(samples, { raw: { width: 600, height: 300, channels: 1 } })
      .toColourspace('grey16')
      .png()
      .toBuffer();
    return { bytes, known: { dtype: 'uint16', width: 600, height: 300, bands: 1, planes: { '0/0/0': samples } } };
  },
};

const shiftedPng = (value: number) =>
  sharp(
    new Uint8Array(pattern(300, 280, 3)).map((sample) => (sample + value) % 256),
    { raw: { width: 300, height: 280, channels: 3 } },
  )
    .png()
    .toBuffer();
const shifted = (value: number) => new Uint8Array(pattern(300, 280, 3)).map((sample) => (sample + value) % 256);

/** An image of several items. */
const multi: KnownFile = {
  name: 'an image of several files',
  file: 'whole.yaml',
  parts: { 'one.png': await shiftedPng(0), 'two.png': await shiftedPng(90) },
  make: async () => ({
    bytes: Buffer.from('sources:\n  - {path: one.png, z: 0}\n  - {path: two.png, z: 1}\n'),
    known: { dtype: 'uint8', width: 300, height: 280, bands: 3, planes: { '0/0/0': shifted(0), '0/0/1': shifted(90) } },
  }),
};

/**
 * Files of every format that can be written without other programs, with every sample type and every tile size that is handled
 * differently.
 */
export const knownFiles: readonly KnownFile[] = [
  ...types.map((dtype) => tiff(dtype, { dtype })),
  ...[2, 3, 4, 5].map((bands) => tiff(`${bands} bands`, { bands })),
  tiff('strips', { bands: 3 }, null),
  tiff('small tiles', { bands: 3 }, { width: 64, height: 64 }),
  tiff('tiles that are not square', { dtype: 'uint16' }, { width: 512, height: 128 }),
  tiff('large tiles', { width: 1500, height: 1100 }, { width: 2048, height: 2048 }),
  omeTiff,
  zarr,
  czi,
  dicom,
  jpeg2000,
  png16,
  multi,
];

/** A sample of them for the core of the suite. */
export const fewKnownFiles = knownFiles.filter(({ name }) => /of int32|3 bands|OME-TIFF/.test(name));
