import { threadFunctions } from '../../core/concurrency/thread-functions.js';
import { BadParameterError } from '../../errors.js';
import { isMapping, parseYaml, writeYaml, type YamlMapping } from '../../core/yaml.js';
import { mergeMappings, personalize, type Person } from './merge-yaml.js';

/** A result, or the message of a BadParameterError, because errors lose their class when they leave a thread. */
export type Outcome<Result> = { result: Result } | { refused: string };

function outcome<Result>(work: () => Result): Outcome<Result> {
  try {
    return { result: work() };
  } catch (error) {
    if (error instanceof BadParameterError) return { refused: error.message };
    throw error;
  }
}

/** Parses a text. Tells whether it is a mapping or empty. */
function check({ text, name }: { text: string; name: string }): Outcome<{ isMapping: boolean }> {
  return outcome(() => {
    const value = parseYaml(text, name);
    return { isMapping: value === null || isMapping(value) };
  });
}

/** The merged configuration of a folder and the folders nearer than it. */
export interface Layer {
  /** JSON text. */
  text: string;
  /** Whether to merge the folder configurations above too. */
  inherits: boolean;
}

/** Personalizes a text and merges `nearer`, the result of nearer folders as JSON or `null`, over it. */
function join({
  text,
  name,
  person,
  nearer,
}: {
  text: string;
  name: string;
  person: Person;
  nearer: string | null;
}): Outcome<Layer> {
  return outcome(() => {
    const value = unwrapped(parseYaml(text, name));
    const near = nearer === null ? null : (JSON.parse(nearer) as YamlMapping);
    const own = isMapping(value) ? personalize(value, person) : value;
    const result: unknown = near !== null && isMapping(own) ? mergeMappings(own, near) : own;
    if (!isMapping(own) || !isMapping(result)) return { text: nearer ?? JSON.stringify(result), inherits: false };
    const inherits = own.__inherit__ === true;
    delete result.__inherit__;
    return { text: JSON.stringify(result), inherits };
  });
}

/** Adds defaults for missing members to a mapping. Other values are returned unchanged. */
function complete({ text, defaults }: { text: string; defaults: YamlMapping }): string {
  const value = JSON.parse(text) as unknown;
  return isMapping(value) ? JSON.stringify({ ...defaults, ...value }) : text;
}

/** The new text, or the reason why nothing can be added to the stored one. */
type Added = { text: string } | { conflict: string };

/** Adds a user's text, which has been checked, to the user's section of a stored text. */
function addForUser({ stored, userText, name, login }: { stored: string; userText: string; name: string; login: string }): Added {
  const conflict = (what: string): Added => ({
    conflict: `Nothing can be added to the stored ${name}: ${what}. Nothing was changed.`,
  });
  let former: unknown;
  try {
    former = unwrapped(parseYaml(stored, name));
  } catch (error) {
    if (error instanceof BadParameterError) return conflict(error.message);
    throw error;
  }
  const document = mappingOf(former);
  if (document === null) return conflict('it is not a mapping');
  const users = mappingOf(ownMember(document, 'users'));
  if (users === null) return conflict('"users" is not a mapping');
  const own = mappingOf(ownMember(users, login));
  if (own === null) return conflict(`"users: ${login}" is not a mapping`);
  const added = mappingOf(parseYaml(userText, name)) ?? {};
  return { text: writeYaml({ ...document, users: { ...users, [login]: { ...own, ...added } } }) };
}

/** The value if it is a mapping; an empty mapping for a missing value; `null` for other values. */
function mappingOf(value: unknown): YamlMapping | null {
  if (value === undefined || value === null) return {};
  return isMapping(value) ? value : null;
}

/** A list with one entry counts as that entry. */
function unwrapped(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
}

function ownMember(mapping: YamlMapping, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

const functions = { check, join, complete, addForUser };

/** The functions that run in the thread. */
export type YamlFunctions = typeof functions;

export default threadFunctions(functions);
