import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { wireMetadata } from '../../../src/tilesource/metadata.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { readExif } from '../../../src/tilesource/sources/sharp/exif.js';
import { sharpSource } from '../../../src/tilesource/sources/sharp/sharp-source.js';
import { readDescription, vendorProperties } from '../../../src/tilesource/sources/tiff/descriptions.js';
import { readOme } from '../../../src/tilesource/sources/tiff/ome.js';
import { random } from '../../support/images/fuzz.js';
import { memoryInput } from '../../support/images/memory-input.js';

describe('unsupported formats', () => {
  it.each([
    ['Photoshop', '8BPS\0\x01\0\0'],
    ['OpenEXR', '\x76\x2f\x31\x01\x02\0\0\0'],
    ['DDS (DirectDraw Surface)', 'DDS \x7c\0\0\0'],
    ['SGI', '\x01\xda\0\x01\0\x03'],
    ['JPEG-LS', '\xff\xd8\xff\xf7\0\x0b'],
    ['Nikon ND2', '\xda\xce\xbe\x0a\xf0\x0f\0\0', 'Export them as OME-TIFF.'],
    ['HDF5 (Imaris and others)', '\x89HDF\r\n\x1a\n', 'Export them as OME-TIFF.'],
  ])('are refused by their name: %s', async (name, beginning, help = 'Save the picture as PNG, JPEG or TIFF.') => {
    const bytes = Buffer.concat([Buffer.from(beginning, 'latin1'), Buffer.alloc(600)]);
    await expect(sharpSource.open(memoryInput(bytes, 'a.bin'))).rejects.toThrow(`${name} files are not supported. ${help}`);
  });

  it('leave AVIF, which is read, alone', async () => {
    const bytes = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#345' } })
      .avif()
      .toBuffer();
    await (await sharpSource.open(memoryInput(bytes, 'a.avif'))).close();
  });
});

describe('common metadata', () => {
  it('includes the keys of Aperio by their usual names', () => {
    const description =
      'Aperio Image Library v11.2.1 \r\n46000x32914 [0,100 46000x32814] (256x256) JPEG/RGB Q=30|AppMag = 20|MPP = 0.4990|ScanScope ID = SS1|Date = 12/29/09';
    expect(vendorProperties(description, readDescription(description))).toEqual({
      'openslide.vendor': 'aperio',
      'openslide.mpp-x': '0.499',
      'openslide.mpp-y': '0.499',
      'openslide.objective-power': '20',
      'aperio.AppMag': '20',
      'aperio.MPP': '0.4990',
      'aperio.ScanScope ID': 'SS1',
      'aperio.Date': '12/29/09',
    });
    expect(vendorProperties('ImageJ=1.53', readDescription('ImageJ=1.53'))).toEqual({});
  });

  it('includes the colors of the channels of OME-TIFF', () => {
    const channels =
      '<Channel ID="1" Name="DAPI" Color="65535"/><Channel ID="2" Name="FITC" Color="-16776961"/><Channel ID="3" Name="X"/>';
    const { planes } = readOme(
      `<OME><Image ID="1"><Pixels DimensionOrder="XYCZT" SizeX="8" SizeY="8" SizeC="3" SizeZ="1" SizeT="1" Type="uint8">${channels}<TiffData/></Pixels></Image></OME>`,
    );
    expect(planes.map(({ metadata }) => metadata.color)).toEqual(['#0000ff', '#ff0000', undefined]);
  });

  it('includes the content of OME-XML under its names, with images and channels as lists', () => {
    const { info } = readOme(
      '<?xml version="1.0"?><OME UUID="urn"><Image ID="Image:0"><Description>A text</Description><Pixels DimensionOrder="XYCZT" SizeX="8" SizeY="6" SizeC="1" SizeZ="1" SizeT="1" Type="uint8"><Channel Name="DAPI"/><TiffData IFD="0"><UUID FileName="a.tif">urn</UUID></TiffData></Pixels></Image></OME>',
    );
    expect(info).toMatchObject({
      UUID: 'urn',
      Image: [
        {
          ID: 'Image:0',
          Description: 'A text',
          Pixels: { SizeX: '8', Channel: [{ Name: 'DAPI' }], TiffData: [{ IFD: '0', UUID: { FileName: 'a.tif', text: 'urn' } }] },
        },
      ],
    });
  });

  it('includes a mark on a magnification that was computed', async () => {
    const image = { sizeX: 8, sizeY: 8, tileWidth: 8, tileHeight: 8, levels: 1, dtype: 'uint8', bandCount: 1 } as const;
    expect(wireMetadata({ ...image, magnification: null, mmX: 0.0005, mmY: 0.0005 })).toMatchObject({
      magnification: 20,
      magnificationComputed: true,
    });
    expect(wireMetadata({ ...image, magnification: 40, mmX: 0.0005, mmY: 0.0005 })).not.toHaveProperty('magnificationComputed');
    expect(wireMetadata({ ...image, magnification: null, mmX: null, mmY: null })).not.toHaveProperty('magnificationComputed');
  });

  it('includes EXIF and XMP of a picture', async () => {
    const xmp = '<?xpacket begin=""?><x:xmpmeta xmlns:x="adobe:ns:meta/"/><?xpacket end="w"?>';
    const bytes = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#345' } })
      .withExif({ IFD0: { Make: 'Zenit', Software: 'x' }, IFD2: { DateTimeOriginal: '2026:11:22 10:00:00', FNumber: '28/10' } })
      .withXmp(xmp)
      .jpeg()
      .toBuffer();
    const source = await sharpSource.open(memoryInput(bytes, 'a.jpg'));
    const facts = await openLargeImage(source).internalMetadata();
    expect(facts).toMatchObject({
      exif: { Make: 'Zenit', Software: 'x', DateTimeOriginal: '2026:11:22 10:00:00', FNumber: 2.8 },
    });
    expect(facts.xmp).toContain('adobe:ns:meta/');
    await source.close();
  });

  it('includes corrupt EXIF as far as possible', async () => {
    const bytes = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#345' } })
      .withExif({ IFD0: { Make: 'Zenit', Software: 'x'.repeat(50) }, IFD2: { FNumber: '28/10' } })
      .jpeg()
      .toBuffer();
    const { exif } = await sharp(bytes).metadata();
    const next = random(5);
    for (let i = 0; i < 5000; i++) {
      const mutated = Buffer.from(exif!);
      for (let change = 0; change < 4; change++) mutated[Math.floor(next() * mutated.length)] = Math.floor(next() * 256);
      expect(typeof readExif(mutated.subarray(0, Math.floor(next() * mutated.length)))).toBe('object');
    }
  });
});
