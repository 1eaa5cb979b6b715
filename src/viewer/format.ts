/** The language and region for the format of numbers and dates. */
let locale = 'en';
let wholeNumberFormat = new Intl.NumberFormat(locale);
/** Number formats by their number of significant digits. They are cached, because numbers are formatted in each drawn frame and creating a format is slow. */
const roundedFormats: Map<number, Intl.NumberFormat> = new Map();

/** @param tag a tag that `Intl` supports */
export function useLocale(tag: string) {
  locale = tag;
  wholeNumberFormat = new Intl.NumberFormat(tag);
  roundedFormats.clear();
}

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** A number of bytes in decimal units with three significant digits: `1.94 MB`. */
export function formatBytes(bytes: number) {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : formatNumber(value, 3)} ${byteUnits[unit]}`;
}

/** A number with this many significant digits, without trailing zeros, in the form that inputs for numbers accept. */
export function toSignificantDigits(value: number, digits: number) {
  return String(Number(value.toPrecision(digits)));
}

/** A number with this many significant digits for reading, without trailing zeros, with grouped digits like {@link formatCount}. */
export function formatNumber(value: number, digits: number) {
  const text = toSignificantDigits(value, digits);
  // Numbers with an exponent, such as 1.5e-7, are not grouped.
  if (text.includes('e')) return text;
  const format = roundedFormats.get(digits) ?? new Intl.NumberFormat(locale, { maximumSignificantDigits: digits });
  roundedFormats.set(digits, format);
  return formatGrouped(Number(text), format);
}

/** A whole number with its digits grouped by thin spaces in every language, as in `46 000`. */
export function formatCount(value: number) {
  return formatGrouped(value, wholeNumberFormat);
}

function formatGrouped(value: number, format: Intl.NumberFormat) {
  return format
    .formatToParts(value)
    .map(({ type, value: text }) => (type === 'group' ? '\u2009' : text))
    .join('');
}

export function plural(count: number, singular: string, pluralForm: string = `${singular}s`) {
  return `${formatCount(count)} ${count === 1 ? singular : pluralForm}`;
}

/** A date and time in the user's locale; `''` if the text is missing or not a date. */
export function formatDate(iso: string | undefined) {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return date.toLocaleString(locale, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Units of length from large to small, with millimeters per unit. */
const lengthUnits = [
  { name: 'm', mm: 1000 },
  { name: 'mm', mm: 1 },
  { name: 'µm', mm: 1e-3 },
  { name: 'nm', mm: 1e-6 },
] as const;

/** The largest unit that is not longer than a length; for very short lengths, the smallest unit. */
function lengthUnitOf(mm: number) {
  // The tolerance keeps a length of 1 µm with a rounding error from becoming 1000 nm.
  return lengthUnits.find((unit) => Math.abs(mm) >= unit.mm * (1 - 1e-9)) ?? lengthUnits[lengthUnits.length - 1];
}

/**
 * A length in the unit that suits it best: `12.3 µm`.
 *
 * @param digits significant digits
 */
export function formatLength(mm: number, digits: number = 4) {
  if (mm === 0) return '0 µm';
  const unit = lengthUnitOf(mm) as (typeof lengthUnits)[number];
  return `${formatNumber(mm / unit.mm, digits)} ${unit.name}`;
}

/**
 * The largest number that is 1, 2 or 5 times a power of ten and is not above a limit.
 *
 * @param limit above 0
 */
export function niceStep(limit: number) {
  const power = 10 ** Math.floor(Math.log10(limit) + 1e-9);
  const factor = [5, 2, 1].find((candidate) => candidate * power <= limit * (1 + 1e-9)) ?? 1;
  return factor * power;
}

/**
 * Width and label of a scale bar.
 *
 * @returns width in screen pixels
 */
export function scaleBar(options: {
  /** screen pixels per image pixel */
  zoom: number;
  /** millimeters per image pixel, or `null` if unknown; the label is then in image pixels */
  mmPerPixel: number | null;
  /** maximum width of the bar in screen pixels */
  maxWidth: number;
}): { width: number; label: string } {
  const { zoom, mmPerPixel, maxWidth } = options;
  if (mmPerPixel === null) {
    const pixels = Math.max(1, niceStep(maxWidth / zoom));
    return { width: pixels * zoom, label: `${formatCount(pixels)} px` };
  }
  const mmPerScreenPixel = mmPerPixel / zoom;
  const mm = niceStep(maxWidth * mmPerScreenPixel);
  return { width: mm / mmPerScreenPixel, label: formatLength(mm, 3) };
}

/**
 * The apparent magnification; if the magnification of the objective is unknown, the zoom in percent.
 *
 * @param zoom screen pixels per image pixel
 * @param magnification magnification of the objective at full resolution
 */
export function formatMagnification(zoom: number, magnification: number | null) {
  return magnification === null ? `${formatNumber(zoom * 100, 2)}\u202f%` : `${formatNumber(zoom * magnification, 2)}×`;
}

/** A text, shortened with an ellipsis if it has more characters than a limit. */
export function shorten(text: string, maxLength: number) {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

/**
 * A text, shortened with an ellipsis if it is wider than a limit.
 *
 * @param maxWidth in pixels, like the result of `widthOf`
 */
export function clipToWidth(text: string, maxWidth: number, widthOf: (text: string) => number) {
  // Every letter is wider than 1 pixel, so at most `maxWidth` letters fit. Measuring a very long text would take long.
  const start = text.slice(0, maxWidth);
  if (start === text && widthOf(text) <= maxWidth) return text;
  // Characters that appear as one letter are not separated.
  const letters = [...new Intl.Segmenter().segment(start)].map(({ segment }) => segment);
  let fittingCount = 0;
  let excessiveCount = letters.length + 1;
  while (excessiveCount - fittingCount > 1) {
    const count = (fittingCount + excessiveCount) >> 1;
    if (widthOf(`${letters.slice(0, count).join('')}…`) <= maxWidth) fittingCount = count;
    else excessiveCount = count;
  }
  return `${letters.slice(0, fittingCount).join('').trimEnd()}…`;
}
