import { BadValueError } from '../../errors.js';
import type { ItemRecord } from '../../core/host/records.js';
import type { HistogramBand } from '../../tilesource/measure/histogram.js';
import { declaredParameters, type PictureParameter } from '../../tilesource/picture-parameters.js';
import type { Enqueue } from '../../core/concurrency/work-queue.js';
import type {
  AssociatedImageRequest,
  EncodedPicture,
  HistogramRequest,
  LargeImage,
  TileFramesRequest,
} from '../../tilesource/requests.js';
import { cachedFileKey, FloatValue, toPlainValue } from './cached-file-key.js';
import type { CachedFileName, CachedFiles, ObtainedFile } from './cached-files.js';
import type { Images } from '../images/images.js';

/**
 * The specification of a cached file, from which its key is made. The member `imageKey` says what the file is: absent or
 * empty for a thumbnail; one of {@link imageKeys} for several frames in one picture or a histogram; otherwise the name of an
 * associated image.
 */
export type CachedFileSpec = Readonly<Record<string, unknown>>;

/** Values of `imageKey` that do not name an associated image. */
export const imageKeys = { tileFrames: 'tileFrames', histogram: 'histogram' } as const;

/** The name of the cached file of a picture. */
export function pictureName(spec: CachedFileSpec): CachedFileName {
  return { kind: 'thumbnail', key: cachedFileKey(spec) };
}

/** The name of the cached file of a histogram. Specifications that describe the same histogram get the same name. */
export function histogramName(spec: CachedFileSpec): CachedFileName {
  const members = Object.entries(spec).filter(([name, value]) => value !== declaredParameters.get(name)?.default);
  return { kind: 'data', key: cachedFileKey({ ...Object.fromEntries(members), imageKey: imageKeys.histogram }) };
}

/** Options of {@link obtainPicture}. */
export interface ObtainPictureOptions {
  /** The name of the cached file, if the caller has already computed it. */
  name?: CachedFileName;
  /** Whether the caller has just found that the file does not exist, so that the first search can be skipped. */
  isAbsent?: boolean;
  /** Whether to store an empty file for an associated image that does not exist. */
  storeMissing?: boolean;
  /** Whether to throw if the picture was made but could not be stored. */
  mustStore?: boolean;
  /** The queue in which a missing file waits to be made. The lease is taken after the wait. Without a queue, the file is made immediately. */
  enqueue?: Enqueue;
  /** The queue in which only the rendering of the picture waits, not the search for the file or its storing. */
  enqueueRendering?: Enqueue;
  /** Aborted when the picture is no longer needed. */
  signal?: AbortSignal;
}

/** Reads the picture of a specification from its cached file, or makes and stores it. @throws LargeImageError if it cannot be made. */
export async function obtainPicture(
  { cachedFiles, images }: { cachedFiles: CachedFiles; images: Images },
  item: ItemRecord,
  spec: CachedFileSpec,
  options: ObtainPictureOptions = {},
): Promise<ObtainedFile> {
  const { enqueueRendering = (work) => work(), signal } = options;
  const make = (currentItem: ItemRecord, sharedSignal: AbortSignal) =>
    enqueueRendering(
      () => images.use(currentItem, (image) => makePicture(image, spec, sharedSignal), sharedSignal),
      sharedSignal,
    );
  const name = options.name ?? pictureName(spec);
  const imageKey = spec.imageKey ?? '';
  if (options.storeMissing === true || imageKey === '' || imageKey === imageKeys.tileFrames) {
    return requireStored(await cachedFiles.obtain(item, name, make, options), options);
  }
  const storedContent = await cachedFiles.read(item, name);
  if (storedContent !== null) return { content: storedContent, created: false };
  // No file is stored for the name of an associated image that does not exist, because clients could invent any number of
  // names.
  const names = await images.use(item, (image) => image.associatedImages(), signal);
  if (typeof imageKey !== 'string' || !names.includes(imageKey)) return { content: makeEmptyPicture(), created: true };
  return requireStored(await cachedFiles.obtain(item, name, make, { ...options, isAbsent: true }), options);
}

/** Returns the file. @throws `storeError`, if there is one and the caller has set `mustStore`. */
function requireStored(obtainedFile: ObtainedFile, { mustStore = false }: Pick<ObtainPictureOptions, 'mustStore'>): ObtainedFile {
  if (mustStore && obtainedFile.storeError !== undefined) throw obtainedFile.storeError;
  return obtainedFile;
}

/**
 * Reads the histogram of a specification from its cached file, or makes and stores it. The result has one member for each band.
 *
 * @throws LargeImageError if it cannot be made.
 */
export async function obtainHistogram(
  { cachedFiles, images }: { cachedFiles: CachedFiles; images: Images },
  item: ItemRecord,
  spec: CachedFileSpec,
  options: Pick<ObtainPictureOptions, 'mustStore' | 'signal' | 'enqueue' | 'enqueueRendering'> = {},
): Promise<HistogramBand[]> {
  const name = histogramName(spec);
  const { signal, enqueue, enqueueRendering = (work) => work() } = options;
  const measure = (currentItem: ItemRecord, sharedSignal?: AbortSignal) =>
    images.use(
      currentItem,
      (image) => image.histogram({ ...histogramRequest(spec), ...(sharedSignal && { signal: sharedSignal }) }),
      sharedSignal,
    );
  const make = (currentItem: ItemRecord, sharedSignal?: AbortSignal) =>
    enqueueRendering(() => measure(currentItem, sharedSignal), sharedSignal);
  const obtainedFile = await cachedFiles.obtain(
    item,
    name,
    async (currentItem, sharedSignal) => ({
      bytes: Buffer.from(JSON.stringify(await make(currentItem, sharedSignal))),
      type: 'application/octet-stream',
    }),
    { ...(signal && { signal }), ...(enqueue && { enqueue }) },
  );
  const histogram = parseHistogram(requireStored(obtainedFile, options).content.bytes);
  if (histogram !== null) return histogram;
  // Another program has stored a histogram under this name in a different format.
  await cachedFiles.removeOne(item, name);
  return make(item, signal);
}

/** Parses a stored histogram. @returns `null` if the bytes are in a different format. */
function parseHistogram(bytes: Uint8Array): HistogramBand[] | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    const isBand = (band: unknown) => typeof band === 'object' && band !== null && 'hist' in band && Array.isArray(band.hist);
    // Only the format is checked, because other programs store histograms in a different format. Values in our format are known to be valid.
    return Array.isArray(value) && value.every(isBand) ? (value as HistogramBand[]) : null;
  } catch {
    return null;
  }
}

/** The empty answer for an associated image that does not exist. With `storeMissing` it is also stored. */
function makeEmptyPicture(): EncodedPicture {
  return { kind: 'bytes', bytes: new Uint8Array(0), type: 'application/octet-stream' };
}

/** Renders the picture of a specification. @throws BadValueError */
async function makePicture(image: LargeImage, spec: CachedFileSpec, signal: AbortSignal): Promise<EncodedPicture> {
  const request = { ...pictureRequest(spec), signal };
  if (request.encoding === 'TILED') throw new BadValueError('Invalid encoding "TILED": such pictures are not stored');
  const { imageKey } = spec;
  if (imageKey != null && typeof imageKey !== 'string') throw new BadValueError(`Invalid imageKey ${JSON.stringify(imageKey)}`);
  if (imageKey != null && imageKey !== '' && imageKey !== imageKeys.tileFrames) {
    return (await image.associatedImage(imageKey, request as AssociatedImageRequest)) ?? makeEmptyPicture();
  }
  const picture = imageKey === imageKeys.tileFrames ? await image.tileFrames(request) : await image.thumbnail(request);
  if (picture.kind === 'stream') throw new TypeError('Only TILED pictures are streamed.');
  return picture;
}

/** Converts parameters of a route to a specification, in which region, output and scale are nested objects. */
export function specFromParameters(parameters: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const spec: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const { entryPath, isFloat }: Partial<PictureParameter> = declaredParameters.get(name) ?? {};
    const specValue = isFloat && typeof value === 'number' ? new FloatValue(value) : value;
    if (entryPath === undefined) spec[name] = specValue;
    else spec[entryPath[0]] = { ...(spec[entryPath[0]] as object | undefined), [entryPath[1]]: specValue };
  }
  return spec;
}

/** Whether a member of a stored specification, which may come from a client, has the type of its parameter. */
function isOfKind(value: unknown, kind: PictureParameter['kind']): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string';
    case 'integer':
    case 'number':
      return typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'style':
      return typeof value === 'string' || (typeof value === 'object' && !Array.isArray(value));
    case 'booleanOrInteger':
      return typeof value === 'number' || typeof value === 'boolean';
    case 'integers':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'number');
  }
}

/**
 * Converts a specification to a request for the renderer. Members that are not parameters of a picture are left out.
 *
 * @throws BadValueError if a parameter has the wrong type.
 */
function pictureRequest(spec: CachedFileSpec): TileFramesRequest {
  const request: Record<string, unknown> = {};
  const plainSpec = toPlainValue(spec) as CachedFileSpec;
  for (const [name, { kind, entryPath, requestName = name }] of declaredParameters) {
    // A specification can also have any parameter as a direct member.
    const group = entryPath === undefined ? undefined : plainSpec[entryPath[0]];
    const nestedValue =
      entryPath !== undefined && typeof group === 'object' && group !== null
        ? (group as CachedFileSpec)[entryPath[1]]
        : undefined;
    const value = nestedValue ?? plainSpec[name];
    if (value == null || (name === 'fill' && value === '')) continue;
    if (!isOfKind(value, kind)) throw new BadValueError(`Invalid ${name} ${JSON.stringify(value)}`);
    request[requestName] = value;
  }
  // Each member has been checked against its declaration.
  return request as TileFramesRequest;
}

function histogramRequest(spec: CachedFileSpec): HistogramRequest {
  return { ...(pictureRequest(spec) as HistogramRequest), ...(spec.range === 'round' && { roundRange: true }) };
}
