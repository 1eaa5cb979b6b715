import { BadValueError } from '../../errors.js';
import { parseFill, type Fill, type Rgba } from '../color.js';
import {
  checkOutputSize,
  encodePicture,
  parseEncoding,
  defaultKernel,
  type EncodingOptions,
  type EncodingSteps,
} from './encode.js';
import { levelScale, neededLevel, preferredLevel, isSameSize, type Box, type Size } from '../geometry.js';
import type { RegionPlan } from '../region-plan.js';
import { pictureDefaults } from '../picture-parameters.js';
import type { Kernel, ScaleMethod } from './resample.js';
import { isForLibvips, planScaling, scalePicture, windowAtLevel, type Scaling } from './scale.js';
import { completeBlock, canBeShown, grayToColor, type Picture } from './pixels.js';
import { CorruptTiles } from './corrupt-tiles.js';
import { backgroundOf, forbidsMixing, type Appearance } from './appearance.js';
import type { Renderer } from './renderer.js';
import {
  defaultMaxOutputPixels,
  type EncodedPicture,
  type LargeImageOptions,
  type RegionRequest,
  type RenderRequest,
  type StreamedPicture,
  type ThumbnailRequest,
} from '../requests.js';
import { scalingOfBlock, readPickedBlock, boxToRead, type Drawing } from './picked-samples.js';
import { streamTiledTiff } from './tiled-tiff.js';

const kernels: readonly Kernel[] = ['nearest', 'lanczos3', 'linear', 'cubic'];

/** A region from which nearest pixels are picked is read at full resolution if it has at most this many pixels there. */
const maxPickedPixels = 2 ** 24;

/** Default side of the box of a thumbnail, in pixels. */
const thumbnailSide = 256;

/** Parses `resample`; `null` means that the kernel depends on whether the region is enlarged or reduced. @throws BadValueError */
function parseResample(value: number | boolean | undefined): Kernel | null {
  if (value === undefined || value === true) return null;
  const kernel = kernels[value === false ? 0 : value];
  if (kernel) return kernel;
  throw new BadValueError(
    `Invalid resample ${String(value)}. Allowed values: 0 (nearest), 1 (lanczos), 2 (bilinear), 3 (bicubic), true, false.`,
  );
}

/** A region that is ready to be read: its position, size, and padding. */
export interface PreparedRegion {
  plan: RegionPlan;
  frame: number;
  appearance: Appearance;
  /** The level that is read: the level of the plan, or full resolution. */
  level: number;
  /** Scaling from this level. */
  scaling: Scaling;
  fill: Fill | null;
  /** Size of the picture with its padding. */
  canvas: Size;
  /** Whether samples stay unchanged, with more than 8 bits. */
  keepsSamples: boolean;
}

/** Makes pictures of rectangles of an image. */
export class RegionMaker {
  readonly #renderer: Renderer;
  readonly #maxPixels: number;
  readonly #temporaryDirectory: string | undefined;

  constructor(renderer: Renderer, options: LargeImageOptions) {
    this.#renderer = renderer;
    this.#maxPixels = options.maxOutputPixels ?? defaultMaxOutputPixels;
    this.#temporaryDirectory = options.temporaryDirectory;
  }

  async renderRegion(request: RegionRequest): Promise<EncodedPicture | StreamedPicture> {
    const encoding = parseEncoding(request);
    const prepared = await this.prepare(request, encoding);
    if (!prepared) return { kind: 'bytes', bytes: new Uint8Array(0), type: encoding.type };
    if (encoding.encoding === 'TILED') {
      this.#checkEnlarged(prepared);
      return this.#stream(prepared, encoding, request.signal);
    }
    checkOutputSize(prepared.canvas, encoding, this.#maxPixels);
    const { appearance, fill } = prepared;
    return this.#encode(
      { ...prepared, appearance: { ...appearance, mayDropAlpha: !encoding.keepsAlpha } },
      encoding,
      {
        ...paddingSteps(prepared),
        pixelsPerMm: this.#pixelsPerMm(prepared),
        background: fill?.color ?? backgroundOf(appearance),
      },
      request.signal,
    );
  }

  /** @throws BadValueError for a side of less than 2 pixels. */
  renderThumbnail(request: ThumbnailRequest): Promise<EncodedPicture | StreamedPicture> {
    const { width, height, ...otherParameters } = request;
    for (const side of [width, height]) {
      if (side !== undefined && !(Number.isInteger(side) && side >= 2)) {
        throw new BadValueError('Invalid width or height.  Minimum value is 2.');
      }
    }
    const box = width === undefined && height === undefined ? { width: thumbnailSide, height: thumbnailSide } : { width, height };
    return this.renderRegion({
      ...otherParameters,
      ...(box.width !== undefined && { width: box.width }),
      ...(box.height !== undefined && { height: box.height }),
    });
  }

  /**
   * Scales a rectangle of base-layer pixels to exactly this size. `transform` can change the scaled picture before it is encoded.
   */
  async renderExactBox(
    options: { box: Box; output: Size; transform?: (picture: Picture) => Promise<Picture> },
    encoding: EncodingOptions,
    request: Omit<RenderRequest, 'encoding'>,
  ): Promise<EncodedPicture> {
    const { frame = pictureDefaults.frame, signal } = request;
    this.#renderer.checkFrame(frame);
    checkOutputSize(options.output, encoding, this.#maxPixels);
    const appearance = {
      ...(await this.#renderer.displayAppearance({ ...request, ...encoding }, frame, signal)),
      mayDropAlpha: !encoding.keepsAlpha,
    };
    const { metadata, populatedLevels } = this.#renderer;
    const { box, output } = options;
    const level = preferredLevel(populatedLevels, neededLevel(metadata, box, output));
    const window = windowAtLevel(metadata, box, level);
    const kernel = forbidsMixing(appearance.style) ? 'nearest' : this.#defaultMethod(window, output, appearance, frame);
    const scaling = planScaling(metadata, level, window, { output, kernel });
    const drawing = { level, frame, appearance, scaling };
    const background = backgroundOf(appearance);
    if (options.transform === undefined) return this.#encode(drawing, encoding, { background }, signal);
    const corrupt = new CorruptTiles();
    const scaledPicture = await this.#drawWithHoles(drawing, corrupt, signal);
    corrupt.throwIfAllCorrupt();
    const bytes = await encodePicture(await options.transform(scaledPicture), encoding, { background, signal });
    return { kind: 'bytes', bytes, type: encoding.type, ...corruptTilesMember(corrupt) };
  }

  /**
   * Checks a request and determines what to read; `null` if the request selects nothing.
   *
   * @param encoding if it can keep samples, and the samples are not bytes, they stay unchanged.
   * @throws BadValueError for parameters that are not allowed, and TileSourceError for an unknown frame.
   */
  async prepare(request: RegionRequest, encoding?: EncodingOptions): Promise<PreparedRegion | null> {
    const { frame = pictureDefaults.frame } = request;
    this.#renderer.checkFrame(frame);
    const appearance = await this.#renderer.displayAppearance(request, frame, request.signal);
    const fill = parseFill(request.fill);
    const resample = parseResample(request.resample);
    const plan = this.#renderer.planRegion(request);
    if (!plan) return null;
    const { width, height } = request;
    const canvas = fill && width !== undefined && height !== undefined ? { width, height } : plan.output;
    const { metadata } = this.#renderer;
    const keepsSamples =
      encoding !== undefined &&
      isSameSize(canvas, plan.output) &&
      appearance.style === null &&
      canKeepSamples(encoding) &&
      !canBeShown({ ...metadata, bands: metadata.bandCount });
    const method = keepsSamples || (resample === null && forbidsMixing(appearance.style)) ? 'nearest' : resample;
    // Nearest pixels are picked at full resolution if the region is not too large there, because a coarser level may contain other
    // values.
    const readsFinest = method === 'nearest' && plan.region.width * plan.region.height <= maxPickedPixels;
    const level = readsFinest ? metadata.levels - 1 : plan.level;
    const window = windowAtLevel(metadata, plan.region, level);
    const kernel = method ?? this.#defaultMethod(window, plan.output, appearance, frame);
    const scaling = planScaling(metadata, level, window, { output: plan.output, kernel });
    return { plan, frame, appearance, fill, canvas, level, scaling, keepsSamples };
  }

  /** How a region is scaled if the request names no method. */
  #defaultMethod(window: Size, output: Size, appearance: Appearance, frame: number): ScaleMethod {
    const isReduced = output.width <= window.width && output.height <= window.height && !isSameSize(window, output);
    return isReduced && this.#renderer.mayLackValues(appearance, frame) ? 'average' : defaultKernel(window, output);
  }

  /** Draws a rectangle of a level, scaled. */
  async #drawScaled(drawing: Drawing, corrupt: CorruptTiles | undefined, signal: AbortSignal | undefined): Promise<Picture> {
    const { appearance, scaling } = drawing;
    const { kernel, output, window } = scaling;
    const where = { ...boxToRead(drawing), corrupt };
    if (kernel === 'average') return this.#renderer.renderReduced(where, { size: output, window }, appearance, signal);
    return scalePicture(await this.#renderer.renderBox(where, appearance, signal), scaling, signal);
  }

  /** Draws a prepared region, scaled, without padding. */
  drawRegion(prepared: PreparedRegion, corrupt: CorruptTiles, signal?: AbortSignal): Promise<Picture> {
    return this.#drawWithHoles(prepared, corrupt, signal);
  }

  /** Draws a rectangle of a level, scaled, with holes in place of corrupt tiles. */
  async #drawWithHoles(drawing: Drawing, corrupt: CorruptTiles, signal: AbortSignal | undefined): Promise<Picture> {
    return this.#addHoles(await this.#drawScaled(drawing, corrupt, signal), drawing, corrupt);
  }

  /** Draws the holes into a scaled picture. */
  async #addHoles(picture: Picture, { level, scaling: { box, window } }: Drawing, corrupt: CorruptTiles): Promise<Picture> {
    if (corrupt.count === 0) return picture;
    const { metadata } = this.#renderer;
    const scale = levelScale(metadata, level);
    const shownArea = {
      left: (box.left + window.left) * scale,
      top: (box.top + window.top) * scale,
      width: window.width * scale,
      height: window.height * scale,
    };
    // The source may cache its raster, so it is copied before it is changed.
    const copy = { ...picture, data: picture.data.slice() };
    await corrupt.drawHoles(copy, shownArea);
    return copy;
  }

  /** @throws BadValueError if a picture of this size cannot be made in this encoding. */
  checkSize(size: Size, encoding: EncodingOptions): void {
    checkOutputSize(size, encoding, this.#maxPixels);
  }

  /** Streams a picture of any size as a tiled pyramid. */
  streamPicture(picture: Picture, encoding: EncodingOptions, signal?: AbortSignal): Promise<StreamedPicture> {
    const { width, height, bands, dtype } = picture;
    const read = (box: Box) => Promise.resolve(cutBox(picture, box));
    return streamTiledTiff({ width, height, bands, dtype, read }, { encoding, ...this.#streamOptions(signal) });
  }

  /** Refuses a pyramid that is larger than the region, because it would fill the disk without new information. */
  #checkEnlarged({ canvas, plan: { region } }: PreparedRegion): void {
    const pixels = canvas.width * canvas.height;
    if (pixels <= this.#maxPixels || pixels <= region.width * region.height) return;
    throw new BadValueError(
      `Output of ${canvas.width} x ${canvas.height} pixels enlarges a region of ${region.width} x ${region.height} pixels ` +
        `beyond the limit of ${this.#maxPixels} pixels.`,
    );
  }

  #streamOptions(signal?: AbortSignal) {
    return {
      ...(this.#temporaryDirectory !== undefined && { directory: this.#temporaryDirectory }),
      ...(signal && { signal }),
    };
  }

  /** Draws and encodes a rectangle of a level, in one pass of libvips if libvips can read the stored tiles. */
  async #encode(
    drawing: Drawing,
    encoding: EncodingOptions,
    steps: EncodingSteps,
    signal?: AbortSignal,
  ): Promise<EncodedPicture> {
    const { appearance, scaling } = drawing;
    const where = boxToRead(drawing);
    const addsColor = steps.extend !== undefined && !isGray(steps.extend.color);
    const isScaledByLibvips = isForLibvips(scaling);
    const openedPicture = addsColor || !isScaledByLibvips ? null : await this.#renderer.openUndecoded(where, appearance, signal);
    signal?.throwIfAborted();
    const directSteps = { ...steps, ...(isScaledByLibvips && { resize: { ...scaling.output, kernel: scaling.kernel } }), signal };
    // If this fails, the picture is drawn tile by tile, which succeeds, or tells which tile is corrupt.
    const bytes = openedPicture && (await encodePicture(openedPicture, encoding, directSteps).catch(() => null));
    if (bytes) return { kind: 'bytes', bytes, type: encoding.type };
    signal?.throwIfAborted();
    const corrupt = new CorruptTiles();
    const drawnPicture = isScaledByLibvips
      ? await this.#renderer.renderBox({ ...where, corrupt }, appearance, signal)
      : await this.#drawScaled(drawing, corrupt, signal);
    signal?.throwIfAborted();
    // Holes are drawn after scaling, so a picture with holes is not scaled while it is encoded.
    const scalesWhileEncoding = isScaledByLibvips && corrupt.count === 0;
    const scaledPicture =
      isScaledByLibvips && !scalesWhileEncoding ? await scalePicture(drawnPicture, scaling, signal) : drawnPicture;
    corrupt.throwIfAllCorrupt();
    const pictureWithHoles = await this.#addHoles(scaledPicture, drawing, corrupt);
    const picture = addsColor ? await grayToColor(pictureWithHoles) : pictureWithHoles;
    const remainingSteps = scalesWhileEncoding ? directSteps : { ...steps, signal };
    return {
      kind: 'bytes',
      bytes: await encodePicture(picture, encoding, remainingSteps),
      type: encoding.type,
      ...corruptTilesMember(corrupt),
    };
  }

  async #stream(prepared: PreparedRegion, encoding: EncodingOptions, signal?: AbortSignal): Promise<StreamedPicture> {
    const { plan, appearance, scaling, canvas, fill, keepsSamples } = prepared;
    const position = positionOnCanvas(prepared);
    const pixelsPerMm = this.#pixelsPerMm(prepared);
    const scale = pixelsPerMm && { pixelsPerMm };
    const streaming = { encoding, ...this.#streamOptions(signal) };
    const { left, top } = scaling.box;
    const corner = { ...boxToRead(prepared), box: { left, top, width: 1, height: 1 } };
    if (keepsSamples) {
      const { bands, dtype } = await this.#renderer.readSamples(corner, appearance, signal);
      const read = (box: Box) => readPickedBlock(this.#renderer, prepared, box, signal);
      return streamTiledTiff({ ...canvas, bands, dtype, read, ...scale }, streaming);
    }
    // Without a style, the picture consists of the image's samples, among which no holes may be drawn.
    const corrupt = appearance.style === null ? undefined : new CorruptTiles();
    const readBlock = (box: Box) => this.#drawBlock(prepared, box, corrupt, signal);
    // Only a rendered picture tells the number of bands.
    const cornerPicture = await this.#renderer.renderBox(
      { ...corner, corrupt: corrupt && new CorruptTiles() },
      appearance,
      signal,
    );
    const isPadded = !isSameSize(canvas, plan.output);
    const streamedPicture = await streamTiledTiff(
      {
        ...canvas,
        bands: cornerPicture.bands,
        dtype: 'uint8',
        read: (box) =>
          isPadded && fill
            ? completeBlock(
                { box, content: { ...position, ...plan.output }, bands: cornerPicture.bands, color: fill.color },
                readBlock,
              )
            : readBlock(box),
        ...scale,
      },
      streaming,
    );
    try {
      corrupt?.throwIfAllCorrupt();
    } catch (error) {
      streamedPicture.stream.destroy();
      throw error;
    }
    return corrupt === undefined ? streamedPicture : { ...streamedPicture, ...corruptTilesMember(corrupt) };
  }

  /** Pixels per millimeter of the picture of a region, if the scale of the image is known. */
  #pixelsPerMm({ plan: { region, output } }: PreparedRegion): { x: number; y: number } | undefined {
    const { mmX, mmY } = this.#renderer.metadata;
    if (!mmX) return undefined;
    return { x: output.width / region.width / mmX, y: output.height / region.height / (mmY ?? mmX) };
  }

  /** Draws a block of the scaled region. */
  async #drawBlock(
    prepared: PreparedRegion,
    block: Box,
    corrupt: CorruptTiles | undefined,
    signal?: AbortSignal,
  ): Promise<Picture> {
    const drawing = { ...prepared, scaling: scalingOfBlock(this.#renderer.metadata, prepared, block) };
    if (corrupt === undefined) return this.#drawScaled(drawing, undefined, signal);
    const blockHoles = new CorruptTiles();
    const picture = await this.#drawWithHoles(drawing, blockHoles, signal);
    corrupt.merge(blockHoles);
    return picture;
  }
}

/** The member `corruptTiles` of a picture; no member if there are no holes. */
export function corruptTilesMember({ count }: Pick<CorruptTiles, 'count'>): { corruptTiles?: number } {
  return count > 0 ? { corruptTiles: count } : {};
}

/** Whether an encoding can contain samples of more than 8 bits. */
function canKeepSamples({ encoding, compression }: EncodingOptions): boolean {
  return encoding === 'TILED' && compression !== 'jpeg' && compression !== 'webp';
}

function cutBox(picture: Picture, box: Box): Picture {
  if (box.left === 0 && box.top === 0 && box.width === picture.width && box.height === picture.height) return picture;
  const { bands } = picture;
  const data = new Uint8Array(box.width * box.height * bands);
  for (let row = 0; row < box.height; row += 1) {
    const begin = ((box.top + row) * picture.width + box.left) * bands;
    data.set(picture.data.subarray(begin, begin + box.width * bands), row * box.width * bands);
  }
  return { data, width: box.width, height: box.height, bands, dtype: 'uint8' };
}

function positionOnCanvas({ fill, canvas, plan: { output } }: PreparedRegion): { left: number; top: number } {
  if (fill?.anchor !== 'center') return { left: 0, top: 0 };
  return { left: Math.floor((canvas.width - output.width) / 2), top: Math.floor((canvas.height - output.height) / 2) };
}

function paddingSteps(prepared: PreparedRegion): EncodingSteps {
  const { canvas, fill, plan } = prepared;
  if (!fill || isSameSize(canvas, plan.output)) return {};
  return { extend: { ...canvas, ...positionOnCanvas(prepared), color: fill.color } };
}

function isGray([red, green, blue]: Rgba): boolean {
  return red === green && green === blue;
}
