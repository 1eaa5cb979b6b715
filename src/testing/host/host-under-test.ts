import type { AccessLevel, Host, StoredDocument } from '../../host.js';

/** A user of the host under test, signed in. */
export interface TestUser {
  id: string;
  token: string;
}

/** A host with nothing in it, and what the suite needs to fill it the way its own users would. */
export interface HostUnderTest {
  host: Host;
  /** Makes a user who is no site administrator, and a token with full rights for them. */
  createUser(): Promise<TestUser>;
  /** Makes a folder owned by a user, readable by everyone or by no one else. */
  createFolder(options: { owner: TestUser; public: boolean }): Promise<StoredDocument>;
  createItem(options: { owner: TestUser; folder: StoredDocument; name: string }): Promise<StoredDocument>;
  /** Changes the name of an item, as a user of the host would. */
  renameItem(item: StoredDocument, name: string): Promise<void>;
  removeItem(item: StoredDocument): Promise<void>;
  /** Lets a user read, or write, or do nothing in a folder. */
  grant(folder: StoredDocument, user: TestUser, level: AccessLevel): Promise<void>;
  revokeToken(user: TestUser): Promise<void>;
  /**
   * How many files, objects or the like the host's store of bytes holds, finished or not. Without it, what is looked for after uploads that failed is
   * their records only.
   */
  countStored?(): Promise<number>;
  close(): Promise<void>;
}
