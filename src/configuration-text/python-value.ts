/**
 * The value of a literal. `bytes` have one character (U+0000 to U+00FF) per byte. `opaque` is a valid literal whose value is not
 * computed: a string with named characters or escaped surrogates, or an integer of more than {@link maxIntegerDigits} digits.
 */
export type PythonValue =
  | { type: 'none' }
  | { type: 'ellipsis' }
  | { type: 'bool'; value: boolean }
  | { type: 'int'; value: bigint }
  | { type: 'float'; value: number }
  | { type: 'complex'; real: number; imaginary: number }
  | { type: 'str' | 'bytes'; value: string }
  | { type: 'list' | 'tuple'; items: PythonValue[] }
  | { type: 'dict'; entries: [PythonValue, PythonValue][] }
  | { type: 'opaque'; as: 'str' | 'int'; source: string };

/** Maximum number of decimal digits of a computed integer. Converting millions of digits takes seconds. */
export const maxIntegerDigits = 100_000;

/** The text that Python's `repr` returns; for an opaque value its source text. */
export function reprValue(value: PythonValue): string {
  switch (value.type) {
    case 'none':
      return 'None';
    case 'ellipsis':
      return 'Ellipsis';
    case 'bool':
      return value.value ? 'True' : 'False';
    case 'int':
      return value.value.toString();
    case 'float':
      return reprFloat(value.value);
    case 'complex':
      return reprComplex(value.real, value.imaginary);
    case 'str':
      return reprString(value.value);
    case 'bytes':
      return reprBytes(value.value);
    case 'list':
      return `[${value.items.map(reprValue).join(', ')}]`;
    case 'tuple':
      return `(${value.items.map(reprValue).join(', ')}${value.items.length === 1 ? ',' : ''})`;
    case 'dict':
      return `{${value.entries.map(([key, entry]) => `${reprValue(key)}: ${reprValue(entry)}`).join(', ')}}`;
    case 'opaque':
      return value.source;
  }
}

/** The shortest digits that read back as the same number, with `.0` for whole numbers, and with an exponent from 1e16 on and below 1e-4. */
function reprFloat(value: number): string {
  const text = reprNumber(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}

function reprNumber(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponentText = '0'] = Math.abs(value).toExponential().split('e');
  const sign = value < 0 ? '-' : '';
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  const digits = mantissa.replace('.', '');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const integral = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  const fraction = digits.slice(exponent + 1);
  return `${sign}${integral}${fraction === '' ? '' : `.${fraction}`}`;
}

function reprComplex(real: number, imaginary: number): string {
  const imaginaryText = reprNumber(imaginary);
  if (Object.is(real, 0)) return `${imaginaryText}j`;
  return `(${reprNumber(real)}${imaginaryText.startsWith('-') ? '' : '+'}${imaginaryText}j)`;
}

const simpleEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

function quoteFor(text: string): '"' | "'" {
  return text.includes("'") && !text.includes('"') ? '"' : "'";
}

/** A string literal, in single quotes unless the text contains `'` and no `"`. Printable Unicode stays, other characters are escaped. */
export function reprString(text: string): string {
  if (/^[ !#-&(-[\]-~]*$/.test(text)) return `'${text}'`;
  const quote = quoteFor(text);
  const body = text.replace(/[\\'\p{C}\p{Z}]/gu, (character) => {
    if (character === ' ') return character;
    if (character === "'") return quote === "'" ? "\\'" : character;
    const code = character.codePointAt(0) ?? 0;
    const hex = code.toString(16);
    const numericEscape =
      code < 0x100 ? `\\x${hex.padStart(2, '0')}` : `\\${code < 0x10000 ? 'u' : 'U'}${hex.padStart(code < 0x10000 ? 4 : 8, '0')}`;
    return simpleEscapes[character] ?? numericEscape;
  });
  return `${quote}${body}${quote}`;
}

/** A bytes literal. The argument has one character per byte. */
export function reprBytes(bytes: string): string {
  const quote = quoteFor(bytes);
  // eslint-disable-next-line no-control-regex -- bytes below 0x20 are escaped
  const body = bytes.replace(/[\\'\u0000-\u001f\u007f-\u00ff]/g, (byte) => {
    if (byte === "'") return quote === "'" ? "\\'" : byte;
    return simpleEscapes[byte] ?? `\\x${byte.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `b${quote}${body}${quote}`;
}

/**
 * A text that is equal for values that are the same dictionary key in Python (`1`, `1.0` and `True` are one key); `null` if the value
 * cannot be a key.
 */
export function dictionaryKey(value: PythonValue): string | null {
  switch (value.type) {
    case 'list':
    case 'dict':
      return null;
    case 'bool':
      return value.value ? 'n1' : 'n0';
    case 'int':
      return `n${value.value}`;
    case 'float':
      return numberKey(value.value);
    case 'complex':
      return value.imaginary === 0 ? numberKey(value.real) : `c${value.real},${value.imaginary}`;
    case 'tuple': {
      const keys = value.items.map(dictionaryKey);
      return keys.includes(null) ? null : `t${JSON.stringify(keys)}`;
    }
    case 'str':
    case 'bytes':
      return `${value.type}${value.value}`;
    default:
      return `o${reprValue(value)}`;
  }
}

function numberKey(value: number): string {
  return Number.isInteger(value) ? `n${BigInt(value)}` : `f${value}`;
}
