import type { FromSchema } from './from-schema.js';

/** A part of the JSON schema of annotations. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * Allowed color strings: `#RGB`, `#RGBA`, `#RRGGBB`, `#RRGGBBAA`, `rgb(r, g, b)`, `rgba(r, g, b, a)`. Channels are unsigned
 * integers of any size, as the format names no upper limit; the alpha is a decimal number from 0 to 1.
 */
export const colorPattern =
  '^(#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})' +
  '|rgb\\([0-9]+,\\s*[0-9]+,\\s*[0-9]+\\)' +
  '|rgba\\([0-9]+,\\s*[0-9]+,\\s*[0-9]+,\\s*(0|1|0?\\.[0-9]+|1\\.0+)\\))$';

/** Allowed fill patterns: a plain name, or a name with a count from 1 to 16. */
export const fillPattern = '^(circle|triangle|diamond|(flower|star|jack)\\(([1-9]|1[0-6])\\))$';

/** Ids of elements, items and annotations. */
export const idPattern = '^[0-9a-f]{24}$';

export const color = { type: 'string', pattern: colorPattern, title: 'Color' } as const;
export const number = { type: 'number' } as const;
export const boolean = { type: 'boolean' } as const;
export const notNegative = { type: 'number', minimum: 0 } as const;
export const positive = { type: 'number', exclusiveMinimum: 0 } as const;
export const positiveInteger = { type: 'integer', minimum: 1 } as const;
export const numbers = { type: 'array', items: number } as const;
const colors = { type: 'array', items: color } as const;

/** A list of exactly `length` numbers. */
export function vector<const Length extends number>(length: Length, description: string) {
  return { type: 'array', items: number, minItems: length, maxItems: length, description } as const;
}

export const coordinate = vector(3, 'Position in base-layer pixels, origin at the upper left: x, y, z.');

/** A position in base-layer pixels, origin at the upper left of the image: x, y, z. */
export type Coordinate = FromSchema<typeof coordinate>;

/** A list of coordinates. */
export function coordinates<const Limits extends { minItems?: number; maxItems?: number }>(limits: Limits) {
  return { type: 'array', items: coordinate, ...limits } as const;
}

export const vectorProperties = { lineColor: color, lineWidth: notNegative, fillColor: color };
export const patternProperty = {
  pattern: {
    type: 'string',
    pattern: fillPattern,
    description:
      'Fills the shape with a pattern in the stroke color: circle, triangle, diamond, flower(n), star(n), jack(n), n from 1 to 16.',
  },
} as const satisfies Record<string, Schema>;

/** Properties of shapes that have a center, a width and a height. */
export const boxProperties = {
  center: coordinate,
  width: notNegative,
  height: notNegative,
  rotation: { type: 'number', description: 'Radians counterclockwise around normal.' },
  normal: { ...vector(3, 'Axis of the rotation.'), default: [0, 0, 1] },
  ...vectorProperties,
  ...patternProperty,
} as const satisfies Record<string, Schema>;

/** Properties of elements that show values as colors. */
export const rangeProperties = {
  colorRange: { ...colors, description: 'Colors that correspond one to one to rangeValues.' },
  rangeValues: { ...numbers, description: 'Weakly monotonic values, one for each color (stepped contours: one more).' },
} as const satisfies Record<string, Schema>;

const hexId = { type: 'string', pattern: idPattern } as const;

/** Properties of image and pixelmap, except the field that refers to an item. */
const overlayFields = {
  opacity: { type: 'number', minimum: 0, maximum: 1, default: 1 },
  hasAlpha: { type: 'boolean', description: 'Whether to use the alpha channel of the overlay.' },
  transform: {
    type: 'object',
    properties: {
      xoffset: { type: 'number', description: 'Shift to the right.' },
      yoffset: { type: 'number', description: 'Shift down.' },
      matrix: {
        type: 'array',
        items: { type: 'array', items: number, minItems: 2, maxItems: 2 },
        minItems: 2,
        maxItems: 2,
        description: 'Affine matrix for scaling, rotation and shearing.',
      },
    },
    additionalProperties: false,
  },
} as const satisfies Record<string, Schema>;

/** Placement of an overlay. The overlay's point (x, y) is shown at `[x, y] · matrix + [xoffset, yoffset]` (row vector). */
export type OverlayTransform = FromSchema<typeof overlayFields.transform>;

/** The field that refers to an item. See {@link itemField} for its name. */
type ItemProperty = { [field: `${string}Id`]: typeof hexId & { description: string } };

/** Properties of image and pixelmap; `brand` gives the name of the field that refers to an item. */
export function overlayProperties(brand: string): ItemProperty & typeof overlayFields {
  return { [itemField(brand)]: { ...hexId, description: 'Id of the large-image item to overlay.' }, ...overlayFields };
}

/** Name of the field by which image and pixelmap elements refer to an item: `serviceId`, or `girderId` for brand `girder`. */
export function itemField(brand: string): `${string}Id` {
  return `${brand}Id`;
}

const baseProperties = {
  id: hexId,
  label: {
    type: 'object',
    properties: {
      value: { type: 'string' },
      visibility: { type: 'string', enum: ['hidden', 'always', 'onhover'] },
      fontSize: positive,
      color,
    },
    required: ['value'],
    additionalProperties: false,
  },
  group: { type: 'string' },
  user: { type: 'object', additionalProperties: true },
} as const satisfies Record<string, Schema>;

/** The schema that {@link defineElementSchema} makes. */
type ElementSchema<Type extends string, Required extends string, Properties> = {
  type: 'object';
  description?: string;
  properties: { type: { type: 'string'; const: Type } } & typeof baseProperties & Properties;
  required: readonly ('type' | Required)[];
  additionalProperties: false;
};

/** Schema of one element type: its own properties and the properties that every element has. */
export function defineElementSchema<
  const Type extends string,
  const Required extends string,
  const Properties extends Record<string, Schema>,
>(
  type: Type,
  required: readonly Required[],
  properties: Properties,
  description?: string,
): ElementSchema<Type, Required, Properties> {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: { type: { type: 'string', const: type }, ...baseProperties, ...properties },
    required: ['type', ...required],
    additionalProperties: false,
  };
}

/** An element with a center, a width and a height: the properties of every element, and {@link boxProperties}. */
export type BoxElement = Omit<FromSchema<ElementSchema<string, 'center' | 'width' | 'height', typeof boxProperties>>, 'type'>;
