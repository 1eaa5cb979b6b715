/** A position in base-layer pixels, origin at the upper left of the image: x, y, z. */
export type Coordinate = [x: number, y: number, z: number];

/** Text shown with an element. */
interface ElementLabel {
  value: string;
  visibility?: 'hidden' | 'always' | 'onhover';
  /** Greater than 0. */
  fontSize?: number;
  color?: string;
}

/** The fields of every element. */
export interface ElementBase {
  /** 24 lowercase hexadecimal digits, unique among the elements of an annotation. */
  id?: string;
  label?: ElementLabel;
  group?: string;
  user?: Record<string, unknown>;
}

/** The fields of every drawn shape. */
export interface VectorElement extends ElementBase {
  lineColor?: string;
  lineWidth?: number;
  fillColor?: string;
}

/** Placement of an overlay: its point (x, y) is at `[x, y] · matrix + [xoffset, yoffset]` (row vector). */
export interface OverlayTransform {
  xoffset?: number;
  yoffset?: number;
  matrix?: [[number, number], [number, number]];
}

/** A part of the JSON schema of annotations. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * Allowed colour strings: `#RGB`, `#RGBA`, `#RRGGBB`, `#RRGGBBAA`, `rgb(r, g, b)`, `rgba(r, g, b, a)`. Channels are unsigned
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

export const color: Schema = { type: 'string', pattern: colorPattern, title: 'Color' };
export const number: Schema = { type: 'number' };
export const boolean: Schema = { type: 'boolean' };
export const notNegative: Schema = { type: 'number', minimum: 0 };
export const positive: Schema = { type: 'number', exclusiveMinimum: 0 };
export const positiveInteger: Schema = { type: 'integer', minimum: 1 };
export const numbers: Schema = { type: 'array', items: number };
const colors: Schema = { type: 'array', items: color };

/** A list of exactly `length` numbers. */
export function vector(length: number, description: string): Schema {
  return { type: 'array', items: number, minItems: length, maxItems: length, description };
}

export const coordinate = vector(3, 'Position in base-layer pixels, origin at the upper left: x, y, z.');

/** A list of coordinates. */
export function coordinates(limits: { minItems?: number; maxItems?: number }): Schema {
  return { type: 'array', items: coordinate, ...limits };
}

const lineProperties = { lineColor: color, lineWidth: notNegative };
export const vectorProperties = { ...lineProperties, fillColor: color };
export const patternProperty = {
  pattern: {
    type: 'string',
    pattern: fillPattern,
    description:
      'Fills the shape with a pattern in the stroke color: circle, triangle, diamond, flower(n), star(n), jack(n), n from 1 to 16.',
  },
} satisfies Record<string, Schema>;

/** Properties of shapes that have a centre, a width and a height. */
export const boxProperties = {
  center: coordinate,
  width: notNegative,
  height: notNegative,
  rotation: { type: 'number', description: 'Radians counterclockwise around normal.' },
  normal: { ...vector(3, 'Axis of the rotation.'), default: [0, 0, 1] },
  ...vectorProperties,
  ...patternProperty,
} satisfies Record<string, Schema>;

/** Properties of values shown by a range of colors. */
export const rangeProperties = {
  colorRange: { ...colors, description: 'Colors that correspond one to one to rangeValues.' },
  rangeValues: { ...numbers, description: 'Weakly monotonic values, one for each color (stepped contours: one more).' },
} satisfies Record<string, Schema>;

const hexId: Schema = { type: 'string', pattern: idPattern };

/** Properties of image and pixelmap; `brand` gives the name of the field that refers to an item. */
export function overlayProperties(brand: string): Record<string, Schema> {
  return {
    [itemField(brand)]: { ...hexId, description: 'Id of the large-image item to overlay.' },
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
  };
}

/** Name of the field by which image and pixelmap elements refer to an item: `serviceId`, or `girderId` for brand `girder`. */
export function itemField(brand: string): string {
  return `${brand}Id`;
}

const baseProperties: Record<string, Schema> = {
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
};

/** Schema of one element type: its own properties, those of every element, and no others. */
export function shape(
  type: string,
  required: readonly string[],
  properties: Record<string, Schema>,
  description?: string,
): Schema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties: { type: { type: 'string', const: type }, ...baseProperties, ...properties },
    required: ['type', ...required],
    additionalProperties: false,
  };
}
