/**
 * A second implementation of the rules of annotation documents, written only from the tables in the description of the format. It
 * shares nothing with the sources. Each rule restates one sentence of a table.
 */
type Json = Record<string, unknown>;
type Rule = (value: unknown) => boolean;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const digits = (text: string) => text !== '' && text.split('').every((digit) => '0123456789'.includes(digit));
const hex = (text: string, alphabet = '0123456789abcdefABCDEF') => text.split('').every((digit) => alphabet.includes(digit));

const text: Rule = (value) => typeof value === 'string';
const flag: Rule = (value) => value === true || value === false;
const number: Rule = (value) => typeof value === 'number' && Math.abs(value) < Infinity;
const integer: Rule = (value) => number(value) && Math.round(value as number) === value;
const atLeast =
  (least: number, rule = number): Rule =>
  (value) =>
    rule(value) && (value as number) >= least;
const above0: Rule = (value) => number(value) && (value as number) > 0;
const oneOf =
  (...words: unknown[]): Rule =>
  (value) =>
    words.some((word) => word === value);
const list =
  (rule: Rule, least = 0, most = Infinity): Rule =>
  (value) =>
    Array.isArray(value) && value.length >= least && value.length <= most && value.every((entry) => rule(entry));
const free: Rule = (value) => isObject(value);
const objectId: Rule = (value) => text(value) && (value as string).length === 24 && hex(value as string, '0123456789abcdef');
const coordinate = list(number, 3, 3);

/** Whether a text is a decimal number from 0 to 1, such as `1`, `0.5` or `.5`. */
function isOpacity(text: string): boolean {
  const [integerPart = '', decimals, ...more] = text.split('.');
  if (more.length > 0 || (decimals === undefined ? !digits(integerPart) : !digits(decimals))) return false;
  return (integerPart === '' || integerPart === '0' || integerPart === '1') && Number(text) <= 1;
}

/** 2.4 */
const color: Rule = (value) => {
  if (typeof value !== 'string') return false;
  if (value.startsWith('#')) return [3, 4, 6, 8].includes(value.length - 1) && hex(value.slice(1));
  const [name, rest] = [value.slice(0, value.indexOf('(')), value.slice(value.indexOf('(') + 1)];
  if (!rest.endsWith(')')) return false;
  // White space is allowed only after commas.
  const parts = rest.slice(0, -1).split(',');
  const channels = parts.map((part, at) => (at === 0 ? part : part.trimStart()));
  if (name === 'rgb') return channels.length === 3 && channels.every(digits);
  return name === 'rgba' && channels.length === 4 && channels.slice(0, 3).every(digits) && isOpacity(channels[3] as string);
};

/** 2.3 */
const pattern: Rule = (value) => {
  const counted = ['flower', 'star', 'jack'].flatMap((name) => Array.from({ length: 16 }, (_, n) => `${name}(${n + 1})`));
  return ['circle', 'triangle', 'diamond', ...counted].some((word) => word === value);
};

/** An object with these members and no others. */
function record(required: Record<string, Rule>, optional: Record<string, Rule>): Rule {
  const rules = new Map([...Object.entries(required), ...Object.entries(optional)]);
  return (value) =>
    isObject(value) &&
    Object.keys(required).every((key) => Object.hasOwn(value, key)) &&
    Object.entries(value).every(([key, entry]) => rules.get(key)?.(entry) ?? false);
}

const vector = { lineColor: color, lineWidth: atLeast(0), fillColor: color };
const boxed = { center: coordinate, width: atLeast(0), height: atLeast(0) };
const turned = { rotation: number, normal: coordinate, ...vector, pattern };
const ranged = { colorRange: list(color), rangeValues: list(number), normalizeRange: flag, scaleWithZoom: flag, radius: above0 };
const transform = record({}, { xoffset: number, yoffset: number, matrix: list(list(number, 2, 2), 2, 2) });
const overlay = { opacity: (value: unknown) => atLeast(0)(value) && (value as number) <= 1, hasAlpha: flag, transform };
const category = record({ fillColor: color }, { strokeColor: color, label: text, description: text });
const label = record({ value: text }, { visibility: oneOf('hidden', 'always', 'onhover'), fontSize: above0, color });

/** 2.3: required and optional members of each type. */
export const oracleTable: Readonly<Record<string, { required: Record<string, Rule>; optional: Record<string, Rule> }>> = {
  arrow: { required: { points: list(coordinate, 2, 2) }, optional: vector },
  circle: { required: { center: coordinate, radius: atLeast(0) }, optional: { ...vector, pattern } },
  ellipse: { required: boxed, optional: turned },
  point: { required: { center: coordinate }, optional: vector },
  polyline: {
    required: { points: list(coordinate, 2) },
    optional: { closed: flag, holes: list(list(coordinate, 3)), ...vector, pattern },
  },
  rectangle: { required: boxed, optional: turned },
  rectanglegrid: {
    required: { ...boxed, widthSubdivisions: atLeast(1, integer), heightSubdivisions: atLeast(1, integer) },
    optional: turned,
  },
  heatmap: { required: { points: list(list(number, 4, 4)) }, optional: ranged },
  griddata: {
    required: { gridWidth: atLeast(1, integer), values: list(number) },
    optional: {
      interpretation: oneOf('heatmap', 'contour', 'choropleth'),
      origin: coordinate,
      dx: number,
      dy: number,
      ...ranged,
      stepped: flag,
      minColor: color,
      maxColor: color,
    },
  },
  image: { required: { serviceId: objectId }, optional: overlay },
  pixelmap: {
    required: { serviceId: objectId, values: list(integer), categories: list(category), boundaries: flag },
    optional: overlay,
  },
};

/** 2.2 */
const shared = { id: objectId, label, group: text, user: free };

const elementRules = new Map(
  Object.entries(oracleTable).map(([type, { required, optional }]) => [
    type,
    record({ type: oneOf(type), ...required }, { ...shared, ...optional }),
  ]),
);

/** Rules of the tables that relate members to each other, which are not in the JSON schema. */
function related(element: Json): boolean {
  const { values, gridWidth, rangeValues, colorRange } = element as Record<string, number[]> & { gridWidth?: number };
  if (element.type === 'griddata' && (values as number[]).length % (gridWidth as number) !== 0) return false;
  if (rangeValues === undefined) return true;
  const pairs = rangeValues.slice(1).map((value, at) => [rangeValues[at] as number, value] as const);
  if (!pairs.every(([a, b]) => a <= b) && !pairs.every(([a, b]) => a >= b)) return false;
  if (colorRange === undefined) return true;
  const isSteppedContour = element.interpretation === 'contour' && element.stepped === true;
  return rangeValues.length === colorRange.length + (isSteppedContour ? 1 : 0);
}

/** The verdict of the tables on a document: whether its shape is valid, and whether all of it is valid. */
export interface OracleVerdict {
  schema: boolean;
  all: boolean;
}

const head = record(
  {},
  {
    name: (value) => text(value) && value !== '',
    description: text,
    display: record({}, { visible: oneOf('new', true, false) }),
    attributes: free,
    elements: list((element) => isObject(element) && (elementRules.get(String(element.type))?.(element) ?? false)),
  },
);

/** The verdict of the tables on a parsed document (2.1). */
export function oracle(document: unknown): OracleVerdict {
  if (!head(document)) return { schema: false, all: false };
  const elements = ((document as Json).elements ?? []) as Json[];
  const ids = elements.flatMap(({ id }) => (id === undefined ? [] : [id]));
  return { schema: true, all: new Set(ids).size === ids.length && elements.every(related) };
}
