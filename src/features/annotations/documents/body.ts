import { withDefaultName } from '../../../annotation-format/default-name.js';
import { emptyGeoJsonMessage, geoJsonToAnnotation, isGeoJsonType } from '../../../annotation-format/formats/geojson-import.js';
import { describeValue, addEntryNumber, schemaError } from '../../../annotation-format/messages.js';
import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type {
  BodySource,
  ElementStore,
  ElementWrite,
  ReceivedBody,
  ReadBodyOptions,
  StoredElements,
} from '../elements/element-store.js';
import { createHeadValidator } from '../../../annotation-format/validate.js';
import { BadParameterError, LargeImageError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { isLong, isSmall, jsonPieces } from '../../../core/json-pieces.js';

/** A checked annotation of a request body. Its elements are stored, but no annotation refers to them yet. */
export interface IncomingAnnotation {
  head: AnnotationHead;
  /** `null` if the annotation had no list of elements. */
  elements: StoredElements | null;
  /** Number of GeoJSON features that have no shape, so that no element was made from them. Default 0. */
  skippedCount?: number;
}

/**
 * The allowed content of a body:
 *
 * - `document`: an annotation document.
 * - `created`: an annotation document, or GeoJSON for one annotation.
 * - `list`: one entry or a list of entries, each of which becomes an annotation. An entry is an annotation document, GeoJSON, or a record
 *   with a document in its member `annotation`.
 * - `file`: like `list`, but a list that begins with GeoJSON becomes one annotation.
 */
export type BodyForm = 'document' | 'created' | 'list' | 'file';

type JsonObject = Record<string, unknown>;

/** Maximum length of a head as JSON text in characters, because every read of the annotation parses it. */
const maxHeadLength = 1024 * 1024;
/** Maximum number of annotations in one body. */
const maxAnnotations = 10_000;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGeoJson(value: unknown): value is JsonObject {
  return isObject(value) && isGeoJsonType(value.type);
}

/**
 * One annotation document, or a list of documents, made from short GeoJSON. The document is then read like a body, so that its elements
 * are stored.
 */
class ConvertedGeoJson {
  constructor(
    readonly document: unknown,
    readonly skippedCount: number,
  ) {}
}

/** GeoJSON for one annotation, too long to be converted at once. It is then read feature by feature, like the body of a FeatureCollection. */
class LongGeoJson {
  constructor(readonly features: readonly unknown[]) {}
}

/** Yields the JSON text of a value in chunks, like the body of a request. */
async function* jsonStream(value: unknown): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of jsonPieces(value)) yield Buffer.from(piece);
}

type InterpretedBody = IncomingAnnotation[] | ConvertedGeoJson | LongGeoJson;

/** Reads request bodies that contain annotations. */
export class AnnotationBodies {
  readonly #checkHead = createHeadValidator();

  constructor(
    private readonly store: ElementStore,
    private readonly brand: string,
  ) {}

  /**
   * Stores the elements of a body while it arrives, then checks the rest of the body. If one annotation of a list is invalid, the whole
   * list is refused.
   *
   * @returns a pending write of the annotations, which the caller must commit.
   * @throws BadParameterError, LargeImageError `too-large`. Nothing remains stored then.
   */
  async receiveBody(
    body: BodySource,
    form: BodyForm,
    options: ReadBodyOptions = {},
  ): Promise<ElementWrite<IncomingAnnotation[]>> {
    const write = await this.store.readBody(body, options);
    const firstWrite = await write.map((received) => this.#interpretBody(received, form, options.signal));
    const { value: interpretedBody } = firstWrite;
    if (Array.isArray(interpretedBody)) return firstWrite.map(() => Promise.resolve(interpretedBody));
    // Converted GeoJSON is read a second time, as annotation documents, so that its elements are stored.
    await firstWrite.discard();
    if (interpretedBody instanceof LongGeoJson) {
      return this.receiveBody(jsonStream({ type: 'FeatureCollection', features: interpretedBody.features }), 'created', options);
    }
    const secondWrite = await this.store.readBody(jsonStream(interpretedBody.document), options);
    return secondWrite.map(async (received) => {
      const { value } = received;
      const annotations: IncomingAnnotation[] = [];
      for (const entry of Array.isArray(value) ? (value as unknown[]) : [value]) {
        annotations.push(this.#readDocument(received, entry));
        if (isSliceOver()) await nextSlice(options.signal);
      }
      if (annotations[0] !== undefined) annotations[0].skippedCount = interpretedBody.skippedCount;
      return annotations;
    });
  }

  /** Checks a head. @throws BadParameterError, LargeImageError `too-large` */
  checkHead(value: unknown): AnnotationHead {
    // Each value takes at least one character, so a head with more than this number of values is too long.
    const isTooLong = !isSmall(value, maxHeadLength);
    const head = isTooLong ? null : this.#checkHead(value);
    if (head === null || JSON.stringify(head).length > maxHeadLength) {
      throw new LargeImageError('too-large', `Name, description and attributes are longer than ${maxHeadLength} characters.`);
    }
    return head;
  }

  async #interpretBody(received: ReceivedBody, form: BodyForm, signal: AbortSignal | undefined): Promise<InterpretedBody> {
    const { value } = received;
    if (form === 'document') return [this.#readDocument(received, value)];
    if (!Array.isArray(value)) return this.#interpretEntry(received, value, form);
    const entries = value as unknown[];
    if (form === 'created' || (form === 'file' && isGeoJson(entries[0]))) return this.#interpretFeatures(received, entries);
    return this.#interpretList(received, entries, signal);
  }

  /** Interprets a list where one annotation is expected. All GeoJSON objects of the list together become one annotation. */
  #interpretFeatures(received: ReceivedBody, entries: readonly unknown[]): InterpretedBody {
    const [firstEntry] = entries;
    if (!isGeoJson(firstEntry)) return [this.#readDocument(received, entries)];
    if (entries.length === 1) return this.#interpretEntry(received, firstEntry, 'created');
    const collectionIndex = entries.findIndex((entry) => received.elementsOf(entry) !== null);
    if (collectionIndex >= 0) {
      throw new BadParameterError(
        `GeoJSON entry ${collectionIndex}: a FeatureCollection must not be one of several entries; send it alone.`,
      );
    }
    return isLong(entries) ? new LongGeoJson(entries) : this.#convertGeoJson(entries);
  }

  async #interpretList(
    received: ReceivedBody,
    entries: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<IncomingAnnotation[] | ConvertedGeoJson> {
    if (entries.length > maxAnnotations) {
      throw new BadParameterError(`A body can contain at most ${maxAnnotations} annotations, not ${entries.length}.`);
    }
    const incoming: IncomingAnnotation[] = [];
    const documents: unknown[] = [];
    let firstConvertedIndex = -1;
    let skippedCount = 0;
    for (const [index, entry] of entries.entries()) {
      if (!isObject(entry)) throw new BadParameterError('Entries in the annotation list must be JSON objects.');
      let interpretedEntry: InterpretedBody;
      try {
        interpretedEntry = this.#interpretEntry(received, entry, 'list');
        if (interpretedEntry instanceof LongGeoJson)
          throw new BadParameterError(
            'this GeoJSON geometry or feature is too long to be sent alone; send it in a FeatureCollection.',
          );
      } catch (error) {
        throw addEntryNumber(error, index);
      }
      if (interpretedEntry instanceof ConvertedGeoJson) {
        if (firstConvertedIndex < 0) firstConvertedIndex = index;
        documents.push(interpretedEntry.document);
        skippedCount += interpretedEntry.skippedCount;
      } else {
        incoming.push(...interpretedEntry);
        documents.push(interpretedEntry[0]!.head);
      }
      if (isSliceOver()) await nextSlice(signal);
    }
    if (firstConvertedIndex < 0) return incoming;
    // Elements that are already stored cannot be read a second time.
    if (incoming.some(({ elements }) => elements !== null)) {
      throw new BadParameterError(
        `Entry ${firstConvertedIndex} of the annotation list is a GeoJSON geometry or feature among annotations with elements; send it in a FeatureCollection.`,
      );
    }
    return new ConvertedGeoJson(documents, skippedCount);
  }

  #interpretEntry(received: ReceivedBody, value: unknown, form: BodyForm): InterpretedBody {
    if (isGeoJson(value)) {
      const elements = received.elementsOf(value);
      if (value.type !== 'FeatureCollection' || elements === null || elements.count === 0) {
        if (elements !== null) throw new BadParameterError(emptyGeoJsonMessage(received.skippedCountOf(value)));
        if (isLong(value)) return new LongGeoJson([value]);
        return this.#convertGeoJson(value);
      }
      const head = pickHeadMembers(received.annotationOf(value) ?? {});
      // Geographic programs name collections with a member that the GeoJSON standard does not define.
      const name = typeof value.name === 'string' ? value.name : '';
      return [
        {
          head: this.checkHead(withDefaultName({ name, ...head }, new Date())),
          elements,
          skippedCount: received.skippedCountOf(value),
        },
      ];
    }
    if (form !== 'created' && isObject(value) && isObject(value.annotation))
      return [this.#readDocument(received, value.annotation)];
    return [this.#readDocument(received, value)];
  }

  #convertGeoJson(value: unknown): ConvertedGeoJson {
    const { document, skipped } = geoJsonToAnnotation(value, this.brand);
    return new ConvertedGeoJson(document, skipped);
  }

  #readDocument(received: ReceivedBody, value: unknown): IncomingAnnotation {
    if (!isObject(value)) throw schemaError(`document: must be an object, not ${describeValue(value)}`);
    const elements = received.elementsOf(value);
    // The elements have been taken out of the document. The empty name makes a document that has no other members get the default name.
    const document = withDefaultName(elements === null ? value : { name: '', ...value }, new Date());
    return { head: this.checkHead(document), elements };
  }
}

/** Picks the head from the member `annotation` of GeoJSON. Its other members, such as elements, are ignored. */
function pickHeadMembers(annotation: JsonObject): JsonObject {
  const members: JsonObject = {};
  for (const key of ['name', 'description', 'attributes', 'display']) {
    if (annotation[key] !== undefined && annotation[key] !== null) members[key] = annotation[key];
  }
  return members;
}
