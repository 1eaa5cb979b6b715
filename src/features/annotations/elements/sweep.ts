import type { StoredElements, SweepReport } from './element-store.js';
import { decodePackIndex } from './packs/pack-index.js';
import { endLostClaim, newLeaseId, sweepStaleMs } from './leases.js';
import type { IdMaker } from './packs/ids.js';
import type { ElementRecords, RecordKind } from './records.js';
import { hasEnded } from '../../../core/database/leases/process-name.js';
import { step } from '../../../core/steps.js';

/** A lease that has not been renewed for this long belongs to a dead process, even if that cannot be checked. */
const defaultStaleMs = 10 * 60_000;
/** Number of documents to remove between two reports of being alive. */
const removedPerStep = 1024;
const windowsPerQuery = 64;

/** Gives the stored elements of all documents of a family, see ElementStore.sweep. */
export type ElementsOfFamily = (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>;

/** Options of a sweep. */
export interface SweepOptions {
  families?: Iterable<string>;
  staleMs?: number;
  dryRun?: boolean;
  signal?: AbortSignal;
}

/** See ElementStore.sweep. */
export async function sweepFamilies(
  records: ElementRecords,
  ids: IdMaker,
  elementsOf: ElementsOfFamily,
  { families, staleMs = defaultStaleMs, dryRun = false, signal }: SweepOptions,
): Promise<SweepReport> {
  const report: SweepReport = { families: 0, removed: 0, abandoned: 0 };
  for await (const family of families ?? records.families()) {
    signal?.throwIfAborted();
    const now = new Date();
    const leaseStale = new Date(now.getTime() - staleMs);
    const isEnded = ({ id, at }: { id: string; at: Date }) => at < leaseStale || hasEnded(id);
    if (families === undefined) {
      // Most families have nothing to remove, so writers need not wait.
      const unused = await findUnused(records, family, elementsOf, isEnded);
      if (unused === null) continue;
      report.families += 1;
      if (unused === 'something') report.abandoned += 1;
      if (unused === 'nothing' || dryRun) continue;
    }
    await endLostClaim(records, family);
    const claim = newLeaseId(ids);
    const ended = (await records.leases(family)).filter(isEnded).map(({ id }) => id);
    if (!(await records.claim(family, claim, { now, ended, sweepStale: new Date(now.getTime() - sweepStaleMs) }))) continue;
    step('elements-sweep:claimed');
    if (families !== undefined) report.families += 1;
    let isEmpty = false;
    try {
      // Documents are read after the claim, because from then on no document can be added.
      const used = await usedRecords(records, await elementsOf(family));
      report.removed += await removeUnused(records, family, used, async () => {
        signal?.throwIfAborted();
        return records.renewClaim(family, claim, new Date());
      });
      isEmpty = used.window.size === 0;
    } finally {
      await records.endClaim(family, claim, isEmpty);
      step('elements-sweep:ended');
    }
  }
  return report;
}

/**
 * Looks for records of a family that no document refers to. `family`: only the record of the family itself, as after a body without
 * elements. `null`: the family has a pending write.
 */
async function findUnused(
  records: ElementRecords,
  family: string,
  elementsOf: ElementsOfFamily,
  isEnded: (lease: { id: string; at: Date }) => boolean,
): Promise<'nothing' | 'family' | 'something' | null> {
  const found: { kind: RecordKind; recordId: string }[] = [];
  for (const kind of ['window', 'part', 'pack'] as const) {
    for await (const { recordId } of records.sweepable(family, kind)) found.push({ kind, recordId });
  }
  // Leases are read after the records were listed: if nobody is writing now, a document either already refers to a listed record or
  // never will.
  if (!(await records.leases(family)).every(isEnded)) return null;
  const used = await usedRecords(records, await elementsOf(family));
  if (found.some(({ kind, recordId }) => !used[kind].has(recordId))) return 'something';
  return used.window.size === 0 ? 'family' : 'nothing';
}

type Used = Record<RecordKind, Set<string>>;

/** Ids of everything that the stored elements refer to. */
async function usedRecords(
  records: ElementRecords,
  inUse: Iterable<StoredElements> | AsyncIterable<StoredElements>,
): Promise<Used> {
  const used: Used = { window: new Set(), pack: new Set(), part: new Set() };
  for await (const { windows } of inUse) for (const { id } of windows) used.window.add(id);
  const ids = [...used.window];
  for (let start = 0; start < ids.length; start += windowsPerQuery) {
    for (const window of (await records.findWindows(ids.slice(start, start + windowsPerQuery))).values()) {
      for (const { id, count } of decodePackIndex(window.packIndex).packs) if (count > 0) used.pack.add(id);
      for (const id of [...window.index, ...window.table.flat()]) used.part.add(id);
    }
  }
  return used;
}

async function removeUnused(
  records: ElementRecords,
  family: string,
  used: Used,
  isStillClaimed: () => Promise<boolean>,
): Promise<number> {
  let removed = 0;
  for (const kind of ['window', 'part', 'pack'] as const) {
    const unused: string[] = [];
    for await (const { id, recordId } of records.sweepable(family, kind)) if (!used[kind].has(recordId)) unused.push(id);
    for (let start = 0; start < unused.length; start += removedPerStep) {
      if (!(await isStillClaimed())) return removed;
      removed += await records.remove(kind, unused.slice(start, start + removedPerStep));
      step('elements-sweep:removed');
    }
  }
  return removed;
}
