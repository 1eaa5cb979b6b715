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

/** A list of the body that is being stored. */
interface ReceivedList {
  key: string;
  writer: ListWriter;
  /** Reader of a list of GeoJSON features. */
  reader: GeoJsonReader | null;
  /** The entry of the body that contains the list; `null` if the body is not a list. */
  entry: number | null;
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The chunks of a body. @throws BadParameterError if the body ends before it is complete. */
async function* chunksOf(body: BodySource): AsyncGenerator<Uint8Array, void, undefined> {
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
  return FamilyWrite.begin(tools, options.signal, (write) => receive(tools, write, body, options));
}

async function receive(
  tools: WriteTools,
  write: FamilyWrite,
  body: BodySource,
  { signal, prepare }: ReadBodyOptions,
): Promise<ReceivedBody> {
  const scanner = new BodyScanner();
  const lists: ReceivedList[] = [];
  const lines = new LineTexts(tools.validate);
  for await (const chunk of chunksOf(body)) {
    // Without this check, up to 32 packets (two megabytes) would be processed in one turn of the event loop.
    if (isSliceOver()) await nextSlice(signal);
    for (const event of scanner.push(chunk)) {
      signal?.throwIfAborted();
      if (event.kind === 'list-start') {
        const reader = event.key === 'features' ? createGeoJsonReader(tools.brand) : null;
        lists.push({ key: event.key, writer: write.startList(), reader, entry: event.entry });
      } else {
        const list = lists[event.list] as ReceivedList;
        const added =
          event.kind === 'slice'
            ? storeSlice({ long: tools.long, lines }, list, event, { prepare, signal })
            : list.writer.finish();
        await added.catch((error: unknown) => {
          throw list.entry === null ? error : addEntryNumber(error, list.entry);
        });
        if (isSliceOver()) await nextSlice(signal);
      }
    }
  }
  // Megabytes are joined and decoded, each in a separate turn of the event loop.
  const rest = scanner.endBody();
  if (isSliceOver()) await nextSlice(signal);
  const text = decodeUtf8(rest);
  if (isSliceOver()) await nextSlice(signal);
  return assignLists(await parseJsonText(text, { signal }), lists);
}

async function storeSlice(
  { long, lines }: { long: LongElements; lines: LineTexts },
  { writer, reader }: ReceivedList,
  slice: ElementSlice,
  { prepare, signal }: Pick<ReadBodyOptions, 'prepare' | 'signal'>,
): Promise<void> {
  if (reader !== null) {
    for await (const elements of convertFeatures(long, reader, slice, signal)) {
      await writer.add(prepare === undefined ? elements : await prepare(elements));
    }
    return;
  }
  // Prepared elements must have been parsed.
  const values = await parseSlice(slice, { lines: prepare === undefined ? lines : null, signal });
  const prepared = prepare === undefined ? values : await prepare(values);
  // The texts in the slice are valid only while `prepare` has not changed the elements.
  await writer.add(prepared, prepared === values ? slice : undefined);
}

/** Parser options for text whose length is limited already. Containers are not limited, because an element can have millions of points. */
function lengthLimitedOptions(signal: AbortSignal | undefined): { signal: AbortSignal | undefined; maxContainers: number } {
  return { signal, maxContainers: Infinity };
}

/** Bytes of element texts that are parsed without a pause, which takes about 3 ms. */
const textBytesAtOnce = 64 * 1024;

/** Number of texts that are read between checks of the time. */
const textsAtOnce = 64;

/** The elements of a slice: parsed, or if `lines` is given, some as line texts and `null` for long ones. */
async function parseSlice(
  slice: ElementSlice,
  { lines, signal }: { lines: LineTexts | null; signal: AbortSignal | undefined },
): Promise<unknown[]> {
  const { starts, ends, count } = slice;
  const isLong = (i: number) => isLongText(ends[i]! - starts[i]!);
  const values: unknown[] = [];
  lines?.begin(slice);
  /** First of the elements that are parsed together. */
  let from = 0;
  for (let i = 0; i < count; i += 1) {
    if (i % textsAtOnce === 0 && isSliceOver()) await nextSlice(signal);
    const line = isLong(i) ? null : (lines?.read(slice, i) ?? null);
    if (line === null && !isLong(i)) continue;
    await parseShort(slice, { from, to: i }, values, signal);
    from = i + 1;
    if (lines !== null) values.push(line);
    else values.push(await parseJsonText(sliceText(slice, i, i + 1), lengthLimitedOptions(signal)));
  }
  await parseShort(slice, { from, to: count }, values, signal);
  return values;
}

/** Adds the parsed elements or features of a part of a slice to `values`. None of them is long. */
async function parseShort(
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
    // The scanner has limited how deeply they are nested.
    for (const value of parseShortJson(`[${sliceText(slice, from, to)}]`) as unknown[]) values.push(value);
    if (isSliceOver()) await nextSlice(signal);
    from = to;
  }
}

function sliceText(slice: ElementSlice, from: number, to: number): string {
  return decodeUtf8(slice.bytes.subarray(slice.starts[from], slice.ends[to - 1]));
}

/** Number of elements made from features that are stored at a time. */
const elementsPerPart = 1024;

/** The elements of the features of a slice, a few at a time. Long features are read in a thread. */
async function* convertFeatures(
  long: LongElements,
  reader: GeoJsonReader,
  slice: ElementSlice,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown[], void, undefined> {
  const { starts, ends, first } = slice;
  for (let from = 0, to = 0; from < slice.count; from = to) {
    while (to < slice.count && !isLongText(ends[to]! - starts[to]!)) to += 1;
    if (to > from) {
      const features: unknown[] = [];
      await parseShort(slice, { from, to }, features, signal);
      let part: unknown[] = [];
      for (const [i, feature] of features.entries()) {
        for (const element of reader.read(feature, first + from + i)) part.push(element);
        if (part.length >= elementsPerPart) {
          yield part;
          part = [];
        }
        if (isSliceOver()) await nextSlice(signal);
      }
      yield part;
      continue;
    }
    const feature = Buffer.from(slice.bytes.subarray(starts[to], ends[to]));
    const result = await long.readFeature(feature, first + to, signal);
    reader.addOtherReader(result.annotation, result.skipped);
    yield* parseFeatureElements(result, signal);
    to += 1;
  }
}

async function* parseFeatureElements(
  { text, ends }: FeatureElements,
  signal: AbortSignal | undefined,
): AsyncGenerator<unknown[], void, undefined> {
  const texts = bufferOf(text);
  for (let from = 0; from < ends.length; from += elementsPerPart) {
    const part: unknown[] = [];
    for (let i = from; i < Math.min(ends.length, from + elementsPerPart); i += 1) {
      part.push(await parseJsonText(texts.toString('utf8', i === 0 ? 0 : ends[i - 1], ends[i]), lengthLimitedOptions(signal)));
      if (isSliceOver()) await nextSlice(signal);
    }
    yield part;
  }
}

/** Maximum number of entries of a body that is a list, apart from lists of elements. */
const maxEntries = 100_000;

/** Assigns the stored lists to their objects. The scanner has replaced each list by `[number]`. */
function assignLists(value: unknown, lists: readonly ReceivedList[]): ReceivedBody {
  if (Array.isArray(value) && value.length > maxEntries) {
    throw new BadParameterError(`The body is a list of more than ${maxEntries} entries: ${value.length}.`);
  }
  const elements = new Map<object, StoredElements>();
  const readers = new Map<object, GeoJsonReader>();
  const assignedLists = new Set<number>();
  const assignList = (object: JsonObject, key: string): void => {
    const placeholder = object[key];
    const number: unknown = Array.isArray(placeholder) ? placeholder[0] : undefined;
    const list = typeof number === 'number' ? lists[number] : undefined;
    if (list === undefined) throw schemaError(`${key}: must be an array, not ${describeValue(placeholder)}`);
    assignedLists.add(number as number);
    // Only a FeatureCollection has this member; on other objects, the check of the document reports it.
    if (key === 'features' && object.type !== 'FeatureCollection') return;
    delete object[key];
    elements.set(object, list.writer.elements());
    if (list.reader !== null) readers.set(object, list.reader);
  };
  const assignListsOf = (body: unknown): void => {
    if (!isObject(body)) return;
    for (const key of ['elements', 'features']) if (Object.hasOwn(body, key)) assignList(body, key);
  };
  for (const entry of Array.isArray(value) ? (value as unknown[]) : [value]) {
    assignListsOf(entry);
    if (isObject(entry) && isObject(entry.annotation) && Object.hasOwn(entry.annotation, 'elements')) {
      assignList(entry.annotation, 'elements');
    }
  }
  // A repeated key hides the first list.
  const hiddenList = lists.find((_, number) => !assignedLists.has(number));
  if (hiddenList !== undefined)
    throw new BadParameterError(`The key "${hiddenList.key}" is repeated in one object of the request body.`);
  return {
    value,
    elementsOf: (body) => elements.get(body as object) ?? null,
    annotationOf: (collection) => readers.get(collection as object)?.head ?? null,
    skippedOf: (collection) => readers.get(collection as object)?.skipped ?? 0,
  };
}
