import { threadFunctions } from '../../core/concurrency/thread-functions.js';
import { formatConfig } from '../../configuration-text/format.js';
import { validateConfig } from '../../configuration-text/validate.js';
import type { ConfigProblem } from '../../configuration-text/parse.js';

/** Longest normal form, in characters: deep nesting is mostly indentation. */
const maxFormattedLength = 1024 * 1024;

/** What is wrong with a configuration text. */
function validate(text: string): ConfigProblem[] {
  return validateConfig(text);
}

/** The normal form of a configuration text, or the text where it has none of a bearable length. */
function format(text: string): string {
  const formatted = formatConfig(text);
  return formatted.length > maxFormattedLength ? text : formatted;
}

const functions = { validate, format };

/** What threads for configuration texts do. */
export type TextFunctions = typeof functions;

export default threadFunctions(functions);
