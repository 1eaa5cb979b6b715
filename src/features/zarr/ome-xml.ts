import type { ArrayImage } from './arrays.js';

/** An image as named in OME-XML. */
export interface NamedImage {
  name: string;
  image: ArrayImage;
}

const pixelTypes: Readonly<Record<string, string>> = { float32: 'float', float64: 'double' };

function escaped(text: string): string {
  // eslint-disable-next-line no-control-regex -- XML has no way to write these
  const plain = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]|\p{Surrogate}/gu, '\ufffd');
  return plain.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** The description of several images that programs based on Bio-Formats read: `OME/METADATA.ome.xml`. */
export function omeXml(images: readonly NamedImage[]): string {
  const described = images.map(({ name, image: { metadata, lengths } }, index) => {
    const { sizeX, sizeY, dtype, mmX, mmY, channels } = metadata;
    const physical = (axis: string, mm: number | null) =>
      mm === null ? '' : ` PhysicalSize${axis}="${mm * 1000}" PhysicalSize${axis}Unit="µm"`;
    const each = Array.from({ length: lengths.c }, (_, c) => {
      const own = channels?.[Math.floor(c / metadata.bandCount)];
      return `<Channel ID="Channel:${index}:${c}" SamplesPerPixel="1"${own === undefined ? '' : ` Name="${escaped(own)}"`}/>`;
    });
    return (
      `<Image ID="Image:${index}" Name="${escaped(name)}"><Pixels ID="Pixels:${index}" DimensionOrder="XYZCT" ` +
      `Type="${pixelTypes[dtype] ?? dtype}" BigEndian="false" SizeX="${sizeX}" SizeY="${sizeY}" SizeZ="${lengths.z}" ` +
      `SizeC="${lengths.c}" SizeT="${lengths.t}"${physical('X', mmX)}${physical('Y', mmY)}>${each.join('')}<MetadataOnly/></Pixels></Image>`
    );
  });
  const schema = 'http://www.openmicroscopy.org/Schemas/OME/2016-06';
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<OME xmlns="${schema}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${schema} ${schema}/ome.xsd">` +
    `${described.join('')}</OME>\n`
  );
}
