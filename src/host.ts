import type { Readable } from 'node:stream';
import type { Agenda } from 'agenda';
import type { RequestHandler } from 'express';
import type { Connection, Mongoose } from 'mongoose';
import type { RouteOutline } from './http/route.js';
import type { SettingDefinition } from './features/settings/definition.js';

/** A document as stored in MongoDB. */
export type StoredDocument = Record<string, unknown> & { _id: unknown };

/** Levels of permission: none, read, write, administer. */
export type AccessLevel = -1 | 0 | 1 | 2;

/** The user or session that makes a request, as returned by {@link HostAuth}. */
export interface Caller {
  /** The user's id as text; `null` for an anonymous session with a token. */
  id: string | null;
  /** Site administrators pass every check. */
  admin: boolean;
  /** Scopes of the token. `core.user_auth` includes every other scope of a user. */
  scopes: readonly string[];
  /** When the token stops being valid. The plugin never caches the caller for longer. */
  expires?: Date;
}

/**
 * A strategy of Passport that reads a token from `Authorization: Bearer`, such as those of passport-jwt and passport-http-bearer.
 */
export interface HostStrategy {
  authenticate(request: never, options?: never): unknown;
}

/** How the host finds the owner of a token. */
export type HostTokens =
  | {
      /** Returns the owner of a token, or `null` if the token is unknown, expired or revoked. */
      verify(token: string): Promise<Caller | null>;
      strategies?: undefined;
    }
  | {
      /**
       * Strategies that the server already has. They are tried in order until one succeeds. The request that they see contains only
       * the token, as `Authorization: Bearer`, even if the client has sent the token in another place.
       */
      strategies: readonly HostStrategy[];
      /**
       * Turns the user found by a strategy into a caller, or `null` if the user cannot sign in. Set `expires` here, because
       * Passport does not know it.
       */
      caller(user: unknown, info: unknown): Caller | null | Promise<Caller | null>;
      verify?: undefined;
    };

/** Verifies tokens, and names the places where requests contain them. */
export type HostAuth = HostTokens & HostAuthOptions;

/** Optional members of {@link HostAuth}. */
export interface HostAuthOptions {
  /**
   * The current user, without scopes; `null` if they no longer exist or cannot sign in. Called before work starts that the user
   * requested earlier. Default: the caller as recorded with that request.
   */
  user?(id: string): Promise<Caller | null>;
  /** Name of the cookie that can contain a token. Default `girderToken`. */
  cookieName?: string;
  /** Name of another request header for tokens, in addition to `Authorization: Bearer`. Default `Girder-Token`. */
  headerName?: string;
}

/** The permissions of one user or group, in an access list. */
export interface AccessEntry {
  id: string;
  level: 0 | 1 | 2;
  /** Permissions that no level includes, such as `large_image_create_annotations`. */
  flags?: readonly string[];
}

/** A list of permissions. */
export interface AccessList {
  users: readonly AccessEntry[];
  groups: readonly AccessEntry[];
  /** Whether everyone can read. */
  public: boolean;
  /** Flags that everyone has. */
  publicFlags?: readonly string[];
}

/** Permissions on items and folders. */
export interface HostAccess {
  /** The caller's level on a document. A `null` caller is anonymous. The plugin also asks for the level of site administrators. */
  level(caller: Caller | null, subject: { type: 'item' | 'folder'; doc: StoredDocument }): Promise<AccessLevel>;
  /** A MongoDB filter on the model that matches the documents on which the caller has at least `level`. Lists use this filter. */
  filter(caller: Caller | null, type: 'item' | 'folder', level: AccessLevel): Promise<Record<string, unknown>>;
  /**
   * The permissions on a folder. New annotations of the folder's items start with this list. Default: a list without entries, which
   * is public if an anonymous caller can read the folder.
   */
  list?(folder: StoredDocument): Promise<AccessList>;
  /**
   * Flags that the caller has on a folder. `large_image_create_annotations` lets them annotate its items without writing to them.
   * Default: none.
   */
  flags?(caller: Caller | null, folder: StoredDocument): Promise<readonly string[]>;
}

/** Users and groups, for the access lists of annotations and for comments. */
export interface HostDirectory {
  /**
   * The users among `ids` that exist; with `asker`, only those that the asker can see. `isDisabled` says that the user cannot sign
   * in. Every document needs an administrator, and disabled users do not count as administrators.
   */
  users(
    ids: readonly string[],
    asker?: Caller | null,
  ): Promise<{ id: string; login: string; name: string; isDisabled?: boolean }[]>;
  /**
   * The groups among `ids` that exist; with `asker`, only those that the asker can see. `hasMembers` says whether someone who can
   * sign in belongs to the group; only such a group counts as an administrator. Without `hasMembers`, only the caller's own groups
   * count.
   */
  groups(
    ids: readonly string[],
    asker?: Caller | null,
  ): Promise<{ id: string; name: string; description: string; hasMembers?: boolean }[]>;
  /** Ids of the groups that a user belongs to. */
  groupsOf(userId: string): Promise<readonly string[]>;
  /**
   * The users with these logins that the asker can see, for mentions (`@login`) in comments. The logins are in lower case. Default:
   * comments mention nobody.
   */
  usersByLogin?(logins: readonly string[], asker: Caller): Promise<{ id: string; login: string; name: string }[]>;
}

/** Name, type, size and owner of a file to be created. */
export interface NewFile {
  name: string;
  mimeType: string;
  /** Length of the stream in bytes. */
  size: number;
  /**
   * `item`: an ordinary file of the item. `attached`: a file that is removed and copied with the item, but is not listed among its
   * files.
   */
  parent: { type: 'item' | 'attached'; itemId: string };
  /** Further fields of the record. The plugin declares all these fields on the file model. */
  fields?: Record<string, unknown>;
  creatorId?: string | null;
}

/** A file to be created and its bytes. */
export interface NewFileContent {
  file: NewFile;
  content: Readable;
}

/** Bytes of files. Records are read and queried through `models.file`. */
export interface HostFiles {
  /** Path of the file on this machine, or `null` if its bytes are stored elsewhere. */
  localPath(file: StoredDocument): Promise<string | null>;
  /** Bytes from `start` to `end`, not including `end`. */
  read(file: StoredDocument, range: { start: number; end: number }, options?: { signal?: AbortSignal }): Promise<Readable>;
  /**
   * Stores a stream as a new file. Resolves with the file's record when bytes and record are complete. If storing fails, nothing of
   * the file is left.
   */
  create(file: NewFile, content: Readable, options?: { signal?: AbortSignal }): Promise<StoredDocument>;
  /** Removes record and bytes. */
  remove(file: StoredDocument): Promise<void>;
  /**
   * Creates several small files with fewer operations than separate calls of {@link HostFiles.create}. Each file succeeds or fails
   * separately. Resolves when all files have been tried, with the results in the order of `files`. Default: one call of `create`
   * per file.
   */
  createMany?(files: readonly NewFileContent[]): Promise<PromiseSettledResult<StoredDocument>[]>;
  /**
   * Removes at most a few hundred files with fewer operations than separate calls of {@link HostFiles.remove}. Files that no longer
   * exist are not an error. Default: one call of `remove` per file.
   */
  removeMany?(files: readonly StoredDocument[]): Promise<void>;
  /** Moves a file to another item. Default: the plugin changes the file's record through the model. */
  move?(file: StoredDocument, itemId: string): Promise<void>;
  /**
   * Removes stored bytes that have no record because a process was killed before it stored the record. Called at startup and
   * daily. The returned counts are logged. Default: nothing is removed.
   */
  sweep?(options: { signal: AbortSignal }): Promise<Readonly<Record<string, number>>>;
  /**
   * Access to further files that belong to a file without being files of an item, such as the chunks of a Zarr. These further files
   * are in the folder of the file, or in folders below. `null` if the file cannot have any. Default: `null` for all files.
   */
  tree?(file: StoredDocument): HostFileTree | null;
  /** The address from which clients can download the file, for `redirect` on tiles; `null` if there is none. */
  downloadPath?(file: StoredDocument): string | null;
}

/** Files that belong to another file, by their paths relative to its folder. */
export interface HostFileTree {
  /** `null` if there is no file at the path. */
  file(path: string): Promise<{
    /** In bytes. */
    size: number;
    /** Up to `length` bytes from `offset`; fewer only at the end. */
    read(offset: number, length: number, options?: { signal?: AbortSignal | undefined }): Promise<Uint8Array>;
  } | null>;
}

/** Events from the host to the plugin. Payloads contain stored documents. */
export interface HostEventPayloads {
  'item.saved': { item: StoredDocument };
  'item.removed': { item: StoredDocument };
  /**
   * Items were removed together. A host that removes thousands of items announces a few hundred of them per event, instead of
   * sending `item.removed` for each. Then everything that belongs to the items is removed with few commands to the database.
   */
  'items.removed': { items: readonly StoredDocument[] };
  /**
   * Items were put into a trash of the host. Until `item.shown`, the plugin answers requests for these items as if they did not
   * exist, but keeps everything that belongs to them. The host may leave the documents of the items unchanged, or move them
   * elsewhere. Send at most a few hundred items in one event.
   */
  'item.hidden': { items: readonly StoredDocument[] };
  /** Items were taken out of the trash again, and exist as before. */
  'item.shown': { items: readonly StoredDocument[] };
  'item.copied': {
    source: StoredDocument;
    item: StoredDocument;
    fileIds: ReadonlyMap<string, string>;
    /** Id of the user who copied the item. */
    userId?: string | null;
    /** Whether the annotations are copied too. Default true. */
    copyAnnotations?: boolean;
  };
  'file.saved': {
    file: StoredDocument;
    created: boolean;
    /** Set if the content of the file has changed: when the host noticed the change. The item's annotations record this time. */
    replacedAt?: Date;
  };
  /**
   * Items were created together, with one file each. A host with thousands of new files announces a few hundred of them per event,
   * instead of sending `file.saved` for each. Then the items become images with few commands to the database.
   */
  'files.added': { added: readonly { file: StoredDocument; item: StoredDocument }[] };
  'file.removed': { file: StoredDocument };
  /** At most a few hundred files were removed together. A host may send this event instead of `file.removed` for each file. */
  'files.removed': { files: readonly StoredDocument[] };
  /**
   * An upload has ended. `reference` is a text that the client attached to the upload. `id` identifies the upload: an upload may be
   * announced again after a crash, and a listener acts on each `id` only once.
   */
  'upload.finished': { file: StoredDocument; caller: Caller | null; reference?: string; id?: string };
  'folder.saved': { folder: StoredDocument };
  'folder.removed': { folder: StoredDocument };
  'user.removed': { userId: string };
  'group.removed': { groupId: string };
  /** Permissions may have changed, for any user and any document. */
  'access.changed': Record<string, never>;
  /** A token is no longer valid; without `token`, any token may be affected. */
  'token.revoked': { token?: string };
}

/** Names of {@link HostEventPayloads}. */
export type HostEventName = keyof HostEventPayloads;

/** Subscriptions to events of the host. */
export interface HostEvents {
  /** Calls `listener` for each event until the returned function is called. The host waits for the promise of the listener. */
  on<N extends HostEventName>(name: N, listener: (payload: HostEventPayloads[N]) => void | Promise<void>): () => void;
}

/** A message to a user: job progress, finished conversions. */
export interface HostNotification {
  userId: string;
  /** `job_status`, `job_log`, `progress`, `large_image.finished_image_item` … */
  type: string;
  data: Record<string, unknown>;
  /** After this time the message need not be kept. */
  expires?: Date;
}

/** Structured log in pino's order: fields first, then a stable event name. */
export interface HostLogger {
  debug(fields: object, event: string): void;
  info(fields: object, event: string): void;
  warn(fields: object, event: string): void;
  error(fields: object, event: string): void;
}

/** Names of the fields of the host's models. The default name of each field is the name of its member here. */
export interface HostFields {
  item: { name: string; folderId: string; created: string; updated: string; size: string; meta: string };
  file: { name: string; itemId: string; mimeType: string; size: string; created: string };
  folder: { name: string; parentId: string; meta: string };
}

/** Where the plugin's router is mounted: an Express application or one of its routers. */
export interface HostApp {
  use(path: string, handler: RequestHandler): unknown;
}

/** A model of the host, compiled with Mongoose: a `Model` of any documents. */
export interface HostModel {
  readonly modelName: string;
  readonly db: Connection;
  readonly schema: object;
  countDocuments(filter: never): PromiseLike<number>;
}

/** Everything `install` needs from the server. Each optional member has a default in the plugin. */
export interface Host {
  /**
   * The Express application, or a router of it. `install` mounts the plugin's router here, so add catch-all routes afterwards.
   */
  app: HostApp;
  /** Path of the REST API relative to `app`, without trailing slash, such as `/api/v1`. */
  apiRoot: string;
  /** Name of the product in the API. Default `service`. Existing clients need `girder`. */
  brand?: string;
  /** The host's own instance. The plugin compiles its models on the connection of `models.item`. */
  mongoose: Mongoose;
  /** The host's compiled models. The plugin adds its fields to their schemas until `close`. */
  models: { item: HostModel; file: HostModel; folder: HostModel };
  fields?: { [K in keyof HostFields]?: Partial<HostFields[K]> };
  /** The host's Agenda, on which the plugin defines its jobs. The host starts and stops it. */
  agenda: Agenda;
  auth: HostAuth;
  access: HostAccess;
  /** Default: there are no groups, and users are shown by their ids. */
  directory?: HostDirectory;
  files: HostFiles;
  /**
   * Creates an item, for a configuration that is stored in a folder, or for a converted copy of an image. The host can change the
   * name if it is taken. `fields` are further fields of the record, declared by the plugin on the item model; if the host does not
   * store them, the plugin adds them afterwards. Default: storing a new configuration answers 501, and items for copies are created
   * through the model.
   */
  createItem?: (item: {
    name: string;
    folderId: string;
    creatorId: string | null;
    fields?: Record<string, unknown>;
  }) => Promise<StoredDocument>;
  /** Removes an item with everything that belongs to it. Default: through the model. */
  removeItem?: (item: StoredDocument) => Promise<void>;
  /**
   * Called after `PUT item/:id/internal_metadata/meta` has replaced the metadata of an item, so that the host can update what it
   * derives from the metadata, such as an index of words. Default: nothing.
   */
  metadataReplaced?: (itemId: string) => Promise<void>;
  /** Default: hooks on the three models. Changes that bypass the models take effect when the cached verdicts expire. */
  events?: HostEvents;
  /** Sends a message to a user. Default: messages are dropped. */
  notify?: (notification: HostNotification) => Promise<void>;
  /** Restarts the server when the running requests have ended. Default: the routes that restart it answer 501. */
  restart?: () => void;
  /** Default: silent. */
  logger?: HostLogger;
  /** Additional settings of the host, stored with the plugin's and served by the same routes. */
  settings?: readonly SettingDefinition[];
  /** The host's own routes, which the API description lists. */
  routes?: readonly RouteOutline[];
  /** Directory for temporary files. Default: the system's. */
  temporaryDirectory?: string;
}

/** The host of a process that only runs jobs: without the members for answering requests. */
export type WorkerHost = Omit<Host, 'app' | 'restart' | 'routes'> & Partial<Pick<Host, 'restart' | 'routes'>>;
