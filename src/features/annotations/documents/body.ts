import { withDefaultName } from '../../../annotation-format/default-name.js';
import { geoJsonToAnnotation, isGeoJsonType } from '../../../annotation-format/formats/geojson-import.js';
import { describeValue, inEntry, schemaError } from '../../../annotation-format/messages.js';
import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type { ElementStore, ElementWrite, ReceivedBody, ReceiveOptions, StoredElements } from '../elements/contract.js';
import { createHeadValidator } from '../../../annotation-format/validate.js';
import { BadParameterError, LargeImageError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { isLong, isSmall, jsonPieces } from '../../../http/serving/json-pieces.js';

/** An annotation as a body holds it, checked; its elements are stored and nobody refers to them yet. */
export interface IncomingAnnotation {
  head: AnnotationHead;
  /** `null`: the body had no list of elements. */
  elements: StoredElements | null;
}

/**
 * What a body may be. `document`: an annotation. `created`: an annotation, or GeoJSON that makes one. `list`: one of these or a
 * record that holds one in `annotation`, or a list of them, each an annotation of its own. `file`: the same, but a list that begins with
 * GeoJSON is one annotation.
 */
export type BodyForm = 'document' | 'created' | 'list' | 'file';

type JsonObject = Record<string, unknown>;

/** Longest head (name, description, attributes, display) as JSON text, in characters: every reader of the annotation parses it. */
const maxHeadLength = 1024 * 1024;
/** Most annotations that one body may hold. */
const maxAnnotations = 10_000;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGeoJson(value: unknown): value is JsonObject {
  return isObject(value) && isGeoJsonType(value.type);
}

/** Annotation documents made of GeoJSON that was small enough to be turned into them at once. They are stored by a second reading. */
class ConvertedGeoJson {
  constructor(readonly document: unknown) {}
}

/** GeoJSON that is one annotation and too long to be turned into one at once: it is read again as a collection. */
class LongGeoJson {
  constructor(readonly features: readonly unknown[]) {}
}

/** The text of a value as it would be received. */
async function* bodyOf(value: unknown): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of jsonPieces(value)) yield Buffer.from(piece);
}

type Interpreted = IncomingAnnotation[] | ConvertedGeoJson | LongGeoJson;

/** Reads bodies of requests that hold annotations. */
export class AnnotationBodies {
  readonly #checkHead = createHeadValidator();

  constructor(
    private readonly store: ElementStore,
    private readonly brand: string,
  ) {}

  /**
   * Stores the elements of a body as it comes in, then checks everything else; of a list, all entries or none.
   *
   * @returns what the body held, to be committed.
   * @throws BadParameterError, or LargeImageError `too-large`; nothing is kept then.
   */
  async receive(
    body: Buffer | AsyncIterable<Uint8Array>,
    form: BodyForm,
    options: ReceiveOptions = {},
  ): Promise<ElementWrite<IncomingAnnotation[]>> {
    const write = await this.store.readBody(body, options);
    const first = await write.map((received) => this.#interpret(received, form, options.signal));
    const { given } = first;
    if (Array.isArray(given)) return first.map(() => Promise.resolve(given));
    // What was converted is read a second time, now as annotation documents, so that its elements are stored.
    await first.discard();
    if (given instanceof LongGeoJson) {
      return this.receive(bodyOf({ type: 'FeatureCollection', features: given.features }), 'created', options);
    }
    const converted = await this.store.readBody(bodyOf(given.document), options);
    return converted.map(async (received) => {
      const { value } = received;
      const annotations: IncomingAnnotation[] = [];
      for (const entry of Array.isArray(value) ? (value as unknown[]) : [value]) {
        annotations.push(this.#document(received, entry));
        if (isSliceOver()) await nextSlice(options.signal);
      }
      return annotations;
    });
  }

  /** Checks a head that comes from elsewhere than a body. @throws BadParameterError, LargeImageError `too-large` */
  checkHead(value: unknown): AnnotationHead {
    // Each of its values is a character at least.
    const isTooLong = !isSmall(value, maxHeadLength);
    const head = isTooLong ? null : this.#checkHead(value);
    if (head === null || JSON.stringify(head).length > maxHeadLength) {
      throw new LargeImageError('too-large', `Name, description and attributes are longer than ${maxHeadLength} characters.`);
    }
    return head;
  }

  async #interpret(received: ReceivedBody, form: BodyForm, signal: AbortSignal | undefined): Promise<Interpreted> {
    const { value } = received;
    if (form === 'document') return [this.#document(received, value)];
    if (!Array.isArray(value)) return this.#one(received, value, form);
    const entries = value as unknown[];
    if (form === 'created' || (form === 'file' && isGeoJson(entries[0]))) return this.#features(received, entries);
    return this.#list(received, entries, signal);
  }

  /** A list given where one annotation is expected: bare features are one annotation together. */
  #features(received: ReceivedBody, entries: readonly unknown[]): Interpreted {
    const [first] = entries;
    if (!isGeoJson(first)) return [this.#document(received, entries)];
    if (entries.length === 1) return this.#one(received, first, 'created');
    const stored = entries.findIndex((entry) => received.elementsOf(entry) !== null);
    if (stored >= 0) {
      throw new BadParameterError(`GeoJSON entry ${stored}: a FeatureCollection must not stand among others; send it alone.`);
    }
    return isLong(entries) ? new LongGeoJson(entries) : new ConvertedGeoJson(geoJsonToAnnotation(entries, this.brand));
  }

  async #list(
    received: ReceivedBody,
    entries: readonly unknown[],
    signal: AbortSignal | undefined,
  ): Promise<IncomingAnnotation[] | ConvertedGeoJson> {
    if (entries.length > maxAnnotations) {
      throw new BadParameterError(`A body may hold at most ${maxAnnotations} annotations, not ${entries.length}.`);
    }
    const incoming: IncomingAnnotation[] = [];
    const converted: unknown[] = [];
    let bare = -1;
    for (const [index, entry] of entries.entries()) {
      if (!isObject(entry)) throw new BadParameterError('Entries in the annotation list must be JSON objects.');
      let made: Interpreted;
      try {
        made = this.#one(received, entry, 'list');
        if (made instanceof LongGeoJson)
          throw new BadParameterError('this GeoJSON is too long to be bare; send it as a FeatureCollection.');
      } catch (error) {
        throw inEntry(error, index);
      }
      if (made instanceof ConvertedGeoJson) {
        if (bare < 0) bare = index;
        converted.push(made.document);
      } else {
        incoming.push(...made);
        converted.push(made[0]!.head);
      }
      if (isSliceOver()) await nextSlice(signal);
    }
    if (bare < 0) return incoming;
    // Lists that were stored already cannot be given to a second reading.
    if (incoming.some(({ elements }) => elements !== null)) {
      throw new BadParameterError(
        `Entry ${bare} of the annotation list is a bare GeoJSON object among annotations with elements; send it as a FeatureCollection.`,
      );
    }
    return new ConvertedGeoJson(converted);
  }

  #one(received: ReceivedBody, value: unknown, form: BodyForm): Interpreted {
    if (isGeoJson(value)) {
      const elements = received.elementsOf(value);
      // A collection without features says what is wrong with it when it is converted.
      if (value.type !== 'FeatureCollection' || elements === null || elements.count === 0) {
        const source = elements === null ? value : { ...value, features: [] };
        if (isLong(source)) return new LongGeoJson([source]);
        return new ConvertedGeoJson(geoJsonToAnnotation(source, this.brand));
      }
      const head = headMembers(received.annotationOf(value) ?? {});
      return [{ head: this.checkHead(withDefaultName({ name: '', ...head }, new Date())), elements }];
    }
    if (form !== 'created' && isObject(value) && isObject(value.annotation)) return [this.#document(received, value.annotation)];
    return [this.#document(received, value)];
  }

  #document(received: ReceivedBody, value: unknown): IncomingAnnotation {
    if (!isObject(value)) throw schemaError(`document: must be an object, not ${describeValue(value)}`);
    const elements = received.elementsOf(value);
    // A document with elements is not an empty one: it gets a name.
    const named = withDefaultName(elements === null ? value : { name: '', ...value }, new Date());
    return { head: this.checkHead(named), elements };
  }
}

/** Members of an annotation that GeoJSON may carry; its elements are not taken from there. */
function headMembers(annotation: JsonObject): JsonObject {
  const members: JsonObject = {};
  for (const key of ['name', 'description', 'attributes', 'display']) {
    if (annotation[key] !== undefined && annotation[key] !== null) members[key] = annotation[key];
  }
  return members;
}
