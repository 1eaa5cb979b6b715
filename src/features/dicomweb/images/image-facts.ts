import type { ItemRecord } from '../../../core/host/records.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { LargeImageError } from '../../../errors.js';
import type { BorrowedImage, DicomJson, ImageMetadata, LossyCodec, StoredLevel } from '../../../tilesource/tile-source.js';
import type { SampleType } from '../../../tilesource/raster.js';
import type { Images } from '../../images/images.js';

/** Maximum number of planes of an image, and of files of a DICOM image. */
const maxPlanes = 4000;
const maxDicomFiles = 1000;

/** The properties of an image that its instances depend on. They are stored, so that searches open no image. */
export interface ImageFacts {
  sizeX: number;
  sizeY: number;
  tileWidth: number;
  tileHeight: number;
  levels: number;
  mmX: number | null;
  mmY: number | null;
  magnification: number | null;
  dtype: SampleType;
  sampleBits: number | null;
  bandCount: number;
  indexed: boolean;
  /** Names and colors of the channels. An image without channels has one channel with an empty name. */
  channels: { name: string; color: string | null }[];
  /** Positions along all axes other than channels. `frames` lists the frame of each channel. */
  positions: { label: string; frames: number[] }[];
  /** How the tiles of each level are stored, from the coarsest; `null` if they cannot be sent as stored. */
  stored: (Pick<StoredLevel, 'encoding' | 'colors'> | null)[];
  /** Compression ratio of each level, from the coarsest; 1 if its tiles cannot be sent as stored. */
  ratios: number[];
  /** The lossy codec of the samples in the file; `null` if there is none. */
  lossy: LossyCodec | null;
  associated: { name: string; width: number; height: number; bands: number; lossy: LossyCodec | null }[];
  hasProfile: boolean;
  /** DICOM attributes from properties of the file, by their keywords. */
  attributes: Record<string, string>;
}

/** The stored data of a DICOM image: for each file, the attributes that searches return. */
export interface DicomFacts {
  files: DicomJson[];
}

/** Why an image cannot be offered as DICOM. */
export interface RefusalReason {
  reason: string;
}

/** Tags of the attributes of a DICOM file that are stored for searches. */
const storedTags = new Set(
  (
    '00080005 00080008 00080016 00080018 00080020 00080021 00080023 0008002A 00080030 00080031 00080033 00080050 00080060 00080070 00080090 ' +
    '00081010 00081030 0008103E 00081090 00100010 00100020 00100030 00100040 0020000D 0020000E 00200010 00200011 00200013 00200052 ' +
    '00280002 00280004 00280008 00280010 00280011 00280100 00280101 00400512 00480006 00480007'
  ).split(' '),
);

/** Maximum number of tiles of a level whose lengths are read to estimate the compression ratio. */
const maxMeasuredTiles = 1024;

/**
 * Reads the properties of an image.
 *
 * @throws TileSourceError if the image cannot be opened.
 */
export async function readFacts(
  images: Images,
  item: ItemRecord,
  signal?: AbortSignal,
): Promise<ImageFacts | DicomFacts | RefusalReason> {
  return images.useOpened(
    item,
    async ({ borrowed, image }) => {
      if (borrowed.source.dicomFiles !== undefined) return readDicomFacts(borrowed, signal);
      const { metadata } = borrowed.source;
      const planes = planesOf(metadata);
      if (planes === null) return { reason: `It has more than ${maxPlanes} planes, or some of their channels are missing.` };
      if (Math.max(metadata.tileWidth, metadata.tileHeight) > 65_535)
        return { reason: 'Its tiles are wider or higher than 65535 pixels.' };
      const internal = await image.internalMetadata();
      return {
        sizeX: metadata.sizeX,
        sizeY: metadata.sizeY,
        tileWidth: metadata.tileWidth,
        tileHeight: metadata.tileHeight,
        levels: metadata.levels,
        mmX: metadata.mmX,
        mmY: metadata.mmY,
        magnification: metadata.magnification,
        dtype: metadata.dtype,
        sampleBits: metadata.sampleBits ?? null,
        bandCount: metadata.bandCount,
        indexed: metadata.indexed === true,
        ...planes,
        ...(await readStoredLevels(borrowed, planes.positions, signal)),
        lossy: (await borrowed.source.lossyCodec?.(signal)) ?? null,
        associated: await readAssociatedImages(borrowed, signal),
        hasProfile: borrowed.source.iccProfile?.(0) != null,
        attributes: attributesFromProperties(internal),
      };
    },
    signal,
  );
}

async function readDicomFacts({ source }: BorrowedImage, signal?: AbortSignal): Promise<DicomFacts | RefusalReason> {
  const files = source.dicomFiles ?? [];
  if (files.length > maxDicomFiles) return { reason: `It has more than ${maxDicomFiles} files.` };
  const datasets: DicomJson[] = [];
  for (const file of files) {
    const allAttributes = await file.json('', signal);
    const storedAttributes = Object.fromEntries(Object.entries(allAttributes).filter(([tag]) => storedTags.has(tag)));
    const [study, series, instance] = ['0020000D', '0020000E', '00080018'].map((tag) => storedAttributes[tag]?.Value?.[0]);
    if (!study || !series || !instance) return { reason: 'Its files lack the identifiers of study, series or instance.' };
    storedAttributes['00083002'] = { vr: 'UI', Value: [file.transferSyntax] };
    datasets.push(storedAttributes);
    if (isSliceOver()) await nextSlice(signal);
  }
  return { files: datasets };
}

/** Channels, and positions along the other axes; `null` if there are too many planes, or if a position lacks a channel. */
function planesOf({ frames = [], channels = [] }: ImageMetadata): Pick<ImageFacts, 'channels' | 'positions'> | null {
  if (frames.length <= 1)
    return { channels: [{ name: channels[0] ?? '', color: frames[0]?.color ?? null }], positions: [{ label: '', frames: [0] }] };
  if (frames.length > maxPlanes) return null;
  const positions = new Map<string, { label: string; frames: number[] }>();
  const channelList: { name: string; color: string | null }[] = [];
  for (const [frameIndex, { axes, channel, color, position }] of frames.entries()) {
    const { C: c = 0, ...axesWithoutChannel } = axes;
    const otherAxes = Object.entries(axesWithoutChannel).filter(([, value]) => value !== undefined);
    const key = otherAxes.map(([axis, value]) => `${axis}${value}`).join(' ');
    const label = otherAxes.map(([axis, value]) => (axis === 'XY' && position) || `${axis}${value}`).join(' ');
    const entry = positions.get(key) ?? { label, frames: [] };
    positions.set(key, entry);
    entry.frames[c] = frameIndex;
    channelList[c] ??= { name: channel ?? channels[c] ?? '', color: color ?? null };
  }
  const isComplete = [...positions.values()].every(
    (entry) => entry.frames.length === channelList.length && !entry.frames.includes(undefined as never),
  );
  if (!isComplete) return null;
  return { channels: channelList, positions: [...positions.values()] };
}

async function readStoredLevels(
  { source }: BorrowedImage,
  positions: ImageFacts['positions'],
  signal?: AbortSignal,
): Promise<Pick<ImageFacts, 'stored' | 'ratios'>> {
  const { levels, tileWidth, tileHeight, bandCount } = source.metadata;
  const stored: ImageFacts['stored'] = [];
  const ratios: number[] = [];
  for (let level = 0; level < levels; level++) {
    const storedLevel = source.populatedLevels.includes(level)
      ? await storedLevelOfAllPlanes(source, level, positions, signal)
      : null;
    stored.push(storedLevel && { encoding: storedLevel.encoding, colors: storedLevel.colors });
    ratios.push(storedLevel === null ? 1 : compressionRatio(storedLevel, tileWidth * tileHeight * bandCount));
  }
  return { stored, ratios };
}

/** A stored level, if all planes store it the same way; otherwise `null`. */
async function storedLevelOfAllPlanes(
  source: BorrowedImage['source'],
  level: number,
  positions: ImageFacts['positions'],
  signal?: AbortSignal,
): Promise<StoredLevel | null> {
  let firstPlaneLevel: StoredLevel | null = null;
  for (const frame of positions.flatMap(({ frames }) => frames)) {
    const planeLevel = (await source.storedLevel?.({ level, frame }, signal && { signal })) ?? null;
    firstPlaneLevel ??= planeLevel;
    if (planeLevel === null || planeLevel.encoding !== firstPlaneLevel?.encoding || planeLevel.colors !== firstPlaneLevel.colors)
      return null;
    if (isSliceOver()) await nextSlice(signal);
  }
  return firstPlaneLevel;
}

function compressionRatio(level: StoredLevel, tileBytes: number): number {
  let [bytes, tiles] = [0, 0];
  for (; tiles < maxMeasuredTiles; tiles++) {
    const length = level.lengthOf(tiles);
    if (!(length > 0)) break;
    bytes += length;
  }
  return bytes === 0 ? 1 : Math.max(1, Math.round((tiles * tileBytes * 100) / bytes) / 100);
}

async function readAssociatedImages({ source }: BorrowedImage, signal?: AbortSignal): Promise<ImageFacts['associated']> {
  const associated: ImageFacts['associated'] = [];
  for (const name of source.associatedImages ?? []) {
    const image = await source.readAssociatedImage?.(name, signal && { signal }).catch((error: unknown) => {
      // A corrupt label must not keep the slide from being shown.
      if (error instanceof LargeImageError && error.code === 'tile-source') return null;
      throw error;
    });
    const raster = image?.raster;
    if (raster === undefined || raster.dtype !== 'uint8' || Math.max(raster.width, raster.height) > 65_535) continue;
    const { width, height, bands } = raster;
    associated.push({ name, width, height, bands, lossy: image?.lossyCodec ?? null });
  }
  return associated;
}

/** For each attribute, the scanner properties from which it is read. The first property with a value is used. */
const propertiesByKeyword: Readonly<Record<string, readonly string[]>> = {
  DeviceSerialNumber: [
    'aperio.ScanScope ID',
    'hamamatsu.NDP.S/N',
    'mirax.GENERAL.SLIDE_SCANNER_ID',
    'philips.DICOM_DEVICE_SERIAL_NUMBER',
  ],
  ManufacturerModelName: ['hamamatsu.Product', 'philips.DICOM_MANUFACTURERS_MODEL_NAME', 'tiff.Model', 'leica.device-model'],
  Manufacturer: ['philips.DICOM_MANUFACTURER', 'tiff.Make'],
};

const manufacturerByVendor: Readonly<Record<string, string>> = {
  aperio: 'Aperio',
  hamamatsu: 'Hamamatsu',
  leica: 'Leica',
  mirax: '3DHISTECH',
  philips: 'Philips',
  sakura: 'Sakura',
  trestle: 'Trestle',
  ventana: 'Ventana',
  zeiss: 'Zeiss',
};

function attributesFromProperties(internal: Readonly<Record<string, unknown>>): Record<string, string> {
  const { openslide = {}, tiff = {} } = internal as { openslide?: Record<string, unknown>; tiff?: Record<string, unknown> };
  const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim().slice(0, 64) : '');
  const attributes: Record<string, string> = {};
  for (const [keyword, names] of Object.entries(propertiesByKeyword)) {
    const value = names.map((name) => textOf(openslide[name])).find((text) => text !== '');
    if (value !== undefined) attributes[keyword] = value;
  }
  const vendor = manufacturerByVendor[textOf(openslide['openslide.vendor'])];
  if (vendor !== undefined) attributes.Manufacturer ??= vendor;
  const acquisitionTime =
    aperioDateTime(textOf(openslide['aperio.Date']), textOf(openslide['aperio.Time'])) ?? tiffDateTime(textOf(tiff.datetime));
  if (acquisitionTime !== null) attributes.AcquisitionDateTime = acquisitionTime;
  return attributes;
}

/** A date of Aperio (12/29/09) and its time in the form of DICOM. */
function aperioDateTime(date: string, time: string): string | null {
  const parts = /^(\d\d)\/(\d\d)\/(\d{2}|\d{4})$/.exec(date);
  if (parts === null) return null;
  const [, month, day, year] = parts;
  const timeDigits = /^(\d\d):(\d\d):(\d\d)$/.exec(time)?.slice(1).join('') ?? '';
  return `${year!.length === 2 ? `20${year}` : year}${month}${day}${timeDigits}`;
}

/** A date of a TIFF (2009:12:29 09:59:15) in the form of DICOM. */
function tiffDateTime(text: string): string | null {
  const parts = /^(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)/.exec(text);
  return parts === null || parts[1] === '0000' ? null : parts.slice(1).join('');
}
