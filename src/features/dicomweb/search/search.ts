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
import { foldedName, type ImageIndex } from '../images/image-index.js';
import { indexedKeys, indexedTags, type ImageRecord, type IndexedKey } from '../images/image-record.js';
import type { ImageRecordModel, KeyCondition, Place } from '../images/image-record.model.js';
import type { Asker } from '../visibility.js';
import { meets } from './matching.js';
import type { Match, SearchQuery } from './query.js';
import { imageSeries, studyJson, studyTags, type SeriesRow } from './rows.js';

/** The kind of results. */
export type SearchLevel = 'studies' | 'series' | 'instances';

/** Maximum number of images that one search considers. */
export const maxScanned = 100_000;
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

/** The result of a search. */
export interface SearchResult {
  rows: DicomJson[];
  /** Whether there are more results. */
  hasMore: boolean;
}

/** A search with the data from its address. */
export interface SearchRequest {
  level: SearchLevel;
  query: SearchQuery;
  study?: string;
  series?: string;
  /** Start of the addresses of results. */
  root: string;
  asker: Asker;
  signal: AbortSignal;
}

/** An image of a result, with its readable annotations. */
interface Image {
  record: ImageRecord;
  /** Made only when needed, because results that the offset skips need none. */
  series: () => SeriesRow[];
}

/** Searches the images that a caller can read. */
export class ImageSearch {
  constructor(private readonly parts: SearchParts) {}

  /** @throws LargeImageError `too-large` if too many images would have to be considered. */
  async search(request: SearchRequest): Promise<SearchResult> {
    await this.parts.index.settled();
    const { asker, signal } = request;
    return this.parts.queue.run(() => this.#search(request), { caller: callerName(asker.caller), signal });
  }

  async #search(request: SearchRequest): Promise<SearchResult> {
    const { level, query } = request;
    const matches = [...query.matches, ...addressMatches(request)];
    const resultPage = new ResultPage(query);
    if (query.limit === 0) return resultPage.result;
    let group: Image[] = [];
    const hasOnlyStudyMatches = level === 'studies' && matches.every(isOfStudy);
    const flush = async (): Promise<boolean> => {
      if (group.length === 0) return true;
      if (hasOnlyStudyMatches && resultPage.isSkipping) {
        if (meets(studyJson(group[0]!.record), matches, query.fuzzy)) resultPage.skip();
        group = [];
        return true;
      }
      if (level === 'studies') group.push(...(await this.#othersOf(group, request)));
      const images = group;
      group = [];
      for await (const row of rowsOf(images, request, matches)) if (!resultPage.add(row)) return false;
      return true;
    };
    for await (const image of this.#images(request, matches)) {
      if (group[0] !== undefined && group[0].record.study !== image.record.study && !(await flush())) return resultPage.result;
      group.push(image);
      if (level !== 'studies' && !(await flush())) return resultPage.result;
      if (isSliceOver()) await nextSlice(request.signal);
    }
    await flush();
    return resultPage.result;
  }

  /** The other readable images of a study, which the indexed conditions may have left out. */
  async #othersOf(group: readonly Image[], request: SearchRequest): Promise<Image[]> {
    const { study, base } = group[0]!.record;
    if (study === uidOf(base, 'study')) return [];
    const ids = new Set(group.map(({ record }) => record.id));
    const records = (await this.parts.model.ofUid(study, null, maxScanned)).filter(({ id }) => !ids.has(id));
    const filter = await this.parts.access.filter(request.asker.caller, 'item', 0);
    const others: Image[] = [];
    for await (const image of this.#readable(records, request, filter)) others.push(image);
    return others;
  }

  /** Images that may match, with those of one study consecutive. */
  async *#images(request: SearchRequest, matches: readonly Match[]): AsyncGenerator<Image> {
    const { asker, signal } = request;
    const filter = await this.parts.access.filter(asker.caller, 'item', 0);
    if (asker.itemIds !== null) {
      for await (const ids of asker.itemIds()) {
        const records = (await this.parts.model.some(ids)).filter(({ reason }) => reason === null);
        yield* this.#readable(records.toSorted(byStudy), request, filter);
      }
      return;
    }
    const byUid = await this.#ofUids(matches);
    if (byUid !== null) {
      yield* this.#readable(byUid, request, filter);
      return;
    }
    const condition = conditionOf(request.query.fuzzy ? matches.filter(({ vr }) => vr !== 'PN') : matches);
    // Items and annotations are looked up only for images of studies that can be the result.
    const studyMatches = matches.filter(isOfStudy);
    const { limit, offset, fuzzy } = request.query;
    // One more result shows that there are further ones, and the image after it that its study is complete.
    const first = Math.min(pageSize, limit + offset + 2);
    let scanned = 0;
    for (let after: Place | null = null, size = first; ; size = pageSize) {
      signal.throwIfAborted();
      const page: { record: ImageRecord; place: Place }[] = await this.parts.model.page(condition, { after, limit: size });
      const records: ImageRecord[] = [];
      for (const { record } of page) {
        if (studyMatches.length === 0 || meets(studyJson(record), studyMatches, fuzzy)) records.push(record);
        if (isSliceOver()) await nextSlice(signal);
      }
      yield* this.#readable(records, request, filter);
      if (page.length < size) return;
      after = page.at(-1)!.place;
      scanned += page.length;
      if (scanned >= maxScanned) {
        throw new LargeImageError(
          'too-large',
          `The search would examine more than ${maxScanned} images. Add a condition that uses an index, such as PatientID.`,
        );
      }
    }
  }

  /** The images with the requested UIDs; `null` if the search has none. */
  async #ofUids(matches: readonly Match[]): Promise<ImageRecord[] | null> {
    for (const tag of ['0020000D', '00080018', '0020000E']) {
      const match = matches.find(({ path, values }) => path.length === 1 && path[0] === tag && values.length > 0);
      if (match === undefined || match.values.some((value) => value.endsWith('*'))) continue;
      const recordById = new Map<string, ImageRecord>();
      for (const uid of new Set(match.values)) {
        for (const record of await this.parts.model.ofUid(uid, baseOf(uid), maxScanned)) recordById.set(record.id, record);
      }
      // Series and instances of annotations cannot be found by their UIDs alone.
      if (recordById.size === 0 && tag !== '0020000D') continue;
      return [...recordById.values()].toSorted(byStudy);
    }
    return null;
  }

  /** Filters images to those that the caller can read, with current records. */
  async *#readable(
    records: readonly ImageRecord[],
    request: SearchRequest,
    filter: Record<string, unknown>,
  ): AsyncGenerator<Image> {
    const { asker } = request;
    const { caller } = asker;
    if (records.length === 0) return;
    const { records: host, index } = this.parts;
    const ids = records.map(({ id }) => id);
    const [readableItems, counts] = await Promise.all([
      host.findItems(ids, filter),
      this.parts.annotations.lists.countsOf(ids, caller),
    ]);
    const items = new Map(readableItems.map((item) => [item.id, item]));
    for (const imageRecord of records) {
      const item = items.get(imageRecord.id);
      if (item === undefined || !asker.shows(item) || !(await this.#mayReadParts(item, caller))) continue;
      // Most records are current, and this check needs no query.
      const record = (await index.isOfItem(item, imageRecord))
        ? imageRecord
        : await index.current(item, imageRecord).catch(ignoreUnreadable);
      if (record === null || record.reason !== null) continue;
      const withAssociated = await asker.showsAssociated(item);
      const annotationSeries = (counts.get(item.id) ?? 0) > 0 ? await this.#annotationRows(record, caller) : [];
      const series = () => [...imageSeries(record, withAssociated).filter(({ count }) => count > 0), ...annotationSeries];
      yield { record, series };
    }
  }

  async #annotationRows(record: ImageRecord, caller: Caller | null): Promise<SeriesRow[]> {
    const rows: SeriesRow[] = [];
    for await (const annotation of this.parts.annotations.lists.ofItem(record.id, caller)) {
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

/** Whether a condition is on an attribute of studies that records have. */
function isOfStudy({ path }: Match): boolean {
  return path.length === 1 && studyTags.includes(path[0]!);
}

function byStudy(a: ImageRecord, b: ImageRecord): number {
  return a.study < b.study ? -1 : a.study > b.study ? 1 : 0;
}

function ignoreUnreadable(error: unknown): null {
  if (error instanceof LargeImageError && ['access-denied', 'tile-source', 'no-large-image', 'unknown-id'].includes(error.code))
    return null;
  throw error;
}

function addressMatches({ study, series }: SearchRequest): Match[] {
  const one = (tag: string, value: string | undefined) =>
    value === undefined ? [] : [{ path: [tag], vr: 'UI', values: [value] }];
  return [...one('0020000D', study), ...one('0020000E', series)];
}

/** The condition that the index answers best. */
function conditionOf(matches: readonly Match[]): KeyCondition | null {
  for (const kind of ['equals', 'prefix', 'range'] as const) {
    for (const key of indexedKeys) {
      const match = matches.find(({ path, values }) => path.length === 1 && path[0] === indexedTags[key] && values.length > 0);
      const condition = match && keyCondition(key, match, kind);
      if (condition) return condition;
    }
  }
  return null;
}

function keyCondition(key: IndexedKey, { vr, values }: Match, kind: 'equals' | 'prefix' | 'range'): KeyCondition | null {
  const folded = vr === 'PN' ? values.map(foldedName) : values;
  const [first = ''] = folded;
  if (vr === 'DA') {
    const [from = '', to] = first.split('-');
    if (values.length > 1) return null;
    if (to === undefined) return kind === 'equals' ? { key, equals: [from] } : null;
    return kind === 'range' ? { key, ...(from !== '' && { from }), ...(to !== '' && { to: `${to}\u{10ffff}` }) } : null;
  }
  if (kind === 'equals') return folded.every((value) => !/[*?]/.test(value)) && vr !== 'PN' ? { key, equals: folded } : null;
  if (kind !== 'prefix' || values.length > 1) return null;
  const prefix = first.slice(0, first.search(/[*?]|$/));
  return prefix === '' ? null : { key, prefix };
}

/** Rows of one study, made one after the other, because an image can have thousands of series. */
async function* rowsOf(
  images: readonly Image[],
  { level, query, root, signal }: SearchRequest,
  matches: readonly Match[],
): AsyncGenerator<DicomJson> {
  const [first] = images;
  if (first === undefined) return;
  const { study } = first.record;
  const allSeries = images.flatMap(({ series }) => series());
  const url = `${root}/studies/${study}`;
  const studyRow: DicomJson = {
    ...studyJson(first.record),
    '00080056': { vr: 'CS', Value: ['ONLINE'] },
    '00080061': { vr: 'CS', Value: [...new Set(allSeries.map(({ modality }) => modality))] },
    '00081190': { vr: 'UR', Value: [url] },
    '00201206': { vr: 'IS', Value: [allSeries.length] },
    '00201208': { vr: 'IS', Value: [allSeries.reduce((sum, { count }) => sum + count, 0)] },
  };
  const isMatch = (row: DicomJson) => meets(row, matches, query.fuzzy);
  /** Whether a row fits, with attributes of one of its instances if conditions are on these. */
  const hasFitting = async (row: DicomJson, series: readonly SeriesRow[]): Promise<boolean> => {
    if (matches.every((match) => isOf(row, match))) return isMatch(row);
    for (const each of series) {
      const upper = { ...each.attributes(), ...row };
      for (const instance of each.instances()) {
        if (isMatch({ ...instance.all(), ...upper })) return true;
        if (isSliceOver()) await nextSlice(signal);
      }
    }
    return false;
  };
  if (level === 'studies') {
    if (await hasFitting(studyRow, allSeries)) yield resultRow(studyRow, studyRow, query);
    return;
  }
  for (const series of allSeries) {
    const seriesRow: DicomJson = {
      ...studyRow,
      ...series.attributes(),
      '00081190': { vr: 'UR', Value: [`${url}/series/${series.uid}`] },
      '00201209': { vr: 'IS', Value: [series.count] },
    };
    if (isSliceOver()) await nextSlice(signal);
    if (level === 'series') {
      if (await hasFitting(seriesRow, [series])) yield resultRow(seriesRow, seriesRow, query);
      continue;
    }
    // Conditions on the series itself need none of its instances.
    const upper = matches.filter(({ path }) => path.length === 1 && tagsAboveInstances.has(path[0]!));
    if (!meets(seriesRow, upper, query.fuzzy)) continue;
    for (const instance of series.instances()) {
      const base: DicomJson = {
        ...seriesRow,
        ...instance.attributes(),
        '00081190': { vr: 'UR', Value: [`${url}/series/${series.uid}/instances/${instance.uid}`] },
      };
      const needsAll = query.include === 'all' || query.include.size > 0 || !matches.every((match) => isOf(base, match));
      const row = needsAll ? { ...instance.all(), ...base } : base;
      if (isMatch(row)) yield resultRow(base, row, query);
      if (isSliceOver()) await nextSlice(signal);
    }
  }
}

/** Attributes that all instances of a series share with it. */
const tagsAboveInstances: ReadonlySet<string> = new Set([...studyTags, '00080060', '0020000E']);

function isOf(dataset: DicomJson, { path, values }: Match): boolean {
  return values.length === 0 || dataset[path[0]!] !== undefined;
}

function resultRow(base: DicomJson, all: DicomJson, { include }: SearchQuery): DicomJson {
  const more =
    include === 'all'
      ? all
      : Object.fromEntries([...include].flatMap((tag) => (all[tag] === undefined ? [] : [[tag, all[tag]]])));
  return Object.fromEntries(Object.entries({ ...more, ...base }).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Collects the rows of a page. */
class ResultPage {
  readonly #rows: DicomJson[] = [];
  #skipped = 0;
  #hasMore = false;

  constructor(private readonly query: Pick<SearchQuery, 'limit' | 'offset'>) {}

  get result(): SearchResult {
    return { rows: this.#rows, hasMore: this.#hasMore };
  }

  /** Whether the next result is left out because of the offset. */
  get isSkipping(): boolean {
    return this.#skipped < this.query.offset;
  }

  /** Leaves out a result. */
  skip(): void {
    this.#skipped += 1;
  }

  /** @returns false if there are enough. */
  add(row: DicomJson): boolean {
    if (this.isSkipping) this.skip();
    else if (this.#rows.length < this.query.limit) this.#rows.push(row);
    else this.#hasMore = true;
    return !this.#hasMore;
  }
}
