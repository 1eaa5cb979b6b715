import { isDeepStrictEqual } from 'node:util';
import type { OverlaySize } from '../bounding-box.js';
import type { AnnotationElement } from '../schema/document.js';
import { rgbOf, rgbOfInteger, rgbOfList, rgbText, type Rgb } from './color.js';
import { elementToFeature, type Feature, type FeaturePart } from './geojson.js';
import { closeRing, ellipseOutline, type Geometry } from './geometry.js';

type JsonObject = Record<string, unknown>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a feature has members that only QuPath writes: an object type, a classification, a nucleus, or a `Path…Object` id. */
export function isQuPathFeature(feature: unknown): boolean {
  if (!isObject(feature) || feature.type !== 'Feature') return false;
  if (isObject(feature.nucleusGeometry) || (typeof feature.id === 'string' && /^Path\w+Object$/.test(feature.id))) return true;
  const { properties } = feature;
  if (!isObject(properties)) return false;
  return (
    typeof properties.objectType === 'string' || typeof properties.object_type === 'string' || isObject(properties.classification)
  );
}

/** The name of a classification, which QuPath writes as one text or as a list of parts. The parts are joined with colons. */
function classificationName(classification: unknown): string | null {
  if (!isObject(classification)) return null;
  const { name, names } = classification;
  if (typeof name === 'string') return name;
  return Array.isArray(names) && names.every((part) => typeof part === 'string') ? names.join(': ') : null;
}

function colorOf(source: unknown): Rgb | null {
  if (!isObject(source)) return null;
  const { color, colorRGB } = source;
  if (typeof colorRGB === 'number' && Number.isInteger(colorRGB)) return rgbOfInteger(colorRGB);
  return typeof color === 'number' && Number.isInteger(color) ? rgbOfInteger(color) : rgbOfList(color);
}

/** Measurements by name. QuPath writes them as an object, and versions before 0.4 as a list of names and values. */
function measurementsOf(measurements: unknown): JsonObject | null {
  if (isObject(measurements)) return measurements;
  if (!Array.isArray(measurements)) return null;
  const namedEntries = measurements.filter(
    (entry): entry is { name: string; value: unknown } => isObject(entry) && typeof entry.name === 'string',
  );
  return Object.fromEntries(namedEntries.map(({ name, value }) => [name, value]));
}

/** Properties that are converted or used directly. Other members from QuPath are stored in `user.qupath`. */
const convertedProperties = new Set([
  'name',
  'measurements',
  'annotation',
  'user',
  'type',
  'id',
  'label',
  'group',
  'lineColor',
  'lineWidth',
  'fillColor',
]);

/** Properties that our own export adds. They are not stored in `user.qupath`. */
const exportedProperties = new Set(
  'elementType elementIds fromQuPath center width height rotation normal radius points holes closed widthSubdivisions heightSubdivisions'.split(
    ' ',
  ),
);

/** Picks the members of a QuPath feature for which elements have no field. They are stored in `user.qupath`. */
function pickMembersOnlyForQuPath(feature: JsonObject, properties: JsonObject): JsonObject {
  const isFromOurExport = properties.elementType !== undefined;
  const isOnlyForQuPath = (key: string) => !convertedProperties.has(key) && !(isFromOurExport && exportedProperties.has(key));
  const pickedMembers: JsonObject = Object.fromEntries(Object.entries(properties).filter(([key]) => isOnlyForQuPath(key)));
  const { id, nucleusGeometry, geometry } = feature;
  if (typeof id === 'string') pickedMembers.id = id;
  if (nucleusGeometry !== undefined) pickedMembers.nucleusGeometry = nucleusGeometry;
  if (isObject(geometry) && geometry.plane !== undefined) pickedMembers.plane = geometry.plane;
  return pickedMembers;
}

/** Makes the `user` field of an element from a QuPath feature. */
function makeUserField(feature: JsonObject, properties: JsonObject): JsonObject {
  const measurements = measurementsOf(properties.measurements);
  return { ...(measurements === null ? {} : { measurements }), qupath: pickMembersOnlyForQuPath(feature, properties) };
}

/**
 * Converts the properties of a QuPath feature to properties of elements. The classification becomes `group` and `lineColor`, and for
 * points also `fillColor`. The name becomes the label. Measurements are stored in `user.measurements`, and everything else in
 * `user.qupath`. Properties from our own export are kept unchanged.
 */
export function convertQuPathProperties(feature: JsonObject, properties: JsonObject, geometry: Geometry): JsonObject {
  const result: JsonObject = { ...properties };
  const group = classificationName(properties.classification);
  if (group !== null) result.group ??= group;
  const color = colorOf(properties) ?? colorOf(properties.classification);
  const isPoint = geometry.type === 'Point' || geometry.type === 'MultiPoint';
  // Our own export includes `user`, `group` and colors if the element has them.
  const isFromOurExport = properties.elementType !== undefined;
  if (color !== null && !isFromOurExport) {
    result.lineColor ??= rgbText(color);
    if (isPoint) result.fillColor ??= rgbText(color);
  }
  if (typeof properties.name === 'string' && !isFromOurExport) result.label ??= { value: properties.name };
  if (geometry.isEllipse === true) result.type ??= 'ellipse';
  if (!isFromOurExport || properties.fromQuPath === true) result.user ??= makeUserField(feature, properties);
  return isFromOurExport ? { ...result, type: properties.elementType } : result;
}

/** Makes the properties of one part of a Multi geometry. They contain the part's number, so that the parts are exported as one feature. */
export function makePartProperties(properties: JsonObject, { type }: Geometry, partNumber: number): JsonObject {
  const user = isObject(properties.user) ? properties.user : {};
  const { elementIds } = properties;
  return {
    ...properties,
    id: Array.isArray(elementIds) ? (elementIds[partNumber] as unknown) : partNumber === 0 ? properties.id : undefined,
    user: { ...user, qupath: { ...(isObject(user.qupath) ? user.qupath : {}), multi: { type, part: partNumber } } },
  };
}

/** Type of the Multi geometry from which an element was imported, and the number of its part; `null` for other elements. */
function findMulti({ user }: AnnotationElement): { type: string; part: number } | null {
  const multi = isObject(user?.qupath) ? user.qupath.multi : undefined;
  if (!isObject(multi) || typeof multi.type !== 'string' || typeof multi.part !== 'number') return null;
  return { type: multi.type, part: multi.part };
}

/**
 * Finds the feature that an element is a part of; `null` if the element is a separate feature. Parts of one feature are elements of the
 * same type that differ only in id, positions and part number.
 */
export function quPathPartOf(element: AnnotationElement, { geometry }: Feature): FeaturePart | null {
  const multi = findMulti(element);
  if (multi === null || multi.type !== `Multi${geometry.type}`) return null;
  const { qupath, ...user } = element.user ?? {};
  const { multi: _multi, ...quPathMembers } = qupath as JsonObject;
  const sharedEntries = Object.entries(element).filter(([name]) => !['id', 'points', 'center', 'holes', 'user'].includes(name));
  return { type: multi.type, number: multi.part, featureKey: JSON.stringify([sharedEntries, user, quPathMembers]) };
}

function pickNumericMembers(value: unknown): JsonObject | null {
  if (!isObject(value)) return null;
  const numericEntries = Object.entries(value).filter(([, entry]) => typeof entry === 'number');
  return numericEntries.length > 0 ? Object.fromEntries(numericEntries) : null;
}

function toEllipseGeometry(element: AnnotationElement): Geometry | null {
  if (element.type !== 'circle' && element.type !== 'ellipse') return null;
  const placement =
    element.type === 'circle' ? { center: element.center, width: element.radius * 2, height: element.radius * 2 } : element;
  const ring = closeRing(ellipseOutline(placement));
  const isRotated = element.type === 'ellipse' && (element.rotation ?? 0) !== 0;
  // QuPath's own ellipses are upright, so a rotated ellipse is written as a polygon.
  return { type: 'Polygon', coordinates: [ring], ...(isRotated ? {} : { isEllipse: true }) };
}

/** Makes the members `classification` and `color`. The stored members are kept if the group and line color still match them. */
function makeAppearance(element: AnnotationElement, storedMembers: JsonObject): JsonObject {
  const { classification, color, colorRGB } = storedMembers;
  const lineColor = 'lineColor' in element && element.lineColor !== undefined ? rgbOf(element.lineColor) : null;
  const storedColor = colorOf(storedMembers) ?? colorOf(classification);
  if ((classificationName(classification) ?? undefined) === element.group && storedColor?.join() === lineColor?.join()) {
    return {
      ...(classification === undefined ? {} : { classification }),
      ...(color === undefined ? {} : { color }),
      ...(colorRGB === undefined ? {} : { colorRGB }),
    };
  }
  if (element.group === undefined) return lineColor === null ? {} : { color: lineColor };
  return { classification: { name: element.group, ...(lineColor === null ? {} : { color: lineColor }) } };
}

/**
 * Makes the feature of an element for QuPath: accurate outlines for circles and ellipses, `classification` from group and color, `name`
 * from the label, numeric `user.measurements`, and members from QuPath unchanged. It also contains the element's own properties,
 * which QuPath ignores, so that our import restores the element exactly.
 */
export function elementToQuPathFeature(element: AnnotationElement, overlaySize: OverlaySize | null = null): Feature {
  const feature = elementToFeature(element, overlaySize);
  const storedMembers = isObject(element.user?.qupath) ? element.user.qupath : {};
  const {
    id,
    nucleusGeometry,
    plane,
    classification: _classification,
    color: _color,
    colorRGB: _colorRgb,
    multi: _multi,
    ...keptProperties
  } = storedMembers;
  const outline = toEllipseGeometry(element);
  const geometry: Geometry = outline ?? feature.geometry;
  const measurements = pickNumericMembers(element.user?.measurements);
  const properties: JsonObject = {
    ...feature.properties,
    // The middle of an outline is not exactly the center.
    ...(outline !== null && 'center' in element ? { center: element.center } : {}),
    objectType: 'annotation',
    ...keptProperties,
    elementType: element.type,
    ...(element.label === undefined ? {} : { name: element.label.value }),
    ...makeAppearance(element, storedMembers),
    ...(measurements === null ? {} : { measurements }),
  };
  const quPathFeature: Feature & JsonObject = {
    type: 'Feature',
    // Only one feature can have the id. If the parts are written as several features, the first part has the id.
    ...(typeof id === 'string' && (findMulti(element)?.part ?? 0) === 0 ? { id } : {}),
    geometry: {
      ...geometry,
      coordinates: dropZeroZ(geometry.coordinates),
      ...(plane === undefined ? {} : { plane }),
    } as Geometry,
    ...(nucleusGeometry === undefined ? {} : { nucleusGeometry }),
    properties,
  };
  // Features from QuPath are written without `user` if importing them without it gives the same element.
  const { user, ...otherProperties } = properties;
  const withoutUser = { ...quPathFeature, properties: { ...otherProperties, fromQuPath: true } };
  return user !== undefined && isDeepStrictEqual(makeUserField(withoutUser, withoutUser.properties), user)
    ? withoutUser
    : quPathFeature;
}

/** Drops the z of positions whose z is 0, as QuPath does. */
function dropZeroZ(coordinates: unknown): unknown {
  if (!Array.isArray(coordinates)) return coordinates;
  if (typeof coordinates[0] !== 'number') return coordinates.map(dropZeroZ);
  return coordinates[2] === 0 ? coordinates.slice(0, 2) : coordinates;
}
