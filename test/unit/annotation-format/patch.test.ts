import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { InvalidError } from '../../../src/errors.js';
import { applyPatch, parsePatch, patchedElementIds, type PatchTarget } from '../../../src/annotation-format/patch.js';
import { casesOf } from '../../support/run/sample.js';

const a = 'a'.repeat(24);
const b = 'b'.repeat(24);
const c = 'c'.repeat(24);

const target: PatchTarget = {
  head: { name: 'old', description: '', attributes: { k: 'v', list: [1, 2, 3], deep: { x: { y: 1 } } } },
  elements: new Map([
    [a, { type: 'point', center: [1, 2, 0], id: a }],
    [
      b,
      {
        type: 'polyline',
        points: [
          [1, 1, 0],
          [2, 2, 0],
        ],
        id: b,
      },
    ],
  ]),
};

function patch(...operations: unknown[]) {
  const before = JSON.stringify([target.head, [...target.elements]]);
  const result = applyPatch(target, parsePatch(operations));
  expect(JSON.stringify([target.head, [...target.elements]])).toBe(before);
  return result;
}

function refusal(...operations: unknown[]): string {
  try {
    patch(...operations);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidError);
    return (error as Error).message;
  }
  throw new Error('nothing was refused');
}

describe('the body', () => {
  test.each([[[]], [{}]])('%j changes nothing', (body) => {
    expect(applyPatch(target, parsePatch(body))).toEqual({ head: target.head, isHeadChanged: false, elementChanges: [] });
  });

  test.each([
    [{ op: 'add', path: 'name' }],
    ['text'],
    [5],
    [null],
    [[null]],
    [['add']],
    [[{ op: 'remove' }]],
    [[{ path: 'name', value: 'x' }]],
    [[{ op: 'remove', path: 5 }]],
  ])('%j misses op or path', (body) => {
    expect(() => parsePatch(body)).toThrow(/^patch missing op or path$/);
  });

  test.each([
    { op: 'move', path: 'name', value: 'x' },
    { op: null, path: 'name', value: 'x' },
    { op: 'add', path: 'name' },
    { op: 'replace', path: 'name', value: null },
    { op: 'constructor', path: 'name', value: 1 },
  ])('%j has an invalid op', (operation) => {
    expect(refusal(operation)).toBe('patch has invalid op');
  });

  test('names the elements that it needs, in lower case', () => {
    const operations = parsePatch([
      { op: 'remove', path: `elements/id:${a.toUpperCase()}` },
      { op: 'add', path: `/elements/id:${c}/user/x/`, value: 1 },
      { op: 'remove', path: 'name' },
    ]);
    expect(patchedElementIds(operations)).toEqual(new Set([a, c]));
  });
});

describe('fields of the document', () => {
  test('are replaced, added and removed', () => {
    expect(patch({ op: 'replace', path: '/name/', value: 'new' }).head).toMatchObject({ name: 'new' });
    expect(patch({ op: 'add', path: 'display', value: { visible: true } }).head).toMatchObject({ display: { visible: true } });
    expect(patch({ op: 'remove', path: 'name' }).head).not.toHaveProperty('name');
    expect(patch({ op: 'remove', path: 'display' })).toEqual({ head: target.head, isHeadChanged: false, elementChanges: [] });
  });

  test('can be added when they are empty, not when they have a value', () => {
    expect(patch({ op: 'add', path: 'description', value: 'd' }).head).toMatchObject({ description: 'd' });
    expect(refusal({ op: 'add', path: 'name', value: 'x' })).toBe('Cannot add name as it already exists');
  });

  test('members of objects are added when absent, replaced and removed', () => {
    expect(patch({ op: 'add', path: 'attributes/new', value: 1 }).head.attributes).toMatchObject({ k: 'v', new: 1 });
    expect(patch({ op: 'add', path: 'attributes/deep/x/z', value: 2 }).head.attributes).toMatchObject({
      deep: { x: { y: 1, z: 2 } },
    });
    expect(patch({ op: 'replace', path: 'attributes/k', value: [1] }).head.attributes).toMatchObject({ k: [1] });
    expect(patch({ op: 'remove', path: 'attributes/k' }).head.attributes).not.toHaveProperty('k');
    expect(patch({ op: 'remove', path: 'attributes/none' }).isHeadChanged).toBe(false);
    expect(refusal({ op: 'add', path: 'attributes/k', value: 1 })).toBe('Cannot add attributes/k as it already exists');
  });

  test('entries of lists are removed, appended at the end, and replaced before it', () => {
    const list = (operation: object) => (patch(operation).head.attributes as { list: unknown }).list;
    expect(list({ op: 'remove', path: 'attributes/list/0' })).toEqual([2, 3]);
    expect(list({ op: 'add', path: 'attributes/list/3', value: 4 })).toEqual([1, 2, 3, 4]);
    expect(list({ op: 'replace', path: 'attributes/list/3', value: 4 })).toEqual([1, 2, 3, 4]);
    expect(list({ op: 'replace', path: 'attributes/list/1', value: 4 })).toEqual([1, 4, 3]);
    expect(refusal({ op: 'add', path: 'attributes/list/1', value: 4 })).toBe('Cannot add attributes/list/1');
    expect(refusal({ op: 'replace', path: 'attributes/list/4', value: 4 })).toBe('Cannot replace attributes/list/4');
    expect(refusal({ op: 'remove', path: 'attributes/list/3' })).toBe('patch path attributes/list/3 does not exist');
    expect(refusal({ op: 'remove', path: 'attributes/list/-1' })).toBe('patch path attributes/list/-1 does not exist');
    expect(refusal({ op: 'replace', path: 'attributes/list/x', value: 1 })).toBe('patch path attributes/list/x does not exist');
  });

  test.each([
    'nothing/a',
    'name/a',
    'attributes/none/a',
    'attributes/list/9/a',
    'attributes/constructor/a',
    '__proto__/a',
    'attributes/__proto__/a',
  ])('are not added at a path that does not exist: %s', (path) => {
    expect(refusal({ op: 'add', path, value: 1 })).toBe(`patch path ${path} does not exist`);
    expect(({} as Record<string, unknown>).a).toBeUndefined();
  });

  test('a key __proto__ becomes data for the validator to refuse', () => {
    const { head } = patch({ op: 'add', path: 'attributes/__proto__', value: { x: 1 } });
    expect(Object.keys(head.attributes as object)).toContain('__proto__');
    expect((head.attributes as Record<string, unknown>).x).toBeUndefined();
  });

  test('are changed by operations on the results of earlier operations', () => {
    const result = patch(
      { op: 'remove', path: 'name' },
      { op: 'add', path: 'name', value: 'n' },
      { op: 'add', path: 'attributes/new', value: {} },
      { op: 'add', path: 'attributes/new/a', value: [] },
      { op: 'add', path: 'attributes/new/a/0', value: 1 },
      { op: 'add', path: 'attributes/new/a/1', value: 2 },
    );
    expect(result.head).toMatchObject({ name: 'n', attributes: { k: 'v', new: { a: [1, 2] } } });
  });
});

describe('elements', () => {
  const point = { type: 'point', center: [0, 0, 0] };

  test('are added at the end, with the id of the path', () => {
    expect(patch({ op: 'add', path: `elements/id:${c.toUpperCase()}`, value: { ...point, id: 'other' } }).elementChanges).toEqual(
      [{ kind: 'add', id: c, element: { ...point, id: c } }],
    );
    expect(refusal({ op: 'add', path: `elements/id:${a}`, value: point })).toBe(`Cannot add element ${a} as it already exists`);
  });

  test('are replaced, or appended when absent', () => {
    expect(patch({ op: 'replace', path: `elements/id:${a}`, value: point }).elementChanges).toEqual([
      { kind: 'replace', id: a, element: { ...point, id: a } },
    ]);
    expect(patch({ op: 'replace', path: `elements/id:${c}`, value: point }).elementChanges).toMatchObject([
      { kind: 'add', id: c },
    ]);
  });

  test('are removed, and absent ones are ignored', () => {
    expect(patch({ op: 'remove', path: `elements/id:${a}` }).elementChanges).toEqual([{ kind: 'remove', id: a }]);
    expect(patch({ op: 'remove', path: `elements/id:${c}` }).elementChanges).toEqual([]);
  });

  test('are changed inside', () => {
    const [change] = patch(
      { op: 'replace', path: `elements/id:${b}/points/1/0`, value: 9 },
      { op: 'add', path: `elements/id:${b}/group`, value: 'g' },
    ).elementChanges;
    expect(change).toEqual({
      kind: 'replace',
      id: b,
      element: {
        type: 'polyline',
        points: [
          [1, 1, 0],
          [9, 2, 0],
        ],
        id: b,
        group: 'g',
      },
    });
    expect(refusal({ op: 'add', path: `elements/id:${c}/group`, value: 'g' })).toBe(
      `patch path elements/id:${c}/group does not exist`,
    );
    expect(refusal({ op: 'replace', path: `elements/id:${b}/id`, value: a })).toBe(`Cannot replace elements/id:${b}/id`);
  });

  test('share members that a change did not touch', () => {
    const [change] = patch({ op: 'add', path: `elements/id:${b}/group`, value: 'g' }).elementChanges;
    expect(change?.kind === 'replace' && change.element.points).toBe(target.elements.get(b)?.points);
  });

  test('move to the end when removed and added again', () => {
    const changes = patch(
      { op: 'remove', path: `elements/id:${a}` },
      { op: 'add', path: `elements/id:${c}`, value: point },
      { op: 'add', path: `elements/id:${a}`, value: point },
    ).elementChanges;
    expect(changes.map(({ kind, id }) => [kind, id])).toEqual([
      ['remove', a],
      ['add', c],
      ['add', a],
    ]);
  });

  test('leave no change when added and removed again', () => {
    expect(
      patch({ op: 'add', path: `elements/id:${c}`, value: point }, { op: 'remove', path: `elements/id:${c}` }).elementChanges,
    ).toEqual([]);
  });

  test('other paths below elements are refused', () => {
    expect(refusal({ op: 'remove', path: 'elements' })).toBe('patch path elements does not exist');
    expect(refusal({ op: 'remove', path: 'elements/0' })).toBe('patch path elements/0 is not handled');
    expect(refusal({ op: 'add', path: `elements/id:${c}`, value: 5 })).toBe(`patch value of elements/id:${c} must be an object`);
  });
});

test('a later error undoes everything', () => {
  expect(
    refusal(
      { op: 'replace', path: 'name', value: 'x' },
      { op: 'remove', path: `elements/id:${a}` },
      { op: 'remove', path: 'elements' },
    ),
  ).toContain('does not exist');
});

test('many changes in a long list copy it once, and too many removals are refused', () => {
  const list = Array.from({ length: 200_000 }, (_, at) => at);
  const operations = Array.from({ length: 20_000 }, (_, at) => ({ op: 'replace', path: `attributes/list/${at}`, value: -1 }));
  const copies = vi.spyOn(Array.prototype, 'slice');
  const { head } = applyPatch({ head: { attributes: { list } }, elements: new Map() }, parsePatch(operations));
  const copied = copies.mock.contexts.filter((array) => (array as unknown[]).length === list.length);
  copies.mockRestore();
  expect(copied).toEqual([list]);
  expect((head.attributes as { list: number[] }).list.filter((value) => value === -1)).toHaveLength(20_000);
  const removals = Array.from({ length: 20_000 }, () => ({ op: 'remove', path: 'attributes/list/0' }));
  expect(() => applyPatch({ head: { attributes: { list } }, elements: new Map() }, parsePatch(removals))).toThrow(
    'too many entries of long lists',
  );
});

test('any body is answered by a result or a validation error', () => {
  const operation = fc.record({
    op: fc.constantFrom('add', 'replace', 'remove', 'move'),
    path: fc
      .array(
        fc.constantFrom(
          'name',
          'attributes',
          'k',
          'list',
          '0',
          '3',
          'deep',
          'elements',
          `id:${a}`,
          `id:${c}`,
          'points',
          '',
          '__proto__',
        ),
        { maxLength: 4 },
      )
      .map((parts) => parts.join('/')),
    value: fc.jsonValue({ maxDepth: 2 }),
  });
  fc.assert(
    fc.property(fc.oneof(fc.array(operation, { maxLength: 4 }), fc.jsonValue()), (body) => {
      try {
        applyPatch(target, parsePatch(body));
      } catch (error) {
        expect(error).toBeInstanceOf(InvalidError);
      }
    }),
    { numRuns: casesOf(2000) },
  );
  expect(Object.keys(target.head)).toEqual(['name', 'description', 'attributes']);
});
