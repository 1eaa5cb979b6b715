import { omeDocument, omePixelType } from '../../tilesource/render/ome-description.js';
import { escapeXml } from '../../tilesource/xml.js';
import type { ArrayImage } from './arrays.js';

/** An image as named in OME-XML. */
export interface NamedImage {
  name: string;
  image: ArrayImage;
}

/** Writes `OME/METADATA.ome.xml`, from which programs based on Bio-Formats read the description of several images. */
export function writeOmeXml(images: readonly NamedImage[]): string {
  const imageElements = images.map(({ name, image: { metadata, lengths } }, index) => {
    const { sizeX, sizeY, dtype, mmX, mmY, mmZ, secondsT, channels } = metadata;
    const increment = secondsT === undefined ? '' : ` TimeIncrement="${secondsT}" TimeIncrementUnit="s"`;
    const physicalSizeAttributes = (axis: string, mm: number | null = null) =>
      mm === null ? '' : ` PhysicalSize${axis}="${mm * 1000}" PhysicalSize${axis}Unit="µm"`;
    const channelElements = Array.from({ length: lengths.c }, (_, c) => {
      const channelName = channels?.[Math.floor(c / metadata.bandCount)];
      return `<Channel ID="Channel:${index}:${c}" SamplesPerPixel="1"${channelName === undefined ? '' : ` Name="${escapeXml(channelName)}"`}/>`;
    });
    return (
      `<Image ID="Image:${index}" Name="${escapeXml(name)}"><Pixels ID="Pixels:${index}" DimensionOrder="XYZCT" ` +
      `Type="${omePixelType(dtype)}" BigEndian="false" SizeX="${sizeX}" SizeY="${sizeY}" SizeZ="${lengths.z}" ` +
      `SizeC="${lengths.c}" SizeT="${lengths.t}"${physicalSizeAttributes('X', mmX)}${physicalSizeAttributes('Y', mmY)}${physicalSizeAttributes('Z', mmZ)}${increment}>${channelElements.join('')}<MetadataOnly/></Pixels></Image>`
    );
  });
  return omeDocument(imageElements.join(''));
}
