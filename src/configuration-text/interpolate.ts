import { defaultSection, optionText, type ConfigOption } from './parse.js';

/** Maximum nesting of references. A reference can lead to an option whose text contains references too. */
const maxReferenceDepth = 10;

/** The remaining budget for all interpolations in one configuration text. Each reference and each character costs 1. */
export interface InterpolationBudget {
  remaining: number;
}

/** Options by section and name. */
export type OptionsBySection = ReadonlyMap<string, ReadonlyMap<string, ConfigOption>>;

/** The option that a name refers to in a section. If the section has no option of this name, it is the option of `DEFAULT`. */
export function findOption(options: OptionsBySection, section: string, name: string): ConfigOption | undefined {
  return options.get(section)?.get(name) ?? options.get(defaultSection)?.get(name);
}

/** Matches `%%`, `%(name)s` or a single `%`. */
const referencePattern = /%(?:%|\(([^)]+)\)s)?/g;

/** The names in the references `%(name)s` of a text. The text must be one that can be interpolated. */
export function referencedNames(text: string): string[] {
  return [...text.matchAll(referencePattern)].flatMap((match) => (match[1] === undefined ? [] : [match[1]]));
}

/**
 * Interpolates the text of an option for a section: `%%` becomes `%`, and `%(name)s` the interpolated text of that option. Returns `null`
 * for an unknown name, a single `%`, references that are too deep or circular, and more text than the budget allows.
 */
export function interpolate(
  text: string,
  context: { options: OptionsBySection; section: string; budget: InterpolationBudget },
): string | null {
  const output: string[] = [];
  return appendInterpolated(text, context, 1, output) ? output.join('') : null;
}

/** Appends the interpolated text to `output`. @returns false if it cannot be interpolated. */
function appendInterpolated(
  text: string,
  context: { options: OptionsBySection; section: string; budget: InterpolationBudget },
  depth: number,
  output: string[],
): boolean {
  if (depth > maxReferenceDepth) return false;
  const { budget } = context;
  let position = 0;
  for (const match of text.matchAll(referencePattern)) {
    const [token, name] = match;
    if (token === '%') return false;
    budget.remaining -= 1 + match.index - position;
    if (budget.remaining < 0) return false;
    output.push(text.slice(position, match.index));
    position = match.index + token.length;
    if (name === undefined) {
      output.push('%');
      continue;
    }
    const option = findOption(context.options, context.section, name);
    if (option === undefined) return false;
    const value = optionText(option);
    if (value.includes('%')) {
      if (!appendInterpolated(value, context, depth + 1, output)) return false;
      continue;
    }
    budget.remaining -= value.length;
    if (budget.remaining < 0) return false;
    output.push(value);
  }
  budget.remaining -= text.length - position;
  output.push(text.slice(position));
  return budget.remaining >= 0;
}
