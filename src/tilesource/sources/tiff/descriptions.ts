import { TileSourceError } from '../../../errors.js';
import type { FrameMetadata } from '../../tile-source.js';
import type { Directory } from './file/directory.js';
import { tags } from './file/tags.js';
import { childText, children, parseXml, type XmlElement } from '../../xml.js';

/** Data of an image from a description in a known format. */
export interface DescribedImage {
  magnification: number | null;
  mmX: number | null;
  mmY: number | null;
  channels: string[] | null;
  /** Millimeters from one plane to the next. */
  mmZ?: number | null;
  /** Seconds from one point in time to the next. */
  secondsT?: number | null;
}

function positiveNumber(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : null;
}

/** First line of an Aperio description, e.g. `Aperio Image Library v11.2.1`, or `null` for other files. */
export function aperioVersion(description: string): string | null {
  return description.startsWith('Aperio') ? (description.split(/[\r\n|]/, 1)[0] ?? '').trim() : null;
}

/** Keys and values of an Aperio description, at most a thousand. */
function aperioValues(description: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const part of description.split('|').slice(1, maxProperties)) {
    const equals = part.indexOf('=');
    if (equals > 0) values.set(part.slice(0, equals).trim(), part.slice(equals + 1).trim());
  }
  return values;
}

const maxProperties = 1000;
const maxValueLength = 1024;

/** Properties of the scan by the names that OpenSlide uses, such as `aperio.MPP`. Empty for scanners other than Aperio and Philips. */
export function vendorProperties(description: string, { magnification, mmX, mmY }: DescribedImage): Record<string, string> {
  const formatNumber = (value: number) => String(Number(value.toPrecision(12)));
  const commonProperties: [string, string][] = [];
  if (mmX !== null) commonProperties.push(['openslide.mpp-x', formatNumber(mmX * 1000)]);
  if (mmY !== null) commonProperties.push(['openslide.mpp-y', formatNumber(mmY * 1000)]);
  if (magnification !== null) commonProperties.push(['openslide.objective-power', formatNumber(magnification)]);
  if (aperioVersion(description) !== null) {
    const aperioProperties = [...aperioValues(description)].map(([key, value]): [string, string] => [
      `aperio.${key}`,
      value.slice(0, maxValueLength),
    ]);
    return Object.fromEntries([['openslide.vendor', 'aperio'], ...commonProperties, ...aperioProperties]);
  }
  if (description.slice(0, 4096).includes('DPUfsImport'))
    return Object.fromEntries([['openslide.vendor', 'philips'], ...commonProperties]);
  return {};
}

/** `AppMag` and `MPP` (micrometers per pixel) of an Aperio description. */
function readAperio(description: string): DescribedImage {
  const values = aperioValues(description);
  const micrometers = positiveNumber(values.get('MPP'));
  const mm = micrometers === null ? null : micrometers / 1000;
  return { magnification: positiveNumber(values.get('AppMag')), mmX: mm, mmY: mm, channels: null };
}

/** Parses any JSON object; `null` for everything else. */
function parseJsonObject(text: string): Readonly<Record<string, unknown>> | null {
  if (!text.trimStart().startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null; // a description that merely starts like JSON
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/** The `frame` member that the converter of large_image writes into each frame's description, as frame metadata. */
export function readConverterFrame(description: string): FrameMetadata | null {
  const frame = parseJsonObject(description)?.frame;
  if (typeof frame !== 'object' || frame === null) return null;
  const axes: Record<string, number> = {};
  const extra: Record<string, unknown> = {};
  let channel: string | undefined;
  let position: string | undefined;
  for (const [key, value] of Object.entries(membersOf(frame))) {
    if (key === 'Frame' || key === 'Index') continue;
    if (/^Index[A-Z]\w*$/.test(key) && Number.isSafeInteger(value) && Number(value) >= 0) axes[key.slice(5)] = Number(value);
    else if (key === 'Channel' && typeof value === 'string') channel = value;
    else if (key === 'Position' && typeof value === 'string') position = value;
    else extra[key] = value;
  }
  return {
    axes,
    ...(channel === undefined ? {} : { channel }),
    ...(position === undefined ? {} : { position }),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

function readConverter(description: string): DescribedImage | null {
  const json = parseJsonObject(description);
  if (json === null || !('large_image_converter' in json || 'channels' in json)) return null;
  const metadata = membersOf(json.metadata);
  const channels = Array.isArray(json.channels) ? json.channels.filter((name): name is string => typeof name === 'string') : [];
  return {
    magnification: positiveNumber(metadata.magnification),
    mmX: positiveNumber(metadata.mm_x),
    mmY: positiveNumber(metadata.mm_y),
    channels: channels.length > 0 ? channels : null,
  };
}

/** Pixel spacing of the whole image in the XML of Philips scanners: two quoted numbers of millimeters, row spacing first. */
function readPhilips(description: string): DescribedImage {
  const start = description.search(/DICOM_PIXEL_SPACING(?:"|&quot;)/);
  const text = start < 0 ? '' : description.slice(start, start + 1000).replaceAll('&quot;', '"');
  const [pair = ''] = text.slice(text.indexOf('>') + 1).split('<', 1);
  const [rows, columns] = pair.replaceAll('"', ' ').trim().split(/\s+/);
  return { magnification: null, mmX: positiveNumber(columns), mmY: positiveNumber(rows), channels: null };
}

/** Maximum number of characters of XML that are parsed on the event loop. Parsing them takes some milliseconds. */
const maxXmlLength = 32_768;

/** The description that was parsed last, because several functions read the same description. */
let lastPerkinElmer: { description: string; element: XmlElement | null } | null = null;

/**
 * Parses a PerkinElmer (QPTIFF) description without the profile of the scan; `null` for other descriptions.
 *
 * @throws TileSourceError if the XML is not well formed, or is too long even without the profile.
 */
export function parsePerkinElmer(description: string): XmlElement | null {
  if (!description.slice(0, 4096).includes('<PerkinElmer-QPI-ImageDescription')) return null;
  if (lastPerkinElmer?.description === description) return lastPerkinElmer.element;
  const xml = withoutScanProfile(description);
  if (xml.length > maxXmlLength) {
    throw new TileSourceError(`The XML in this TIFF has ${xml.length} characters; at most ${maxXmlLength} are supported.`);
  }
  const element = children(parseXml(xml), 'PerkinElmer-QPI-ImageDescription')[0] ?? null;
  lastPerkinElmer = { description, element };
  return element;
}

/** The description without the profile of the scan, which is the longest part and is not needed. */
function withoutScanProfile(description: string): string {
  const [tag, endTag] = ['<ScanProfile>', '</ScanProfile>'];
  const [start, end] = [description.indexOf(tag), description.lastIndexOf(endTag)];
  return start < 0 || end < start ? description : description.slice(0, start) + description.slice(end + endTag.length);
}

function readPerkinElmer(element: XmlElement): DescribedImage {
  return {
    magnification: positiveNumber(/^\s*([\d.]+)\s*x/i.exec(childText(element, 'Objective') ?? '')?.[1]),
    mmX: null,
    mmY: null,
    channels: null,
  };
}

/** Reads magnification, pixel size and channels from a description. Data that the description does not contain are `null`. */
export function readDescription(description: string): DescribedImage {
  if (aperioVersion(description) !== null) return readAperio(description);
  if (description.slice(0, 4096).includes('DPUfsImport')) return readPhilips(description);
  const qpi = parsePerkinElmer(description);
  if (qpi !== null) return readPerkinElmer(qpi);
  return readConverter(description) ?? { magnification: null, mmX: null, mmY: null, channels: null };
}

/** Axes of the pages of an ImageJ stack: channels vary fastest, then slices, then time. `null` if the counts do not match the pages. */
export function imageJFrames(description: string, pageCount: number): FrameMetadata[] | null {
  if (!description.startsWith('ImageJ=')) return null;
  const lines = description.split(/[\r\n]/);
  const countOf = (name: string): number => {
    const text =
      lines
        .find((line) => line.startsWith(`${name}=`))
        ?.slice(name.length + 1)
        .trimEnd() ?? '';
    return /^\d{1,15}$/.test(text) && Number(text) > 0 ? Number(text) : 1;
  };
  const sizes = { C: countOf('channels'), Z: countOf('slices'), T: countOf('frames') };
  if (sizes.C * sizes.Z * sizes.T !== pageCount) return null;
  return Array.from({ length: pageCount }, (_, page) => {
    const axes: Record<string, number> = {};
    let remainder = page;
    for (const axis of ['C', 'Z', 'T'] as const) {
      if (sizes[axis] > 1) axes[axis] = remainder % sizes[axis];
      remainder = Math.floor(remainder / sizes[axis]);
    }
    return { axes };
  });
}

/**
 * Minimum resolution, in pixels per inch or centimeter. Lower resolutions come from print programs (72 or 96 dpi), not from
 * microscopes.
 */
export const minResolution = 100;

/** Millimeters per pixel from the resolution tags; `null` without a unit, and for resolutions of screens and printers. */
export async function readPixelSize(directory: Directory): Promise<{ mmX: number | null; mmY: number | null }> {
  const mmPerUnit = { 2: 25.4, 3: 10 }[await directory.number(tags.resolutionUnit, 1)];
  const x = (await directory.rationals(tags.xResolution))?.[0] ?? Number.NaN;
  const y = (await directory.rationals(tags.yResolution))?.[0] ?? Number.NaN;
  const isPlausible = Number.isFinite(x) && Number.isFinite(y) && x >= minResolution && y >= minResolution;
  if (mmPerUnit === undefined || !isPlausible) return { mmX: null, mmY: null };
  return { mmX: mmPerUnit / x, mmY: mmPerUnit / y };
}

/**
 * Name of the associated image in an untiled directory; `null` if the directory contains no associated image.
 *
 * @param isDirectlyAfterMain whether the directory is the next one after the main image. In Aperio files, it then contains the
 * thumbnail.
 */
export function associatedName(description: string, isDirectlyAfterMain: boolean): string | null {
  if (aperioVersion(description) !== null) {
    const [, ...lines] = description.split(/[\r\n]/);
    const words = lines.map((line) => /^(label|macro)\b/i.exec(line.trimStart())?.[1]?.toLowerCase());
    return words.find((word) => word !== undefined) ?? (isDirectlyAfterMain ? 'thumbnail' : null);
  }
  const qpi = description.includes('<PerkinElmer-QPI') ? parsePerkinElmer(description) : null;
  if (qpi !== null) {
    const type = childText(qpi, 'ImageType')?.toLowerCase();
    if (type === 'overview') return 'macro';
    return type === 'label' || type === 'thumbnail' ? type : null;
  }
  const word = /^\s*(label|macro|thumbnail|overview)\b/i.exec(description)?.[1]?.toLowerCase();
  if (word !== undefined) return word;
  // The description that the converter of large_image writes is just the name.
  return /^[A-Za-z][\w.-]{0,39}$/.test(description.trim()) ? description.trim() : null;
}
