import { isSliceOver, nextSlice } from './slices.js';

/** Texts and parts of texts of up to this many UTF-16 units are parsed without a pause, which takes at most 3 ms. */
const partLength = 64 * 1024;
/**
 * Maximum number of members of one object. Iterating an object first makes a list of all its keys without a pause, which takes 20
 * ms for this many.
 */
const maxMembers = 100_000;

/** A list or object whose text is longer than {@link partLength}. Its text is divided between members. */
interface DividedContainer {
  isObject: boolean;
  /**
   * Ranges of the text, each with some members, without the commas between the ranges. A member that is itself divided is alone in
   * its range.
   */
  parts: { from: number; to: number; inner: LocatedContainer | null }[];
}

interface OpenContainer {
  start: number;
  isObject: boolean;
  /** Where the current part begins. */
  from: number;
  /** Where the current member begins. */
  memberStart: number;
  /** The divided container within the current member. */
  inner: LocatedContainer | null;
  /** Number of members before the current one. */
  memberCount: number;
  parts: DividedContainer['parts'];
}

/** A divided container, and the range of its text. */
interface LocatedContainer {
  container: DividedContainer;
  from: number;
  to: number;
}

// Character codes
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Thrown for a text that is not valid JSON, although each of its parts is valid. */
class MalformedJsonError extends Error {}

/** Limits of a JSON text. */
export interface JsonLimits {
  maxDepth: number;
  /**
   * Maximum number of lists and objects. Even one with a short text takes some hundred bytes of memory, and time of the garbage
   * collector.
   */
  maxContainers: number;
}

/** Thrown for a text that exceeds a limit. The message is the rest of a sentence that begins with "The JSON". */
export class JsonLimitError extends Error {}

/**
 * Parses JSON like `JSON.parse`, but in slices, so that the event loop can do other work.
 *
 * @throws SyntaxError for invalid JSON, and JsonLimitError for JSON that exceeds the limits.
 */
export async function parseInSlices(
  text: string,
  { signal, ...limits }: JsonLimits & { signal?: AbortSignal | undefined },
): Promise<unknown> {
  const divided = await divideText(text, limits, signal);
  if (divided === null) return JSON.parse(text) as unknown;
  try {
    return await parseDivided(text, divided, signal);
  } catch (error) {
    if (error instanceof MalformedJsonError)
      throw new SyntaxError('Unexpected text between the members of a list or object', { cause: error });
    throw error;
  }
}

/**
 * Finds where to divide a text; `null` if the text is short, or is neither a list nor an object.
 *
 * @throws SyntaxError if brackets do not match. `JSON.parse` would notice this too, but only after a long time without a pause.
 */
async function divideText(
  text: string,
  { maxDepth, maxContainers }: JsonLimits,
  signal: AbortSignal | undefined,
): Promise<DividedContainer | null> {
  const openContainers: OpenContainer[] = [];
  let outermost: LocatedContainer | null = null;
  let isInString = false;
  let containerCount = 0;
  let at = 0;
  while (at < text.length) {
    // Reading this many characters takes a fraction of a millisecond.
    const until = Math.min(text.length, at + partLength);
    for (; at < until; at += 1) {
      if (isInString) {
        const end = text.indexOf('"', at);
        at = end < 0 ? text.length : end;
        isInString = end < 0 || isEscaped(text, end);
        continue;
      }
      const code = text.charCodeAt(at);
      if (code === quote) isInString = true;
      else if (code === openList || code === openObject) {
        if (openContainers.length >= maxDepth) throw new JsonLimitError(`is nested deeper than ${maxDepth} levels`);
        containerCount += 1;
        if (containerCount > maxContainers) throw new JsonLimitError(`contains more than ${maxContainers} lists and objects`);
        const memberStart = at + 1;
        openContainers.push({
          start: at,
          isObject: code === openObject,
          from: memberStart,
          memberStart,
          inner: null,
          memberCount: 0,
          parts: [],
        });
      } else if (code === comma) {
        const container = openContainers.at(-1);
        if (container !== undefined) endMember(container, at, false);
      } else if (code === closeList || code === closeObject) {
        const container = openContainers.pop();
        if (container?.isObject !== (code === closeObject)) throw unexpectedTokenError(text, at);
        if (at - container.start <= partLength) continue;
        endMember(container, at, true);
        const located = {
          container: { isObject: container.isObject, parts: container.parts },
          from: container.start,
          to: at + 1,
        };
        const parent = openContainers.at(-1);
        if ((parent === undefined ? outermost : parent.inner) !== null) throw unexpectedTokenError(text, container.start);
        if (parent === undefined) outermost = located;
        else parent.inner = located;
      }
    }
    if (isSliceOver()) await nextSlice(signal);
  }
  if (openContainers.length > 0) throw new SyntaxError('Unexpected end of JSON input');
  if (outermost === null) return null;
  if (text.slice(0, outermost.from).trim() !== '') throw unexpectedTokenError(text, 0);
  if (text.slice(outermost.to).trim() !== '') throw unexpectedTokenError(text, outermost.to);
  return outermost.container;
}

/** Whether the character at a position follows an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

function unexpectedTokenError(text: string, at: number): SyntaxError {
  return new SyntaxError(`Unexpected token ${JSON.stringify(text.slice(at, at + 1))} in JSON at position ${at}`);
}

function endMember(container: OpenContainer, at: number, isLast: boolean): void {
  const { inner } = container;
  container.memberCount += 1;
  if (container.isObject && container.memberCount > maxMembers) {
    throw new JsonLimitError(`contains an object of more than ${maxMembers} members`);
  }
  if (inner !== null) {
    if (container.memberStart > container.from) {
      container.parts.push({ from: container.from, to: container.memberStart - 1, inner: null });
    }
    container.parts.push({ from: container.memberStart, to: at, inner });
    container.from = at + 1;
    container.inner = null;
  } else if (isLast || at - container.from >= partLength) {
    container.parts.push({ from: container.from, to: at, inner: null });
    container.from = at + 1;
  }
  container.memberStart = at + 1;
}

async function parseDivided(
  text: string,
  { isObject, parts }: DividedContainer,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const list: unknown[] = [];
  const members: Record<string, unknown> = {};
  for (const { from, to, inner } of parts) {
    if (isSliceOver()) await nextSlice(signal);
    if (inner === null) {
      const part = text.slice(from, to);
      if (isObject) assignPart(members, JSON.parse(`{${part}}`) as Record<string, unknown>);
      else appendPart(list, JSON.parse(`[${part}]`) as unknown[]);
      continue;
    }
    if (text.slice(inner.to, to).trim() !== '') throw new MalformedJsonError();
    const textBefore = text.slice(from, inner.from);
    if (!isObject) {
      if (textBefore.trim() !== '') throw new MalformedJsonError();
      list.push(await parseDivided(text, inner.container, signal));
      continue;
    }
    // The parser reads the name of the member, with a zero in place of the value.
    const memberObject = JSON.parse(`{${textBefore}0}`) as Record<string, unknown>;
    const [name, ...others] = Object.keys(memberObject);
    if (name === undefined || others.length > 0 || memberObject[name] !== 0) throw new MalformedJsonError();
    assignPart(members, Object.fromEntries([[name, await parseDivided(text, inner.container, signal)]]));
  }
  return isObject ? members : list;
}

function appendPart(list: unknown[], part: readonly unknown[]): void {
  // An empty part means that there is nothing between two commas, or after the last one.
  if (part.length === 0) throw new MalformedJsonError();
  for (const entry of part) list.push(entry);
}

function assignPart(members: Record<string, unknown>, part: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(part);
  if (names.length === 0) throw new MalformedJsonError();
  for (const name of names) {
    // As with `JSON.parse`, `__proto__` becomes a member like any other.
    if (name === '__proto__')
      Object.defineProperty(members, name, { value: part[name], writable: true, enumerable: true, configurable: true });
    else members[name] = part[name];
  }
}
