import type { AccessLevel, Host, StoredDocument } from '../../host.js';

/** A user of the host under test, signed in. */
export interface TestUser {
  id: string;
  token: string;
}

/** An empty host, and functions that do what its own users would do. */
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
  /** Ends the session of a user. Leave it out where tokens are stateless (such as JWT) and stay valid until they expire. */
  revokeToken?: ((user: TestUser) => Promise<void>) | undefined;
  /**
   * Counts the files or objects in the host's storage, complete or not. A host that names files by their hash counts equal files once. Without this
   * function, only the records of failed uploads are checked, not their bytes.
   */
  countStored?(): Promise<number>;
  close(): Promise<void>;
}
