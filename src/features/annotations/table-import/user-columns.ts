import { BadParameterError } from '../../../errors.js';
import { quoted, type ImportCell } from './incoming-table.js';

/** A step of a path in `user`. */
interface PathStep {
  key: string;
  /** Whether a missing container at this step is created as a list, because the keys of the columns below it are numbers from 0. */
  isList: boolean;
}

/** Where the values of a column are set: in a field of the element, or at a path in `user`. */
export type ColumnTarget =
  | { field: 'group' | 'label' | 'fillColor' | 'lineColor' | 'lineWidth' }
  | { steps: PathStep[]; name: string };

/** Maximum number of steps of a path in `user`, as in exported tables. */
const maxDepth = 16;
/** Maximum length of a list in `user` to which values are added. */
const maxListLength = 10_000;

type Json = Record<string, unknown>;

const listIndex = /^(0|[1-9]\d*)$/;

/** Splits the name of a column into keys. The name is a JSON pointer, or the name of a member of `user`. @throws BadParameterError */
function keysOf(name: string): string[] {
  const keys = name.startsWith('/') ? name.slice(1).split('/') : [name];
  if (keys.length > maxDepth) throw new BadParameterError(`The column ${quoted(name)} is more than ${maxDepth} levels deep.`);
  return keys.map((key) => {
    const decodedKey = name.startsWith('/') ? key.replaceAll('~1', '/').replaceAll('~0', '~') : key;
    if (decodedKey === '__proto__') throw new BadParameterError(`The column ${quoted(name)} has a name that is not allowed.`);
    return decodedKey;
  });
}

/** Converts the names of columns to paths in `user`. */
export function userTargets(names: readonly string[]): { steps: PathStep[]; name: string }[] {
  const paths = names.map(keysOf);
  const childKeysByPath = new Map<string, Set<string>>();
  const pathText = (keys: readonly string[]) => JSON.stringify(keys);
  for (const keys of paths) {
    for (let depth = 1; depth < keys.length; depth += 1) {
      const path = pathText(keys.slice(0, depth));
      const existing = childKeysByPath.get(path);
      if (existing === undefined) childKeysByPath.set(path, new Set([keys[depth]!]));
      else existing.add(keys[depth]!);
    }
  }
  const isList = (keys: readonly string[]) => {
    const childKeys = childKeysByPath.get(pathText(keys));
    return childKeys !== undefined && [...childKeys].every((key) => listIndex.test(key) && Number(key) < childKeys.size);
  };
  return paths.map((keys, i) => ({
    name: names[i]!,
    steps: keys.map((key, depth) => ({ key, isList: isList(keys.slice(0, depth + 1)) })),
  }));
}

/** Sets a value in `user`. @throws BadParameterError if a step of the path is already a number, text or boolean. */
export function setInUser(user: Json, { steps, name }: { steps: readonly PathStep[]; name: string }, value: ImportCell): void {
  let container: Json | unknown[] = user;
  for (const [depth, { key, isList }] of steps.entries()) {
    if (depth === steps.length - 1) return setMember(container, key, value, name);
    let child: unknown = ownValue(container, key);
    if (child === undefined || child === null) {
      child = isList ? [] : {};
      setMember(container, key, child, name);
    }
    if (typeof child !== 'object')
      throw new BadParameterError(`The column ${quoted(name)} cannot be stored: ${quoted(key)} already has a value.`);
    container = child as Json | unknown[];
  }
}

/** Removes a value from `user`, if `user` has it. In a list, the value is replaced by `null`. */
export function removeFromUser(user: Json, { steps }: { steps: readonly PathStep[] }): void {
  let container: unknown = user;
  for (const { key } of steps.slice(0, -1))
    container = typeof container === 'object' && container !== null ? ownValue(container as Json, key) : undefined;
  if (typeof container !== 'object' || container === null) return;
  const { key } = steps.at(-1)!;
  if (!Object.hasOwn(container, key)) return;
  if (Array.isArray(container)) {
    if (listIndex.test(key)) container[Number(key)] = null;
  } else delete (container as Json)[key];
}

function ownValue(container: Json | unknown[], key: string): unknown {
  return Object.hasOwn(container, key) ? (container as Json)[key] : undefined;
}

function setMember(container: Json | unknown[], key: string, value: unknown, name: string): void {
  if (!Array.isArray(container)) {
    container[key] = value;
    return;
  }
  if (!listIndex.test(key))
    throw new BadParameterError(`The column ${quoted(name)} cannot be stored: ${quoted(key)} is not an index of a list.`);
  const index = Number(key);
  if (index >= maxListLength)
    throw new BadParameterError(
      `The column ${quoted(name)} cannot be stored: an index of a list must be less than ${maxListLength}.`,
    );
  while (container.length < index) container.push(null);
  container[index] = value;
}
