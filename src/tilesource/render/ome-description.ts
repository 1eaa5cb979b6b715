import { wireMetadata } from '../metadata.js';
import type { Size } from '../geometry.js';
import type { SampleType } from '../raster.js';
import type { ImageMetadata } from '../tile-source.js';
import { escapeXml } from '../xml.js';

/** Puts elements into a document of OME-XML. */
export function omeDocument(content: string): string {
  const schema = 'http://www.openmicroscopy.org/Schemas/OME/2016-06';
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n' +
    `<OME xmlns="${schema}" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="${schema} ${schema}/ome.xsd">` +
    `${content}</OME>\n`
  );
}

/** The name of a sample type in OME-XML. */
export function omePixelType(dtype: SampleType): string {
  return { float32: 'float', float64: 'double' }[dtype as string] ?? dtype;
}

/** The order of frames in an OME-TIFF, and the lengths of its axes. The position on axis `c` changes fastest, then `z`. */
export interface PlaneOrder {
  frames: number[];
  lengths: { c: number; z: number; t: number };
}

/**
 * Orders frames by channel, z and time. If the frames do not fill such a grid, or also differ in another axis, each frame becomes a
 * channel.
 */
export function planeOrder({ frames: allFrames = [] }: ImageMetadata, writtenFrames: readonly number[]): PlaneOrder {
  const writtenAxes = writtenFrames.map(
    (frame) => ({ frame, ...allFrames[frame]?.axes }) as { frame: number } & Record<string, number>,
  );
  const positionsOn = (axis: string) => [...new Set(writtenAxes.map((axes) => axes[axis] ?? 0))].toSorted((a, b) => a - b);
  const [c, z, t] = [positionsOn('C'), positionsOn('Z'), positionsOn('T')];
  const otherAxes = Object.keys(Object.assign({}, ...writtenAxes)).filter((name) => !['frame', 'C', 'Z', 'T'].includes(name));
  const positions = new Set(writtenAxes.map((axes) => [axes.C ?? 0, axes.Z ?? 0, axes.T ?? 0].join()));
  const isGrid = positions.size === writtenFrames.length && c.length * z.length * t.length === writtenFrames.length;
  if (!isGrid || otherAxes.some((name) => positionsOn(name).length > 1)) {
    return { frames: [...writtenFrames], lengths: { c: writtenFrames.length, z: 1, t: 1 } };
  }
  const planeIndex = (axes: Record<string, number>) =>
    (t.indexOf(axes.T ?? 0) * z.length + z.indexOf(axes.Z ?? 0)) * c.length + c.indexOf(axes.C ?? 0);
  const frames = writtenAxes.toSorted((a, b) => planeIndex(a) - planeIndex(b)).map(({ frame }) => frame);
  return { frames, lengths: { c: c.length, z: z.length, t: t.length } };
}

/**
 * The OME-XML of a TIFF that contains the samples of a region, with one directory for each frame.
 *
 * @param region in pixels of full resolution.
 */
export function describeRegion(
  metadata: ImageMetadata,
  { frames, lengths }: PlaneOrder,
  { region, output }: { region: Size & { left: number; top: number }; output: Size },
): string {
  const { dtype, bandCount, mmX, mmY, mmZ, secondsT, sampleBits, frames: allFrames = [] } = metadata;
  const wire = wireMetadata(metadata);
  const physicalSize = (axis: string, mm: number | null = null, scale = 1) =>
    mm === null ? '' : ` PhysicalSize${axis}="${mm * 1000 * scale}"`;
  const increment = secondsT === undefined ? '' : ` TimeIncrement="${secondsT}"`;
  const channels = Array.from({ length: lengths.c }, (_, index) => {
    const frame = frames[index]!;
    const { Channel: name, ChannelColor: color }: Record<string, unknown> = wire.frames?.[frame] ?? {};
    // If there are several channels, those without a name are named after their positions on the axes.
    const axisPositions = Object.entries(allFrames[frame]?.axes ?? {}).map(([axis, value]) => `${axis}${value}`);
    const text = typeof name === 'string' ? name : lengths.c === 1 ? '' : axisPositions.join(' ');
    const attributes = (text && ` Name="${escapeXml(text)}"`) + (typeof color === 'string' ? omeColor(color) : '');
    return `<Channel ID="Channel:0:${index}" SamplesPerPixel="${bandCount}"${attributes}/>`;
  });
  const planes = frames.map((_, index) => {
    const [c, z, t] = [index % lengths.c, Math.floor(index / lengths.c) % lengths.z, Math.floor(index / lengths.c / lengths.z)];
    return `<TiffData FirstC="${c * bandCount}" FirstZ="${z}" FirstT="${t}" IFD="${index}" PlaneCount="1"/>`;
  });
  const { left, top, width, height } = region;
  const text = `Left ${left}, top ${top}, width ${width}, height ${height} in pixels of full resolution; frames ${frames.join(', ')}.`;
  return omeDocument(
    `<Image ID="Image:0" Name="Region ${left}, ${top}"><Description>${text}</Description>` +
      `<Pixels ID="Pixels:0" DimensionOrder="XYCZT" Type="${omePixelType(dtype)}" BigEndian="false" Interleaved="${bandCount > 1}" ` +
      `${sampleBits === undefined ? '' : `SignificantBits="${sampleBits}" `}` +
      `SizeX="${output.width}" SizeY="${output.height}" SizeZ="${lengths.z}" SizeC="${lengths.c * bandCount}" SizeT="${lengths.t}"` +
      `${physicalSize('X', mmX, width / output.width)}${physicalSize('Y', mmY, height / output.height)}${physicalSize('Z', mmZ)}${increment}>${channels.join('')}${planes.join('')}` +
      '</Pixels></Image>',
  );
}

/** The attribute for a color in OME-XML: red, green, blue and alpha in a signed number of 32 bits. */
function omeColor(color: string): string {
  const match = /^#([0-9a-f]{6})$/i.exec(color);
  return match ? ` Color="${(Number.parseInt(`${match[1]}ff`, 16) | 0).toString()}"` : '';
}
