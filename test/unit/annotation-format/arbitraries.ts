import fc from 'fast-check';
import type { AnnotationElement, ElementType } from '../../../src/annotation-format/schema/document.js';

/** Numbers as they occur in slides, some with many digits. */
const number = fc.oneof(
  fc.integer({ min: -2000, max: 200_000 }),
  fc.double({ min: -1e5, max: 1e5, noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
);
const length = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 5000 }), fc.double({ min: 0.001, max: 5000, noNaN: true }));
const positive = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.double({ min: 0.001, max: 100, noNaN: true }));
const hex = (size: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: size, maxLength: size });
const id = hex(24);
const channel = fc.integer({ min: 0, max: 300 });
export const color = fc.oneof(
  fc.constantFrom(3, 4, 6, 8).chain((size) => hex(size).map((digits) => `#${digits}`)),
  fc.tuple(channel, channel, channel).map((rgb) => `rgb(${rgb.join(', ')})`),
  fc.tuple(channel, channel, channel, fc.constantFrom('0', '1', '0.5', '.25', '1.0')).map((rgba) => `rgba(${rgba.join(',')})`),
);
const coordinate = fc.tuple(number, number, number);
const coordinates = (minLength: number, maxLength = 12) => fc.array(coordinate, { minLength, maxLength });
/** Free-form data; a key `__proto__` is refused and tested apart. */
const freeForm = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>, { maxKeys: 3 })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  // The value as a parser returns it, in which negative zero becomes zero.
  .map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

/** Keeps a random part of the members. */
function someMembers<T extends object>(members: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> {
  return fc.record(members, { requiredKeys: [] }) as fc.Arbitrary<Partial<T>>;
}

const base = someMembers({
  id,
  label: fc
    .tuple(fc.string(), someMembers({ visibility: fc.constantFrom('hidden', 'always', 'onhover'), fontSize: positive, color }))
    .map(([value, rest]) => ({ value, ...rest })),
  group: fc.string(),
  user: freeForm,
});
const vector = someMembers({ lineColor: color, lineWidth: length, fillColor: color });
const pattern = someMembers({ pattern: fc.constantFrom('circle', 'triangle', 'diamond', 'flower(1)', 'star(16)', 'jack(9)') });
const box = fc
  .tuple(
    fc.record({ center: coordinate, width: length, height: length }),
    someMembers({ rotation: fc.double({ min: -7, max: 7, noNaN: true }).map((value) => value + 0), normal: coordinate }),
  )
  .map(([required, optional]) => ({ ...required, ...optional }));
const range = fc.tuple(fc.array(color, { maxLength: 4 }), fc.boolean(), fc.boolean()).map(([colorRange, hasValues, falls]) => ({
  colorRange,
  ...(hasValues ? { rangeValues: colorRange.map((_, at) => (falls ? -at : Math.floor(at / 2))) } : {}),
}));
const transform = someMembers({
  xoffset: number,
  yoffset: number,
  matrix: fc.tuple(fc.tuple(number, number), fc.tuple(number, number)),
});
const overlay = someMembers({ opacity: fc.double({ min: 0, max: 1, noNaN: true }), hasAlpha: fc.boolean(), transform });

function join(...parts: fc.Arbitrary<object>[]): fc.Arbitrary<object> {
  return fc.tuple(...parts).map((members) => Object.assign({}, ...members) as object);
}

const membersByType: Record<ElementType, fc.Arbitrary<object>> = {
  arrow: join(fc.record({ points: coordinates(2, 2) }), vector),
  circle: join(fc.record({ center: coordinate, radius: length }), vector, pattern),
  ellipse: join(box, vector, pattern),
  griddata: join(
    fc
      .tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 4 }))
      .chain(([gridWidth, rows]) =>
        fc.array(number, { minLength: gridWidth * rows, maxLength: gridWidth * rows }).map((values) => ({ gridWidth, values })),
      ),
    range,
    someMembers({
      interpretation: fc.constantFrom('heatmap', 'contour', 'choropleth'),
      origin: coordinate,
      dx: number,
      dy: number,
      radius: positive,
      scaleWithZoom: fc.boolean(),
      normalizeRange: fc.boolean(),
      minColor: color,
      maxColor: color,
    }),
  ),
  heatmap: join(
    fc.record({ points: fc.array(fc.tuple(number, number, number, number), { maxLength: 8 }) }),
    range,
    someMembers({ radius: positive, normalizeRange: fc.boolean(), scaleWithZoom: fc.boolean() }),
  ),
  point: join(fc.record({ center: coordinate }), vector),
  polyline: join(
    fc.record({ points: coordinates(2) }),
    someMembers({ closed: fc.boolean(), holes: fc.array(coordinates(3, 6), { maxLength: 3 }) }),
    vector,
    pattern,
  ),
  rectangle: join(box, vector, pattern),
  rectanglegrid: join(
    box,
    fc.record({ widthSubdivisions: fc.integer({ min: 1, max: 9 }), heightSubdivisions: fc.integer({ min: 1, max: 9 }) }),
    vector,
    pattern,
  ),
  image: join(fc.record({ serviceId: id }), overlay),
  pixelmap: join(
    fc.record({
      serviceId: id,
      values: fc.array(fc.integer(), { maxLength: 5 }),
      categories: fc.array(
        join(fc.record({ fillColor: color }), someMembers({ strokeColor: color, label: fc.string(), description: fc.string() })),
        { maxLength: 3 },
      ),
      boundaries: fc.boolean(),
    }),
    overlay,
  ),
};

/** Valid elements of one type; brand `service`. */
export function elementOf(type: ElementType): fc.Arbitrary<AnnotationElement> {
  return join(base, membersByType[type]).map((members) => ({ type, ...members }) as AnnotationElement);
}

export const allTypes = Object.keys(membersByType) as ElementType[];

/** Valid elements of any type; brand `service`. */
export const anyElement: fc.Arbitrary<AnnotationElement> = fc.constantFrom(...allTypes).chain(elementOf);
