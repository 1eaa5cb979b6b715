import { Readable } from 'node:stream';
import { AccessDeniedError, BadParameterError, LargeImageError } from '../../errors.js';
import type { Caller, Host, HostFiles } from '../../host.js';
import type { FileRecord, FolderRecord, HostRecords, ItemRecord } from '../../core/host-records.js';
import type { Exclusive } from './distributed-lock.js';
import { defaultLists } from '../items/folder-lists.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { isMapping, mergeMappings, parseYaml, personalize, writeYaml, type Person, type YamlMapping } from './yaml-text.js';

/** Largest file that is read as a configuration, in bytes. */
export const maxFolderConfigurationBytes = 10 * 1024 * 1024;
/** Folders above a folder that are looked into; deeper trees are circles. */
const maxDepth = 1000;
const listsName = '.large_image_config.yaml';
const yamlType = 'application/yaml';

/** What {@link FolderConfiguration} works with. */
export interface FolderConfigurationOptions {
  records: HostRecords;
  items: Items;
  settings: Settings;
  files: HostFiles;
  directory: Host['directory'];
  createItem: Host['createItem'];
  /** Lets one of all processes at a time write a configuration: what one user adds must not undo what another has. */
  exclusive: Exclusive;
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
    const { records } = this.#options;
    const item = await records.itemNamed(folder, name);
    if (item === null) return [];
    const values: unknown[] = [];
    for (const file of withoutFormer(await records.filesOfItem(item), name)) {
      if (file.size > maxFolderConfigurationBytes) continue;
      const value = parseYaml(await this.#text(file), `${name} in folder ${folder.id}`);
      values.push(Array.isArray(value) && value.length === 1 ? value[0] : value);
    }
    return values;
  }

  async #text(file: FileRecord): Promise<string> {
    if (file.size === 0) return '';
    const chunks: Buffer[] = [];
    const stream = await this.#options.files.read(file.doc, { start: 0, end: file.size });
    for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }

  /**
   * Stores a text in a folder; with `ofUser` in the section of the calling user, for which reading is enough.
   *
   * @throws BadParameterError for broken YAML, AccessDeniedError; `not-implemented` when the host makes no items. Nothing is stored then.
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
    if (ofUser && given !== null && !isMapping(given))
      throw new BadParameterError(`${name} for one user must be a YAML mapping.`);
    await this.#options.exclusive.run(`folder configuration ${folder.id}/${name}`, folder.id, async () => {
      const content = ofUser ? await this.#withUser(folder, name, given, caller) : text;
      await this.#store(folder, name, content, caller?.id ?? null);
    });
  }

  async #withUser(folder: FolderRecord, name: string, given: unknown, caller: Caller | null): Promise<string> {
    const { login } = await this.#person(caller);
    const [stored] = await this.#values(folder, name);
    const document = isMapping(stored) ? { ...stored } : {};
    const users = isMapping(document.users) ? { ...document.users } : {};
    const own = isMapping(users[login!]) ? (users[login!] as YamlMapping) : {};
    users[login!] = { ...own, ...(isMapping(given) ? given : {}) };
    return writeYaml({ ...document, users });
  }

  async #store(folder: FolderRecord, name: string, text: string, creatorId: string | null): Promise<void> {
    const { records, files } = this.#options;
    const item = (await records.itemNamed(folder, name)) ?? (await this.#newItem(folder, name, creatorId));
    const former = await records.filesOfItem(item);
    const bytes = Buffer.from(text, 'utf8');
    const parent = { type: 'item', itemId: item.id } as const;
    await files.create({ name, mimeType: yamlType, size: bytes.length, parent, creatorId }, Readable.from([bytes]));
    // Only now: an upload that fails leaves what was there.
    for (const file of former) await files.remove(file.doc);
  }

  async #newItem(folder: FolderRecord, name: string, creatorId: string | null): Promise<ItemRecord> {
    const { records, createItem } = this.#options;
    if (createItem === undefined) throw new LargeImageError('not-implemented', 'This server makes no items for configurations.');
    return records.itemOf(await createItem({ folderId: folder.id, name, creatorId, reuse: true }));
  }
}

/** Without the files that were to be removed when another one had taken their place, as when a process was killed between the two. */
function withoutFormer(files: readonly FileRecord[], name: string): FileRecord[] {
  const isWritten = (file: FileRecord) => file.name === name && file.mimeType === yamlType;
  const newest = files.findLast(isWritten);
  return files.filter((file) => !isWritten(file) || file === newest);
}
