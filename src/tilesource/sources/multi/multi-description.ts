import { Ajv, type ErrorObject } from 'ajv';
import { parseYaml } from '../../../core/yaml.js';
import { LargeImageError, TileSourceError } from '../../../errors.js';
import type { SampleType } from '../../raster.js';

/** Maximum number of bytes of a description. */
export const maxDescriptionBytes = 2 ** 20;
/** Maximum number of sources in a description. */
export const maxSources = 10_000;
/** Maximum number of points of a warp. */
const maxWarpPoints = 100;
const maxNumber = 1e9;

/** The coordinates x and y of a point in an image. */
export type Point = readonly [x: number, y: number];

/**
 * The position of a source in the image. A point of the source is shown at the image's point (x, y) + scale · (s11 s12; s21 s22) ·
 * point. `crop` is the part of the source that is shown. A `warp` moves the points `src` of the source to the points `dst`;
 * {@link placementOf} combines it with the matrix.
 */
export interface Position {
  x?: number;
  y?: number;
  scale?: number;
  s11?: number;
  s12?: number;
  s21?: number;
  s22?: number;
  crop?: { left?: number; top?: number; right?: number; bottom?: number };
  warp?: { src: Point[] | Record<string, Point>; dst: Point[] | Record<string, Point> };
}

/** An entry of the list of sources. Each axis has its own properties: `z`, `zSet`, `zValues`, `zStep`, and so on. */
export interface SourceEntry {
  path: string;
  pathPattern?: string;
  sourceName?: string;
  channel?: string;
  channels?: string[];
  frames?: number[];
  framesAsAxes?: Record<string, number>;
  position?: Position;
  sampleScale?: number;
  sampleOffset?: number;
  style?: object;
  [axisProperty: string]: unknown;
}

/** A parsed description. */
export interface MultiDescription {
  name?: string;
  description?: string;
  width?: number;
  height?: number;
  tileWidth?: number;
  tileHeight?: number;
  channels?: string[];
  scale?: { mm_x?: number; mm_y?: number; magnification?: number };
  backgroundColor?: number[];
  basePath?: string;
  uniformSources?: boolean;
  dtype?: SampleType;
  singleBand?: boolean;
  axes?: string[];
  sources: SourceEntry[];
}

const sampleTypes = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'];
/** Our sample types, by the names of numpy that differ from our names. */
const typesByNumpyName: Readonly<Record<string, SampleType>> = {
  float: 'float64',
  double: 'float64',
  int: 'int32',
  uint: 'uint32',
};

const textSchema = { type: 'string', maxLength: 4096 };
const numberSchema = { type: 'number', minimum: -maxNumber, maximum: maxNumber };
const positiveSchema = { type: 'number', exclusiveMinimum: 0, maximum: maxNumber };
const sizeSchema = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 };
const indexSchema = { type: 'integer', minimum: 0, maximum: 100_000 };
const textsSchema = { type: 'array', items: { ...textSchema, maxLength: 256 }, minItems: 1, maxItems: 1000 };
const axisName = '^[A-Za-z][A-Za-z0-9_]{0,15}$';
const pointSchema = { type: 'array', items: numberSchema, minItems: 2, maxItems: 2 };
const pointsSchema = {
  anyOf: [
    { type: 'array', items: pointSchema, maxItems: maxWarpPoints },
    { type: 'object', additionalProperties: pointSchema, maxProperties: maxWarpPoints },
  ],
};

const positionSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...Object.fromEntries(['x', 'y', 's11', 's12', 's21', 's22'].map((name) => [name, numberSchema])),
    scale: positiveSchema,
    crop: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(['left', 'top', 'right', 'bottom'].map((name) => [name, { type: 'integer' }])),
    },
    warp: {
      type: 'object',
      additionalProperties: false,
      properties: { src: pointsSchema, dst: pointsSchema },
      required: ['src', 'dst'],
    },
  },
};

const sourceSchema = {
  type: 'object',
  required: ['path'],
  properties: {
    name: textSchema,
    description: textSchema,
    path: { ...textSchema, minLength: 1, maxLength: 1024 },
    pathPattern: { ...textSchema, minLength: 1, maxLength: 1024 },
    sourceName: { ...textSchema, maxLength: 64 },
    channel: { ...textSchema, maxLength: 256 },
    channels: textsSchema,
    frames: { type: 'array', items: indexSchema, maxItems: 100_000 },
    framesAsAxes: {
      type: 'object',
      propertyNames: { pattern: axisName },
      additionalProperties: { ...indexSchema, minimum: 1 },
      maxProperties: 16,
    },
    position: positionSchema,
    sampleScale: { type: ['number', 'null'] },
    sampleOffset: { type: ['number', 'null'] },
    style: { type: 'object' },
    params: { type: 'object', maxProperties: 0 },
    frame: indexSchema,
  },
  patternProperties: {
    '^(c|z|t|xy)(Set)?$': indexSchema,
    '^[A-Za-z][A-Za-z0-9_]*Values$': {
      type: 'array',
      items: { ...numberSchema, minimum: 0, maximum: 100_000 },
      minItems: 1,
      maxItems: 10_000,
    },
    '^[A-Za-z][A-Za-z0-9_]*Step$': { type: 'integer', minimum: 1, maximum: 100_000 },
  },
};

const schema = {
  type: 'object',
  required: ['sources'],
  additionalProperties: false,
  properties: {
    name: textSchema,
    description: textSchema,
    width: sizeSchema,
    height: sizeSchema,
    tileWidth: sizeSchema,
    tileHeight: sizeSchema,
    channels: textsSchema,
    scale: {
      type: 'object',
      additionalProperties: false,
      properties: { mm_x: positiveSchema, mm_y: positiveSchema, magnification: positiveSchema },
    },
    backgroundColor: { type: 'array', items: { type: 'number' }, maxItems: 1000 },
    basePath: { ...textSchema, maxLength: 1024 },
    uniformSources: { type: 'boolean' },
    dtype: { enum: [...sampleTypes, ...Object.keys(typesByNumpyName)] },
    singleBand: { type: 'boolean' },
    axes: { type: 'array', items: { type: 'string', pattern: axisName }, maxItems: 16 },
    sources: { type: 'array', items: sourceSchema, minItems: 1, maxItems: maxSources },
  },
};

const validate = new Ajv({ strict: false, verbose: false }).compile<MultiDescription>(schema);

function describeFault({ instancePath, message, params }: ErrorObject): string {
  const subject = instancePath === '' ? 'it' : instancePath.slice(1).replaceAll('/', '.');
  const propertyText = typeof params.additionalProperty === 'string' ? ` (${params.additionalProperty.slice(0, 100)})` : '';
  const allowedText = Array.isArray(params.allowedValues) ? `: ${params.allowedValues.join(', ')}` : '';
  return `${subject} ${message ?? 'is wrong'}${propertyText}${allowedText}`;
}

function parseContent(content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch {
    // Text that is not JSON is parsed as YAML.
  }
  try {
    return parseYaml(content, 'The description');
  } catch (cause) {
    if (cause instanceof LargeImageError) throw new TileSourceError(cause.message, { cause });
    throw cause;
  }
}

/**
 * Parses the text of a description.
 *
 * @throws TileSourceError that says what is wrong.
 */
export function readDescription(content: string): MultiDescription {
  const mayBeDescription = /^\s{0,1000}[{#%a-z"'-]/i.test(content) && content.includes('sources');
  if (!mayBeDescription) throw new TileSourceError('The file does not describe a combined image: it has no "sources".');
  const value = parseContent(content);
  if (!validate(value)) {
    const fault = validate.errors?.[0];
    throw new TileSourceError(`The description of the image is invalid: ${fault === undefined ? 'it' : describeFault(fault)}.`);
  }
  return value.dtype !== undefined && Object.hasOwn(typesByNumpyName, value.dtype)
    ? { ...value, dtype: typesByNumpyName[value.dtype]! }
    : value;
}
