import { LargeImageError, LevelDeniedError } from '../../../errors.js';
import { readAccessList, readFlags } from '../../../http/access-list.js';
import { requireUser } from '../../../http/require-user.js';
import type { AccessEntry, AccessLevel, Caller, HostAccess, HostDirectory } from '../../../host.js';
import type { AnnotationAccess, AnnotationFilter, AnnotationRecord } from '../documents/annotation-record.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import { limitsOf } from '../../../core/host/link-holder.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { Items } from '../../items/items.js';

/** Flag on a folder that allows users to annotate its items without write access to them. */
const creationFlag = 'large_image_create_annotations';

const knownFlags: ReadonlySet<string> = new Set([creationFlag]);

type Level = 0 | 1 | 2;
type Permissions = Pick<AnnotationRecord, 'access' | 'public'>;

/** An access list with the names of its users and groups, for responses. */
export interface DescribedAccess {
  users: { id: string; level: number; flags: readonly string[]; login: string; name: string }[];
  groups: { id: string; level: number; flags: readonly string[]; name: string; description: string }[];
}

/** A change of an access list. Members that are `undefined` are not changed. */
export interface AccessChange {
  access: AnnotationAccess;
  public: boolean | undefined;
  publicFlags: readonly string[] | undefined;
}

/** Checks and changes permissions on annotations. */
export class AnnotationPermissions {
  constructor(
    private readonly options: {
      access: HostAccess;
      directory: HostDirectory | undefined;
      items: Items;
      records: HostRecords;
    },
  ) {}

  /** Finds the caller's level on an annotation, including public access. */
  async findLevel(annotation: Permissions, caller: Caller | null): Promise<AccessLevel> {
    const grantedLevel = await this.#findGrantedLevel(annotation, caller);
    return grantedLevel === -1 && annotation.public ? 0 : grantedLevel;
  }

  /**
   * Finds the level that responses show as `_accessLevel`. On a public annotation, a signed-in user without a level of their own gets -1,
   * although this user may read the annotation: existing clients expect this.
   */
  async findShownLevel(annotation: Permissions, caller: Caller | null): Promise<AccessLevel> {
    if (limitsOf(caller) !== null) return 0;
    if (caller === null || caller.id === null) return caller?.admin === true ? 2 : annotation.public ? 0 : -1;
    return this.#findGrantedLevel(annotation, caller);
  }

  async #findGrantedLevel({ access }: Permissions, caller: Caller | null): Promise<AccessLevel> {
    if (caller?.admin === true) return 2;
    if (caller === null || caller.id === null) return -1;
    let level: AccessLevel = -1;
    for (const entry of access.users) if (entry.id === caller.id && entry.level > level) level = entry.level;
    // The host is asked only if the list gives a group a higher level than the caller has, which is rare.
    if (!access.groups.some((entry) => entry.level > level)) return level;
    const groups = new Set(await this.groupsOf(caller));
    for (const entry of access.groups) if (groups.has(entry.id) && entry.level > level) level = entry.level;
    return level;
  }

  /** Checks that the caller has this level. @throws AccessDeniedError if not. */
  async requireLevel(annotation: AnnotationRecord, level: Level, caller: Caller | null): Promise<void> {
    const limits = limitsOf(caller);
    const isWithinLimits = limits === null || (limits.allowsAnnotations && limits.itemId === annotation.itemId && level === 0);
    if (isWithinLimits && (await this.findLevel(annotation, caller)) >= level) return;
    throw new LevelDeniedError(level, `annotation ${annotation.id}`, caller?.id);
  }

  /**
   * Creates the filter for annotations on which the caller has this level. Site administrators have every level on all annotations.
   *
   * @param options `byListOnly`: whether public annotations count as readable only if the access list names the caller.
   */
  async createPermittedFilter(
    caller: Caller | null,
    level: Level,
    options: { byListOnly?: boolean } = {},
  ): Promise<Pick<AnnotationFilter, 'permitted' | 'onlyOf'>> {
    const limits = limitsOf(caller);
    const itemLimit = limits && { onlyOf: limits.allowsAnnotations && level === 0 ? limits.itemId : null };
    if (caller?.admin === true) return { ...itemLimit };
    const userId = caller?.id ?? null;
    return { permitted: { level, userId, groupIds: await this.groupsOf(caller), ...options }, ...itemLimit };
  }

  /** Finds the ids of the caller's groups. */
  async groupsOf(caller: Caller | null): Promise<readonly string[]> {
    if (caller === null || caller.id === null) return [];
    return (await this.options.directory?.groupsOf(caller.id)) ?? [];
  }

  /** Whether the caller has write access to the item, or has {@link creationFlag} on its folder. */
  async mayAnnotate(item: ItemRecord, caller: Caller | null): Promise<boolean> {
    if ((await this.findItemLevel(item, caller)) >= 1) return true;
    return this.hasCreationFlag(item.folderId, caller);
  }

  /** Finds the caller's level on an item. */
  async findItemLevel(item: ItemRecord, caller: Caller | null): Promise<AccessLevel> {
    return this.options.access.level(caller, { type: 'item', doc: item.doc });
  }

  /** Whether the caller has {@link creationFlag} on a folder. */
  async hasCreationFlag(folderId: string, caller: Caller | null): Promise<boolean> {
    const { access, records } = this.options;
    if (access.flags === undefined || folderId === '') return false;
    const folder = await records.findFolder(folderId);
    return folder !== null && (await access.flags(caller, folder.doc)).includes(creationFlag);
  }

  /** Checks whether the caller may create and change annotations of the item. @throws LargeImageError `forbidden` */
  async requireAnnotate(item: ItemRecord, caller: Caller | null): Promise<void> {
    if (await this.mayAnnotate(item, caller)) return;
    throw new LargeImageError('forbidden', 'Write access and annotation creation access were denied for the item.');
  }

  /** Creates the permissions on a new annotation of an item: those on the item's folder, and level 2 for the owner. */
  async createInitialAccess(
    item: ItemRecord,
    ownerId: string | null,
  ): Promise<Pick<AnnotationRecord, 'access' | 'public' | 'publicFlags'>> {
    const folderPermissions = item.folderId === '' ? undefined : await this.findFolderPermissions(item.folderId);
    const isPublic = folderPermissions?.public ?? (await this.options.access.level(null, { type: 'item', doc: item.doc })) >= 0;
    const users = (folderPermissions?.access.users ?? []).filter(({ id }) => id !== ownerId);
    if (ownerId !== null) users.push({ id: ownerId, level: 2, flags: [] });
    return {
      access: { users, groups: folderPermissions?.access.groups ?? [] },
      public: isPublic,
      ...(folderPermissions?.publicFlags && { publicFlags: folderPermissions.publicFlags }),
    };
  }

  /** Finds the permissions on a folder. Returns `undefined` if the host does not provide them. */
  async findFolderPermissions(id: string) {
    const { access, records } = this.options;
    const folder = await records.findFolder(id);
    const list = folder === null ? undefined : await access.list?.(folder.doc);
    return (
      list && {
        ...list,
        access: { users: (list.users ?? []).map(copyWithFlags), groups: (list.groups ?? []).map(copyWithFlags) },
      }
    );
  }

  /** Returns the access list with names. Users and groups that no longer exist are left out. */
  async describeAccess({ access }: Permissions): Promise<DescribedAccess> {
    const { directory } = this.options;
    const idsOf = (entries: readonly AccessEntry[]) => entries.map(({ id }) => id);
    const users = directory
      ? await directory.users(idsOf(access.users))
      : access.users.map(({ id }) => ({ id, login: id, name: id }));
    const groups = directory
      ? await directory.groups(idsOf(access.groups))
      : access.groups.map(({ id }) => ({ id, name: id, description: '' }));
    const userById = new Map(users.map((user) => [user.id, user]));
    const groupById = new Map(groups.map((group) => [group.id, group]));
    const describedAccess: DescribedAccess = { users: [], groups: [] };
    for (const { id, level, flags = [] } of access.users) {
      const user = userById.get(id);
      if (user) describedAccess.users.push({ id, level, flags, login: user.login, name: user.name });
    }
    for (const { id, level, flags = [] } of access.groups) {
      const group = groupById.get(id);
      if (group) describedAccess.groups.push({ id, level, flags, name: group.name, description: group.description });
    }
    return describedAccess;
  }

  /**
   * Checks the change of an access list that a client requests.
   *
   * @throws InvalidError with field `access`, BadParameterError.
   */
  async readChange(
    request: { access: Record<string, unknown> | undefined; public: boolean | undefined; publicFlags: unknown[] | undefined },
    caller: Caller | null,
    previous?: AnnotationAccess,
  ): Promise<AccessChange> {
    const { directory } = this.options;
    return {
      access: await readAccessList(request.access ?? {}, { directory, caller, knownFlags, ...(previous && { previous }) }),
      public: request.public,
      publicFlags: request.publicFlags && readFlags(request.publicFlags, knownFlags),
    };
  }

  /** Checks that a user exists whom the caller may see. @throws InvalidError, UnknownIdError if not. */
  requireUser(id: string, caller: Caller | null): Promise<void> {
    return requireUser(this.options.directory, id, caller);
  }
}

function copyWithFlags({ id, level, flags = [] }: AccessEntry): AccessEntry {
  return { id, level, flags: [...flags] };
}
