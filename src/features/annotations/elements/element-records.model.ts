import type { Model, Types } from 'mongoose';
import type { ElementRecords, FetchedPack, PartRecord, PackFields, PackRecord, RecordKind, WindowRecord } from './records.js';
import { createIndexesOf } from '../../../core/database/indexes.js';
import { iterateInSlices } from '../../../core/database/read-limits.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { LargeImageError } from '../../../errors.js';
import { announceStep } from '../../../core/steps.js';

/**
 * Maximum number of bytes of text in one document of a pack. Longer texts continue in further documents, because MongoDB limits a document
 * to 16 MiB.
 */
const pieceBytes = 8 * 1024 * 1024;
/** Documents are inserted in messages of about this many bytes. A server accepts up to 48 MB. */
const messageBytes = 2 * 1024 * 1024;
/** Maximum number of ids in one query. */
const idsPerQuery = 128;

interface PackDocument {
  _id: Types.ObjectId;
  family: Types.ObjectId;
  columns?: Buffer;
  codec?: 'none' | 'deflate';
  text?: Buffer;
  /** Ids of the documents with the further pieces of the text, in order. */
  more?: Types.ObjectId[];
  /** Id of the pack. Only documents with a further piece of the pack's text have this field. */
  of?: Types.ObjectId;
}

interface WindowDocument {
  _id: Types.ObjectId;
  family: Types.ObjectId;
  packIndex: Buffer;
  groups: string;
  index: Types.ObjectId[];
  /** Missing in windows that an earlier version of this package stored, which had no tables. */
  table?: Types.ObjectId[][];
}

interface PartDocument {
  _id: Types.ObjectId;
  family: Types.ObjectId;
  entries: Buffer;
}

interface FamilyDocument {
  _id: Types.ObjectId;
  leases: { id: string; at: Date }[];
  /** When the claim of a sweeper was last renewed; `null` if the family is not being swept. */
  sweeping: Date | null;
  /** Id of the claim of a sweeper. */
  claim: string | null;
}

const unsupportedFormatMessage =
  'The elements of this annotation were stored by an earlier version, in a form that is no longer supported. Create the annotation again.';

/** Makes the driver return bytes as Buffers. Queries call the driver directly, because Mongoose would copy each document. */
const bufferOptions = { promoteBuffers: true } as const;

/** The records of the element store, in collections of the host's database. */
export class MongoElementRecords implements ElementRecords {
  readonly #ObjectId: typeof Types.ObjectId;
  readonly #packs: Model<PackDocument>;
  readonly #windows: Model<WindowDocument>;
  readonly #parts: Model<PartDocument>;
  readonly #families: Model<FamilyDocument>;

  constructor(collections: OwnCollections) {
    const { Schema, Types: HostTypes } = collections.connection.base;
    this.#ObjectId = HostTypes.ObjectId;
    const { ObjectId } = Schema.Types;
    const family = { type: ObjectId, required: true, index: true } as const;
    this.#packs = collections.model<PackDocument>(
      'LargeImageElementPack',
      'annotation_element_pack',
      new Schema({
        family,
        columns: Buffer,
        codec: String,
        text: Buffer,
        more: { type: [ObjectId], default: undefined },
        of: ObjectId,
      }),
    );
    this.#windows = collections.model<WindowDocument>(
      'LargeImageElementWindow',
      'annotation_element_window',
      new Schema({ family, packIndex: Buffer, groups: String, index: [ObjectId], table: [[ObjectId]] }),
    );
    this.#parts = collections.model<PartDocument>(
      'LargeImageElementPart',
      'annotation_element_part',
      new Schema({ family, entries: Buffer }),
    );
    this.#families = collections.model<FamilyDocument>(
      'LargeImageElementFamily',
      'annotation_element_family',
      new Schema({ leases: [{ _id: false, id: String, at: Date }], sweeping: Date, claim: String }),
    );
  }

  async createIndexes(): Promise<void> {
    await Promise.all([createIndexesOf(this.#packs), createIndexesOf(this.#windows), createIndexesOf(this.#parts)]);
  }

  #objectId(hex: string): Types.ObjectId {
    return new this.#ObjectId(hex);
  }

  async insertPacks(packs: readonly PackRecord[]): Promise<void> {
    const documents = packs.flatMap((pack) => this.#packDocuments(pack));
    await insertInMessages(this.#packs, documents, ({ text, columns }) => (text?.length ?? 0) + (columns?.length ?? 0));
  }

  /** Makes the documents of a pack. If its text is long, the further pieces of the text come first, and the pack itself last. */
  #packDocuments({ id, family, columns, codec, text }: PackRecord): PackDocument[] {
    const _id = this.#objectId(id);
    const sharedFields = { family: this.#objectId(family) };
    if (text.length <= pieceBytes) return [{ _id, ...sharedFields, columns, codec, text }];
    const pieces: PackDocument[] = [];
    for (let start = pieceBytes; start < text.length; start += pieceBytes) {
      const pieceId = new this.#ObjectId();
      pieces.push({ _id: pieceId, ...sharedFields, of: _id, text: text.subarray(start, start + pieceBytes) });
    }
    return [
      ...pieces,
      { _id, ...sharedFields, columns, codec, text: text.subarray(0, pieceBytes), more: pieces.map((piece) => piece._id) },
    ];
  }

  async insertWindows(windows: readonly WindowRecord[]): Promise<void> {
    const documents = windows.map(({ id, family, packIndex, groups, idIndexParts: index, tableSegments: table }) => ({
      _id: this.#objectId(id),
      family: this.#objectId(family),
      packIndex,
      groups,
      index: index.map((part) => this.#objectId(part)),
      table: table.map((parts) => parts.map((part) => this.#objectId(part))),
    }));
    await insertInMessages(this.#windows, documents, ({ packIndex, groups }) => packIndex.length + groups.length);
  }

  async insertParts(parts: readonly PartRecord[]): Promise<void> {
    const documents = parts.map(({ id, family, bytes: entries }) => ({
      _id: this.#objectId(id),
      family: this.#objectId(family),
      entries,
    }));
    await insertInMessages(this.#parts, documents, ({ entries }) => entries.length);
  }

  async #findDocuments<T extends { _id: Types.ObjectId }>(
    model: Model<T>,
    ids: readonly string[],
    projection: Record<string, 0 | 1> = {},
  ): Promise<T[]> {
    const queries: Promise<T[]>[] = [];
    for (let start = 0; start < ids.length; start += idsPerQuery) {
      const batch = ids.slice(start, start + idsPerQuery).map((id) => this.#objectId(id));
      const cursor = model.collection.find({ _id: { $in: batch } }, { ...bufferOptions, projection, batchSize: idsPerQuery });
      // The cast is safe, because only this class writes to the collection.
      queries.push(cursor.toArray() as unknown as Promise<T[]>);
    }
    return (await Promise.all(queries)).flat();
  }

  async findPacks(ids: readonly string[], fields: PackFields): Promise<Map<string, FetchedPack>> {
    const projection: Record<string, 0 | 1> =
      fields === 'columns' ? { columns: 1 } : fields === 'text' ? { columns: 0, family: 0 } : { family: 0 };
    const emptyBuffer = Buffer.alloc(0);
    const packsById = new Map<string, FetchedPack>();
    for (const doc of await this.#findDocuments(this.#packs, ids, projection)) {
      // Fields that were not requested are missing.
      const { columns = emptyBuffer, codec = 'none', text = emptyBuffer, more } = doc;
      packsById.set(doc._id.toHexString(), { columns, codec, text: more ? await this.#loadWholeText(text, more) : text });
    }
    return packsById;
  }

  async #loadWholeText(firstPiece: Buffer, pieceIds: readonly Types.ObjectId[]): Promise<Buffer> {
    const pieces = [firstPiece];
    for (const _id of pieceIds) {
      const doc = (await this.#packs.collection.findOne({ _id }, bufferOptions)) as unknown as PackDocument | null;
      if (doc?.text !== undefined) pieces.push(doc.text);
    }
    return Buffer.concat(pieces);
  }

  async findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>> {
    const windowsById = new Map<string, WindowRecord>();
    const hexIds = (list: readonly Types.ObjectId[]) => list.map((part) => part.toHexString());
    for (const { _id, family, packIndex, groups, index, table } of await this.#findDocuments(this.#windows, ids)) {
      if (table === undefined) throw new LargeImageError('not-implemented', unsupportedFormatMessage);
      const id = _id.toHexString();
      const record = {
        id,
        family: family.toHexString(),
        packIndex,
        groups,
        idIndexParts: hexIds(index),
        tableSegments: table.map(hexIds),
      };
      windowsById.set(id, record);
    }
    return windowsById;
  }

  async findParts(ids: readonly string[]): Promise<Map<string, PartRecord>> {
    const partsById = new Map<string, PartRecord>();
    for (const { _id, family, entries } of await this.#findDocuments(this.#parts, ids)) {
      const id = _id.toHexString();
      partsById.set(id, { id, family: family.toHexString(), bytes: entries });
    }
    return partsById;
  }

  async createFamily(family: string, leaseId: string, now: Date): Promise<void> {
    const leases = [{ id: leaseId, at: now }];
    await this.#families.collection.insertOne({ _id: this.#objectId(family), leases, sweeping: null, claim: null });
  }

  async addLease(family: string, leaseId: string, now: Date, sweepStaleBefore: Date): Promise<boolean> {
    const result = await this.#families.updateOne(
      { _id: this.#objectId(family), $or: [{ sweeping: null }, { sweeping: { $lt: sweepStaleBefore } }] },
      { $push: { leases: { id: leaseId, at: now } }, $set: { sweeping: null, claim: null } },
    );
    return result.matchedCount > 0;
  }

  async renewLease(family: string, leaseId: string, now: Date): Promise<boolean> {
    const result = await this.#families.updateOne(
      { _id: this.#objectId(family), 'leases.id': leaseId },
      { $set: { 'leases.$.at': now } },
    );
    return result.matchedCount > 0;
  }

  async dropLease(family: string, leaseId: string): Promise<void> {
    await this.#families.updateOne({ _id: this.#objectId(family) }, { $pull: { leases: { id: leaseId } } });
  }

  async listLeases(family: string): Promise<{ id: string; at: Date }[]> {
    const doc = await this.#families.findById(this.#objectId(family), { leases: 1 }).lean<Pick<FamilyDocument, 'leases'>>();
    return doc?.leases ?? [];
  }

  async findClaimId(family: string): Promise<string | null> {
    const doc = await this.#families.findById(this.#objectId(family), { claim: 1 }).lean<Pick<FamilyDocument, 'claim'>>();
    return doc?.claim ?? null;
  }

  async *listFamilies(): AsyncGenerator<string> {
    for await (const { _id } of iterateInSlices<{ _id: Types.ObjectId }>(this.#families.find({}, { _id: 1 }).lean())) {
      yield _id.toHexString();
    }
  }

  async listLeasedFamilies(): Promise<{ family: string; leaseIds: string[] }[]> {
    const query = { $or: [{ 'leases.0': { $exists: true } }, { claim: { $ne: null } }] };
    const docs = await this.#families.find(query, { leases: 1, claim: 1 }).lean<FamilyDocument[]>();
    return docs.map(({ _id, leases, claim }) => ({
      family: _id.toHexString(),
      leaseIds: [...leases.map(({ id }) => id), ...(claim === null ? [] : [claim])],
    }));
  }

  async claimFamily(
    family: string,
    claimId: string,
    { now, endedLeaseIds, sweepStaleBefore }: { now: Date; endedLeaseIds: readonly string[]; sweepStaleBefore: Date },
  ): Promise<boolean> {
    const _id = this.#objectId(family);
    if (endedLeaseIds.length > 0)
      await this.#families.updateOne({ _id }, { $pull: { leases: { id: { $in: [...endedLeaseIds] } } } });
    const claimedFamily = await this.#families.findOneAndUpdate(
      { _id, leases: { $size: 0 }, $or: [{ sweeping: null }, { sweeping: { $lt: sweepStaleBefore } }] },
      { $set: { sweeping: now, claim: claimId } },
    );
    return claimedFamily !== null;
  }

  async renewClaim(family: string, claimId: string, now: Date): Promise<boolean> {
    const result = await this.#families.updateOne({ _id: this.#objectId(family), claim: claimId }, { $set: { sweeping: now } });
    return result.matchedCount > 0;
  }

  async endClaim(family: string, claimId: string, isEmpty: boolean): Promise<void> {
    const filter = { _id: this.#objectId(family), claim: claimId };
    if (isEmpty) await this.#families.deleteOne(filter);
    else await this.#families.updateOne(filter, { $set: { sweeping: null, claim: null } });
  }

  #modelOf(kind: RecordKind): Model<PackDocument> | Model<WindowDocument> | Model<PartDocument> {
    return { pack: this.#packs, window: this.#windows, part: this.#parts }[kind];
  }

  async *listDocuments(family: string, kind: RecordKind): AsyncGenerator<{ id: string; recordId: string }> {
    const cursor = this.#modelOf(kind).collection.find({ family: this.#objectId(family) }, { projection: { _id: 1, of: 1 } });
    for await (const doc of cursor) {
      const { _id, of } = doc as unknown as { _id: Types.ObjectId; of?: Types.ObjectId };
      const id = _id.toHexString();
      yield { id, recordId: of?.toHexString() ?? id };
    }
  }

  async removeDocuments(kind: RecordKind, ids: readonly string[]): Promise<number> {
    let removedCount = 0;
    for (let start = 0; start < ids.length; start += idsPerQuery) {
      const batch = ids.slice(start, start + idsPerQuery).map((id) => this.#objectId(id));
      removedCount += (await this.#modelOf(kind).collection.deleteMany({ _id: { $in: batch } })).deletedCount;
    }
    return removedCount;
  }

  async removeFamily(family: string): Promise<number> {
    const filter = { family: this.#objectId(family) };
    let removedCount = 0;
    for (const model of [this.#windows, this.#parts, this.#packs]) {
      removedCount += (await model.collection.deleteMany(filter)).deletedCount;
    }
    await this.#families.deleteOne({ _id: this.#objectId(family) });
    return removedCount;
  }
}

async function insertInMessages<T extends { _id: Types.ObjectId }>(
  model: Model<T>,
  documents: readonly T[],
  bytesOf: (document: T) => number,
): Promise<void> {
  let message: T[] = [];
  let byteCount = 0;
  const send = async () => {
    if (message.length > 0) {
      await model.collection.insertMany(message as object[], { ordered: false });
      announceStep('elements:inserted');
    }
    message = [];
    byteCount = 0;
  };
  for (const document of documents) {
    message.push(document);
    byteCount += bytesOf(document);
    if (byteCount >= messageBytes) await send();
  }
  await send();
}
