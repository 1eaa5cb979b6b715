import { randomUUID } from 'node:crypto';
import { idText } from '../../core/database/id-text.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { OnClose } from '../../core/undo.js';
import { LargeImageError, MissingPartsError } from '../../errors.js';
import type { HostEvents, HostLogger } from '../../host.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import type { DicomMerge } from './dicom-merge.js';
import { FolderFollowers } from './folder-followers.js';
import type { ImageMarking } from './image-marking.js';
import type { Images } from './images.js';

/** What {@link HostFollower} works with. */
interface FollowerParts {
  images: Pick<Images, 'closeFile'>;
  marking: ImageMarking;
  records: HostRecords;
  items: Items;
  cachedFiles: Pick<CachedFiles, 'removeAll'>;
  registry: TileSourceRegistry;
  settings: Settings;
  logger: HostLogger;
  dicom: DicomMerge;
}

/** Files of an item that are tried in the place of the one that has come. */
const maxMainFiles = 4;

/** Keeps large images in step with the host's items and files. */
export class HostFollower {
  readonly #folders: FolderFollowers;

  constructor(private readonly parts: FollowerParts) {
    const images = {
      changeRevision: (item: ItemRecord) => this.#changeRevision(item),
      retry: (item: ItemRecord) => this.#retry(item),
    };
    this.#folders = new FolderFollowers({ ...parts, images });
  }

  /** Hears what the host says of its items and files. @param onClose takes the steps that end it. */
  follow(events: HostEvents, onClose: OnClose): void {
    onClose(events.on('item.removed', ({ item }) => this.#itemRemoved(item)));
    onClose(events.on('item.copied', ({ item, fileIds }) => this.#itemCopied(item, fileIds)));
    onClose(events.on('file.saved', ({ file, created }) => this.#fileSaved(file, created)));
    onClose(events.on('file.removed', ({ file }) => this.#fileRemoved(file)));
  }

  /** What happens when the host has saved a file: its item becomes a large image if it can, or is looked at anew. */
  async #fileSaved(doc: Record<string, unknown> & { _id: unknown }, created: boolean): Promise<void> {
    const { records, items } = this.parts;
    const file = records.fileOf(doc);
    if (!created) this.parts.images.closeFile(file.id);
    if (file.itemId === null) return;
    items.forget(file.itemId);
    const item = await records.findItem(file.itemId);
    if (item === null) return;
    if (item.largeImage === null) await this.#autoSet(item, file);
    else if (item.largeImage.fileId !== file.id) await this.#companionChanged(item);
    else if (!created) await this.#detectAgain(item, file);
    await this.#folders.changed(item, file);
  }

  /** Makes an item a large image where one of its files can be: first of those that read others, then of the one that has come. */
  async #autoSet(item: ItemRecord, file: FileRecord): Promise<void> {
    const main = await this.#mainFilesOf(item);
    const others = main.filter(({ id }) => id !== file.id);
    for (const candidate of others.length < main.length ? [file, ...others] : [...main, file]) {
      if (!(await this.#mayBecomeImage(candidate))) continue;
      try {
        await this.parts.marking.create(item, candidate);
        await this.parts.dicom.join(item.id);
        return;
      } catch (error) {
        if (!(error instanceof LargeImageError)) throw error;
        const { message: reason } = error;
        this.parts.logger.info({ fileId: candidate.id, itemId: item.id, reason }, 'LargeImage:AutoSet:Refused');
        // The others of the item are its parts.
        if (error instanceof MissingPartsError) return;
      }
    }
  }

  /** Some files of an item that read the others, where it has such: pictures beside them only accompany them. */
  async #mainFilesOf(item: ItemRecord): Promise<FileRecord[]> {
    const { records, registry } = this.parts;
    const files = await records.filesOfItem(item);
    return files.filter((file) => registry.candidates(file)[0]?.readsCompanions === true).slice(0, maxMainFiles);
  }

  async #mayBecomeImage(file: FileRecord): Promise<boolean> {
    const autoSet = await this.parts.settings.get('large_image.auto_set');
    if (autoSet === 'all') return true;
    if (isNeverImage(file.name)) return false;
    return autoSet !== false && this.parts.registry.knows({ name: file.name, mimeType: file.mimeType });
  }

  /** New bytes under an old id: they may need another source, or be no image any more. */
  async #detectAgain(item: ItemRecord, file: FileRecord): Promise<void> {
    await this.parts.marking.remove(item);
    const fresh = await this.parts.records.findItem(item.id);
    if (fresh === null || fresh.largeImage !== null) return;
    try {
      await this.parts.marking.create(fresh, file);
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.parts.logger.warn({ fileId: file.id, itemId: item.id, reason: error.message }, 'LargeImage:Lost');
    }
  }

  /** A file has come to, or gone from, an item whose other file is shown: where that one reads it, too, the image is another one now. */
  async #companionChanged(item: ItemRecord): Promise<void> {
    const { registry } = this.parts;
    const { fileId, sourceName, originalId } = item.largeImage ?? {};
    if (fileId === undefined || sourceName === undefined || originalId !== undefined) return;
    const stored = item.doc.largeImage as Record<string, unknown>;
    if (registry.get(sourceName)?.readsCompanions === true) return this.#changeRevision(item);
    for (const main of await this.#mainFilesOf(item)) {
      if (main.id === fileId || !(await this.#mayBecomeImage(main))) continue;
      try {
        const found = await this.parts.marking.sourceFor(item, main);
        await this.#replaceMarker(item, { ...stored, fileId: main.doc._id, sourceName: found });
        return;
      } catch (error) {
        if (!(error instanceof LargeImageError)) throw error;
        this.parts.logger.info({ fileId: main.id, itemId: item.id, reason: error.message }, 'LargeImage:AutoSet:Refused');
      }
    }
  }

  /** The item has another image now, although it is served from the same file: something that this reads has changed. */
  async #changeRevision(item: ItemRecord): Promise<void> {
    const stored = item.doc.largeImage as Record<string, unknown>;
    await this.#replaceMarker(item, { ...stored, revision: randomUUID() });
  }

  /** The image of an item may be made now: what it waited for has come. */
  async #retry(item: ItemRecord): Promise<void> {
    const file = item.waiting === null ? null : await this.parts.records.findFile(item.waiting.fileId);
    if (file === null || file.itemId !== item.id) return;
    if (item.largeImage === null) await this.#autoSet(item, file);
    else if (item.largeImage.originalId === undefined) await this.#companionChanged(item);
  }

  async #replaceMarker(item: ItemRecord, marker: Record<string, unknown>): Promise<void> {
    await this.parts.records.markers.replace(item, marker);
    this.parts.items.forget(item.id);
    await this.parts.marking.replaced(item);
  }

  /** What happens when the host has removed a file: no item is served from it any more. */
  async #fileRemoved(doc: Record<string, unknown> & { _id: unknown }): Promise<void> {
    const file = this.parts.records.fileOf(doc);
    // Attached files, of which there may be many, serve nobody.
    if (file.itemId === null) return;
    const served = await this.parts.records.markers.itemsServing(file);
    for (const item of served) await this.parts.marking.remove(item);
    this.parts.images.closeFile(file.id);
    const item = await this.parts.records.findItem(file.itemId);
    if (item === null) return;
    if (item.largeImage !== null) await this.#companionChanged(item);
    else {
      await this.parts.records.markers.refuse(item, null);
      if (served.length > 0) await this.#serveAnother(item);
    }
    await this.#folders.changed(item, file);
  }

  /** The rest of an image of several files is shown when the file that stood for it has gone. */
  async #serveAnother(item: ItemRecord): Promise<void> {
    const [file] = await this.#mainFilesOf(item);
    if (file !== undefined) await this.#autoSet(item, file);
  }

  /** Lets go of an item that is no more, and of what is kept for it. */
  async #itemRemoved(doc: Record<string, unknown> & { _id: unknown }): Promise<void> {
    const id = idText(doc._id);
    this.parts.items.forget(id);
    await this.parts.cachedFiles.removeAll({ id, doc });
    await this.#folders.changed(this.parts.records.itemOf(doc), null);
  }

  /**
   * The copy of an item is served from its own copies of the files. One whose file was not copied, because it was never finished,
   * is no large image.
   */
  async #itemCopied(doc: Record<string, unknown> & { _id: unknown }, fileIds: ReadonlyMap<string, string>): Promise<void> {
    const { records, items } = this.parts;
    const item = records.itemOf(doc);
    if (item.largeImage === null) return;
    const copyOf = async (id: string | undefined) => {
      const copied = id === undefined ? undefined : fileIds.get(id);
      return copied === undefined ? null : records.findFile(copied);
    };
    const [file, original] = await Promise.all([copyOf(item.largeImage.fileId), copyOf(item.largeImage.originalId)]);
    const { originalId: _of, expected: _pending, mergedInto: _merging, ...stored } = doc.largeImage as Record<string, unknown>;
    const marker = file && { ...stored, fileId: file.doc._id, ...(original && { originalId: original.doc._id }) };
    await records.itemFields.store(item, 'largeImage', marker ?? undefined);
    items.forget(item.id);
  }
}

/** Configurations of folders, and what macOS leaves beside each file: neither is meant to be looked at. Parts of images may begin with a dot, too. */
function isNeverImage(name: string): boolean {
  const lower = name.toLowerCase();
  return lower.startsWith('._') || (lower.startsWith('.') && (lower.endsWith('.yaml') || lower.endsWith('.yml')));
}
