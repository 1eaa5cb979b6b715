import { boundingBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { createGeoJsonReader } from '../../../../annotation-format/formats/geojson-import.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { createElementValidator } from '../../../../annotation-format/validate.js';
import { moved, threadFunctions } from '../../../../core/concurrency/thread-functions.js';
import { BadParameterError, InvalidError } from '../../../../errors.js';
import { AppearanceTable } from '../read/appearances.js';

/** The problem with an input, without the rest of the error message. */
export interface Refusal {
  refused: string;
  /** It is no JSON. */
  isMalformed?: true;
}

/** A long element, checked, as it is stored. */
export interface LongElement {
  id: string;
  /** Whether the element brought its id. */
  hasOwnId: boolean;
  text: Uint8Array;
  /** See LookTable. */
  appearance: string;
  group: string | null;
  box: BoundingBox;
  /** An image or pixelmap without its values. Its box is recomputed when the size of its image is known. */
  overlay: AnnotationElement | null;
}

function refusal(error: unknown): Refusal {
  if (error instanceof SyntaxError) return { refused: error.message, isMalformed: true };
  if (error instanceof BadParameterError || error instanceof InvalidError) return { refused: error.message };
  throw error;
}

/** Checks the JSON text of an element. @param input `name`: what messages call it; `newId`: the id that it gets where it has none. */
function check(input: { text: Uint8Array; brand: string; name: string; newId: string }): LongElement | Refusal {
  const validate = createElementValidator(input.brand, (detail) => new InvalidError(detail));
  try {
    const element = validate(parsed(input.text), 0, () => input.name);
    const id = element.id ?? input.newId;
    const appearances = new AppearanceTable();
    appearances.indexOf(element);
    const isOverlay = element.type === 'image' || element.type === 'pixelmap';
    const text = ownBytes(Buffer.from(JSON.stringify(element.id === undefined ? { ...element, id } : element)));
    const checked = {
      id,
      hasOwnId: element.id !== undefined,
      text,
      appearance: appearances.texts[0]!,
      group: appearances.groups[0]!,
      box: boundingBox(element),
      overlay: isOverlay ? ({ ...element, values: [] } as unknown as AnnotationElement) : null,
    };
    return moved(checked, text);
  } catch (error) {
    return refusal(error);
  }
}

/** The elements of a GeoJSON feature: their texts one after another, where each ends, and what the feature says of the annotation. */
export interface FeatureElements {
  text: Uint8Array;
  ends: Uint32Array;
  annotation: Record<string, unknown>;
  /** 1 for a feature without a shape, else 0. */
  skipped: number;
}

/** Makes elements, not yet checked, of the JSON text of a GeoJSON feature. @param input `index`: its position, for messages. */
function readFeature(input: { text: Uint8Array; brand: string; index: number }): FeatureElements | Refusal {
  const reader = createGeoJsonReader(input.brand);
  try {
    const elements = reader.read(parsed(input.text), input.index);
    const texts = elements.map((element) => Buffer.from(JSON.stringify(element)));
    const ends = new Uint32Array(texts.length);
    let end = 0;
    for (const [i, text] of texts.entries()) ends[i] = end += text.length;
    const text = ownBytes(Buffer.concat(texts));
    return moved({ text, ends, annotation: reader.head, skipped: reader.skipped }, text);
  } catch (error) {
    return refusal(error);
  }
}

/** Bytes that share their buffer with no others. */
function ownBytes(bytes: Buffer): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

function parsed(text: Uint8Array): unknown {
  return JSON.parse(Buffer.from(text.buffer, text.byteOffset, text.byteLength).toString('utf8'));
}

const functions = { check, readFeature };

/** The functions of threads for long elements. */
export type LongFunctions = typeof functions;

export default threadFunctions(functions);
