import { defaultSection, optionText, type ConfigOption } from './parse.js';

/** How deep references may nest. */
const maxReferenceDepth = 10;

/** What interpolating the values of one text may still cost, in steps and characters. */
export interface InterpolationBudget {
  remaining: number;
}

/** Options by section and name. */
export type OptionsBySection = ReadonlyMap<string, ReadonlyMap<string, ConfigOption>>;

/** The option that a name means in a section: its own, else the one of `DEFAULT`. */
export function findOption(options: OptionsBySection, section: string, name: string): ConfigOption | undefined {
  return options.get(section)?.get(name) ?? options.get(defaultSection)?.get(name);
}

/** `%%`, `%(name)s`, or a lone `%`. */
const reference = /%(?:%|\(([^)]+)\)s)?/g;

/** Names that a value refers to by `%(name)s`. The value was interpolated before. */
export function referencedNames(text: string): string[] {
  return [...text.matchAll(reference)].flatMap((match) => (match[1] === undefined ? [] : [match[1]]));
}

/**
 * The value of an option as read in a section: `%%` is `%`, `%(name)s` the text of another option. `null` when it cannot be made: an
 * unknown name, a lone `%`, references too deep or in a circle, or more text than the budget allows.
 */
export function interpolate(
  text: string,
  context: { options: OptionsBySection; section: string; budget: InterpolationBudget },
): string | null {
  const parts: string[] = [];
  return expand(text, context, 1, parts) ? parts.join('') : null;
}

function expand(
  text: string,
  context: { options: OptionsBySection; section: string; budget: InterpolationBudget },
  depth: number,
  parts: string[],
): boolean {
  if (depth > maxReferenceDepth) return false;
  const { budget } = context;
  let position = 0;
  for (const match of text.matchAll(reference)) {
    const [found, name] = match;
    if (found === '%') return false;
    budget.remaining -= 1 + match.index - position;
    if (budget.remaining < 0) return false;
    parts.push(text.slice(position, match.index));
    position = match.index + found.length;
    if (name === undefined) {
      parts.push('%');
      continue;
    }
    const option = findOption(context.options, context.section, name);
    if (option === undefined) return false;
    const value = optionText(option);
    if (value.includes('%')) {
      if (!expand(value, context, depth + 1, parts)) return false;
      continue;
    }
    budget.remaining -= value.length;
    if (budget.remaining < 0) return false;
    parts.push(value);
  }
  budget.remaining -= text.length - position;
  parts.push(text.slice(position));
  return budget.remaining >= 0;
}
