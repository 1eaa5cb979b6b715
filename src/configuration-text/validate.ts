import { TextDecoder } from 'node:util';
import { BadParameterError } from '../errors.js';
import { evaluateConfig } from './evaluate.js';
import type { ConfigProblem } from './parse.js';

/** Checks a configuration text. Returns an empty list if it is valid, otherwise a list with the first problem. Never throws. */
export function validateConfig(text: string): ConfigProblem[] {
  const { problem } = evaluateConfig(text);
  return problem === null ? [] : [problem];
}

/**
 * Decodes the bytes of a configuration text. A byte order mark is kept, so that {@link validateConfig} reports it as an error.
 *
 * @throws BadParameterError if the bytes are not UTF-8.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new BadParameterError('The configuration must be UTF-8 text.', { cause });
  }
}
