import type { PythonValue } from './python-value.js';

/** Maximum number of bits of an integer that `+` or `*` computes; larger results are refused. */
const maxComputedBits = 33_000n;

/** The remaining budget for parsing all values of one configuration text, so that time and memory are bounded. */
export interface LiteralBudget {
  /** Remaining steps of the parser, about one per token. */
  remainingSteps: number;
  /** Remaining characters and list entries that `+` and `*` may produce. */
  remainingOutput: number;
}

/** A fresh budget for one configuration text. */
export function createLiteralBudget(): LiteralBudget {
  return { remainingSteps: 500_000, remainingOutput: 2_000_000 };
}

type Numeric = Extract<PythonValue, { type: 'bool' | 'int' | 'float' | 'complex' }>;

/** `-value`; `null` if the value is not a number. */
export function negate(value: PythonValue): PythonValue | null {
  switch (value.type) {
    case 'bool':
      return { type: 'int', value: value.value ? -1n : 0n };
    case 'int':
      return { type: 'int', value: -value.value };
    case 'float':
      return { type: 'float', value: -value.value };
    case 'complex':
      return { type: 'complex', real: -value.real, imaginary: -value.imaginary };
    default:
      return null;
  }
}

/** `left + right` by Python's rules; `null` if they cannot be added or the result would be too large. */
export function add(left: PythonValue, right: PythonValue, budget: LiteralBudget): PythonValue | null {
  if ((left.type === 'str' || left.type === 'bytes') && left.type === right.type) {
    return takeFromBudget(budget, left.value.length + right.value.length)
      ? { type: left.type, value: left.value + right.value }
      : null;
  }
  if ((left.type === 'list' || left.type === 'tuple') && left.type === right.type) {
    const length = left.items.length + right.items.length;
    return takeFromBudget(budget, length) ? { type: left.type, items: [...left.items, ...right.items] } : null;
  }
  return isNumeric(left) && isNumeric(right) ? addNumbers(left, right) : null;
}

/** `left * right` by Python's rules; `null` if they cannot be multiplied or the result would be too large. */
export function multiply(left: PythonValue, right: PythonValue, budget: LiteralBudget): PythonValue | null {
  if (isNumeric(left) && isNumeric(right)) return multiplyNumbers(left, right);
  return repeatSequence(left, right, budget) ?? repeatSequence(right, left, budget);
}

function repeatSequence(sequence: PythonValue, times: PythonValue, budget: LiteralBudget): PythonValue | null {
  if (times.type !== 'int' && times.type !== 'bool') return null;
  if (sequence.type !== 'str' && sequence.type !== 'bytes' && sequence.type !== 'list' && sequence.type !== 'tuple') return null;
  const length = 'items' in sequence ? sequence.items.length : sequence.value.length;
  const repetitions = BigInt(times.value);
  const count =
    repetitions < 0n || length === 0 ? 0 : repetitions > BigInt(budget.remainingOutput) ? Infinity : Number(repetitions);
  // The printed size of the entries counts, because each repetition prints them again.
  const size = 'items' in sequence ? sequence.items.reduce((sum, item) => sum + printedSizeOf(item), 0) : length;
  if (!takeFromBudget(budget, count === 0 ? 0 : count * size)) return null;
  if (!('items' in sequence)) return { type: sequence.type, value: sequence.value.repeat(count) };
  return { type: sequence.type, items: Array.from({ length: count }, () => sequence.items).flat() };
}

function printedSizeOf(value: PythonValue): number {
  if ('items' in value) return value.items.reduce((sum, item) => sum + printedSizeOf(item), 1);
  if ('entries' in value) return value.entries.reduce((sum, [key, entry]) => sum + printedSizeOf(key) + printedSizeOf(entry), 1);
  if (value.type === 'str' || value.type === 'bytes') return 1 + value.value.length;
  return value.type === 'int' ? 1 + value.value.toString(16).length : 1;
}

function takeFromBudget(budget: LiteralBudget, amount: number): boolean {
  if (amount > budget.remainingOutput) return false;
  budget.remainingOutput -= amount;
  return true;
}

function isNumeric(value: PythonValue): value is Numeric {
  return value.type === 'bool' || value.type === 'int' || value.type === 'float' || value.type === 'complex';
}

function addNumbers(left: Numeric, right: Numeric): PythonValue | null {
  if (left.type === 'complex' || right.type === 'complex') {
    const [a, b] = [asComplex(left), asComplex(right)];
    return a && b && { type: 'complex', real: a.real + b.real, imaginary: a.imaginary + b.imaginary };
  }
  if (left.type === 'float' || right.type === 'float') return combineFloats(asFloat(left), asFloat(right), (a, b) => a + b);
  return toLimitedInteger(BigInt(left.value) + BigInt(right.value));
}

function multiplyNumbers(left: Numeric, right: Numeric): PythonValue | null {
  if (left.type === 'complex' || right.type === 'complex') {
    const [a, b] = [asComplex(left), asComplex(right)];
    if (a === null || b === null) return null;
    return {
      type: 'complex',
      real: a.real * b.real - a.imaginary * b.imaginary,
      imaginary: a.real * b.imaginary + a.imaginary * b.real,
    };
  }
  if (left.type === 'float' || right.type === 'float') return combineFloats(asFloat(left), asFloat(right), (a, b) => a * b);
  return toLimitedInteger(BigInt(left.value) * BigInt(right.value));
}

function combineFloats(
  left: number | null,
  right: number | null,
  combine: (left: number, right: number) => number,
): PythonValue | null {
  return left === null || right === null ? null : { type: 'float', value: combine(left, right) };
}

/** The number as a float; `null` for an integer that is too large for a float, because Python raises an error. */
function asFloat(value: Exclude<Numeric, { type: 'complex' }>): number | null {
  const number = Number(value.value);
  return value.type !== 'float' && !Number.isFinite(number) ? null : number;
}

function asComplex(value: Numeric): { real: number; imaginary: number } | null {
  if (value.type === 'complex') return value;
  const real = asFloat(value);
  return real === null ? null : { real, imaginary: 0 };
}

function toLimitedInteger(value: bigint): PythonValue | null {
  const limit = 1n << maxComputedBits;
  return value > limit || value < -limit ? null : { type: 'int', value };
}
