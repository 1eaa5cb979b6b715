import { isMapping, type YamlMapping } from '../../core/yaml.js';

/** Merges two mappings, recursively. Values of `overriding` win; if `overriding` contains `__all__: true`, all of `base` is dropped. */
export function mergeMappings(base: YamlMapping, overriding: YamlMapping): YamlMapping {
  const mergedMapping: YamlMapping = overriding.__all__ === true ? {} : { ...base };
  for (const [key, value] of Object.entries(overriding)) {
    if (key === '__proto__' || (key === '__all__' && value === true)) continue;
    const previousValue = Object.hasOwn(mergedMapping, key) ? mergedMapping[key] : undefined;
    mergedMapping[key] = isMapping(previousValue) && isMapping(value) ? mergeMappings(previousValue, value) : value;
  }
  return mergedMapping;
}

/** The user for whom a configuration is read. */
export interface Person {
  /** `null` if nobody is signed in. */
  login: string | null;
  groups: readonly string[];
  admin: boolean;
}

/** Merges the sections for this person into a mapping, and removes the sections for everyone else. */
export function personalize(mapping: YamlMapping, { login, groups, admin }: Person): YamlMapping {
  let result = { ...mapping };
  const extractSection = (section: string): YamlMapping | null => {
    const value = result[section];
    if (!isMapping(value)) return null;
    delete result[section];
    return value;
  };
  const mergePart = (section: YamlMapping | null, key: string) => {
    const personSection = section !== null && Object.hasOwn(section, key) ? section[key] : undefined;
    if (isMapping(personSection)) result = mergeMappings(result, personSection);
  };
  const [groupSections, userSections] = [extractSection('groups'), extractSection('users')];
  for (const group of [...groups].sort()) mergePart(groupSections, group);
  // This section is extracted only now, because the sections of groups may have added to it.
  const accessSections = extractSection('access');
  if (login !== null) mergePart(accessSections, 'user');
  if (admin) mergePart(accessSections, 'admin');
  if (login !== null) mergePart(userSections, login);
  return result;
}
