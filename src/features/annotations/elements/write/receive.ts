import { BadParameterError, LargeImageError } from '../../../../errors.js';
import { parseJsonText, textOf } from '../../../../core/json.js';
import { isSliceOver, nextSlice } from '../../../../core/slices.js';
import { createGeoJsonReader, type GeoJsonReader } from '../../../../annotation-format/formats/geojson-import.js';
import { describeValue, inEntry, schemaError } from '../../../../annotation-format/messages.js';
import type { Publish, ReceivedBody, ReceiveOptions, StoredElements } from '../contract.js';
import type { ListWriter } from './list-writer.js';
import { BodyScanner, type ElementSlice } from '../read/scanner.js';
import { FamilyWrite, type WriteTools } from './write.js';

/** A list of the body that is being stored. */
interface ReceivedList {
  key: string;
  writer: ListWriter;
  /** Of lists of GeoJSON features. */
  reader: GeoJsonReader | null;
  /** Which entry of the body has the list; `null` where the body is no list. */
  entry: number | null;
}

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The chunks of a body. @throws BadParameterError when the body ends before it is complete. */
async function* chunksOf(body: Buffer | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  if (Buffer.isBuffer(body)) {
    yield body;
    return;
  }
  try {
    for await (const chunk of body) yield chunk;
  } catch (cause) {
    if (cause instanceof LargeImageError) throw cause;
    throw new BadParameterError('The request body stopped half way.', { cause });
  }
}

/** See ElementStore.readBody. */
export async function receiveBody<Result>(
  tools: WriteTools,
  body: Buffer | AsyncIterable<Uint8Array>,
  publish: Publish<ReceivedBody, Result>,
  options: ReceiveOptions,
): Promise<Result> {
  return FamilyWrite.run(tools, options.signal, (write) => receive(tools, write, body, options), publish);
}

async function receive(
  tools: WriteTools,
  write: FamilyWrite,
  body: Buffer | AsyncIterable<Uint8Array>,
  { signal, prepare }: ReceiveOptions,
): Promise<ReceivedBody> {
  const scanner = new BodyScanner();
  const lists: ReceivedList[] = [];
  for await (const chunk of chunksOf(body)) {
    for (const event of scanner.push(chunk)) {
      signal?.throwIfAborted();
      if (event.kind === 'list-start') {
        const reader = event.key === 'features' ? createGeoJsonReader(tools.brand) : null;
        lists.push({ key: event.key, writer: write.list(), reader, entry: event.entry });
      } else {
        const list = lists[event.list] as ReceivedList;
        await (event.kind === 'slice' ? addSlice(list, event, { prepare, signal }) : list.writer.finish()).catch(
          (error: unknown) => {
            throw list.entry === null ? error : inEntry(error, list.entry);
          },
        );
        if (isSliceOver()) await nextSlice(signal);
      }
    }
  }
  return attach(await parseJsonText(textOf(scanner.finish()), signal), lists);
}

async function addSlice(
  { writer, reader }: ReceivedList,
  slice: ElementSlice,
  { prepare, signal }: Pick<ReceiveOptions, 'prepare' | 'signal'>,
): Promise<void> {
  const start = slice.starts[0] as number;
  const end = slice.ends[slice.count - 1] as number;
  const values = (await parseJsonText(`[${textOf(slice.bytes.subarray(start, end))}]`, signal)) as unknown[];
  const elements = reader === null ? values : values.flatMap((feature, i) => reader.read(feature, slice.first + i));
  const prepared = prepare === undefined ? elements : await prepare(elements);
  // The texts are those of the elements only while they are what was sent.
  await writer.add(prepared, prepared === values ? slice : undefined);
}

/** Puts the lists where they were: the rest holds the number of each in its brackets. */
function attach(value: unknown, lists: readonly ReceivedList[]): ReceivedBody {
  const elements = new Map<object, StoredElements>();
  const annotations = new Map<object, JsonObject>();
  const attached = new Set<number>();
  const take = (holder: JsonObject, key: string): void => {
    const mark = holder[key];
    const number: unknown = Array.isArray(mark) ? mark[0] : undefined;
    const list = typeof number === 'number' ? lists[number] : undefined;
    if (list === undefined) throw schemaError(`${key}: must be an array, not ${describeValue(mark)}`);
    attached.add(number as number);
    // Whoever is no FeatureCollection has no such member: the check of the head says so.
    if (key === 'features' && holder.type !== 'FeatureCollection') return;
    delete holder[key];
    elements.set(holder, list.writer.elements());
    if (list.reader !== null) annotations.set(holder, list.reader.head);
  };
  const takeAll = (holder: unknown): void => {
    if (!isObject(holder)) return;
    for (const key of ['elements', 'features']) if (Object.hasOwn(holder, key)) take(holder, key);
  };
  for (const entry of Array.isArray(value) ? (value as unknown[]) : [value]) {
    takeAll(entry);
    if (isObject(entry) && isObject(entry.annotation) && Object.hasOwn(entry.annotation, 'elements')) {
      take(entry.annotation, 'elements');
    }
  }
  // A key that stands twice hides the first list.
  const hidden = lists.find((_, number) => !attached.has(number));
  if (hidden !== undefined)
    throw new BadParameterError(`The key "${hidden.key}" stands twice in one object of the request body.`);
  return {
    value,
    elementsOf: (holder) => elements.get(holder as object) ?? null,
    annotationOf: (collection) => annotations.get(collection as object) ?? null,
  };
}
