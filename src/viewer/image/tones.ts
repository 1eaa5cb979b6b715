/** How the samples of a channel become colors, in addition to the channel's color and range. */
export interface ToneSettings {
  /** The name of a server palette that is used instead of the channel's color. */
  palette?: string | null;
  /** The exponent that is applied to a sample after the channel's range was scaled to the interval from 0 to 1; default 1. */
  gamma?: number;
  invert?: boolean;
}

/** The smallest and the largest gamma that can be chosen. */
export const gammaRange = [0.1, 10] as const;
/** Palettes of the server that are offered. */
export const colorMaps = [
  'viridis',
  'magma',
  'inferno',
  'plasma',
  'cividis',
  'turbo',
  'gray',
  'hot',
  'jet',
  'blues',
  'greens',
  'reds',
  'spectral',
] as const;

/** The members that a tone adds to a band of a style. Default values are left out. */
export function toneStyle({ palette, gamma = 1, invert }: ToneSettings) {
  return { ...(palette && { palette }), ...(gamma !== 1 && { gamma }), ...(invert && { invert }) };
}

/** A tone as parts of an address: `palette=hot`, `gamma=0.5`, `invert`. */
export function writeTone(tone: ToneSettings) {
  return Object.entries(toneStyle(tone)).map(([name, value]) => (value === true ? name : `${name}=${value}`));
}

/** Reads a tone from the parts that {@link writeTone} makes. */
export function readTone(parts: string[]): ToneSettings {
  return toneOf(Object.fromEntries(parts.map((part) => [part.split('=', 1)[0], part.slice(part.indexOf('=') + 1)])));
}

/** Reads a tone from the members of a band of a style. Values that this page does not offer are replaced by the defaults. */
export function toneOf({ palette, gamma, invert }: Record<string, unknown>): ToneSettings {
  const gammaNumber = Number(gamma ?? 1);
  const [min, max] = gammaRange;
  return {
    palette: colorMaps.find((map) => map === palette) ?? null,
    gamma: gammaNumber >= min && gammaNumber <= max ? gammaNumber : 1,
    invert: invert === true || invert === 'true' || invert === 'invert',
  };
}
