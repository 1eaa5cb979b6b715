import { BadValueError } from '../../../errors.js';
import type { ItemRecord } from '../../../core/host/records.js';
import { defaultBins, type HistogramBand } from '../../../tilesource/measure/histogram.js';
import type { Enqueue } from '../../../core/concurrency/work-queue.js';
import type {
  AssociatedImageRequest,
  EncodedPicture,
  HistogramRequest,
  LargeImage,
  TileFramesRequest,
} from '../../../tilesource/requests.js';
import { cachedFileKey, FloatValue, plainValue } from '../../cached-files/cached-file-key.js';
import type { CachedFileName, CachedFiles, Obtained } from '../../cached-files/cached-files.js';
import type { Images } from '../../images/images.js';

/**
 * What a cached file shows, in the words of its key: without `imageKey` a thumbnail, with `tileFrames` a picture of several
 * frames, with `histogram` counts, else the associated image of this name.
 */
export type CachedEntry = Readonly<Record<string, unknown>>;

/** Words that name what is no associated image. */
export const imageKeys = { tileFrames: 'tileFrames', histogram: 'histogram' } as const;

/** Name of the cached picture of an entry. */
export function pictureName(entry: CachedEntry): CachedFileName {
  return { kind: 'thumbnail', key: cachedFileKey(entry) };
}

/** What a histogram is of where its entry does not say: saying it names no other file. */
const defaultCounting: Readonly<Record<string, unknown>> = { frame: 0, bins: defaultBins, density: false, style: '' };

/** Name of the cached histogram of an entry: the same for all entries that mean the same counts. */
export function histogramName(entry: CachedEntry): CachedFileName {
  const unusual = Object.entries(entry).filter(
    ([name, value]) => !Object.hasOwn(defaultCounting, name) || defaultCounting[name] !== value,
  );
  return { kind: 'data', key: cachedFileKey({ ...Object.fromEntries(unusual), imageKey: imageKeys.histogram }) };
}

/** How {@link obtainPicture} goes about it. */
export interface ObtainOptions {
  /** The name of the entry, where it is known already. */
  name?: CachedFileName;
  /** There was no such file a moment ago. */
  known?: 'absent';
  /** Whether an empty file is kept for an associated image that there is not. */
  keepMissing?: boolean;
  /** Whether it is an error that the picture cannot be kept. */
  mustKeep?: boolean;
  /** The queue in which the whole making of a missing file waits, before its lease is taken. Default: none. */
  enqueue?: Enqueue;
  /** The queue in which only the drawing waits, while look-ups and writes go on. Default: none. */
  drawing?: Enqueue;
  /** Aborted when the picture is not wanted any more. */
  signal?: AbortSignal;
}

/** The picture of an entry, kept or made and kept. @throws LargeImageError when it cannot be made. */
export async function obtainPicture(
  { cachedFiles, images }: { cachedFiles: CachedFiles; images: Images },
  item: ItemRecord,
  entry: CachedEntry,
  options: ObtainOptions = {},
): Promise<Obtained> {
  const { drawing, signal } = options;
  const draw = (current: ItemRecord, wanted: AbortSignal) =>
    images.use(current, (image) => makePicture(image, entry, wanted), wanted);
  const make = (current: ItemRecord, wanted: AbortSignal) =>
    drawing === undefined ? draw(current, wanted) : drawing(() => draw(current, wanted), wanted);
  const name = options.name ?? pictureName(entry);
  const imageKey = entry.imageKey ?? '';
  if (options.keepMissing === true || imageKey === '' || imageKey === imageKeys.tileFrames) {
    return kept(await cachedFiles.obtain(item, name, make, options), options);
  }
  const found = await cachedFiles.read(item, name);
  if (found !== null) return { content: found, created: false };
  // Nothing is kept for names that anybody may think of.
  const names = await images.use(item, (image) => image.associatedImages(), signal);
  if (typeof imageKey !== 'string' || !names.includes(imageKey)) return { content: missingPicture(), created: true };
  return kept(await cachedFiles.obtain(item, name, make, { ...options, known: 'absent' }), options);
}

/** @throws why it is not kept, where it must be. */
function kept(obtained: Obtained, { mustKeep = false }: Pick<ObtainOptions, 'mustKeep'>): Obtained {
  if (mustKeep && obtained.notKept !== undefined) throw obtained.notKept;
  return obtained;
}

/** The histogram of an entry, one member a band, kept or made and kept. @throws LargeImageError when it cannot be made. */
export async function obtainHistogram(
  { cachedFiles, images }: { cachedFiles: CachedFiles; images: Images },
  item: ItemRecord,
  entry: CachedEntry,
  options: Pick<ObtainOptions, 'mustKeep' | 'signal' | 'enqueue' | 'drawing'> = {},
): Promise<HistogramBand[]> {
  const name = histogramName(entry);
  const { signal, enqueue, drawing = (work) => work() } = options;
  const draw = (current: ItemRecord, wanted?: AbortSignal) =>
    images.use(current, (image) => image.histogram({ ...histogramRequest(entry), ...(wanted && { signal: wanted }) }), wanted);
  const make = (current: ItemRecord, wanted?: AbortSignal) => drawing(() => draw(current, wanted), wanted);
  const obtained = await cachedFiles.obtain(
    item,
    name,
    async (current, wanted) => ({
      bytes: Buffer.from(JSON.stringify(await make(current, wanted))),
      type: 'application/octet-stream',
    }),
    { ...(signal && { signal }), ...(enqueue && { enqueue }) },
  );
  const histogram = parseHistogram(kept(obtained, options).content.bytes);
  if (histogram !== null) return histogram;
  // Written by somebody who keeps histograms in another form.
  await cachedFiles.removeOne(item, name);
  return make(item, signal);
}

function parseHistogram(bytes: Uint8Array): HistogramBand[] | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    const isBand = (band: unknown) => typeof band === 'object' && band !== null && 'hist' in band && Array.isArray(band.hist);
    // Checked as far as the program that wrote it could be another one.
    return Array.isArray(value) && value.every(isBand) ? (value as HistogramBand[]) : null;
  } catch {
    return null;
  }
}

/** What is answered, and kept by jobs, for an associated image that there is not. */
function missingPicture(): EncodedPicture {
  return { kind: 'bytes', bytes: new Uint8Array(0), type: 'application/octet-stream' };
}

async function makePicture(image: LargeImage, entry: CachedEntry, signal: AbortSignal): Promise<EncodedPicture> {
  const request = { ...pictureRequest(entry), signal };
  if (request.encoding === 'TILED') throw new BadValueError('Invalid encoding "TILED": such pictures are not kept');
  const { imageKey } = entry;
  if (imageKey != null && typeof imageKey !== 'string') throw new BadValueError(`Invalid imageKey ${JSON.stringify(imageKey)}`);
  if (imageKey != null && imageKey !== '' && imageKey !== imageKeys.tileFrames) {
    return (await image.associatedImage(imageKey, request as AssociatedImageRequest)) ?? missingPicture();
  }
  const picture = imageKey === imageKeys.tileFrames ? await image.tileFrames(request) : await image.thumbnail(request);
  if (picture.kind === 'stream') throw new TypeError('Only TILED pictures are streams.');
  return picture;
}

/** Flat parameters of routes and their places in an entry. */
const entryPaths: Readonly<Record<string, readonly [group: string, name: string]>> = {
  left: ['region', 'left'],
  top: ['region', 'top'],
  right: ['region', 'right'],
  bottom: ['region', 'bottom'],
  regionWidth: ['region', 'width'],
  regionHeight: ['region', 'height'],
  units: ['region', 'units'],
  unitsWH: ['region', 'unitsWH'],
  width: ['output', 'maxWidth'],
  height: ['output', 'maxHeight'],
  magnification: ['scale', 'magnification'],
  mm_x: ['scale', 'mm_x'],
  mm_y: ['scale', 'mm_y'],
  exact: ['scale', 'exact'],
};

const floats: ReadonlySet<string> = new Set([
  'left',
  'top',
  'right',
  'bottom',
  'regionWidth',
  'regionHeight',
  'magnification',
  'mm_x',
  'mm_y',
]);

/** The parameters of a route as an entry: region, output and scale are objects of their own. */
export function regionEntry(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entry: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const path = entryPaths[name];
    const written = floats.has(name) && typeof value === 'number' ? new FloatValue(value) : value;
    if (path === undefined) entry[name] = written;
    else entry[path[0]] = { ...(entry[path[0]] as object | undefined), [path[1]]: written };
  }
  return entry;
}

type FieldType = 'number' | 'string' | 'boolean' | 'style' | 'resample' | 'numbers';

const fieldTypes: Readonly<Record<string, FieldType>> = {
  width: 'number',
  height: 'number',
  fill: 'string',
  frame: 'number',
  encoding: 'string',
  jpegQuality: 'number',
  jpegSubsampling: 'number',
  tiffCompression: 'string',
  style: 'style',
  projection: 'string',
  resample: 'resample',
  framesAcross: 'number',
  frameList: 'numbers',
  left: 'number',
  top: 'number',
  right: 'number',
  bottom: 'number',
  regionWidth: 'number',
  regionHeight: 'number',
  units: 'string',
  unitsWH: 'string',
  magnification: 'number',
  mm_x: 'number',
  mm_y: 'number',
  exact: 'boolean',
  bins: 'number',
  density: 'boolean',
};

function isOfType(value: unknown, type: FieldType): boolean {
  switch (type) {
    case 'style':
      return typeof value === 'string' || (typeof value === 'object' && !Array.isArray(value));
    case 'resample':
      return typeof value === 'number' || typeof value === 'boolean';
    case 'numbers':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'number');
    default:
      return typeof value === type;
  }
}

/**
 * The request of an entry: members that are no part of a picture are left out, those that are have the right type.
 *
 * @throws BadValueError
 */
function pictureRequest(entry: CachedEntry): TileFramesRequest {
  const flat: Record<string, unknown> = {};
  const plain = plainValue(entry) as CachedEntry;
  const add = (name: string, value: unknown) => {
    const type = fieldTypes[name];
    if (type === undefined || value == null || (name === 'fill' && value === '')) return;
    if (!isOfType(value, type)) throw new BadValueError(`Invalid ${name} ${JSON.stringify(value)}`);
    flat[name === 'mm_x' ? 'mmX' : name === 'mm_y' ? 'mmY' : name] = value;
  };
  for (const [name, value] of Object.entries(plain)) add(name, value);
  for (const [name, [group, member]] of Object.entries(entryPaths)) {
    const object = plain[group];
    if (typeof object === 'object' && object !== null) add(name, (object as Record<string, unknown>)[member]);
  }
  // Each member has been checked against the table above.
  return flat as TileFramesRequest;
}

function histogramRequest(entry: CachedEntry): HistogramRequest {
  return { ...(pictureRequest(entry) as HistogramRequest), ...(entry.range === 'round' && { roundRange: true }) };
}
