import { withDefaultName } from '../../../annotation-format/default-name.js';
import { geoJsonToAnnotation, isGeoJsonType } from '../../../annotation-format/formats/geojson-import.js';
import { describeValue, inEntry, schemaError } from '../../../annotation-format/messages.js';
import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type { ElementStore, ReceivedBody, ReceiveOptions, StoredElements } from '../elements/contract.js';
import { createHeadValidator } from '../../../annotation-format/validate.js';
import { BadParameterError, LargeImageError } from '../../../errors.js';

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

/** Longest head (name, description, attributes, display) as JSON text, in characters: it is kept in one document. */
const maxHeadLength = 4 * 1024 * 1024;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isGeoJson(value: unknown): value is JsonObject {
  return isObject(value) && isGeoJsonType(value.type);
}

/** GeoJSON that must be turned into an annotation document before it can be stored: small, as it was not stored on the way in. */
class BareGeoJson {
  constructor(readonly value: unknown) {}
}

/** Reads bodies of requests that hold annotations. */
export class AnnotationBodies {
  readonly #checkHead = createHeadValidator();

  constructor(
    private readonly store: ElementStore,
    private readonly brand: string,
  ) {}

  /**
   * Stores the elements of a body as it comes in, then checks everything else, then calls `publish` with what the body held; of a list,
   * all entries or none.
   *
   * @throws BadParameterError, or LargeImageError `too-large`; nothing is kept then.
   */
  async receive<Result>(
    body: Buffer | AsyncIterable<Uint8Array>,
    form: BodyForm,
    publish: (annotations: IncomingAnnotation[]) => Promise<Result>,
    options: ReceiveOptions = {},
  ): Promise<Result> {
    const first = await this.store.readBody<{ done: Result } | BareGeoJson>(
      body,
      async (received) => {
        const annotations = this.#interpret(received, form);
        return annotations instanceof BareGeoJson ? annotations : { done: await publish(annotations) };
      },
      options,
    );
    if (!(first instanceof BareGeoJson)) return first.done;
    const converted = Buffer.from(JSON.stringify(first.value));
    return this.store.readBody(
      converted,
      (received) => {
        const { value } = received;
        const list = Array.isArray(value) ? (value as unknown[]) : [value];
        return publish(list.map((entry) => this.#document(received, entry)));
      },
      options,
    );
  }

  /** Checks a head that comes from elsewhere than a body. @throws BadParameterError, LargeImageError `too-large` */
  checkHead(value: unknown): AnnotationHead {
    const head = this.#checkHead(value);
    if (JSON.stringify(head).length > maxHeadLength) {
      throw new LargeImageError('too-large', `Name, description and attributes are longer than ${maxHeadLength} characters.`);
    }
    return head;
  }

  #interpret(received: ReceivedBody, form: BodyForm): IncomingAnnotation[] | BareGeoJson {
    const { value } = received;
    if (form === 'document') return [this.#document(received, value)];
    if (!Array.isArray(value)) return this.#one(received, value, form);
    const entries = value as unknown[];
    if (form === 'created' || (form === 'file' && isGeoJson(entries[0]))) return this.#features(received, entries);
    return this.#list(received, entries);
  }

  /** A list given where one annotation is expected: bare features are one annotation together. */
  #features(received: ReceivedBody, entries: readonly unknown[]): IncomingAnnotation[] | BareGeoJson {
    const [first] = entries;
    if (!isGeoJson(first)) return [this.#document(received, entries)];
    if (entries.length === 1) return this.#one(received, first, 'created');
    const stored = entries.findIndex((entry) => received.elementsOf(entry) !== null);
    if (stored >= 0) {
      throw new BadParameterError(`GeoJSON entry ${stored}: a FeatureCollection must not stand among others; send it alone.`);
    }
    return new BareGeoJson(geoJsonToAnnotation(entries, this.brand));
  }

  #list(received: ReceivedBody, entries: readonly unknown[]): IncomingAnnotation[] | BareGeoJson {
    const read = entries.map((entry, index) => {
      if (!isObject(entry)) throw new BadParameterError('Entries in the annotation list must be JSON objects.');
      try {
        return { entry, annotation: this.#one(received, entry, 'list') };
      } catch (error) {
        throw inEntry(error, index);
      }
    });
    const bare = read.findIndex(({ annotation }) => annotation instanceof BareGeoJson);
    if (bare < 0) return read.flatMap(({ annotation }) => annotation as IncomingAnnotation[]);
    // Lists that were stored already cannot be given to a second reading.
    if (read.some(({ annotation }) => !(annotation instanceof BareGeoJson) && annotation[0]?.elements !== null)) {
      throw new BadParameterError(
        `Entry ${bare} of the annotation list is a bare GeoJSON object among annotations with elements; send it as a FeatureCollection.`,
      );
    }
    return new BareGeoJson(
      read.map(({ annotation }) => (annotation instanceof BareGeoJson ? annotation.value : annotation[0]!.head)),
    );
  }

  #one(received: ReceivedBody, value: unknown, form: BodyForm): IncomingAnnotation[] | BareGeoJson {
    if (isGeoJson(value)) {
      const elements = received.elementsOf(value);
      // A collection without features says what is wrong with it when it is converted.
      if (value.type !== 'FeatureCollection' || elements === null || elements.count === 0) {
        const source = elements === null ? value : { ...value, features: [] };
        return new BareGeoJson(geoJsonToAnnotation(source, this.brand));
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
