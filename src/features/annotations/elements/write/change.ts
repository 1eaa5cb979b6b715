import { ElementIds } from '../../../../annotation-format/element-ids.js';
import { schemaError, type RaiseProblem } from '../../../../annotation-format/messages.js';
import { KnownOverlaySizes } from '../../../../annotation-format/overlay-sizes.js';
import { duplicateIdError, nameByIndex, type ElementValidator } from '../../../../annotation-format/validate.js';
import type { ChangedElements, ChangeOptions, ElementChanges, StoredElements, StoredWindow } from '../element-store.js';
import { elementTooLong, maxElementBytes, requireListableGroups } from './element-limits.js';
import { storedElements } from './list-writer.js';
import type { ElementLoader, LoadedWindow } from '../read/loader.js';
import { locateElements, type Location } from '../read/locate.js';
import { itemOf, type PackItem } from './pack-items.js';
import { WindowEdit, cellsOfItem, draftFromItems, type EditTools, type ItemChange } from './window-edit.js';
import { isLong } from '../../../../core/json-pieces.js';
import { WindowWriter } from './window-writer.js';
import { isSliceOver, nextSlice, createSetInSlices } from '../../../../core/concurrency/slices.js';
import type { PendingWrite } from './pending-write.js';
import type { PendingRecords } from './pending-records.js';
import { writeElements, type WriteTools } from './write.js';

/** The dependencies of changes. */
export interface ChangeTools extends WriteTools {
  loader: ElementLoader;
  /** The validator whose problems are raised in a certain way. */
  validatorFor: (raise: RaiseProblem) => ElementValidator;
}

/** An element to put, checked. */
interface CheckedPut {
  id: string;
  item: PackItem;
  /** Whether the client sent an id. Elements without one cannot exist in the store. */
  hasOwnId: boolean;
}

/** Checks the elements to put and gives those without an id one. */
async function checkPut(
  tools: ChangeTools,
  put: readonly unknown[],
  sizes: KnownOverlaySizes,
  { signal, raise = schemaError, nameOf = nameByIndex }: ChangeOptions,
): Promise<CheckedPut[]> {
  const validate = tools.validatorFor(raise);
  const ids = new ElementIds();
  const checked: CheckedPut[] = [];
  for (const [index, value] of put.entries()) {
    const newId = tools.ids.make();
    let item: PackItem;
    let ownId: string | undefined;
    if (isLong(value)) {
      const long = await tools.long.check(value, { name: nameOf(index), newId, sizes, raise, signal });
      if (long.hasOwnId) ownId = long.id;
      item = { ...long, position: 0, text: Buffer.from(long.text.buffer, long.text.byteOffset, long.text.byteLength) };
    } else {
      const element = validate(value, index, nameOf);
      ownId = element.id;
      if (sizes.isSizeMissing(element)) await sizes.loadSize(element);
      item = itemOf(element, ownId ?? newId, 0, sizes.sizeOf(element));
    }
    if (ownId !== undefined && !ids.add(ownId)) throw duplicateIdError(ownId, index, raise);
    if (item.text.length > maxElementBytes) throw elementTooLong(index);
    checked.push({ id: item.id, item, hasOwnId: ownId !== undefined });
    if (isSliceOver()) await nextSlice(signal);
  }
  return checked;
}

const nothingChanged = { replaced: 0, added: 0, removed: 0 };

/** Stores the first elements of an annotation. */
export async function createElements(
  tools: ChangeTools,
  base: StoredElements,
  { put = [] }: ElementChanges,
  options: ChangeOptions,
): Promise<PendingWrite<ChangedElements>> {
  const checked = await checkPut(tools, put, new KnownOverlaySizes(tools.brand, tools.overlaySizes), options);
  const ids = checked.map(({ id }) => id);
  // `writeElements` checks them again, because other callers pass unchecked elements.
  const elements = put.map((value, i) => ({ ...(value as object), id: ids[i] }));
  const write = await writeElements(tools, elements, options.signal);
  return write.map(async (stored) => ({
    stored: checked.length === 0 ? base : stored,
    ids,
    ...nothingChanged,
    added: ids.length,
  }));
}

/** The texts of all packs are compressed together when they are inserted. */
const leaveUncompressed = async (text: Buffer) => ({ codec: 'none', text }) as const;

/**
 * See ElementEditing.change. The annotation must have elements.
 *
 * @param options `pending` receives the records; `takeLease` is called before the first one is written.
 */
export async function changeElements(
  tools: ChangeTools,
  base: StoredElements,
  { put = [], remove = [] }: ElementChanges,
  options: ChangeOptions & { pending: PendingRecords; takeLease: () => Promise<void> },
): Promise<ChangedElements> {
  const { signal, pending, takeLease } = options;
  const sizes = new KnownOverlaySizes(tools.brand, tools.overlaySizes);
  const checked = await checkPut(tools, put, sizes, options);
  tools.recordActivity();
  await takeLease();
  const writer = new WindowWriter(pending, base.family, tools.ids, signal, leaveUncompressed);
  const edit = { loader: tools.loader, writer, ids: tools.ids, layout: tools.layout, signal };
  const { stored, counts } = await applyChanges(tools, edit, base, {
    put: checked,
    remove: await createSetInSlices(remove, signal),
    sizes,
  });
  await writer.finish();
  return { stored, ids: checked.map(({ id }) => id), ...counts };
}

interface Counts {
  replaced: number;
  added: number;
  removed: number;
}

async function applyChanges(
  tools: ChangeTools,
  edit: EditTools,
  base: StoredElements,
  { put, remove, sizes }: { put: readonly CheckedPut[]; remove: ReadonlySet<string>; sizes: KnownOverlaySizes },
): Promise<{ stored: StoredElements; counts: Counts }> {
  const existingIds = put.filter(({ hasOwnId }) => hasOwnId).map(({ id }) => id);
  const locations = await locateElements(tools.loader, base, [...existingIds, ...remove], edit.signal);
  const changes = new Map<number, Map<number, Map<number, ItemChange>>>();
  const addChange = ({ windowIndex, slot, row }: Location, change: ItemChange) => {
    const packs = changes.get(windowIndex) ?? new Map<number, Map<number, ItemChange>>();
    const rows = packs.get(slot) ?? new Map<number, ItemChange>();
    changes.set(windowIndex, packs.set(slot, rows.set(row, change)));
  };
  const counts: Counts = { ...nothingChanged };
  for (const id of remove) {
    const location = locations.get(id);
    if (location === undefined) continue;
    addChange(location, null);
    counts.removed += 1;
    if (isSliceOver()) await nextSlice(edit.signal);
  }
  const appended: PackItem[] = [];
  for (const { id, item } of put) {
    const location = remove.has(id) ? undefined : locations.get(id);
    if (location === undefined) {
      appended.push(item);
      counts.added += 1;
    } else {
      addChange(location, (old) => ({ ...item, position: old.position }));
      counts.replaced += 1;
    }
    if (isSliceOver()) await nextSlice(edit.signal);
  }
  if (changes.size === 0 && appended.length === 0) return { stored: base, counts };
  const stored = await writeChangedWindows(tools, edit, base, { changes, appended, shownItems: sizes.itemIds() });
  return { stored, counts };
}

async function writeChangedWindows(
  tools: ChangeTools,
  edit: EditTools,
  base: StoredElements,
  {
    changes,
    appended,
    shownItems,
  }: {
    changes: ReadonlyMap<number, ReadonlyMap<number, ReadonlyMap<number, ItemChange>>>;
    appended: readonly PackItem[];
    /** Items whose images the new elements show. */
    shownItems: Iterable<string>;
  },
): Promise<StoredElements> {
  const last = base.windows.length - 1;
  const windows: StoredWindow[] = [];
  let appendedCount = 0;
  for (const [number, stored] of base.windows.entries()) {
    const packs = changes.get(number);
    const receivesAppended = number === last && appended.length > 0;
    if (packs === undefined && !receivesAppended) {
      windows.push(stored);
      continue;
    }
    const [loaded] = await tools.loader.loadWindows([stored], edit.signal);
    const windowEdit = new WindowEdit(edit, loaded!, stored);
    if (packs !== undefined) await windowEdit.change(packs);
    if (receivesAppended && windowEdit.capacity > 0) {
      // The first appended elements may go into a pack that was just written, so that pack must have been stored.
      await edit.writer.finish();
      appendedCount = Math.min(windowEdit.capacity, appended.length);
      await windowEdit.append(appended.slice(0, appendedCount));
    }
    const result = await windowEdit.finish();
    if (result !== null) windows.push(result);
  }
  const { windowElements } = tools.layout;
  for (; appendedCount < appended.length; appendedCount += windowElements) {
    windows.push(
      await edit.writer.write(
        await draftFromItems(
          appended.slice(appendedCount, appendedCount + windowElements),
          tools.layout,
          cellsOfItem(edit.signal),
        ),
      ),
    );
  }
  await edit.writer.finish();
  const groups = await groupsOf(tools.loader, base, windows, edit.signal);
  requireListableGroups(groups);
  return storedElements(base.family, tools.ids.make(), windows, groups, [...base.references, ...shownItems]);
}

/** The groups of all windows. Their pack indexes are usually in memory. */
async function groupsOf(
  loader: ElementLoader,
  base: StoredElements,
  windows: readonly StoredWindow[],
  signal: AbortSignal | undefined,
): Promise<Set<string | null>> {
  const baseIds = new Set(base.windows.map(({ id }) => id));
  const added = await loader.loadWindows(
    windows.filter(({ id }) => !baseIds.has(id)),
    signal,
  );
  const groups = new Set(added.flatMap(({ groups: counts }) => counts.map(([group]) => group)));
  // Groups that no changed window contains may still be in another window.
  if (base.groups.every((group) => groups.has(group))) return groups;
  const keptWindows: LoadedWindow[] = await loader.loadWindows(
    windows.filter(({ id }) => baseIds.has(id)),
    signal,
  );
  for (const { groups: counts } of keptWindows) for (const [group] of counts) groups.add(group);
  return groups;
}
