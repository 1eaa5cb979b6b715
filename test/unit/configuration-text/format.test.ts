import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { formatConfig } from '../../../src/configuration-text/format.js';
import { validateConfig } from '../../../src/configuration-text/validate.js';
import { sampleFile } from '../../support/images/data.js';
import { sampleOf } from '../../support/run/sample.js';

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index).join(', ');

const cases: [string, string, string][] = [
  [
    'the worked example',
    `[global]\nA = "B"\nC = {\n# comment\n  "key1": "value1"\n  }\nD = [${numbers(1, 39)}]\n`,
    `[global]\nA = 'B'\n# comment\nC = {'key1': 'value1'}\nD = [ ${numbers(1, 21)},\n  ${numbers(22, 39)}]\n\n`,
  ],
  [
    'nested dictionaries',
    `[a]\nopt = {'alpha': {'one': '${'a'.repeat(32)}', 'two': '${'b'.repeat(30)}'}, 'list': ['${'c'.repeat(23)}', '${'d'.repeat(26)}', '${'e'.repeat(17)}']}\n`,
    `[a]\nopt = { 'alpha': { 'one': '${'a'.repeat(32)}',\n             'two': '${'b'.repeat(30)}'},\n  'list': [ '${'c'.repeat(23)}', '${'d'.repeat(26)}',\n            '${'e'.repeat(17)}']}\n\n`,
  ],
  [
    'a long string, which is broken after its lines',
    `[a]\nopt = 'line one of the string\\nline two of the string which is longer\\nline three of it'\n`,
    `[a]\nopt = ('line one of the string\\n'\n 'line two of the string which is longer\\n'\n 'line three of it')\n\n`,
  ],
  ['several sections', '[a]\n\n\nb: "c"\n\n[d]\n[e]\nf=1', "[a]\nb = 'c'\n\n[d]\n\n[e]\nf = 1\n\n"],
  ['comments between options', '# top\n\n[a]\n  ; in\nb = 1\n# end\n\n[c]\n', '# top\n[a]\n  ; in\nb = 1\n# end\n\n[c]\n\n'],
  ['CRLF, which only comments keep', '[a]\r\n# c\r\nb = "x"\r\n', "[a]\n# c\r\nb = 'x'\n\n"],
  ['a comment without an end', '[a]\nb = 1\n# c', '[a]\nb = 1\n# c\n\n'],
  ['a comment after a complete value', '[a]\nb = 1\n# c\n  ; d\n', '[a]\nb = 1\n# c\n  ; d\n\n'],
  ['only comments', '# a\n; b', '# a\n; b'],
  ['only blanks', '\n  \n', ''],
  ['nothing', '', ''],
  ['DEFAULT, kept as a section', '[DEFAULT]\na = "x"\n[b]\nc = 1\n', "[DEFAULT]\na = 'x'\n\n[b]\nc = 1\n\n"],
  ['text behind a header, dropped', '[a] ; x\nb = 1 # y\n', '[a]\nb = 1\n\n'],
  [
    'values that are not literals when printed, kept',
    '[a]\nb = 1e999\nc = [1,\n     ...]\nd = -1j\ne = 1+2j\n',
    '[a]\nb = 1e999\nc = [1,\n     ...]\nd = -1j\ne = (1+2j)\n\n',
  ],
  ['an escaped percent, kept', '[a]\nb = "\\x25"\nc = "50%%"\n', '[a]\nb = "\\x25"\nc = \'50%%\'\n\n'],
  ['a reference', '[a]\nport = 80\nurl = "x:%(port)s"\n', "[a]\nport = 80\nurl = 'x:%(port)s'\n\n"],
  ['a reference whose quotes matter, kept', '[a]\nb = "x"\nc = \'%(b)s\'\nd = "y"\n', "[a]\nb = \"x\"\nc = '%(b)s'\nd = 'y'\n\n"],
  ['an option that would become a header, unchanged', '[a]\n[x = (1,\n  [2])\n', '[a]\n[x = (1,\n  [2])\n'],
  ['the section of Girder for comments', '[__comment__]\nb = "1"\n', "[__comment__]\nb = '1'\n\n"],
];

describe('formatConfig', () => {
  it.each(cases)('formats %s', (_, text, expected) => {
    expect(formatConfig(text)).toBe(expected);
    expect(formatConfig(expected)).toBe(expected);
  });

  it.each([
    ['an invalid value', '[a]\nb = "x"\nc = foo\n'],
    ['a missing header', 'a = 1\n[b]\nc = 2\n'],
    ['a value that is valid only with its references', '[a]\nb = "x"\nc = %(b)s\n'],
    ['a reference that fails', '[a]\nb = "%(nope)s"\n'],
  ])('returns a text unchanged that has %s', (_, text) => {
    expect(formatConfig(text)).toBe(text);
  });

  it('breaks a value when it needs 79 columns with its key, and more than 79 without', () => {
    const list = (last: number) => `['${'a'.repeat(60)}', ${last}]`;
    expect(`key = ${list(1_000_000)}`).toHaveLength(79);
    expect(formatConfig(`[a]\nkey = ${list(100_000)}\n`)).toBe(`[a]\nkey = ${list(100_000)}\n\n`);
    // Without its key, it fits on one line.
    expect(formatConfig(`[a]\nkey = ${list(1_000_000)}\n`)).toBe(`[a]\nkey = ${list(1_000_000)}\n\n`);
    const longer = `['${'a'.repeat(73)}', 1]`;
    expect(formatConfig(`[a]\nkey = ${longer}\n`)).toBe(`[a]\nkey = [ '${'a'.repeat(73)}',\n  1]\n\n`);
  });

  it('formats a real configuration so that it stays valid', () => {
    const path = sampleFile('sample.cfg');
    if (path === null) return;
    const text = readFileSync(path, 'utf8');
    expect(formatConfig(text)).toBe(text);
    const formatted = formatConfig(text.replace('1024 ** 3', '1024 * 1024 * 1024'));
    expect(formatted).toContain("cache_backend = 'python'\n# 'python' cache can use");
    expect(formatted).toContain('max_annotation_input_file_length = 1073741824\n\n');
    expect(validateConfig(formatted)).toEqual([]);
  });

  const large = [
    ['options', `[a]\n${Array.from({ length: 100_000 }, (_, index) => `option${index} = "${index}"\n`).join('')}`],
    ['words in one string', `[a]\nb = "${'word '.repeat(400_000)}"\n`],
    ['nested lists', `[a]\nb = ${'['.repeat(150)}${'"word word word", '.repeat(10_000)}${']'.repeat(150)}\n`],
    [
      'references to one option',
      `[a]\nx = 1\n${Array.from({ length: 50_000 }, (_, index) => `option${index} = "%(x)s"\n`).join('')}`,
    ],
  ] as const;
  it.each(sampleOf(large, 1))('formats large texts: %s', (_, text) => {
    const formatted = formatConfig(text);
    expect(formatted).not.toBe(text);
  });
});

interface Recorded {
  name: string;
  request: { path: string; data: string };
  body: { json: unknown };
}

/** Recorded answers of the established implementation, if they are available next to the real test images. */
function recordedAnswers(): Recorded[] {
  const path = sampleFile('../spec/examples.jsonl');
  if (path === null || !existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"path": "/large_image/config/'));
  return lines.map((line) => JSON.parse(line) as Recorded);
}

describe.runIf(recordedAnswers().length > 0)('recorded responses of the established implementation', () => {
  it.each(recordedAnswers().map((recorded) => [recorded.name, recorded] as const))('%s', (_, { request, body }) => {
    const answer = request.path.endsWith('/format') ? formatConfig(request.data) : validateConfig(request.data);
    expect(answer).toEqual(body.json);
  });
});
