import { callerName } from '../../../core/concurrency/queues.js';
import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { LargeImageError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import type { DicomJson } from '../../../tilesource/tile-source.js';
import { srgbProfile } from '../../../tilesource/render/icc.js';
import type { LargeImage } from '../../../tilesource/requests.js';
import type { Images } from '../../images/images.js';
import { toJson, transferSyntaxes } from '../format/dataset.js';
import type { SlideInstance } from '../images/locator.js';
import type { ImageRecordModel } from '../images/image-record.model.js';
import { frameCacheName } from '../images/image-record.js';
import { slideAttributes, slideClassUid, type SlideDetails } from '../images/slide-dataset.js';
import { bitsOf, declaredRange, frameBytes, frameSyntaxes, maxNativeBytes, opticalPaths } from '../images/structure.js';
import { createDicomFile } from './part10.js';
import { makeFrame, locateFrame, storedLevelOf, type SampleRange } from './slide-frames.js';
import type { StreamedFile } from './streamed-file.js';

/** The caller, and the signal that cancels the work. */
export interface CallerContext {
  caller: Caller | null;
  readonly signal: AbortSignal;
}

/** Maximum number of positions at which samples are measured to determine their range. */
const maxMeasuredPositions = 8;

/** Answers for instances that are made from images. */
export class Slides {
  constructor(private readonly parts: { images: Images; model: ImageRecordModel; queue: WorkQueue }) {}

  /** All attributes except the samples, for frames in the default transfer syntax. */
  async loadMetadata(instance: SlideInstance, instanceAddress: string, context: CallerContext): Promise<DicomJson> {
    const [syntax] = frameSyntaxes(instance.record.facts, instance.plan);
    const details = await this.#loadDetails(instance, syntax!, context);
    const attributes = slideAttributes(instance.record, instance.series, instance.plan, details);
    return toJson({ ...attributes, AvailableTransferSyntaxUID: [...instance.plan.syntaxes] }, instanceAddress);
  }

  /** The color profile; `null` for an instance without colors. */
  async loadColorProfile({ item, plan }: SlideInstance, signal: AbortSignal): Promise<Uint8Array | null> {
    if (plan.samples !== 3) return null;
    const fileProfile =
      plan.content.kind === 'level'
        ? await this.parts.images.useOpened(item, ({ borrowed }) => borrowed.source.iccProfile?.(0) ?? null, signal)
        : null;
    return fileProfile ?? srgbProfile();
  }

  /** A frame, counted from 0, in one of the transfer syntaxes of the instance; from the tile cache if possible. */
  async loadFrame(instance: SlideInstance, frameIndex: number, syntax: string, context: CallerContext): Promise<Uint8Array> {
    const { images, queue } = this.parts;
    const { item, plan, record } = instance;
    const key = frameCacheName(record, `${plan.uid}/${frameIndex}/${syntax}`);
    const ranges = await this.#loadSampleRanges(instance, context.signal);
    const cachedFrame = await images.makeCached(
      key,
      (signal) =>
        images.useStored(
          item,
          async (image) => ({
            bytes: await makeFrame({ image, facts: record.facts, plan, ranges, signal }, frameIndex, syntax),
            type: 'application/octet-stream',
          }),
          signal,
        ),
      { requester: context, queue },
    );
    return cachedFrame.bytes;
  }

  /** The file of an instance. @throws LargeImageError `not-acceptable` if it is not available in the transfer syntax. */
  async streamFile(instance: SlideInstance, syntax: string, context: CallerContext): Promise<StreamedFile> {
    const { images, queue } = this.parts;
    const { item, plan, record } = instance;
    const { facts } = record;
    const details = await this.#loadDetails(instance, syntax, context);
    const frameCount = plan.tilesPerPath * plan.paths.length;
    const bitsAllocated = plan.content.kind === 'associated' ? 8 : bitsOf(facts);
    const bytesPerFrame = plan.content.kind === 'associated' ? plan.columns * plan.rows * plan.samples : frameBytes(facts, plan);
    if (syntax === transferSyntaxes.explicitLittle && frameCount * bytesPerFrame > maxNativeBytes) {
      throw new LargeImageError(
        'not-acceptable',
        `The samples are ${frameCount * bytesPerFrame} bytes; a native file can contain at most ${maxNativeBytes}.`,
      );
    }
    const queueOptions = { signal: context.signal, caller: callerName(context.caller), isNeverRefused: true };
    const ranges = await this.#loadSampleRanges(instance, context.signal);
    return createDicomFile({
      classUid: slideClassUid,
      instanceUid: plan.uid,
      syntax,
      attributes: slideAttributes(record, instance.series, plan, details),
      frameCount,
      frameBytes: bytesPerFrame,
      bitsAllocated,
      frameLengthOf:
        syntax === plan.syntaxes[0] && plan.stored !== null ? await this.#loadFrameLengths(instance, context.signal) : null,
      makeFrame: (frameIndex) =>
        queue.run(
          () =>
            images.useOpened(
              item,
              ({ borrowed }) => makeFrame({ image: borrowed, facts, plan, ranges, signal: context.signal }, frameIndex, syntax),
              context.signal,
            ),
          queueOptions,
        ),
      signal: context.signal,
    });
  }

  /** @returns a function that returns the length in bytes of a stored frame, counted from 0. */
  async #loadFrameLengths({ item, plan, record }: SlideInstance, signal: AbortSignal): Promise<(frame: number) => number> {
    const { facts } = record;
    if (plan.content.kind !== 'level') throw new TypeError('Only levels are stored in tiles.');
    const { level } = plan.content;
    const levelByPath = await this.parts.images.useOpened(
      item,
      ({ borrowed }) =>
        Promise.all(
          plan.paths.map((_, pathIndex) =>
            storedLevelOf(borrowed.source, level, locateFrame({ facts, plan }, pathIndex * plan.tilesPerPath).frame),
          ),
        ),
      signal,
    );
    return (frame) => levelByPath[Math.floor(frame / plan.tilesPerPath)]!.lengthOf(frame % plan.tilesPerPath);
  }

  async #loadDetails(instance: SlideInstance, syntax: string, { signal }: CallerContext): Promise<SlideDetails> {
    return {
      profile: await this.loadColorProfile(instance, signal),
      ranges: await this.#loadSampleRanges(instance, signal),
      syntax,
    };
  }

  /** For each optical path, the sample values that become 0 and 65535; `null` if samples are not scaled. */
  async #loadSampleRanges(
    { item, record, plan }: Pick<SlideInstance, 'item' | 'record' | 'plan'>,
    signal: AbortSignal,
  ): Promise<readonly SampleRange[] | null> {
    if (plan.content.kind === 'associated') return null;
    const range = declaredRange(record.facts);
    if (range === null) return null;
    const paths = opticalPaths(record.facts);
    if (range !== 'unknown') return paths.map(() => range);
    if (record.ranges !== null) return record.ranges;
    const ranges = await this.parts.images.useOpened(item, ({ image }) => measureRanges(image, record.facts, signal), signal);
    record.ranges = ranges;
    await this.parts.model.setRanges(record, ranges);
    return ranges;
  }
}

async function measureRanges(
  image: LargeImage,
  facts: SlideInstance['record']['facts'],
  signal: AbortSignal,
): Promise<SampleRange[]> {
  const ranges: SampleRange[] = [];
  for (const { channel, band } of opticalPaths(facts)) {
    let [low, high] = [Infinity, -Infinity];
    for (const { frames } of facts.positions.slice(0, maxMeasuredPositions)) {
      const statistics = (await image.bands({ frame: frames[channel]!, signal }))[band + 1];
      if (statistics === undefined || !Number.isFinite(statistics.min) || !Number.isFinite(statistics.max)) continue;
      low = Math.min(low, statistics.min);
      high = Math.max(high, statistics.max);
    }
    ranges.push(low < high ? { low, high } : { low: Number.isFinite(low) ? low : 0, high: (Number.isFinite(low) ? low : 0) + 1 });
  }
  return ranges;
}
