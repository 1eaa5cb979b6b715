import type { StoredElements, SweepReport } from './element-store.js';
import { decodePackIndex } from './packs/pack-index.js';
import { endClaimOfDeadSweeper, newLeaseId, sweepStaleMs } from './leases.js';
import type { IdMaker } from './packs/ids.js';
import type { ElementRecords, RecordKind } from './records.js';
import { hasEnded } from '../../../core/database/leases/process-name.js';
import { announceStep } from '../../../core/steps.js';

/** A lease that has not been renewed for this many milliseconds counts as that of a dead process, even if the process cannot be checked. */
const defaultStaleMs = 10 * 60_000;
/** Number of documents to remove between two renewals of the claim. */
const removalsPerRenewal = 1024;
const windowsPerQuery = 64;

/** Returns the stored elements of all documents of a family, see ElementStore.sweep. */
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
  for await (const family of families ?? records.listFamilies()) {
    signal?.throwIfAborted();
    const now = new Date();
    const leaseStaleBefore = new Date(now.getTime() - staleMs);
    const isEnded = ({ id, at }: { id: string; at: Date }) => at < leaseStaleBefore || hasEnded(id);
    if (families === undefined) {
      // This check needs no claim, so that writers do not wait for it if there is nothing to remove.
      const familyState = await checkFamily(records, family, elementsOf, isEnded);
      if (familyState === null) continue;
      report.families += 1;
      if (familyState === 'unused-records') report.abandoned += 1;
      if (familyState === 'all-used' || dryRun) continue;
    }
    await endClaimOfDeadSweeper(records, family);
    const claimId = newLeaseId(ids);
    const endedLeaseIds = (await records.listLeases(family)).filter(isEnded).map(({ id }) => id);
    if (
      !(await records.claimFamily(family, claimId, {
        now,
        endedLeaseIds,
        sweepStaleBefore: new Date(now.getTime() - sweepStaleMs),
      }))
    )
      continue;
    announceStep('elements-sweep:claimed');
    if (families !== undefined) report.families += 1;
    let isEmpty = false;
    try {
      // Documents are read after the claim, because no document can be added while the claim exists.
      const usedIds = await findUsedIds(records, await elementsOf(family));
      report.removed += await removeUnusedRecords(records, family, usedIds, async () => {
        signal?.throwIfAborted();
        return records.renewClaim(family, claimId, new Date());
      });
      isEmpty = usedIds.window.size === 0;
    } finally {
      await records.endClaim(family, claimId, isEmpty);
      announceStep('elements-sweep:ended');
    }
  }
  return report;
}

/**
 * Checks whether a family has records to which no document refers. A family can have no records at all, for example after a body
 * without elements.
 *
 * @returns `null` if the family has a pending write.
 */
async function checkFamily(
  records: ElementRecords,
  family: string,
  elementsOf: ElementsOfFamily,
  isEnded: (lease: { id: string; at: Date }) => boolean,
): Promise<'all-used' | 'no-records' | 'unused-records' | null> {
  const listedRecords: { kind: RecordKind; recordId: string }[] = [];
  for (const kind of ['window', 'part', 'pack'] as const) {
    for await (const { recordId } of records.listDocuments(family, kind)) listedRecords.push({ kind, recordId });
  }
  // Leases are read after the records were listed. If nobody is writing now, a document refers to a listed record already, or no document
  // will ever refer to it.
  if (!(await records.listLeases(family)).every(isEnded)) return null;
  const usedIds = await findUsedIds(records, await elementsOf(family));
  if (listedRecords.some(({ kind, recordId }) => !usedIds[kind].has(recordId))) return 'unused-records';
  return usedIds.window.size === 0 ? 'no-records' : 'all-used';
}

type UsedIds = Record<RecordKind, Set<string>>;

/** Finds the ids of all records to which the stored elements refer. */
async function findUsedIds(
  records: ElementRecords,
  storedElements: Iterable<StoredElements> | AsyncIterable<StoredElements>,
): Promise<UsedIds> {
  const usedIds: UsedIds = { window: new Set(), pack: new Set(), part: new Set() };
  for await (const { windows } of storedElements) for (const { id } of windows) usedIds.window.add(id);
  const ids = [...usedIds.window];
  for (let start = 0; start < ids.length; start += windowsPerQuery) {
    for (const window of (await records.findWindows(ids.slice(start, start + windowsPerQuery))).values()) {
      for (const { id, count } of decodePackIndex(window.packIndex).packs) if (count > 0) usedIds.pack.add(id);
      for (const id of [...window.idIndexParts, ...window.tableSegments.flat()]) usedIds.part.add(id);
    }
  }
  return usedIds;
}

async function removeUnusedRecords(
  records: ElementRecords,
  family: string,
  usedIds: UsedIds,
  renewClaim: () => Promise<boolean>,
): Promise<number> {
  let removedCount = 0;
  for (const kind of ['window', 'part', 'pack'] as const) {
    const unusedIds: string[] = [];
    for await (const { id, recordId } of records.listDocuments(family, kind))
      if (!usedIds[kind].has(recordId)) unusedIds.push(id);
    for (let start = 0; start < unusedIds.length; start += removalsPerRenewal) {
      if (!(await renewClaim())) return removedCount;
      removedCount += await records.removeDocuments(kind, unusedIds.slice(start, start + removalsPerRenewal));
      announceStep('elements-sweep:removed');
    }
  }
  return removedCount;
}
