import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cachedFileKey,
  canonicalText,
  FloatValue,
  imageKeyOf,
  parseSpecList,
  toPlainValue,
} from '../../../src/features/cached-files/cached-file-key.js';
import { specFromParameters } from '../../../src/features/cached-files/cached-pictures.js';

describe('the key of a cached file', () => {
  it.each([
    [{ width: 160, height: 100, encoding: 'PNG' }, '{"encoding":"PNG","height":100,"width":160}'],
    [{ width: 8, imageKey: 'label' }, '{"imageKey":"label","width":8}'],
    [{ width: 8, fill: 'None', frame: null, _: '123', style: undefined }, '{"width":8}'],
    [{ fill: 'corner:#fff' }, '{"fill":"corner:#fff"}'],
    [{}, '{}'],
    [{ style: { b: [1, { z: 1, a: 2 }], a: 'é😀' } }, '{"style":{"a":"\\u00e9\\ud83d\\ude00","b":[1,{"a":2,"z":1}]}}'],
    [{ left: new FloatValue(1), top: new FloatValue(0.5) }, '{"left":1.0,"top":0.5}'],
  ])('of %j is %s', (request, key) => {
    expect(cachedFileKey(request)).toBe(key);
  });

  it('of a region has region, output and scale as separate objects', () => {
    const spec = specFromParameters({ left: 1, width: 672, height: 416, exact: false, frameList: [0, 2], encoding: 'JPEG' });
    expect(cachedFileKey({ ...spec, imageKey: 'tileFrames' })).toBe(
      '{"encoding":"JPEG","frameList":[0,2],"imageKey":"tileFrames","output":{"maxHeight":416,"maxWidth":672},"region":{"left":1.0},"scale":{"exact":false}}',
    );
  });

  it.each([
    ['[{"width":1.0}]', '{"width":1.0}', { width: 1 }],
    [
      '[{"width":1e3,"b":1E-7,"c":1e16,"d":-0.0}]',
      '{"b":1e-07,"c":1e+16,"d":-0.0,"width":1000.0}',
      { width: 1000, b: 1e-7, c: 1e16, d: -0 },
    ],
    ['[{"n":12345678901234567890}]', '{"n":12345678901234567890}', { n: Number('12345678901234567890') }],
    ['[{"s":"1.0","\\u0001t":"\\u0001n1.0"}]', '{"\\u0001t":"\\u0001n1.0","s":"1.0"}', { s: '1.0', '\u0001t': '\u0001n1.0' }],
    ['[ { "b" : 1 , "a" : "x\\"1.0" } ]', '{"a":"x\\"1.0","b":1}', { b: 1, a: 'x"1.0' }],
    ['[null]', 'null', null],
  ])('keeps numbers of a specification as they were written: %s', (text, key, plain) => {
    const [entry] = parseSpecList(text);
    expect(canonicalText(entry)).toBe(key);
    expect(toPlainValue(entry)).toEqual(plain);
  });

  it('is the JSON of the same value, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const [entry] = parseSpecList(JSON.stringify([value]));
        const expected = JSON.parse(JSON.stringify(value)) as unknown;
        expect(toPlainValue(entry)).toEqual(expected);
        const text = canonicalText(entry);
        expect(JSON.parse(text)).toEqual(expected);
        expect(text).toMatch(/^[\x20-\x7f]*$/);
        expect(canonicalText(parseSpecList(`[${text}]`)[0])).toBe(text);
      }),
    );
  });

  it.each(['', 'notjson', '{}', '5', '"a"', '[', '[NaN]', '[01]', '[1.]'])('refuses %j as a list', (text) => {
    expect(() => parseSpecList(text)).toThrow('The spec parameter must be a JSON list.');
  });

  it('refuses too deep or too long input', () => {
    const nested = (depth: number) => () => canonicalText(parseSpecList(`${'['.repeat(depth)}${']'.repeat(depth)}`));
    expect(nested(100)).toThrow(/nested deeper/);
    expect(nested(200_000)).toThrow('must not be longer than 65536 characters');
    expect(() => parseSpecList(`[${'1,'.repeat(1000)}1]`)).toThrow(/more than 1000 entries/);
  });

  it('contains the image key, and is distinguished from other texts', () => {
    expect(['{"imageKey":"label"}', '{"width":1}', 'k4', '[1]', 'null'].map(imageKeyOf)).toEqual([
      'label',
      null,
      null,
      null,
      null,
    ]);
  });
});
