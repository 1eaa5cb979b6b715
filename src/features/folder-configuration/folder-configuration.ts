import type { FolderRecord, HostRecords } from '../../core/host-records.js';
import { AccessDeniedError, BadParameterError, LargeImageError } from '../../errors.js';
import type { Caller, Host } from '../../host.js';
import { defaultLists } from '../items/folder-lists.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { maxFolderConfigurationBytes, type ConfigurationItems, type StoredText } from './configuration-items.js';
import { isMapping, mergeMappings, parseYaml, personalize, writeYaml, type Person, type YamlMapping } from './yaml-text.js';

/** Folders above a folder that are looked into; deeper trees are circles. */
const maxDepth = 1000;
const listsName = '.large_image_config.yaml';

/** What {@link FolderConfiguration} works with. */
export interface FolderConfigurationOptions {
  records: HostRecords;
  items: Items;
  settings: Settings;
  directory: Host['directory'];
  stored: ConfigurationItems;
}

/** Configuration texts in YAML that lie in folders as items and hold for what is below (administration.md, section 11). */
export class FolderConfiguration {
  readonly #options: FolderConfigurationOptions;

  constructor(options: FolderConfigurationOptions) {
    this.#options = options;
  }

  /** What holds in a folder for a caller. @throws UnknownIdError, AccessDeniedError, BadParameterError for broken YAML. */
  async read(folderId: string, name: string, caller: Caller | null): Promise<unknown> {
    const person = await this.#person(caller);
    let nearer: YamlMapping | null = null;
    for await (const folder of this.#chain(folderId, caller)) {
      for (const value of await this.#values(folder, name)) {
        const own = isMapping(value) ? personalize(value, person) : value;
        const result: unknown = nearer !== null && isMapping(own) ? mergeMappings(own, nearer) : own;
        if (!isMapping(own) || !isMapping(result)) return nearer === null ? result : this.#complete(nearer, name, person);
        if (own.__inherit__ !== true) {
          delete result.__inherit__;
          return this.#complete(result, name, person);
        }
        delete result.__inherit__;
        nearer = result;
      }
    }
    return this.#complete(nearer ?? {}, name, person);
  }

  async #complete(result: YamlMapping, name: string, person: Person): Promise<YamlMapping> {
    return name === listsName ? { ...(await defaultLists(this.#options.settings, person)), ...result } : result;
  }

  async #person(caller: Caller | null): Promise<Person> {
    if (caller === null || caller.id === null) return { login: null, groups: [], admin: false };
    const { directory } = this.#options;
    const [user] = (await directory?.users([caller.id])) ?? [];
    const groups = directory === undefined ? [] : await directory.groups(await directory.groupsOf(caller.id));
    return { login: user?.login ?? caller.id, groups: groups.map((group) => group.name), admin: caller.admin };
  }

  /** The folder, those above it, `.config` beside the topmost, and the folder of the setting `config_folder`. */
  async *#chain(folderId: string, caller: Caller | null): AsyncGenerator<FolderRecord> {
    const { records, items, settings } = this.#options;
    let folder = await items.loadFolder(folderId, 0, caller);
    for (let depth = 0; depth < maxDepth; depth++) {
      yield folder;
      const above = folder.parentId === null ? null : await records.findFolder(folder.parentId);
      if (above === null) break;
      folder = await items.loadFolder(above.id, 0, caller);
    }
    const beside = await records.siblingFolder(folder, '.config');
    if (beside !== null) yield beside;
    const last = await settings.get('large_image.config_folder');
    const shared = typeof last === 'string' && last !== '' ? await records.findFolder(last) : null;
    if (shared !== null) yield shared;
  }

  async #values(folder: FolderRecord, name: string): Promise<unknown[]> {
    const { stored } = this.#options;
    const values: unknown[] = [];
    for (const file of await stored.files(folder, name)) {
      if (file.size > maxFolderConfigurationBytes) continue;
      values.push(unwrapped(parseYaml(await stored.text(file), `${name} in folder ${folder.id}`)));
    }
    return values;
  }

  /**
   * Stores a text in a folder; with `ofUser` in the section of the calling user, for which reading is enough.
   *
   * @throws BadParameterError for broken YAML, AccessDeniedError; LargeImageError `conflict` when the item of this name is no configuration, or
   * nothing can be added to what it holds; `not-implemented` when the host makes no items. Nothing is stored then.
   */
  async write(
    folderId: string,
    name: string,
    text: string,
    { caller, ofUser }: { caller: Caller | null; ofUser: boolean },
  ): Promise<void> {
    const folder = await this.#options.items.loadFolder(folderId, ofUser ? 0 : 1, caller);
    if (ofUser && (caller === null || caller.id === null)) throw new AccessDeniedError('You must be logged in.');
    const given = parseYaml(text, name);
    if (ofUser && given !== null && !isMapping(given)) {
      throw new BadParameterError(`${name} for one user must be a YAML mapping.`);
    }
    const { login } = ofUser ? await this.#person(caller) : { login: null };
    const place = { folder, name, creatorId: caller?.id ?? null };
    await this.#options.stored.write(place, (stored) => (login === null ? text : withUser(stored, { name, login, given })));
  }
}

/** Where a mapping is expected, a list of one counts as what is in it. */
function unwrapped(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? (value[0] as unknown) : value;
}

/** A stored text with what one user gave added to their section. @throws LargeImageError `conflict` when it has no room for that. */
function withUser(stored: StoredText, { name, login, given }: { name: string; login: string; given: unknown }): string {
  const refuse = (what: string, cause?: unknown) =>
    new LargeImageError('conflict', `Nothing can be added to the stored ${name}: ${what}. Nothing was changed.`, { cause });
  /** What is there must be a mapping; nothing is an empty one. */
  const mapping = (value: unknown, what: string): YamlMapping => {
    if (value === undefined || value === null) return {};
    if (!isMapping(value)) throw refuse(`${what} is no mapping`);
    return value;
  };
  let document: YamlMapping;
  try {
    document = mapping(unwrapped(parseYaml(stored ?? '', name)), 'it');
  } catch (error) {
    throw error instanceof BadParameterError ? refuse(error.message, error) : error;
  }
  const users = mapping(ownMember(document, 'users'), '"users"');
  const own = mapping(ownMember(users, login), `"users: ${login}"`);
  return writeYaml({ ...document, users: { ...users, [login]: { ...own, ...mapping(given, 'it') } } });
}

function ownMember(mapping: YamlMapping, key: string): unknown {
  return Object.hasOwn(mapping, key) ? mapping[key] : undefined;
}
