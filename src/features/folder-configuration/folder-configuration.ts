import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord } from '../../core/host/records.js';
import { AccessDeniedError, BadParameterError } from '../../errors.js';
import type { Caller, Host } from '../../host.js';
import { isFieldPath, maxSortFields } from '../items/item-list-request.js';
import { loadDefaultLists } from './default-lists.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { maxFolderConfigurationBytes, type ConfigurationItems } from './configuration-items.js';
import type { Person } from './merge-yaml.js';
import type { YamlTexts } from './yaml-texts.js';

/** Maximum number of parent folders to search. A longer chain of parents must be circular. */
const maxDepth = 1000;
const itemListsName = '.large_image_config.yaml';

/** Options of {@link FolderConfiguration}. */
export interface FolderConfigurationOptions {
  records: HostRecords;
  items: Items;
  settings: Settings;
  directory: Host['directory'];
  configurationItems: ConfigurationItems;
  texts: YamlTexts;
}

/** Configurations in YAML, stored as items in folders. A configuration applies to its folder and all folders below. */
export class FolderConfiguration {
  constructor(private readonly options: FolderConfigurationOptions) {}

  /** The configuration that applies to a caller in a folder, as JSON. @throws UnknownIdError, AccessDeniedError, BadParameterError for invalid YAML. */
  async read(folderId: string, name: string, caller: Caller | null, signal: AbortSignal): Promise<string> {
    const person = await this.#loadPerson(caller);
    let mergedText: string | null = null;
    for await (const folder of this.#foldersToSearch(folderId, caller)) {
      for await (const text of this.#readTexts(folder, name)) {
        const layer = await this.options.texts.mergeLayer(
          { text, name: `${name} in folder ${folder.id}`, person, overridingText: mergedText },
          signal,
        );
        if (!layer.inherits) return this.#addDefaults(layer.text, { name, person, signal });
        mergedText = layer.text;
      }
    }
    return this.#addDefaults(mergedText ?? '{}', { name, person, signal });
  }

  /**
   * The order of the items in a folder, as its configuration defines it (`itemList.defaultSort`): fields and directions. `null` if the
   * configuration defines none or is not valid.
   */
  async defaultSort(
    folderId: string,
    caller: Caller | null,
    signal: AbortSignal,
  ): Promise<[field: string, direction: 1 | -1][] | null> {
    let configuration: unknown;
    try {
      configuration = JSON.parse(await this.read(folderId, itemListsName, caller, signal));
    } catch (error) {
      // A folder with a mistake in its configuration can still be shown.
      if (error instanceof BadParameterError) return null;
      throw error;
    }
    return parseSort((configuration as { itemList?: { defaultSort?: unknown } } | null)?.itemList?.defaultSort);
  }

  async #addDefaults(
    text: string,
    { name, person, signal }: { name: string; person: Person; signal: AbortSignal },
  ): Promise<string> {
    if (name !== itemListsName) return text;
    const defaults = await loadDefaultLists(this.options.settings, person);
    return this.options.texts.addDefaults({ text, defaults }, signal);
  }

  async #loadPerson(caller: Caller | null): Promise<Person> {
    if (caller === null || caller.id === null) return { login: null, groups: [], admin: false };
    const { directory } = this.options;
    const [user] = (await directory?.users([caller.id])) ?? [];
    const groups = directory === undefined ? [] : await directory.groups(await directory.groupsOf(caller.id));
    return { login: user?.login ?? caller.id, groups: groups.map((group) => group.name), admin: caller.admin };
  }

  /**
   * The folders to search, in order: the folder, the folders above it, `.config` next to the topmost folder, and the folder that the
   * setting `config_folder` names.
   */
  async *#foldersToSearch(folderId: string, caller: Caller | null): AsyncGenerator<FolderRecord> {
    const { records, items, settings } = this.options;
    let folder = await items.loadFolder(folderId, 0, caller);
    for (let depth = 0; depth < maxDepth; depth++) {
      yield folder;
      const parentFolder = folder.parentId === null ? null : await records.findFolder(folder.parentId);
      if (parentFolder === null) break;
      folder = await items.loadFolder(parentFolder.id, 0, caller);
    }
    const configFolder = await records.findSiblingFolder(folder, '.config');
    if (configFolder !== null) yield configFolder;
    const defaultFolderId = await settings.get('large_image.config_folder');
    const defaultFolder =
      typeof defaultFolderId === 'string' && defaultFolderId !== '' ? await records.findFolder(defaultFolderId) : null;
    if (defaultFolder !== null) yield defaultFolder;
  }

  async *#readTexts(folder: FolderRecord, name: string): AsyncGenerator<string> {
    const { configurationItems } = this.options;
    for (const file of await configurationItems.findFiles(folder, name)) {
      if (file.size <= maxFolderConfigurationBytes) yield await configurationItems.readText(file);
    }
  }

  /**
   * Stores a text as a configuration of a folder. With `forCallerOnly`, the text is added to the section of the calling user, who then
   * needs only read access.
   *
   * @throws BadParameterError for invalid YAML, AccessDeniedError; LargeImageError `conflict` if the item of this name is not a
   * configuration or nothing can be added to its text, `not-implemented` if the host cannot create items. Nothing is stored in these
   * cases.
   */
  async write(
    folderId: string,
    name: string,
    text: string,
    { caller, forCallerOnly }: { caller: Caller | null; forCallerOnly: boolean },
  ): Promise<void> {
    const folder = await this.options.items.loadFolder(folderId, forCallerOnly ? 0 : 1, caller);
    if (forCallerOnly && (caller === null || caller.id === null)) throw new AccessDeniedError('You must be logged in.');
    const { texts } = this.options;
    if (!(await texts.checkIsMapping({ text, name })) && forCallerOnly) {
      throw new BadParameterError(`${name} for one user must be a YAML mapping.`);
    }
    const { login } = forCallerOnly ? await this.#loadPerson(caller) : { login: null };
    const target = { folder, name, creatorId: caller?.id ?? null };
    await this.options.configurationItems.write(target, async (storedText) =>
      login === null ? text : texts.addForUser({ stored: storedText ?? '', userText: text, name, login }),
    );
  }
}

/** The fields and directions of a `defaultSort`. Invalid entries are left out. Clients call ascending order `down`. */
function parseSort(list: unknown): [string, 1 | -1][] | null {
  if (!Array.isArray(list)) return null;
  const order = list.slice(0, maxSortFields).flatMap((entry: unknown): [string, 1 | -1][] => {
    const { type, value, dir } = (entry ?? {}) as { type?: unknown; value?: unknown; dir?: unknown };
    if (typeof value !== 'string' || !isFieldPath(value)) return [];
    return [[type === 'metadata' ? `meta.${value}` : value, dir === 'down' ? 1 : -1]];
  });
  return order.length === 0 ? null : order;
}
