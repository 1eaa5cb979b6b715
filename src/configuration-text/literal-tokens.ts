import { maxIntegerDigits, type PythonValue } from './python-value.js';

const integerBases: Readonly<Record<string, { digits: RegExp; bitsPerDigit: number }>> = {
  b: { digits: /^[01]+$/, bitsPerDigit: 1 },
  o: { digits: /^[0-7]+$/, bitsPerDigit: 3 },
  x: { digits: /^[\da-f]+$/, bitsPerDigit: 4 },
};

/** The value of a number token; `null` if it is not a valid Python number, as in `017`, `1__0` and `0b2`. */
export function readNumber(token: string): PythonValue | null {
  // An underscore is allowed only between two digits, or between the prefix of the base and a digit. In a hexadecimal number, `e` is a digit.
  const isHexadecimal = token.startsWith('0x') || token.startsWith('0X');
  if (/__|_$|_[.ej+-]|[.e+-]_/i.test(isHexadecimal ? token.replace(/[ej]/gi, 'f') : token)) return null;
  const text = token.replaceAll('_', '').toLowerCase();
  const base = text.startsWith('0') ? integerBases[text.charAt(1)] : undefined;
  if (base !== undefined) {
    const digits = text.slice(2);
    if (!base.digits.test(digits)) return null;
    if (digits.length * base.bitsPerDigit > maxIntegerDigits * 3) return { type: 'opaque', as: 'int', source: token };
    return { type: 'int', value: BigInt(text) };
  }
  if (/^\d+$/.test(text)) {
    if (text.startsWith('0') && /[1-9]/.test(text)) return null;
    if (text.length > maxIntegerDigits) return { type: 'opaque', as: 'int', source: token };
    return { type: 'int', value: BigInt(text) };
  }
  const isImaginary = text.endsWith('j');
  const numberText = isImaginary ? text.slice(0, -1) : text;
  if (!/^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/.test(numberText)) return null;
  return isImaginary ? { type: 'complex', real: 0, imaginary: Number(numberText) } : { type: 'float', value: Number(numberText) };
}

const characterEscapes: Readonly<Record<string, string>> = {
  '\n': '',
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The value of a string token with its prefix and quotes; `null` if it is not a valid Python string. */
export function readString(token: string): PythonValue | null {
  const opening = /^(?:|[rub]|br|rb)(?:'''|"""|'|")/i.exec(token)?.[0];
  if (opening === undefined) return null;
  const prefix = /^[a-z]*/i.exec(opening)![0].toLowerCase();
  const quote = opening.slice(prefix.length);
  if (token.length < opening.length + quote.length || !token.endsWith(quote)) return null;
  const body = token.slice(opening.length, token.length - quote.length);
  const isBytes = prefix.includes('b');
  // eslint-disable-next-line no-control-regex -- a bytes literal holds ASCII characters only
  if (isBytes && !/^[\u0000-\u007f]*$/.test(body)) return null;
  if (!body.includes('\\')) {
    if (quote.length === 1 && body.includes('\n')) return null;
    return { type: isBytes ? 'bytes' : 'str', value: body };
  }
  const decodedBody = decodeEscapes(body, { isBytes, isRaw: prefix.includes('r'), isLong: quote.length === 3 });
  if (decodedBody === null) return null;
  return decodedBody.isOpaque
    ? { type: 'opaque', as: 'str', source: token }
    : { type: isBytes ? 'bytes' : 'str', value: decodedBody.text };
}

function decodeEscapes(
  body: string,
  { isBytes, isRaw, isLong }: { isBytes: boolean; isRaw: boolean; isLong: boolean },
): { text: string; isOpaque: boolean } | null {
  let text = '';
  let isOpaque = false;
  let position = 0;
  while (position < body.length) {
    const backslash = body.indexOf('\\', position);
    const plainText = body.slice(position, backslash < 0 ? undefined : backslash);
    if (!isLong && plainText.includes('\n')) return null;
    text += plainText;
    if (backslash < 0) break;
    const escapeCharacter = body.charAt(backslash + 1);
    // The backslash escapes the closing quote, so the literal does not end.
    if (escapeCharacter === '') return null;
    position = backslash + 2;
    if (isRaw) {
      text += `\\${escapeCharacter}`;
      continue;
    }
    const replacement = characterEscapes[escapeCharacter];
    if (replacement !== undefined) {
      text += replacement;
      continue;
    }
    const afterBackslash = body.slice(backslash + 1, backslash + 10);
    const octal = /^[0-7]{1,3}/.exec(afterBackslash)?.[0];
    if (octal !== undefined) {
      const code = parseInt(octal, 8);
      text += String.fromCharCode(isBytes ? code & 0xff : code);
      position = backslash + 1 + octal.length;
      continue;
    }
    const hexLength = escapeCharacter === 'x' ? 2 : isBytes ? 0 : escapeCharacter === 'u' ? 4 : escapeCharacter === 'U' ? 8 : 0;
    if (hexLength > 0) {
      const hex = afterBackslash.slice(1, 1 + hexLength);
      const code = hex.length === hexLength && /^[\da-f]+$/i.test(hex) ? parseInt(hex, 16) : Infinity;
      if (code > 0x10ffff) return null;
      // Python keeps two escaped surrogates as two characters, but in JavaScript they would be one.
      if (code >= 0xd800 && code <= 0xdfff) isOpaque = true;
      text += String.fromCodePoint(code);
      position = backslash + 2 + hexLength;
      continue;
    }
    if (escapeCharacter === 'N' && !isBytes) {
      const end = body.indexOf('}', position);
      if (end < 0 || !/^\{[A-Z\d][A-Z\d -]*$/i.test(body.slice(position, Math.min(end, position + 200)))) return null;
      isOpaque = true;
      position = end + 1;
      continue;
    }
    text += `\\${escapeCharacter}`;
  }
  return { text, isOpaque };
}
