import { createCallHandler } from '../../core/concurrency/thread-functions.js';
import { formatConfig } from '../../configuration-text/format.js';
import { validateConfig } from '../../configuration-text/validate.js';
import type { ConfigProblem } from '../../configuration-text/parse.js';

/** Maximum length of a formatted text, in characters. Indentation makes deeply nested texts long. */
const maxFormattedLength = 1024 * 1024;

/** Checks a configuration text. */
function validate(text: string): ConfigProblem[] {
  return validateConfig(text);
}

/** Formats a configuration text; returns it unchanged if the result would be too long. */
function format(text: string): string {
  const formattedText = formatConfig(text);
  return formattedText.length > maxFormattedLength ? text : formattedText;
}

const functions = { validate, format };

/** The functions that run in the thread. */
export type TextFunctions = typeof functions;

export default createCallHandler(functions);
