import { levelSize, tileGrid } from '../../../tilesource/geometry.js';
import { fullValue, minValue } from '../../../tilesource/raster.js';
import type { LossyCodec, StoredLevel } from '../../../tilesource/tile-source.js';
import { transferSyntaxes } from '../format/dataset.js';
import { uidOf } from '../format/uids.js';
import type { ImageFacts } from './image-facts.js';

/** The content of an instance. */
type InstanceContent =
  | { kind: 'level'; level: number; isThumbnail: boolean }
  | { kind: 'associated'; name: string; flavor: 'LABEL' | 'OVERVIEW' | 'THUMBNAIL' };

/** One instance, derived from the properties of an image. */
export interface InstancePlan {
  uid: string;
  seriesUid: string;
  /** The instance's number in its series, from 1. */
  number: number;
  /** Index of the position that the instance shows. The number of the instance's series is one higher. */
  position: number;
  /** The second of the two numbers in the UID; the first one is the position. */
  ordinal: number;
  content: InstanceContent;
  /** Width and height of a frame, in pixels. */
  columns: number;
  rows: number;
  /** Width and height of the whole instance, in pixels. */
  matrixColumns: number;
  matrixRows: number;
  /** Number of frames of one optical path. */
  tilesPerPath: number;
  /** The optical paths that the frames show, as indices of {@link opticalPaths}. */
  paths: readonly number[];
  samples: 1 | 3;
  /** The encoding of the stored tiles that are sent unchanged as frames; `null` if the frames are not stored tiles. */
  stored: Pick<StoredLevel, 'encoding' | 'colors'> | null;
  /** The lossy compression of the samples in the file; `null` if there was none. The ratio is `null` if it is unknown. */
  lossy: { codec: LossyCodec; ratio: number | null } | null;
  /** Transfer syntaxes of frames; the first is the default for the whole instance. */
  syntaxes: readonly string[];
}

/** One series: all instances for one position. */
export interface SeriesPlan {
  uid: string;
  number: number;
  label: string;
  /** The contents of the instances, known without making the instances. */
  readonly contents: readonly InstanceContent[];
  /** The instances are made when they are first needed, because an image can have thousands of series. */
  readonly instances: readonly InstancePlan[];
}

/** Maximum number of bytes of native samples that the length of an element can express. */
export const maxNativeBytes = 2 ** 32 - 2;

const flavorByName: Readonly<Record<string, 'LABEL' | 'OVERVIEW' | 'THUMBNAIL'>> = {
  label: 'LABEL',
  macro: 'OVERVIEW',
  overview: 'OVERVIEW',
};

const syntaxByEncoding = {
  jpeg: transferSyntaxes.jpeg,
  jpeg2000: transferSyntaxes.jpeg2000,
  'jpeg2000-lossless': transferSyntaxes.jpeg2000Lossless,
} as const satisfies Record<StoredLevel['encoding'], string>;

/** Whether an image has colors. Images without colors have an optical path for each band except alpha. */
export function isColor({ dtype, bandCount }: Pick<ImageFacts, 'dtype' | 'bandCount'>): boolean {
  return dtype === 'uint8' && (bandCount === 3 || bandCount === 4);
}

/** Number of bands except alpha. */
function countBandsExceptAlpha({ bandCount }: ImageFacts): number {
  return bandCount === 2 || bandCount === 4 ? bandCount - 1 : bandCount;
}

/** An optical path: a channel or, if channels have several bands, one band of a channel. */
export interface OpticalPath {
  channel: number;
  band: number;
  description: string;
  color: string | null;
}

/** The optical paths of an image. Elsewhere, a path is referred to by its index in this list. */
export function opticalPaths(facts: ImageFacts): OpticalPath[] {
  const bandsPerChannel = isColor(facts) ? 1 : countBandsExceptAlpha(facts);
  return facts.channels.flatMap(({ name, color }, channel) =>
    Array.from({ length: bandsPerChannel }, (_, band) => ({
      channel,
      band,
      description: bandsPerChannel === 1 ? name : [name, `band ${band + 1}`].filter((word) => word !== '').join(' '),
      color,
    })),
  );
}

/** Bits of the samples in frames. Types other than uint8 become 16 bits. */
export function bitsOf({ dtype }: Pick<ImageFacts, 'dtype'>): 8 | 16 {
  return dtype === 'uint8' ? 8 : 16;
}

/** The sample values that become 0 and 65535; `unknown` if they have to be measured; `null` if samples are not scaled. */
export function declaredRange({
  dtype,
  sampleBits,
}: Pick<ImageFacts, 'dtype' | 'sampleBits'>): { low: number; high: number } | 'unknown' | null {
  if (dtype === 'uint8') return null;
  if (dtype === 'uint16') return sampleBits === null || sampleBits === 16 ? null : { low: 0, high: 2 ** sampleBits - 1 };
  if (dtype === 'int8' || dtype === 'int16') return { low: minValue(dtype), high: fullValue(dtype) };
  return 'unknown';
}

/** The series of an image with their instances. Associated images belong to the first series. */
export function seriesOf(base: string, facts: ImageFacts): SeriesPlan[] {
  // Plans are made when needed: a search counts the instances of many images, but needs the plans of few.
  let levelPlans: PlanWithoutPosition[] | null = null;
  const associatedPlans = planAssociated(facts);
  const sharedContents = listLevelContents(facts);
  const contentsOfFirstSeries = [...sharedContents, ...associatedPlans.map(({ content }) => content)];
  return facts.positions.map(({ label }, position) => {
    const uid = uidOf(base, 'series', position);
    let plans: readonly InstancePlan[] | null = null;
    const makePlans = () => {
      levelPlans ??= sharedContents.map((content) => planLevel(facts, content));
      return [...levelPlans, ...(position === 0 ? associatedPlans : [])].map((plan, index) => ({
        ...plan,
        uid: uidOf(base, 'instance', position, plan.ordinal),
        seriesUid: uid,
        number: index + 1,
        position,
      }));
    };
    return {
      uid,
      number: position + 1,
      label,
      contents: position === 0 ? contentsOfFirstSeries : sharedContents,
      get instances() {
        return (plans ??= makePlans());
      },
    };
  });
}

/** An instance without the fields that its position adds. */
type PlanWithoutPosition = Omit<InstancePlan, 'uid' | 'seriesUid' | 'number' | 'position'>;

/** Ordinals of levels start at 0, ordinals of associated images start at `firstAssociatedOrdinal`, and the thumbnail has `thumbnailOrdinal`. */
const firstAssociatedOrdinal = 2048;
const thumbnailOrdinal = 4095;

type LevelContent = Extract<InstanceContent, { kind: 'level' }>;

/**
 * The levels that are instances, from the finest to the thumbnail. With several levels and a single optical path, the coarsest level
 * is the thumbnail. Otherwise, the thumbnail is level -1, which is the coarsest level at half its size.
 */
function listLevelContents(facts: ImageFacts): LevelContent[] {
  const usesCoarsestAsThumbnail = facts.levels > 1 && opticalPaths(facts).length === 1;
  const coarsestTiledLevel = usesCoarsestAsThumbnail ? 1 : 0;
  const contents: LevelContent[] = [];
  for (let level = facts.levels - 1; level >= coarsestTiledLevel; level--)
    contents.push({ kind: 'level', level, isThumbnail: false });
  return [...contents, { kind: 'level', level: coarsestTiledLevel - 1, isThumbnail: true }];
}

function planLevel(facts: ImageFacts, content: LevelContent): PlanWithoutPosition {
  const { level } = content;
  if (content.isThumbnail) return planThumbnail(facts, content);
  const paths = opticalPaths(facts).map((_, path) => path);
  const { width, height } = levelSize(facts, level);
  const { columns, rows } = tileGrid(facts, level);
  const stored = facts.stored[level] ?? null;
  const shape = {
    columns: facts.tileWidth,
    rows: facts.tileHeight,
    matrixColumns: width,
    matrixRows: height,
    tilesPerPath: columns * rows,
    paths,
    samples: isColor(facts) ? 3 : 1,
  } as const;
  return {
    ...shape,
    ordinal: level,
    content,
    stored,
    lossy: stored === null ? lossOfSource(facts) : lossOfStored(facts, level),
    syntaxes: syntaxesOf(facts, stored, frameBytes(facts, shape) * columns * rows * paths.length),
  };
}

/** The thumbnail: a level that is one frame. */
function planThumbnail(facts: ImageFacts, content: LevelContent): PlanWithoutPosition {
  const { width, height } = levelSize(facts, content.level);
  return {
    ordinal: thumbnailOrdinal,
    content,
    columns: width,
    rows: height,
    matrixColumns: width,
    matrixRows: height,
    tilesPerPath: 1,
    paths: [0],
    samples: isColor(facts) ? 3 : 1,
    stored: null,
    lossy: lossOfSource(facts),
    syntaxes: syntaxesOf(facts, null, 0),
  };
}

function planAssociated(facts: ImageFacts): PlanWithoutPosition[] {
  return facts.associated.flatMap(({ name, width, height, bands, lossy }, index): PlanWithoutPosition[] => {
    const flavor = flavorByName[name.toLowerCase()];
    if (flavor === undefined) return [];
    return [
      {
        ordinal: firstAssociatedOrdinal + index,
        content: { kind: 'associated', name, flavor },
        columns: width,
        rows: height,
        matrixColumns: width,
        matrixRows: height,
        tilesPerPath: 1,
        paths: [0],
        samples: bands >= 3 ? 3 : 1,
        stored: null,
        lossy: lossy && { codec: lossy, ratio: null },
        syntaxes: [transferSyntaxes.explicitLittle, transferSyntaxes.jpeg],
      },
    ];
  });
}

/** The lossy compression of a level that is sent as stored. */
function lossOfStored({ stored, ratios }: ImageFacts, level: number): InstancePlan['lossy'] {
  const encoding = stored[level]?.encoding ?? 'jpeg2000-lossless';
  return encoding === 'jpeg2000-lossless' ? null : { codec: encoding, ratio: ratios[level] ?? null };
}

/** The lossy compression of the samples from which frames are made. */
function lossOfSource(facts: ImageFacts): InstancePlan['lossy'] {
  const finest = facts.levels - 1;
  if (facts.stored[finest] != null) return lossOfStored(facts, finest);
  return facts.lossy && { codec: facts.lossy, ratio: null };
}

/** Size of a native frame in bytes. */
export function frameBytes(
  facts: ImageFacts,
  { columns, rows, samples }: { columns: number; rows: number; samples: number },
): number {
  return columns * rows * samples * (bitsOf(facts) / 8);
}

/**
 * Transfer syntaxes of single frames. The first is the default. Frames of 8 bits that are not sent as stored default to JPEG, which
 * browsers show.
 */
export function frameSyntaxes(facts: ImageFacts, { stored, content, syntaxes }: InstancePlan): readonly string[] {
  const { explicitLittle, jpeg, rle } = transferSyntaxes;
  if (stored !== null) return syntaxes;
  return content.kind === 'associated' || bitsOf(facts) === 8 ? [jpeg, explicitLittle] : [explicitLittle, rle];
}

function syntaxesOf(facts: ImageFacts, stored: InstancePlan['stored'], nativeBytes: number): string[] {
  const { explicitLittle, jpeg, rle } = transferSyntaxes;
  if (stored !== null) return [syntaxByEncoding[stored.encoding], explicitLittle];
  const encodedSyntax = bitsOf(facts) === 8 ? jpeg : rle;
  return nativeBytes <= maxNativeBytes ? [explicitLittle, encodedSyntax] : [encodedSyntax, explicitLittle];
}
