import { describe, expect, it } from 'vitest';
import { parentPathText } from '../../../src/viewer/browse/browse-model.js';

describe('the text for the path of a folder or item', () => {
  it.each([
    ['/collection/Scans/Kidney/slide', 'Scans / Kidney'],
    ['/user/anna/Private/slide', 'anna / Private'],
    [String.raw`/collection/Scans/left\/right/back\\slash/slide`, String.raw`Scans / left/right / back\slash`],
    ['/collection/Scans', ''],
  ])('leaves out the kind of the root and the own name, and unescapes names: %s', (path, text) => {
    expect(parentPathText(path)).toBe(text);
  });
});
