import type { Raster } from '../../raster.js';

/** Glyphs as rows of five pixels, from the top. `#` is a drawn pixel. */
const glyphs: Readonly<Record<string, readonly string[]>> = {
  '0': ['.###.', '#...#', '#..##', '#.#.#', '##..#', '#...#', '.###.'],
  '1': ['..#..', '.##..', '..#..', '..#..', '..#..', '..#..', '.###.'],
  '2': ['.###.', '#...#', '....#', '...#.', '..#..', '.#...', '#####'],
  '3': ['#####', '...#.', '..#..', '...#.', '....#', '#...#', '.###.'],
  '4': ['...#.', '..##.', '.#.#.', '#..#.', '#####', '...#.', '...#.'],
  '5': ['#####', '#....', '####.', '....#', '....#', '#...#', '.###.'],
  '6': ['..##.', '.#...', '#....', '####.', '#...#', '#...#', '.###.'],
  '7': ['#####', '....#', '...#.', '..#..', '.#...', '.#...', '.#...'],
  '8': ['.###.', '#...#', '#...#', '.###.', '#...#', '#...#', '.###.'],
  '9': ['.###.', '#...#', '#...#', '.####', '....#', '...#.', '.##..'],
  '=': ['.....', '.....', '#####', '.....', '#####', '.....', '.....'],
  c: ['.....', '.....', '.###.', '#....', '#....', '#...#', '.###.'],
  t: ['.#...', '.#...', '###..', '.#...', '.#...', '.#..#', '..##.'],
  x: ['.....', '.....', '#...#', '.#.#.', '..#..', '.#.#.', '#...#'],
  y: ['.....', '.....', '#...#', '#...#', '.####', '....#', '.###.'],
  z: ['.....', '.....', '#####', '...#.', '..#..', '.#...', '#####'],
};
/** The glyph for unknown characters. */
const unknownGlyph = ['#####', '#...#', '#...#', '#...#', '#...#', '#...#', '#####'];

const cellWidth = 6;
const cellHeight = 9;

/**
 * Draws lines of text in the center of an area of `width` by `height` pixels at the upper left of a raster, in the largest size that fits well. Parts
 * outside the raster are clipped.
 */
export function drawText(
  raster: Raster,
  lines: readonly string[],
  style: { ink: readonly number[]; width: number; height: number },
): void {
  const longestLength = Math.max(...lines.map((line) => line.length));
  const largestScale = Math.min(
    (style.width * 0.8) / (longestLength * cellWidth),
    (style.height * 0.8) / (lines.length * cellHeight),
  );
  const scale = Math.floor(largestScale);
  if (scale < 1) return;
  const top = Math.floor((style.height - lines.length * cellHeight * scale) / 2);
  lines.forEach((line, row) => {
    const left = Math.floor((style.width - line.length * cellWidth * scale) / 2);
    Array.from(line).forEach((character, column) => {
      const origin = { left: left + column * cellWidth * scale, top: top + row * cellHeight * scale };
      drawGlyph(raster, glyphs[character] ?? unknownGlyph, origin, scale, style.ink);
    });
  });
}

function drawGlyph(
  raster: Raster,
  glyph: readonly string[],
  origin: { left: number; top: number },
  scale: number,
  ink: readonly number[],
): void {
  const bottom = Math.min(raster.height, origin.top + glyph.length * scale);
  const dot = Uint8Array.from(Array.from({ length: scale }, () => ink).flat());
  for (let y = origin.top; y < bottom; y += 1) {
    const row = glyph[Math.floor((y - origin.top) / scale)] ?? '';
    for (let column = 0; column < row.length; column += 1) {
      const left = origin.left + column * scale;
      const visibleColumns = Math.min(scale, raster.width - left);
      if (row[column] !== '#' || visibleColumns <= 0) continue;
      const visibleDot = visibleColumns === scale ? dot : dot.subarray(0, visibleColumns * ink.length);
      raster.data.set(visibleDot, (y * raster.width + left) * raster.bands);
    }
  }
}
