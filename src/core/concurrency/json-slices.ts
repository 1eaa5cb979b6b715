import { isSliceOver, nextSlice } from './slices.js';

/** Texts and parts of texts up to this length, in UTF-16 units, are parsed without a pause, which takes at most 3 ms. */
const partLength = 64 * 1024;
/**
 * Maximum number of members of one object. Iterating an object first makes a list of all its keys without a pause, which takes 20
 * ms for this many.
 */
const maxMembers = 100_000;

/** A list or object whose text is longer than {@link partLength}, divided between its members. */
interface Cut {
  isObject: boolean;
  /**
   * Ranges of text, each with some members, without the commas between the ranges. A member that is itself divided has a separate
   * range.
   */
  parts: { from: number; to: number; inner: Inner | null }[];
}

interface OpenContainer {
  start: number;
  isObject: boolean;
  /** Where the current part begins. */
  from: number;
  /** Where the current member begins. */
  memberFrom: number;
  /** The divided container within the current member. */
  inner: Inner | null;
  /** Number of members before the current one. */
  members: number;
  parts: Cut['parts'];
}

/** A divided container, and the position of its text. */
interface Inner {
  cut: Cut;
  from: number;
  to: number;
}

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Thrown for a text that is not JSON although each part of it is. */
class Malformed extends Error {}

/** Limits of a JSON text. */
export interface JsonLimits {
  maxDepth: number;
  /**
   * Maximum number of lists and objects: each takes some hundred bytes of memory, and time of the garbage collector, however short
   * its text is.
   */
  maxContainers: number;
}

/** A text exceeds a limit. Its message continues a sentence that begins with "The JSON". */
export class JsonLimitError extends Error {}

/**
 * Parses JSON like `JSON.parse`, but in slices, so that the event loop can do other work.
 *
 * @throws SyntaxError for invalid JSON; JsonLimitError; the signal's reason.
 */
export async function parseInSlices(
  text: string,
  { signal, ...limits }: JsonLimits & { signal?: AbortSignal | undefined },
): Promise<unknown> {
  const cut = await cutText(text, limits, signal);
  if (cut === null) return JSON.parse(text) as unknown;
  try {
    return await valueOf(text, cut, signal);
  } catch (error) {
    if (error instanceof Malformed)
      throw new SyntaxError('Unexpected text between the members of a list or object', { cause: error });
    throw error;
  }
}

/**
 * Finds where to divide a text; `null` if it is short, or neither a list nor an object.
 *
 * @throws SyntaxError if brackets do not match. The parser would only notice after it has read everything before them without a
 * pause.
 */
async function cutText(
  text: string,
  { maxDepth, maxContainers }: JsonLimits,
  signal: AbortSignal | undefined,
): Promise<Cut | null> {
  const open: OpenContainer[] = [];
  let outermost: Inner | null = null;
  let isInString = false;
  let containers = 0;
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
        if (open.length >= maxDepth) throw new JsonLimitError(`is nested deeper than ${maxDepth} levels`);
        containers += 1;
        if (containers > maxContainers) throw new JsonLimitError(`contains more than ${maxContainers} lists and objects`);
        const from = at + 1;
        open.push({ start: at, isObject: code === openObject, from, memberFrom: from, inner: null, members: 0, parts: [] });
      } else if (code === comma) {
        const container = open.at(-1);
        if (container !== undefined) endMember(container, at, false);
      } else if (code === closeList || code === closeObject) {
        const container = open.pop();
        if (container?.isObject !== (code === closeObject)) throw unexpected(text, at);
        if (at - container.start <= partLength) continue;
        endMember(container, at, true);
        const inner = { cut: { isObject: container.isObject, parts: container.parts }, from: container.start, to: at + 1 };
        const parent = open.at(-1);
        if ((parent === undefined ? outermost : parent.inner) !== null) throw unexpected(text, container.start);
        if (parent === undefined) outermost = inner;
        else parent.inner = inner;
      }
    }
    if (isSliceOver()) await nextSlice(signal);
  }
  if (open.length > 0) throw new SyntaxError('Unexpected end of JSON input');
  if (outermost === null) return null;
  if (text.slice(0, outermost.from).trim() !== '') throw unexpected(text, 0);
  if (text.slice(outermost.to).trim() !== '') throw unexpected(text, outermost.to);
  return outermost.cut;
}

/** Whether the character at a position follows an odd number of backslashes. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text.charCodeAt(first - 1) === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

function unexpected(text: string, at: number): SyntaxError {
  return new SyntaxError(`Unexpected token ${JSON.stringify(text.slice(at, at + 1))} in JSON at position ${at}`);
}

function endMember(container: OpenContainer, at: number, isLast: boolean): void {
  const { inner } = container;
  container.members += 1;
  if (container.isObject && container.members > maxMembers) {
    throw new JsonLimitError(`contains an object of more than ${maxMembers} members`);
  }
  if (inner !== null) {
    if (container.memberFrom > container.from) {
      container.parts.push({ from: container.from, to: container.memberFrom - 1, inner: null });
    }
    container.parts.push({ from: container.memberFrom, to: at, inner });
    container.from = at + 1;
    container.inner = null;
  } else if (isLast || at - container.from >= partLength) {
    container.parts.push({ from: container.from, to: at, inner: null });
    container.from = at + 1;
  }
  container.memberFrom = at + 1;
}

async function valueOf(text: string, { isObject, parts }: Cut, signal: AbortSignal | undefined): Promise<unknown> {
  const list: unknown[] = [];
  const members: Record<string, unknown> = {};
  for (const { from, to, inner } of parts) {
    if (isSliceOver()) await nextSlice(signal);
    if (inner === null) {
      const part = text.slice(from, to);
      if (isObject) assign(members, JSON.parse(`{${part}}`) as Record<string, unknown>);
      else append(list, JSON.parse(`[${part}]`) as unknown[]);
      continue;
    }
    if (text.slice(inner.to, to).trim() !== '') throw new Malformed();
    const before = text.slice(from, inner.from);
    if (!isObject) {
      if (before.trim() !== '') throw new Malformed();
      list.push(await valueOf(text, inner.cut, signal));
      continue;
    }
    // A zero replaces the value, so that the parser reads the name.
    const memberObject = JSON.parse(`{${before}0}`) as Record<string, unknown>;
    const [name, ...others] = Object.keys(memberObject);
    if (name === undefined || others.length > 0 || memberObject[name] !== 0) throw new Malformed();
    assign(members, Object.fromEntries([[name, await valueOf(text, inner.cut, signal)]]));
  }
  return isObject ? members : list;
}

function append(list: unknown[], part: readonly unknown[]): void {
  // An empty part means that there is nothing between two commas, or after the last one.
  if (part.length === 0) throw new Malformed();
  for (const entry of part) list.push(entry);
}

function assign(members: Record<string, unknown>, part: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(part);
  if (names.length === 0) throw new Malformed();
  for (const name of names) {
    // A member with this name is a member like any other, as for `JSON.parse`.
    if (name === '__proto__')
      Object.defineProperty(members, name, { value: part[name], writable: true, enumerable: true, configurable: true });
    else members[name] = part[name];
  }
}
