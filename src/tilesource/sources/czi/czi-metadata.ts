import { attribute, children, childText, parseXml, type XmlElement } from '../../xml.js';

/** Metadata of the image from the XML of a file. */
export interface CziMetadata {
  /** Millimeters per pixel. */
  mmX: number | null;
  mmY: number | null;
  /** Millimeters from one plane to the next. */
  mmZ: number | null;
  /** Seconds from one point in time to the next. */
  secondsT: number | null;
  magnification: number | null;
  /** Number of bits per sample that the camera uses. If channels differ, the largest number. */
  usedBits: number | null;
  /** `number` is the channel's value on axis C. A channel without a number in the XML gets its index. */
  channels: { number: number; name: string | null; color: string | null }[];
  /** Numbers and names of the scenes. */
  scenes: { number: number; name: string | undefined }[];
  /** Properties by the names that OpenSlide gives them. */
  properties: Record<string, string>;
}

/** Parts of the metadata that are shown. The other parts are long descriptions of the experiment. */
const shownSections = ['AttachmentInfos', 'DisplaySetting', 'Information', 'Scaling'];
const maxProperties = 4000;
const maxValueLength = 1024;

function parsePositive(text: string | undefined): number | null {
  const value = Number(text ?? Number.NaN);
  return Number.isFinite(value) && value > 0 ? value : null;
}

/**
 * The descendant of an element along a path of names. Of several children with the same name, the first one is used. If a child is
 * missing, the result is an empty element.
 */
function descendantAt(element: XmlElement, ...path: string[]): XmlElement {
  return path.reduce((current, name) => children(current, name)[0] ?? {}, element);
}

/** The key of an element. Members of a list are named by their id, so that keys differ: `Objectives.Objective:1`. */
function keyOf(name: string, element: XmlElement, parent: string): string {
  const isListMember = parent === `${name}s` || parent === 'Items';
  return isListMember ? (attribute(element, 'Id') ?? attribute(element, 'Name') ?? name) : name;
}

function isElement(value: unknown): value is XmlElement {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function addProperties(properties: Map<string, string>, element: XmlElement, path: string, name: string): void {
  const add = (key: string, value: string): void => {
    const text = value.trim();
    if (text !== '' && properties.size < maxProperties && !properties.has(key))
      properties.set(key, text.slice(0, maxValueLength));
  };
  for (const [key, value] of Object.entries(element)) {
    if (key === '#text') {
      if (typeof value === 'string') add(path, value);
    } else if (key.startsWith('@')) {
      if (typeof value === 'string') add(`${path}.${key.slice(1)}`, value);
    } else {
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (typeof child === 'string') add(`${path}.${key}`, child);
        else if (isElement(child)) addProperties(properties, child, `${path}.${keyOf(key, child, name)}`, key);
      }
    }
  }
}

/** Writes a number without the rounding errors of binary fractions. */
function formatNumber(value: number): string {
  return String(Number(value.toPrecision(12)));
}

function readMagnification(information: XmlElement): number | null {
  const objectiveId = attribute(descendantAt(information, 'Image', 'ObjectiveSettings', 'ObjectiveRef'), 'Id');
  const objectives = children(descendantAt(information, 'Instrument', 'Objectives'), 'Objective');
  const usedObjective = objectives.find((objective) => attribute(objective, 'Id') === objectiveId) ?? objectives[0];
  return usedObjective === undefined ? null : parsePositive(childText(usedObjective, 'NominalMagnification'));
}

/** Converts a color `#AARRGGBB` or `#RRGGBB` to `#rrggbb`. */
function readColor(text: string | undefined): string | null {
  const digits = /^#(?:[\da-f]{2})?([\da-f]{6})$/i.exec(text?.trim() ?? '')?.[1];
  return digits === undefined ? null : `#${digits.toLowerCase()}`;
}

function readChannels(metadata: XmlElement): CziMetadata['channels'] {
  const acquiredChannels = children(descendantAt(metadata, 'Information', 'Image', 'Dimensions', 'Channels'), 'Channel');
  const displayedChannels = children(descendantAt(metadata, 'DisplaySetting', 'Channels'), 'Channel');
  const displayedById = new Map(displayedChannels.toReversed().map((channel) => [attribute(channel, 'Id'), channel]));
  return acquiredChannels.map((channel, index) => {
    const id = attribute(channel, 'Id');
    const displayedChannel = displayedById.get(id) ?? displayedChannels[index] ?? {};
    const name = attribute(channel, 'Name') ?? attribute(displayedChannel, 'Name');
    const number = /^Channel:(\d+)$/.exec(id ?? '')?.[1];
    return {
      number: number === undefined ? index : Number(number),
      name: name === undefined || name.trim() === '' ? null : name.trim(),
      color: readColor(childText(displayedChannel, 'Color') ?? childText(channel, 'Color')),
    };
  });
}

function readScenes(metadata: XmlElement): CziMetadata['scenes'] {
  const scenes = children(descendantAt(metadata, 'Information', 'Image', 'Dimensions', 'S', 'Scenes'), 'Scene');
  return scenes.map((scene, index) => ({ number: Number(attribute(scene, 'Index') ?? index), name: attribute(scene, 'Name') }));
}

function readUsedBits(metadata: XmlElement): number | null {
  const image = descendantAt(metadata, 'Information', 'Image');
  const channels = children(descendantAt(image, 'Dimensions', 'Channels'), 'Channel');
  const counts = [...channels, image].map((element) => parsePositive(childText(element, 'ComponentBitCount')));
  const knownCounts = counts.filter((count) => count !== null);
  return knownCounts.length === 0 ? null : Math.max(...knownCounts);
}

/** Reads the metadata from XML. @throws TileSourceError if it is not well formed. */
export function readCziMetadata(xml: string): CziMetadata {
  const metadata = descendantAt(parseXml(xml, 'this CZI'), 'ImageDocument', 'Metadata');
  const distances = children(descendantAt(metadata, 'Scaling', 'Items'), 'Distance');
  const readMeters = (axis: string): number | null => {
    const distance = distances.find((each) => attribute(each, 'Id') === axis);
    return distance === undefined ? null : parsePositive(childText(distance, 'Value'));
  };
  const [metersX, metersY, metersZ] = [readMeters('X'), readMeters('Y'), readMeters('Z')];
  const interval = descendantAt(metadata, 'Information', 'Image', 'Dimensions', 'T', 'Positions', 'Interval');
  const magnification = readMagnification(descendantAt(metadata, 'Information'));
  const properties = new Map<string, string>([['openslide.vendor', 'zeiss']]);
  if (metersX !== null) properties.set('openslide.mpp-x', formatNumber(metersX * 1e6));
  if (metersY !== null) properties.set('openslide.mpp-y', formatNumber(metersY * 1e6));
  if (magnification !== null) properties.set('openslide.objective-power', formatNumber(magnification));
  for (const section of shownSections) addProperties(properties, descendantAt(metadata, section), `zeiss.${section}`, section);
  const barcode = [...properties].find(([key]) => /^zeiss\.AttachmentInfos\..*\.Barcodes\.[^.]*\.Content$/.test(key))?.[1];
  if (barcode !== undefined) properties.set('openslide.barcode', barcode);
  return {
    mmX: metersX === null ? null : metersX * 1000,
    mmY: metersY === null ? null : metersY * 1000,
    mmZ: metersZ === null ? null : metersZ * 1000,
    secondsT: parsePositive(childText(interval, 'Increment')),
    magnification,
    usedBits: readUsedBits(metadata),
    channels: readChannels(metadata),
    scenes: readScenes(metadata),
    properties: Object.fromEntries([...properties].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
