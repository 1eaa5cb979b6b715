/** A stored pack. It never changes. */
export interface PackRecord {
  id: string;
  family: string;
  /** See `encodeColumns`. */
  columns: Buffer;
  /** How `text` is compressed. */
  codec: 'none' | 'deflate';
  /** JSON texts of the elements, joined and compressed. */
  text: Buffer;
}

/** A stored window. It never changes. */
export interface WindowRecord {
  id: string;
  family: string;
  /** See `encodePackIndex`. */
  packIndex: Buffer;
  /** JSON text of the groups with their numbers of elements: `[[group or null, count], …]`. */
  groups: string;
  /** Ids of the parts of the index of element ids. Windows of few packs have no such index. */
  idIndexParts: string[];
  /** The segments of the table. Each segment is a list of the ids of its parts, see `TableDraft.encodeSegment`. */
  tableSegments: string[][];
}

/** A part of a window's index of element ids or of its table, see `encodeIdIndex` and `TableDraft.encodeSegment`. It never changes. */
export interface PartRecord {
  id: string;
  family: string;
  bytes: Buffer;
}

/** The kinds of records. Each kind has a collection. */
export type RecordKind = 'pack' | 'window' | 'part';

/** Selects the fields of packs to fetch. */
export type PackFields = 'columns' | 'text' | 'both';

/** A fetched pack. Fields that were not requested are empty. */
export type FetchedPack = Pick<PackRecord, 'columns' | 'codec' | 'text'>;

/** Finds stored records by their ids, at most a few hundred at a time. Records that do not exist are missing in the results. */
export interface RecordFinder {
  findPacks(ids: readonly string[], fields: PackFields): Promise<Map<string, FetchedPack>>;
  findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>>;
  findParts(ids: readonly string[]): Promise<Map<string, PartRecord>>;
}

/**
 * The documents behind the element store, with all queries on them. Annotations of one family can share documents. A family holds the
 * leases of writers and the claim of a sweeper. Leases and a claim exclude each other.
 */
export interface ElementRecords extends RecordFinder {
  createIndexes(): Promise<void>;

  insertPacks(packs: readonly PackRecord[]): Promise<void>;
  insertWindows(windows: readonly WindowRecord[]): Promise<void>;
  insertParts(parts: readonly PartRecord[]): Promise<void>;

  /** Creates a family with a lease. */
  createFamily(family: string, leaseId: string, now: Date): Promise<void>;
  /**
   * Adds a lease, unless the family is being swept. A sweep that was not renewed since `sweepStaleBefore` does not count.
   *
   * @returns whether the lease was added.
   */
  addLease(family: string, leaseId: string, now: Date, sweepStaleBefore: Date): Promise<boolean>;
  /** Renews a lease. @returns false if the lease no longer exists. */
  renewLease(family: string, leaseId: string, now: Date): Promise<boolean>;
  dropLease(family: string, leaseId: string): Promise<void>;
  /** Lists the leases on a family. `at` is the time when the lease was last renewed. */
  listLeases(family: string): Promise<{ id: string; at: Date }[]>;
  /**
   * Finds the id of the claim on a family; `null` if there is no claim. The id names the process that sweeps the family, or that died while
   * sweeping it.
   */
  findClaimId(family: string): Promise<string | null>;

  /** Lists all families, in no particular order. */
  listFamilies(): AsyncIterable<string>;
  /** Lists the families with leases or a claim, including leases and claims of killed processes. `leaseIds` includes the id of the claim. */
  listLeasedFamilies(): Promise<{ family: string; leaseIds: string[] }[]>;
  /**
   * Claims a family for a sweep. Removes the leases in `endedLeaseIds`, and succeeds if no other leases are left and nobody else sweeps
   * the family. A sweep that was not renewed since `sweepStaleBefore` does not count.
   *
   * @returns whether the family was claimed.
   */
  claimFamily(
    family: string,
    claimId: string,
    options: { now: Date; endedLeaseIds: readonly string[]; sweepStaleBefore: Date },
  ): Promise<boolean>;
  /** Reports that the sweeper is alive. @returns false if the claim is lost. The sweeper must then stop immediately. */
  renewClaim(family: string, claimId: string, now: Date): Promise<boolean>;
  /** Ends a sweep. If `isEmpty`, the family is removed too. */
  endClaim(family: string, claimId: string, isEmpty: boolean): Promise<void>;

  /**
   * Lists all documents of one kind in a family. A long pack takes several documents, all of which have the id of the pack as `recordId`.
   */
  listDocuments(family: string, kind: RecordKind): AsyncIterable<{ id: string; recordId: string }>;
  /** Removes documents by the `id` from {@link listDocuments}. @returns the number of removed documents. */
  removeDocuments(kind: RecordKind, ids: readonly string[]): Promise<number>;
  /** Removes a family with all its documents. @returns the number of removed documents. */
  removeFamily(family: string): Promise<number>;
}
