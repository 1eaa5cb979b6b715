import { ElementIds } from '../../../../annotation-format/element-ids.js';
import { schemaError, type MakeError } from '../../../../annotation-format/messages.js';
import { KnownOverlaySizes } from '../../../../annotation-format/overlay-sizes.js';
import { duplicateIdError, nameByIndex, type ElementValidator } from '../../../../annotation-format/validate.js';
import type { ChangedElements, ChangeOptions, ElementChanges, StoredElements, StoredWindow } from '../element-store.js';
import { elementTooLongError, maxElementBytes, checkGroupLimits } from './element-limits.js';
import { makeStoredElements } from './list-writer.js';
import type { ElementLoader, LoadedWindow } from '../read/loader.js';
import { locateElements, type Location } from '../read/locate.js';
import { toPackedElement, type PackedElement } from './packed-elements.js';
import { WindowEdit, createCellReader, draftFromElements, type EditTools, type ElementChange } from './window-edit.js';
import { isLong } from '../../../../core/json-pieces.js';
import { WindowWriter } from './window-writer.js';
import { isSliceOver, nextSlice, createSetInSlices } from '../../../../core/concurrency/slices.js';
import type { PendingWrite } from './pending-write.js';
import type { PendingRecords } from './pending-records.js';
import { writeElements, type WriteTools } from './write.js';

/** The dependencies of changes. */
export interface ChangeTools extends WriteTools {
  loader: ElementLoader;
  /** Returns the validator that throws the errors made by `makeError`. */
  validatorFor: (makeError: MakeError) => ElementValidator;
}

/** A valid element of the request, in the form in which packs store it. */
interface CheckedElement {
  id: string;
  packedElement: PackedElement;
  /** Whether the client sent the id. An element without its own id is new. */
  hasOwnId: boolean;
}

/** Checks the elements to put. Elements without an id get a new one. */
async function checkElements(
  tools: ChangeTools,
  put: readonly unknown[],
  sizes: KnownOverlaySizes,
  { signal, makeError = schemaError, nameOf = nameByIndex }: ChangeOptions,
): Promise<CheckedElement[]> {
  const validate = tools.validatorFor(makeError);
  const ids = new ElementIds();
  const checkedElements: CheckedElement[] = [];
  for (const [index, value] of put.entries()) {
    const newId = tools.ids.make();
    let packedElement: PackedElement;
    let ownId: string | undefined;
    if (isLong(value)) {
      const longElement = await tools.longElements.check(value, { name: nameOf(index), newId, sizes, makeError, signal });
      if (longElement.hasOwnId) ownId = longElement.id;
      const { buffer, byteOffset, byteLength } = longElement.text;
      packedElement = { ...longElement, position: 0, text: Buffer.from(buffer, byteOffset, byteLength) };
    } else {
      const element = validate(value, index, nameOf);
      ownId = element.id;
      if (sizes.isSizeMissing(element)) await sizes.loadSize(element);
      packedElement = toPackedElement(element, ownId ?? newId, 0, sizes.sizeOf(element));
    }
    if (ownId !== undefined && !ids.add(ownId)) throw duplicateIdError(ownId, index, makeError);
    if (packedElement.text.length > maxElementBytes) throw elementTooLongError(index);
    checkedElements.push({ id: packedElement.id, packedElement, hasOwnId: ownId !== undefined });
    if (isSliceOver()) await nextSlice(signal);
  }
  return checkedElements;
}

const zeroCounts = { replaced: 0, added: 0, removed: 0 };

/** Stores elements of an annotation that has no elements yet. */
export async function createElements(
  tools: ChangeTools,
  base: StoredElements,
  { put = [] }: ElementChanges,
  options: ChangeOptions,
): Promise<PendingWrite<ChangedElements>> {
  const checkedElements = await checkElements(tools, put, new KnownOverlaySizes(tools.brand, tools.overlaySizes), options);
  const ids = checkedElements.map(({ id }) => id);
  // `writeElements` checks the elements again, because its other callers pass unchecked elements.
  const elements = put.map((value, i) => ({ ...(value as object), id: ids[i] }));
  const write = await writeElements(tools, elements, options.signal);
  return write.map(async (stored) => ({
    stored: checkedElements.length === 0 ? base : stored,
    ids,
    ...zeroCounts,
    added: ids.length,
  }));
}

/** Postpones compression. `PendingRecords` compresses the texts of all packs together when it inserts them. */
const leaveUncompressed = async (text: Buffer) => ({ codec: 'none', text }) as const;

/**
 * See ElementEditing.change. The annotation must have elements.
 *
 * @param options `pending` receives the records. `takeLease` is called before the first record is written.
 */
export async function changeElements(
  tools: ChangeTools,
  base: StoredElements,
  { put = [], remove = [] }: ElementChanges,
  options: ChangeOptions & { pending: PendingRecords; takeLease: () => Promise<void> },
): Promise<ChangedElements> {
  const { signal, pending, takeLease } = options;
  const sizes = new KnownOverlaySizes(tools.brand, tools.overlaySizes);
  const checkedElements = await checkElements(tools, put, sizes, options);
  tools.recordActivity();
  await takeLease();
  const writer = new WindowWriter(pending, base.family, tools.ids, signal, leaveUncompressed);
  const editTools = { loader: tools.loader, writer, ids: tools.ids, layout: tools.layout, signal };
  const { stored, counts } = await applyChanges(tools, editTools, base, {
    put: checkedElements,
    remove: await createSetInSlices(remove, signal),
    sizes,
  });
  await writer.finish();
  return { stored, ids: checkedElements.map(({ id }) => id), ...counts };
}

interface ChangeCounts {
  replaced: number;
  added: number;
  removed: number;
}

async function applyChanges(
  tools: ChangeTools,
  editTools: EditTools,
  base: StoredElements,
  { put, remove, sizes }: { put: readonly CheckedElement[]; remove: ReadonlySet<string>; sizes: KnownOverlaySizes },
): Promise<{ stored: StoredElements; counts: ChangeCounts }> {
  const sentIds = put.filter(({ hasOwnId }) => hasOwnId).map(({ id }) => id);
  const locations = await locateElements(tools.loader, base, [...sentIds, ...remove], editTools.signal);
  const changes = new Map<number, Map<number, Map<number, ElementChange>>>();
  const addChange = ({ windowIndex, slot, row }: Location, change: ElementChange) => {
    const changesBySlot = changes.get(windowIndex) ?? new Map<number, Map<number, ElementChange>>();
    const changesByRow = changesBySlot.get(slot) ?? new Map<number, ElementChange>();
    changes.set(windowIndex, changesBySlot.set(slot, changesByRow.set(row, change)));
  };
  const counts: ChangeCounts = { ...zeroCounts };
  for (const id of remove) {
    const location = locations.get(id);
    if (location === undefined) continue;
    addChange(location, null);
    counts.removed += 1;
    if (isSliceOver()) await nextSlice(editTools.signal);
  }
  const appendedElements: PackedElement[] = [];
  for (const { id, packedElement } of put) {
    const location = remove.has(id) ? undefined : locations.get(id);
    if (location === undefined) {
      appendedElements.push(packedElement);
      counts.added += 1;
    } else {
      addChange(location, ({ position }) => ({ ...packedElement, position }));
      counts.replaced += 1;
    }
    if (isSliceOver()) await nextSlice(editTools.signal);
  }
  if (changes.size === 0 && appendedElements.length === 0) return { stored: base, counts };
  const stored = await writeChangedWindows(tools, editTools, base, { changes, appendedElements, shownItems: sizes.itemIds() });
  return { stored, counts };
}

async function writeChangedWindows(
  tools: ChangeTools,
  editTools: EditTools,
  base: StoredElements,
  {
    changes,
    appendedElements,
    shownItems,
  }: {
    /** The changes by index of the window, then by slot of the pack, then by row in the pack. */
    changes: ReadonlyMap<number, ReadonlyMap<number, ReadonlyMap<number, ElementChange>>>;
    appendedElements: readonly PackedElement[];
    /** Ids of the items whose images the new elements show. */
    shownItems: Iterable<string>;
  },
): Promise<StoredElements> {
  const lastWindowIndex = base.windows.length - 1;
  const windows: StoredWindow[] = [];
  let appendedCount = 0;
  for (const [windowIndex, stored] of base.windows.entries()) {
    const changesBySlot = changes.get(windowIndex);
    const receivesAppended = windowIndex === lastWindowIndex && appendedElements.length > 0;
    if (changesBySlot === undefined && !receivesAppended) {
      windows.push(stored);
      continue;
    }
    const [loadedWindow] = await tools.loader.loadWindows([stored], editTools.signal);
    const windowEdit = new WindowEdit(editTools, loadedWindow!, stored);
    if (changesBySlot !== undefined) await windowEdit.changeElements(changesBySlot);
    if (receivesAppended && windowEdit.capacity > 0) {
      // `append` may read the last pack. If this pack was changed above, it may still be on its way to the database.
      await editTools.writer.finish();
      appendedCount = Math.min(windowEdit.capacity, appendedElements.length);
      await windowEdit.append(appendedElements.slice(0, appendedCount));
    }
    const newWindow = await windowEdit.finish();
    if (newWindow !== null) windows.push(newWindow);
  }
  const { windowElements } = tools.layout;
  for (; appendedCount < appendedElements.length; appendedCount += windowElements) {
    windows.push(
      await editTools.writer.write(
        await draftFromElements(
          appendedElements.slice(appendedCount, appendedCount + windowElements),
          tools.layout,
          createCellReader(editTools.signal),
        ),
      ),
    );
  }
  await editTools.writer.finish();
  const groups = await findGroups(tools.loader, base, windows, editTools.signal);
  checkGroupLimits(groups);
  return makeStoredElements(base.family, tools.ids.make(), windows, groups, [...base.references, ...shownItems]);
}

/** Finds the groups of all windows. Usually, the windows are in memory. */
async function findGroups(
  loader: ElementLoader,
  base: StoredElements,
  windows: readonly StoredWindow[],
  signal: AbortSignal | undefined,
): Promise<Set<string | null>> {
  const baseIds = new Set(base.windows.map(({ id }) => id));
  const newWindows = await loader.loadWindows(
    windows.filter(({ id }) => !baseIds.has(id)),
    signal,
  );
  const foundGroups = new Set(newWindows.flatMap(({ groups }) => groups.map(([group]) => group)));
  // A group that is in no changed window may still be in an unchanged one.
  if (base.groups.every((group) => foundGroups.has(group))) return foundGroups;
  const keptWindows: LoadedWindow[] = await loader.loadWindows(
    windows.filter(({ id }) => baseIds.has(id)),
    signal,
  );
  for (const { groups } of keptWindows) for (const [group] of groups) foundGroups.add(group);
  return foundGroups;
}
