import { isGeoJsonType } from './geojson-import.js';
import { isQuPathFeature } from './qupath.js';

/**
 * What a parsed body is taken for: `geojson` and `qupath` are one annotation; `record` holds its document in `annotation`;
 * `list` is a list of such values, each an annotation of its own; `annotation` is any other object.
 */
export type AnnotationFormat = 'geojson' | 'qupath' | 'record' | 'list' | 'annotation' | 'unknown';

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Says what a parsed value is, by its `type` or that of its first entry; `unknown` when it is neither object nor list. */
export function detectFormat(value: unknown): AnnotationFormat {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (isObject(first) && isGeoJsonType(first.type)) {
    const feature: unknown = first.type === 'FeatureCollection' && Array.isArray(first.features) ? first.features[0] : first;
    return isQuPathFeature(feature) ? 'qupath' : 'geojson';
  }
  if (Array.isArray(value)) return 'list';
  if (!isObject(value)) return 'unknown';
  return isObject(value.annotation) ? 'record' : 'annotation';
}
