import { expect, it } from 'vitest';
import { computeSortableNames } from '../../../src/reference-host/tree/names/checked-name.js';

it('sorts numbers in names by their value', () => {
  const names = [
    'a',
    'a 1',
    'a 2',
    'a 02b',
    'A 9',
    'a 10',
    'a 10.9',
    'a 10.10',
    'a 999999999',
    'a 1000000000',
    'a 20000000000000000000',
    'b',
  ];
  const order = (name: string) => computeSortableNames(name).naturalName;
  expect(names.toReversed().toSorted((one, other) => (order(one) < order(other) ? -1 : 1))).toEqual(names);
});
