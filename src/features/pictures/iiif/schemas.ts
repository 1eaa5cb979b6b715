import { anyInteger, anyNumber, anyText, component, listOf, mapOf, objectOf } from '../../../http/schemas.js';

const address = { type: 'string', format: 'uri' } as const;
const rights = { ...address, description: 'A statement of Creative Commons or RightsStatements.org.' } as const;
const size = { width: anyInteger, height: anyInteger };

/** Texts by language. The key `none` means that the language is unknown. */
const texts = component('IiifTexts', mapOf(listOf(anyText)));
const labeledValue = objectOf({ label: texts, value: texts });

const service = objectOf({ id: address, type: { const: 'ImageService3' }, profile: { const: 'level2' } });

const image = component(
  'IiifImage',
  objectOf(
    { id: address, type: { const: 'Image' }, format: { const: 'image/jpeg' }, service: listOf(service) },
    { ...size, label: texts },
  ),
);

const choice = objectOf({ type: { const: 'Choice' }, items: listOf(image) });

const painting = objectOf({
  id: address,
  type: { const: 'Annotation' },
  motivation: { const: 'painting' },
  body: { oneOf: [image, choice] },
  target: address,
});

const physicalDimensions = objectOf({
  '@context': address,
  id: address,
  type: { const: 'PhysicalDimensions' },
  profile: address,
  physicalScale: anyNumber,
  physicalUnits: { const: 'mm' },
});

const canvas = component(
  'IiifCanvas',
  objectOf(
    {
      id: address,
      type: { const: 'Canvas' },
      label: texts,
      ...size,
      thumbnail: listOf(image),
      items: listOf(objectOf({ id: address, type: { const: 'AnnotationPage' }, items: listOf(painting) })),
    },
    { service: listOf(physicalDimensions) },
  ),
);

/** The description of an image of the Image API (`info.json`). */
export const imageInformationSchema = component(
  'IiifImageInformation',
  objectOf(
    {
      '@context': address,
      id: address,
      type: { const: 'ImageService3' },
      protocol: address,
      profile: { const: 'level2' },
      ...size,
      maxWidth: anyInteger,
      maxHeight: anyInteger,
      maxArea: anyInteger,
      sizes: listOf(objectOf(size)),
      tiles: listOf(objectOf({ ...size, scaleFactors: listOf(anyInteger) })),
      extraQualities: listOf(anyText),
      extraFormats: listOf(anyText),
      extraFeatures: listOf(anyText),
      partOf: listOf(objectOf({ id: address, type: { const: 'Manifest' } })),
    },
    { rights },
  ),
);

/** A manifest of the Presentation API. */
export const manifestSchema = component(
  'IiifManifest',
  objectOf(
    { '@context': address, id: address, type: { const: 'Manifest' }, label: texts, items: listOf(canvas) },
    {
      summary: texts,
      metadata: listOf(labeledValue),
      rights,
      requiredStatement: labeledValue,
      thumbnail: listOf(image),
      partOf: listOf(objectOf({ id: address, type: { const: 'Collection' } })),
    },
  ),
);

/** A collection of the Presentation API. */
export const collectionSchema = component(
  'IiifCollection',
  objectOf({
    '@context': address,
    id: address,
    type: { const: 'Collection' },
    label: texts,
    items: listOf(
      objectOf(
        { id: address, type: { type: 'string', enum: ['Collection', 'Manifest'] }, label: texts },
        { thumbnail: listOf(image) },
      ),
    ),
  }),
);
