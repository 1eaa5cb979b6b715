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

/** A window's pack index as stored; it never changes. */
export interface WindowRecord {
  id: string;
  family: string;
  /** See `encodePackIndex`. */
  packIndex: Buffer;
  /** JSON text of the groups with their numbers of elements: `[[group or null, count], …]`. */
  groups: string;
  /** Ids of the parts of the index of element ids; none for windows of few packs. */
  index: string[];
}

/** A part of a window's index of element ids, see `encodeIndex`; it never changes. */
export interface IndexRecord {
  id: string;
  family: string;
  entries: Buffer;
}

/** The kinds of documents that {@link ElementRecords.sweepable} lists. */
export type RecordKind = 'pack' | 'window' | 'index';

/** The part of a pack to fetch. */
export type PackPart = 'columns' | 'text' | 'both';

/** A fetched pack: `columns` is empty when only the text was requested, and vice versa. */
export type FetchedPack = Pick<PackRecord, 'columns' | 'codec' | 'text'>;

/** Stored documents by their ids, at most some hundred at a time; those that are not there are absent. */
export interface StoredRecords {
  findPacks(ids: readonly string[], part: PackPart): Promise<Map<string, FetchedPack>>;
  findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>>;
  findIndexes(ids: readonly string[]): Promise<Map<string, IndexRecord>>;
}

/**
 * The documents behind the element store; all queries on them are here. A family says which documents may be shared, and carries
 * the leases of writers and the claim of a sweeper, which exclude one another.
 */
export interface ElementRecords extends StoredRecords {
  createIndexes(): Promise<void>;

  insertPacks(packs: readonly PackRecord[]): Promise<void>;
  insertWindows(windows: readonly WindowRecord[]): Promise<void>;
  insertIndexes(parts: readonly IndexRecord[]): Promise<void>;

  /** Creates a family with a lease. */
  startFamily(family: string, leaseId: string, now: Date): Promise<void>;
  /** Adds a lease unless a sweep that showed itself after `sweepStale` is going on. @returns whether it was added. */
  addLease(family: string, leaseId: string, now: Date, sweepStale: Date): Promise<boolean>;
  /** Renews a lease. @returns false when it no longer exists. */
  renewLease(family: string, leaseId: string, now: Date): Promise<boolean>;
  dropLease(family: string, leaseId: string): Promise<void>;
  /** The leases on a family, and when each was last renewed. */
  leases(family: string): Promise<{ id: string; at: Date }[]>;
  /** The process that sweeps a family, or was killed while sweeping it; `null` if there is none. */
  claimOf(family: string): Promise<string | null>;

  /** All families, in no particular order. */
  families(): AsyncIterable<string>;
  /** Families that are leased or swept, or were when a process was killed. */
  leasedFamilies(): Promise<{ family: string; leaseIds: string[] }[]>;
  /**
   * Claims a family for a sweep: when there are no leases on it but those given, which end, and nobody else sweeps it, but for sweeps not
   * renewed since `sweepStale`.
   *
   * @returns whether it was claimed.
   */
  claim(family: string, claim: string, given: { now: Date; ended: readonly string[]; sweepStale: Date }): Promise<boolean>;
  /** Says that the sweeper is alive. @returns false when the claim is lost: stop at once. */
  renewClaim(family: string, claim: string, now: Date): Promise<boolean>;
  /** Ends a sweep; with `gone` the family is removed too. */
  endClaim(family: string, claim: string, gone: boolean): Promise<void>;

  /** All documents of a family of a kind; `of` is the record that needs the document: a long pack takes several. */
  sweepable(family: string, kind: RecordKind): AsyncIterable<{ id: string; of: string }>;
  /** Removes documents by the `id` of `sweepable`. @returns how many. */
  remove(kind: RecordKind, ids: readonly string[]): Promise<number>;
  /** Removes all documents of a family and the family. @returns how many documents. */
  removeFamily(family: string): Promise<number>;
}
