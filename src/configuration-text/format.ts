import { evaluateConfig, type EvaluatedConfig } from './evaluate.js';
import { findOption, referencedNames } from './interpolate.js';
import { createLiteralBudget } from './literal-arithmetic.js';
import { InvalidLiteralError, parseLiteral, type Literal } from './literal.js';
import { optionText, type ConfigComment, type ConfigOption } from './parse.js';
import { characterCount } from './python-text.js';
import { reprValue, type PythonValue } from './python-value.js';
import { wrapValue } from './wrap.js';

/** An option whose `key = value` takes at least this many columns is written over several lines. */
const wrapFromColumns = 79;

/**
 * Formats a configuration text. Options are written as `key = value`, with values as Python's `repr` prints them. Long values are wrapped,
 * comments are kept, and a blank line follows each section. Formatting keeps every value, and formatting the result again changes nothing.
 * A text that is invalid, or for which this cannot be achieved, is returned unchanged.
 */
export function formatConfig(text: string): string {
  const config = evaluateConfig(text);
  const formatted = formatEvaluated(config);
  if (formatted === null) return text;
  // The formatted text has the same values. Formatting it once more shows whether it is stable.
  const textFormattedAgain = renderConfig(formatted.config, new Set());
  if (textFormattedAgain === formatted.text) return formatted.text;
  return formatEvaluated(formatted.config)?.text === formatted.text ? formatted.text : text;
}

function formatEvaluated(config: EvaluatedConfig): { text: string; config: EvaluatedConfig } | null {
  if (config.problem !== null) return null;
  for (const entry of config.entries) if (entry.kind === 'option' && !config.literals.has(entry)) return null;
  // `repr` may change quotes, which can break values that refer to other options. Then the second try keeps the source text of these options.
  for (const findUntouchedOptions of [() => new Set<ConfigOption>(), () => findInterpolatedOptions(config)]) {
    const text = renderConfig(config, findUntouchedOptions());
    const formatted = evaluateConfig(text);
    if (hasSameMeaning(config, formatted)) return { text, config: formatted };
  }
  return null;
}

/** Options that contain a `%`, and options to which these refer. */
function findInterpolatedOptions(config: EvaluatedConfig): Set<ConfigOption> {
  const options = new Set<ConfigOption>();
  for (const [option, values] of config.interpolatedValues) {
    options.add(option);
    for (const name of new Set(referencedNames(optionText(option)))) {
      for (const section of values.keys()) {
        const referencedOption = findOption(config.options, section, name);
        if (referencedOption !== undefined) options.add(referencedOption);
      }
    }
  }
  return options;
}

function hasSameMeaning(before: EvaluatedConfig, after: EvaluatedConfig): boolean {
  if (after.problem !== null) return false;
  const entriesBefore = before.entries.filter((entry) => entry.kind !== 'comment');
  const entriesAfter = after.entries.filter((entry) => entry.kind !== 'comment');
  if (entriesBefore.length !== entriesAfter.length || before.entries.length !== after.entries.length) return false;
  return entriesBefore.every((entryBefore, index) => {
    const entryAfter = entriesAfter[index];
    if (entryAfter === undefined || entryBefore.kind !== entryAfter.kind || entryBefore.name !== entryAfter.name) return false;
    return (
      entryBefore.kind === 'section' || entryAfter.kind === 'section' || hasSameValue(entryBefore, before, entryAfter, after)
    );
  });
}

function hasSameValue(
  optionBefore: ConfigOption,
  before: EvaluatedConfig,
  optionAfter: ConfigOption,
  after: EvaluatedConfig,
): boolean {
  const [valuesBefore, valuesAfter] = [before.interpolatedValues.get(optionBefore), after.interpolatedValues.get(optionAfter)];
  if (valuesBefore?.size !== valuesAfter?.size) return false;
  for (const [section, valueBefore] of valuesBefore ?? []) {
    const valueAfter = valuesAfter?.get(section);
    if (valueAfter === undefined || !isEqual(valueBefore, valueAfter)) return false;
  }
  const [literalBefore, literalAfter] = [before.literals.get(optionBefore), after.literals.get(optionAfter)];
  if (valuesBefore !== undefined) return true;
  return literalBefore !== undefined && literalAfter !== undefined && isEqual(literalBefore.value, literalAfter.value);
}

function isEqual(left: PythonValue, right: PythonValue): boolean {
  return left.type === right.type && reprValue(left) === reprValue(right);
}

/** The formatted text. Options in `untouchedOptions` keep the source text of their values. */
function renderConfig(config: EvaluatedConfig, untouchedOptions: ReadonlySet<ConfigOption>): string {
  const output: string[] = [];
  // A comment inside the lines of a value is moved before the option. Other comments stay after the entry that they follow.
  const commentsByOption = new Map<ConfigOption, ConfigComment[]>();
  for (const entry of config.entries) {
    if (entry.kind !== 'comment' || entry.within === null || !isInsideValue(entry.within, config)) continue;
    const comments = commentsByOption.get(entry.within.option);
    if (comments === undefined) commentsByOption.set(entry.within.option, [entry]);
    else comments.push(entry);
  }
  let isInSection = false;
  for (const entry of config.entries) {
    if (entry.kind === 'section') {
      output.push(isInSection ? '\n' : '', `[${entry.name}]\n`);
      isInSection = true;
    } else if (entry.kind === 'option') {
      for (const comment of commentsByOption.get(entry) ?? []) output.push(comment.text);
      output.push(renderOption(entry, config.literals.get(entry), untouchedOptions.has(entry)));
    } else if (entry.within === null || !isInsideValue(entry.within, config)) {
      // The last line may lack a line break, which is added because otherwise formatting would not be stable.
      output.push(entry.text, isInSection && !entry.text.endsWith('\n') ? '\n' : '');
    }
  }
  if (isInSection) output.push('\n');
  return output.join('');
}

function isInsideValue({ option, lineCount }: NonNullable<ConfigComment['within']>, config: EvaluatedConfig): boolean {
  return lineCount < (config.literals.get(option)?.lineCount ?? 0);
}

function renderOption(option: ConfigOption, literal: Literal | undefined, keepsSource: boolean): string {
  const source = optionText(option);
  if (keepsSource || literal === undefined || !hasStableRepr(literal.value)) return renderSource(option);
  const repr = reprValue(literal.value);
  // `repr` may add a `%` (from the escape `"\x25"`) or drop one (from a repetition), which would change the interpolation.
  if (countPercents(repr) !== countPercents(source)) return renderSource(option);
  const prefix = `${option.name} = `;
  if (characterCount(prefix) + characterCount(repr) < wrapFromColumns) return `${prefix}${repr}\n`;
  return `${prefix}${wrapValue(literal.value)}\n`;
}

/** The option with the source text of its value, without white space at the ends of lines. */
function renderSource(option: ConfigOption): string {
  let lineCount = option.lines.length;
  while (lineCount > 1 && option.lines[lineCount - 1]?.text === '') lineCount -= 1;
  const lines = option.lines
    .slice(0, lineCount)
    .map((line, index) => (index === 0 ? `${option.name} = ${line.text}` : `${line.indent}${line.text}`));
  return `${lines.join('\n')}\n`;
}

function countPercents(text: string): number {
  let count = 0;
  for (let at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 1)) count += 1;
  return count;
}

/** Whether the `repr` of a value is a literal of the same value. The `repr` of `inf`, `Ellipsis` and `(1-2j)` is not. */
function hasStableRepr(value: PythonValue): boolean {
  switch (value.type) {
    case 'ellipsis':
    case 'opaque':
      return false;
    case 'float':
      return Number.isFinite(value.value);
    case 'complex':
      return reprParsesBack(value);
    case 'list':
    case 'tuple':
      return value.items.every(hasStableRepr);
    case 'dict':
      return value.entries.every(([key, entry]) => hasStableRepr(key) && hasStableRepr(entry));
    default:
      return true;
  }
}

function reprParsesBack(value: PythonValue): boolean {
  try {
    return isEqual(parseLiteral(reprValue(value), createLiteralBudget()).value, value);
  } catch (error) {
    if (error instanceof InvalidLiteralError) return false;
    throw error;
  }
}
