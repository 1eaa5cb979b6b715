import type { HostAccess, Caller } from '../../../host.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { ItemRecord } from '../../../core/host/records.js';
import { callerName } from '../../../core/concurrency/queues.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import type { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { LargeImageError } from '../../../errors.js';
import type { DicomJson } from '../../../tilesource/tile-source.js';
import type { AnnotationServices } from '../../annotations/annotation-services.js';
import type { Images } from '../../images/images.js';
import { annotationRow } from '../annotations/annotation-plan.js';
import { baseOf, uidOf } from '../format/uids.js';
import { foldName, type ImageIndex } from '../images/image-index.js';
import { indexedKeys, indexedTags, type ImageRecord, type IndexedKey } from '../images/image-record.js';
import type { ImageRecordModel, KeyCondition, PagePosition } from '../images/image-record.model.js';
import type { Visibility } from '../visibility.js';
import { meetsAll } from './matching.js';
import type { AttributeCondition, SearchQuery } from './query.js';
import { seriesRowsOfImage, studyJson, studyTags, type SeriesRow } from './rows.js';

/** The kind of results. */
export type SearchLevel = 'studies' | 'series' | 'instances';

/** Maximum number of images that one search considers. */
export const maxScannedImages = 100_000;
/** How many images are read at a time. */
const pageSize = 500;

/** Dependencies of {@link ImageSearch}. */
export interface SearchParts {
  records: HostRecords;
  access: HostAccess;
  images: Images;
  index: ImageIndex;
  model: ImageRecordModel;
  annotations: AnnotationServices;
  queue: WorkQueue;
}

/** A page of the results of a search. */
export interface SearchResult {
  rows: DicomJson[];
  /** Whether more results follow the page. */
  hasMore: boolean;
}

/** A search request, with the UIDs from its path. */
export interface SearchRequest {
  level: SearchLevel;
  query: SearchQuery;
  /** UID of the study. */
  study?: string;
  /** UID of the series. */
  series?: string;
  /** The address of the service, which begins the addresses of results. */
  root: string;
  visibility: Visibility;
  signal: AbortSignal;
}

/** An image that the caller can read. */
interface FoundImage {
  record: ImageRecord;
  /** Makes the series of the image and of its readable annotations. Results that the offset skips do not need them. */
  makeSeries: () => SeriesRow[];
}

/** Searches the images that a caller can read. */
export class ImageSearch {
  constructor(private readonly parts: SearchParts) {}

  /** Runs a search. @throws LargeImageError `too-large` if too many images would have to be considered. */
  async search(request: SearchRequest): Promise<SearchResult> {
    await this.parts.index.waitUntilSettled();
    const { visibility, signal } = request;
    return this.parts.queue.run(() => this.#search(request), { caller: callerName(visibility.caller), signal });
  }

  async #search(request: SearchRequest): Promise<SearchResult> {
    const { level, query } = request;
    const conditions = [...query.conditions, ...addressConditions(request)];
    const resultPage = new ResultPage(query);
    if (query.limit === 0) return resultPage.result;
    let studyImages: FoundImage[] = [];
    const hasOnlyStudyConditions = level === 'studies' && conditions.every(isStudyCondition);
    /** Adds the results for `studyImages`. @returns false if the page is complete and another result follows. */
    const addResultsOfStudy = async (): Promise<boolean> => {
      if (studyImages.length === 0) return true;
      if (hasOnlyStudyConditions && resultPage.isSkipping) {
        if (meetsAll(studyJson(studyImages[0]!.record), conditions, query.isFuzzy)) resultPage.skip();
        studyImages = [];
        return true;
      }
      if (level === 'studies') studyImages.push(...(await this.#otherImagesOfStudy(studyImages, request)));
      const images = studyImages;
      studyImages = [];
      for await (const row of makeRows(images, request, conditions)) if (!resultPage.add(row)) return false;
      return true;
    };
    for await (const image of this.#iterateCandidates(request, conditions)) {
      if (studyImages[0] !== undefined && studyImages[0].record.study !== image.record.study && !(await addResultsOfStudy()))
        return resultPage.result;
      studyImages.push(image);
      if (level !== 'studies' && !(await addResultsOfStudy())) return resultPage.result;
      if (isSliceOver()) await nextSlice(request.signal);
    }
    await addResultsOfStudy();
    return resultPage.result;
  }

  /** The other readable images of the study of `studyImages`, which the indexed conditions may have left out. */
  async #otherImagesOfStudy(studyImages: readonly FoundImage[], request: SearchRequest): Promise<FoundImage[]> {
    const { study, base } = studyImages[0]!.record;
    if (study === uidOf(base, 'study')) return [];
    const ids = new Set(studyImages.map(({ record }) => record.id));
    const records = (await this.parts.model.findByUid(study, null, maxScannedImages)).filter(({ id }) => !ids.has(id));
    const filter = await this.parts.access.filter(request.visibility.caller, 'item', 0);
    const otherImages: FoundImage[] = [];
    for await (const image of this.#filterReadable(records, request, filter)) otherImages.push(image);
    return otherImages;
  }

  /** Yields readable images that may match. Images of one study follow one another. */
  async *#iterateCandidates(request: SearchRequest, conditions: readonly AttributeCondition[]): AsyncGenerator<FoundImage> {
    const { visibility, signal } = request;
    const filter = await this.parts.access.filter(visibility.caller, 'item', 0);
    if (visibility.listItemIds !== null) {
      for await (const ids of visibility.listItemIds()) {
        const records = (await this.parts.model.getMany(ids)).filter(({ reason }) => reason === null);
        yield* this.#filterReadable(records.toSorted(compareByStudy), request, filter);
      }
      return;
    }
    const recordsOfUids = await this.#findByUids(conditions);
    if (recordsOfUids !== null) {
      yield* this.#filterReadable(recordsOfUids, request, filter);
      return;
    }
    const keyCondition = chooseKeyCondition(request.query.isFuzzy ? conditions.filter(({ vr }) => vr !== 'PN') : conditions);
    // Items and annotations are looked up only for images whose study meets the conditions on studies.
    const studyConditions = conditions.filter(isStudyCondition);
    const { limit, offset, isFuzzy } = request.query;
    // One result more than requested shows that there are more results. Another image shows that the study of this result is complete.
    const firstPageSize = Math.min(pageSize, limit + offset + 2);
    let scannedCount = 0;
    for (let after: PagePosition | null = null, size = firstPageSize; ; size = pageSize) {
      signal.throwIfAborted();
      const page: { record: ImageRecord; position: PagePosition }[] = await this.parts.model.page(keyCondition, {
        after,
        limit: size,
      });
      const records: ImageRecord[] = [];
      for (const { record } of page) {
        if (studyConditions.length === 0 || meetsAll(studyJson(record), studyConditions, isFuzzy)) records.push(record);
        if (isSliceOver()) await nextSlice(signal);
      }
      yield* this.#filterReadable(records, request, filter);
      if (page.length < size) return;
      after = page.at(-1)!.position;
      scannedCount += page.length;
      if (scannedCount >= maxScannedImages) {
        throw new LargeImageError(
          'too-large',
          `The search would examine more than ${maxScannedImages} images. Add a condition that uses an index, such as PatientID.`,
        );
      }
    }
  }

  /** The images with the requested UIDs; `null` if no condition requests UIDs. */
  async #findByUids(conditions: readonly AttributeCondition[]): Promise<ImageRecord[] | null> {
    for (const tag of ['0020000D', '00080018', '0020000E']) {
      const uidCondition = conditions.find(({ path, values }) => path.length === 1 && path[0] === tag && values.length > 0);
      if (uidCondition === undefined || uidCondition.values.some((value) => value.endsWith('*'))) continue;
      const recordById = new Map<string, ImageRecord>();
      for (const uid of new Set(uidCondition.values)) {
        for (const record of await this.parts.model.findByUid(uid, baseOf(uid), maxScannedImages))
          recordById.set(record.id, record);
      }
      // Series and instances of annotations cannot be found by their UIDs alone.
      if (recordById.size === 0 && tag !== '0020000D') continue;
      return [...recordById.values()].toSorted(compareByStudy);
    }
    return null;
  }

  /** Yields the images that the caller can read, with current records. */
  async *#filterReadable(
    records: readonly ImageRecord[],
    request: SearchRequest,
    filter: Record<string, unknown>,
  ): AsyncGenerator<FoundImage> {
    const { visibility } = request;
    const { caller } = visibility;
    if (records.length === 0) return;
    const { records: hostRecords, index } = this.parts;
    const ids = records.map(({ id }) => id);
    const [readableItems, annotationCounts] = await Promise.all([
      hostRecords.findItems(ids, filter),
      this.parts.annotations.lists.countReadableByItem(ids, caller),
    ]);
    const itemById = new Map(readableItems.map((item) => [item.id, item]));
    for (const imageRecord of records) {
      const item = itemById.get(imageRecord.id);
      if (item === undefined || !visibility.shows(item) || !(await this.#mayReadParts(item, caller))) continue;
      // Most records are current, and this check needs no query.
      const record = (await index.matchesItem(item, imageRecord))
        ? imageRecord
        : await index.loadCurrentRecord(item, imageRecord).catch(ignoreUnreadable);
      if (record === null || record.reason !== null) continue;
      const includesAssociated = await visibility.showsAssociated(item);
      const annotationRows = (annotationCounts.get(item.id) ?? 0) > 0 ? await this.#annotationSeriesRows(record, caller) : [];
      const makeSeries = () => [
        ...seriesRowsOfImage(record, includesAssociated).filter(({ instanceCount }) => instanceCount > 0),
        ...annotationRows,
      ];
      yield { record, makeSeries };
    }
  }

  async #annotationSeriesRows(record: ImageRecord, caller: Caller | null): Promise<SeriesRow[]> {
    const rows: SeriesRow[] = [];
    for await (const annotation of this.parts.annotations.lists.listInItem(record.id, caller)) {
      rows.push(annotationRow(record, annotation, rows.length));
    }
    return rows;
  }

  /** Whether the caller can read all parts of an image. */
  async #mayReadParts({ id, largeImage }: ItemRecord, caller: Caller | null): Promise<boolean> {
    const { images } = this.parts;
    if (images.registry.get(largeImage?.sourceName ?? '')?.readsFolder === undefined) return true;
    return (await images.load(id, caller).catch(ignoreUnreadable)) !== null;
  }
}

/** Whether a condition is on a study attribute, which is known without the instances of an image. */
function isStudyCondition({ path }: AttributeCondition): boolean {
  return path.length === 1 && studyTags.includes(path[0]!);
}

function compareByStudy(a: ImageRecord, b: ImageRecord): number {
  return a.study < b.study ? -1 : a.study > b.study ? 1 : 0;
}

function ignoreUnreadable(error: unknown): null {
  if (error instanceof LargeImageError && ['access-denied', 'tile-source', 'no-large-image', 'unknown-id'].includes(error.code))
    return null;
  throw error;
}

function addressConditions({ study, series }: SearchRequest): AttributeCondition[] {
  const uidCondition = (tag: string, value: string | undefined) =>
    value === undefined ? [] : [{ path: [tag], vr: 'UI', values: [value] }];
  return [...uidCondition('0020000D', study), ...uidCondition('0020000E', series)];
}

/** Chooses the condition that a database index narrows most; `null` if none uses an index. */
function chooseKeyCondition(conditions: readonly AttributeCondition[]): KeyCondition | null {
  for (const kind of ['equals', 'prefix', 'range'] as const) {
    for (const key of indexedKeys) {
      const condition = conditions.find(
        ({ path, values }) => path.length === 1 && path[0] === indexedTags[key] && values.length > 0,
      );
      const keyCondition = condition && createKeyCondition(key, condition, kind);
      if (keyCondition) return keyCondition;
    }
  }
  return null;
}

function createKeyCondition(
  key: IndexedKey,
  { vr, values }: AttributeCondition,
  kind: 'equals' | 'prefix' | 'range',
): KeyCondition | null {
  const foldedValues = vr === 'PN' ? values.map(foldName) : values;
  const [firstValue = ''] = foldedValues;
  if (vr === 'DA') {
    const [from = '', to] = firstValue.split('-');
    if (values.length > 1) return null;
    if (to === undefined) return kind === 'equals' ? { key, equals: [from] } : null;
    return kind === 'range' ? { key, ...(from !== '' && { from }), ...(to !== '' && { to: `${to}\u{10ffff}` }) } : null;
  }
  if (kind === 'equals')
    return foldedValues.every((value) => !/[*?]/.test(value)) && vr !== 'PN' ? { key, equals: foldedValues } : null;
  if (kind !== 'prefix' || values.length > 1) return null;
  const prefix = firstValue.slice(0, firstValue.search(/[*?]|$/));
  return prefix === '' ? null : { key, prefix };
}

/** Makes the result rows of one study, one at a time, because an image can have thousands of series. */
async function* makeRows(
  images: readonly FoundImage[],
  { level, query, root, signal }: SearchRequest,
  conditions: readonly AttributeCondition[],
): AsyncGenerator<DicomJson> {
  const [firstImage] = images;
  if (firstImage === undefined) return;
  const { study } = firstImage.record;
  const allSeries = images.flatMap(({ makeSeries }) => makeSeries());
  const url = `${root}/studies/${study}`;
  const studyRow: DicomJson = {
    ...studyJson(firstImage.record),
    '00080056': { vr: 'CS', Value: ['ONLINE'] },
    '00080061': { vr: 'CS', Value: [...new Set(allSeries.map(({ modality }) => modality))] },
    '00081190': { vr: 'UR', Value: [url] },
    '00201206': { vr: 'IS', Value: [allSeries.length] },
    '00201208': { vr: 'IS', Value: [allSeries.reduce((sum, { instanceCount }) => sum + instanceCount, 0)] },
  };
  const isMatch = (row: DicomJson) => meetsAll(row, conditions, query.isFuzzy);
  /** Whether a row meets all conditions. If it lacks an attribute, one of its instances and the row must meet all conditions together. */
  const fitsWithInstance = async (row: DicomJson, series: readonly SeriesRow[]): Promise<boolean> => {
    if (conditions.every((condition) => hasAttributeOf(row, condition))) return isMatch(row);
    for (const seriesToTry of series) {
      const attributesAboveInstance = { ...seriesToTry.makeAttributes(), ...row };
      for (const instance of seriesToTry.makeInstances()) {
        if (isMatch({ ...instance.makeAllAttributes(), ...attributesAboveInstance })) return true;
        if (isSliceOver()) await nextSlice(signal);
      }
    }
    return false;
  };
  if (level === 'studies') {
    if (await fitsWithInstance(studyRow, allSeries)) yield makeResultRow(studyRow, studyRow, query);
    return;
  }
  for (const series of allSeries) {
    const seriesRow: DicomJson = {
      ...studyRow,
      ...series.makeAttributes(),
      '00081190': { vr: 'UR', Value: [`${url}/series/${series.uid}`] },
      '00201209': { vr: 'IS', Value: [series.instanceCount] },
    };
    if (isSliceOver()) await nextSlice(signal);
    if (level === 'series') {
      if (await fitsWithInstance(seriesRow, [series])) yield makeResultRow(seriesRow, seriesRow, query);
      continue;
    }
    // If the series itself fails a condition, its instances need not be made.
    const conditionsAboveInstances = conditions.filter(({ path }) => path.length === 1 && tagsAboveInstances.has(path[0]!));
    if (!meetsAll(seriesRow, conditionsAboveInstances, query.isFuzzy)) continue;
    for (const instance of series.makeInstances()) {
      const instanceRow: DicomJson = {
        ...seriesRow,
        ...instance.makeAttributes(),
        '00081190': { vr: 'UR', Value: [`${url}/series/${series.uid}/instances/${instance.uid}`] },
      };
      const needsAllAttributes =
        query.include === 'all' ||
        query.include.size > 0 ||
        !conditions.every((condition) => hasAttributeOf(instanceRow, condition));
      const fullRow = needsAllAttributes ? { ...instance.makeAllAttributes(), ...instanceRow } : instanceRow;
      if (isMatch(fullRow)) yield makeResultRow(instanceRow, fullRow, query);
      if (isSliceOver()) await nextSlice(signal);
    }
  }
}

/** Attributes that all instances of a series share with it. */
const tagsAboveInstances: ReadonlySet<string> = new Set([...studyTags, '00080060', '0020000E']);

function hasAttributeOf(dataset: DicomJson, { path, values }: AttributeCondition): boolean {
  return values.length === 0 || dataset[path[0]!] !== undefined;
}

function makeResultRow(row: DicomJson, fullRow: DicomJson, { include }: SearchQuery): DicomJson {
  const includedAttributes =
    include === 'all'
      ? fullRow
      : Object.fromEntries([...include].flatMap((tag) => (fullRow[tag] === undefined ? [] : [[tag, fullRow[tag]]])));
  return Object.fromEntries(Object.entries({ ...includedAttributes, ...row }).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Collects the rows of a page. */
class ResultPage {
  readonly #rows: DicomJson[] = [];
  #skippedCount = 0;
  #hasMore = false;

  constructor(private readonly query: Pick<SearchQuery, 'limit' | 'offset'>) {}

  get result(): SearchResult {
    return { rows: this.#rows, hasMore: this.#hasMore };
  }

  /** Whether the offset skips the next result. */
  get isSkipping(): boolean {
    return this.#skippedCount < this.query.offset;
  }

  /** Skips a result because of the offset. */
  skip(): void {
    this.#skippedCount += 1;
  }

  /** Adds a result to the page. @returns false if the page is complete and this result follows it. */
  add(row: DicomJson): boolean {
    if (this.isSkipping) this.skip();
    else if (this.#rows.length < this.query.limit) this.#rows.push(row);
    else this.#hasMore = true;
    return !this.#hasMore;
  }
}
