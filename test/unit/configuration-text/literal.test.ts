import { describe, expect, it } from 'vitest';
import { createLiteralBudget } from '../../../src/configuration-text/literal-arithmetic.js';
import { InvalidLiteralError, parseLiteral } from '../../../src/configuration-text/literal.js';
import { reprValue } from '../../../src/configuration-text/python-value.js';
import { sampleOf } from '../../support/run/sample.js';

const repr = (text: string) => reprValue(parseLiteral(text, createLiteralBudget()).value);

const accepted: [string, string][] = [
  ['None', 'None'],
  ['True', 'True'],
  ['False', 'False'],
  ['', "''"],
  ['0', '0'],
  ['0x1f', '31'],
  ['0b11', '3'],
  ['0o17', '15'],
  ['1_000', '1000'],
  ['0_0', '0'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['1.', '1.0'],
  ['.5', '0.5'],
  ['1.e3', '1000.0'],
  ['1e3', '1000.0'],
  ['1E-7', '1e-07'],
  ['1e16', '1e+16'],
  ['9999999999999998.0', '9999999999999998.0'],
  ['0.0001', '0.0001'],
  ['0.00001', '1e-05'],
  ['1e999', 'inf'],
  ['-1', '-1'],
  ['- -1', '1'],
  ['-True', '-1'],
  ['1j', '1j'],
  ['017j', '17j'],
  ['1+2j', '(1+2j)'],
  ["'it'", "'it'"],
  ['"it\'s"', '"it\'s"'],
  ['"it\'s \\"q\\""', "'it\\'s \"q\"'"],
  ["'''a\nb'''", "'a\\nb'"],
  ['r"\\d"', "'\\\\d'"],
  ['R"""a"""', "'a'"],
  ['u"é"', "'é'"],
  ['b"a\\xff"', "b'a\\xff'"],
  ["Rb'\\n'", "b'\\\\n'"],
  ['"a" \'b\' r"c"', "'abc'"],
  ['"\\u00e9\\U0001F600\\x41\\101\\t\\0"', "'é😀AA\\t\\x00'"],
  ['"\u00a0\u200b"', "'\\xa0\\u200b'"],
  ['"\\\n"', "''"],
  ['()', '()'],
  ['(1,)', '(1,)'],
  ['(1)', '1'],
  ['1,', '(1,)'],
  ['1, 2', '(1, 2)'],
  ['[1, # one\n2,]', '[1, 2]'],
  ['{"a": 1, \'a\': 2}', "{'a': 2}"],
  ['{1: "a", True: "b", 1.0: "c"}', "{1: 'c'}"],
  ['{(1, "x"): []}', "{(1, 'x'): []}"],
  ['2*3', '6'],
  ["'a'*3", "'aaa'"],
  ['3*[0]', '[0, 0, 0]'],
  ["-1*'a'", "''"],
  ['"a"+"b"', "'ab'"],
  ['1 + 2 * 3', '7'],
  ['1.5*2', '3.0'],
  ['(1,)+(2,)', '(1, 2)'],
  ['...', 'Ellipsis'],
  ['1 # comment', '1'],
  ['1; 2', '1'],
  ['A = B = 1', '1'],
  ['1 \\\n+ 2', '3'],
  ['['.repeat(200) + ']'.repeat(200), '['.repeat(200) + ']'.repeat(200)],
];

const refused = [
  'true',
  'null',
  'none',
  'localhost',
  '127.0.0.1',
  '/a/b',
  'foo bar',
  'A = B',
  'int',
  'os.sep',
  'dict(a=1)',
  '[1,2][0]',
  '__import__("os").system("true")',
  '+1',
  '~1',
  'not 1',
  '3 - 1',
  '3 / 1',
  '3 // 1',
  '3 % 2',
  '2 ** 3',
  '1 * 1024 ** 3',
  '1 < 2',
  '1 if True else 2',
  'lambda: 1',
  '{1}',
  '{[]: 1}',
  '{(1, []): 1}',
  '{**{}}',
  '[*[1]]',
  '[x for x in [1]]',
  'f"x"',
  '"a" f"b"',
  '"a" b"b"',
  'ur"a"',
  'b"é"',
  '"\\x4"',
  '"\\u12"',
  '"\\U00110000"',
  '"a',
  "'a\nb'",
  '"""a',
  '"a\\"',
  '017',
  '1__0',
  '1_',
  '0x',
  '0b2',
  '1 2',
  '(1',
  '1)',
  '[1, 2',
  '1 +',
  '1 + "a"',
  '"a" * "b"',
  '"a" * 1.0',
  'None + 1',
  '-"a"',
  '{} + {}',
  '# only a comment',
  '\n[1]',
  '1 \\',
  '1\nfoo bar',
  '1 = 2',
  '(yield)',
  '1\u00a0+ 2',
  '1\u0000',
  '['.repeat(201) + ']'.repeat(201),
];

describe('parseLiteral', () => {
  it.each(accepted)('reads %j as %s', (text, expected) => {
    expect(repr(text)).toBe(expected);
  });

  it.each(refused)('refuses %j', (text) => {
    expect(() => repr(text)).toThrow(InvalidLiteralError);
  });

  it('keeps the source of values that it does not compute', () => {
    expect(repr('"\\N{BULLET}"')).toBe('"\\N{BULLET}"');
    expect(repr('"\\ud83d\\ude00"')).toBe('"\\ud83d\\ude00"');
    expect(repr(`[${'9'.repeat(200_000)}]`)).toBe(`[${'9'.repeat(200_000)}]`);
  });

  const costly = [
    ['repetition', "'a'*10**12"],
    ['a repetition written out', "'a'*1000000000000"],
    ['repeated repetition', "'a'*9999*9999*9999"],
    ['a repeated list', '[[0]*999999]*999999'],
    ['a huge product', Array(400).fill('9'.repeat(200)).join('*')],
    ['100,000 brackets', '['.repeat(100_000)],
    ['100,000 closed brackets', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['100,000 minus signs', '- '.repeat(100_000) + '1'],
    ['100,000 summands', `${'1+'.repeat(100_000)}1`],
    ['100,000 lists to be joined', `${'[1]+'.repeat(100_000)}[1]`],
    ['a million tokens', `[${'1,'.repeat(600_000)}]`],
    ['a million statements', `1\n${'a\n'.repeat(600_000)}`],
    ['nonsense', '$ ? ! '.repeat(1_000_000)],
  ] as const;
  it.each(sampleOf(costly, 5))('refuses %s without computing it', (_, text) => {
    expect(() => parseLiteral(text, createLiteralBudget())).toThrow(InvalidLiteralError);
  });
});
