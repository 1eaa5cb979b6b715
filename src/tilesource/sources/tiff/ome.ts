import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata } from '../../tile-source.js';
import { positionNames } from '../../position-names.js';
import { attribute, children, parseXml, toPlainObject, type XmlElement } from '../../xml.js';

/** One plane of an OME image. */
interface OmePlane {
  /** Index of the main directory with the plane; `null` if the file does not contain it, so that the plane is empty. */
  directoryIndex: number | null;
  metadata: FrameMetadata;
}

/** Data of a file from its OME-XML. */
export interface OmeDescription {
  sizeX: number;
  sizeY: number;
  /** The planes of one image after the other. The planes of an image are in the order of its axes (DimensionOrder). */
  planes: OmePlane[];
  channels: string[] | null;
  /** Millimeters per pixel along x. */
  mmX: number | null;
  /** Millimeters per pixel along y. */
  mmY: number | null;
  /** Millimeters from one plane to the next. */
  mmZ: number | null;
  /** Seconds from one point in time to the next. */
  secondsT: number | null;
  magnification: number | null;
  /** Number of bits that the samples really use; `null` if the document does not say. */
  significantBits: number | null;
  /** Messages about planes and images that the document describes, but that are not read. */
  notes: string[];
  /** Main directories of images that are named label, macro, overview or thumbnail. */
  associated: Map<string, number>;
  /** The content of the document, for internal metadata: `Image[0].Pixels.SizeX` and so on. */
  info: Record<string, unknown>;
}

const maxPlanes = 100_000;

/** Millimeters in the length units of OME-XML; the default unit is the micrometer. */
const mmByUnit: Readonly<Record<string, number>> = {
  pm: 1e-9,
  Å: 1e-7,
  nm: 1e-6,
  µm: 1e-3,
  μm: 1e-3,
  um: 1e-3,
  mm: 1,
  cm: 10,
  m: 1000,
  in: 25.4,
};

function integerAttribute(element: XmlElement, name: string, fallback: number): number {
  const text = attribute(element, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new TileSourceError(`The OME-XML has ${name}="${text}", not a whole number.`);
  return value;
}

function lengthInMm(pixels: XmlElement, name: string): number | null {
  const value = Number(attribute(pixels, name) ?? Number.NaN);
  const factor = mmByUnit[attribute(pixels, `${name}Unit`) ?? 'µm'];
  return Number.isFinite(value) && value > 0 && factor !== undefined ? value * factor : null;
}

const secondsByUnit: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, min: 60, h: 3600, d: 86_400 };

function durationInSeconds(pixels: XmlElement, name: string): number | null {
  const value = Number(attribute(pixels, name) ?? Number.NaN);
  const factor = secondsByUnit[attribute(pixels, `${name}Unit`) ?? 's'];
  return Number.isFinite(value) && value > 0 && factor !== undefined ? value * factor : null;
}

/** The color of a channel as `#rrggbb`. The document contains it as a signed number with the bytes red, green, blue and alpha. */
function colorOf(channel: XmlElement): string | undefined {
  const text = attribute(channel, 'Color');
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  if (!Number.isInteger(value) || value < -(2 ** 31) || value >= 2 ** 32) return undefined;
  return `#${(value >>> 8).toString(16).padStart(6, '0')}`;
}

interface Axes {
  /** The axes in the order in which they vary, the fastest first. */
  order: readonly ('C' | 'Z' | 'T')[];
  sizes: Readonly<Record<'C' | 'Z' | 'T', number>>;
  planeCount: number;
}

function axesOf(pixels: XmlElement): Axes {
  const order = attribute(pixels, 'DimensionOrder') ?? 'XYCZT';
  if (!/^XY(?:CZT|CTZ|ZCT|ZTC|TCZ|TZC)$/.test(order))
    throw new TileSourceError(`The OME-XML has DimensionOrder="${order}", which is not a valid order.`);
  const sizeC = integerAttribute(pixels, 'SizeC', 1);
  // Samples of a pixel count as channels in SizeC, but are in one plane.
  const channels = children(pixels, 'Channel');
  const samplesPerPlane = channels.length > 0 ? integerAttribute(channels[0] ?? {}, 'SamplesPerPixel', 1) : 1;
  const sizes = {
    C: samplesPerPlane > 1 ? Math.max(1, Math.ceil(sizeC / samplesPerPlane)) : sizeC,
    Z: integerAttribute(pixels, 'SizeZ', 1),
    T: integerAttribute(pixels, 'SizeT', 1),
  };
  const planeCount = sizes.C * sizes.Z * sizes.T;
  if (planeCount < 1 || planeCount > maxPlanes) {
    throw new TileSourceError(`The OME-XML describes ${planeCount} planes; 1 to ${maxPlanes} are supported.`);
  }
  return {
    order: order
      .slice(2)
      .split('')
      .filter((axis) => axis === 'C' || axis === 'Z' || axis === 'T'),
    sizes,
    planeCount,
  };
}

function planeIndex(axes: Axes, position: Readonly<Record<'C' | 'Z' | 'T', number>>): number {
  let index = 0;
  let stride = 1;
  for (const axis of axes.order) {
    index += position[axis] * stride;
    stride *= axes.sizes[axis];
  }
  return index;
}

function positionOf(axes: Axes, index: number): { C: number; Z: number; T: number } {
  const position = { C: 0, Z: 0, T: 0 };
  let remainder = index;
  for (const axis of axes.order) {
    position[axis] = remainder % axes.sizes[axis];
    remainder = Math.floor(remainder / axes.sizes[axis]);
  }
  return position;
}

/** Where a plane is: its directory in this file or, if `isElsewhere`, in another file. */
interface PlanePlacement {
  directoryIndex: number;
  isElsewhere: boolean;
  /** The element `TiffData` of the plane, for the frame's metadata. */
  extra: Record<string, unknown>;
}

/**
 * The directory of each plane according to the `TiffData` elements. `budget.planes` is the number of planes that the
 * elements may still place. The number is limited, because elements may place the same planes repeatedly.
 */
function placementsOf(
  pixels: XmlElement,
  axes: Axes,
  files: PlaneFiles,
  budget = { planes: maxPlanes },
): (PlanePlacement | undefined)[] {
  const placements: (PlanePlacement | undefined)[] = Array.from({ length: axes.planeCount });
  const tiffDataElements = children(pixels, 'TiffData');
  // A TiffData element without attributes, or no such element, means all planes, from the first directory on.
  for (const tiffData of tiffDataElements.length > 0 ? tiffDataElements : [{}]) {
    const firstDirectory = integerAttribute(tiffData, 'IFD', 0);
    const hasIfd = attribute(tiffData, 'IFD') !== undefined;
    const start = {
      C: integerAttribute(tiffData, 'FirstC', 0),
      Z: integerAttribute(tiffData, 'FirstZ', 0),
      T: integerAttribute(tiffData, 'FirstT', 0),
    };
    if (start.C >= axes.sizes.C || start.Z >= axes.sizes.Z || start.T >= axes.sizes.T) continue;
    const firstPlane = planeIndex(axes, start);
    const count = Math.min(integerAttribute(tiffData, 'PlaneCount', hasIfd ? 1 : axes.planeCount), axes.planeCount - firstPlane);
    budget.planes -= Math.max(0, count);
    if (budget.planes < 0)
      throw new TileSourceError(`The OME-XML places more than ${maxPlanes} planes, some of them repeatedly.`);
    const [uuid] = children(tiffData, 'UUID');
    for (let i = 0; i < count; i++) {
      const extra: Record<string, unknown> = { IFD: String(firstDirectory + i) };
      const countText = attribute(tiffData, 'PlaneCount');
      if (countText !== undefined) extra.PlaneCount = countText;
      if (uuid !== undefined) extra.UUID = { FileName: attribute(uuid, 'FileName'), text: uuid['#text'] };
      placements[firstPlane + i] = { directoryIndex: firstDirectory + i, isElsewhere: files.isInOtherFile(uuid), extra };
    }
  }
  return placements;
}

/** Tells planes in this file from planes in other files. */
interface PlaneFiles {
  /** @param uuid the element that names a plane's file. */
  isInOtherFile(uuid: XmlElement | undefined): boolean;
  otherFileNames: string[];
}

/** @throws TileSourceError if the document does not tell which of several files is this file. */
function planeFilesOf(ome: XmlElement, images: readonly XmlElement[]): PlaneFiles {
  const ownUuid = attribute(ome, 'UUID')?.trim();
  const fileNameByUuid = new Map<string, string>();
  for (const image of images) {
    for (const tiffData of children(image, 'Pixels').flatMap((pixels) => children(pixels, 'TiffData'))) {
      for (const uuid of children(tiffData, 'UUID')) {
        const text = uuid['#text'];
        if (typeof text === 'string') fileNameByUuid.set(text.trim(), attribute(uuid, 'FileName') ?? text.trim());
      }
    }
  }
  const otherFiles = [...fileNameByUuid].filter(([uuid]) => uuid !== ownUuid);
  if (ownUuid === undefined ? fileNameByUuid.size > 1 : otherFiles.length > 0 && otherFiles.length === fileNameByUuid.size)
    throw new TileSourceError(`The planes of the OME-XML are in other files: ${joinNames(otherFiles.map(([, name]) => name))}.`);
  const otherUuids = new Set(ownUuid === undefined ? [] : otherFiles.map(([uuid]) => uuid));
  return {
    isInOtherFile: (uuid) => typeof uuid?.['#text'] === 'string' && otherUuids.has(uuid['#text'].trim()),
    otherFileNames: ownUuid === undefined ? [] : otherFiles.map(([, name]) => name),
  };
}

/** Maximum number of files that a message names. */
const maxNamedFiles = 10;

function joinNames(names: readonly string[]): string {
  const moreText = names.length > maxNamedFiles ? ` and ${names.length - maxNamedFiles} more` : '';
  return `${names
    .slice(0, maxNamedFiles)
    .map((name) => name.slice(0, 256))
    .join(', ')}${moreText}`;
}

function magnificationOf(ome: XmlElement, image: XmlElement): number | null {
  const objectiveId = children(image, 'ObjectiveSettings').map((settings) => attribute(settings, 'ID'))[0];
  for (const objective of children(ome, 'Instrument').flatMap((instrument) => children(instrument, 'Objective'))) {
    if (objectiveId !== undefined && attribute(objective, 'ID') !== objectiveId) continue;
    const value = Number(attribute(objective, 'NominalMagnification') ?? attribute(objective, 'CalibratedMagnification'));
    if (Number.isFinite(value) && value > 0) return value;
  }
  return null;
}

const associatedNamePattern = /\b(label|macro|overview|thumbnail)\b/i;

/** Children that are always lists in the metadata. */
const listElements: ReadonlySet<string> = new Set(['Image', 'Channel', 'TiffData', 'Plane']);

/** Whether an image description is OME-XML. */
export function isOme(description: string): boolean {
  return /<(?:\w+:)?OME\b/.test(description.slice(0, 8192)) && description.trimEnd().endsWith('>');
}

/** An upper limit for the number of planes in OME-XML, which is found without parsing the XML. */
export function maxPlaneCount(description: string): number {
  const sizes: Record<string, number> = {};
  for (const [, axis, text] of description.matchAll(/\bSize([ZCT])\s*=\s*["']([^"']*)/g)) {
    const size = Number(text);
    // A character reference, such as &#49;, can be any number.
    sizes[axis!] = Math.max(sizes[axis!] ?? 1, Number.isNaN(size) ? Infinity : size);
  }
  const images = description.match(/Pixels\b/g)?.length ?? 0;
  return Object.values(sizes).reduce((product, size) => product * size, images);
}

/** An image of the document, with the element that describes its pixels. */
interface OmeImage {
  image: XmlElement;
  pixels: XmlElement;
}

function largestOf(omeImages: readonly OmeImage[]): OmeImage {
  const area = ({ pixels }: OmeImage): number => integerAttribute(pixels, 'SizeX', 0) * integerAttribute(pixels, 'SizeY', 0);
  let largest = omeImages[0];
  for (const candidate of omeImages) if (largest === undefined || area(candidate) > area(largest)) largest = candidate;
  if (largest === undefined) throw new TileSourceError('The OME-XML of this TIFF describes no image.');
  return largest;
}

/** The planes of images of the same size. With several images, each is a position along the axis XY. */
function planesOf(
  sameSizeImages: readonly OmeImage[],
  channelNames: readonly (string | undefined)[] | null,
  files: PlaneFiles,
): OmePlane[] {
  const planes: OmePlane[] = [];
  const budget = { planes: maxPlanes };
  const namesOfPositions =
    sameSizeImages.length > 1 ? positionNames(sameSizeImages.map(({ image }) => attribute(image, 'Name'))) : [];
  for (const [position, each] of sameSizeImages.entries()) {
    const axes = axesOf(each.pixels);
    const colors = children(each.pixels, 'Channel').map(colorOf);
    if (planes.length + axes.planeCount > maxPlanes)
      throw new TileSourceError(`The OME-XML describes more than ${maxPlanes} planes.`);
    const placements = placementsOf(each.pixels, axes, files, budget);
    for (const [index, placement] of placements.entries()) {
      if (placement?.isElsewhere === true) continue;
      const planePosition = positionOf(axes, index);
      const channel = channelNames?.[planePosition.C];
      const color = colors[planePosition.C];
      planes.push({
        directoryIndex: placement?.directoryIndex ?? null,
        metadata: {
          axes: { ...planePosition, ...(sameSizeImages.length > 1 ? { XY: position } : {}) },
          ...(channel === undefined ? {} : { channel }),
          ...(color === undefined ? {} : { color }),
          ...(namesOfPositions[position] === undefined ? {} : { position: namesOfPositions[position] }),
          ...(placement === undefined ? {} : { extra: placement.extra }),
        },
      });
    }
  }
  return planes;
}

function nameOf({ image }: OmeImage): string {
  return attribute(image, 'Name') ?? attribute(image, 'ID') ?? 'unnamed';
}

/** The directories of associated images, by the names of the images. */
function associatedOf(images: readonly OmeImage[], files: PlaneFiles): Map<string, number> {
  const associated = new Map<string, number>();
  for (const each of images) {
    const name = associatedNamePattern.exec(nameOf(each))?.[1]?.toLowerCase();
    if (name === undefined || associated.has(name)) continue;
    // Only the first plane is shown.
    const [placement] = placementsOf(each.pixels, { ...axesOf(each.pixels), planeCount: 1 }, files);
    if (placement?.isElsewhere === false) associated.set(name, placement.directoryIndex);
  }
  return associated;
}

/**
 * Reads OME-XML: the directory of each plane of the largest image, and its physical size. Further images of the same size count as positions
 * (axis XY).
 *
 * @throws TileSourceError if the XML is not well formed, contradicts itself, or is not about this file.
 */
export function readOme(description: string): OmeDescription {
  const document = parseXml(description);
  const [ome] = children(document, 'OME');
  const images = ome === undefined ? [] : children(ome, 'Image');
  const omeImages = images.flatMap((image) =>
    children(image, 'Pixels')
      .slice(0, 1)
      .map((pixels) => ({ image, pixels })),
  );
  const [companion] = ome === undefined ? [] : children(ome, 'BinaryOnly');
  if (companion !== undefined) {
    const name = attribute(companion, 'MetadataFile') ?? 'a companion that it does not name';
    throw new TileSourceError(`The OME-XML is in another file, ${name.slice(0, 256)}, which is not read.`);
  }
  if (ome === undefined || omeImages.length === 0) throw new TileSourceError('The OME-XML of this TIFF describes no image.');
  const files = planeFilesOf(ome, images);
  const { image, pixels } = largestOf(omeImages);
  const sizeX = integerAttribute(pixels, 'SizeX', 0);
  const sizeY = integerAttribute(pixels, 'SizeY', 0);
  const channels = children(pixels, 'Channel').map((channel) => attribute(channel, 'Name'));
  const channelNames = channels.every((name) => name !== undefined && name !== '') && channels.length > 0 ? channels : null;

  const hasMainSize = (each: OmeImage) =>
    integerAttribute(each.pixels, 'SizeX', 0) === sizeX && integerAttribute(each.pixels, 'SizeY', 0) === sizeY;
  const planes = planesOf(omeImages.filter(hasMainSize), channelNames, files);
  const otherImages = omeImages.filter((each) => !hasMainSize(each));
  const unreadImages = otherImages.filter((each) => !associatedNamePattern.test(nameOf(each)));
  return {
    sizeX,
    sizeY,
    planes,
    channels: channelNames === null ? null : channelNames.filter((name) => name !== undefined),
    mmX: lengthInMm(pixels, 'PhysicalSizeX'),
    mmY: lengthInMm(pixels, 'PhysicalSizeY'),
    mmZ: lengthInMm(pixels, 'PhysicalSizeZ'),
    secondsT: durationInSeconds(pixels, 'TimeIncrement'),
    magnification: magnificationOf(ome, image),
    significantBits: integerAttribute(pixels, 'SignificantBits', 0) || null,
    notes: [
      ...(files.otherFileNames.length > 0
        ? [`Planes are in other files, which are not read: ${joinNames(files.otherFileNames)}.`]
        : []),
      ...(unreadImages.length > 0 ? [`Images of other sizes are not read: ${joinNames(unreadImages.map(nameOf))}.`] : []),
    ],
    associated: associatedOf(otherImages, files),
    info: toPlainObject(ome, listElements),
  };
}
