import { TileSourceError } from '../../../../errors.js';
import { isReducedBy } from '../../../geometry.js';
import type { FrameMetadata } from '../../../tile-source.js';
import {
  associatedName,
  readConverterFrame,
  imageJFrames,
  parsePerkinElmer,
  readDescription,
  readPixelSize,
  type DescribedImage,
} from '../descriptions.js';
import type { Directory } from './directory.js';
import { readLayout, type ImageLayout } from '../tiff-layout.js';
import { parseJsonText } from '../../../../core/json.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { codecThreads } from '../../../codecs/threads/codec-threads.js';
import { isOme, maxPlaneCount, readOme, type OmeDescription } from '../ome.js';
import { canReadTiles, checkStrips } from '../strips.js';
import { tags } from './tags.js';
import type { TiffBytes } from './tiff-bytes.js';
import { childText } from '../../../xml.js';

interface Frame {
  /** The directory of full resolution; `null` if the file does not contain the frame. */
  directory: Directory | null;
  metadata: FrameMetadata;
}

/**
 * Where the reduced images of a level are: in one main directory for each frame, or in the SubIFD with the index `subIfdIndex` of
 * each frame's directory.
 */
type Reduction = { kind: 'main'; directories: readonly Directory[] } | { kind: 'sub'; subIfdIndex: number };

/** The image that the directories of a file form. */
export interface TiffStructure {
  mainDirectories: readonly Directory[];
  baseLayout: ImageLayout;
  frames: readonly Frame[];
  /** The reduced levels. The key n means that sides are 2^n times shorter. */
  reductionsByPower: ReadonlyMap<number, Reduction>;
  /** Whether the frames are in strips and too large to be served as one tile each. */
  isLargeInStrips: boolean;
  associated: ReadonlyMap<string, ImageLayout>;
  describedImage: DescribedImage;
  description: string;
  ome: Record<string, unknown> | null;
  /** Number of bits that the samples really use; `null` if no OME-XML says so. */
  significantBits: number | null;
  /** Messages that tell which contents of the OME-XML the file lacks, or why the OME-XML is not used. */
  notes: readonly string[];
}

/** Limits of images in strips. */
interface StructureLimits {
  /** Longest side, in pixels, of an image that is served as a single tile. */
  maxUntiledSide: number;
  /** Maximum number of pixels of an image from which tiles are made. */
  maxPixels: number;
}

/** The values of a directory that determine its role. The directory's arrays need not be read for them. */
interface DirectorySummary {
  directory: Directory;
  width: number;
  height: number;
  tiled: boolean;
  subfileType: number;
  samples: number;
  bits: number;
}

/** Maximum side in pixels of a label, macro or thumbnail. */
const maxAssociatedSide = 16_384;
/**
 * Maximum number of directories that are searched for associated images and channel names. Ordinary files have few such
 * directories, at their end.
 */
const maxDescribedDirectories = 2048;

async function summarizeDirectory(directory: Directory): Promise<DirectorySummary | null> {
  try {
    const { width, height } = await directory.size();
    return {
      directory,
      width,
      height,
      tiled: directory.isTiled,
      subfileType: await directory.number(tags.newSubfileType, 0),
      samples: await directory.number(tags.samplesPerPixel, 1),
      bits: await directory.number(tags.bitsPerSample, 1),
    };
  } catch (error) {
    // Corrupt directories are ignored.
    if (error instanceof TileSourceError) return null;
    throw error;
  }
}

/** The n above 0 for which `reduced` has 2^n times shorter sides than `base`; `null` if there is no such n. */
function reductionPower(base: { width: number; height: number }, reduced: { width: number; height: number }): number | null {
  if (reduced.width < 1 || reduced.height < 1) return null;
  const power = Math.round(Math.log2(Math.max(base.width / reduced.width, base.height / reduced.height)));
  if (power < 1) return null;
  const isReduction = isReducedBy(power, base.width, reduced.width) && isReducedBy(power, base.height, reduced.height);
  return isReduction ? power : null;
}

function haveSameSamples(a: DirectorySummary, b: DirectorySummary): boolean {
  return a.samples === b.samples && a.bits === b.bits;
}

function largestSummary(summaries: readonly DirectorySummary[]): DirectorySummary | undefined {
  let largest: DirectorySummary | undefined;
  for (const each of summaries)
    if (largest === undefined || each.width * each.height > largest.width * largest.height) largest = each;
  return largest;
}

/**
 * Groups reduced images by level. A level counts if it has one image for each frame. If there is only one frame, further images of
 * a level are ignored.
 */
function groupMainReductions(
  base: DirectorySummary,
  frameCount: number,
  otherSummaries: readonly DirectorySummary[],
): Map<number, Reduction> {
  const byPower = new Map<number, Directory[]>();
  for (const summary of otherSummaries) {
    const power = haveSameSamples(base, summary) ? reductionPower(base, summary) : null;
    // Images without tiles are levels only if the file marks them as reduced images. Other images without tiles are thumbnails.
    if (power === null || (!summary.tiled && (summary.subfileType & 1) === 0)) continue;
    byPower.set(power, [...(byPower.get(power) ?? []), summary.directory]);
  }
  const reductions = new Map<number, Reduction>();
  for (const [power, directories] of byPower) {
    if (directories.length === frameCount || frameCount === 1) reductions.set(power, { kind: 'main', directories });
  }
  return reductions;
}

async function readSubReductions(file: TiffBytes, base: DirectorySummary): Promise<Map<number, Reduction>> {
  const reductions = new Map<number, Reduction>();
  if (!base.directory.has(tags.subIfds)) return reductions;
  for (const [subIfdIndex, directory] of (await file.readSubDirectories(base.directory)).entries()) {
    const summary = await summarizeDirectory(directory);
    const power = summary !== null && haveSameSamples(base, summary) ? reductionPower(base, summary) : null;
    if (power !== null && !reductions.has(power)) reductions.set(power, { kind: 'sub', subIfdIndex });
  }
  return reductions;
}

async function readAssociated(directory: Directory): Promise<ImageLayout | null> {
  try {
    const layout = await readLayout(directory);
    return Math.max(layout.width, layout.height) <= maxAssociatedSide ? layout : null;
  } catch (error) {
    if (error instanceof TileSourceError) return null;
    throw error;
  }
}

async function findAssociated(
  mainDirectories: readonly Directory[],
  candidates: readonly DirectorySummary[],
): Promise<Map<string, ImageLayout>> {
  const layouts = new Map<string, ImageLayout>();
  for (const { directory } of candidates.slice(0, maxDescribedDirectories)) {
    const description = ((await directory.text(tags.imageDescription)) ?? '').slice(0, maxDescriptionLength);
    const name = associatedName(description, mainDirectories[1] === directory);
    if (name === null || layouts.has(name)) continue;
    const layout = await readAssociated(directory);
    if (layout !== null) layouts.set(name, layout);
  }
  return layouts;
}

async function readFrameMetadata(directories: readonly Directory[], description: string): Promise<FrameMetadata[]> {
  const imageJ = imageJFrames(description, directories.length);
  if (imageJ !== null) return imageJ;
  const isPerkinElmer = parsePerkinElmer(description) !== null;
  const isFromConverter = readConverterFrame(description) !== null;
  if (!isPerkinElmer && !isFromConverter) return directories.map(() => ({ axes: {} }));
  const frames: FrameMetadata[] = [];
  for (const [index, directory] of directories.entries()) {
    const text = ((await directory.text(tags.imageDescription)) ?? '').slice(0, maxDescriptionLength);
    if (isFromConverter) {
      frames.push(readConverterFrame(text) ?? { axes: {} });
    } else {
      const element = index < maxDescribedDirectories ? parsePerkinElmer(text) : null;
      const channel = element === null ? undefined : childText(element, 'Name');
      frames.push({ axes: { C: index }, ...(channel === undefined ? {} : { channel }) });
    }
    if (isSliceOver()) await nextSlice();
  }
  return frames;
}

/**
 * Whether an image is in strips and too large for a single tile. @throws TileSourceError if the image is too large to be
 * converted to tiles.
 */
function isTooLargeForOneTile(layout: ImageLayout, limits: StructureLimits): boolean {
  if (layout.tiled || Math.max(layout.width, layout.height) <= limits.maxUntiledSide) return false;
  checkStrips(layout, limits.maxPixels);
  return true;
}

/** Selects the reduced levels whose tiles can be read directly from the file. */
async function selectReadableReductions(
  file: TiffBytes,
  base: ImageLayout,
  reductions: ReadonlyMap<number, Reduction>,
): Promise<Map<number, Reduction>> {
  const readableReductions = new Map<number, Reduction>();
  for (const [power, reduction] of reductions) {
    const directories = reduction.kind === 'main' ? reduction.directories : await file.readSubDirectories(base.directory);
    const directory = directories[reduction.kind === 'main' ? 0 : reduction.subIfdIndex];
    if (directory !== undefined && canReadTiles(await readLayout(directory, base))) readableReductions.set(power, reduction);
  }
  return readableReductions;
}

/**
 * Finds the directory of the main image, which is usually the largest image in tiles. It is the first image if no image is in
 * tiles, or if the first image is larger than all images in tiles, and neither marked as reduced nor named as an associated image.
 */
function findMainSummary(summaries: readonly DirectorySummary[], description: string): DirectorySummary | undefined {
  const [firstSummary] = summaries;
  const largestTiled = largestSummary(summaries.filter((each) => each.tiled));
  if (firstSummary === undefined || largestTiled === undefined) return firstSummary;
  const canBeMain = !firstSummary.tiled && (firstSummary.subfileType & 1) === 0 && associatedName(description, false) === null;
  return canBeMain && firstSummary.width * firstSummary.height > largestTiled.width * largestTiled.height
    ? firstSummary
    : largestTiled;
}

async function readGenericStructure(
  file: TiffBytes,
  mainDirectories: readonly Directory[],
  description: string,
  limits: StructureLimits,
): Promise<TiffStructure> {
  const summaries: DirectorySummary[] = [];
  for (const directory of mainDirectories) {
    const summary = await summarizeDirectory(directory);
    // Bit 2 marks a transparency mask.
    if (summary !== null && (summary.subfileType & 4) === 0) summaries.push(summary);
    if (isSliceOver()) await nextSlice();
  }
  const base = findMainSummary(summaries, description);
  const [firstDirectory] = mainDirectories;
  if (base === undefined || firstDirectory === undefined) {
    // The directory is read again, so that the error says what is wrong with it.
    if (firstDirectory !== undefined) await readLayout(firstDirectory);
    throw new TileSourceError('No directory of this TIFF contains an image.');
  }
  const layout = await readLayout(base.directory);
  const isLargeInStrips = isTooLargeForOneTile(layout, limits);
  const isFrame = (each: DirectorySummary): boolean =>
    each.width === base.width && each.height === base.height && each.tiled === base.tiled && haveSameSamples(base, each);
  const frames = summaries.filter(isFrame);
  const otherSummaries = summaries.filter((each) => !isFrame(each));
  const associated = await findAssociated(
    mainDirectories,
    otherSummaries.filter(({ tiled }) => !tiled),
  );
  const associatedDirectories = new Set([...associated.values()].map(({ directory }) => directory));
  const subReductions = await readSubReductions(file, base);
  const reductions =
    subReductions.size > 0
      ? subReductions
      : groupMainReductions(
          base,
          frames.length,
          otherSummaries.filter((each) => !associatedDirectories.has(each.directory)),
        );
  const directories = frames.map(({ directory }) => directory);
  const frameMetadata = await readFrameMetadata(directories, description);
  const describedImage = readDescription(description);
  const resolution = await readPixelSize(base.directory);
  const channelNames = frameMetadata.map(({ channel }) => channel);
  const hasChannelNames = parsePerkinElmer(description) !== null && channelNames.every((name) => name !== undefined);
  return {
    mainDirectories,
    baseLayout: layout,
    frames: directories.map((directory, index) => ({ directory, metadata: frameMetadata[index] ?? { axes: {} } })),
    reductionsByPower: isLargeInStrips ? await selectReadableReductions(file, layout, reductions) : reductions,
    isLargeInStrips,
    associated,
    describedImage: {
      ...describedImage,
      mmX: describedImage.mmX ?? resolution.mmX,
      mmY: describedImage.mmY ?? resolution.mmY,
      channels: describedImage.channels ?? (hasChannelNames ? channelNames.filter((name) => name !== undefined) : null),
    },
    description,
    ome: null,
    significantBits: null,
    notes: [],
  };
}

async function readOmeStructure(
  file: TiffBytes,
  mainDirectories: readonly Directory[],
  ome: OmeDescription,
  description: string,
  limits: StructureLimits,
): Promise<TiffStructure> {
  const usedDirectories = new Set<number>();
  const frames: Frame[] = [];
  let missingPlaneCount = 0;
  for (const { directoryIndex, metadata } of ome.planes) {
    const planeDirectory = directoryIndex === null ? null : mainDirectories[directoryIndex];
    if (directoryIndex !== null) usedDirectories.add(directoryIndex);
    if (planeDirectory === undefined) missingPlaneCount += 1;
    else frames.push({ directory: planeDirectory, metadata });
    if (isSliceOver()) await nextSlice();
  }
  const firstDirectory = frames.find(({ directory }) => directory !== null)?.directory;
  const base = firstDirectory === undefined || firstDirectory === null ? null : await summarizeDirectory(firstDirectory);
  if (base === null) throw new TileSourceError('The OME-XML of this TIFF names no directory that can be read.');
  if (base.width !== ome.sizeX || base.height !== ome.sizeY) {
    throw new TileSourceError(
      `The OME-XML describes ${ome.sizeX} by ${ome.sizeY} pixels, but its first plane has ${base.width} by ${base.height}.`,
    );
  }
  const layout = await readLayout(base.directory);
  const isLargeInStrips = isTooLargeForOneTile(layout, limits);
  const associated = new Map<string, ImageLayout>();
  for (const [name, directoryIndex] of ome.associated) {
    const directory = mainDirectories[directoryIndex];
    const associatedLayout = directory === undefined ? null : await readAssociated(directory);
    if (associatedLayout !== null && !usedDirectories.has(directoryIndex)) {
      usedDirectories.add(directoryIndex);
      associated.set(name, associatedLayout);
    }
  }
  let reductions = await readSubReductions(file, base);
  if (reductions.size === 0) {
    const otherSummaries: DirectorySummary[] = [];
    for (const [directoryIndex, directory] of mainDirectories.entries()) {
      const summary = usedDirectories.has(directoryIndex) ? null : await summarizeDirectory(directory);
      if (summary !== null) otherSummaries.push(summary);
      if (isSliceOver()) await nextSlice();
    }
    reductions = groupMainReductions(base, frames.length, otherSummaries);
  }
  const resolution = await readPixelSize(base.directory);
  return {
    mainDirectories,
    baseLayout: layout,
    frames,
    reductionsByPower: isLargeInStrips ? await selectReadableReductions(file, layout, reductions) : reductions,
    isLargeInStrips,
    associated,
    describedImage: {
      magnification: ome.magnification,
      mmX: ome.mmX ?? resolution.mmX,
      mmY: ome.mmY ?? resolution.mmY,
      channels: ome.channels,
      mmZ: ome.mmZ,
      secondsT: ome.secondsT,
    },
    description,
    ome: ome.info,
    significantBits: ome.significantBits,
    notes:
      missingPlaneCount === 0
        ? ome.notes
        : [
            ...ome.notes,
            `The OME-XML describes ${missingPlaneCount} planes that are not among the ${mainDirectories.length} pages of the file.`,
          ],
  };
}

/**
 * Assigns the directories of a TIFF file to frames, levels and associated images.
 *
 * @throws TileSourceError if the main image cannot be read.
 */
export async function readStructure(
  file: TiffBytes,
  options: StructureLimits & { signal?: AbortSignal },
): Promise<TiffStructure> {
  const mainDirectories = await file.readDirectories(options.signal);
  const description = (await mainDirectories[0]?.text(tags.imageDescription)) ?? '';
  if (!isOme(description))
    return readGenericStructure(file, mainDirectories, description.slice(0, maxDescriptionLength), options);
  try {
    const isShort = description.length <= maxMainThreadLength && maxPlaneCount(description) <= maxMainThreadPlanes;
    const ome = isShort ? readOme(description) : await readLongOme(description, options.signal);
    return await readOmeStructure(file, mainDirectories, ome, description, options);
  } catch (error) {
    if (!(error instanceof TileSourceError)) throw error;
    // The pages are shown although the description is wrong.
    return { ...(await readGenericStructure(file, mainDirectories, '', options)), notes: [error.message] };
  }
}

/** Maximum number of characters of OME-XML that is parsed on the main thread instead of in a codec thread. */
const maxMainThreadLength = 32 * 1024;
/** Maximum number of planes of OME-XML that is parsed on the main thread instead of in a codec thread. */
const maxMainThreadPlanes = 4096;
/** Maximum length of other descriptions in characters. Slides have descriptions of a few kilobytes. */
const maxDescriptionLength = 256 * 1024;

/** Reads OME-XML in a thread. @throws TileSourceError like {@link readOme}. */
async function readLongOme(description: string, signal: AbortSignal | undefined): Promise<OmeDescription> {
  const result = await codecThreads.call('omeDescription', description, 'the OME-XML of this TIFF', signal);
  if ('refused' in result) throw new TileSourceError(result.refused);
  // The JSON was written by our own thread, so its size is already limited.
  const parsedJson = await parseJsonText(result.json, { signal, maxContainers: Infinity });
  const ome = parsedJson as OmeDescription & { associated: Iterable<[string, number]> };
  return { ...ome, associated: new Map(ome.associated) };
}
