import { LargeImageError } from '../../../errors.js';

/** A media type that a client accepts. */
export interface AcceptedType {
  /** In lower case, such as `image/jpeg`; for multipart answers the type of the parts. */
  type: string;
  /** Whether it is requested as a part of `multipart/related`. */
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
 * The types in the header `Accept`, or in the query parameter of that name, which takes precedence (PS3.18 8.3.3.1); preferred ones
 * first. No header means everything.
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
  const [name = '', ...rest] = splitOutsideQuotes(entry, ';');
  const type = name.toLowerCase();
  if (!/^[\w.+*-]+\/[\w.+*-]+$/.test(type)) return [];
  const parameters = new Map(
    rest.map((each): [string, string] => {
      const equals = each.indexOf('=');
      return equals < 0
        ? [each.toLowerCase(), '']
        : [each.slice(0, equals).trim().toLowerCase(), unquote(each.slice(equals + 1).trim())];
    }),
  );
  const weight = Number(parameters.get('q') ?? 1);
  const quality = Number.isFinite(weight) ? Math.min(1, Math.max(0, weight)) : 0;
  if (quality === 0) return [];
  const syntax = parameters.get('transfer-syntax') ?? null;
  if (type !== 'multipart/related') return [{ type, isMultipart: false, syntax, quality }];
  return [{ type: (parameters.get('type') ?? '*/*').toLowerCase(), isMultipart: true, syntax, quality }];
}

/** Whether a type is one of those that an entry accepts. */
export function matchesType(accepted: string, type: string): boolean {
  if (accepted === '*/*' || accepted === type) return true;
  return accepted.endsWith('/*') && type.startsWith(accepted.slice(0, -1));
}

/** @throws LargeImageError `not-acceptable` */
export function throwNotAcceptable(what: string, offered: readonly string[]): never {
  throw new LargeImageError('not-acceptable', `${what} is not available in an accepted form. Available: ${offered.join(', ')}.`);
}
