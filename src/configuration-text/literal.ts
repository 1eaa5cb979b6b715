import type { Tree, TreeCursor } from '@lezer/common';
import { parser as pythonParser } from '@lezer/python';
import { add, multiply, negate, type LiteralBudget } from './literal-arithmetic.js';
import { readNumber, readString } from './literal-tokens.js';
import { indentOf } from './python-text.js';
import { dictionaryKey, type PythonValue } from './python-value.js';

/** A value that was read from the text of an option. */
export interface Literal {
  value: PythonValue;
  /** Number of lines of the text that belong to the value. Only blank lines and comments follow. */
  lineCount: number;
}

/** Thrown for a text that is not a valid literal. */
export class InvalidLiteralError extends Error {
  /** Zero-based line of the text with the error. */
  readonly line: number;
  /** Whether parsing stopped because the file takes too much work; the text may be valid. */
  readonly isTooLarge: boolean;

  constructor(line: number, options: { isTooLarge?: boolean } = {}) {
    super('not a valid literal');
    this.name = 'InvalidLiteralError';
    this.line = line;
    this.isTooLarge = options.isTooLarge ?? false;
  }
}

// A value is parsed as the right side of an assignment, so that `1, 2` is a tuple and `A = B = 1` is 1.
const assignment = '_ = ';
const strictParser = pythonParser.configure({ strict: true });

/** Python's own limit on nested brackets. */
const maxBracketDepth = 200;
/** Limit on nested operators and brackets together, similar to Python's recursion limit. */
const maxDepth = 500;

/**
 * Parses a Python literal: None, booleans, numbers, strings, bytes, and lists, tuples, sets and dictionaries of these. Only `+` and
 * `*` between literals are evaluated.
 *
 * @throws InvalidLiteralError if the text is not a literal, or is too large or too deeply nested to be parsed in bounded time.
 */
export function parseLiteral(text: string, budget: LiteralBudget): Literal {
  const simpleValue = readSimpleValue(text);
  if (simpleValue !== null) return { value: simpleValue, lineCount: 1 };
  if (text.startsWith('\n')) throw new InvalidLiteralError(countLines(text, indentOf(text)));
  // To Python, a carriage return without a line feed ends a line.
  const code = assignment + text.replaceAll('\r', '\n');
  const parseResult = parseUntilError(replaceTrailingPoints(code), budget);
  const lineAt = (offset: number) => countLines(text, Math.max(0, offset - assignment.length));
  const statement = findAssignment(parseResult.tree);
  if (statement === null) throw new InvalidLiteralError(0);
  const value = hasBrokenContinuation(statement.cursor(), code) ? null : readAssignedValue(statement, code, budget);
  if (value === null) throw new InvalidLiteralError(0);
  if (parseResult.errorAt !== null)
    throw new InvalidLiteralError(lineAt(brokenStatementStart(parseResult.tree, code, parseResult.errorAt)));
  const lineCount = lineAt(statement.to) + 1;
  // An indented line continues the value. If the line is not part of the literal, it is an error and not another option.
  const excessLine = text.split('\n').findIndex((line, index) => index >= lineCount && !/^\s*(?:#|$)/.test(line));
  if (excessLine >= 0) throw new InvalidLiteralError(excessLine);
  return { value, lineCount };
}

/** Reads the simplest words, numbers and strings, which most values are, without the parser. Returns `null` for other texts. */
function readSimpleValue(text: string): PythonValue | null {
  switch (text) {
    case '':
      return { type: 'str', value: '' };
    case 'None':
      return { type: 'none' };
    case 'True':
    case 'False':
      return { type: 'bool', value: text === 'True' };
  }
  if (/^\d{1,15}$/.test(text)) return readNumber(text);
  const quote = text.charAt(0);
  if (
    (quote === '"' || quote === "'") &&
    text.length > 2 &&
    text.indexOf(quote, 1) === text.length - 1 &&
    !/[\\\r\n\0]/.test(text)
  ) {
    return { type: 'str', value: text.slice(1, -1) };
  }
  return null;
}

/**
 * Replaces a decimal point without digits after it (`1.`, `1.e3`) with `_`, because the parser does not accept such numbers. The values
 * are read from the original text, so replacements inside strings do no harm.
 */
function replaceTrailingPoints(code: string): string {
  return code.replace(/\d\.\d?/g, (decimal) => (decimal.length === 3 ? decimal : `${decimal.charAt(0)}_`));
}

const unbracketedNodes = new Set(['AssignStatement', 'BinaryExpression', 'UnaryExpression', 'ContinuedString']);

/** Whether a blank line follows a backslash outside brackets. Python ends the statement at the blank line, but the parser does not. */
function hasBrokenContinuation(cursor: TreeCursor, code: string): boolean {
  if (!/\\\n\s*\n/.test(code) || !unbracketedNodes.has(cursor.name)) return false;
  let end = cursor.from;
  let isBroken = false;
  for (let node = cursor.firstChild(); node && !isBroken; node = cursor.nextSibling()) {
    isBroken =
      code.slice(end, cursor.from).replaceAll('\\\n', '').includes('\n') || hasBrokenContinuation(cursor.node.cursor(), code);
    end = cursor.to;
  }
  return isBroken;
}

function countLines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** The syntax tree of the code; if the code has a syntax error, the tree of the code before the error. */
function parseUntilError(code: string, budget: LiteralBudget): { tree: Tree; errorAt: number | null } {
  const nullOffset = code.indexOf('\0');
  if (nullOffset < 0) {
    const parse = strictParser.startParse(code);
    try {
      return { tree: runParser(parse, budget), errorAt: null };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return { tree: runParser(pythonParser.startParse(code.slice(0, parse.parsedPos)), budget), errorAt: parse.parsedPos };
    }
  }
  return { tree: runParser(pythonParser.startParse(code.slice(0, nullOffset)), budget), errorAt: nullOffset };
}

function runParser(parse: { advance(): Tree | null }, budget: LiteralBudget): Tree {
  for (;;) {
    budget.remainingSteps -= 1;
    if (budget.remainingSteps < 0) throw new InvalidLiteralError(0, { isTooLarge: true });
    const tree = parse.advance();
    if (tree !== null) return tree;
  }
}

function findAssignment(tree: Tree) {
  const first = tree.topNode.firstChild;
  const statement = first?.name === 'StatementGroup' ? first.firstChild : first;
  return statement?.name === 'AssignStatement' ? statement : null;
}

/** Start of the statement with the error. The text before this statement is valid. */
function brokenStatementStart(tree: Tree, code: string, errorAt: number): number {
  const cursor = tree.cursor();
  for (let node = cursor.firstChild(); node; node = cursor.nextSibling()) {
    if (cursor.type.isError || cursor.name === 'Comment') continue;
    // The statement has the error if it is incomplete, or if the error is on its last line. In the tree, only some statements include
    // their line break.
    const end = code.charAt(cursor.to - 1) === '\n' ? cursor.to - 1 : cursor.to;
    if (hasError(cursor) || !code.slice(end, errorAt).replaceAll('\\\n', '').includes('\n')) return cursor.from;
  }
  return errorAt;
}

function hasError(cursor: TreeCursor): boolean {
  const end = cursor.to;
  const inner = cursor.node.cursor();
  do {
    if (inner.from > end) return false;
    if (inner.type.isError) return true;
  } while (inner.next() && inner.from <= end);
  return false;
}

/** The value of the assignment `_ = …`. The text may contain further targets (`A = B = 1`). `null` if the value is not a literal. */
function readAssignedValue(statement: { cursor(): TreeCursor }, code: string, budget: LiteralBudget): PythonValue | null {
  const cursor = statement.cursor();
  const reader = new LiteralReader(code, budget);
  let items: PythonValue[] = [];
  let isTuple = false;
  let canBeTarget = true;
  let isValid = true;
  if (!cursor.firstChild() || !cursor.nextSibling()) return null;
  do {
    if (cursor.name === 'Comment') continue;
    if (cursor.name === 'AssignOp') {
      if (!canBeTarget) return null;
      items = [];
      isTuple = false;
      canBeTarget = true;
      isValid = true;
    } else if (cursor.name === ',') {
      isTuple = true;
    } else {
      canBeTarget = canBeTarget && (cursor.name === 'VariableName' || cursor.name === 'MemberExpression');
      const value = reader.read(cursor, 0, 0);
      if (value === null) isValid = false;
      else items.push(value);
    }
  } while (cursor.nextSibling());
  if (!isValid) return null;
  return isTuple ? { type: 'tuple', items } : (items[0] ?? null);
}

class LiteralReader {
  readonly #code: string;
  readonly #budget: LiteralBudget;

  constructor(code: string, budget: LiteralBudget) {
    this.#code = code;
    this.#budget = budget;
  }

  /** The value of the node at the cursor, which does not move; `null` if the node is not a literal. */
  read(cursor: TreeCursor, depth: number, bracketDepth: number): PythonValue | null {
    if (depth > maxDepth) return null;
    switch (cursor.name) {
      case 'Number':
        return readNumber(this.#text(cursor));
      case 'String':
        return readString(this.#text(cursor));
      case 'None':
        return { type: 'none' };
      case 'Boolean':
        return { type: 'bool', value: this.#text(cursor) === 'True' };
      case 'Ellipsis':
        return { type: 'ellipsis' };
      case 'ContinuedString':
        return this.#readContinuedString(cursor);
      case 'ParenthesizedExpression': {
        const items = this.#readItems(cursor, depth, bracketDepth);
        return items?.[0] ?? null;
      }
      case 'TupleExpression':
      case 'ArrayExpression': {
        const type = cursor.name === 'TupleExpression' ? 'tuple' : 'list';
        const items = this.#readItems(cursor, depth, bracketDepth);
        return items && { type, items };
      }
      case 'DictionaryExpression':
        return this.#readDictionary(cursor, depth, bracketDepth);
      case 'UnaryExpression':
      case 'BinaryExpression':
        return this.#readOperation(cursor, depth, bracketDepth);
      default:
        return null;
    }
  }

  #text(cursor: TreeCursor): string {
    return this.#code.slice(cursor.from, cursor.to);
  }

  /** Values of the child nodes except punctuation; `null` if one of them is not a literal. */
  #readItems(cursor: TreeCursor, depth: number, bracketDepth: number): PythonValue[] | null {
    if (bracketDepth >= maxBracketDepth) return null;
    const items: PythonValue[] = [];
    let isValid = true;
    for (let node = cursor.firstChild(); node; node = cursor.nextSibling()) {
      if (isValid && !'()[]{},:'.includes(cursor.name) && cursor.name !== 'Comment') {
        const value = this.read(cursor, depth + 1, bracketDepth + 1);
        if (value === null) isValid = false;
        else items.push(value);
      }
    }
    cursor.parent();
    return isValid ? items : null;
  }

  #readDictionary(cursor: TreeCursor, depth: number, bracketDepth: number): PythonValue | null {
    const items = this.#readItems(cursor, depth, bracketDepth);
    if (items === null) return null;
    const entries = new Map<string, [PythonValue, PythonValue]>();
    for (let index = 0; index < items.length; index += 2) {
      const key = items[index];
      const value = items[index + 1];
      const name = key && dictionaryKey(key);
      if (key === undefined || value === undefined || name == null) return null;
      // As in Python, a repeated key keeps its first position and spelling and gets its last value.
      const previousEntry = entries.get(name);
      if (previousEntry === undefined) entries.set(name, [key, value]);
      else previousEntry[1] = value;
    }
    return { type: 'dict', entries: [...entries.values()] };
  }

  #readContinuedString(cursor: TreeCursor): PythonValue | null {
    let type: 'str' | 'bytes' | null = null;
    let isValid = true;
    let isOpaque = false;
    const parts: string[] = [];
    for (let node = cursor.firstChild(); node; node = cursor.nextSibling()) {
      if (cursor.name === 'Comment') continue;
      const part = cursor.name === 'String' ? readString(this.#text(cursor)) : null;
      const partType = part?.type === 'opaque' ? 'str' : part?.type;
      if (part === null || (partType !== 'str' && partType !== 'bytes') || (type !== null && type !== partType)) {
        isValid = false;
        break;
      }
      type = partType;
      if (part.type === 'opaque') isOpaque = true;
      else if ('value' in part) parts.push(String(part.value));
    }
    cursor.parent();
    if (!isValid || type === null) return null;
    return isOpaque ? { type: 'opaque', as: 'str', source: this.#text(cursor) } : { type, value: parts.join('') };
  }

  #readOperation(cursor: TreeCursor, depth: number, bracketDepth: number): PythonValue | null {
    const operands: PythonValue[] = [];
    let operator: string | null = null;
    let isValid = true;
    const isUnary = cursor.name === 'UnaryExpression';
    for (let node = cursor.firstChild(); node; node = cursor.nextSibling()) {
      if (!isValid || cursor.name === 'Comment') continue;
      if (cursor.name === 'ArithOp') {
        operator = this.#text(cursor);
        continue;
      }
      const value = this.read(cursor, depth + 1, bracketDepth);
      if (value === null) isValid = false;
      else operands.push(value);
    }
    cursor.parent();
    const [left, right] = operands;
    if (!isValid || left === undefined) return null;
    if (isUnary) return operator === '-' ? negate(left) : null;
    if (right === undefined) return null;
    if (operator === '+') return add(left, right, this.#budget);
    return operator === '*' ? multiply(left, right, this.#budget) : null;
  }
}
