import { LRUCache } from 'lru-cache';
import { TileOutsideError, TileSourceError, type CorruptTileError } from '../../errors.js';
import { asStored, forbidsMixing, type Appearance } from './appearance.js';
import { TileReader, type LevelBox } from './compose.js';
import type { ImageMetadata, TileSource } from '../tile-source.js';
import { hasDefaultStyle, createDefaultStyle, toStyleJson } from '../geo/default-style.js';
import { regionInPixels } from '../geo/region-units.js';
import { resizePicture, defaultKernel, type OpenedPicture } from './encode.js';
import { averageSamples } from '../pyramid/average.js';
import { levelSize, isSameSize, tileContent, type Box, type Size, type Window } from '../geometry.js';
import { planRegion, type RegionPlan, type RegionBounds } from '../region-plan.js';
import { measureSamples } from '../measure/measure-samples.js';
import type { CorruptTiles } from './corrupt-tiles.js';
import { convertToSrgb, isSrgbProfile } from './icc.js';
import { blit, isPicture, toPicture, type Picture } from './pixels.js';
import type { Raster } from '../raster.js';
import type { IccOption, LargeImageOptions, RegionOutput } from '../requests.js';
import { SharedWork } from '../process/shared-work.js';
import { applyFunctions, functionReach } from '../style/functions.js';
import { parseStyle, type Style } from '../style/parse.js';
import { StyleMemo } from '../style/color-table.js';
import { surveySamples, type FrameSurvey } from '../style/range.js';
import { styleFrames, styleNodata, styleRaster, type StyleInputs } from '../style/render.js';

/**
 * If a style mixes several frames, they are mixed in strips. A strip has about this many pixels in all frames together, but at
 * least `minStripRows` rows.
 */
const pixelsPerStrip = 2 ** 25;
const minStripRows = 16;

/** Maximum number of parsed styles that are cached for each image. */
const maxStyles = 16;
/** Maximum memory of these styles in bytes. */
const maxStyleBytes = 2 ** 23;
/** Approximate memory of each color of a style in bytes. */
const colorBytes = 64;
/** Maximum number of frames of each image whose surveys are cached. */
const maxSurveys = 64;

/** Turns samples from a tile source into pictures: makes missing levels, corrects colors and applies styles. */
export class Renderer {
  readonly metadata: ImageMetadata;
  readonly populatedLevels: readonly number[];
  readonly #source: TileSource;
  readonly #reader: TileReader;
  readonly #icc: IccOption;
  readonly #warn: NonNullable<LargeImageOptions['warn']>;
  readonly #styles = new LRUCache<string, Appearance>({
    max: maxStyles,
    maxSize: maxStyleBytes,
    sizeCalculation: ({ style }, text) =>
      2 * text.length + colorBytes * (style?.bands ?? []).reduce((sum, { palette }) => sum + palette.length, 1),
  });
  readonly #surveys = new Map<string, FrameSurvey>();
  readonly #runningSurveys = new SharedWork<FrameSurvey>();
  readonly #memo = new StyleMemo();
  readonly #defaultStyles = new Map<number, Awaited<ReturnType<typeof createDefaultStyle>>>();
  readonly #measuredImage: Renderer | undefined;
  #hasWarned = false;

  /** @param measuredImage the image whose ranges are measured, if this image shows that image's samples in other positions. */
  constructor(source: TileSource, options: LargeImageOptions, measuredImage?: Renderer) {
    this.#source = source;
    this.#measuredImage = measuredImage;
    this.metadata = source.metadata;
    this.populatedLevels = source.populatedLevels;
    this.#icc = options.icc ?? true;
    this.#warn = options.warn ?? (() => {});
    this.#reader = new TileReader(source, {
      ...(options.rasterCache && { cache: options.rasterCache }),
      ...(options.readConcurrency !== undefined && { concurrency: options.readConcurrency }),
    });
  }

  /** The corrupt tiles found so far. */
  get corruptTiles(): readonly CorruptTileError[] {
    return this.#reader.corruptTiles;
  }

  /** Number of frames, at least 1. */
  get frameCount(): number {
    return Math.max(1, this.metadata.frames?.length ?? 1);
  }

  /** @throws TileSourceError if there is no such frame; with `forTile`, TileOutsideError. */
  checkFrame(frame: number, forTile = false): void {
    if (Number.isInteger(frame) && frame >= 0 && frame < this.frameCount) return;
    throw forTile ? new TileOutsideError('Frame does not exist') : new TileSourceError('Frame does not exist');
  }

  /** Parses a style. @throws TileSourceError or BadValueError for an invalid style. */
  async appearanceOf(style: string | object | undefined): Promise<Appearance> {
    if (style === undefined || style === '') return { style: null, correctsColors: this.#icc !== false };
    const key = typeof style === 'string' ? style : null;
    const cached = key === null ? undefined : this.#styles.get(key);
    if (cached) return cached;
    const parsed = await parseStyle(style);
    const appearance: Appearance = {
      style: parsed && parsed.bands.length + parsed.functions.length > 0 ? parsed : null,
      correctsColors: (parsed?.icc ?? this.#icc) !== false,
    };
    if (key !== null) this.#styles.set(key, appearance);
    return appearance;
  }

  /**
   * Like {@link Renderer.appearanceOf}, for viewing a frame. If there is no style, georeferenced measurements are shown in the
   * range of their samples.
   *
   * @param encoding encoding of the picture. TIFF encodings keep samples unchanged.
   */
  async displayAppearance(
    { style, encoding }: { style?: string | object | undefined; encoding?: string | undefined },
    frame: number,
    signal?: AbortSignal,
  ): Promise<Appearance> {
    const keepsSamples = encoding === 'TIFF' || encoding === 'TILED';
    const isPlain = (style === undefined || style === '') && !keepsSamples;
    if (!isPlain || !hasDefaultStyle(this.metadata)) return this.appearanceOf(style);
    const bands = await this.defaultBands(frame, signal);
    return this.appearanceOf(bands === null ? style : toStyleJson(bands, this.metadata));
  }

  /** The bands of the default style of a frame. An image that shows another image's samples uses the bands of that image. */
  async defaultBands(frame: number, signal?: AbortSignal): ReturnType<typeof createDefaultStyle> {
    if (this.#measuredImage) return this.#measuredImage.defaultBands(frame, signal);
    const cached = this.#defaultStyles.get(frame);
    if (cached !== undefined) return cached;
    const wholeImage = { left: 0, top: 0, width: this.metadata.sizeX, height: this.metadata.sizeY };
    const bands = await createDefaultStyle(
      this.metadata,
      await measureSamples(this, { region: wholeImage, frame }, asStored, signal),
    );
    if (this.#defaultStyles.size >= maxSurveys) this.#defaultStyles.clear();
    this.#defaultStyles.set(frame, bands);
    return bands;
  }

  /** The profile to apply to a frame for this appearance; `null` if there is no profile, or if the profile changes nothing. */
  profileFor(frame: number, appearance: Appearance): Uint8Array | null {
    if (!appearance.correctsColors) return null;
    const profile = this.#source.iccProfile?.(frame) ?? this.#source.iccProfile?.(0) ?? null;
    return profile && !isSrgbProfile(profile) ? profile : null;
  }

  /** Renders one tile of any level. The caller has checked the address. */
  renderTile(
    tile: { level: number; x: number; y: number; frame: number; corrupt?: CorruptTiles | undefined },
    appearance: Appearance,
    signal?: AbortSignal,
  ): Promise<Picture> {
    const { style } = appearance;
    const nearest = forbidsMixing(style);
    if (style && functionReach(style.functions) > 0) {
      const { tileWidth, tileHeight } = this.metadata;
      const box = { left: tile.x * tileWidth, top: tile.y * tileHeight, ...tileContent(this.metadata, tile) };
      return this.renderBox({ level: tile.level, frame: tile.frame, box, corrupt: tile.corrupt }, appearance, signal);
    }
    const read = (frame: number) => {
      const nodataOptions = this.#nodataOptions(appearance, tile.frame, frame);
      return this.#reader.readTile({ ...tile, frame, nearest, ...nodataOptions }, signal);
    };
    return this.#renderFrames(read, tile.frame, appearance, signal);
  }

  /**
   * The option `bandNodata`: the samples that mean "no value" in a style, if they differ from the image's nodata value. Absent for
   * a frame whose colors a profile changes.
   */
  #nodataOptions(appearance: Appearance, frame: number, readFrame: number): Pick<LevelBox, 'bandNodata'> {
    const { style } = appearance;
    const { bandCount, nodata } = this.metadata;
    if (style === null || forbidsMixing(style) || this.profileFor(readFrame, appearance) !== null) return {};
    const bandNodata = styleNodata(style, { frame, readFrame, bandCount });
    return bandNodata.every((sample) => sample === null || sample === nodata) ? {} : { bandNodata };
  }

  /** Whether some samples may lack a value. Pictures are then scaled by {@link Renderer.renderReduced}. */
  mayLackValues(appearance: Appearance, frame: number): boolean {
    if (forbidsMixing(appearance.style)) return false;
    const { nodata, dtype } = this.metadata;
    if (dtype.startsWith('float') || nodata !== undefined) return true;
    return styleFrames(appearance.style ?? { bands: [] }, frame).some(
      (readFrame) => this.#nodataOptions(appearance, frame, readFrame).bandNodata !== undefined,
    );
  }

  /**
   * Renders a rectangle of a level, averaged to a size. Samples are averaged before they get colors, so that those without a value
   * do not count.
   */
  async renderReduced(
    where: LevelBox,
    { size, window }: { size: Size; window: Window },
    appearance: Appearance,
    signal?: AbortSignal,
  ): Promise<Picture> {
    const { style } = appearance;
    if (style !== null && (style.functions.length > 0 || this.#stripRows(where, style) < where.box.height)) {
      return averageSamples(await this.renderBox(where, appearance, signal), size, { window, signal });
    }
    const nodata = this.metadata.nodata ?? null;
    const read = async (frame: number) => {
      const nodataOptions = this.#nodataOptions(appearance, where.frame, frame);
      return averageSamples(await this.#reader.readBox({ ...where, frame, ...nodataOptions }, signal), size, {
        window,
        nodata,
        ...nodataOptions,
        signal,
      });
    };
    return this.#renderFrames(read, where.frame, appearance, signal);
  }

  /** How many rows of a rectangle are mixed at once. */
  #stripRows({ frame, box }: LevelBox, style: Style): number {
    const frames = new Set([frame, ...styleFrames(style, frame)]).size;
    return frames === 1 ? Infinity : Math.max(minStripRows, Math.floor(pixelsPerStrip / (frames * box.width)));
  }

  /** Renders a rectangle of a level. */
  renderBox(where: LevelBox, appearance: Appearance, signal?: AbortSignal): Promise<Picture> {
    const { style } = appearance;
    if (!style) return this.#renderBoxWithoutMargin(where, appearance, signal);
    const { box, level } = where;
    const rows = this.#stripRows(where, style);
    if (rows >= box.height) return this.#renderBoxWithMargin(where, appearance, signal);
    return this.#renderStrips(box, rows, (strip) =>
      // All strips must have the same bands, so none may drop its alpha.
      this.#renderBoxWithMargin({ ...where, level, box: strip }, { ...appearance, mayDropAlpha: false }, signal),
    );
  }

  /** Renders a box strip by strip, so that not all pixels of many frames are in memory at the same time. */
  async #renderStrips(box: Box, rows: number, read: (strip: Box) => Promise<Picture>): Promise<Picture> {
    let picture: Picture | null = null;
    for (let top = 0; top < box.height; top += rows) {
      const strip = await read({ ...box, top: box.top + top, height: Math.min(rows, box.height - top) });
      picture ??= { ...strip, height: box.height, data: new Uint8Array(box.width * box.height * strip.bands) };
      picture.data.set(strip.data, top * box.width * strip.bands);
    }
    if (picture === null) throw new RangeError('No rows');
    return picture;
  }

  /** Renders a box with the margin that the functions of the style need, and cuts the margin off. */
  async #renderBoxWithMargin(where: LevelBox, appearance: Appearance, signal: AbortSignal | undefined): Promise<Picture> {
    const { box, level } = where;
    const margin = functionReach(appearance.style?.functions ?? []);
    if (margin === 0) return this.#renderBoxWithoutMargin(where, appearance, signal);
    const size = levelSize(this.metadata, level);
    const left = Math.max(0, box.left - margin);
    const top = Math.max(0, box.top - margin);
    const width = Math.min(size.width, box.left + box.width + margin) - left;
    const height = Math.min(size.height, box.top + box.height + margin) - top;
    const picture = await this.#renderBoxWithoutMargin({ ...where, box: { left, top, width, height } }, appearance, signal);
    const data = new Uint8Array(box.width * box.height * picture.bands);
    const part: Picture = { ...picture, width: box.width, height: box.height, data };
    blit(part, picture, { left: left - box.left, top: top - box.top });
    return part;
  }

  #renderBoxWithoutMargin(where: LevelBox, appearance: Appearance, signal: AbortSignal | undefined): Promise<Picture> {
    const nearest = where.nearest === true || forbidsMixing(appearance.style);
    const read = (frame: number) => {
      const nodataOptions = this.#nodataOptions(appearance, where.frame, frame);
      return this.#reader.readBox({ ...where, frame, nearest, ...nodataOptions }, signal);
    };
    return this.#renderFrames(read, where.frame, appearance, signal);
  }

  /**
   * Opens a rectangle of a level that is decoded only while it is encoded; `null` if it must be drawn with
   * {@link Renderer.renderBox}. Corrupt tiles are noticed when the picture is used.
   */
  async openUndecoded(where: LevelBox, appearance: Appearance, signal?: AbortSignal): Promise<OpenedPicture | null> {
    if (appearance.style !== null || this.profileFor(where.frame, appearance) !== null) return null;
    return this.#reader.openBox(where, signal);
  }

  /**
   * Reads the samples of a rectangle of a level, as styles and statistics use them. Colors in bytes are corrected; all other
   * samples are as the source returns them.
   */
  async readSamples(where: LevelBox, appearance: Appearance, signal?: AbortSignal): Promise<Raster> {
    const raster = await this.#reader.readBox(where, signal);
    return isPicture(raster) ? this.#correctColors(raster, where.frame, appearance) : raster;
  }

  /** Plans from which level a region is read, and the size of its picture; `null` if it selects nothing. @throws BadValueError */
  planRegion(request: RegionBounds & RegionOutput, maxReadPixels?: number): RegionPlan | null {
    return planRegion(this.metadata, this.populatedLevels, regionInPixels(this.metadata, request), maxReadPixels);
  }

  /** Reads the samples of a region, mixed to its output size. */
  async readMixedSamples(plan: RegionPlan, frame: number, appearance: Appearance, signal?: AbortSignal): Promise<Raster> {
    const raster = await this.readSamples({ level: plan.level, frame, box: plan.levelBox }, appearance, signal);
    const nodata = this.metadata.nodata ?? null;
    return isSameSize(raster, plan.output) ? raster : resample(raster, plan.output, nodata, signal);
  }

  /** Statistics of a frame, which determine the ranges of styles. They are measured once. */
  async survey(frame: number, appearance: Appearance, signal?: AbortSignal): Promise<FrameSurvey> {
    const name = `${frame}/${appearance.correctsColors}`;
    const cached = this.#surveys.get(name);
    if (cached) return cached;
    const survey = await this.#runningSurveys.join(
      name,
      (sharedSignal) => this.#measureFrame(frame, appearance, sharedSignal),
      signal,
    );
    if (this.#surveys.size >= maxSurveys) this.#surveys.clear();
    this.#surveys.set(name, survey);
    return survey;
  }

  /** Reads the rasters of all frames that a style needs, by frame. */
  async #styleRasters(style: Style, frame: number, read: (frame: number) => Promise<Raster>): Promise<Map<number, Raster>> {
    const rasters = new Map<number, Raster>();
    for (const usedFrame of styleFrames(style, frame)) {
      this.checkFrame(usedFrame);
      rasters.set(usedFrame, await read(usedFrame));
    }
    return rasters;
  }

  /** Reads the rasters of all frames that a style needs for one rectangle. */
  async styleInputs(where: LevelBox, appearance: Appearance & { style: Style }, signal?: AbortSignal): Promise<StyleInputs> {
    const read = (frame: number) => this.readSamples({ ...where, frame }, appearance, signal);
    return this.#createInputs(appearance, where.frame, await this.#styleRasters(appearance.style, where.frame, read), signal);
  }

  #createInputs(
    appearance: Appearance,
    frame: number,
    rasters: Map<number, Raster>,
    signal: AbortSignal | undefined,
  ): StyleInputs {
    const { white } = this.metadata;
    return { frame, rasters, survey: (usedFrame) => this.survey(usedFrame, appearance, signal), white, memo: this.#memo };
  }

  async #renderFrames(
    read: (frame: number) => Promise<Raster>,
    frame: number,
    appearance: Appearance,
    signal: AbortSignal | undefined,
  ): Promise<Picture> {
    const { style } = appearance;
    if (!style) return this.#correctColors(await toPicture(await read(frame), this.metadata.white), frame, appearance);
    const readCorrected = async (usedFrame: number): Promise<Raster> => {
      const raster = await read(usedFrame);
      return isPicture(raster) ? this.#correctColors(raster, usedFrame, appearance) : raster;
    };
    const rasters = await this.#styleRasters(style, frame, readCorrected);
    const options = { mayDropAlpha: appearance.mayDropAlpha === true, ...(signal && { signal }) };
    const picture =
      style.bands.length > 0
        ? await styleRaster(style, this.#createInputs(appearance, frame, rasters, signal), options)
        : await this.#correctColors(await toPicture(await read(frame), this.metadata.white), frame, appearance);
    return applyFunctions(style.functions, picture, async () => rasters.get(frame) ?? readCorrected(frame), signal);
  }

  async #correctColors(picture: Picture, frame: number, appearance: Appearance): Promise<Picture> {
    const profile = this.profileFor(frame, appearance);
    if (!profile) return picture;
    try {
      return await convertToSrgb(picture, profile);
    } catch (error) {
      if (!this.#hasWarned)
        this.#warn({ frame, reason: error instanceof Error ? error.message : String(error) }, 'Icc:Convert:Failed');
      this.#hasWarned = true;
      return picture;
    }
  }

  async #measureFrame(frame: number, appearance: Appearance, signal: AbortSignal): Promise<FrameSurvey> {
    const { sizeX, sizeY, nodata = null } = this.metadata;
    const wholeImage = { left: 0, top: 0, width: sizeX, height: sizeY };
    const measured = await measureSamples(
      this,
      { region: wholeImage, frame },
      { style: null, correctsColors: appearance.correctsColors },
      signal,
    );
    return surveySamples(measured, nodata);
  }
}

/** Scales pictures with libvips. Other rasters, and pictures with missing values, are averaged. */
async function resample(raster: Raster, size: Size, nodata: number | null, signal: AbortSignal | undefined): Promise<Raster> {
  if (!isPicture(raster) || nodata !== null) return averageSamples(raster, size, { nodata, signal });
  return resizePicture(raster, { ...size, kernel: defaultKernel(raster, size) }, signal);
}
