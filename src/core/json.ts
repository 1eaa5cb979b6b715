import { BadParameterError } from '../errors.js';

/** Parses JSON, with the messages existing clients know. @throws BadParameterError */
export function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch (cause) {
    // Outside of strings these words are what other JSON writers emit for numbers that JSON cannot hold.
    const constant = /(?<![\w.])(NaN|-?Infinity)(?![\w.])/.exec(content.replace(/"(?:[^"\\]|\\.)*"/g, '""'));
    if (constant) throw new BadParameterError(`Error: "${constant[1]}" is not valid JSON.`, { cause });
    const extra = encodingHint(content) ?? (cause as Error).message;
    throw new BadParameterError('Invalid JSON passed in request body.', { cause, details: { extra } });
  }
}

/** What is wrong with the encoding of a text that is no JSON, where that is what is wrong: such characters are not seen in a message. */
function encodingHint(content: string): string | null {
  if (content.startsWith('\ufeff')) return 'it begins with a byte order mark; send UTF-8 without one';
  return content.slice(0, 2).includes('\0') ? 'it looks like UTF-16 or UTF-32; send UTF-8' : null;
}
