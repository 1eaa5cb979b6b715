import { BadParameterError } from '../../errors.js';
import { describeValue } from '../messages.js';
import { idPattern, itemField } from '../schema/common.js';
import type { Coordinate } from '../schema/common.js';
import { elementSchemas, type ElementType } from '../schema/document.js';
import { boxFromRing } from './box-import.js';
import { rgbOf } from './color.js';
import { isQuPathFeature, makePartProperties, convertQuPathProperties } from './qupath.js';
import { featureError, isGeometryType, openRing, parseGeometry, splitGeometry, type Geometry } from './geometry.js';

type JsonObject = Record<string, unknown>;

/** An element made from a feature, not checked against the schema yet. */
export type ImportedElement = JsonObject & { type: ElementType };

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An element to which the properties of its feature have not been added yet. */
type Shape = ImportedElement;

function makePolygon(rings: Coordinate[][], featureIndex: number): Shape {
  const [outerRing, ...holes] = rings.map(openRing);
  if (outerRing === undefined || outerRing.length < 2)
    throw featureError(featureIndex, 'the outer ring of a polygon must have at least 2 vertices');
  const shortHoleIndex = holes.findIndex((hole) => hole.length < 3);
  if (shortHoleIndex >= 0) throw featureError(featureIndex, `hole ${shortHoleIndex} of a polygon must have at least 3 vertices`);
  return { type: 'polyline', points: outerRing, closed: true, ...(holes.length > 0 ? { holes } : {}) };
}

function makeLine(points: Coordinate[], featureIndex: number): Shape {
  if (points.length < 2) throw featureError(featureIndex, 'a line must have at least 2 positions');
  return { type: 'polyline', points, closed: false };
}

/** Makes the shapes of a geometry, regardless of the properties. */
function makeShapes(geometry: Geometry, featureIndex: number): Shape[] {
  switch (geometry.type) {
    case 'Point':
      return [{ type: 'point', center: geometry.coordinates }];
    case 'MultiPoint':
      return geometry.coordinates.map((center) => ({ type: 'point', center }));
    case 'LineString':
      return [makeLine(geometry.coordinates, featureIndex)];
    case 'MultiLineString':
      return geometry.coordinates.map((points) => makeLine(points, featureIndex));
    case 'Polygon':
      return [makePolygon(geometry.coordinates, featureIndex)];
    case 'MultiPolygon':
      return geometry.coordinates.map((rings) => makePolygon(rings, featureIndex));
  }
}

function makePolyline(geometry: Geometry, properties: JsonObject, featureIndex: number): Shape | null {
  if (geometry.type === 'LineString') {
    const shape = makeLine(geometry.coordinates, featureIndex);
    // Our export writes null for a line without `closed`, and an open line can have holes.
    if (properties.closed === null) delete shape.closed;
    return Array.isArray(properties.holes) ? { ...shape, holes: properties.holes } : shape;
  }
  if (geometry.type !== 'Polygon') return null;
  const shape = makePolygon(geometry.coordinates, featureIndex);
  const hasEmptyHoles = Array.isArray(properties.holes) && properties.holes.length === 0 && shape.holes === undefined;
  return hasEmptyHoles ? { ...shape, holes: [] } : shape;
}

/** Makes the shape that the properties name as their type; `null` if geometry and properties do not fit this type. */
function makeShapeOfType(
  type: ElementType,
  geometry: Geometry,
  properties: JsonObject,
  brand: string,
  featureIndex: number,
): Shape | null {
  switch (type) {
    case 'circle':
    case 'ellipse':
    case 'rectangle':
    case 'rectanglegrid':
      return geometry.type === 'Polygon' ? boxFromRing(type, openRing(geometry.coordinates[0] ?? []), properties) : null;
    case 'polyline':
      return makePolyline(geometry, properties, featureIndex);
    case 'arrow':
      return geometry.type === 'LineString' && geometry.coordinates.length === 2 ? { type, points: geometry.coordinates } : null;
    case 'heatmap': {
      const values = properties.pointValues;
      if (geometry.type !== 'MultiPoint' || !Array.isArray(values) || values.length !== geometry.coordinates.length) return null;
      return { type, points: geometry.coordinates.map((position, pointIndex) => [...position, values[pointIndex] as unknown]) };
    }
    case 'griddata':
      return Array.isArray(properties.values) && properties.gridWidth !== undefined ? { type } : null;
    case 'image':
    case 'pixelmap':
      return typeof properties[itemField(brand)] === 'string' ? { type } : null;
    case 'point':
      return geometry.type === 'Point' ? { type, center: geometry.coordinates } : null;
  }
}

function toLabel(label: unknown): JsonObject | undefined {
  if (label === null || label === undefined) return undefined;
  if (!isObject(label)) return { value: typeof label === 'string' ? label : JSON.stringify(label) };
  const { value } = label;
  if (typeof value === 'string' || value === undefined) return label;
  return { ...label, value: JSON.stringify(value) };
}

const elementIdPattern = new RegExp(idPattern);

/** Reads features one by one. */
export interface GeoJsonReader {
  /** Name, description, attributes and display in the features read so far. */
  readonly head: JsonObject;
  /** Number of features without a shape: their geometry was null or had no positions. */
  readonly skipped: number;
  /**
   * Makes the elements of one feature or bare geometry. A Multi geometry or collection gives an element for each of its parts, and a
   * feature without a shape gives none.
   *
   * @throws BadParameterError that names the feature.
   */
  read(feature: unknown, featureIndex: number): ImportedElement[];
  /** Adds the `head` and `skipped` of a reader in another thread. */
  addOtherReader(otherHead: unknown, skippedFeatures: number): void;
}

/**
 * Creates a reader of GeoJSON, including GeoJSON from QuPath. Properties that the resulting element type does not have are dropped. If
 * `properties.type` is unknown, the geometry determines the type.
 */
export function createGeoJsonReader(brand: string): GeoJsonReader {
  const schemas = elementSchemas(brand);
  const allowedKeysByType = new Map<ElementType, readonly string[]>();
  for (const [type, schema] of schemas) allowedKeysByType.set(type, Object.keys(schema.properties as object));
  const isElementType = (type: unknown): type is ElementType => schemas.has(type as ElementType);
  let head: JsonObject = {};
  let skipped = 0;

  function mergeHead(annotation: unknown): void {
    if (!isObject(annotation)) return;
    for (const key of ['name', 'description', 'attributes', 'display']) {
      if (annotation[key] !== undefined && annotation[key] !== null) head = { ...head, [key]: annotation[key] };
    }
  }

  function addProperties(shape: Shape, properties: JsonObject, mayHaveId: boolean): ImportedElement {
    const element: ImportedElement = { ...shape };
    for (const key of allowedKeysByType.get(shape.type) ?? []) {
      const value = properties[key];
      if (Object.hasOwn(shape, key) || geometryKeys.has(key) || value === undefined || value === null) continue;
      if (key === 'id') {
        // Parts of one feature cannot share an id, and ids of other programs are not valid element ids.
        if (mayHaveId && typeof value === 'string' && elementIdPattern.test(value)) element.id = value;
      } else if (key === 'label') {
        const label = toLabel(value);
        if (label !== undefined) element.label = label;
      } else {
        element[key] = value;
      }
    }
    return element;
  }

  function makeElements(
    feature: JsonObject,
    properties: JsonObject,
    geometryValue: unknown,
    featureIndex: number,
  ): ImportedElement[] {
    const geometry = parseGeometry(geometryValue, featureIndex);
    const isQuPath = isQuPathFeature(feature);
    const elementProperties = isQuPath
      ? convertQuPathProperties(feature, properties, geometry)
      : convertLayerProperties(properties);
    const type = isElementType(elementProperties.type)
      ? elementProperties.type
      : typeByAnnotationType.get(elementProperties.annotationType);
    const shapeOfType = type === undefined ? null : makeShapeOfType(type, geometry, elementProperties, brand, featureIndex);
    const shapes = shapeOfType === null ? makeShapes(geometry, featureIndex) : [shapeOfType];
    if (isQuPath && shapeOfType === null && geometry.type.startsWith('Multi')) {
      return shapes.map((shape, partIndex) =>
        addProperties(shape, makePartProperties(elementProperties, geometry, partIndex), true),
      );
    }
    return shapes.map((shape, partIndex) => addProperties(shape, elementProperties, partIndex === 0));
  }

  return {
    get head() {
      return head;
    },
    get skipped() {
      return skipped;
    },
    addOtherReader(otherHead, skippedFeatures) {
      mergeHead(otherHead);
      skipped += skippedFeatures;
    },
    read(feature, featureIndex) {
      if (!isObject(feature)) throw featureError(featureIndex, `must be an object, not ${describeValue(feature)}`);
      const isFeature = feature.type === 'Feature';
      const parts = splitGeometry(isFeature ? (feature.geometry ?? null) : feature, featureIndex);
      if (!isFeature) {
        if (parts.length === 0) skipped += 1;
        return parts.flatMap((part) =>
          makeShapes(parseGeometry(part, featureIndex), featureIndex).map((shape) => addProperties(shape, {}, false)),
        );
      }
      const properties = feature.properties ?? {};
      if (!isObject(properties))
        throw featureError(featureIndex, `properties must be an object, not ${describeValue(properties)}`);
      mergeHead(properties.annotation);
      // Elements from our own export can have no positions, such as a heatmap without points.
      const isEmptyElement = parts.length === 0 && isObject(feature.geometry) && positionlessTypes.has(properties.type);
      const elements = (isEmptyElement ? [feature.geometry] : parts).flatMap((part) =>
        makeElements(feature, properties, part, featureIndex),
      );
      if (elements.length === 0) skipped += 1;
      // Parts of one feature cannot share its id.
      for (const element of parts.length > 1 ? elements.slice(1) : []) delete element.id;
      return elements;
    },
  };
}

/** Types of elements that can have no positions. */
const positionlessTypes: ReadonlySet<unknown> = new Set(['heatmap', 'griddata', 'image', 'pixelmap']);

/** The element types of shapes in an annotation layer of geojs, by their `annotationType`. */
const typeByAnnotationType: ReadonlyMap<unknown, ElementType> = new Map([
  ['circle', 'circle'],
  ['ellipse', 'ellipse'],
  ['rectangle', 'rectangle'],
  ['square', 'rectangle'],
]);

/** Converts the properties of a shape in an annotation layer of geojs, which has colors and opacities in separate members. */
function convertLayerProperties(properties: JsonObject): JsonObject {
  if (typeof properties.annotationType !== 'string') return properties;
  const { fill, fillColor, fillOpacity, stroke, strokeColor, strokeOpacity, strokeWidth, ...otherProperties } = properties;
  const colorWithOpacity = (isPainted: unknown, color: unknown, opacity: unknown) => {
    const rgb = typeof color === 'string' ? rgbOf(color) : null;
    if (rgb === null) return undefined;
    const alpha = isPainted === false ? 0 : opacity;
    return typeof alpha === 'number' && alpha >= 0 && alpha < 1 ? `rgba(${rgb.join(', ')}, ${alpha.toFixed(3)})` : color;
  };
  return {
    fillColor: colorWithOpacity(fill, fillColor, fillOpacity) ?? fillColor,
    lineColor: colorWithOpacity(stroke, strokeColor, strokeOpacity),
    lineWidth: typeof strokeWidth === 'number' && strokeWidth >= 0 ? strokeWidth : undefined,
    ...otherProperties,
  };
}

/** Members of an element that come from the geometry. Properties with these names are ignored. */
const geometryKeys: ReadonlySet<string> = new Set(['type', 'points', 'center', 'closed', 'holes', 'rotation']);

/** Yields the features and bare geometries in a GeoJSON value, which is a feature, a geometry, a collection, or a list of these. */
function* listFeatures(value: unknown): Generator<unknown, void, undefined> {
  const entries: readonly unknown[] = Array.isArray(value) ? value : [value];
  for (const entry of entries) {
    if (isObject(entry) && entry.type === 'FeatureCollection') {
      if (!Array.isArray(entry.features)) throw featureError(0, `features must be a list, not ${describeValue(entry.features)}`);
      yield* entry.features as readonly unknown[];
    } else {
      yield entry;
    }
  }
}

/**
 * Makes an annotation document from GeoJSON, not checked against the schema yet, and counts features without a shape.
 *
 * @throws BadParameterError that names the feature that cannot be read, or says that no feature has a shape.
 */
export function geoJsonToAnnotation(
  value: unknown,
  brand: string,
): { document: JsonObject & { elements: ImportedElement[] }; skipped: number } {
  const reader = createGeoJsonReader(brand);
  const elements: ImportedElement[] = [];
  let featureIndex = 0;
  for (const feature of listFeatures(value)) {
    for (const element of reader.read(feature, featureIndex)) elements.push(element);
    featureIndex += 1;
  }
  if (elements.length === 0) throw new BadParameterError(emptyGeoJsonMessage(featureIndex));
  return { document: { ...reader.head, elements }, skipped: reader.skipped };
}

/** The message for GeoJSON from which no element can be made. */
export function emptyGeoJsonMessage(featureCount: number): string {
  return featureCount === 0 ? 'The GeoJSON has no features.' : `None of the ${featureCount} features of the GeoJSON has a shape.`;
}

/** Whether a value is a `type` that GeoJSON defines. */
export function isGeoJsonType(type: unknown): boolean {
  return type === 'Feature' || type === 'FeatureCollection' || type === 'GeometryCollection' || isGeometryType(type);
}
