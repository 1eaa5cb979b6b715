import { evaluateConfig, type EvaluatedConfig } from './evaluate.js';
import { findOption, referencedNames } from './interpolate.js';
import { createLiteralBudget } from './literal-arithmetic.js';
import { InvalidLiteralError, parseLiteral, type Literal } from './literal.js';
import { optionText, type ConfigComment, type ConfigOption } from './parse.js';
import { characterCount } from './python-text.js';
import { reprValue, type PythonValue } from './python-value.js';
import { wrapValue } from './wrap.js';

/** From this many columns on, `key = value` is written over several lines. */
const wrapFrom = 79;

/**
 * A configuration text in its normal form: `key = value`, values as Python prints them, long ones wrapped, comments kept, one blank line
 * behind each section. Formatting again changes nothing, and every value stays what it was. A text that is not valid, or that has no normal
 * form with these properties, is returned unchanged.
 */
export function formatConfig(text: string): string {
  const config = evaluateConfig(text);
  const first = formatEvaluated(config);
  if (first === null) return text;
  // The formatted text is valid and means the same; whether it is also stable is seen by formatting it once more.
  const again = render(first.config, new Set());
  if (again === first.text) return first.text;
  return formatEvaluated(first.config)?.text === first.text ? first.text : text;
}

function formatEvaluated(config: EvaluatedConfig): { text: string; config: EvaluatedConfig } | null {
  if (config.problem !== null) return null;
  for (const entry of config.entries) if (entry.kind === 'option' && !config.literals.has(entry)) return null;
  // Other quotes may spoil values that are put together from others; those keep their source text.
  for (const kept of [() => new Set<ConfigOption>(), () => interpolatedOptions(config)]) {
    const text = render(config, kept());
    const formatted = evaluateConfig(text);
    if (isSameMeaning(config, formatted)) return { text, config: formatted };
  }
  return null;
}

/** Options that hold a `%` or that another one refers to. */
function interpolatedOptions(config: EvaluatedConfig): Set<ConfigOption> {
  const found = new Set<ConfigOption>();
  for (const [option, values] of config.interpolated) {
    found.add(option);
    for (const name of new Set(referencedNames(optionText(option)))) {
      for (const section of values.keys()) {
        const referenced = findOption(config.options, section, name);
        if (referenced !== undefined) found.add(referenced);
      }
    }
  }
  return found;
}

function isSameMeaning(before: EvaluatedConfig, after: EvaluatedConfig): boolean {
  if (after.problem !== null) return false;
  const left = before.entries.filter((entry) => entry.kind !== 'comment');
  const right = after.entries.filter((entry) => entry.kind !== 'comment');
  if (left.length !== right.length || before.entries.length !== after.entries.length) return false;
  return left.every((entry, index) => {
    const other = right[index];
    if (other === undefined || entry.kind !== other.kind || entry.name !== other.name) return false;
    return entry.kind === 'section' || other.kind === 'section' || isSameValue(entry, before, other, after);
  });
}

function isSameValue(option: ConfigOption, before: EvaluatedConfig, other: ConfigOption, after: EvaluatedConfig): boolean {
  const [own, others] = [before.interpolated.get(option), after.interpolated.get(other)];
  if (own?.size !== others?.size) return false;
  for (const [section, value] of own ?? []) {
    const counterpart = others?.get(section);
    if (counterpart === undefined || !isEqual(value, counterpart)) return false;
  }
  const [literal, formatted] = [before.literals.get(option), after.literals.get(other)];
  return own !== undefined || (literal !== undefined && formatted !== undefined && isEqual(literal.value, formatted.value));
}

function isEqual(left: PythonValue, right: PythonValue): boolean {
  return left.type === right.type && reprValue(left) === reprValue(right);
}

/** The normal form; options in `kept` keep the text of their values. */
function render(config: EvaluatedConfig, kept: ReadonlySet<ConfigOption>): string {
  const output: string[] = [];
  // Comments inside an unfinished value are moved before its option, the others stay behind what they follow.
  const hoisted = new Map<ConfigOption, ConfigComment[]>();
  for (const entry of config.entries) {
    if (entry.kind !== 'comment' || entry.within === null || !isInsideValue(entry.within, config)) continue;
    const comments = hoisted.get(entry.within.option);
    if (comments === undefined) hoisted.set(entry.within.option, [entry]);
    else comments.push(entry);
  }
  let isInSection = false;
  for (const entry of config.entries) {
    if (entry.kind === 'section') {
      output.push(isInSection ? '\n' : '', `[${entry.name}]\n`);
      isInSection = true;
    } else if (entry.kind === 'option') {
      for (const comment of hoisted.get(entry) ?? []) output.push(comment.text);
      output.push(renderOption(entry, config.literals.get(entry), kept.has(entry)));
    } else if (entry.within === null || !isInsideValue(entry.within, config)) {
      // The last line may lack its end, without which formatting twice would not be stable.
      output.push(entry.text, isInSection && !entry.text.endsWith('\n') ? '\n' : '');
    }
  }
  if (isInSection) output.push('\n');
  return output.join('');
}

function isInsideValue({ option, lineCount }: NonNullable<ConfigComment['within']>, config: EvaluatedConfig): boolean {
  return lineCount < (config.literals.get(option)?.lineCount ?? 0);
}

function renderOption(option: ConfigOption, literal: Literal | undefined, isKept: boolean): string {
  const source = optionText(option);
  if (isKept || literal === undefined || !hasStableRepr(literal.value)) return renderSource(option);
  const repr = reprValue(literal.value);
  // A % from an escape (`"\x25"`), or one less by repetition, would be interpolated in another way.
  if (countPercents(repr) !== countPercents(source)) return renderSource(option);
  const prefix = `${option.name} = `;
  if (characterCount(prefix) + characterCount(repr) < wrapFrom) return `${prefix}${repr}\n`;
  return `${prefix}${wrapValue(literal.value)}\n`;
}

/** The option with its value as it stands, but for white space at the ends of its lines. */
function renderSource(option: ConfigOption): string {
  let last = option.lines.length;
  while (last > 1 && option.lines[last - 1]?.text === '') last -= 1;
  const lines = option.lines
    .slice(0, last)
    .map((line, index) => (index === 0 ? `${option.name} = ${line.text}` : `${line.indent}${line.text}`));
  return `${lines.join('\n')}\n`;
}

function countPercents(text: string): number {
  let count = 0;
  for (let at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 1)) count += 1;
  return count;
}

/** Whether the printed value is itself a literal of the same value: `inf`, `Ellipsis` and `(1-2j)` are not. */
function hasStableRepr(value: PythonValue): boolean {
  switch (value.type) {
    case 'ellipsis':
    case 'opaque':
      return false;
    case 'float':
      return Number.isFinite(value.value);
    case 'complex':
      return isReadBack(value);
    case 'list':
    case 'tuple':
      return value.items.every(hasStableRepr);
    case 'dict':
      return value.entries.every(([key, entry]) => hasStableRepr(key) && hasStableRepr(entry));
    default:
      return true;
  }
}

function isReadBack(value: PythonValue): boolean {
  try {
    return isEqual(parseLiteral(reprValue(value), createLiteralBudget()).value, value);
  } catch (error) {
    if (error instanceof InvalidLiteralError) return false;
    throw error;
  }
}
