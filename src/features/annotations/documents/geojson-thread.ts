import type { OverlaySize } from '../../../annotation-format/bounding-box.js';
import { elementToFeature, writeFeatures, type WrittenFeatures } from '../../../annotation-format/formats/geojson.js';
import { elementToQuPathFeature, quPathPartOf } from '../../../annotation-format/formats/qupath.js';
import { parseWithoutPoints, type ElementsWithoutPoints } from '../../../annotation-format/formats/points-text.js';
import { KnownOverlaySizes } from '../../../annotation-format/overlay-sizes.js';
import type { AnnotationElement, AnnotationHead } from '../../../annotation-format/schema/document.js';
import { bufferOf } from '../../../core/buffer-of.js';
import { decodeUtf8 } from '../../../core/json.js';
import { transferBytes, createCallHandler } from '../../../core/concurrency/thread-functions.js';

/** The input of {@link makeFeatures}. */
export interface FeaturesInput {
  /** JSON texts of elements, joined by commas. There may be another comma before the first text. */
  elements: Uint8Array;
  format: 'geojson' | 'qupath';
  /** JSON text of the annotation without its elements, for the first feature. `null` if the first feature has already been written. */
  head: Uint8Array | null;
  written: WrittenFeatures;
  brand: string;
  /** Sizes of the images that image and pixelmap elements show, by item id. */
  sizes: [itemId: string, size: OverlaySize | null][];
}

/** The functions that write features, by format. */
const writers = {
  geojson: { writeFeature: elementToFeature },
  qupath: { writeFeature: elementToQuPathFeature, partOf: quPathPartOf },
};
/** The functions that parse elements, by format. For QuPath, points are parsed too, because QuPath gets only x and y. */
const parsers: Record<FeaturesInput['format'], (list: string) => ElementsWithoutPoints> = {
  geojson: parseWithoutPoints,
  qupath: (list) => ({ elements: JSON.parse(list) as AnnotationElement[], pointsOf: () => null }),
};
const comma = ','.charCodeAt(0);

/** Converts elements to the text of features. */
export function makeFeatures(input: FeaturesInput): { text: Uint8Array; written: WrittenFeatures } {
  // Stored elements and annotations have been checked, so the casts are safe.
  const list = `[${decodeUtf8(bufferOf(input.elements.subarray(input.elements[0] === comma ? 1 : 0)))}]`;
  const { elements, pointsOf } = parsers[input.format](list);
  const head = input.head === null ? {} : (JSON.parse(decodeUtf8(bufferOf(input.head))) as AnnotationHead);
  const sizes = new KnownOverlaySizes(input.brand, () => Promise.resolve(null), input.sizes);
  const options = { ...writers[input.format], pointsOf, sizeOf: (element: AnnotationElement) => sizes.sizeOf(element) };
  const { text, written } = writeFeatures(elements, input.written, head, options);
  // This is not a `Buffer`, because bytes that are transferred must fill their buffer.
  return { text: new TextEncoder().encode(text), written };
}

const functions = {
  features: (input: FeaturesInput) => {
    const result = makeFeatures(input);
    return transferBytes(result, result.text);
  },
};

/** The functions of the thread. */
export type FeatureFunctions = typeof functions;

export default createCallHandler(functions);
