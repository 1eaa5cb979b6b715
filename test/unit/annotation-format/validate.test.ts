import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadParameterError, InvalidError } from '../../../src/errors.js';
import { compileCheck } from '../../../src/annotation-format/fast-check.js';
import { patchSchemaError } from '../../../src/annotation-format/messages.js';
import { elementSchemas, schemaFor, type ElementType } from '../../../src/annotation-format/schema/document.js';
import {
  createAnnotationAjv,
  createDocumentValidator,
  createElementValidator,
  createHeadValidator,
} from '../../../src/annotation-format/validate.js';
import { allTypes, anyElement, color } from './arbitraries.js';
import { badByType, badValues, fullElements, requiredMembers } from './samples.js';
import { casesOf } from '../../support/run/sample.js';

type Json = Record<string, unknown>;
const checkElement = createElementValidator('service');
const checkDocument = createDocumentValidator('service');
const servedSchema = createAnnotationAjv().compile(schemaFor('service'));

function message(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(BadParameterError);
    return (error as Error).message;
  }
  throw new Error('nothing was refused');
}

function messageFor(element: unknown, index = 0): string {
  return message(() => checkElement(element, index));
}

describe.each(allTypes)('%s', (type) => {
  const full = fullElements[type];

  test('accepts elements with every property of the type, and with no more than the required ones', () => {
    expect(checkElement(full, 0)).toEqual(full);
    const least = Object.fromEntries(
      Object.entries(full).filter(([key]) => key === 'type' || requiredMembers[type].includes(key)),
    );
    expect(checkElement(least, 0)).toEqual(least);
  });

  test('accepts id, label, group and user', () => {
    const label = { value: '', visibility: 'onhover', fontSize: 3.5, color: '#fff' };
    const element = {
      ...full,
      id: '0123456789abcdef01234567',
      label,
      group: '',
      user: { $where: 1, constructor: [null, { a: 'b' }] },
    };
    expect(checkElement(element, 0)).toEqual(element);
  });

  test.each(requiredMembers[type])('refuses an element without %s', (member) => {
    const element = { ...full };
    delete element[member];
    expect(messageFor(element, 7)).toContain(`(elements[7].${member}: is required (element type ${type}))`);
  });

  test('refuses properties of other types and unknown ones', () => {
    const others = new Set(allTypes.flatMap((other) => Object.keys(fullElements[other])));
    for (const name of [...others, 'text', 'girderId', '$where', 'constructor']) {
      if (Object.hasOwn(full, name)) continue;
      expect(messageFor({ ...full, [name]: 1 })).toMatch(
        new RegExp(`elements\\[0\\]: Additional .*"${name.replace('$', '\\$')}" was unexpected`),
      );
    }
  });

  test('refuses wrong values, naming index, property and type', () => {
    for (const name of Object.keys(full)) {
      for (const value of [...(badValues[name] ?? []), ...(badByType[type]?.[name] ?? [])]) {
        const text = messageFor({ ...full, [name]: value }, 12);
        expect(text).toMatch(/^Validation Error: JSON doesn't follow schema \(elements\[12\]\..*\)$/);
        expect(text).toContain(`elements[12].${name}`);
        expect(text).toContain(`(element type ${type})`);
      }
    }
  });

  test('has a table of wrong values for every property', () => {
    const tabled = new Set([...Object.keys(badValues), ...Object.keys(badByType[type] ?? {}), 'type']);
    expect(Object.keys(full).filter((name) => !tabled.has(name))).toEqual([]);
  });
});

describe('rules of single values', () => {
  const point = { type: 'point', center: [0, 0, 0] };

  test.each([
    '#abc',
    '#ABCD',
    '#aBcDeF',
    '#aBcDeF01',
    'rgb(1,2,3)',
    'rgb(1, 2,  3)',
    'rgb(255, 255, 255)',
    'rgb(999,0,0)',
    'rgba(1,2,3,0)',
    'rgba(1, 2, 3, 1)',
    'rgba(1,2,3,.5)',
    'rgba(1,2,3,0.25)',
    'rgba(1,2,3,1.0)',
  ])('accepts the color %s', (fillColor) => {
    expect(checkElement({ ...point, fillColor }, 0)).toBeDefined();
  });

  test.each(Array.from({ length: 16 }, (_, at) => at + 1))('accepts patterns with n = %i', (n) => {
    for (const name of ['flower', 'star', 'jack']) {
      expect(checkElement({ ...fullElements.circle, pattern: `${name}(${n})` }, 0)).toBeDefined();
    }
  });

  test.each([
    [{ value: 5 }, '.label.value: must be a string, not 5'],
    [{}, '.label.value: is required'],
    ['text', '.label: must be an object, not "text"'],
    [{ value: 'a', visibility: 'never' }, '.label.visibility: must be one of "hidden", "always", "onhover", not "never"'],
    [{ value: 'a', fontSize: 0 }, '.label.fontSize: must be greater than 0, not 0'],
    [{ value: 'a', color: 'red' }, '.label.color: must be a color: #RGB'],
    [{ value: 'a', text: 'b' }, '.label: Additional properties are not allowed ("text" was unexpected'],
  ])('refuses the label %j', (label, expected) => {
    expect(messageFor({ ...point, label }, 3)).toContain(`elements[3]${expected}`);
  });

  test.each([
    [null, 'elements[3]: must be an object, not null'],
    [[], 'elements[3]: must be an object, not []'],
    ['point', 'elements[3]: must be an object'],
    [{}, 'elements[3].type: is required; it must be one of arrow, circle'],
    [{ type: 'text' }, 'elements[3].type: must be one of arrow, circle, ellipse'],
    [{ type: 5 }, ', not 5'],
    [{ type: 'toString' }, 'elements[3].type: must be one of'],
    [{ ...point, id: 'ABC' }, 'elements[3].id: must be 24 lowercase hexadecimal digits, not "ABC"'],
    [{ ...point, group: null }, 'elements[3].group: must be a string, not null'],
    [{ ...point, user: [] }, 'elements[3].user: must be an object, not []'],
    [{ ...point, center: [1, 2] }, 'elements[3].center: must have exactly 3 entries, not 2'],
    [{ ...point, center: [1, 2, 'x'] }, 'elements[3].center[2]: must be a finite number, not "x"'],
    [{ type: 'griddata', gridWidth: 2, values: [1] }, 'elements[3].values: must have a multiple of gridWidth (2) entries, not 1'],
  ])('says what is wrong with %j', (element, expected) => {
    expect(messageFor(element, 3)).toContain(expected);
  });

  test('range values may rise, fall and repeat, but not change direction', () => {
    const heatmap = { type: 'heatmap', points: [] };
    for (const rangeValues of [[], [1], [1, 1], [1, 2, 2], [3, 2, 2]])
      expect(checkElement({ ...heatmap, rangeValues }, 0)).toBeDefined();
    expect(messageFor({ ...heatmap, rangeValues: [1, 2, 1] })).toContain(
      '.rangeValues: must be weakly monotonic, but changes direction at entry 2',
    );
  });

  test('only stepped contours need one range value more than colors', () => {
    const grid = { type: 'griddata', gridWidth: 1, values: [], colorRange: ['#000', '#fff'] };
    const stepped = { ...grid, stepped: true, interpretation: 'contour' };
    expect(checkElement({ ...stepped, rangeValues: [0, 1, 2] }, 0)).toBeDefined();
    expect(messageFor({ ...stepped, rangeValues: [0, 1] })).toContain(
      'must have one entry more than colorRange (stepped contour), that is 3, not 2',
    );
    expect(checkElement({ ...grid, stepped: true, rangeValues: [0, 1] }, 0)).toBeDefined();
    expect(checkElement({ ...grid, interpretation: 'contour', rangeValues: [0, 1] }, 0)).toBeDefined();
    expect(messageFor({ ...grid, rangeValues: [0, 1, 2] })).toContain('one entry for each color of colorRange, that is 2, not 3');
  });

  test('numbers that JSON text can overflow are refused', () => {
    const parsed: unknown = JSON.parse('{"type":"polyline","points":[[0,0,0],[1e400,0,0]]}');
    expect(messageFor(parsed)).toContain('elements[0].points[1][0]: must be a finite number, not Infinity');
    expect(messageFor(JSON.parse('{"type":"point","center":[0,0,0],"user":{"a":[{"b":-1e400}]}}'))).toContain(
      'elements[0].user.a[0].b: must be a finite number, not -Infinity',
    );
  });
});

describe('free-form data', () => {
  const nested = (depth: number) => JSON.parse('{"a":'.repeat(depth) + '1' + '}'.repeat(depth)) as Json;

  test('can be nested 64 levels deep, but neither 65 nor a million', () => {
    expect(checkElement({ ...fullElements.point, user: nested(64) }, 0)).toBeDefined();
    expect(messageFor({ ...fullElements.point, user: nested(65) }, 2)).toContain(
      'elements[2].user: must not be nested deeper than 64 levels',
    );
    const deep = JSON.parse('{"a":' + '['.repeat(1e6) + ']'.repeat(1e6) + '}') as Json;
    expect(messageFor({ ...fullElements.point, user: deep })).toContain('nested deeper');
    expect(message(() => checkDocument({ attributes: nested(100) }))).toContain(
      'attributes: must not be nested deeper than 64 levels',
    );
  });

  test('a key __proto__ is refused everywhere but in elements themselves, and changes no prototype', () => {
    const user = JSON.parse('{"a":{"__proto__":{"polluted":true}}}') as Json;
    expect(messageFor({ ...fullElements.point, user })).toContain('elements[0].user.a: must not have a key "__proto__"');
    expect(message(() => checkDocument(JSON.parse('{"attributes":{"__proto__":1}}')))).toContain(
      'attributes: must not have a key "__proto__"',
    );
    expect(message(() => checkDocument(JSON.parse('{"__proto__":{"name":"x"}}')))).toContain('"__proto__" was unexpected');
    expect(({} as Json).polluted).toBeUndefined();
  });

  test('keys that begin with _ are dropped from elements, even __proto__', () => {
    const sent = JSON.parse('{"type":"point","_bbox":{"lowx":1},"__proto__":{"x":1},"center":[1,2,3],"_":0}') as Json;
    const checked = checkElement(sent, 0);
    expect(checked).toEqual({ type: 'point', center: [1, 2, 3] });
    expect(Object.getPrototypeOf(checked)).toBe(Object.prototype);
    expect(Object.keys(sent)).toContain('_bbox');
  });
});

describe('documents', () => {
  test('may be empty, and may hold every field', () => {
    expect(checkDocument({})).toEqual({});
    for (const visible of ['new', true, false]) {
      const document = {
        name: 'n',
        description: '',
        display: { visible },
        attributes: { 'a.b': { $set: null } },
        elements: Object.values(fullElements),
      };
      expect(checkDocument(document)).toEqual(document);
    }
  });

  test.each([
    [null, 'document: must be an object, not null'],
    [[], 'document: must be an object, not []'],
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 5, description: 5, elements: [{ type: 'nope' }] }, 'name: must be a string, not 5'],
    [{ description: null, extra: 1 }, 'description: must be a string, not null'],
    [{ display: 5 }, 'display: must be an object'],
    [{ display: { visible: 'old' } }, 'display.visible: must be one of "new", true, false, not "old"'],
    [{ display: { visible: null } }, 'display.visible: must be one of'],
    [
      { display: { visible: true, color: 1 } },
      'display: Additional properties are not allowed ("color" was unexpected; allowed: visible)',
    ],
    [{ attributes: [] }, 'attributes: must be an object, not []'],
    [{ elements: null }, 'elements: must be an array, not null'],
    [{ elements: {} }, 'elements: must be an array, not an object'],
    [{ elements: [5] }, 'elements[0]: must be an object, not 5'],
    [{ a: 1, b: 2 }, 'document: Additional properties are not allowed ("a", "b" were unexpected; allowed: name, description'],
    [{ elements: [{ type: 'point', center: [0, 0, 0] }, { type: 'point' }] }, 'elements[1].center: is required'],
  ])('refuses %j', (document, expected) => {
    expect(message(() => checkDocument(document))).toContain(`Validation Error: JSON doesn't follow schema (${expected}`);
  });

  test('a repeated id is refused, naming the later element', () => {
    const id = '0123456789abcdef01234567';
    const elements = [{ ...fullElements.point, id }, fullElements.point, { ...fullElements.circle, id }];
    expect(message(() => checkDocument({ elements }))).toBe(
      `Validation Error: JSON doesn't follow schema (Annotation Element IDs are not unique: elements[2].id repeats "${id}")`,
    );
  });

  test('the head validator does not look at elements', () => {
    expect(createHeadValidator()({ name: 'a', elements: 5 })).toEqual({ name: 'a', elements: 5 });
  });

  test('PATCH gets the bare detail as a validation error', () => {
    const check = createElementValidator('service', patchSchemaError);
    const run = () => check({ type: 'point', center: 5 }, 4);
    expect(run).toThrow(InvalidError);
    expect(run).toThrow(/^elements\[4\]\.center: must be an array, not 5 \(element type point\)$/);
  });
});

describe('the brand', () => {
  test.each([
    ['service', 'serviceId', 'girderId'],
    ['girder', 'girderId', 'serviceId'],
  ])('%s names the item field %s and refuses %s', (brand, right, wrong) => {
    const check = createElementValidator(brand);
    const ajv = createAnnotationAjv().compile(schemaFor(brand));
    const id = '0123456789abcdef01234567';
    for (const extra of [{ type: 'image' }, { type: 'pixelmap', values: [], categories: [], boundaries: true }]) {
      expect(check({ ...extra, [right]: id }, 0)).toBeDefined();
      expect(ajv({ elements: [{ ...extra, [right]: id }] })).toBe(true);
      expect(() => check({ ...extra, [wrong]: id }, 0)).toThrow(BadParameterError);
      expect(() => check({ ...extra, [right]: id, [wrong]: id }, 0)).toThrow(BadParameterError);
      expect(ajv({ elements: [{ ...extra, [wrong]: id }] })).toBe(false);
    }
  });
});

/** The fast check, the schema of the type and the served schema must agree. Rules outside the schema are not checked here. */
describe('the fast checks', () => {
  const fast = new Map([...elementSchemas('service')].map(([type, schema]) => [type as string, compileCheck(schema)]));
  const slow = new Map(
    [...elementSchemas('service')].map(([type, schema]) => [type as string, createAnnotationAjv().compile(schema)]),
  );

  function verdicts(element: Json): boolean[] {
    const type = String(element.type);
    return [fast.get(type)?.(element) ?? false, slow.get(type)?.(element) ?? false, servedSchema({ elements: [element] })];
  }

  test('accept generated elements, as both schemas do', () => {
    fc.assert(
      fc.property(anyElement, (element) => {
        expect(verdicts(element as unknown as Json)).toEqual([true, true, true]);
        expect(checkElement(element, 0)).toEqual(element);
      }),
      { numRuns: casesOf(3000) },
    );
  });

  const junk = fc.oneof(
    fc.constantFrom<unknown>(null, true, false, 0, -1, 0.5, 1, 2.5, 17, NaN, Infinity, '', 'star(3)', '#abc', 'circle', [], {}),
    fc.constantFrom<unknown>(
      [1, 2, 3],
      [[1, 2, 3]],
      [[1, 2, 3, 4]],
      ['#fff'],
      [1, 'a'],
      { value: 'a' },
      '0123456789abcdef01234567',
    ),
    color,
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
  );

  /** Puts `value` somewhere in the element, along a random path through its objects and lists. */
  function mutate(target: unknown, way: readonly number[], value: unknown): unknown {
    const [step, ...rest] = way;
    if (step === undefined || typeof target !== 'object' || target === null) return value;
    const keys = Object.keys(target);
    if (keys.length === 0) return value;
    const key = keys[step % keys.length] as string;
    if (Array.isArray(target)) return target.with(Number(key), mutate(target[Number(key)], rest, value));
    return { ...target, [key]: mutate((target as Json)[key], rest, value) };
  }

  test('agree with both schemas on elements with a value changed, a member dropped or added', () => {
    let refused = 0;
    const names = [
      ...new Set(allTypes.flatMap((type: ElementType) => Object.keys(fullElements[type]))),
      'id',
      'user',
      'label',
      'extra',
    ];
    fc.assert(
      fc.property(
        anyElement,
        fc.array(fc.nat(30), { minLength: 1, maxLength: 4 }),
        junk,
        fc.constantFrom('change', 'drop', 'add'),
        fc.constantFrom(...names),
        (element, way, value, kind, name) => {
          let mutated = element as unknown as Json;
          if (kind === 'change') mutated = mutate(mutated, way, value) as Json;
          else if (kind === 'add') mutated = { ...mutated, [name]: value };
          else
            mutated = Object.fromEntries(
              Object.entries(mutated).filter((_, at, entries) => at !== (way[0] ?? 0) % entries.length),
            );
          const threeVerdicts = verdicts(mutated);
          if (!threeVerdicts[0]) refused += 1;
          expect(threeVerdicts).toEqual([threeVerdicts[0], threeVerdicts[0], threeVerdicts[0]]);
        },
      ),
      { numRuns: casesOf(10_000) },
    );
    expect(refused).toBeGreaterThan(casesOf(3000));
  });
});
