/** The characters that Python's `str.strip` removes. Unlike in JavaScript, U+001C to U+001F and U+0085 are among them, and the byte order mark is not. */
const spaceCodes = new Set(
  Array.from('\t\n\v\f\r\u001c\u001d\u001e\u001f \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000', (space) =>
    space.charCodeAt(0),
  ),
);

/** Whether a UTF-16 code unit is white space in Python. */
export function isSpace(code: number): boolean {
  return spaceCodes.has(code) || (code >= 0x2000 && code <= 0x200a);
}

/** Number of leading characters that are white space. */
export function indentOf(text: string): number {
  let start = 0;
  while (start < text.length && isSpace(text.charCodeAt(start))) start += 1;
  return start;
}

/** The text without trailing white space. */
export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

/** The text without white space at its ends. */
export function strip(text: string): string {
  const trimmed = stripEnd(text);
  return trimmed.slice(indentOf(trimmed));
}

/** Length in characters (code points), as Python counts. */
export function characterCount(text: string): number {
  let count = text.length;
  for (let index = 0; index + 1 < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0xd800 || code > 0xdbff) continue;
    const next = text.charCodeAt(index + 1);
    if (next >= 0xdc00 && next <= 0xdfff) {
      count -= 1;
      index += 1;
    }
  }
  return count;
}
