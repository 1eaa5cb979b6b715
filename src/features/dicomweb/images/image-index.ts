import { valueText } from '../format/dataset.js';
import { createHash } from 'node:crypto';
import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { isDatabaseOutage } from '../../../core/database/outage.js';
import { idText } from '../../../core/database/id-text.js';
import type { Core } from '../../../core/core.js';
import type { FileRecord, ItemRecord } from '../../../core/host/records.js';
import type { OnClose } from '../../../core/undo.js';
import { onItemsRemoved } from '../../../core/host/host-events.js';
import { LargeImageError } from '../../../errors.js';
import type { Images } from '../../images/images.js';
import type { Settings } from '../../settings/settings.js';
import { uidBase, uidOf } from '../format/uids.js';
import { readFacts } from './image-facts.js';
import { indexedKeys, indexedTags, type ImageRecord } from './image-record.js';
import { inputsKey, type ImageRecordModel } from './image-record.model.js';
import type { MetadataMapping } from '../../settings/dicom-attributes.js';
import { mappedValues, plainText, valueAt } from './mapping.js';

/** Names of the settings that records depend on. */
const mappingSetting = 'large_image.dicomweb_metadata';
const studyKeySetting = 'large_image.dicomweb_study_key';

/** Version of the records. It is incremented when this code makes the records differently. */
const recordVersion = 3;
/** Maximum number of images that the background work opens at the same time. */
const maxOpenImages = 2;
/** Number of images that are compared with their records at a time. */
const pageSize = 500;
/** A search waits for at most this many changed images. If more have changed, the search uses the existing records. */
const maxAwaitedImages = 20;
/**
 * Changed images are opened when nothing has changed for this long, or when a search needs them. They are not opened immediately,
 * because opening a remote file fetches parts of it, which would slow down the registration of a folder.
 */
const pauseMs = 10_000;
/** Changed images are opened after this time even if changes go on, so that searches find most of them. */
const longestPauseMs = 10 * 60 * 1000;
/** How many blocks of a file its fingerprint is made from, and the length of each block in bytes. */
const [fingerprintBlockCount, blockBytes] = [64, 4096];

/** Dependencies of the index. */
export interface IndexParts {
  core: Core;
  images: Images;
  settings: Settings;
  model: ImageRecordModel;
}

/** The parsed settings that say how metadata become attributes. */
interface MetadataSettings {
  /** The mapping as text, as stored in the setting. */
  mappingText: string;
  /** A hash of both settings. */
  hash: string;
  /** The metadata key of each attribute. */
  keyByAttribute: MetadataMapping;
  /** The key that names the case of an image; empty if none is set. Images of a case are one study. */
  studyKey: string;
}

/** Keeps the record of each image up to date with its item, its file and the settings. */
export class ImageIndex {
  readonly #changedIds = new Set<string>();
  readonly #closeController = new AbortController();
  #openPromise: Promise<void> | null = null;
  #pauseTimer: NodeJS.Timeout | null = null;
  #pauseStartMs = 0;
  #comparePromise: Promise<void> | null = null;
  #lastMetadataSettings: MetadataSettings | null = null;

  constructor(private readonly parts: IndexParts) {}

  /** Follows changes of items, files and settings. @param onClose registers the steps that stop following. */
  followChanges(onClose: OnClose): void {
    const { core, settings } = this.parts;
    const { events, records } = core;
    onClose(async () => {
      this.#closeController.abort();
      if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
      await this.#openPromise;
      await this.#comparePromise;
    });
    onClose(records.markers.onChange((id) => this.#scheduleRefresh(id)));
    onClose(events.on('item.saved', ({ item }) => this.#scheduleRefresh(idText(item._id))));
    onClose(events.on('item.copied', ({ item }) => this.#scheduleRefresh(idText(item._id))));
    onClose(onItemsRemoved(events, (items) => this.parts.model.remove(items.map(({ _id }) => idText(_id)))));
    onClose(events.on('item.shown', ({ items }) => items.forEach(({ _id }) => this.#scheduleRefresh(idText(_id)))));
    onClose(
      events.on('file.saved', ({ file, created }) => {
        const { itemId } = records.fileOf(file);
        if (itemId !== null && !created) this.#scheduleRefresh(itemId);
      }),
    );
    onClose(
      settings.onChange(({ key }) => {
        if (key === mappingSetting || key === studyKeySetting) this.compareAll();
      }),
    );
  }

  /** Waits until items that this process changed have new records. Does not wait if there are more than {@link maxAwaitedImages}. */
  async waitUntilSettled(): Promise<void> {
    this.#startOpening();
    while (this.#openPromise !== null && this.#changedIds.size <= maxAwaitedImages) await this.#openPromise;
  }

  /** Starts comparing all images with their records in the background, to renew the outdated records. */
  compareAll(): void {
    this.#comparePromise ??= this.#compareRecords()
      .catch((err: unknown) => {
        if (this.#closeController.signal.aborted || isDatabaseOutage(err)) return;
        this.parts.core.logger.warn({ err }, 'DicomWeb:Index:Failed');
      })
      .finally(() => {
        this.#comparePromise = null;
      });
  }

  /**
   * The current record of an item: the existing one if it is still valid, otherwise a new one.
   *
   * @param loadedRecord the existing record, if the caller has loaded it.
   * @returns `null` if the item has no image.
   */
  async loadCurrentRecord(item: ItemRecord, loadedRecord?: ImageRecord | null): Promise<ImageRecord | null> {
    const { core, model, settings } = this.parts;
    const { records } = core;
    const { fileId } = item.largeImage ?? {};
    if (fileId === undefined) {
      await model.remove([item.id]);
      return null;
    }
    const metadataSettings = await this.#loadMetadataSettings(settings);
    const state = await this.stateOf(item);
    const existingRecord = loadedRecord === undefined ? await model.get(item.id) : loadedRecord;
    const inputs = { state, mapping: metadataSettings.hash, changed: item.changedAtMs };
    if (existingRecord !== null && inputsKey(existingRecord) === inputsKey(inputs)) return existingRecord;
    const file = await records.findFile(fileId);
    if (file === null) return null;
    const fileData = existingRecord?.state === state ? existingRecord : await this.#readFile(item, file);
    const values = mappedValues(records.metadataOf(item), metadataSettings.keyByAttribute);
    const { studyKey } = metadataSettings;
    const caseName = studyKey === '' ? null : plainText(valueAt(records.metadataOf(item), studyKey));
    const created = records.itemView(item).created;
    const record: ImageRecord = {
      ...inputs,
      id: item.id,
      reason: fileData.reason,
      facts: fileData.facts,
      dicom: fileData.dicom,
      base: fileData.base,
      uids: fileData.uids,
      ranges: fileData.ranges,
      study: studyUidOf(fileData, caseName),
      name: item.name,
      created: created instanceof Date ? created.getTime() : item.changedAtMs,
      values,
      keys: {},
    };
    if (record.reason === null && record.facts !== null && spacingOf(record) === null) record.reason = unknownSpacingReason;
    else if (record.reason === unknownSpacingReason && spacingOf(record) !== null) record.reason = null;
    record.keys = keysOf(record);
    await model.put(record);
    return record;
  }

  /** Whether a record matches the item, its file and the settings. The answer may come from caches. */
  async isCurrent(item: ItemRecord, { state, mapping }: ImageRecord): Promise<boolean> {
    const { images, settings } = this.parts;
    if (item.largeImage?.fileId === undefined || mapping !== (await this.#loadMetadataSettings(settings)).hash) return false;
    return state.endsWith(` ${recordVersion}`) && state.startsWith(`${await images.stateKey(item)} `);
  }

  /**
   * Whether a record matches the item and the settings, without regard to the file, so that a search over many images does not examine
   * each of their files. A file that was replaced on disk is noticed when its instances are retrieved.
   */
  async matchesItem(item: ItemRecord, { state, mapping }: ImageRecord): Promise<boolean> {
    const { images, settings } = this.parts;
    if (item.largeImage?.fileId === undefined || mapping !== (await this.#loadMetadataSettings(settings)).hash) return false;
    return state.endsWith(` ${recordVersion}`) && state.startsWith(await images.stateKeyPrefix(item));
  }

  /** A text that changes when the image of the item changes, or when {@link recordVersion} is incremented. */
  async stateOf(item: ItemRecord): Promise<string> {
    const { images, core } = this.parts;
    return `${await images.stateKey(item)} ${await core.records.readImageState(item)} ${recordVersion}`;
  }

  async #loadMetadataSettings(settings: Settings): Promise<MetadataSettings> {
    const mappingText = plainText(await settings.get(mappingSetting)) ?? '';
    const studyKey = plainText(await settings.get(studyKeySetting)) ?? '';
    if (this.#lastMetadataSettings?.mappingText === mappingText && this.#lastMetadataSettings.studyKey === studyKey)
      return this.#lastMetadataSettings;
    const parsedMapping = mappingText === '' ? {} : (JSON.parse(mappingText) as Record<string, unknown>);
    const keyByAttribute: MetadataMapping = Object.fromEntries(
      Object.entries(parsedMapping).filter(([, key]) => typeof key === 'string'),
    );
    const hash = createHash('sha256').update(JSON.stringify([mappingText, studyKey]));
    this.#lastMetadataSettings = { mappingText, hash: hash.digest('hex').slice(0, 16), keyByAttribute, studyKey };
    return this.#lastMetadataSettings;
  }

  /** Reads the data of a record that comes from the file. */
  async #readFile(
    item: ItemRecord,
    file: FileRecord,
  ): Promise<Pick<ImageRecord, 'reason' | 'facts' | 'dicom' | 'base' | 'uids' | 'ranges'>> {
    const { images } = this.parts;
    const emptyData = { reason: null, facts: null, dicom: null, base: '', uids: [], ranges: null };
    try {
      const facts = await readFacts(images, item, this.#closeController.signal);
      const base = uidBase(item.id, file.id, item.largeImage?.revision ?? '', await this.#fingerprint(file));
      if ('reason' in facts) return { ...emptyData, base, reason: facts.reason };
      if ('files' in facts) {
        const uids = facts.files.flatMap((attributes) => ['0020000E', '00080018'].map((tag) => valueText(attributes, tag)));
        return { ...emptyData, dicom: facts, base, uids: [...new Set(uids)] };
      }
      return { ...emptyData, facts, base };
    } catch (error) {
      if (!(error instanceof LargeImageError) || error.code !== 'tile-source') throw error;
      return { ...emptyData, base: uidBase(item.id, file.id), reason: error.message };
    }
  }

  /** A hash of the length of a file and of evenly spaced blocks. */
  async #fingerprint(file: FileRecord): Promise<string> {
    const reader = await this.parts.images.openReader(file);
    const hash = createHash('sha256').update(`${reader.size}`);
    try {
      const step = Math.max(blockBytes, Math.floor((reader.size - blockBytes) / (fingerprintBlockCount - 1)));
      for (
        let offset = 0, previousOffset = -1;
        offset > previousOffset && offset < reader.size;
        previousOffset = offset, offset = Math.min(offset + step, Math.max(offset, reader.size - blockBytes))
      ) {
        hash.update(await reader.read(offset, blockBytes));
      }
    } finally {
      await reader.close();
    }
    return hash.digest('hex');
  }

  #scheduleRefresh(itemId: string): void {
    if (this.#closeController.signal.aborted) return;
    this.#changedIds.add(itemId);
    if (this.#pauseTimer === null) {
      this.#pauseStartMs = Date.now();
      this.#pauseTimer = setTimeout(() => this.#startOpening(), pauseMs).unref();
    } else if (Date.now() - this.#pauseStartMs < longestPauseMs) this.#pauseTimer.refresh();
  }

  /** Starts opening the changed images, unless they are already being opened. */
  #startOpening(): void {
    if (this.#pauseTimer !== null) clearTimeout(this.#pauseTimer);
    this.#pauseTimer = null;
    if (this.#changedIds.size === 0 || this.#closeController.signal.aborted) return;
    this.#openPromise ??= this.#openChanged().finally(() => {
      this.#openPromise = null;
    });
  }

  async #openChanged(): Promise<void> {
    const { core } = this.parts;
    while (this.#changedIds.size > 0 && !this.#closeController.signal.aborted) {
      // Copying all ids for every two images would be slow when 100,000 have changed.
      const ids: string[] = [];
      for (const id of this.#changedIds) if (ids.push(id) >= maxOpenImages) break;
      await mapConcurrently(ids, maxOpenImages, async (id) => {
        this.#changedIds.delete(id);
        await this.#refresh(id).catch((err: unknown) => {
          if (!this.#closeController.signal.aborted) core.logger.warn({ err, itemId: id }, 'DicomWeb:Image:Failed');
        });
      });
    }
  }

  async #refresh(id: string): Promise<void> {
    const item = await this.parts.core.records.findItem(id);
    if (item !== null) await this.loadCurrentRecord(item);
    // The record of a hidden item is valid again when the item is shown.
    else if (!(await this.parts.core.hiddenItems.isHidden(id))) await this.parts.model.remove([id]);
  }

  async #compareRecords(): Promise<void> {
    const { core, model, settings } = this.parts;
    const { records } = core;
    const { signal } = this.#closeController;
    const { hash: mapping } = await this.#loadMetadataSettings(settings);
    for (let after: ItemRecord | null = null; ;) {
      const page: ItemRecord[] = await records.markers.findPage({ after, limit: pageSize });
      const inputsKeyById = await model.findInputsKeys(page.map(({ id }) => id));
      await mapConcurrently(page, maxOpenImages, async (item) => {
        signal.throwIfAborted();
        const state = await this.stateOf(item);
        if (inputsKeyById.get(item.id) === inputsKey({ state, mapping, changed: item.changedAtMs })) return;
        await this.loadCurrentRecord(item).catch((err: unknown) => {
          signal.throwIfAborted();
          if (isDatabaseOutage(err)) throw err;
          core.logger.warn({ err, itemId: item.id }, 'DicomWeb:Image:Failed');
        });
      });
      if (page.length < pageSize) break;
      after = page.at(-1)!;
    }
    await this.#removeOrphans(signal);
  }

  /** Removes records of items that no longer exist. */
  async #removeOrphans(signal: AbortSignal): Promise<void> {
    const { core, model } = this.parts;
    for (let after: string | null = null; ;) {
      const ids: string[] = await model.listIdsAfter(after, pageSize);
      signal.throwIfAborted();
      const remainingIds = new Set([
        ...(await core.records.filterExistingItems(ids)),
        ...(await core.hiddenItems.filterHidden(ids)),
      ]);
      await model.remove(ids.filter((id) => !remainingIds.has(id)));
      if (ids.length < pageSize) return;
      after = ids.at(-1)!;
    }
  }
}

const unknownSpacingReason = 'The size of its pixels is unknown. Set the metadata key PixelSpacing, in millimeters.';

/** Millimeters per pixel, vertically and horizontally; `null` if neither the file nor the metadata declares them. */
export function spacingOf({ facts, values }: Pick<ImageRecord, 'facts' | 'values'>): { mmY: number; mmX: number } | null {
  if (values.PixelSpacing !== undefined) {
    const [mmY, mmX] = values.PixelSpacing.split('\\').map(Number) as [number, number];
    return { mmY, mmX };
  }
  const { mmX = null, mmY = null } = facts ?? {};
  const [x, y] = [mmX ?? mmY, mmY ?? mmX];
  return x === null || y === null || !(x > 0 && y > 0) ? null : { mmX: x, mmY: y };
}

function studyUidOf({ dicom, base }: Pick<ImageRecord, 'dicom' | 'base'>, caseName: string | null): string {
  if (dicom !== null) return valueText(dicom.files[0], '0020000D');
  return caseName === null || caseName === '' ? uidOf(base, 'study') : uidOf(uidBase('case', caseName), 'study');
}

/** Converts the name of a person to the form in which searches compare names. */
export function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

function keysOf(record: ImageRecord): ImageRecord['keys'] {
  const keys: ImageRecord['keys'] = {};
  for (const key of indexedKeys) {
    const value = record.dicom === null ? record.values[key] : valueText(record.dicom.files[0], indexedTags[key]);
    if (value !== undefined && value !== '')
      keys[key] = key === 'PatientName' || key === 'ReferringPhysicianName' ? foldName(value) : value;
  }
  return keys;
}
