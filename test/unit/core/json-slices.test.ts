import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonLimitError, parseInSlices } from '../../../src/core/concurrency/json-slices.js';
import { casesOf } from '../../support/run/sample.js';

const parse = (text: string) => parseInSlices(text, { maxDepth: 500, maxContainers: 5_000_000 });
const many = (entry: string, bytes: number) =>
  Array.from({ length: Math.ceil(bytes / (entry.length + 1)) }, () => entry).join(',');

describe('JSON parsed in slices', () => {
  it("equals the parser's result", async () => {
    const long = 'x'.repeat(70_000);
    await fc.assert(
      fc.asyncProperty(fc.json({ maxDepth: 4 }), fc.integer({ min: 1, max: 4000 }), async (entry, count) => {
        const list = Array.from({ length: Math.min(count, Math.ceil(300_000 / entry.length)) }, () => entry).join(', ');
        for (const text of [
          entry,
          ` [${list}] `,
          `{"a": [${list}], "b":${entry}, "":{"__proto__":[${list}] ,"c" : "${long}\\"]}"}\n}`,
          `[[[${list}]],${entry},"${long}",{"a\\"":[${list}]},[]]`,
        ]) {
          expect(await parse(text)).toEqual(JSON.parse(text));
        }
      }),
      { numRuns: casesOf(40, 1 / 5) },
    );
  });

  it('keeps a member called __proto__ as a member', async () => {
    const text = `{"__proto__":[${many('1', 200_000)}],"a":1}`;
    const value = (await parse(text)) as object;
    expect(Object.keys(value)).toEqual(['__proto__', 'a']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  const list = `[${many('{"a":[1]}', 200_000)}]`;
  it.each([
    ['cut off', list.slice(0, -1)],
    ['cut off in a string', `{"a":${list},"b`],
    ['a mismatched bracket', `${list.slice(0, -1)}}`],
    ['two values', `${list}${list}`],
    ['text after', `${list} 1`],
    ['text before', `1 ${list}`],
    ['a comma too many', `[${list},]`],
    ['nothing between commas', `[1,,${list}]`],
    ['nothing before a comma', `[,${list}]`],
    ['no comma', `[${list}${list}]`],
    ['a value before', `[1${list}]`],
    ['a value after', `[${list}1]`],
    ['no name', `{${list}}`],
    ['a name without colon', `{"a"${list}}`],
    ['two names', `{"a":"b":${list}}`],
    ['a name without quotes', `{a:${list}}`],
    ['a comma too many in an object', `{"a":${list},}`],
    ['a member without value', `{"b","a":${list}}`],
    ['a character that no string may contain', `["\n",${list}]`],
  ])('refuses invalid JSON: %s', async (_what, text) => {
    await expect(parse(text)).rejects.toThrow(SyntaxError);
  });

  it('refuses deep nesting, however short', async () => {
    await expect(parse('['.repeat(501) + ']'.repeat(501))).rejects.toThrow(
      new JsonLimitError('is nested deeper than 500 levels'),
    );
    await expect(parse('['.repeat(500) + ']'.repeat(500))).resolves.toBeDefined();
    await expect(parse('['.repeat(1_000_000))).rejects.toThrow(JsonLimitError);
  });

  it('refuses more lists and objects than there may be, before it reads any', async () => {
    const limits = { maxDepth: 500, maxContainers: 1000 };
    await expect(parseInSlices(`[${many('{}', 2997)}]`, limits)).resolves.toHaveLength(999);
    await expect(parseInSlices(`[${many('{}', 3000)}]`, limits)).rejects.toThrow('contains more than 1000 lists and objects');
    await expect(parseInSlices(`[${many('[', 3000)}`, limits)).rejects.toThrow(JsonLimitError);
    await expect(parseInSlices(`["${'['.repeat(3000)}"]`, limits)).resolves.toHaveLength(1);
  });

  it('yields the event loop', async () => {
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await parse(`[${many('[]', 4_000_000)}]`);
    isDone = true;
    expect(turns).toBeGreaterThan(5);
  });
});
