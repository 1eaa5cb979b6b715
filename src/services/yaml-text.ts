import { parseAllDocuments, stringify, type ScalarTag, type Tags } from 'yaml';
import { BadParameterError } from '../errors.js';

/** A value as YAML texts hold them, as JSON. */
export type YamlMapping = Record<string, unknown>;

export function isMapping(value: unknown): value is YamlMapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** YAML 1.1 as existing texts are written in it: `yes` is true, `017` fifteen; dates stay text, and so does `1e3`, which has no point. */
function tagsOf(tags: Tags): Tags {
  return tags.flatMap((tag): Tags => {
    if (typeof tag === 'string') return tag === 'timestamp' ? [] : [tag];
    if (tag.tag === 'tag:yaml.org,2002:timestamp') return [];
    const scalar = tag as ScalarTag;
    // A lone y or n is text to those who write these.
    if (scalar.tag === 'tag:yaml.org,2002:bool') {
      const isTrue = scalar.test?.test('true') === true;
      return [{ ...scalar, test: isTrue ? /^([Yy]es|YES|[Tt]rue|TRUE|[Oo]n|ON)$/ : /^([Nn]o|NO|[Ff]alse|FALSE|[Oo]ff|OFF)$/ }];
    }
    if (scalar.format !== 'EXP' || scalar.test === undefined) return [tag];
    return [{ ...scalar, test: /^[-+]?[0-9][0-9_]*\.[0-9_]*[eE][-+][0-9]+$/ }];
  });
}

/** The value of a text that is one YAML document. @throws BadParameterError that says what `name` it is and what is wrong. */
export function parseYaml(text: string, name: string): unknown {
  const wrong = (reason: string, cause?: unknown) => new BadParameterError(`${name} is not valid YAML: ${reason}`, { cause });
  const documents = parseAllDocuments(text, { version: '1.1', customTags: tagsOf });
  if (!Array.isArray(documents) || documents.length === 0) return null;
  if (documents.length > 1) throw wrong('it holds more than one document');
  const [document] = documents;
  const [error] = document!.errors;
  if (error !== undefined) throw wrong(error.message.split('\n')[0]!, error);
  try {
    // Aliases that unfold into very much are refused here.
    return document!.toJS({ maxAliasCount: 100 }) as unknown;
  } catch (cause) {
    throw wrong((cause as Error).message, cause);
  }
}

/** A value as YAML text in block style, keys sorted. */
export function writeYaml(value: unknown): string {
  return stringify(value, { version: '1.1', sortMapEntries: true });
}

/** Two mappings joined: what `over` says holds, mappings in mappings are joined too; `__all__: true` in it clears the other first. */
export function mergeMappings(base: YamlMapping, over: YamlMapping): YamlMapping {
  const merged: YamlMapping = over.__all__ === true ? {} : { ...base };
  for (const [key, value] of Object.entries(over)) {
    if (key === '__proto__' || (key === '__all__' && value === true)) continue;
    const former = Object.hasOwn(merged, key) ? merged[key] : undefined;
    merged[key] = isMapping(former) && isMapping(value) ? mergeMappings(former, value) : value;
  }
  return merged;
}

/** Who a text is personalised for. */
export interface Person {
  /** `null`: nobody who is signed in. */
  login: string | null;
  groups: readonly string[];
  admin: boolean;
}

/** A mapping with the sections for this person merged into it, and the sections for all others taken out (administration.md, 11.2). */
export function personalize(mapping: YamlMapping, { login, groups, admin }: Person): YamlMapping {
  let result = { ...mapping };
  const take = (section: string): YamlMapping | null => {
    const value = result[section];
    if (!isMapping(value)) return null;
    delete result[section];
    return value;
  };
  const add = (section: YamlMapping | null, key: string) => {
    const part = section !== null && Object.hasOwn(section, key) ? section[key] : undefined;
    if (isMapping(part)) result = mergeMappings(result, part);
  };
  const [ofGroups, ofUsers] = [take('groups'), take('users')];
  for (const group of [...groups].sort()) add(ofGroups, group);
  // After the groups, which may have added to it.
  const ofAccess = take('access');
  if (login !== null) add(ofAccess, 'user');
  if (admin) add(ofAccess, 'admin');
  if (login !== null) add(ofUsers, login);
  return result;
}
