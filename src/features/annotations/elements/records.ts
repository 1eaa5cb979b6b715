/** A pack as stored; it never changes. */
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

/** A window as stored; it never changes. */
export interface WindowRecord {
  id: string;
  family: string;
  /** See `encodePackIndex`. */
  packIndex: Buffer;
  /** JSON text of the groups with their numbers of elements: `[[group or null, count], …]`. */
  groups: string;
  /** Ids of the parts of the index of element ids; none for windows of few packs. */
  idIndexParts: string[];
  /** Segments of the table: the ids of the parts of each, see `encodeSegment`. */
  tableSegments: string[][];
}

/** A part of a window's index of element ids or of its table, see `encodeIdIndex` and `encodeSegment`; it never changes. */
export interface PartRecord {
  id: string;
  family: string;
  bytes: Buffer;
}

/** The kinds of records, each in a collection. */
export type RecordKind = 'pack' | 'window' | 'part';

/** The fields of a pack to fetch. */
export type PackFields = 'columns' | 'text' | 'both';

/** A fetched pack: `columns` is empty when only the text was requested, and vice versa. */
export type FetchedPack = Pick<PackRecord, 'columns' | 'codec' | 'text'>;

/** Finds stored records by their ids, at most a few hundred at a time. Records that do not exist are missing in the results. */
export interface RecordFinder {
  findPacks(ids: readonly string[], fields: PackFields): Promise<Map<string, FetchedPack>>;
  findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>>;
  findParts(ids: readonly string[]): Promise<Map<string, PartRecord>>;
}

/**
 * The documents behind the element store, with all queries on them. A family determines which documents can be shared, and holds the
 * leases of writers and the claim of a sweeper, which exclude each other.
 */
export interface ElementRecords extends RecordFinder {
  createIndexes(): Promise<void>;

  insertPacks(packs: readonly PackRecord[]): Promise<void>;
  insertWindows(windows: readonly WindowRecord[]): Promise<void>;
  insertParts(parts: readonly PartRecord[]): Promise<void>;

  /** Creates a family with a lease. */
  createFamily(family: string, leaseId: string, now: Date): Promise<void>;
  /** Adds a lease, unless a sweep is running that was renewed since `sweepStaleBefore`. @returns whether it was added. */
  addLease(family: string, leaseId: string, now: Date, sweepStaleBefore: Date): Promise<boolean>;
  /** Renews a lease. @returns false if it no longer exists. */
  renewLease(family: string, leaseId: string, now: Date): Promise<boolean>;
  dropLease(family: string, leaseId: string): Promise<void>;
  /** The leases on a family, and when each was last renewed. */
  listLeases(family: string): Promise<{ id: string; at: Date }[]>;
  /** Id of the claim on a family, which names the process that sweeps it or died while sweeping it; `null` if there is no claim. */
  findClaimId(family: string): Promise<string | null>;

  /** All families, in no particular order. */
  listFamilies(): AsyncIterable<string>;
  /** Families with leases or a claim, including those of killed processes. `leaseIds` includes the id of the claim. */
  listLeasedFamilies(): Promise<{ family: string; leaseIds: string[] }[]>;
  /**
   * Claims a family for a sweep. Removes the leases in `endedLeaseIds`, and succeeds if no others are left and nobody else sweeps the
   * family. A sweep that was not renewed since `sweepStaleBefore` does not count.
   *
   * @returns whether it was claimed.
   */
  claimFamily(
    family: string,
    claimId: string,
    options: { now: Date; endedLeaseIds: readonly string[]; sweepStaleBefore: Date },
  ): Promise<boolean>;
  /** Reports that the sweeper is alive. @returns false if the claim is lost; the sweeper must stop immediately. */
  renewClaim(family: string, claimId: string, now: Date): Promise<boolean>;
  /** Ends a sweep; if `isEmpty`, the family is removed too. */
  endClaim(family: string, claimId: string, isEmpty: boolean): Promise<void>;

  /**
   * Lists all documents of one kind in a family. A long pack takes several documents; `recordId` is the id of the pack in each.
   */
  listDocuments(family: string, kind: RecordKind): AsyncIterable<{ id: string; recordId: string }>;
  /** Removes documents by the `id` from {@link listDocuments}. @returns how many were removed. */
  removeDocuments(kind: RecordKind, ids: readonly string[]): Promise<number>;
  /** Removes a family with all its documents. @returns how many documents were removed. */
  removeFamily(family: string): Promise<number>;
}
