import { boundingBox, overlayCorners, type OverlaySize } from '../bounding-box.js';
import type { Coordinate } from '../schema/common.js';
import type { AnnotationElement, AnnotationHead } from '../schema/document.js';
import { boxCorners, closeRing, meanPosition, isSamePosition, type Geometry } from './geometry.js';
import { positionsText } from './points-text.js';

/** A GeoJSON feature that represents one element. */
export interface Feature {
  type: 'Feature';
  id?: string;
  geometry: Geometry;
  /** QuPath: outline of the nucleus of a cell. */
  nucleusGeometry?: unknown;
  properties: Record<string, unknown>;
}

/** Makes a feature from an element. */
export type FeatureWriter = (element: AnnotationElement, overlaySize: OverlaySize | null) => Feature;

/** Describes an element that is a part of a feature made from several elements. */
export interface FeaturePart {
  /** Type of the geometry of the feature. */
  type: string;
  /** Number of the part in the feature. */
  number: number;
  /** Equal for all parts of one feature. */
  featureKey: string;
}

/** How elements become features. */
export interface FeatureOptions {
  /** Size of the large image that an image or pixelmap element shows. Default: unknown. */
  sizeOf?: (element: AnnotationElement) => OverlaySize | null;
  /** Default: {@link elementToFeature}. */
  writeFeature?: FeatureWriter;
  /**
   * Describes an element as a part of a larger feature, or returns `null`; `feature` was made from the element alone. Consecutive parts
   * are written as one feature. Default: each element is a separate feature.
   */
  partOf?: (element: AnnotationElement, feature: Feature) => FeaturePart | null;
  /** See {@link ElementsWithoutPoints}. This needs the default {@link writeFeature}. */
  pointsOf?: (element: AnnotationElement) => string | null;
}

/** The state of a FeatureCollection whose text is being written. */
export interface WrittenFeatures {
  /** Whether no feature has been written yet. */
  isEmpty: boolean;
  /** The feature whose parts are being written; `null` if there is none. */
  openFeature: OpenFeature | null;
}

function withZ(corners: readonly (readonly [number, number])[], z: number): Coordinate[] {
  return corners.map(([x, y]) => [x, y, z]);
}

function gridCorners(element: AnnotationElement): Coordinate[] {
  const { lowx, lowy, highx, highy, lowz } = boundingBox(element);
  return withZ(
    [
      [lowx, lowy],
      [highx, lowy],
      [highx, highy],
      [lowx, highy],
    ],
    lowz,
  );
}

/**
 * Makes the geometry that is closest to an element. A circle, ellipse or grid becomes the box around it. An overlay becomes the outline of
 * its image, or a point at its offset if the size of the image is unknown.
 */
function toGeometry(element: AnnotationElement, overlaySize: OverlaySize | null = null): Geometry {
  switch (element.type) {
    case 'point':
      return { type: 'Point', coordinates: element.center };
    case 'circle': {
      const side = element.radius * 2;
      return makePolygon(boxCorners({ center: element.center, width: side, height: side }));
    }
    case 'rectangle':
    case 'ellipse':
    case 'rectanglegrid':
      return makePolygon(boxCorners(element));
    case 'polyline':
      if (element.closed !== true) return { type: 'LineString', coordinates: element.points };
      return { type: 'Polygon', coordinates: [element.points, ...(element.holes ?? [])].map(closeRing) };
    case 'arrow':
      return { type: 'LineString', coordinates: element.points };
    case 'heatmap':
      return { type: 'MultiPoint', coordinates: element.points.map(([x, y, z]) => [x, y, z]) };
    case 'griddata':
      return makePolygon(gridCorners(element));
    case 'image':
    case 'pixelmap': {
      if (overlaySize !== null) return makePolygon(withZ(overlayCorners(element.transform, overlaySize), 0));
      const { xoffset = 0, yoffset = 0 } = element.transform ?? {};
      return { type: 'Point', coordinates: [xoffset, yoffset, 0] };
    }
  }
}

function makePolygon(vertices: Coordinate[]): Geometry {
  return { type: 'Polygon', coordinates: [closeRing(vertices)] };
}

/** Members of an element that its geometry already contains. All others go into the properties. */
function membersInGeometry(element: AnnotationElement, geometry: Geometry): readonly string[] {
  switch (element.type) {
    case 'polyline':
      // The geometry cannot represent holes of an open line, or an empty list of holes.
      return geometry.type === 'Polygon' && element.holes?.length !== 0 ? ['points', 'holes', 'closed'] : ['points', 'closed'];
    case 'arrow':
    case 'heatmap':
      return ['points'];
    case 'point':
      return ['center'];
    case 'circle':
    case 'rectangle':
    case 'ellipse':
    case 'rectanglegrid': {
      // Rounding may have moved the middle of the corners away from the center.
      const corners = geometry.type === 'Polygon' ? (geometry.coordinates[0] ?? []).slice(0, 4) : [];
      return isSamePosition(meanPosition(corners), element.center) ? ['center'] : [];
    }
    default:
      return [];
  }
}

/** Element types that annotation layers of geojs recognize by `annotationType`. Without it they would show polygons. */
const annotationTypes: ReadonlySet<string> = new Set(['circle', 'ellipse', 'rectangle']);

/**
 * Makes the feature of an element. Its properties contain everything that the geometry does not, so that reading it back gives the same
 * element. The property `type` is left out if it equals the type of the geometry in lower case.
 */
export function elementToFeature(element: AnnotationElement, overlaySize: OverlaySize | null = null): Feature {
  const geometry = toGeometry(element, overlaySize);
  const omittedMembers = membersInGeometry(element, geometry);
  const properties: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(element)) {
    if (key !== 'type' && !omittedMembers.includes(key)) properties[key] = value;
  }
  if (element.type !== geometry.type.toLowerCase()) properties.type = element.type;
  if (annotationTypes.has(element.type)) properties.annotationType = element.type;
  // A line is read as a polyline with `closed: false`. Null represents a polyline without `closed`.
  if (element.type === 'polyline' && element.closed === undefined) properties.closed = null;
  if (element.type === 'heatmap') properties.pointValues = element.points.map((point) => point[3]);
  return { type: 'Feature', geometry, properties };
}

/** The text of a FeatureCollection before its features. */
export const collectionStart = '{"type":"FeatureCollection","features":[';

/**
 * Writes elements as the text of features, which continues the text that was written before.
 *
 * @param head the annotation without its elements. It is written into the properties of the first feature.
 */
export function writeFeatures(
  elements: readonly AnnotationElement[],
  { isEmpty, openFeature }: WrittenFeatures,
  head: AnnotationHead,
  { sizeOf = () => null, writeFeature = elementToFeature, partOf = () => null, pointsOf = () => null }: FeatureOptions = {},
): { text: string; written: WrittenFeatures } {
  let text = '';
  for (const element of elements) {
    const feature = writeFeature(element, sizeOf(element));
    if (isEmpty) feature.properties.annotation = pickHeadMembers(head);
    const part = partOf(element, feature);
    const continuesOpenFeature: boolean =
      openFeature !== null &&
      part !== null &&
      part.featureKey === openFeature.part.featureKey &&
      part.number > openFeature.part.number;
    if (openFeature !== null && !continuesOpenFeature) text += writeFeatureEnd(openFeature);
    if (!isEmpty) text += ',';
    isEmpty = false;
    const { coordinates, ...geometry } = feature.geometry;
    if (part === null) openFeature = null;
    else {
      if (!continuesOpenFeature) text += `{"type":"Feature","geometry":{"type":${JSON.stringify(part.type)},"coordinates":[`;
      // The next part adds its coordinates to those that are written below.
      openFeature = continuesOpenFeature ? { ...openFeature!, part } : { feature: { ...feature, geometry }, part, ids: [] };
      openFeature.ids.push(element.id ?? null);
    }
    const json = JSON.stringify(part === null ? feature : coordinates);
    const points = pointsOf(element);
    text += points === null ? json : insertPoints(json, feature.geometry.type, points);
  }
  return { text, written: { isEmpty, openFeature } };
}

/** Adds points to the text of a feature that was made without them: as its line, or as its first ring. */
function insertPoints(json: string, type: Geometry['type'], points: string): string {
  const isRing = type === 'Polygon';
  const offset = `{"type":"Feature","geometry":{"type":"${type}","coordinates":[${isRing ? '[' : ''}`.length;
  return `${json.slice(0, offset)}${positionsText(points, { isRing })}${json.slice(offset)}`;
}

/** Writes the text of a FeatureCollection after its features. */
export function writeCollectionEnd({ openFeature }: WrittenFeatures): string {
  return `${openFeature === null ? '' : writeFeatureEnd(openFeature)}]}`;
}

/** A feature made from several elements. Its coordinates are being written. */
interface OpenFeature {
  /** The feature of the first part, which contains everything that the parts share, without coordinates. */
  feature: Omit<Feature, 'geometry'> & { geometry: Omit<Geometry, 'coordinates'> };
  /** The latest part. */
  part: FeaturePart;
  ids: (string | null)[];
}

/** Writes the text of a feature after its coordinates. */
function writeFeatureEnd({ feature, ids }: OpenFeature): string {
  const { type: _type, geometry, properties, ...otherMembers } = feature;
  const { type: _kind, ...otherGeometryMembers } = geometry;
  const memberTexts = (value: object) =>
    Object.entries(value).map(([name, member]) => `,${JSON.stringify(name)}:${JSON.stringify(member)}`);
  return `]${memberTexts(otherGeometryMembers).join('')}}${memberTexts({ ...otherMembers, properties: { ...properties, elementIds: ids } }).join('')}}`;
}

function pickHeadMembers({ name, description, attributes, display }: AnnotationHead): AnnotationHead {
  return {
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(attributes === undefined ? {} : { attributes }),
    ...(display === undefined ? {} : { display }),
  };
}
