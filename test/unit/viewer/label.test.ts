import { expect, it } from 'vitest';
import { clipToWidth } from '../../../src/viewer/format.js';

/** Each letter is 10 wide, even one that consists of several characters. */
const widthOf = (text: string) => 10 * [...new Intl.Segmenter().segment(text)].length;

it('writes a label that is not too wide as it is', () => {
  expect(clipToWidth('Gland', 240, widthOf)).toBe('Gland');
  expect(clipToWidth('', 240, widthOf)).toBe('');
});

it('ends a wide label in an ellipsis, without cutting a letter or leaving a space', () => {
  expect(clipToWidth('a'.repeat(200), 240, widthOf)).toBe(`${'a'.repeat(23)}…`);
  expect(clipToWidth('👩‍🔬'.repeat(60), 50, widthOf)).toBe(`${'👩‍🔬'.repeat(4)}…`);
  expect(clipToWidth(`Gland and duct`, 70, widthOf)).toBe('Gland…');
  expect(widthOf(clipToWidth('a'.repeat(1_000_000), 240, widthOf))).toBe(240);
});
