import { interpolate, type InterpolationBudget, type OptionsBySection } from './interpolate.js';
import { createLiteralBudget, type LiteralBudget } from './literal-arithmetic.js';
import { InvalidLiteralError, parseLiteral, type Literal } from './literal.js';
import { defaultSection, optionText, parseConfig, type ConfigEntry, type ConfigOption, type ConfigProblem } from './parse.js';
import type { PythonValue } from './python-value.js';

/** A parsed configuration text with the values of its options. */
export interface EvaluatedConfig {
  entries: readonly ConfigEntry[];
  options: OptionsBySection;
  /** The value of each option without interpolation. Options whose text is a literal only after interpolation are missing. */
  literals: ReadonlyMap<ConfigOption, Literal>;
  /**
   * For options whose text contains `%`: the interpolated value in each section that reads the option. Other options need no
   * interpolation.
   */
  interpolatedValues: ReadonlyMap<ConfigOption, ReadonlyMap<string, PythonValue>>;
  /** The first problem, or `null`. The other members are complete only if it is `null`. */
  problem: ConfigProblem | null;
}

const invalidValueMessage = 'Config values must be valid Python.';
const tooLargeMessage = 'Config values are too large to be checked.';
const interpolationProblem: ConfigProblem = { line: 0, message: 'General error' };

/** Parses a text and the values of its options, without and with interpolation. */
export function evaluateConfig(text: string): EvaluatedConfig {
  const { entries, problem } = parseConfig(text);
  const config: EvaluatedConfig = { entries, options: new Map(), literals: new Map(), interpolatedValues: new Map(), problem };
  return problem === null ? { ...config, ...evaluateEntries(entries, text.length) } : config;
}

function evaluateEntries(entries: readonly ConfigEntry[], textLength: number): Omit<EvaluatedConfig, 'entries'> {
  const options = new Map<string, Map<string, ConfigOption>>();
  for (const entry of entries) {
    if (entry.kind === 'section' && !options.has(entry.name)) options.set(entry.name, new Map());
    else if (entry.kind === 'option') options.get(entry.section)?.set(entry.name, entry);
  }
  const literalBudget = createLiteralBudget();
  // References repeat the texts of other options; this bounds how much text they produce.
  const interpolationBudget: InterpolationBudget = { remaining: 1_000_000 + 4 * textLength };
  const literals = new Map<ConfigOption, Literal>();
  const interpolatedValues = new Map<ConfigOption, Map<string, PythonValue>>();
  let hasFailedInterpolation = false;
  const makeResult = (problem: ConfigProblem | null) => ({ options, literals, interpolatedValues, problem });

  for (const option of entries) {
    if (option.kind !== 'option') continue;
    const text = optionText(option);
    const literal = tryParse(text, literalBudget);
    if (!(literal instanceof InvalidLiteralError)) literals.set(option, literal);
    else if (literal.isTooLarge) return makeResult({ line: option.lines[0]?.lineIndex ?? 0, message: tooLargeMessage });
    if (text.includes('%')) {
      const values = interpolateInSections(option, text, { options, literalBudget, interpolationBudget });
      if (values !== null) {
        interpolatedValues.set(option, values);
        continue;
      }
      if (!(literal instanceof InvalidLiteralError)) hasFailedInterpolation = true;
    }
    if (literal instanceof InvalidLiteralError)
      return makeResult({ line: option.lines[literal.line]?.lineIndex ?? 0, message: invalidValueMessage });
  }
  return makeResult(hasFailedInterpolation ? interpolationProblem : null);
}

/** The interpolated value of an option in every section that reads it; `null` if one of them is not a literal. */
function interpolateInSections(
  option: ConfigOption,
  text: string,
  {
    options,
    literalBudget,
    interpolationBudget,
  }: { options: OptionsBySection; literalBudget: LiteralBudget; interpolationBudget: InterpolationBudget },
): Map<string, PythonValue> | null {
  const values = new Map<string, PythonValue>();
  for (const section of sectionsReading(option, options)) {
    const value = interpolate(text, { options, section, budget: interpolationBudget });
    const literal = value === null ? null : tryParse(value, literalBudget);
    if (literal === null || literal instanceof InvalidLiteralError) return null;
    values.set(section, literal.value);
  }
  return values;
}

/**
 * The sections that read an option: usually only the section that contains it. An option of `DEFAULT` is read by every section
 * without an option of that name, or by `DEFAULT` itself if there is no such section.
 */
function* sectionsReading(option: ConfigOption, options: OptionsBySection): Iterable<string> {
  if (option.section !== defaultSection) {
    yield option.section;
    return;
  }
  let isRead = false;
  for (const [section, ownOptions] of options) {
    if (section === defaultSection || ownOptions.has(option.name)) continue;
    isRead = true;
    yield section;
  }
  if (!isRead) yield defaultSection;
}

function tryParse(text: string, budget: LiteralBudget): Literal | InvalidLiteralError {
  try {
    return parseLiteral(text, budget);
  } catch (error) {
    if (error instanceof InvalidLiteralError) return error;
    throw error;
  }
}
