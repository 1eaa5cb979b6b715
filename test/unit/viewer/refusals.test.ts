import { expect, it } from 'vitest';
import { accountTexts } from '../../../src/viewer/texts.js';

it.each([413, 429, 431, 502, 503, 504, 507])('describes %i of a proxy in a sentence without the number', (status) => {
  expect(accountTexts.status(status)).toMatch(/^[A-Z]\D*\.$/);
});

it('names the status when nothing else is known', () => {
  expect(accountTexts.status(418)).toBe('The server answered with status 418.');
});
