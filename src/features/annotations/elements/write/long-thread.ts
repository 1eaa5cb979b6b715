import { bufferOf } from '../../../../core/buffer-of.js';
import { boundingBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { createGeoJsonReader } from '../../../../annotation-format/formats/geojson-import.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { createElementValidator } from '../../../../annotation-format/validate.js';
import { transferBytes, createCallHandler } from '../../../../core/concurrency/thread-functions.js';
import { BadParameterError, InvalidError } from '../../../../errors.js';
import { cellsOf, maxCellLength, type ElementCells } from './table-draft.js';
import { AppearanceTable } from '../read/appearances.js';

/** Why an input is refused. */
export interface Refusal {
  /** The error message. */
  problem: string;
  /** True if the input is not JSON. */
  isMalformed?: true;
}

/** A long element that passed validation, in the form in which it is stored. */
export interface LongElement {
  id: string;
  /** Whether the element had an id before it was checked. */
  hasOwnId: boolean;
  text: Uint8Array;
  /** See AppearanceTable. */
  appearance: string;
  group: string | null;
  box: BoundingBox;
  cells: ElementCells;
  /**
   * The element without its values if it is an image or pixelmap, otherwise `null`. The caller computes the element's box again when it
   * knows the size of the image.
   */
  overlay: AnnotationElement | null;
}

/** Converts an error to a refusal. @throws the error if the input did not cause it. */
function toRefusal(error: unknown): Refusal {
  if (error instanceof SyntaxError) return { problem: error.message, isMalformed: true };
  if (error instanceof BadParameterError || error instanceof InvalidError) return { problem: error.message };
  throw error;
}

/** Checks the JSON text of an element. @param input `name`: the element's name in messages. `newId`: the id that it gets if it has none. */
function check(input: { text: Uint8Array; brand: string; name: string; newId: string }): LongElement | Refusal {
  const validate = createElementValidator(input.brand, (detail) => new InvalidError(detail));
  try {
    const element = validate(parseJson(input.text), 0, () => input.name);
    const id = element.id ?? input.newId;
    const appearances = new AppearanceTable();
    appearances.findOrAdd(element);
    const isOverlay = element.type === 'image' || element.type === 'pixelmap';
    const text = unsharedBytes(Buffer.from(JSON.stringify(element.id === undefined ? { ...element, id } : element)));
    const box = boundingBox(element);
    const cells = cellsOf(element, box);
    const result = {
      id,
      hasOwnId: element.id !== undefined,
      text,
      appearance: appearances.texts[0]!,
      group: appearances.groups[0]!,
      box,
      cells: { ...cells, user: limitUserValues(cells.user) as ElementCells['user'] },
      overlay: isOverlay ? ({ ...element, values: [] } as unknown as AnnotationElement) : null,
    };
    return transferBytes(result, text);
  } catch (error) {
    return toRefusal(error);
  }
}

/** Maximum number of values of `user` to return for the table. */
const maxUserValues = 10_000;

/** Returns the values of `user` for which the table may have columns. Their number is limited, because they are copied to the main thread. */
function limitUserValues(user: unknown, budget = { valuesLeft: maxUserValues }, remainingDepth = 16): unknown {
  if (typeof user === 'string') return user.length > maxCellLength ? null : user;
  if (typeof user !== 'object' || user === null) return user;
  const entries: [string, unknown][] = [];
  for (const [key, value] of Object.entries(user)) {
    if (budget.valuesLeft === 0 || remainingDepth === 0) break;
    budget.valuesLeft -= 1;
    entries.push([key, limitUserValues(value, budget, remainingDepth - 1)]);
  }
  return Object.fromEntries(entries);
}

/** The elements made from a GeoJSON feature. */
export interface FeatureElements {
  /** The JSON texts of all elements, without separators. */
  text: Uint8Array;
  /** Offset in `text` at which each element ends. */
  ends: Uint32Array;
  /** The members of the feature's `properties.annotation`. */
  annotation: Record<string, unknown>;
  /** 1 if the feature has no shape, otherwise 0. */
  skippedCount: number;
}

/** Makes elements from the JSON text of a GeoJSON feature, without checking them. @param input `index`: index of the feature, for messages. */
function readFeature(input: { text: Uint8Array; brand: string; index: number }): FeatureElements | Refusal {
  const reader = createGeoJsonReader(input.brand);
  try {
    const elements = reader.read(parseJson(input.text), input.index);
    const texts = elements.map((element) => Buffer.from(JSON.stringify(element)));
    const ends = new Uint32Array(texts.length);
    let end = 0;
    for (const [i, text] of texts.entries()) ends[i] = end += text.length;
    const text = unsharedBytes(Buffer.concat(texts));
    return transferBytes({ text, ends, annotation: reader.head, skippedCount: reader.skipped }, text);
  } catch (error) {
    return toRefusal(error);
  }
}

/** Returns the bytes in a buffer that contains nothing else, and copies them only if necessary. */
function unsharedBytes(bytes: Buffer): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

function parseJson(text: Uint8Array): unknown {
  return JSON.parse(bufferOf(text).toString('utf8'));
}

const functions = { check, readFeature };

/** The functions that run in threads for long elements. */
export type LongFunctions = typeof functions;

export default createCallHandler(functions);
