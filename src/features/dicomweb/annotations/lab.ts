/**
 * Parses the color of an element, such as `#rgb`, `#rrggbb` or `rgb(r, g, b)`. Alpha is ignored.
 *
 * @returns red, green and blue, from 0 to 255; `null` for other forms.
 */
function channelsOf(color: string): [number, number, number] | null {
  const hex = /^#([\da-f]{3,8})$/i.exec(color)?.[1];
  if (hex !== undefined) {
    const digitsPerChannel = hex.length >= 6 ? 2 : 1;
    return [0, 1, 2].map((i) =>
      Number.parseInt(hex.slice(i * digitsPerChannel, (i + 1) * digitsPerChannel).padStart(2, hex[i]), 16),
    ) as [number, number, number];
  }
  const parts = /^rgba?\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)/i.exec(color);
  return parts === null ? null : [Number(parts[1]), Number(parts[2]), Number(parts[3])];
}

/** Converts the color of an element to L*a*b* of D50, with 16 bits per value (PS3.3 C.10.7.1.1); `null` if its form is unknown. */
export function labOf(color: string): [number, number, number] | null {
  const channels = channelsOf(color);
  if (channels === null) return null;
  const [r, g, b] = channels.map((value) => {
    const fraction = Math.min(255, value) / 255;
    return fraction <= 0.040_45 ? fraction / 12.92 : ((fraction + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  // XYZ relative to the white of D50.
  const x = (0.436_074_7 * r + 0.385_064_9 * g + 0.143_080_4 * b) / 0.964_22;
  const y = 0.222_504_5 * r + 0.716_878_6 * g + 0.060_616_9 * b;
  const z = (0.013_932_2 * r + 0.097_104_5 * g + 0.714_173_3 * b) / 0.825_21;
  const f = (t: number): number => (t > 216 / 24_389 ? Math.cbrt(t) : ((24_389 / 27) * t + 16) / 116);
  const [lightness, aStar, bStar] = [116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))];
  const clamp = (value: number): number => Math.max(0, Math.min(65_535, Math.round(value)));
  return [clamp((lightness * 65_535) / 100), clamp(((aStar + 128) * 65_535) / 255), clamp(((bStar + 128) * 65_535) / 255)];
}
