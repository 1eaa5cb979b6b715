import { describe, expect, it } from 'vitest';
import { BadParameterError } from '../../../src/errors.js';
import { parseYaml, writeYaml } from '../../../src/core/yaml.js';

describe('values of YAML 1.1', () => {
  it.each([
    ['', null],
    ['# only a comment', null],
    ['[yes, No, on, OFF, y, n, true, ~, null]', [true, false, true, false, 'y', 'n', true, null, null]],
    ['[0, 017, 08, 0x1F, 0b11, 1_000, -017, +5, 0o17]', [0, 15, '08', 31, 3, 1000, -15, 5, '0o17']],
    ['[1:30, -1:30, 12:30:45, 1:30.5]', [90, -90, 45045, 90.5]],
    ['[1., .5, 1.5e+3, 1e3, 0.1e3, -.inf]', [1, 0.5, 1500, '1e3', '0.1e3', -Infinity]],
    ['[2001-01-01, 2001-12-14t21:59:43.10-05:00]', ['2001-01-01', '2001-12-15T02:59:43.100+00:00']],
    ['[2001-12-14 21:59:43, 2001-12-14 21:59:43 +5:30]', ['2001-12-14T21:59:43.000+00:00', '2001-12-14T16:29:43.000+00:00']],
    ['%YAML 1.2\n---\nyes', true],
    ['a: &x {q: 1}\nb: {<<: *x, r: 2}', { a: { q: 1 }, b: { q: 1, r: 2 } }],
    ['!!set {x, y}', { x: null, y: null }],
    ['1: a\ntrue: b', { 1: 'a', true: 'b' }],
  ])('reads %j', (text, value) => {
    expect(parseYaml(text, 'x')).toEqual(value);
  });

  it.each([
    ['two documents', '--- a\n--- b\n', 'single document'],
    ['a key twice', 'a: 1\na: 2', 'duplicated mapping key (line 2, column 1)'],
    ['an object of a language', 'a: !!python/object:os.system x', 'unknown tag'],
    ['binary data', '!!binary aGVsbG8=', 'unknown tag'],
    ['a circular alias', 'a: &a [*a]', 'contains itself'],
    ['deep nesting', `${'['.repeat(5000)}${']'.repeat(5000)}`, 'nest'],
    [
      'aliases of aliases',
      'abcdefghi'
        .split('')
        .map(
          (c, i, all) =>
            `${c}: &${c} [${Array(9)
              .fill(i ? `*${all[i - 1]}` : 'x')
              .join()}]`,
        )
        .join('\n'),
      'aliases',
    ],
  ])('refuses %s', (_what, text, message) => {
    expect(() => parseYaml(text, 'a.yaml')).toThrow(BadParameterError);
    expect(() => parseYaml(text, 'a.yaml')).toThrow(`a.yaml is not valid YAML: `);
    expect(() => parseYaml(text, 'a.yaml')).toThrow(message);
  });

  // If every key were compared with every other, this would take minutes, during which nothing else is served.
  it('takes time in proportion to the length of a text', () => {
    const text = Array.from({ length: 100_000 }, (_, i) => `k${i}: {a: 1}\n`).join('');
    expect(Object.keys(parseYaml(text, 'x') as object)).toHaveLength(100_000);
  });
});

describe('written values', () => {
  it('are in block style with sorted keys', () => {
    expect(writeYaml({ b: [1, { z: 'yes', y: 2 }], a: 'é' })).toBe("a: é\nb:\n  - 1\n  - 'y': 2\n    z: 'yes'\n");
  });

  it('are read back unchanged', () => {
    const texts = [
      'yes',
      'y',
      '017',
      '1e3',
      '1:30',
      '2001-01-01',
      '',
      '~',
      'a: b',
      '# x',
      '\n',
      'two\nlines\n',
      ' lead',
      '<<',
      '.5',
      '\0',
    ];
    const value = {
      texts,
      numbers: [1, -1.5, 1e21, 1e-7, 123456.5, -Infinity],
      others: [true, null, [], {}],
      long: 'word '.repeat(60),
    };
    expect(parseYaml(writeYaml(value), 'x')).toEqual(value);
  });
});
