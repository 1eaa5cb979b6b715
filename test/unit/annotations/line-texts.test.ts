import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boundingBox, boxOfLine } from '../../../src/annotation-format/bounding-box.js';
import { measure, measureOutline } from '../../../src/annotation-format/measures.js';
import { PositionReader } from '../../../src/annotation-format/positions.js';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';
import { createElementValidator } from '../../../src/annotation-format/validate.js';
import { BodyScanner } from '../../../src/features/annotations/elements/write/body-scanner.js';
import { LineText, LineTexts } from '../../../src/features/annotations/elements/write/line-texts.js';
import { casesOf } from '../../support/run/sample.js';
import { anyElement, elementOf } from '../annotation-format/arbitraries.js';

const id = 'abcdef0123456789abcdef01';
const points = '[[1,2,0],[3,4.5,0],[5,-6,0.25]]';
const line = `"type":"polyline","points":${points}`;

/** Reads elements of a body, in chunks of some bytes. */
function readLines(elements: readonly string[], chunkBytes = 1024): (LineText | null)[] {
  const body = Buffer.from(`{"elements":[${elements.join(',')}]}`);
  const scanner = new BodyScanner();
  const lines = new LineTexts(createElementValidator('large_image'));
  const results: (LineText | null)[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    for (const event of scanner.push(body.subarray(at, at + chunkBytes))) {
      if (event.kind !== 'slice') continue;
      lines.begin(event);
      for (let i = 0; i < event.count; i += 1) {
        const read = lines.read(event, i);
        // The positions are valid only until the next slice.
        results.push(read && new LineText(read.element, read.id, { ...read.positions, numbers: read.positions.numbers.slice() }));
      }
    }
  }
  return results;
}

function expectEqual({ element, id: ownId, positions, isClosed }: LineText, text: string): void {
  const parsed = JSON.parse(text) as Extract<AnnotationElement, { type: 'polyline' }>;
  expect([...positions.numbers.subarray(positions.from, positions.to)]).toEqual(parsed.points.flat());
  expect({ ...element, points: null, ...(ownId !== undefined && { id: ownId }) }).toEqual({ ...parsed, points: null });
  expect(boxOfLine(positions)).toEqual(boundingBox(parsed));
  expect(measureOutline(positions, isClosed)).toEqual(measure(parsed, boundingBox(parsed)));
}

describe('texts of lines', () => {
  it('give the same elements as parsing', () => {
    const elements = fc.array(fc.oneof(anyElement, elementOf('polyline'), elementOf('arrow')), { maxLength: 8 });
    fc.assert(
      fc.property(elements, fc.integer({ min: 1, max: 300 }), (list, chunkBytes) => {
        const texts = list.map((element) => JSON.stringify(element));
        for (const [i, result] of readLines(texts, chunkBytes).entries()) {
          if (result !== null) expectEqual(result, texts[i]!);
        }
      }),
      { numRuns: casesOf(300) },
    );
  });

  it.each([
    `{${line}}`,
    `{"id":"${id}",${line},"closed":true}`,
    `{${line},"closed":true,"id":"${id}"}`,
    `{${line},"group":"Zellkörper","user":{"points":[[1,2,3]],"a.b":1}}`,
    `{${line},"label":{"value":"\\"points\\":[[1]]"}}`,
    `{"type":"polyline","points":[[-0.5,1234567890123456,12345.678901234567],[0.1,0,0]]}`,
    `{"type":"arrow","points":[[1,2,0],[3,4,0]]}`,
  ])('are read from %s', (text) => {
    // Its neighbors share its members, or have no points.
    const texts = [`{"type":"point","center":[1,2,3]}`, text, text.replaceAll(id, id.replace('a', 'b')), `{${line}}`];
    const results = readLines(texts);
    expect(results.map((result) => result !== null)).toEqual([false, true, true, true]);
    for (const [i, result] of results.entries()) if (result !== null) expectEqual(result, texts[i]!);
  });

  it.each([
    `{${line},"holes":[${points}]}`,
    `{${line},"lineColor":"red"}`,
    `{${line},"unknown":1}`,
    `{${line},"_bbox":{}}`,
    `{${line},"user":{"__proto__":1}}`,
    `{${line},"points":${points}}`,
    `{${line},"points":0}`,
    `{"points":0,${line}}`,
    `{${line},"closed":true,"closed":false}`,
    `{"id":"${id}",${line},"id":"${id}"}`,
    `{"id":"${id.toUpperCase()}",${line}}`,
    `{"id":7,${line}}`,
    `{"user":{"points":${points}},"type":"polyline"}`,
    `{"user":{"points":${points}},${line}}`,
    `{"a\\"points":${points},"type":"polyline"}`,
    `{"type":"polyline","points":[[1,2,0]]}`,
    `{"type":"arrow","points":${points}}`,
    `{"type":"heatmap","points":${points},"radius":1}`,
    `{${line.replace('4.5', '4.0')}}`,
    `{${line.replace('4.5', '1e2')}}`,
    `{${line.replace('4.5', ' 4.5')}}`,
    `{${line.replace('4.5', '04.5')}}`,
    `{${line.replace('4.5', '4.5,6')}}`,
    `{${line}x}`,
    `{${line}`.replace(']]', ']]]'),
    `{${line},"group":"\\x"}`,
  ])('are not read from %s', (text) => {
    const texts = [`{${line}}`, text, `{${line}}`];
    let results: (LineText | null)[];
    try {
      results = readLines(texts);
    } catch (error) {
      // The scanner refuses brackets that do not match.
      expect((error as Error).message).toBe('Invalid JSON passed in request body.');
      return;
    }
    expect(results[1]).toBeNull();
  });

  it('are not read from bytes that are not UTF-8', () => {
    const body = Buffer.from(`{"elements":[{${line},"group":"?"}]}`);
    body[body.indexOf('?')] = 0xff;
    const lines = new LineTexts(createElementValidator('large_image'));
    for (const event of new BodyScanner().push(body)) {
      if (event.kind !== 'slice') continue;
      lines.begin(event);
      expect(lines.read(event, 0)).toBeNull();
    }
  });
});

describe('a reader of positions', () => {
  const read = (text: string) => {
    const result = new PositionReader().read(Buffer.from(text), 0);
    return result && [...result.numbers.subarray(result.from, result.to + 3)];
  };

  it('reads every number as JSON.parse does', () => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.float({ noNaN: true, noDefaultInfinity: true }),
    );
    const list = fc.array(fc.tuple(number, number, number), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(list, (positions) => {
        const text = JSON.stringify(positions);
        const parsed = JSON.parse(text) as number[][];
        expect(read(text)).toEqual([...parsed, parsed[0]!].flat());
      }),
      { numRuns: casesOf(1000) },
    );
  });

  it.each(['-0', '0.10', '1E5', '1e+5', '1.5e-7', '4.9e-324', '9007199254740993', '0.1000000000000000055511151231257827'])(
    'reads %s',
    (number) => expect(read(`[[${number},2,3]]`)!.slice(0, 3)).toEqual([JSON.parse(number), 2, 3]),
  );

  it.each([
    '',
    '-',
    '+1',
    '01',
    '-01',
    '.5',
    '1.',
    '1.e5',
    '1e',
    '1e+',
    '--1',
    '1.2.3',
    '1e5.5',
    '1e999',
    'NaN',
    'null',
    '"1"',
    ' 1',
    '1 ',
    '0x1',
    '1_0',
    '[1]',
  ])('refuses %j as a number', (number) => {
    expect(read(`[[${number},2,3]]`)).toBeNull();
    expect(read(`[[1,2,${number}]]`)).toBeNull();
  });

  it.each([
    '',
    '[',
    '[]',
    '[[]]',
    '[[1,2]]',
    '[[1,2,3,4]]',
    '[[1,2,3]',
    '[[1,2,3],]',
    '[[1,2,3][1,2,3]]',
    '[[1,2,3}]',
    '[1,2,3]',
    '[[1,2,3],4]',
    '[[1,2,3',
  ])('refuses %j as a list', (list) => expect(read(list)).toBeNull());
});
