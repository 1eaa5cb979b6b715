import { LargeImageError } from '../../../errors.js';

/** A media type that a client accepts. */
export interface AcceptedType {
  /** The type in lower case, such as `image/jpeg`. For multipart responses, it is the type of the parts. */
  type: string;
  /** Whether the type is requested for the parts of `multipart/related`. */
  isMultipart: boolean;
  /** The parameter `transfer-syntax`; `null` if there is none. */
  syntax: string | null;
  /** Weight of the type, above 0 and at most 1. */
  quality: number;
}

/** Maximum length of the header in characters, and maximum number of types in it. */
const maxLength = 8192;
const maxTypes = 100;

/** Splits a text at each separator outside quotes. */
function splitOutsideQuotes(text: string, separator: string): string[] {
  const parts: string[] = [];
  let [start, isQuoted] = [0, false];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && isQuoted) i += 1;
    else if (text[i] === '"') isQuoted = !isQuoted;
    else if (text[i] === separator && !isQuoted) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...parts, text.slice(start)].map((part) => part.trim());
}

function unquote(text: string): string {
  return text.startsWith('"') && text.endsWith('"') && text.length >= 2 ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text;
}

/**
 * The types in the header `Accept`, or in the query parameter of that name, which takes precedence (PS3.18 8.3.3.1). Preferred types
 * come first. Without header and parameter, everything is accepted.
 *
 * @throws LargeImageError `bad-parameter` if the text is too long.
 */
export function parseAccept(header: string | undefined, parameter?: string): AcceptedType[] {
  const text = parameter ?? header ?? '*/*';
  const entries = splitOutsideQuotes(text, ',').filter((entry) => entry !== '');
  if (text.length > maxLength || entries.length > maxTypes) {
    throw new LargeImageError('bad-parameter', `Accept may have at most ${maxLength} characters and ${maxTypes} types.`);
  }
  return entries.flatMap(parseEntry).toSorted((a, b) => b.quality - a.quality);
}

function parseEntry(entry: string): AcceptedType[] {
  const [name = '', ...parameterTexts] = splitOutsideQuotes(entry, ';');
  const type = name.toLowerCase();
  if (!/^[\w.+*-]+\/[\w.+*-]+$/.test(type)) return [];
  const parameters = new Map(
    parameterTexts.map((parameterText): [string, string] => {
      const equals = parameterText.indexOf('=');
      return equals < 0
        ? [parameterText.toLowerCase(), '']
        : [parameterText.slice(0, equals).trim().toLowerCase(), unquote(parameterText.slice(equals + 1).trim())];
    }),
  );
  const weight = Number(parameters.get('q') ?? 1);
  const quality = Number.isFinite(weight) ? Math.min(1, Math.max(0, weight)) : 0;
  if (quality === 0) return [];
  const syntax = parameters.get('transfer-syntax') ?? null;
  if (type !== 'multipart/related') return [{ type, isMultipart: false, syntax, quality }];
  return [{ type: (parameters.get('type') ?? '*/*').toLowerCase(), isMultipart: true, syntax, quality }];
}

/** Whether a type matches an accepted type, which can have `*` in place of its second part or of both parts. */
export function matchesType(acceptedType: string, type: string): boolean {
  if (acceptedType === '*/*' || acceptedType === type) return true;
  return acceptedType.endsWith('/*') && type.startsWith(acceptedType.slice(0, -1));
}

/** @throws LargeImageError `not-acceptable` */
export function throwNotAcceptable(subject: string, availableForms: readonly string[]): never {
  throw new LargeImageError(
    'not-acceptable',
    `${subject} is not available in an accepted form. Available: ${availableForms.join(', ')}.`,
  );
}
