import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatConfig } from '../../../src/configuration-text/format.js';
import { createLiteralBudget } from '../../../src/configuration-text/literal-arithmetic.js';
import { parseLiteral } from '../../../src/configuration-text/literal.js';
import { reprValue } from '../../../src/configuration-text/python-value.js';
import { validateConfig } from '../../../src/configuration-text/validate.js';
import { wrapValue } from '../../../src/configuration-text/wrap.js';
import { askPython, hasPython } from '../../support/python/python.js';
import { casesOf } from '../../support/run/sample.js';

const sampleSize = Number(process.env.CONFIG_SAMPLES ?? casesOf(300));
const seed = Number(process.env.CONFIG_SEED ?? 20261121);
const sample = <T>(arbitrary: fc.Arbitrary<T>) => fc.sample(arbitrary, { numRuns: sampleSize, seed });

const character = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...'abcxyz019 _-.,:=[](){}'.split('')) },
  { weight: 2, arbitrary: fc.constantFrom('é', '漢', '😀', '\u00a0', '\u200b', '\u2028', '\t', '~') },
);
const content = fc.array(fc.oneof({ weight: 9, arbitrary: character }, { weight: 1, arbitrary: fc.constantFrom("'", '"') }), {
  maxLength: 40,
});
const escapes = fc.constantFrom(
  '\\n',
  '\\t',
  '\\x41',
  '\\u00e9',
  '\\\\',
  "\\'",
  '\\"',
  '\\101',
  '\\d',
  '\\x00',
  '\\U0001F600',
  '%%',
);
const stringLiteral = fc
  .tuple(
    fc.constantFrom("'", '"', "'''", '"""'),
    fc.constantFrom('', 'r', 'u', 'R'),
    fc.array(fc.oneof({ weight: 4, arbitrary: content.map((parts) => parts.join('')) }, { weight: 1, arbitrary: escapes })),
  )
  .map(([quote, prefix, parts]) => `${prefix}${quote}${parts.join('').replaceAll(quote.charAt(0), '')}${quote}`);
const bytesLiteral = fc
  .array(fc.constantFrom(...'abcdefgh \\\\'.split(''), '\\x00', '\\n', '\\xff'), { maxLength: 120 })
  .map((parts) => `b'${parts.join('').replace(/\\$/, '').replaceAll('\\ ', ' ')}'`);
const numberLiteral = fc.oneof(
  fc.integer().map(String),
  fc
    .bigInt({ min: 0n, max: 10n ** 30n })
    .map(
      (value) =>
        fc.sample(fc.constantFrom(`0x${value.toString(16)}`, `0o${value.toString(8)}`, `${value}`), { numRuns: 1, seed })[0] ??
        '0',
    ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom(
    '1.',
    '.5',
    '1e3',
    '1E-7',
    '1_000',
    '1e16',
    '123456789012345680.0',
    '0.0001',
    '0.00001',
    '1j',
    '1.5e3j',
    '1e999',
    '-0.0',
    '1+2j',
    '0b11',
  ),
);
const scalar = fc.oneof(
  { weight: 3, arbitrary: stringLiteral },
  { weight: 3, arbitrary: numberLiteral },
  { weight: 1, arbitrary: bytesLiteral },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'None',
      'True',
      'False',
      '- -1',
      "'a' 'b'",
      "'ab'*3",
      '[1]*3',
      '2*3',
      '(1)',
      '-True',
      '"a"+"b"',
      '...',
    ),
  },
);
const { value: literal } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 12 }).map((items) => `[${items.join(',')}]`),
    fc.array(tie('value'), { maxLength: 5 }).map((items) => `(${items.map((item) => `${item},`).join(' ')})`),
    fc
      .array(fc.tuple(scalar, tie('value')), { maxLength: 8 })
      .map((items) => `{${items.map(([key, value]) => `${key} : ${value}`).join(',')}}`),
    fc.array(fc.integer({ min: 0, max: 99_999 }), { maxLength: 60 }).map((items) => `[${items.join(', ')}]`),
  ),
}));
/** Text that is mostly wrong: tokens in any order. */
const tokens = fc
  .array(
    fc.constantFrom(
      '1',
      '017',
      '1_',
      "'a'",
      '"b"',
      'b"c"',
      'r"\\"',
      'f"x"',
      '[',
      ']',
      '(',
      ')',
      '{',
      '}',
      ',',
      ':',
      '+',
      '-',
      '*',
      '**',
      '/',
      ' ',
      '\n',
      '\\\n',
      '# c',
      'None',
      'true',
      'a.b',
      '=',
      ';',
      '...',
      '1j',
      '0x',
      '.',
      'not',
      'lambda: 1',
      '1 if 1 else 2',
      "'''",
      '\t',
    ),
    { maxLength: 9 },
  )
  .map((parts) => parts.join(''));

/** As the contract requires, lines are stripped when the file is read. */
const asRead = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim();

function ours(text: string): { repr: string; wrapped: string } | null {
  try {
    const { value } = parseLiteral(text, createLiteralBudget());
    return { repr: reprValue(value), wrapped: wrapValue(value) };
  } catch {
    return null;
  }
}

const option = fc.tuple(
  fc.constantFrom('a', 'B', 'cache_backend', 'two words', 'dotted.name', 'é', 'x', 'y', 'z', 'url', 'port', 'k'.repeat(60)),
  fc.constantFrom(' = ', '=', ' : ', ':', '   =\t'),
  fc.oneof(
    { weight: 6, arbitrary: literal },
    { weight: 2, arbitrary: fc.array(literal, { maxLength: 4 }).map((items) => `[\n  ${items.join(',\n  # inside\n  ')}\n  ]`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        '"50%%"',
        "'%(a)s'",
        '"%(x)s/y"',
        "'%(port)s'",
        '"\\x25"',
        '%(a)s',
        '"""one\n\n   two"""',
        '1 # c',
        '"%"',
        '1\n  ; gone\n  + 2',
        '1e999',
        '1j*1j',
        '\n  1',
      ),
    },
    { weight: 1, arbitrary: tokens },
  ),
);
const configText = fc
  .array(
    fc.tuple(
      fc.constantFrom('one', 'two', 'three', 'DEFAULT', 'a]b', ' blank ', 'global', 'large_image'),
      fc.array(
        fc.oneof(
          {
            weight: 5,
            arbitrary: option.map(([name, delimiter, value]) => `${name}${delimiter}${value.split('\n').join('\n ')}\n`),
          },
          { weight: 2, arbitrary: fc.constantFrom('\n', '# comment\n', '   ; other\n', '\t\n', '# crlf\r\n') },
        ),
        { maxLength: 5 },
      ),
      fc.constantFrom('', ' trailing', '\r'),
    ),
    { maxLength: 4 },
  )
  .chain((sections) =>
    fc.tuple(
      fc.constantFrom('', '# first\n', '\n', '\n', 'a = 1\n', '# first\n; second\n'),
      fc.constant(sections.map(([name, lines, tail]) => `[${name}]${tail}\n${lines.join('')}`).join('')),
      fc.constantFrom('', '', '# last', '\n\n', 'junk\n'),
    ),
  )
  .map((parts) => parts.join(''));

interface Meaning {
  error?: string;
  line?: number;
  order?: unknown;
  values?: unknown;
}

describe.skipIf(!hasPython())('with the Python standard library as referee', () => {
  it('reads, prints and wraps values as Python does, and refuses what Python refuses', () => {
    const texts = [...sample(literal), ...sample(tokens)].map(asRead).filter((text) => text !== '');
    const answers = askPython(
      './config-referee.py',
      texts.map((value) => ({ value })),
    ) as unknown[];
    expect(answers.filter((answer) => answer !== null).length).toBeGreaterThan(texts.length / 3);
    const differing = texts
      .map((text, index) => ({ text, python: answers[index] ?? null, ours: ours(text) }))
      .filter(({ python, ours: own }) => JSON.stringify(python) !== JSON.stringify(own))
      .toSorted((left, right) => left.text.length - right.text.length);
    // The shortest differences are the most helpful.
    expect(differing.slice(0, 10)).toEqual([]);
  });

  it('accepts exactly the files that Python reads, and reports the same line as its parser', () => {
    const texts = sample(configText);
    const answers = askPython(
      './config-referee.py',
      texts.map((config) => ({ config })),
    ) as Meaning[];
    let valid = 0;
    texts.forEach((text, index) => {
      const problems = validateConfig(text);
      const answer = answers[index];
      const context = JSON.stringify({ text, problems, answer });
      if (answer?.error === undefined) valid += 1;
      expect(problems.length === 0, context).toBe(answer?.error === undefined);
      if (answer?.line !== undefined) expect(problems[0]?.line, context).toBe(answer.line - 1);
    });
    expect(valid).toBeGreaterThan(texts.length / 10);
  });

  it('keeps the meaning of every file that it formats', () => {
    const texts = sample(configText).filter((text) => validateConfig(text).length === 0);
    const formatted = texts.map(formatConfig);
    expect(formatted.filter((text, index) => text !== texts[index]).length).toBeGreaterThan(texts.length / 2);
    const answers = askPython(
      './config-referee.py',
      [...texts, ...formatted].map((config) => ({ config })),
    ) as Meaning[];
    texts.forEach((text, index) => {
      const context = JSON.stringify({ text, formatted: formatted[index] });
      expect(answers[texts.length + index], context).toEqual(answers[index]);
    });
  });
});

describe('on any generated file', () => {
  it('formats to something valid that formatting leaves alone', () => {
    fc.assert(
      fc.property(configText, (text) => {
        const formatted = formatConfig(text);
        if (validateConfig(text).length > 0) expect(formatted).toBe(text);
        else expect(validateConfig(formatted)).toEqual([]);
        expect(formatConfig(formatted)).toBe(formatted);
      }),
      { numRuns: sampleSize, seed },
    );
  });

  it('reports a bad value at the end of the longest prefix that is valid', () => {
    fc.assert(
      fc.property(configText, (text) => {
        const [problem] = validateConfig(text);
        fc.pre(problem?.message === 'Config values must be valid Python.' && !text.replaceAll('%%', '').includes('%'));
        const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        const valid = lines.map((_, count) => validateConfig(lines.slice(0, count).join('')).length === 0);
        expect(problem?.line, text).toBe(valid.lastIndexOf(true));
      }),
      { numRuns: Math.ceil(sampleSize / 3), seed },
    );
  });

  it('keeps every comment line', () => {
    fc.assert(
      fc.property(configText, (text) => {
        const comments = (config: string) =>
          config
            .split('\n')
            .filter((line) => /^\s*[#;]/.test(line))
            .toSorted();
        expect(comments(formatConfig(text))).toEqual(comments(text));
      }),
      { numRuns: sampleSize, seed },
    );
  });
});
