import { expect, it } from 'vitest';
import { findExpressionProblem } from '../../../src/features/items/expression-check.js';

it.each([
  '^slide',
  '(?i)^HE',
  'a*b',
  '^(?:HE|PAS)_\\d{1,4}\\.(svs|tiff?)$',
  '[a-z()|*]+',
  '[\\]*+]+x',
  '\\(a+\\)+',
  '(abc)+',
  '(a{3})+',
  'a+?b',
])('allows a query with the expression %s', (expression) => {
  expect(findExpressionProblem(expression)).toBeNull();
});

it.each([
  ['(', 'not a valid or supported'],
  ['x'.repeat(1001), 'is not a text'],
  [5, 'is not a text'],
  ['^(a+)+$', 'repeats a group'],
  ['^(?:a*)*$', 'repeats a group'],
  ['((a+))*', 'repeats a group'],
  ['(a|aa)+', 'repeats a group'],
  ['(a?){50}', 'repeats a group'],
  ['(a{1,5}){2,}', 'repeats a group'],
  ['(a)\\1', 'back-reference'],
  ['(?=a)b', 'look-around'],
  ['(?<name>a)', 'look-around'],
  ['a{101}', 'more than 100 times'],
  ['a?'.repeat(21), 'more than 20'],
  ['(a|a)'.repeat(21), 'more than 20'],
])('refuses a query with the expression %s', (expression, problem) => {
  expect(findExpressionProblem(expression)).toContain(problem);
});
