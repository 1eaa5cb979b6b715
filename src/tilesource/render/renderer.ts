import { LRUCache } from 'lru-cache';
import { TileOutsideError, TileSourceError } from '../../errors.js';
import { TileReader, type LevelBox } from './compose.js';
import type { ImageMetadata, TileSource } from '../contract.js';
import { resizePicture, usualKernel, type Kernel, type OpenedPicture } from './encode.js';
import { planRegion, type RegionPlan, type Size } from '../geometry.js';
import { bandStatistics } from './histogram.js';
import { convertToSrgb, isSrgbProfile } from './icc.js';
import { isPicture, resizeNearest, toPicture, type Picture } from './pixels.js';
import type { Raster } from '../raster.js';
import type { IccOption, LargeImageOptions, RegionBounds, RegionOutput } from '../requests.js';
import { SharedWork } from '../process/shared-work.js';
import { parseStyle, type Style } from '../style/parse.js';
import { StyleMemo } from '../style/color-table.js';
import type { FrameSurvey } from '../style/range.js';
import { styleFrames, styleRaster } from '../style/render.js';

/** How samples become visible: a style, or as they are; with corrected colours or without. */
export interface Appearance {
  /** `null`: the image as it is. */
  style: Style | null;
  correct: boolean;
  /** Alpha is of no use to the caller: a picture that is opaque everywhere may come without it. */
  opaque?: boolean;
}

/** Side, in pixels, to which an image is reduced before the range of its samples is measured. */
const surveySide = 1024;

/** Styles kept parsed, their size in bytes, and frames kept surveyed, per image. */
const keptStyles = 16;
const keptStyleBytes = 2 ** 23;
const colorBytes = 64;
const keptSurveys = 64;

/** Turns what a tile source delivers into pictures: missing levels, colour correction, style. */
export class Renderer {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #source: TileSource;
  readonly #reader: TileReader;
  readonly #icc: IccOption;
  readonly #warn: NonNullable<LargeImageOptions['warn']>;
  readonly #styles = new LRUCache<string, Appearance>({
    max: keptStyles,
    maxSize: keptStyleBytes,
    sizeCalculation: ({ style }, text) =>
      2 * text.length + colorBytes * (style?.bands ?? []).reduce((sum, { palette }) => sum + palette.length, 1),
  });
  readonly #surveys = new Map<number, FrameSurvey>();
  readonly #surveying = new SharedWork<FrameSurvey>();
  readonly #memo = new StyleMemo();
  #warned = false;

  constructor(source: TileSource, options: LargeImageOptions) {
    this.#source = source;
    this.metadata = source.metadata;
    this.populatedLevels = source.populatedLevels;
    this.#icc = options.icc ?? true;
    this.#warn = options.warn ?? (() => {});
    this.#reader = new TileReader(source, {
      ...(options.rasterCache && { cache: options.rasterCache }),
      ...(options.readConcurrency !== undefined && { concurrency: options.readConcurrency }),
    });
  }

  /** Number of frames, at least 1. */
  get frameCount(): number {
    return Math.max(1, this.metadata.frames?.length ?? 1);
  }

  /** @throws TileOutsideError for tiles, else TileSourceError, when there is no such frame. */
  checkFrame(frame: number, forTile = false): void {
    if (Number.isInteger(frame) && frame >= 0 && frame < this.frameCount) return;
    throw forTile ? new TileOutsideError('Frame does not exist') : new TileSourceError('Frame does not exist');
  }

  /** Understands a style. @throws TileSourceError, BadValueError */
  async appearanceOf(style: string | object | undefined): Promise<Appearance> {
    if (style === undefined || style === '') return { style: null, correct: this.#icc !== false };
    const key = typeof style === 'string' ? style : null;
    const kept = key === null ? undefined : this.#styles.get(key);
    if (kept) return kept;
    const parsed = await parseStyle(style);
    const appearance: Appearance = {
      style: parsed && parsed.bands.length > 0 ? parsed : null,
      correct: (parsed?.icc ?? this.#icc) !== false,
    };
    if (key !== null) this.#styles.set(key, appearance);
    return appearance;
  }

  /** The profile that has to be applied to a frame for this look; `null` when there is none or it changes nothing. */
  profileFor(frame: number, appearance: Appearance): Uint8Array | null {
    if (!appearance.correct) return null;
    const profile = this.#source.iccProfile?.(frame) ?? this.#source.iccProfile?.(0) ?? null;
    return profile && !isSrgbProfile(profile) ? profile : null;
  }

  /** One tile of any level; the address has been checked. */
  tile(
    tile: { level: number; x: number; y: number; frame: number },
    appearance: Appearance,
    signal?: AbortSignal,
  ): Promise<Picture> {
    return this.#show((frame) => this.#reader.readTile({ ...tile, frame }, signal), tile.frame, appearance, signal);
  }

  /** A rectangle of a level, in its pixels. */
  box(where: LevelBox, appearance: Appearance, signal?: AbortSignal): Promise<Picture> {
    return this.#show((frame) => this.#reader.readBox({ ...where, frame }, signal), where.frame, appearance, signal);
  }

  /**
   * A rectangle of a level, to be decoded on its way into an encoding; `null` where it has to be drawn: {@link Renderer.box}. What
   * is damaged shows when it is used.
   */
  async open(where: LevelBox, appearance: Appearance, signal?: AbortSignal): Promise<OpenedPicture | null> {
    if (appearance.style !== null || this.profileFor(where.frame, appearance) !== null) return null;
    return this.#reader.openBox(where, signal);
  }

  /** Samples of a rectangle of a level as the source delivers them. */
  samples(where: LevelBox, signal?: AbortSignal): Promise<Raster> {
    return this.#reader.readBox(where, signal);
  }

  /** Where a region is read and how large it gets; `null` where it selects nothing. @throws BadValueError */
  plan(request: RegionBounds & RegionOutput, readLimit?: number): RegionPlan | null {
    return planRegion(this.metadata, this.populatedLevels, request, readLimit);
  }

  /**
   * Samples of a region at about its output size: bytes are resampled (signed ones as unsigned), other types taken from the
   * nearest pixel.
   */
  async reducedSamples(plan: RegionPlan, frame: number, options: { resample: boolean; signal?: AbortSignal }): Promise<Raster> {
    const raster = await this.samples({ level: plan.level, frame, box: plan.levelBox }, options.signal);
    if (!options.resample || sameSize(raster, plan.output)) return raster;
    return resample(raster, plan.output, options.signal);
  }

  /** Facts about a frame that ranges of styles rest on; measured once. */
  async survey(frame: number, signal?: AbortSignal): Promise<FrameSurvey> {
    const kept = this.#surveys.get(frame);
    if (kept) return kept;
    const made = await this.#surveying.join(String(frame), (wanted) => this.#measure(frame, wanted), signal);
    if (this.#surveys.size >= keptSurveys) this.#surveys.clear();
    this.#surveys.set(frame, made);
    return made;
  }

  /** Inputs of a style that reads these rasters. */
  async #styleRasters(style: Style, frame: number, read: (frame: number) => Promise<Raster>): Promise<Map<number, Raster>> {
    const rasters = new Map<number, Raster>();
    for (const each of styleFrames(style, frame)) {
      this.checkFrame(each);
      rasters.set(each, await read(each));
    }
    return rasters;
  }

  /** Rasters of all frames that a style needs for one rectangle. */
  styleInputs(where: LevelBox, style: Style, signal?: AbortSignal) {
    return this.#styleRasters(style, where.frame, (frame) => this.samples({ ...where, frame }, signal)).then((rasters) => ({
      frame: where.frame,
      rasters,
      survey: (frame: number) => this.survey(frame, signal),
      memo: this.#memo,
    }));
  }

  async #show(
    read: (frame: number) => Promise<Raster>,
    frame: number,
    appearance: Appearance,
    signal: AbortSignal | undefined,
  ): Promise<Picture> {
    const { style } = appearance;
    if (!style) return this.#correct(await toPicture(await read(frame)), frame, appearance);
    const rasters = await this.#styleRasters(style, frame, async (each) => {
      const raster = await read(each);
      return isPicture(raster) ? this.#correct(raster, each, appearance) : raster;
    });
    const inputs = { frame, rasters, survey: (each: number) => this.survey(each, signal), memo: this.#memo };
    return styleRaster(style, inputs, { opaque: appearance.opaque === true, ...(signal && { signal }) });
  }

  async #correct(picture: Picture, frame: number, appearance: Appearance): Promise<Picture> {
    const profile = this.profileFor(frame, appearance);
    if (!profile) return picture;
    try {
      return await convertToSrgb(picture, profile);
    } catch (error) {
      if (!this.#warned)
        this.#warn({ frame, reason: error instanceof Error ? error.message : String(error) }, 'Icc:Convert:Failed');
      this.#warned = true;
      return picture;
    }
  }

  async #measure(frame: number, signal: AbortSignal): Promise<FrameSurvey> {
    const { sizeX, sizeY } = this.metadata;
    const small = Math.max(sizeX, sizeY) <= surveySide;
    const plan = this.plan(small ? {} : { width: surveySide, height: surveySide });
    if (!plan) throw new TileSourceError('The image has no pixels');
    const raster = await this.reducedSamples(plan, frame, { resample: true, signal });
    return { raster, statistics: await bandStatistics(raster) };
  }
}

function sameSize(a: Size, b: Size): boolean {
  return a.width === b.width && a.height === b.height;
}

async function resample(raster: Raster, size: Size, signal: AbortSignal | undefined): Promise<Raster> {
  const kernel: Kernel = usualKernel(raster, size);
  if (isPicture(raster)) return resizePicture(raster, { ...size, kernel }, signal);
  if (raster.dtype === 'int8' && raster.bands <= 4) return resizePicture(await toPicture(raster), { ...size, kernel }, signal);
  return resizeNearest(raster, size);
}
