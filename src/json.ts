import { BadParameterError } from './errors.js';

/** Parses JSON, with the messages existing clients know. @throws BadParameterError */
export function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    // Outside of strings these words are what other JSON writers emit for numbers that JSON cannot hold.
    const constant = /(?<![\w.])(NaN|-?Infinity)(?![\w.])/.exec(content.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
    if (constant) throw new BadParameterError(`Error: "${constant[1]}" is not valid JSON.`, { cause });
    throw new BadParameterError('Invalid JSON passed in request body.', { cause, details: { extra: (cause as Error).message } });
  }
}
