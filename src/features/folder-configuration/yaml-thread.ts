import { createCallHandler } from '../../core/concurrency/thread-functions.js';
import { BadParameterError } from '../../errors.js';
import { isMapping, parseYaml, writeYaml, type YamlMapping } from '../../core/yaml.js';
import { mergeMappings, personalize, type Person } from './merge-yaml.js';

/** A result, or the message of a BadParameterError. Errors lose their class when they leave a thread, so only their message is passed. */
export type Outcome<Result> = { result: Result } | { refused: string };

function catchBadParameter<Result>(work: () => Result): Outcome<Result> {
  try {
    return { result: work() };
  } catch (error) {
    if (error instanceof BadParameterError) return { refused: error.message };
    throw error;
  }
}

/** Tells whether a text is a mapping or empty. */
function checkIsMapping({ text, name }: { text: string; name: string }): Outcome<{ isMapping: boolean }> {
  return catchBadParameter(() => {
    const value = parseYaml(text, name);
    return { isMapping: value === null || isMapping(value) };
  });
}

/** The configuration of a folder, overridden by the configurations of the folders below it. */
export interface MergedConfiguration {
  /** JSON text. */
  text: string;
  /** Whether to also merge the configurations of the folders above. */
  inherits: boolean;
}

/**
 * Applies the sections for a person in a folder's text, then lets `overridingText` override the result. `overridingText` is the merged
 * result of the folders below, as JSON text, or `null`.
 */
function mergeLayer({
  text,
  name,
  person,
  overridingText,
}: {
  text: string;
  name: string;
  person: Person;
  overridingText: string | null;
}): Outcome<MergedConfiguration> {
  return catchBadParameter(() => {
    const value = unwrapSingleEntry(parseYaml(text, name));
    const overridingMapping = overridingText === null ? null : (JSON.parse(overridingText) as YamlMapping);
    const personalizedValue = isMapping(value) ? personalize(value, person) : value;
    const result: unknown =
      overridingMapping !== null && isMapping(personalizedValue)
        ? mergeMappings(personalizedValue, overridingMapping)
        : personalizedValue;
    if (!isMapping(personalizedValue) || !isMapping(result))
      return { text: overridingText ?? JSON.stringify(result), inherits: false };
    const inherits = personalizedValue.__inherit__ === true;
    delete result.__inherit__;
    return { text: JSON.stringify(result), inherits };
  });
}

/** Adds defaults for missing members to a mapping. Other values are returned unchanged. */
function addDefaults({ text, defaults }: { text: string; defaults: YamlMapping }): string {
  const value = JSON.parse(text) as unknown;
  return isMapping(value) ? JSON.stringify({ ...defaults, ...value }) : text;
}

/** The new text, or the reason why nothing can be added to the stored text. */
type Addition = { text: string } | { conflict: string };

/** Adds a user's text, which has been checked, to the user's section of a stored text. */
function addForUser({
  stored,
  userText,
  name,
  login,
}: {
  stored: string;
  userText: string;
  name: string;
  login: string;
}): Addition {
  const makeConflict = (reason: string): Addition => ({
    conflict: `Nothing can be added to the stored ${name}: ${reason}. Nothing was changed.`,
  });
  let storedValue: unknown;
  try {
    storedValue = unwrapSingleEntry(parseYaml(stored, name));
  } catch (error) {
    if (error instanceof BadParameterError) return makeConflict(error.message);
    throw error;
  }
  const document = asMapping(storedValue);
  if (document === null) return makeConflict('it is not a mapping');
  const users = asMapping(ownMember(document, 'users'));
  if (users === null) return makeConflict('"users" is not a mapping');
  const userSection = asMapping(ownMember(users, login));
  if (userSection === null) return makeConflict(`"users: ${login}" is not a mapping`);
  const userMapping = asMapping(parseYaml(userText, name)) ?? {};
  return { text: writeYaml({ ...document, users: { ...users, [login]: { ...userSection, ...userMapping } } }) };
}

/** The value if it is a mapping; an empty mapping for a missing value; `null` for other values. */
function asMapping(value: unknown): YamlMapping | null {
  if (value === undefined || value === null) return {};
  return isMapping(value) ? value : null;
}

/** A list with one entry counts as that entry. */
function unwrapSingleEntry(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
}

function ownMember(mapping: YamlMapping, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}

const functions = { checkIsMapping, mergeLayer, addDefaults, addForUser };

/** The functions that run in the thread. */
export type YamlFunctions = typeof functions;

export default createCallHandler(functions);
