import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../core/concurrency/lru-options.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { scaleSuffix, type EnteredScale } from '../../core/entered-scale.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import { NoLargeImageError } from '../../errors.js';
import type { HostFiles } from '../../host.js';
import type { IccOption } from '../../tilesource/requests.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { FileStamps } from './file-stamps.js';

/** Options of {@link ImageStates}. */
export interface ImageStatesOptions {
  records: HostRecords;
  items: Items;
  files: HostFiles;
  settings: Settings;
  /** Called when a file was replaced on disk, before its new state is returned. */
  onChangedOnDisk(fileId: string): Promise<void>;
}

/** The current image of an item. */
export interface ImageState {
  /** A text that changes whenever pictures of the image may change. It begins with the id of the file. */
  key: string;
  /** Like `key`, but without the state of the items that the image refers to by id. */
  ownKey: string;
  /** The file that the item is served from. */
  fileId: string;
  /** The source that reads the file. */
  sourceName: string | undefined;
  icc: IccOption;
  /** The size of a pixel that a user has entered. */
  scale: EnteredScale | null;
}

/** Maximum number of images whose referenced items are remembered. */
const maxImages = 10_000;

/** Finds the current states of images. From their keys, caches and entity tags can tell whether a picture is still valid. */
export class ImageStates {
  readonly #stamps: FileStamps;
  /** The items that an image refers to by id, under {@link ImageState.ownKey}. */
  readonly #referencedItems = new LRUCache<string, ReadonlySet<string>>(limitEntries(maxImages));

  constructor(private readonly options: ImageStatesOptions) {
    const { records, files } = options;
    this.#stamps = new FileStamps({
      pathOf: async (fileId) => {
        const file = await records.findFile(fileId);
        return file === null ? null : files.localPath(file.doc);
      },
      onChange: (fileId) => options.onChangedOnDisk(fileId),
    });
  }

  /** The state of the image of an item. @throws NoLargeImageError */
  async stateOf(item: ItemRecord): Promise<ImageState> {
    const { fileId, sourceName } = servedFileOf(item);
    const icc = await this.#loadIccOption();
    const stampOrPromise = this.#stamps.stampOf(fileId);
    const stamp = typeof stampOrPromise === 'string' ? stampOrPromise : await stampOrPromise;
    const ownKey = `${keyPartOfItem(item, icc)}${stamp}`;
    const referencedItems = this.#referencedItems.get(ownKey);
    const key =
      referencedItems === undefined || referencedItems.size === 0 ? ownKey : `${ownKey}:${await this.#digestOf(referencedItems)}`;
    return { key, ownKey, fileId, sourceName, icc, scale: item.scale };
  }

  /** The beginning of {@link ImageState.key}. It depends only on the item and a setting, so that no file has to be examined. */
  async keyPrefixOf(item: ItemRecord): Promise<string> {
    return keyPartOfItem(item, await this.#loadIccOption());
  }

  /** The state of a file that is only opened as a part of other images. */
  async stateOfPart(file: FileRecord, sourceName: string | undefined): Promise<Pick<ImageState, 'key' | 'icc' | 'scale'>> {
    const icc = await this.#loadIccOption();
    const stamp = await this.#stamps.stampOf(file.id);
    return { key: `${file.id}:part:${sourceName ?? ''}:${String(icc)}:${stamp}`, icc, scale: null };
  }

  /** Remembers the items that an image refers to by id. From then on, the state of the image changes when the image of such an item changes. */
  setReferencedItems({ ownKey }: ImageState, ids: ReadonlySet<string>): void {
    this.#referencedItems.set(ownKey, ids);
  }

  /** Drops the path and stamp of a file from the cache. */
  forgetFile(fileId: string): void {
    this.#stamps.forget(fileId);
  }

  /** A text that changes when the image of one of the items changes. */
  async #digestOf(ids: ReadonlySet<string>): Promise<string> {
    const hash = createHash('sha256');
    for (const id of ids) {
      const item = await this.options.items.findRecent(id);
      const { fileId = '', sourceName = '', revision = '' } = item?.largeImage ?? {};
      hash.update(`${id}:${item?.changedAtMs ?? ''}:${fileId}:${sourceName}:${revision}${scaleSuffix(item?.scale)};`);
    }
    return hash.digest('base64url').slice(0, 22);
  }

  async #loadIccOption(): Promise<IccOption> {
    return (await this.options.settings.get('large_image.icc_correction')) as IccOption;
  }
}

/** The part of the key of a state that comes from the item and the setting of color correction. */
function keyPartOfItem(item: ItemRecord, icc: IccOption): string {
  const { fileId, sourceName } = servedFileOf(item);
  return `${fileId}:${item.changedAtMs}:${sourceName ?? ''}:${item.largeImage?.revision ?? ''}:${String(icc)}${scaleSuffix(item.scale)}:`;
}

/** The file that an item is served from. @throws NoLargeImageError that says what the item waits for. */
function servedFileOf(item: ItemRecord): { fileId: string; sourceName: string | undefined } {
  const { largeImage } = item;
  if (largeImage === null) throw new NoLargeImageError(waitingMessage(item));
  if (largeImage.fileId === undefined) {
    throw new NoLargeImageError(
      largeImage.expected === true ? 'The large image file for this item is still pending creation.' : undefined,
    );
  }
  return { fileId: largeImage.fileId, sourceName: largeImage.sourceName };
}

/** Maximum number of missing files that a message names. */
const maxNamedFiles = 20;

function waitingMessage({ missingFiles }: ItemRecord): string | undefined {
  if (missingFiles === null) return undefined;
  const { missing } = missingFiles;
  const remainder = missing.length > maxNamedFiles ? ` and ${missing.length - maxNamedFiles} more` : '';
  const names = missing.map((path) => (path === '*' ? 'a file that matches a pattern' : path)).slice(0, maxNamedFiles);
  return `No large image file in this item. It is waiting for files that belong to it: ${names.join(', ')}${remainder}.`;
}
