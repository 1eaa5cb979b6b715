import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { AccessLevel, Host, NewFile, StoredDocument } from '../../host.js';
import { HostRecords } from '../../core/host/host-records.js';
import { idText } from '../../core/database/id-text.js';
import { createTokenVerifier } from '../../core/host/token-verifier.js';
import type { HostUnderTest, TestUser } from './host-under-test.js';

/** Checks of a host, by the sentences that describe them. */
export type HostChecks = Readonly<Record<string, (trial: HostTrial) => Promise<void>>>;

/** The content of the files in the checks. */
export const content = Buffer.from('The quick brown fox jumps over the lazy dog.');

/** Unique bytes as long as `content`, because hosts that name files by their hash store equal files only once. */
export function newContent(): Buffer {
  return Buffer.from(randomBytes(content.length / 2).toString('hex'));
}

/** A host with two users, and functions that the checks use. */
export class HostTrial {
  readonly host: Host;
  readonly records: HostRecords;
  readonly verify: ReturnType<typeof createTokenVerifier>;

  private constructor(
    readonly underTest: HostUnderTest,
    readonly owner: TestUser,
    readonly stranger: TestUser,
  ) {
    this.host = underTest.host;
    this.records = new HostRecords(underTest.host);
    this.verify = createTokenVerifier(underTest.host.auth);
  }

  static async open(makeHost: () => Promise<HostUnderTest>): Promise<HostTrial> {
    const host = await makeHost();
    try {
      return new HostTrial(host, await host.createUser(), await host.createUser());
    } catch (error) {
      await host.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.records.restoreSchemas();
    await this.underTest.close();
  }

  async newItem(isPublic: boolean): Promise<{ folder: StoredDocument; item: StoredDocument }> {
    const { underTest, owner } = this;
    const folder = await underTest.createFolder({ owner, public: isPublic });
    return { folder, item: await underTest.createItem({ owner, folder, name: 'an item' }) };
  }

  createFile(
    item: StoredDocument,
    stream = Readable.from([newContent()]),
    options?: { signal: AbortSignal },
  ): Promise<StoredDocument> {
    const parent = { type: 'item', itemId: idText(item._id) } as const;
    return this.host.files.create({ name: 'fox.txt', mimeType: 'text/plain', size: content.length, parent }, stream, options);
  }

  /** Returns the ids of the documents that a user sees in a list. */
  async listVisibleIds(
    type: 'item' | 'folder',
    docs: readonly StoredDocument[],
    { user, level }: { user: TestUser | null; level: AccessLevel },
  ): Promise<string[]> {
    const model = this.host.models[type] as unknown as { find(filter: object): { lean(): Promise<StoredDocument[]> } };
    const filter = await this.host.access.filter(user === null ? null : await this.verify(user.token), type, level);
    const visibleDocs = await model.find({ $and: [filter, { _id: { $in: docs.map(({ _id }) => _id) } }] }).lean();
    return visibleDocs.map((doc) => idText(doc._id)).toSorted();
  }

  /** Runs work, and checks that it leaves no bytes in the storage. */
  async expectNoBytesLeft(work: () => Promise<unknown>): Promise<void> {
    const countBefore = await this.underTest.countStored?.();
    await work();
    assert.equal(await this.underTest.countStored?.(), countBefore, 'a failed or removed file leaves no bytes in the storage');
  }
}

/** A picture attached to an item, like the thumbnails that the plugin stores. */
export const newAttachedPicture = (item: StoredDocument, width: number): NewFile => ({
  name: '_largeImageThumbnail',
  mimeType: 'image/png',
  size: content.length,
  parent: { type: 'attached', itemId: idText(item._id) },
  fields: {
    attachedToType: 'item',
    attachedToId: item._id,
    isLargeImageThumbnail: true,
    thumbnailKey: `{"width":${width}}`,
  },
});

export async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
