import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadParameterError } from '../../../src/errors.js';
import { boundingBox, unionBox, type BoundingBox } from '../../../src/annotation-format/bounding-box.js';
import {
  ElementBudget,
  elementQueryEcho,
  filterEcho,
  matchesConditions,
  mayMatchWithin,
  maxElements,
  parseElementQuery,
} from '../../../src/annotation-format/element-query.js';
import { anyElement } from './arbitraries.js';
import { casesOf } from '../../support/run/sample.js';

describe('parameters', () => {
  test('request everything in the order of ids when none are sent', () => {
    expect(parseElementQuery({ _: '17' })).toEqual({
      conditions: [],
      sort: ['_id', 1],
      offset: 0,
      limit: 0,
      maxDetails: 0,
      minElements: 0,
      asCentroids: false,
      includesBoxes: false,
      includesOrders: false,
    });
  });

  test('limits of a region are compared with the opposite side of the box', () => {
    const query = parseElementQuery({
      left: '1',
      right: '2.5',
      top: '3',
      bottom: '-4e1',
      low: '.5',
      high: '6',
      minimumSize: '7',
    });
    expect(filterEcho(query, 'abc', 39)).toEqual({
      annotationId: 'abc',
      _version: 39,
      'bbox.highx': { $gte: 1 },
      'bbox.lowx': { $lt: 2.5 },
      'bbox.highy': { $gte: 3 },
      'bbox.lowy': { $lt: -40 },
      'bbox.highz': { $gte: 0.5 },
      'bbox.lowz': { $lt: 6 },
      'bbox.size': { $gte: 7 },
    });
  });

  test('lower limits and sizes of 0 or less are ignored, upper limits are not', () => {
    const query = parseElementQuery({ left: '0', top: '-1', low: '0', minimumSize: '-5', right: '0', bottom: '-1', high: '0' });
    expect(query.conditions.map(({ field }) => field)).toEqual(['lowx', 'lowy', 'lowz']);
  });

  test.each(['left', 'right', 'top', 'bottom', 'low', 'high', 'minimumSize'])('%s must be a finite number', (name) => {
    for (const value of ['abc', '1,5', 'NaN', 'Infinity', '1e400', '0x10', '--1', '1 2', '{}']) {
      expect(() => parseElementQuery({ [name]: value })).toThrow(`Invalid value for numeric parameter ${name}: ${value}.`);
    }
  });

  test.each(['limit', 'offset', 'maxDetails', 'minElements'])('%s must be a whole number that is not negative', (name) => {
    for (const value of ['abc', '1.5', 'NaN', '1e3', '99999999999999999999']) {
      expect(() => parseElementQuery({ [name]: value })).toThrow(`Invalid value for integer parameter ${name}: ${value}.`);
    }
    expect(() => parseElementQuery({ [name]: '-1' })).toThrow(BadParameterError);
    expect(parseElementQuery({ [name]: ' 12 ' })).toMatchObject({ [name]: 12 });
  });

  test.each([
    ['size', 'bbox.size'],
    ['details', 'bbox.details'],
    ['left', 'bbox.highx'],
    ['right', 'bbox.lowx'],
    ['bottom', 'bbox.lowy'],
    ['high', 'bbox.lowz'],
    ['minimumSize', 'bbox.size'],
    ['_id', '_id'],
    ['element.type', 'element.type'],
    ['', '_id'],
  ])('sort %s means the stored field %s', (sort, field) => {
    expect(parseElementQuery({ sort, sortdir: '-1' }).sort).toEqual([field, -1]);
  });

  test('sort texts that are not a field and invalid directions are refused', () => {
    for (const sort of ['$where', 'a b', 'a..b', '{"a":1}', '-1'])
      expect(() => parseElementQuery({ sort })).toThrow('Invalid value for sort');
    for (const sortdir of ['0', '2', 'up']) expect(() => parseElementQuery({ sortdir })).toThrow('Invalid value for sortdir');
  });

  test('bbox and centroids follow one rule for booleans, and centroids win', () => {
    for (const yes of ['true', 'TRUE', '1', 'on', 'yes']) expect(parseElementQuery({ bbox: yes }).includesBoxes).toBe(true);
    for (const no of ['false', '0', 'no', ''])
      expect(parseElementQuery({ bbox: no, centroids: no })).toMatchObject({ includesBoxes: false, asCentroids: false });
    expect(parseElementQuery({ bbox: 'true', centroids: 'true' })).toMatchObject({ includesBoxes: false, asCentroids: true });
  });

  test('orders are included only for a limited number of elements in the default order', () => {
    const asks = (parameters: Record<string, string>) => parseElementQuery({ orders: '1', ...parameters }).includesOrders;
    expect(asks({ limit: '5' })).toBe(true);
    expect(asks({ limit: '100000', sortdir: '-1' })).toBe(true);
    const others: Record<string, string>[] = [
      {},
      { limit: '100001' },
      { limit: '5', sort: 'size' },
      { limit: '5', centroids: '1' },
    ];
    for (const other of others) expect(asks(other)).toBe(false);
  });
});

describe('the number of elements sent', () => {
  function send(parameters: Record<string, string>, details: readonly number[]): [returned: number, details: number] {
    const budget = new ElementBudget(parseElementQuery(parameters));
    for (const value of details) {
      if (!budget.allowsMore) break;
      budget.countSent(value);
    }
    return [budget.sentCount, budget.sentDetails];
  }

  test.each<[Record<string, string>, [number, number]]>([
    [{}, [5, 20]],
    [{ limit: '3' }, [3, 12]],
    [{ maxDetails: '5' }, [2, 8]],
    [{ maxDetails: '8' }, [2, 8]],
    [{ maxDetails: '5', minElements: '4' }, [4, 16]],
    [{ maxDetails: '2', minElements: '4' }, [4, 16]],
    [{ maxDetails: '1', minElements: '1' }, [1, 4]],
    [{ maxDetails: '5', minElements: '4', limit: '3' }, [3, 12]],
    [{ minElements: '2' }, [5, 20]],
    [{ centroids: 'true', maxDetails: '3' }, [3, 3]],
  ])('%j', (parameters, expected) => {
    expect(send(parameters, [4, 4, 4, 4, 4])).toEqual(expected);
  });

  test('the largest number that can be sent is known beforehand', () => {
    expect(maxElements(parseElementQuery({}))).toBe(Infinity);
    expect(maxElements(parseElementQuery({ limit: '9', maxDetails: '5', minElements: '7' }))).toBe(7);
    expect(maxElements(parseElementQuery({ limit: '3', maxDetails: '5' }))).toBe(3);
  });
});

test('counts all elements in the echo only without a filter, and repeats the query', () => {
  const box = boundingBox({ type: 'point', center: [1, 1, 0] });
  const answer = (parameters: Record<string, string>) => {
    const query = parseElementQuery(parameters);
    const budget = new ElementBudget(query);
    budget.countSent(1);
    return elementQueryEcho(query, { annotationId: 'a', version: 2, total: 10, budget, box });
  };
  expect(answer({})).toEqual({
    returned: 1,
    details: 1,
    offset: 0,
    sort: ['_id', 1],
    count: 10,
    filter: { annotationId: 'a', _version: 2 },
  });
  expect(answer({ right: '5', limit: '4', maxDetails: '6', minElements: '2', bbox: '1' })).toEqual({
    returned: 1,
    details: 1,
    offset: 0,
    sort: ['_id', 1],
    filter: { annotationId: 'a', _version: 2, 'bbox.lowx': { $lt: 5 } },
    limit: 4,
    maxDetails: 6,
    minElements: 2,
    bbox: { lowx: 0.5, lowy: 0.5, lowz: 0, highx: 1.5, highy: 1.5, highz: 0 },
  });
  expect(answer({ left: '-1', centroids: 'true' })).toMatchObject({ count: 10, centroids: true });
});

test('a box around elements is never skipped when one of them matches', () => {
  const limit = fc.integer({ min: -3000, max: 200_000 }).map(String);
  const parameters = fc.record(
    { left: limit, right: limit, top: limit, bottom: limit, low: limit, high: limit, minimumSize: limit },
    { requiredKeys: [] },
  );
  let matches = 0;
  fc.assert(
    fc.property(fc.array(anyElement, { minLength: 1, maxLength: 5 }), parameters, (elements, sent) => {
      const { conditions } = parseElementQuery(sent);
      const boxes = elements.map((element) => boundingBox(element));
      const largest = Math.max(...boxes.map(({ size }) => size));
      const union = { ...(boxes.reduce<BoundingBox | null>(unionBox, null) as BoundingBox), size: largest };
      if (!boxes.some((box) => matchesConditions(box, conditions))) return;
      matches += 1;
      expect(mayMatchWithin(union, conditions)).toBe(true);
    }),
    { numRuns: casesOf(1000) },
  );
  expect(matches).toBeGreaterThan(casesOf(50));
});
