import { describe, expect, it } from 'vitest';
import { multiscaleMetadata } from '../../../src/features/zarr/image-nodes.js';
import { writeOmeXml } from '../../../src/features/zarr/ome-xml.js';
import type { ArrayImage } from '../../../src/features/zarr/arrays.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { readCziMetadata } from '../../../src/tilesource/sources/czi/czi-metadata.js';
import { readOme as readTiffOme } from '../../../src/tilesource/sources/tiff/ome.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import { millimetersAlong, readOme as readZarrOme, secondsAlong } from '../../../src/tilesource/sources/zarr/ome.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';

const stepsOfTiff = (attributes: string) => {
  const pixels = `SizeX="4" SizeY="4" SizeC="1" SizeZ="3" SizeT="2" Type="uint8" DimensionOrder="XYCZT" ${attributes}`;
  const { mmZ, secondsT } = readTiffOme(`<OME><Image ID="Image:0"><Pixels ${pixels}><TiffData/></Pixels></Image></OME>`);
  return [mmZ, secondsT];
};

const stepsOfZarr = (z: string | undefined, t: string | undefined, scale: number[]) => {
  const axes = [{ name: 't', unit: t }, { name: 'z', unit: z }, { name: 'y' }, { name: 'x' }];
  const datasets = [{ path: '0', coordinateTransformations: [{ type: 'scale', scale }] }];
  const image = readZarrOme({ multiscales: [{ axes, datasets }] } as never)!;
  return [millimetersAlong(image, 'z'), secondsAlong(image, 't')];
};

const stepsOfCzi = (scaling: string, interval: string) => {
  const dimensions = `<Information><Image><Dimensions><T><Positions>${interval}</Positions></T></Dimensions></Image></Information>`;
  const metadata = `<Metadata>${dimensions}<Scaling><Items>${scaling}</Items></Scaling></Metadata>`;
  const { mmZ, secondsT } = readCziMetadata(`<ImageDocument>${metadata}</ImageDocument>`);
  return [mmZ, secondsT];
};

describe('the steps from plane to plane and from time to time', () => {
  it.each<[string, (number | null)[], (number | null)[]]>([
    ['OME-TIFF', stepsOfTiff('PhysicalSizeZ="0.5" TimeIncrement="2"'), [0.0005, 2]],
    [
      'OME-TIFF in other units',
      stepsOfTiff('PhysicalSizeZ="300" PhysicalSizeZUnit="nm" TimeIncrement="50" TimeIncrementUnit="ms"'),
      [0.0003, 0.05],
    ],
    ['OME-TIFF without them', stepsOfTiff(''), [null, null]],
    ['OME-TIFF with nonsense', stepsOfTiff('PhysicalSizeZ="-1" TimeIncrement="soon"'), [null, null]],
    ['OME-TIFF in unknown units', stepsOfTiff('PhysicalSizeZ="1" PhysicalSizeZUnit="pixel" TimeIncrement="0"'), [null, null]],
    ['OME-Zarr', stepsOfZarr('micrometer', 'second', [3, 2, 1, 1]), [0.002, 3]],
    ['OME-Zarr in other units', stepsOfZarr('nanometre', 'minute', [2, 500, 1, 1]), [0.0005, 120]],
    ['OME-Zarr without units', stepsOfZarr(undefined, undefined, [3, 2, 1, 1]), [null, null]],
    [
      'CZI',
      stepsOfCzi(
        '<Distance Id="Z"><Value>2.5E-07</Value></Distance>',
        '<Interval><Start>0</Start><Increment>1.5</Increment></Interval>',
      ),
      [0.00025, 1.5],
    ],
    ['CZI without them', stepsOfCzi('', ''), [null, null]],
  ])('are read from %s', (_name, actual, expected) => {
    for (const [at, step] of expected.entries()) {
      if (step === null) expect(actual[at]).toBeNull();
      else expect(actual[at]).toBeCloseTo(step, 12);
    }
  });

  it('are in the metadata, and in OME-TIFF and OME-Zarr made of the image', async () => {
    const planes = Array.from({ length: 4 }, (_, frame) => paint({ width: 8, height: 8, bands: 1 }, () => frame));
    const frames = planes.map((_, frame) => ({ axes: { Z: frame % 2, T: Math.floor(frame / 2) } }));
    const { source } = rasterSource(planes, { frames, mmZ: 0.0004, secondsT: 2.5, mmX: 0.001, mmY: 0.001 });
    const image = openLargeImage(source);
    expect(image.metadata()).toMatchObject({ mm_z: 0.0004, seconds_t: 2.5 });
    const picture = await image.region({ encoding: 'OMETIFF', frameList: [0, 1, 2, 3] } as never);
    if (picture.kind !== 'stream') throw new Error('not streamed');
    const chunks: Buffer[] = [];
    for await (const chunk of picture.stream) chunks.push(chunk as Buffer);
    const again = await tiffSource.open(memoryInput(Buffer.concat(chunks), 'again.ome.tif'));
    expect(again.metadata).toMatchObject({ secondsT: 2.5 });
    expect(again.metadata.mmZ).toBeCloseTo(0.0004, 12);
    await again.close();

    const { metadata } = source;
    const lengths = { t: 2, c: 1, z: 2 };
    const arrays = { metadata, axes: ['t', 'c', 'z', 'y', 'x'], lengths, levels: [metadata, metadata] } as unknown as ArrayImage;
    expect(multiscaleMetadata(arrays, null)).toMatchObject({
      axes: [
        { name: 't', unit: 'second' },
        { name: 'c' },
        { name: 'z', unit: 'micrometer' },
        { unit: 'micrometer' },
        { unit: 'micrometer' },
      ],
      datasets: [
        { coordinateTransformations: [{ scale: [2.5, 1, 0.4, 1, 1] }] },
        { coordinateTransformations: [{ scale: [2.5, 1, 0.4, 2, 2] }] },
      ],
    });
    expect(writeOmeXml([{ name: 'stack', image: arrays }])).toContain(
      'PhysicalSizeZ="0.4" PhysicalSizeZUnit="µm" TimeIncrement="2.5" TimeIncrementUnit="s"',
    );
  });
});
