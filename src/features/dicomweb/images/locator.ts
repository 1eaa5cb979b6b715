import { valueText } from '../format/dataset.js';
import { LRUCache } from 'lru-cache';
import { FreshCache } from '../../../core/concurrency/fresh-cache.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import type { ItemRecord } from '../../../core/host/records.js';
import { AccessDeniedError, BadParameterError, LargeImageError, NotFoundError } from '../../../errors.js';
import type { DicomJson } from '../../../tilesource/tile-source.js';
import type { AnnotationServices } from '../../annotations/annotation-services.js';
import type { AnnotationRecord } from '../../annotations/documents/annotation-record.js';
import type { Images } from '../../images/images.js';
import { annotationUids } from '../annotations/annotation-plan.js';
import { baseOf, isUid } from '../format/uids.js';
import type { Visibility } from '../visibility.js';
import type { ImageFacts } from './image-facts.js';
import type { ImageIndex } from './image-index.js';
import type { ImageRecord } from './image-record.js';
import type { ImageRecordModel } from './image-record.model.js';
import { seriesOf, type InstancePlan, type SeriesPlan } from './structure.js';

/** Maximum number of images of one study that are considered. */
const maxImages = 1000;
/** How long the records of a UID are cached, in milliseconds, and for how many UIDs at most. */
const [lifetimeMs, maxUids] = [2000, 5000];
/** Maximum number of images whose series are cached. */
const maxSeriesPlans = 100;

/** An instance that is made from an image. */
export interface SlideInstance {
  kind: 'slide';
  item: ItemRecord;
  record: ImageRecord & { facts: ImageFacts };
  series: SeriesPlan;
  plan: InstancePlan;
}

/** A DICOM file. */
export interface FileInstance {
  kind: 'file';
  item: ItemRecord;
  record: ImageRecord;
  seriesUid: string;
  uid: string;
}

/** An instance that is made from an annotation. */
export interface AnnotationInstance {
  kind: 'annotation';
  item: ItemRecord;
  record: ImageRecord;
  annotation: AnnotationRecord;
  seriesUid: string;
  uid: string;
  /** Position among the annotations of the image that the caller can read, from 0. */
  annotationIndex: number;
}

/** An instance of any kind. */
export type Instance = SlideInstance | FileInstance | AnnotationInstance;

/** UIDs in the address of a study, series or instance. */
export interface Address {
  study: string;
  series?: string | undefined;
  instance?: string | undefined;
}

const notFoundMessage = 'There is no such study, series or instance. If its image was replaced, its UIDs have changed.';

/** Finds the instances for UIDs, if the caller can read them. */
export class ImageLocator {
  readonly #recordsByUid = new FreshCache<{ records: ImageRecord[] }>({ max: maxUids, lifetimeMs });
  readonly #seriesByState = new LRUCache<string, SeriesPlan[]>({ max: maxSeriesPlans });

  constructor(
    private readonly parts: { images: Images; index: ImageIndex; model: ImageRecordModel; annotations: AnnotationServices },
  ) {}

  /**
   * Finds the visible instances at an address: all of a study or series, or a single one.
   *
   * @throws BadParameterError for an invalid UID; NotFoundError; AccessDeniedError if the caller can read none of them.
   */
  async findAt(address: Address, visibility: Visibility): Promise<Instance[]> {
    for (const uid of [address.study, address.series, address.instance]) {
      if (uid !== undefined && !isUid(uid)) throw new BadParameterError('A UID consists of at most 64 digits and dots.');
    }
    const instances: Instance[] = [];
    let denial: unknown = null;
    for (const record of await this.#findRecords(address)) {
      try {
        const image = await this.#loadReadable(record, visibility);
        if (image !== null && image.record.study === address.study)
          instances.push(...(await this.#findInstances(image, address, visibility)));
      } catch (error) {
        if (!(error instanceof AccessDeniedError)) throw error;
        denial ??= error;
      }
    }
    if (instances.length > 0) return instances;
    throw (denial as Error | null) ?? new NotFoundError(notFoundMessage);
  }

  /** All instances of an image that the request can show. */
  findOfRecord(item: ItemRecord, record: ImageRecord, visibility: Visibility): Promise<Instance[]> {
    return this.#findInstances({ item, record }, { study: record.study }, visibility);
  }

  /** Records that may have the requested instances, found by the most specific UID. */
  async #findRecords({ study, series, instance }: Address): Promise<ImageRecord[]> {
    const mostSpecificUid = instance ?? series ?? study;
    const records = await this.#findRecordsByUid(mostSpecificUid);
    // Records do not contain the UIDs of annotations, so an annotation is found by its study.
    return records.length > 0 || mostSpecificUid === study ? records : this.#findRecordsByUid(study);
  }

  async #findRecordsByUid(uid: string): Promise<ImageRecord[]> {
    const recordsOrPromise = this.#recordsByUid.get(uid, async () => ({
      records: await this.parts.model.findByUid(uid, baseOf(uid), maxImages),
    }));
    const { records } = recordsOrPromise instanceof Promise ? await recordsOrPromise : recordsOrPromise;
    if (records.length > 0) return records;
    // The UID may belong to an image that has just been added.
    await this.parts.index.waitUntilSettled();
    return this.parts.model.findByUid(uid, baseOf(uid), maxImages);
  }

  /** Loads the image of a record. @returns `null` if the image is not shown or no longer available. @throws AccessDeniedError */
  async #loadReadable(
    cachedRecord: ImageRecord,
    { caller, shows }: Visibility,
  ): Promise<{ item: ItemRecord; record: ImageRecord } | null> {
    const { images, index } = this.parts;
    try {
      const item = await images.load(cachedRecord.id, caller);
      if (!shows(item)) return null;
      const record = (await index.isCurrent(item, cachedRecord))
        ? cachedRecord
        : await index.loadCurrentRecord(item, cachedRecord);
      return record === null || record.reason !== null ? null : { item, record };
    } catch (error) {
      if (error instanceof LargeImageError && ['unknown-id', 'no-large-image'].includes(error.code)) return null;
      throw error;
    }
  }

  async #findInstances(
    { item, record }: { item: ItemRecord; record: ImageRecord },
    address: Address,
    visibility: Visibility,
  ): Promise<Instance[]> {
    const { series, instance } = address;
    const isRequested = (seriesUid: string, uid: string) => (series ?? seriesUid) === seriesUid && (instance ?? uid) === uid;
    const { facts, dicom } = record;
    const instances: Instance[] = [];
    for (const file of dicom?.files ?? []) {
      const [seriesUid, uid] = [valueText(file, '0020000E'), valueText(file, '00080018')] as const;
      if (isRequested(seriesUid, uid) && (!isAssociatedFile(file) || (await visibility.showsAssociated(item))))
        instances.push({ kind: 'file', item, record, seriesUid, uid });
    }
    if (facts !== null) {
      for (const seriesPlan of this.#cachedSeriesOf(record, facts)) {
        if (series !== undefined && seriesPlan.uid !== series) continue;
        for (const plan of seriesPlan.instances) {
          if (
            isRequested(seriesPlan.uid, plan.uid) &&
            (plan.content.kind === 'level' || (await visibility.showsAssociated(item)))
          )
            instances.push({ kind: 'slide', item, record: record as never, series: seriesPlan, plan });
        }
        if (isSliceOver()) await nextSlice();
      }
    }
    if (instances.length > 0 && series !== undefined) return instances;
    return [...instances, ...(await this.#findAnnotationInstances({ item, record }, isRequested, visibility))];
  }

  #cachedSeriesOf(record: ImageRecord, facts: ImageFacts): SeriesPlan[] {
    // Equal states mean equal facts and UIDs.
    const key = `${record.id} ${record.state}`;
    const series = this.#seriesByState.get(key) ?? seriesOf(record.base, facts);
    this.#seriesByState.set(key, series);
    return series;
  }

  async #findAnnotationInstances(
    { item, record }: { item: ItemRecord; record: ImageRecord },
    isRequested: (series: string, instance: string) => boolean,
    { caller }: Visibility,
  ): Promise<AnnotationInstance[]> {
    const instances: AnnotationInstance[] = [];
    let annotationIndex = 0;
    for await (const annotation of this.parts.annotations.lists.listInItem(item.id, caller)) {
      const uids = annotationUids(annotation);
      if (isRequested(uids.series, uids.instance))
        instances.push({
          kind: 'annotation',
          item,
          record,
          annotation,
          seriesUid: uids.series,
          uid: uids.instance,
          annotationIndex,
        });
      annotationIndex += 1;
    }
    return instances;
  }
}

/** Whether a file shows the label or the whole glass. */
export function isAssociatedFile(file: DicomJson): boolean {
  return ['LABEL', 'OVERVIEW'].includes(valueText(file, '00080008', 2));
}
