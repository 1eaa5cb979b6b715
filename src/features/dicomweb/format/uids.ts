import { createHash } from 'node:crypto';

/** The number that stands for each kind of thing in UIDs. Numbers are never reused for another kind. */
const kindNumbers = {
  study: 1,
  series: 2,
  instance: 3,
  frameOfReference: 4,
  pyramid: 5,
  acquisition: 6,
  specimen: 7,
  dimensions: 8,
  annotation: 9,
  annotationSeries: 10,
} as const;

/** A kind of thing that has UIDs. */
export type UidKind = keyof typeof kindNumbers;

/** Number of hexadecimal digits of a base: 88 bits of a hash. */
const baseDigits = 22;
const prefix = '2.25.';

/**
 * Makes the UID of a thing from a base (see {@link uidBase}), its kind, and two numbers. UIDs that begin with 2.25 are UUIDs written as
 * whole numbers (PS3.5 B.2). This UUID is of version 8, which leaves its bits free: they are the base, the kind and the two numbers,
 * so that {@link baseOf} can read the base from the UID.
 */
export function uidOf(base: string, kind: UidKind, major = 0, minor = 0): string {
  const ordinal = (BigInt(kindNumbers[kind]) << 28n) | (BigInt(major) << 12n) | BigInt(minor);
  const bits = (BigInt(`0x${base}`) << 32n) | ordinal;
  return `${prefix}${addVersionBits(bits)}`;
}

/** Maximum of each of the two numbers of {@link uidOf}. */
export const maxMajor = 2 ** 16 - 1;
export const maxMinor = 2 ** 12 - 1;

/** Puts 120 bits around the six bits that mark a UUID as version 8. */
function addVersionBits(bits: bigint): bigint {
  const [low, middle, high] = [bits & ((1n << 62n) - 1n), (bits >> 62n) & 0xfffn, bits >> 74n];
  return (high << 80n) | (8n << 76n) | (middle << 64n) | (2n << 62n) | low;
}

/** The base in a UID made by {@link uidOf}; `null` for other UIDs. */
export function baseOf(uid: string): string | null {
  if (!/^2\.25\.[1-9]\d{0,38}$/.test(uid)) return null;
  const uuid = BigInt(uid.slice(prefix.length));
  if (uuid >> 128n !== 0n || ((uuid >> 76n) & 15n) !== 8n || ((uuid >> 62n) & 3n) !== 2n) return null;
  const bits = ((uuid >> 80n) << 74n) | (((uuid >> 64n) & 0xfffn) << 62n) | (uuid & ((1n << 62n) - 1n));
  return (bits >> 32n).toString(16).padStart(baseDigits, '0').slice(-baseDigits);
}

/** A base for UIDs, made from texts that together identify something. */
export function uidBase(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, baseDigits);
}

/**
 * Whether a text is a UID (PS3.5 9.1). Components may begin with zeros, as in UIDs of some programs, although the standard does not
 * allow it.
 */
export function isUid(text: string): boolean {
  return text.length <= 64 && /^\d+(?:\.\d+)*$/.test(text);
}
