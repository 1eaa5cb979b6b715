import type { Sending } from '../hosts/reference-host.js';

/** A word in the name of everything that only users on the access list may see. */
export const secret = 'unseen';

/** Callers. `owner` administers the subjects of the requests, `admin` the site. */
export const roles = ['anonymous', 'stranger', 'reader', 'writer', 'owner', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The level of each role on a subject: -1 nothing, 0 read, 1 write, 2 administer. */
type Levels = Readonly<Record<Role, -1 | 0 | 1 | 2>>;

const tree: Levels = { anonymous: -1, stranger: -1, reader: 0, writer: 1, owner: 2, admin: 2 };
const nobody: Levels = { anonymous: -1, stranger: -1, reader: -1, writer: -1, owner: -1, admin: -1 };

/** Subjects of requests. All are in one private folder; job, upload, key and comments are the writer's. */
export const levels = {
  item: tree,
  folder: tree,
  collection: tree,
  file: tree,
  group: tree,
  annotation: tree,
  comment: tree,
  ownComment: { ...nobody, writer: 2 },
  job: { ...nobody, reader: 0, owner: 0, writer: 2, admin: 2 },
  upload: { ...nobody, writer: 2 },
  uploadToDiscard: { ...nobody, writer: 2, admin: 2 },
  key: { ...nobody, writer: 2, admin: 2 },
  user: { anonymous: 0, stranger: 0, reader: 0, writer: 0, owner: 0, admin: 2 },
} satisfies Record<string, Levels>;
export type Kind = keyof typeof levels;

/** Ids by kind, and others that requests need. */
export type Things = Readonly<Record<Kind | 'bare' | 'version' | 'list', string>>;

/** The subject of a route, and the level that its caller needs on it. */
export interface Row {
  kind: Kind | null;
  level: 0 | 1 | 2;
  /** Parameters of a harmless valid request. Records that an admitted request breaks are created again (`fresh`). */
  sending: (things: Things) => Sending;
  /** Parameters of the path other than the id. */
  params: (things: Things) => Readonly<Record<string, string>>;
  fresh: boolean;
  /** Scope that a handler requires in addition to that of the route. */
  scope: string | null;
  /** The status of a refusal if it is not 401 or 403. */
  denied: number | null;
  /** Statuses that an admitted caller may receive although they look like a refusal. */
  admitted: readonly number[];
}

export type Options = Partial<Omit<Row, 'kind' | 'level' | 'sending' | 'params'>> & {
  sending?: Sending | Row['sending'];
  params?: Readonly<Record<string, string>> | Row['params'];
};

export function row(kind: Kind | null, level: 0 | 1 | 2, { sending = {}, params = {}, ...options }: Options = {}): Row {
  return {
    kind,
    level,
    fresh: false,
    scope: null,
    denied: null,
    admitted: [],
    ...options,
    sending: typeof sending === 'function' ? sending : () => sending,
    params: typeof params === 'function' ? params : () => params,
  };
}

const named: readonly [string, Kind][] = [
  ['/annotation/item/:id', 'item'],
  ['/annotation/folder/:id', 'folder'],
  ['/annotation/:id', 'annotation'],
  ['/comment/:id', 'comment'],
  ['/file/upload/:id', 'uploadToDiscard'],
  ['/resource/:id', 'item'],
  ['/api_key/:id', 'key'],
  ...(['item', 'folder', 'collection', 'file', 'group', 'job', 'user'] as const).map(
    (kind) => [`/${kind}/:id`, kind] as [string, Kind],
  ),
];

/** The path of a request about these things. */
export function pathFor(path: string, { params }: Row, things: Things): string {
  const kind = named.find(([start]) => path.startsWith(start))?.[1];
  const values: Record<string, string> = {
    itemId: things.item,
    folderId: things.folder,
    ...(kind && { id: things[kind] }),
    ...params(things),
  };
  return path.replace(/:(\w+)|\*$/g, (rest: string, name = rest) => values[name] ?? `no-${name}`);
}

/** Only the access and scope that the route declares decide. */
export const open = (options?: Options) => row(null, 0, options);
export const read = (kind: Kind, options?: Options) => row(kind, 0, options);
export const write = (kind: Kind, options?: Options) => row(kind, 1, options);
export const own = (kind: Kind, options?: Options) => row(kind, 2, options);
