import type { StoredElements, SweepReport } from './contract.js';
import { decodeDirectory } from './directory.js';
import { sweepStaleMs } from './holds.js';
import type { IdMaker } from './ids.js';
import type { ElementRecords, RecordKind } from './records.js';

/** A hold not renewed for so long belongs to a process that died. */
const defaultStaleMs = 10 * 60_000;
/** Documents removed between two signs of life. */
const removedPerStep = 1024;
const windowsPerQuery = 64;

/** The heads of a family, see ElementStore.sweep. */
export type HeadsOfFamily = (family: string) => Promise<Iterable<StoredElements>> | AsyncIterable<StoredElements>;

/** Options of a sweep. */
export interface SweepOptions {
  families?: Iterable<string>;
  staleMs?: number;
  signal?: AbortSignal;
}

/** See ElementStore.sweep. */
export async function sweepFamilies(
  records: ElementRecords,
  ids: IdMaker,
  heads: HeadsOfFamily,
  { families, staleMs = defaultStaleMs, signal }: SweepOptions,
): Promise<SweepReport> {
  const report: SweepReport = { families: 0, removed: 0 };
  for await (const family of families ?? records.families()) {
    signal?.throwIfAborted();
    const now = new Date();
    const claim = ids.make();
    const times = { now, holdStale: new Date(now.getTime() - staleMs), sweepStale: new Date(now.getTime() - sweepStaleMs) };
    if (!(await records.claim(family, claim, times))) continue;
    let gone = false;
    try {
      // Heads are read after the claim: from here on nobody adds one.
      const used = await usedRecords(records, await heads(family));
      report.removed += await removeUnused(records, family, used, async () => {
        signal?.throwIfAborted();
        return records.renewClaim(family, claim, new Date());
      });
      gone = used.window.size === 0;
      report.families += 1;
    } finally {
      await records.endClaim(family, claim, gone);
    }
  }
  return report;
}

type Used = Record<RecordKind, Set<string>>;

/** Ids of everything that the heads refer to. */
async function usedRecords(
  records: ElementRecords,
  heads: Iterable<StoredElements> | AsyncIterable<StoredElements>,
): Promise<Used> {
  const used: Used = { window: new Set(), pack: new Set(), index: new Set() };
  for await (const { windows } of heads) for (const { id } of windows) used.window.add(id);
  const ids = [...used.window];
  for (let start = 0; start < ids.length; start += windowsPerQuery) {
    for (const window of (await records.findWindows(ids.slice(start, start + windowsPerQuery))).values()) {
      for (const { id, count } of decodeDirectory(window.directory).packs) if (count > 0) used.pack.add(id);
      for (const id of window.index) used.index.add(id);
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
  for (const kind of ['window', 'index', 'pack'] as const) {
    const unused: string[] = [];
    for await (const { id, of } of records.sweepable(family, kind)) if (!used[kind].has(of)) unused.push(id);
    for (let start = 0; start < unused.length; start += removedPerStep) {
      if (!(await isStillClaimed())) return removed;
      removed += await records.remove(kind, unused.slice(start, start + removedPerStep));
    }
  }
  return removed;
}
