import { Readable } from 'node:stream';
import { replacesField, unfinishedField } from '../../core/host/schema-extension.js';
import type { ConfigurationMarks } from './configuration-marks.model.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import { announceStep } from '../../core/steps.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { Host, HostFiles, HostLogger } from '../../host.js';
import type { Lease, Leases } from '../../core/database/leases/leases.js';

/** Largest file that is read as a configuration, in bytes. */
export const maxFolderConfigurationBytes = 10 * 1024 * 1024;

const yamlType = 'application/yaml';
const yamlTypes: ReadonlySet<string> = new Set([yamlType, 'application/x-yaml', 'text/yaml', 'text/x-yaml', 'text/vnd.yaml']);
/** Types that do not tell the format. A file of one of these types is YAML if its name ends in `.yaml` or `.yml`. */
const genericTypes: ReadonlySet<string> = new Set(['application/octet-stream', 'text/plain']);

/** Options of {@link ConfigurationItems}. */
export interface ConfigurationItemsOptions {
  records: HostRecords;
  marks: ConfigurationMarks;
  files: HostFiles;
  host: Pick<Host, 'createItem' | 'removeItem'>;
  logger: HostLogger;
  /** With leases, only one process at a time writes a configuration, so that no user's addition is lost. */
  leases: Leases;
}

/** The currently stored parts of a configuration. */
interface ConfigurationState {
  folder: FolderRecord;
  name: string;
  /** `null` if there is no item of this name yet. */
  item: ItemRecord | null;
  /** `null` if the item has no file yet. */
  file: FileRecord | null;
  text: StoredText;
}

/** The stored text of a configuration; `null` if there is none. */
export type StoredText = string | null;

/** Stores folder configurations as items with one file each. An item that has the name but is not a configuration is never changed. */
export class ConfigurationItems {
  constructor(private readonly options: ConfigurationItemsOptions) {}

  /**
   * The files of a folder's configuration with this name, without files that are being replaced. If several items have the name, the
   * oldest item counts.
   */
  async findFiles(folder: FolderRecord, name: string): Promise<FileRecord[]> {
    const { records } = this.options;
    const [item] = await records.findItemsByName(folder, name, 1);
    if (item === undefined) return [];
    const files = await records.findFilesOfItem(item);
    const replacedFileIds = new Set(files.map((file) => this.options.marks.replacedFileIdOf(file)));
    return files.filter(({ id }) => !replacedFileIds.has(id));
  }

  /** The content of a file as text. @throws BadParameterError if it is not text in UTF-8. */
  async readText(file: FileRecord): Promise<string> {
    const chunks: Buffer[] = [];
    if (file.size > 0) {
      const stream = await this.options.files.read(file.doc, { start: 0, end: file.size });
      for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
    }
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
      if (!text.includes('\0')) return text;
    } catch {
      // The error is thrown below.
    }
    throw new BadParameterError(`The file ${file.name} is not UTF-8 text.`);
  }

  /**
   * Writes a configuration: creates an item, or replaces the only file of an existing item.
   *
   * @param makeText makes the new text from the stored text.
   * @throws LargeImageError `conflict` if an existing item is not a configuration, `not-implemented` if the host cannot create items. Nothing
   * is changed in these cases.
   */
  async write(
    { folder, name, creatorId }: { folder: FolderRecord; name: string; creatorId: string | null },
    makeText: (storedText: StoredText) => Promise<string>,
  ): Promise<void> {
    await this.#withLease(folder.id, name, async (lease) => {
      const state = await this.#find(folder, name);
      const bytes = Buffer.from(await makeText(state.text), 'utf8');
      if (bytes.length > maxFolderConfigurationBytes) {
        throw new LargeImageError('too-large', `${name} would have more than ${maxFolderConfigurationBytes} bytes.`);
      }
      await lease.confirm();
      if (state.item !== null && state.file !== null) await this.#replace(state.item, state.file, bytes, creatorId);
      else await this.#addFile(state.item ?? (await this.#createItem(state, creatorId)), name, bytes, creatorId);
    });
  }

  #withLease<R>(folderId: string, name: string, work: (lease: Pick<Lease, 'confirm'>) => Promise<R>): Promise<R> {
    return this.options.leases.run(`folder configuration ${folderId}/${name}`, { subject: folderId }, work);
  }

  async #find(folder: FolderRecord, name: string): Promise<ConfigurationState> {
    const { records } = this.options;
    const notAConfigurationError = (reason: string) =>
      new LargeImageError('conflict', `${name} in folder ${folder.id} is not a configuration: ${reason}. Nothing was changed.`);
    const [item, secondItem] = await records.findItemsByName(folder, name, 2);
    if (item === undefined) return { folder, name, item: null, file: null, text: null };
    if (secondItem !== undefined) throw notAConfigurationError('there are several items with this name');
    // Completes a replacement whose process was killed.
    for (const file of await records.findFilesOfItem(item)) await this.#removeReplaced(file, item);
    const [file, secondFile] = await records.findFilesOfItem(item);
    if (file === undefined && this.options.marks.isUnfinished(item)) return { folder, name, item, file: null, text: null };
    if (item.largeImage !== null) throw notAConfigurationError('the item has a large image');
    if (file === undefined) throw notAConfigurationError('the item has no file');
    if (secondFile !== undefined) throw notAConfigurationError('the item has several files');
    if (file.name !== name) throw notAConfigurationError(`its file is called ${file.name}`);
    if (!isYaml(file)) throw notAConfigurationError(`its file is of the type ${file.mimeType}`);
    if (file.size > maxFolderConfigurationBytes)
      throw notAConfigurationError(`its file has more than ${maxFolderConfigurationBytes} bytes`);
    const text = await this.readText(file).catch((error: unknown) => {
      throw error instanceof BadParameterError ? notAConfigurationError('its file is not text in UTF-8') : error;
    });
    return { folder, name, item, file, text };
  }

  async #createItem({ folder, name }: ConfigurationState, creatorId: string | null): Promise<ItemRecord> {
    const { records, host } = this.options;
    if (host.createItem === undefined) {
      throw new LargeImageError('not-implemented', 'This server cannot create items for configurations.');
    }
    const fields = { [unfinishedField]: true };
    const item = records.itemOf(await host.createItem({ folderId: folder.id, name, creatorId, fields }));
    if (!this.options.marks.isUnfinished(item)) await this.options.marks.setUnfinished(item, true);
    announceStep('folder-configuration:item');
    if (item.name === name) return item;
    await this.#removeItem(item);
    throw new LargeImageError(
      'conflict',
      `The item ${JSON.stringify(name)} cannot be created in folder ${folder.id}: the name is taken or not allowed.`,
    );
  }

  async #addFile(item: ItemRecord, name: string, bytes: Buffer, creatorId: string | null): Promise<void> {
    const { marks } = this.options;
    try {
      await this.#createFile(item, name, bytes, { creatorId });
    } catch (error) {
      // If removing the item fails too, a later sweep removes it.
      await this.#removeItem(item).catch((err: unknown) => this.#warn(err, item));
      throw error;
    }
    await marks.setUnfinished(item, false);
    announceStep('folder-configuration:complete');
  }

  async #replace(item: ItemRecord, replacedFile: FileRecord, bytes: Buffer, creatorId: string | null): Promise<void> {
    const file = await this.#createFile(item, replacedFile.name, bytes, {
      creatorId,
      fields: { [replacesField]: replacedFile.id },
    });
    // From here on, the new text applies. If the old file cannot be removed now, a later sweep removes it.
    await this.#removeReplaced(file, item).catch((err: unknown) => this.#warn(err, item));
  }

  async #createFile(
    item: ItemRecord,
    name: string,
    bytes: Buffer,
    options: { creatorId: string | null; fields?: Record<string, unknown> },
  ): Promise<FileRecord> {
    const parent = { type: 'item', itemId: item.id } as const;
    const file = { name, mimeType: yamlType, size: bytes.length, parent, ...options };
    const newFile = await this.options.files.create(file, Readable.from([bytes]));
    announceStep('folder-configuration:stored');
    return this.options.records.fileOf(newFile);
  }

  /** Removes the file that `file` replaces, if both have the same item and name. @returns whether the replaced file was removed. */
  async #removeReplaced(file: FileRecord, item: ItemRecord): Promise<boolean> {
    const { records, files } = this.options;
    const id = this.options.marks.replacedFileIdOf(file);
    if (id === null) return false;
    const replacedFile = await records.findFile(id);
    const isReplaced =
      replacedFile !== null && replacedFile.itemId === item.id && replacedFile.name === file.name && replacedFile.id !== file.id;
    if (isReplaced) {
      await files.remove(replacedFile.doc);
      announceStep('folder-configuration:replaced');
    }
    await this.options.marks.unmarkFile(file);
    return isReplaced;
  }

  async #removeItem(item: ItemRecord): Promise<void> {
    const { records, host } = this.options;
    await (host.removeItem === undefined ? records.deleteItem(item) : host.removeItem(item.doc));
  }

  #warn(err: unknown, item: ItemRecord): void {
    this.options.logger.warn({ err, itemId: item.id }, 'FolderConfiguration:Tidy:Failed');
  }

  /** Completes or undoes writes whose process was killed. @returns the number of items and files that were removed. */
  async sweep(): Promise<{ configurationItems: number; configurationFiles: number }> {
    const { records } = this.options;
    const { marks } = this.options;
    const removedCounts = { configurationItems: 0, configurationFiles: 0 };
    for (const { id, folderId, name } of await marks.findUnfinishedItems()) {
      await this.#withLease(folderId, name, async () => {
        const item = await records.findItem(id);
        if (item === null || !marks.isUnfinished(item)) return;
        if ((await records.findFilesOfItem(item)).length > 0) return marks.setUnfinished(item, false);
        await this.#removeItem(item);
        removedCounts.configurationItems += 1;
      });
    }
    for (const { id, itemId } of await marks.findReplacingFiles()) {
      const item = itemId === null ? null : await records.findItem(itemId);
      if (item === null) continue;
      await this.#withLease(item.folderId, item.name, async () => {
        const file = await records.findFile(id);
        if (file !== null && (await this.#removeReplaced(file, item))) removedCounts.configurationFiles += 1;
      });
    }
    return removedCounts;
  }
}

function isYaml({ name, mimeType }: FileRecord): boolean {
  const type = mimeType.split(';', 1)[0]!.trim().toLowerCase();
  return yamlTypes.has(type) || (genericTypes.has(type) && /\.ya?ml$/i.test(name));
}
