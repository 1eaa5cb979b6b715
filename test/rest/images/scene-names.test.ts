import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';
import { grayTags, writeTiff } from '../../support/writers/tiff-writer.js';

const side = 256;
const pixels = `DimensionOrder="XYZCT" SizeX="${side}" SizeY="${side}" SizeC="1" SizeZ="2" SizeT="1" Type="uint8" PhysicalSizeX="1" PhysicalSizeY="1"`;

/** An OME-TIFF with an image of two planes for each name. */
function scenes(...names: string[]): Buffer {
  const images = names.map(
    (name, index) =>
      `<Image ID="Image:${index}" Name="${name}"><Pixels ${pixels}><TiffData IFD="${2 * index}" PlaneCount="2"/></Pixels></Image>`,
  );
  const text = `<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06">${images.join('')}</OME>`;
  return writeTiff(
    Array.from({ length: 2 * names.length }, (_, index) => ({
      tags: index === 0 ? { ...grayTags(side, side, side), 270: { ascii: text } } : grayTags(side, side, side),
      chunks: [Buffer.alloc(side * side, 40 * index)],
    })),
  );
}

describe('names of scenes', () => {
  let started: TestHost;
  let admin: Client;
  let item: string;

  const positionsOf = async (id: string) => {
    const { frames } = await admin.ok('GET', `/item/${id}/tiles`);
    return (frames as { Position?: string }[]).map(({ Position }) => Position);
  };

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    item = await uploadItem(admin, await newFolder(admin, 'Scenes'), 'two.ome.tif', scenes('Left kidney', 'Right kidney'));
  });
  afterAll(() => started?.close());

  it('are in the metadata, and in every other form of the image', async () => {
    expect(await positionsOf(item)).toEqual(['Left kidney', 'Left kidney', 'Right kidney', 'Right kidney']);
    const manifest = await admin.ok('GET', `/iiif/${item}/manifest.json`);
    expect((manifest.items as { label: { none: string[] } }[]).map(({ label }) => label.none[0])).toEqual([
      'Z 1, T 1, Left kidney',
      'Z 2, T 1, Left kidney',
      'Z 1, T 1, Right kidney',
      'Z 2, T 1, Right kidney',
    ]);
    const xml = (await admin.send('GET', `/item/${item}/zarr/a.ome.zarr/OME/METADATA.ome.xml`)).bytes.toString();
    expect([...xml.matchAll(/<Image [^>]*Name="([^"]*)"/g)].map(([, name]) => name)).toEqual([
      'two.ome.tif (Left kidney)',
      'two.ome.tif (Right kidney)',
    ]);
    const headers = { Accept: 'application/dicom+json' };
    const series = await admin.send('GET', '/dicomweb/series?includefield=SeriesDescription', { headers });
    const described = series.body as unknown as Record<string, { Value: string[] }>[];
    expect(described.map((each) => each['0008103E']?.Value[0])).toEqual(
      ['Left', 'Right'].flatMap((kidney) => [0, 1].map((z) => `two.ome.tif Z${z} T0 ${kidney} kidney`)),
    );
  });

  it('are kept in converted copies', async () => {
    const target = await newFolder(admin, 'Converted');
    const { _id } = await admin.ok('POST', `/item/${item}/tiles/convert`, { query: { folderId: target } });
    await until('the conversion', async () => (await admin.ok('GET', `/job/${String(_id)}`)).status === 3, 120_000);
    const [converted] = (await admin.ok('GET', '/item', { query: { folderId: target } })) as unknown as { _id: string }[];
    expect(await positionsOf(converted!._id)).toEqual(await positionsOf(item));
  });

  it('get numbers if they are equal, and are missing where the file has none', async () => {
    const folder = await newFolder(admin, 'Others');
    const equal = await uploadItem(admin, folder, 'equal.ome.tif', scenes('A1', 'A1', ' ', 'B1'));
    expect((await positionsOf(equal)).filter((_, frame) => frame % 2 === 0)).toEqual(['A1 (1)', 'A1 (2)', undefined, 'B1']);
    const xml = (await admin.send('GET', `/item/${equal}/zarr/a.ome.zarr/OME/METADATA.ome.xml`)).bytes.toString();
    expect(xml).toContain('Name="equal.ome.tif (XY=2)"');
  });
});
