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
import { stateName, type ImageRecordModel } from './image-record.model.js';
import type { MetadataMapping } from '../../settings/dicom-attributes.js';
import { mappedValues, plainText, valueAt } from './mapping.js';

/** Names of the settings that records depend on. */
const mappingSetting = 'large_image.dicomweb_metadata';
const studyKeySetting = 'large_image.dicomweb_study_key';

/** Version of the records. It is incremented when they are made differently. */
const version = 3;
/** Number of images that are opened at the same time, in the background. */
const maxOpening = 2;
/** Number of images in one page when all are compared with their records. */
const pageSize = 500;
/** Number of changed images that a search waits for; if there are more, it answers with the existing records. */
const maxAwaited = 20;
/**
 * Changed images are opened when nothing has changed for this long, in milliseconds, or when a search needs them, because opening a
 * remote file fetches parts of it, and registering a folder should not have to compete with this.
 */
const pauseMs = 10_000;
/** Changed images are opened after this time at the latest, in milliseconds, so that a search finds most of them. */
const longestPauseMs = 10 * 60 * 1000;
/** Number of blocks of a file that are part of its UIDs, and their length in bytes. */
const [blocks, blockBytes] = [64, 4096];

/** Dependencies of the index. */
export interface IndexParts {
  core: Core;
  images: Images;
  settings: Settings;
  model: ImageRecordModel;
}

/** The settings of metadata, as they were last read. */
interface Mapping {
  text: string;
  /** A text that differs for other settings. */
  name: string;
  keys: MetadataMapping;
  studyKey: string;
}

/** Keeps the record of each image up to date with item, file and settings. */
export class ImageIndex {
  readonly #changed = new Set<string>();
  readonly #closing = new AbortController();
  #working: Promise<void> | null = null;
  #pause: NodeJS.Timeout | null = null;
  #pausedAt = 0;
  #comparing: Promise<void> | null = null;
  #lastMapping: Mapping | null = null;

  constructor(private readonly parts: IndexParts) {}

  /** Follows changes of items, files and settings. @param onClose registers the steps that stop this. */
  follow(onClose: OnClose): void {
    const { core, settings } = this.parts;
    const { events, records } = core;
    onClose(async () => {
      this.#closing.abort();
      if (this.#pause !== null) clearTimeout(this.#pause);
      await this.#working;
      await this.#comparing;
    });
    onClose(records.markers.onChange((id) => this.#noteChange(id)));
    onClose(events.on('item.saved', ({ item }) => this.#noteChange(idText(item._id))));
    onClose(events.on('item.copied', ({ item }) => this.#noteChange(idText(item._id))));
    onClose(onItemsRemoved(events, (items) => this.parts.model.remove(items.map(({ _id }) => idText(_id)))));
    onClose(events.on('item.shown', ({ items }) => items.forEach(({ _id }) => this.#noteChange(idText(_id)))));
    onClose(
      events.on('file.saved', ({ file, created }) => {
        const { itemId } = records.fileOf(file);
        if (itemId !== null && !created) this.#noteChange(itemId);
      }),
    );
    onClose(
      settings.onChange(({ key }) => {
        if (key === mappingSetting || key === studyKeySetting) this.compareAll();
      }),
    );
  }

  /** Waits until the records of changes in this process are made, unless there are too many. */
  async settled(): Promise<void> {
    this.#begin();
    while (this.#working !== null && this.#changed.size <= maxAwaited) await this.#working;
  }

  /** Compares all images with their records in the background. */
  compareAll(): void {
    this.#comparing ??= this.#compare()
      .catch((err: unknown) => {
        if (this.#closing.signal.aborted || isDatabaseOutage(err)) return;
        this.parts.core.logger.warn({ err }, 'DicomWeb:Index:Failed');
      })
      .finally(() => {
        this.#comparing = null;
      });
  }

  /**
   * The current record of an item: the given one if it is still valid, or a new one.
   *
   * @returns `null` if the item has no image, or it cannot be opened.
   */
  async current(item: ItemRecord, loadedRecord?: ImageRecord | null): Promise<ImageRecord | null> {
    const { core, model, settings } = this.parts;
    const { records } = core;
    const { fileId } = item.largeImage ?? {};
    if (fileId === undefined) {
      await model.remove([item.id]);
      return null;
    }
    const mapping = await this.#mapping(settings);
    const state = await this.stateOf(item);
    const stored = loadedRecord === undefined ? await model.get(item.id) : loadedRecord;
    const names = { state, mapping: mapping.name, changed: item.changed };
    if (stored !== null && stateName(stored) === stateName(names)) return stored;
    const file = await records.findFile(fileId);
    if (file === null) return null;
    const fileData = stored?.state === state ? stored : await this.#readFile(item, file);
    if (fileData === null) return null;
    const values = mappedValues(records.metadataOf(item), mapping.keys);
    const caseName = mapping.studyKey === '' ? null : plainText(valueAt(records.metadataOf(item), mapping.studyKey));
    const created = records.itemView(item).created;
    const record: ImageRecord = {
      ...names,
      id: item.id,
      reason: fileData.reason,
      facts: fileData.facts,
      dicom: fileData.dicom,
      base: fileData.base,
      uids: fileData.uids,
      ranges: fileData.ranges,
      study: studyOf(fileData, caseName),
      name: item.name,
      created: created instanceof Date ? created.getTime() : item.changed,
      values,
      keys: {},
    };
    if (record.reason === null && record.facts !== null && spacingOf(record) === null) record.reason = noSpacing;
    else if (record.reason === noSpacing && spacingOf(record) !== null) record.reason = null;
    record.keys = keysOf(record);
    await model.put(record);
    return record;
  }

  /** Whether a record matches the current item, judged by the cached item, file and settings. */
  async isCurrent(item: ItemRecord, { state, mapping }: ImageRecord): Promise<boolean> {
    const { images, settings } = this.parts;
    if (item.largeImage?.fileId === undefined || mapping !== (await this.#mapping(settings)).name) return false;
    return state.endsWith(` ${version}`) && state.startsWith(`${await images.stateName(item)} `);
  }

  /**
   * Whether a record matches the item and the settings, without regard to the file, so that a search over many images does not examine
   * each of their files. A file that was replaced on disk is noticed when its instances are retrieved.
   */
  async isOfItem(item: ItemRecord, { state, mapping }: ImageRecord): Promise<boolean> {
    const { images, settings } = this.parts;
    if (item.largeImage?.fileId === undefined || mapping !== (await this.#mapping(settings)).name) return false;
    return state.endsWith(` ${version}`) && state.startsWith(await images.beginningOfStateName(item));
  }

  /** Names the current image of an item, and the version of records. */
  async stateOf(item: ItemRecord): Promise<string> {
    const { images, core } = this.parts;
    return `${await images.stateName(item)} ${await core.records.imageState(item)} ${version}`;
  }

  async #mapping(settings: Settings): Promise<Mapping> {
    const text = plainText(await settings.get(mappingSetting)) ?? '';
    const studyKey = plainText(await settings.get(studyKeySetting)) ?? '';
    if (this.#lastMapping?.text === text && this.#lastMapping.studyKey === studyKey) return this.#lastMapping;
    const stored = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const keys: MetadataMapping = Object.fromEntries(Object.entries(stored).filter(([, key]) => typeof key === 'string'));
    const hash = createHash('sha256').update(JSON.stringify([text, studyKey]));
    this.#lastMapping = { text, name: hash.digest('hex').slice(0, 16), keys, studyKey };
    return this.#lastMapping;
  }

  /** The data from the file. @returns `null` if it cannot be determined now. */
  async #readFile(
    item: ItemRecord,
    file: FileRecord,
  ): Promise<Pick<ImageRecord, 'reason' | 'facts' | 'dicom' | 'base' | 'uids' | 'ranges'> | null> {
    const { images } = this.parts;
    const empty = { reason: null, facts: null, dicom: null, base: '', uids: [], ranges: null };
    try {
      const facts = await readFacts(images, item, this.#closing.signal);
      const base = uidBase(item.id, file.id, item.largeImage?.revision ?? '', await this.#fingerprint(file));
      if ('reason' in facts) return { ...empty, base, reason: facts.reason };
      if ('files' in facts) {
        const uids = facts.files.flatMap((attributes) => ['0020000E', '00080018'].map((tag) => valueText(attributes, tag)));
        return { ...empty, dicom: facts, base, uids: [...new Set(uids)] };
      }
      return { ...empty, facts: facts, base };
    } catch (error) {
      if (!(error instanceof LargeImageError) || error.code !== 'tile-source') throw error;
      return { ...empty, base: uidBase(item.id, file.id), reason: error.message };
    }
  }

  /** A text that differs for another file: a hash of its length and of blocks all over it. */
  async #fingerprint(file: FileRecord): Promise<string> {
    const reader = await this.parts.images.openBytes(file);
    const hash = createHash('sha256').update(`${reader.size}`);
    try {
      const step = Math.max(blockBytes, Math.floor((reader.size - blockBytes) / (blocks - 1)));
      for (
        let offset = 0, last = -1;
        offset > last && offset < reader.size;
        last = offset, offset = Math.min(offset + step, Math.max(offset, reader.size - blockBytes))
      ) {
        hash.update(await reader.read(offset, blockBytes));
      }
    } finally {
      await reader.close();
    }
    return hash.digest('hex');
  }

  #noteChange(itemId: string): void {
    if (this.#closing.signal.aborted) return;
    this.#changed.add(itemId);
    if (this.#pause === null) {
      this.#pausedAt = Date.now();
      this.#pause = setTimeout(() => this.#begin(), pauseMs).unref();
    } else if (Date.now() - this.#pausedAt < longestPauseMs) this.#pause.refresh();
  }

  /** Starts opening the changed images, unless that is already running. */
  #begin(): void {
    if (this.#pause !== null) clearTimeout(this.#pause);
    this.#pause = null;
    if (this.#changed.size === 0 || this.#closing.signal.aborted) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  async #work(): Promise<void> {
    const { core } = this.parts;
    while (this.#changed.size > 0 && !this.#closing.signal.aborted) {
      // Only the first are taken: after 100,000 files were registered, a list of all would be made for every two of them.
      const ids: string[] = [];
      for (const id of this.#changed) if (ids.push(id) >= maxOpening) break;
      await mapConcurrently(ids, maxOpening, async (id) => {
        this.#changed.delete(id);
        await this.#refresh(id).catch((err: unknown) => {
          if (!this.#closing.signal.aborted) core.logger.warn({ err, itemId: id }, 'DicomWeb:Image:Failed');
        });
      });
    }
  }

  async #refresh(id: string): Promise<void> {
    const item = await this.parts.core.records.findItem(id);
    if (item !== null) await this.current(item);
    // The record of a hidden item is valid again when the item is shown.
    else if (!(await this.parts.core.hidden.has(id))) await this.parts.model.remove([id]);
  }

  async #compare(): Promise<void> {
    const { core, model, settings } = this.parts;
    const { records } = core;
    const { signal } = this.#closing;
    const { name: mapping } = await this.#mapping(settings);
    for (let after: ItemRecord | null = null; ;) {
      const page: ItemRecord[] = await records.markers.page({ after, limit: pageSize });
      const states = await model.states(page.map(({ id }) => id));
      await mapConcurrently(page, maxOpening, async (item) => {
        signal.throwIfAborted();
        const state = await this.stateOf(item);
        if (states.get(item.id) === stateName({ state, mapping, changed: item.changed })) return;
        await this.current(item).catch((err: unknown) => {
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
      const ids: string[] = await model.idsAfter(after, pageSize);
      signal.throwIfAborted();
      const remaining = new Set([...(await core.records.existingItems(ids)), ...(await core.hidden.among(ids))]);
      await model.remove(ids.filter((id) => !remaining.has(id)));
      if (ids.length < pageSize) return;
      after = ids.at(-1)!;
    }
  }
}

const noSpacing = 'The size of its pixels is unknown. Set the metadata key PixelSpacing, in millimeters.';

/** Millimeters per pixel, of rows and of columns; `null` if neither file nor metadata declare it. */
export function spacingOf({ facts, values }: Pick<ImageRecord, 'facts' | 'values'>): { mmY: number; mmX: number } | null {
  if (values.PixelSpacing !== undefined) {
    const [mmY, mmX] = values.PixelSpacing.split('\\').map(Number) as [number, number];
    return { mmY, mmX };
  }
  const { mmX = null, mmY = null } = facts ?? {};
  const [x, y] = [mmX ?? mmY, mmY ?? mmX];
  return x === null || y === null || !(x > 0 && y > 0) ? null : { mmX: x, mmY: y };
}

function studyOf({ dicom, base }: Pick<ImageRecord, 'dicom' | 'base'>, caseName: string | null): string {
  if (dicom !== null) return valueText(dicom.files[0], '0020000D');
  return caseName === null || caseName === '' ? uidOf(base, 'study') : uidOf(uidBase('case', caseName), 'study');
}

/** The form in which searches compare names of persons. */
export function foldedName(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}

function keysOf(record: ImageRecord): ImageRecord['keys'] {
  const keys: ImageRecord['keys'] = {};
  for (const key of indexedKeys) {
    const value = record.dicom === null ? record.values[key] : valueText(record.dicom.files[0], indexedTags[key]);
    if (value !== undefined && value !== '')
      keys[key] = key === 'PatientName' || key === 'ReferringPhysicianName' ? foldedName(value) : value;
  }
  return keys;
}
