import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, validateConfig } from '../../../src/configuration-text/validate.js';
import { BadParameterError } from '../../../src/errors.js';
import { sampleFile } from '../../support/images/data.js';
import { sampleOf } from '../../support/run/sample.js';

const invalidValue = 'Config values must be valid Python.';
const noHeader = 'File contains no section headers.';
const parsing = 'Source contains parsing errors';

const valid: [string, string][] = [
  ['empty text', ''],
  ['blank lines', '\n \n\t\n'],
  ['comments only', '# a\n; b\n'],
  ['a section without options', '[a]\n'],
  ['no line end at the end', '[a]\nb = 1'],
  ['CRLF', '[a]\r\nb = 1\r\nc = [1,\r\n  2]\r\n'],
  ['a colon', '[a]\nb : 1\nc: 2\n'],
  ['a colon in the value', '[a]\nb = "http://x"\n'],
  ['an empty value', '[a]\nb =\n'],
  ['names with blanks and dots', '[a]\nb c.d = 1\n'],
  ['options differing in case', '[a]\nb = 1\nB = 2\n'],
  ['a bracket in the header', '[a]b]\nc = 1\n[a]\n'],
  ['text behind the header', '[a] # x\nb = 1\n'],
  ['an indented section', '  [a]\n  b = 1\n  c = 2\n'],
  ['a continued value', '[a]\nb = [1,\n  # inside\n\n  2\n  ]\n'],
  ['DEFAULT twice', '[DEFAULT]\na = 1\n[b]\n[DEFAULT]\nc = 2\n'],
  ['percent doubled', '[a]\nb = "50%%"\n'],
  ['a reference', '[a]\nhost = "x"\nurl = %(host)s\n'],
  ['a reference to DEFAULT', '[DEFAULT]\nport = 80\n[a]\nurl = "x:%(port)s"\n'],
  ['a reference from DEFAULT', '[DEFAULT]\nurl = "x:%(port)s"\n[a]\nport = 80\n[b]\nport = 81\n'],
  ['the section of Girder for comments', '[__comment__]\nb = 1\n'],
];

const invalid: [string, string, number, string][] = [
  ['an option before the sections', '\n# c\na = 1\n[b]\n', 2, noHeader],
  ['a byte order mark', '\ufeff[a]\nb = 1\n', 0, noHeader],
  ['an empty header', '[]\n', 0, noHeader],
  ['a line without delimiter', '[a]\nb = 1\njunk\nmore junk\n', 2, parsing],
  ['an option without a name', '[a]\n= 1\n', 1, parsing],
  ['a bracket closed in the first column', '[a]\nb = [1,\n  2\n]\n', 3, parsing],
  ['a section twice', '[a]\n[b]\n[a]\n', 2, "[line  3]: section 'a' already exists"],
  ['an option twice', `[a]\n${'\n'.repeat(9)}A = 1\nA = 2\n`, 11, "[line 12]: option 'A' in section 'a' already exists"],
  ['quotes in names', "[it's]\n[it's]\n", 1, `[line  2]: section "it's" already exists`],
  ['a duplicate after a parsing error', '[a]\njunk\n[a]\n', 2, "[line  3]: section 'a' already exists"],
  ['a word', '[a]\nb = 1\n\nc = localhost\nd = 2\n', 3, invalidValue],
  ['an unclosed bracket', '[a]\nb = [1,\n  2\nc = 3\n', 1, invalidValue],
  ['a broken line inside a value', '[a]\nb = [1]\n  # c\n\n  foo bar\n', 4, invalidValue],
  ['a bracket too many', '[a]\nb = [1\n  ]\n  ]\n', 3, invalidValue],
  ['another assignment as continuation', '[a]\nA = 1\n  B = 2\n', 2, invalidValue],
  ['a header as continuation', '[a]\nA = 1\n\n  # c\n  [b]\n', 4, invalidValue],
  ['a second value after one of several lines', '[a]\nA = [1,\n  2]\n  3\n', 3, invalidValue],
  ['a value that begins on the next line', '[a]\nb =\n  1\n', 2, invalidValue],
  ['an inline semicolon and junk', '[a]\nb = 1 ; c d\n', 1, invalidValue],
  ['the first of several', '[a]\nb = "%"\nc = x\nd = y\n', 2, invalidValue],
  ['an unknown reference that is no literal', '[a]\nb = 1\nc = %(nope)s\n', 2, invalidValue],
  ['DEFAULT alone', '[DEFAULT]\na = x\n', 1, invalidValue],
  ['a lone percent', '[a]\nb = "100%"\n', 0, 'General error'],
  ['an unknown reference', '[a]\nb = "%(nope)s"\n', 0, 'General error'],
  ['a reference that spoils the quotes', '[a]\nb = "x"\nc = "%(b)s"\n', 0, 'General error'],
  ['a reference to itself', '[a]\nb = "%(b)s"\n', 0, 'General error'],
  ['deep nesting', `[a]\nb = ${'['.repeat(100_000)}${']'.repeat(100_000)}\n`, 1, invalidValue],
  ['a repetition without end', "[a]\nb = 'a'*1000000000000\n", 1, invalidValue],
];

describe('validateConfig', () => {
  it.each(valid)('accepts %s', (_, text) => {
    expect(validateConfig(text)).toEqual([]);
  });

  it.each(invalid)('reports %s', (_, text, line, message) => {
    expect(validateConfig(text)).toEqual([{ line, message }]);
  });

  it('reads options of DEFAULT once, not once for each section', () => {
    const defaults = Array.from({ length: 50_000 }, (_, index) => `o${index} = 1\n`).join('');
    const sections = Array.from({ length: 50_000 }, (_, index) => `[s${index}]\n`).join('');
    expect(validateConfig(`[DEFAULT]\n${defaults}${sections}`)).toEqual([]);
  });

  it('stops references that multiply', () => {
    const levels = Array.from({ length: 9 }, (_, level) => `x${level + 1} = "${`%(x${level})s`.repeat(100)}"\n`);
    expect(validateConfig(`[a]\nx0 = 1\n${levels.join('')}`)).toEqual([{ line: 0, message: 'General error' }]);
  });

  it('reports a value that no server configuration may contain', () => {
    const path = sampleFile('sample.cfg');
    if (path === null) return;
    const text = readFileSync(path, 'utf8');
    const line = text.split('\n').findIndex((candidate) => candidate.includes('1024 ** 3'));
    expect(line).toBeGreaterThan(0);
    expect(validateConfig(text)).toEqual([{ line, message: invalidValue }]);
    expect(validateConfig(text.replace('1 * 1024 ** 3', '1 * 1024 * 1024 * 1024'))).toEqual([]);
  });

  const large = [
    ['options', `[a]\n${Array.from({ length: 120_000 }, (_, index) => `option${index} = ${index}\n`).join('')}`, true],
    ['one string', `[a]\nb = "${'x'.repeat(2_000_000)}"\n`, true],
    ['one text', `[a]\nb = """first\n${` ${'word '.repeat(2000)}\n`.repeat(200)} """\n`, true],
    ['comments', `[a]\n${'# comment\n'.repeat(200_000)}`, true],
    ['bad lines', `[a]\n${'junk\n'.repeat(400_000)}`, false],
    ['a bad value of many lines', `[a]\nb = [\n${'  1,\n'.repeat(400_000)}`, false],
    ['digits', `[a]\nb = ${'9'.repeat(2_000_000)}\n`, true],
    ['percents', `[a]\nb = "${'%%'.repeat(1_000_000)}"\n`, true],
  ] as const;
  it.each(sampleOf(large, 2))('checks two million characters: %s', (_, text, isValid) => {
    expect(text.length).toBeGreaterThan(1_800_000);
    expect(validateConfig(text).length === 0).toBe(isValid);
  });
});

describe('decodeUtf8', () => {
  it('keeps a byte order mark, so that it is reported', () => {
    expect(decodeUtf8(Buffer.from('\ufeff[é]'))).toBe('\ufeff[é]');
  });

  it('refuses other bytes', () => {
    expect(() => decodeUtf8(Buffer.from([0x5b, 0xff, 0x5d]))).toThrow(BadParameterError);
  });
});
