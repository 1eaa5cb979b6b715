import { expect, it } from 'vitest';
import { usualColor } from '../../../src/tilesource/style/usual-colors.js';

it.each([
  ['DAPI', '#0000ff'],
  ['Hoechst 33342', '#0000ff'],
  ['anti-CD3 FITC', '#00ff00'],
  ['EGFP', '#00ff00'],
  ['Alexa Fluor 488', '#00ff00'],
  ['TRITC', '#ff0000'],
  ['Cy3', '#ff0000'],
  ['mCherry', '#ff0000'],
  ['Cy5', '#ff00ff'],
  ['Bright field', '#ffffff'],
  ['Channel 1', null],
  ['Cy30', null],
  ['', null],
])('the usual color of %s is %s', (name, color) => {
  expect(usualColor(name)).toBe(color);
});
