import type { AccessLevel, Host, StoredDocument } from '../../host.js';

/** A user of the host under test, signed in. */
export interface TestUser {
  id: string;
  token: string;
}

/** An empty host, and functions that act like its users. */
export interface HostUnderTest {
  host: Host;
  /** Creates a user who is not a site administrator, and a token with full rights. */
  createUser(): Promise<TestUser>;
  /** Creates a folder of a user. If `public` is true, everyone can read the folder; otherwise, only the user can. */
  createFolder(options: { owner: TestUser; public: boolean }): Promise<StoredDocument>;
  createItem(options: { owner: TestUser; folder: StoredDocument; name: string }): Promise<StoredDocument>;
  /** Changes the name of an item, as a user of the host would. */
  renameItem(item: StoredDocument, name: string): Promise<void>;
  removeItem(item: StoredDocument): Promise<void>;
  /** Allows a user to read or write in a folder, or removes the user's access. */
  grant(folder: StoredDocument, user: TestUser, level: AccessLevel): Promise<void>;
  /** Ends the session of a user. Leave this function out if tokens are stateless (such as JWT) and stay valid until they expire. */
  revokeToken?: ((user: TestUser) => Promise<void>) | undefined;
  /**
   * Counts the files or objects in the host's storage, complete or not. A host that names files by their hash counts equal files once. Without this
   * function, only the records of failed uploads are checked, not their bytes.
   */
  countStored?(): Promise<number>;
  close(): Promise<void>;
}
