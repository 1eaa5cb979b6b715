import { elementSchemas, headProperties } from '../../annotation-format/schema/document.js';
import {
  anyObject,
  anyText,
  component,
  dateText,
  idText,
  listOf,
  objectOf,
  orNull,
  shownAccess,
  anyBoolean,
  anyInteger,
  type Schema,
} from '../../http/schemas.js';

/**
 * Schema of an element for the API description. It consists of the schemas that validate elements.
 *
 * @param brand the host's brand, which some field names contain
 */
export function elementSchema(brand: string): Schema {
  const shapes = [...elementSchemas(brand)].map(([type, shape]) =>
    component(`${type.slice(0, 1).toUpperCase()}${type.slice(1)}Element`, shape),
  );
  return component('Element', { oneOf: shapes });
}

/** Schema of an annotation as clients send it. It consists of the schemas that validate annotations. */
export function documentSchema(brand: string): Schema {
  return component('AnnotationDocument', {
    type: 'object',
    properties: { ...headProperties, elements: listOf(elementSchema(brand)) },
    additionalProperties: false,
  });
}

/** Schema of the GeoJSON that is accepted, including the GeoJSON that QuPath writes. */
const geoJson = component('GeoJson', {
  type: 'object',
  required: ['type'],
  properties: {
    type: {
      type: 'string',
      enum: ['FeatureCollection', 'Feature', 'Point', 'MultiPoint', 'LineString', 'MultiLineString', 'Polygon', 'MultiPolygon'],
    },
    features: listOf(anyObject),
  },
  additionalProperties: true,
});

/** Schema of a body that creates an annotation. */
export const creationSchema = (brand: string): Schema => ({ anyOf: [documentSchema(brand), geoJson, listOf(geoJson)] });

/** Schema of a body that creates annotations of an item. */
export const creationListSchema = (brand: string): Schema => {
  const entry: Schema = { anyOf: [documentSchema(brand), objectOf({ annotation: documentSchema(brand) }), geoJson] };
  return { anyOf: [entry, listOf(entry)] };
};

/** Schema of the GeoJSON that is made from an annotation. */
export const featureCollectionSchema = component(
  'FeatureCollection',
  objectOf({
    type: { const: 'FeatureCollection' },
    features: listOf({
      ...objectOf({ type: { const: 'Feature' }, geometry: anyObject, properties: anyObject }),
      additionalProperties: true,
    }),
  }),
);

const optionalProperties = {
  creatorId: orNull(idText),
  created: dateText,
  updated: dateText,
  updatedId: orNull(idText),
  public: anyBoolean,
  publicFlags: listOf(anyText),
  access: { ...anyObject, description: 'The list of permissions, if the caller can see it.' },
  groups: { type: 'array', items: orNull(anyText), description: 'The distinct groups of the elements.' },
  fileChanged: {
    ...dateText,
    description: 'When the server noticed that the contents of the file have changed since the annotation was created.',
  },
  _overlays: {
    const: true,
    description: 'Present if elements of the types image or pixelmap refer to other images, or once did.',
  },
  _active: { const: false, description: 'Present once the annotation is deleted.' },
  _annotationId: { ...idText, description: 'For previous versions: id of the annotation.' },
  _elementQuery: {
    ...objectOf({}, { returned: anyInteger, details: anyInteger, orders: listOf(anyInteger) }),
    additionalProperties: true,
    description: 'The query, and the number of returned elements and of their points.',
  },
  _accessLevel: shownAccess,
  _modelType: { const: 'annotation' },
} satisfies Record<string, Schema>;

/** Schema of an annotation in responses. Lists leave `elements` out. */
export function annotationSchema(brand: string): Schema {
  const document = component('ShownDocument', {
    type: 'object',
    properties: {
      ...headProperties,
      name: anyText,
      elements: {
        type: 'array',
        items: { anyOf: [elementSchema(brand), anyObject] },
        description: 'If the request sets `bbox`, each element has its bounding box in `_bbox`.',
      },
    },
  });
  return component(
    'Annotation',
    objectOf(
      {
        _id: idText,
        itemId: idText,
        annotation: document,
        _version: anyInteger,
        _elementCount: anyInteger,
        _detailsCount: anyInteger,
      },
      optionalProperties,
    ),
  );
}

/** Schema of a list of annotations. */
export const annotationListSchema = (brand: string): Schema => listOf(annotationSchema(brand));
