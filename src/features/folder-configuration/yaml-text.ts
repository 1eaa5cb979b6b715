import { isMapping, type YamlMapping } from '../../core/yaml.js';

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
