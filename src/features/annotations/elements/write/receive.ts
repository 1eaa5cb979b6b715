import { bufferOf } from '../../../../core/buffer-of.js';
import { BadParameterError, LargeImageError } from '../../../../errors.js';
import { isLongText, parseJsonText, parseShortJson, decodeUtf8 } from '../../../../core/json.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { createGeoJsonReader, type GeoJsonReader } from '../../../../annotation-format/formats/geojson-import.js';
import { describeValue, addEntryNumber, schemaError } from '../../../../annotation-format/messages.js';
import type { BodySource, ElementWrite, ReceivedBody, ReadBodyOptions, StoredElements } from '../element-store.js';
import type { ListWriter } from './list-writer.js';
import { LineTexts } from './line-texts.js';
import type { LongElements } from './long-elements.js';
import type { FeatureElements } from './long-thread.js';
import { BodyScanner, type ElementSlice } from './body-scanner.js';
import { FamilyWrite, type WriteTools } from './write.js';

/** A list in a body. Its elements are stored as they arrive. */
interface ReceivedList {
  key: string;
  writer: ListWriter;
  /** Turns features into elements. `null` if the list contains elements, not features. */
  reader: GeoJsonReader | null;
  /** Index of the body's entry that contains this list. `null` if the body is not a list. */
  entryIndex: number | null;
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Yields the chunks of a body. @throws BadParameterError if the body ends before it is complete. */
async function* readChunks(body: BodySource): AsyncGenerator<Uint8Array, void, undefined> {
  if (Buffer.isBuffer(body)) {
    yield body;
    return;
  }
  try {
    for await (const chunk of body) yield chunk;
  } catch (cause) {
    if (cause instanceof LargeImageError) throw cause;
    throw new BadParameterError('The request body is incomplete.', { cause });
  }
}

/** See ElementStore.readBody. */
export function receiveBody(tools: WriteTools, body: BodySource, options: ReadBodyOptions): Promise<ElementWrite<ReceivedBody>> {
  return FamilyWrite.begin(tools, options.signal, (write) => storeLists(tools, write, body, options));
}

/** Stores the lists of elements of a body while the body arrives, and then parses the rest of the body. */
async function storeLists(
  tools: WriteTools,
  write: FamilyWrite,
  body: BodySource,
  { signal, transform }: ReadBodyOptions,
): Promise<ReceivedBody> {
  const scanner = new BodyScanner();
  const lists: ReceivedList[] = [];
  const lines = new LineTexts(tools.validate);
  for await (const chunk of readChunks(body)) {
    // Without this check, up to 32 packets (two megabytes) would be processed in one turn of the event loop.
    if (isSliceOver()) await nextSlice(signal);
    for (const event of scanner.push(chunk)) {
      signal?.throwIfAborted();
      if (event.kind === 'list-start') {
        const reader = event.key === 'features' ? createGeoJsonReader(tools.brand) : null;
        lists.push({ key: event.key, writer: write.startList(), reader, entryIndex: event.entryIndex });
      } else {
        const list = lists[event.listIndex] as ReceivedList;
        const task =
          event.kind === 'slice'
            ? storeSlice({ longElements: tools.longElements, lines }, list, event, { transform, signal })
            : list.writer.finish();
        await task.catch((error: unknown) => {
          throw list.entryIndex === null ? error : addEntryNumber(error, list.entryIndex);
        });
        if (isSliceOver()) await nextSlice(signal);
      }
    }
  }
  // The rest of the body can have megabytes, so it is joined, decoded and parsed in separate turns of the event loop.
  const restBytes = scanner.endBody();
  if (isSliceOver()) await nextSlice(signal);
  const text = decodeUtf8(restBytes);
  if (isSliceOver()) await nextSlice(signal);
  return assignLists(await parseJsonText(text, { signal }), lists);
}

async function storeSlice(
  { longElements, lines }: { longElements: LongElements; lines: LineTexts },
  { writer, reader }: ReceivedList,
  slice: ElementSlice,
  { transform, signal }: Pick<ReadBodyOptions, 'transform' | 'signal'>,
): Promise<void> {
  if (reader !== null) {
    for await (const elements of convertFeatures(longElements, reader, slice, signal)) {
      await writer.add(transform === undefined ? elements : await transform(elements));
    }
    return;
  }
  // `transform` needs parsed elements, so `lines` is not used with it.
  const values = await parseSlice(slice, { lines: transform === undefined ? lines : null, signal });
  const elements = transform === undefined ? values : await transform(values);
  // If `transform` has changed an element, the texts in the slice are no longer the texts of the elements.
  await writer.add(elements, elements === values ? slice : undefined);
}

/**
 * Makes the parser options for a text whose length was checked. Its number of containers is unlimited, because an element can have millions
 * of points.
 */
function parserOptionsFor(signal: AbortSignal | undefined): { signal: AbortSignal | undefined; maxContainers: number } {
  return { signal, maxContainers: Infinity };
}

/** Number of bytes to parse without a pause, which takes about 3 ms. */
const textBytesAtOnce = 64 * 1024;

/** Number of texts that are read between checks of the time. */
const textsAtOnce = 64;

/**
 * Parses the elements of a slice. With `lines`, polylines and arrows are read without parsing, and long elements become `null`, because
 * the writer reads them from the slice.
 */
async function parseSlice(
  slice: ElementSlice,
  { lines, signal }: { lines: LineTexts | null; signal: AbortSignal | undefined },
): Promise<unknown[]> {
  const { starts, ends, count } = slice;
  const isLong = (i: number) => isLongText(ends[i]! - starts[i]!);
  const values: unknown[] = [];
  lines?.begin(slice);
  /** Index of the first element that is not parsed yet. */
  let from = 0;
  for (let i = 0; i < count; i += 1) {
    if (i % textsAtOnce === 0 && isSliceOver()) await nextSlice(signal);
    const line = isLong(i) ? null : (lines?.read(slice, i) ?? null);
    if (line === null && !isLong(i)) continue;
    await parseShortInto(slice, { from, to: i }, values, signal);
    from = i + 1;
    if (lines !== null) values.push(line);
    else values.push(await parseJsonText(textOfRange(slice, i, i + 1), parserOptionsFor(signal)));
  }
  await parseShortInto(slice, { from, to: count }, values, signal);
  return values;
}

/** Parses a range of elements or features of a slice, none of which is long, and appends them to `values`. */
async function parseShortInto(
  slice: ElementSlice,
  range: { from: number; to: number },
  values: unknown[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { starts, ends } = slice;
  let { from } = range;
  while (from < range.to) {
    let to = from + 1;
    while (to < range.to && ends[to]! - starts[from]! <= textBytesAtOnce) to += 1;
    // The scanner has already limited the nesting depth.
    for (const value of parseShortJson(`[${textOfRange(slice, from, to)}]`) as unknown[]) values.push(value);
    if (isSliceOver()) await nextSlice(signal);
    from = to;
  }
}

function textOfRange(slice: ElementSlice, from: number, to: number): string {
  return decodeUtf8(slice.bytes.subarray(slice.starts[from], slice.ends[to - 1]));
}

/** Number of elements made from features that are stored at a time. */
const elementsPerBatch = 1024;

/** Turns the features of a slice into elements, and yields the elements in batches. Long features are read in a thread. */
async function* convertFeatures(
  longElements: LongElements,
  reader: GeoJsonReader,
  slice: ElementSlice,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown[], void, undefined> {
  const { starts, ends, firstIndex } = slice;
  for (let from = 0, to = 0; from < slice.count; from = to) {
    while (to < slice.count && !isLongText(ends[to]! - starts[to]!)) to += 1;
    if (to > from) {
      const features: unknown[] = [];
      await parseShortInto(slice, { from, to }, features, signal);
      let batch: unknown[] = [];
      for (const [i, feature] of features.entries()) {
        for (const element of reader.read(feature, firstIndex + from + i)) batch.push(element);
        if (batch.length >= elementsPerBatch) {
          yield batch;
          batch = [];
        }
        if (isSliceOver()) await nextSlice(signal);
      }
      yield batch;
      continue;
    }
    const feature = Buffer.from(slice.bytes.subarray(starts[to], ends[to]));
    const result = await longElements.readFeature(feature, firstIndex + to, signal);
    reader.addOtherReader(result.annotation, result.skippedCount);
    yield* parseFeatureElements(result, signal);
    to += 1;
  }
}

async function* parseFeatureElements(
  { text, ends }: FeatureElements,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown[], void, undefined> {
  const texts = bufferOf(text);
  for (let from = 0; from < ends.length; from += elementsPerBatch) {
    const batch: unknown[] = [];
    for (let i = from; i < Math.min(ends.length, from + elementsPerBatch); i += 1) {
      batch.push(await parseJsonText(texts.toString('utf8', i === 0 ? 0 : ends[i - 1], ends[i]), parserOptionsFor(signal)));
      if (isSliceOver()) await nextSlice(signal);
    }
    yield batch;
  }
}

/** Maximum number of entries of a body that is a list. Lists of elements in the body are not limited. */
const maxEntries = 100_000;

/** Assigns the stored lists to the objects that contained them. The scanner has replaced each list by `[index of the list]`. */
function assignLists(value: unknown, lists: readonly ReceivedList[]): ReceivedBody {
  if (Array.isArray(value) && value.length > maxEntries) {
    throw new BadParameterError(`The request body is a list of more than ${maxEntries} entries: ${value.length}.`);
  }
  const elements = new Map<object, StoredElements>();
  const readers = new Map<object, GeoJsonReader>();
  const assignedLists = new Set<number>();
  const assignList = (object: JsonObject, key: string): void => {
    const placeholder = object[key];
    const listIndex: unknown = Array.isArray(placeholder) ? placeholder[0] : undefined;
    const list = typeof listIndex === 'number' ? lists[listIndex] : undefined;
    if (list === undefined) throw schemaError(`${key}: must be an array, not ${describeValue(placeholder)}`);
    assignedLists.add(listIndex as number);
    // Only a FeatureCollection has features. In any other object the key stays, so that the check of the document refuses it.
    if (key === 'features' && object.type !== 'FeatureCollection') return;
    delete object[key];
    elements.set(object, list.writer.elements());
    if (list.reader !== null) readers.set(object, list.reader);
  };
  const assignListsIn = (body: unknown): void => {
    if (!isObject(body)) return;
    for (const key of ['elements', 'features']) if (Object.hasOwn(body, key)) assignList(body, key);
  };
  for (const entry of Array.isArray(value) ? (value as unknown[]) : [value]) {
    assignListsIn(entry);
    if (isObject(entry) && isObject(entry.annotation) && Object.hasOwn(entry.annotation, 'elements')) {
      assignList(entry.annotation, 'elements');
    }
  }
  // If a key is repeated in an object, its second list hides the first.
  const hiddenList = lists.find((_, listIndex) => !assignedLists.has(listIndex));
  if (hiddenList !== undefined)
    throw new BadParameterError(`The key "${hiddenList.key}" is repeated in one object of the request body.`);
  return {
    value,
    elementsOf: (body) => elements.get(body as object) ?? null,
    annotationOf: (collection) => readers.get(collection as object)?.head ?? null,
    skippedCountOf: (collection) => readers.get(collection as object)?.skipped ?? 0,
  };
}
