// @ts-check

const byteUnits = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/**
 * A number of bytes in decimal units with three significant digits: `1.94 MB`.
 *
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : significant(value, 3)} ${byteUnits[unit]}`;
}

/**
 * A number with so many significant digits, without trailing zeros and never in exponent form.
 *
 * @param {number} value
 * @param {number} digits
 */
export function significant(value, digits) {
  return String(Number(value.toPrecision(digits)));
}

/**
 * A whole number with its digits grouped by thin spaces, as in `46 000`.
 *
 * @param {number} value
 */
export function formatCount(value) {
  return value.toLocaleString('en-US').replaceAll(',', '\u2009');
}

/** @param {number} count @param {string} one @param {string} [many] */
export function plural(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/**
 * A point in time in the reader's own form.
 *
 * @param {string | undefined} iso
 */
export function formatDate(iso) {
  const date = new Date(iso ?? '');
  if (Number.isNaN(date.getTime())) return '';
  return date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** Units of length from large to small, with millimetres per unit. */
const lengthUnits = /** @type {const} */ ([
  { name: 'm', mm: 1000 },
  { name: 'mm', mm: 1 },
  { name: 'µm', mm: 1e-3 },
  { name: 'nm', mm: 1e-6 },
]);

/**
 * The unit in which a length has one to three digits before the point; the smallest one below that.
 *
 * @param {number} mm
 */
function unitOf(mm) {
  // A hair of slack, so that what is 1 µm but for rounding is not 1000 nm.
  return lengthUnits.find((unit) => Math.abs(mm) >= unit.mm * (1 - 1e-9)) ?? lengthUnits[lengthUnits.length - 1];
}

/**
 * A length, in the unit that suits it: `12.3 µm`.
 *
 * @param {number} mm
 * @param {number} [digits] significant digits
 */
export function formatLength(mm, digits = 4) {
  if (mm === 0) return '0 µm';
  const unit = /** @type {typeof lengthUnits[number]} */ (unitOf(mm));
  return `${significant(mm / unit.mm, digits)} ${unit.name}`;
}

/**
 * The largest of 1, 2 or 5 times a power of ten that is not above a limit.
 *
 * @param {number} limit above 0
 */
export function niceStep(limit) {
  const power = 10 ** Math.floor(Math.log10(limit) + 1e-9);
  const factor = [5, 2, 1].find((candidate) => candidate * power <= limit * (1 + 1e-9)) ?? 1;
  return factor * power;
}

/**
 * A scale bar: how wide to draw it, and what to write on it.
 *
 * @param {object} scale
 * @param {number} scale.zoom screen pixels per image pixel
 * @param {number | null} scale.mmPerPixel millimetres per image pixel, or `null` when unknown: then the bar counts image pixels
 * @param {number} scale.maxWidth widest bar in screen pixels
 * @returns {{ width: number, label: string }} width in screen pixels
 */
export function scaleBar({ zoom, mmPerPixel, maxWidth }) {
  if (mmPerPixel === null) {
    const pixels = Math.max(1, niceStep(maxWidth / zoom));
    return { width: pixels * zoom, label: `${formatCount(pixels)} px` };
  }
  const mmPerScreenPixel = mmPerPixel / zoom;
  const mm = niceStep(maxWidth * mmPerScreenPixel);
  return { width: mm / mmPerScreenPixel, label: formatLength(mm, 3) };
}

/**
 * The apparent magnification, or how large an image pixel is on the screen where the objective is unknown.
 *
 * @param {number} zoom screen pixels per image pixel
 * @param {number | null} magnification objective power at full resolution
 */
export function formatMagnification(zoom, magnification) {
  return magnification === null ? `${significant(zoom * 100, 2)}\u202f%` : `${significant(zoom * magnification, 2)}×`;
}
