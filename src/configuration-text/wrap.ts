import { characterCount, isSpace } from './python-text.js';
import { reprBytes, reprString, reprValue, type PythonValue } from './python-value.js';

/** Largest width of a line in columns. */
const maxLineWidth = 79;
/** Number of columns by which nested entries are indented. */
const indentStep = 2;

/** A value with its text on one line and the text's width. Both are computed once, because the width is needed at each level of nesting. */
type MeasuredValue = { text: string; width: number } & (
  | { kind: 'list' | 'tuple'; items: MeasuredValue[] }
  | { kind: 'dict'; entries: { key: { text: string; width: number }; value: MeasuredValue }[] }
  | { kind: 'str' | 'bytes'; content: string }
  | { kind: 'other' }
);

/** Position at which a value is written. */
interface Position {
  column: number;
  /** Number of columns to keep free after the value for closing brackets and commas. */
  reserved: number;
  /** Whether the value is the whole value of the option, not nested in another one. */
  isTopLevel: boolean;
}

/**
 * Writes a value over several lines of at most 79 columns, as far as it can be broken. Columns are counted as if the value started in
 * column 0. A line takes as many list entries as fit, or one dictionary entry; long strings are split at white space.
 */
export function wrapValue(value: PythonValue): string {
  const output: string[] = [];
  writeValue(measureValue(value), { column: 0, reserved: 0, isTopLevel: true }, output);
  return output.join('');
}

function measureValue(value: PythonValue): MeasuredValue {
  switch (value.type) {
    case 'list':
    case 'tuple': {
      const items = value.items.map(measureValue);
      const [open, close] = value.type === 'list' ? ['[', ']'] : ['(', items.length === 1 ? ',)' : ')'];
      const width = items.reduce((sum, item) => sum + item.width, 0) + 2 * Math.max(0, items.length - 1) + 1 + close.length;
      return { kind: value.type, items, text: `${open}${items.map((item) => item.text).join(', ')}${close}`, width };
    }
    case 'dict': {
      const entries = value.entries.map(([key, entry]) => ({ key: measureValue(key), value: measureValue(entry) }));
      const width = entries.reduce((sum, entry) => sum + entry.key.width + entry.value.width + 4, entries.length > 0 ? 0 : 2);
      const text = `{${entries.map((entry) => `${entry.key.text}: ${entry.value.text}`).join(', ')}}`;
      return { kind: 'dict', entries, text, width };
    }
    default: {
      const text = reprValue(value);
      const textAndWidth = { text, width: characterCount(text) };
      if (value.type === 'str' || value.type === 'bytes') return { kind: value.type, content: value.value, ...textAndWidth };
      return { kind: 'other', ...textAndWidth };
    }
  }
}

function writeValue(node: MeasuredValue, position: Position, output: string[]): void {
  if (node.width <= maxLineWidth - position.column - position.reserved) {
    output.push(node.text);
    return;
  }
  switch (node.kind) {
    case 'list':
    case 'tuple':
      writeItems(node, position, output);
      break;
    case 'dict':
      writeEntries(node.entries, position, output);
      break;
    case 'str':
      writeString(node, position, output);
      break;
    case 'bytes':
      writeBytes(node, position, output);
      break;
    default:
      output.push(node.text);
  }
}

function writeItems(
  node: Extract<MeasuredValue, { kind: 'list' | 'tuple' }>,
  { column, reserved }: Position,
  output: string[],
): void {
  const close = node.kind === 'list' ? ']' : node.items.length === 1 ? ',)' : ')';
  const innerColumn = column + indentStep;
  const newLine = `,\n${' '.repeat(innerColumn)}`;
  const lastReserved = reserved + close.length;
  output.push(node.kind === 'list' ? '[ ' : '( ');
  let capacity = maxLineWidth - innerColumn + 1;
  let separator = '';
  node.items.forEach((item, index) => {
    const isLast = index === node.items.length - 1;
    const reservedAfter = isLast ? lastReserved : 1;
    const fullCapacity = maxLineWidth - innerColumn + 1 - (isLast ? lastReserved : 0);
    if (isLast) capacity -= lastReserved;
    // An entry takes its own columns plus two for the comma and the space after it.
    const neededColumns = item.width + 2;
    if (capacity < neededColumns) {
      capacity = fullCapacity;
      if (separator !== '') separator = newLine;
    }
    output.push(separator);
    if (capacity >= neededColumns) {
      capacity -= neededColumns;
      separator = ', ';
      output.push(item.text);
    } else {
      separator = newLine;
      writeValue(item, { column: innerColumn, reserved: reservedAfter, isTopLevel: false }, output);
    }
  });
  output.push(close);
}

function writeEntries(
  entries: Extract<MeasuredValue, { kind: 'dict' }>['entries'],
  { column, reserved }: Position,
  output: string[],
): void {
  const innerColumn = column + indentStep;
  output.push('{ ');
  entries.forEach(({ key, value }, index) => {
    const isLast = index === entries.length - 1;
    if (index > 0) output.push(`,\n${' '.repeat(innerColumn)}`);
    output.push(key.text, ': ');
    writeValue(value, { column: innerColumn + key.width + 2, reserved: isLast ? reserved + 1 : 1, isTopLevel: false }, output);
  });
  output.push('}');
}

/**
 * Writes string literals one per line. Python joins adjacent literals, but outside brackets only on one line, so a top-level value gets
 * parentheses.
 */
function writeAdjacentLiterals(literals: readonly string[], { column, isTopLevel }: Position, output: string[]): void {
  const indent = `\n${' '.repeat(isTopLevel ? column + 1 : column)}`;
  output.push(isTopLevel ? '(' : '', literals.join(indent), isTopLevel ? ')' : '');
}

function writeString(node: { content: string; text: string }, position: Position, output: string[]): void {
  const parenthesisColumns = position.isTopLevel ? 1 : 0;
  const capacity = maxLineWidth - position.column - parenthesisColumns;
  const lastCapacity = capacity - position.reserved - parenthesisColumns;
  const literals: string[] = [];
  const lines = splitLines(node.content);
  lines.forEach((line, lineIndex) => {
    const isLastLine = lineIndex === lines.length - 1;
    const literal = reprString(line);
    if (characterCount(literal) <= (isLastLine ? lastCapacity : capacity)) {
      literals.push(literal);
      return;
    }
    let currentText = '';
    const words = splitWords(line);
    words.forEach((word, wordIndex) => {
      const limit = isLastLine && wordIndex === words.length - 1 ? lastCapacity : capacity;
      if (currentText !== '' && characterCount(reprString(currentText + word)) > limit) {
        literals.push(reprString(currentText));
        currentText = word;
      } else {
        currentText += word;
      }
    });
    if (currentText !== '') literals.push(reprString(currentText));
  });
  if (literals.length <= 1) output.push(node.text);
  else writeAdjacentLiterals(literals, position, output);
}

/** Characters that end a line in Python; `\r\n` does too. */
const lineEnds = '\n\v\f\r\u001c\u001d\u001e\u0085\u2028\u2029';

/** Splits a text into lines, each with its line break. */
function splitLines(text: string): string[] {
  const lines: string[] = [];
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (!lineEnds.includes(character) || (character === '\r' && text.charAt(index + 1) === '\n')) continue;
    lines.push(text.slice(start, index + 1));
    start = index + 1;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}

/** Splits a line into words, each with the white space after it. */
function splitWords(line: string): string[] {
  const words: string[] = [];
  let start = 0;
  for (let index = 1; index < line.length; index += 1) {
    if (isSpace(line.charCodeAt(index - 1)) && !isSpace(line.charCodeAt(index))) {
      words.push(line.slice(start, index));
      start = index;
    }
  }
  words.push(line.slice(start));
  return words;
}

function writeBytes(node: { content: string; text: string }, position: Position, output: string[]): void {
  /** Bytes are split only between groups of this size. */
  const groupBytes = 4;
  if (node.content.length <= groupBytes) {
    output.push(node.text);
    return;
  }
  const parenthesisColumns = position.isTopLevel ? 1 : 0;
  const capacity = maxLineWidth - position.column - parenthesisColumns;
  const lastCapacity = capacity - position.reserved - parenthesisColumns;
  const literals: string[] = [];
  let currentText = '';
  for (let start = 0; start < node.content.length; start += groupBytes) {
    const part = node.content.slice(start, start + groupBytes);
    // As in Python's `pprint`, the reserved columns are kept free only if the last group is incomplete.
    const limit = part.length < groupBytes ? lastCapacity : capacity;
    if (currentText !== '' && reprBytes(currentText + part).length > limit) {
      literals.push(reprBytes(currentText));
      currentText = part;
    } else {
      currentText += part;
    }
  }
  literals.push(reprBytes(currentText));
  writeAdjacentLiterals(literals, position, output);
}
