import { describe, expect, it } from 'vitest';
import { parsePalette } from '../../../src/tilesource/style/palette.js';
import { parseStyle } from '../../../src/tilesource/style/parse.js';
import { colorMaps, readTone, toneOf, toneStyle, writeTone, type ToneSettings } from '../../../src/viewer/image/tones.js';

const plain: ToneSettings = { palette: null, gamma: 1, invert: false };

describe('tones of channels', () => {
  it.each(colorMaps)('offer the color map %s, which the server knows', (map) => {
    expect(parsePalette(map).length).toBeGreaterThan(1);
  });

  it.each<[ToneSettings, string[]]>([
    [{}, []],
    [{ gamma: 0.5 }, ['gamma=0.5']],
    [{ invert: true }, ['invert']],
    [{ palette: 'viridis', gamma: 2, invert: true }, ['palette=viridis', 'gamma=2', 'invert']],
  ])('are written and read as %j', async (tone, address) => {
    expect(writeTone(tone)).toEqual(address);
    expect(readTone(address)).toEqual({ ...plain, ...tone });
    expect(toneOf(toneStyle(tone))).toEqual({ ...plain, ...tone });
    expect((await parseStyle({ bands: [{ band: 1, ...toneStyle(tone) }] }))!.bands).toHaveLength(1);
  });

  it.each(['gamma=0', 'gamma=x', 'gamma=1e9', 'gamma=', 'palette=nothing', 'inverted', '', '='])('leave out %s', (part) => {
    expect(readTone([part])).toEqual(plain);
  });
});
