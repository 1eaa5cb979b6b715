import { priorities } from '../tile-source.js';

const knownPriorities: ReadonlySet<unknown> = new Set(Object.values(priorities));

/** The problem with the definition of a tile source, as a sentence for its author; `null` if the definition is correct. */
export function definitionFault(source: unknown): string | null {
  if (typeof source !== 'object' || source === null) return `A tile source must be an object, not ${String(source)}.`;
  const { name, version, open, ignoredNames, readsFolder, mayHold } = source as Record<string, unknown>;
  if (typeof name !== 'string' || !/^[A-Za-z][\w-]*$/.test(name)) {
    return `The name of a tile source must be a letter, followed by letters, digits, "-" and "_"; this one is ${JSON.stringify(name)}.`;
  }
  const subject = `The tile source ${name}`;
  if (typeof open !== 'function') return `${subject} has no function open(input, options).`;
  if (version !== undefined && typeof version !== 'string') return `${subject}: version must be a text, not ${typeof version}.`;
  if (ignoredNames !== undefined && !(ignoredNames instanceof RegExp))
    return `${subject}: ignoredNames must be a regular expression.`;
  if (readsFolder !== undefined && readsFolder !== 'files' && readsFolder !== 'images')
    return `${subject}: readsFolder must be 'files' or 'images', not ${JSON.stringify(readsFolder)}.`;
  if (mayHold !== undefined && typeof mayHold !== 'function') return `${subject}: mayHold must be a function.`;
  for (const table of ['extensions', 'mimeTypes', 'fileNames'] as const) {
    const fault = tableFault((source as Record<string, unknown>)[table], table);
    if (fault !== null) return `${subject}: ${fault}`;
  }
  return null;
}

function tableFault(table: unknown, name: 'extensions' | 'mimeTypes' | 'fileNames'): string | null {
  if (table === undefined && name === 'fileNames') return null;
  if (typeof table !== 'object' || table === null) return `${name} is missing: an object of priorities.`;
  if (name !== 'fileNames' && !Object.hasOwn(table, 'default')) return `${name} lacks "default", the priority for all others.`;
  for (const [key, priority] of Object.entries(table)) {
    if (!knownPriorities.has(priority))
      return `${name}.${key} is ${String(priority)}, which is not one of the priorities (0 to 12).`;
    if (name === 'extensions' && !/^[^.A-Z]+$/.test(key))
      return `${name} has "${key}"; extensions must be in lower case, without a dot.`;
  }
  return null;
}
