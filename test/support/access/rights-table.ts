import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouteOutline } from '../../../src/larger-host.js';
import type { UserDocument } from '../../../src/reference-host/accounts/users/user.model.js';
import { operationRoutes } from '../../../src/reference-host/system/operation.routes.js';
import { issueToken, revokeToken } from '../../../src/reference-host/accounts/tokens/tokens.js';
import { elementId } from '../hosts/annotated.js';
import { Client, startHost, type Answer, type Sending, type TestHost } from '../hosts/reference-host.js';
import { levels, pathFor, roles, secret, type Kind, type Role, type Row, type Things } from './rights-row.js';
import { otherChanges, rightsRows, writing } from './rights-rows.js';
import { sampleOf } from '../run/sample.js';

const scopes = {
  full: ['core.user_auth'],
  read: ['core.data.read'],
  write: ['core.data.write'],
  own: ['core.data.own'],
  weak: ['core.user_info.read'],
  expired: ['core.user_auth'],
  revoked: ['core.user_auth'],
};
type TokenKind = keyof typeof scopes;

/** A caller: a role and a kind of token. */
export interface Caller {
  role: Role;
  token: TokenKind | 'none';
}

export const rightsCallers: readonly Caller[] = [
  { role: 'anonymous', token: 'none' },
  ...roles
    .filter((role) => role !== 'anonymous')
    .flatMap((role) => Object.keys(scopes).map((token) => ({ role, token: token as TokenKind }))),
];

/** Requests of every row of the table, each by the callers that are chosen for the row of this number. */
export function describeRights(title: string, callersOf: (row: number) => readonly Caller[]): void {
  describe(title, () => {
    let started: TestHost;
    let temporary: string;
    let png: Buffer;
    let admin: Client;
    let collection: string;
    let folder: string;
    let list: string;
    let shared: Things;
    const users = new Map<Role, UserDocument>();
    const tokens = new Map<string, string>();
    let fileCount = 0;

    /** The name of the route, without the part that describes the request. */
    const routeOf = (name: string) => name.split(' with ')[0]!;
    const nameOf = ({ method, path }: Pick<RouteOutline, 'method' | 'path'>) => `${method.toUpperCase()} ${path}`;

    async function tokenOf({ role, token }: Caller): Promise<string | null> {
      if (token === 'none') return null;
      const { context } = started.host;
      const days = token === 'expired' ? -1 : 1;
      const issued = await issueToken(context, { user: users.get(role)! }, { days, scope: scopes[token] });
      if (token === 'revoked') await revokeToken(context, issued.token);
      return issued.token;
    }

    /** Creates what a request is about. */
    const makers: Record<Kind | 'bare' | 'version' | 'list', () => Promise<string>> = {
      item: async () => String((await makeFile()).itemId),
      file: async () => String((await makeFile())._id),
      bare: () => admin.create('/item', { folderId: folder, name: `${secret} ${++fileCount}` }),
      folder: () => admin.create('/folder', { parentType: 'folder', parentId: folder, name: `${secret} ${++fileCount}` }),
      async collection() {
        const id = await admin.create('/collection', { name: `${secret} ${++fileCount}`, public: false });
        await admin.ok('PUT', `/collection/${id}/access`, { query: { access: list, public: false } });
        return id;
      },
      async annotation() {
        const json = { name: secret, elements: [{ type: 'point', center: [1, 1, 0], id: elementId(1) }] };
        const { _id } = await admin.ok('POST', '/annotation', { query: { itemId: shared.item }, json });
        return String(_id);
      },
      comment: () => makeComment(),
      ownComment: () => makeComment(),
      version: async () => String((await admin.ok('GET', `/annotation/${shared.annotation}`))._version),
      async group() {
        const id = await admin.create('/group', { name: `${secret} ${++fileCount}`, public: false });
        const { users: listed } = JSON.parse(list) as { users: { id: string; level: number }[] };
        const entries = listed.map((entry) => ({ ...entry, id: new Types.ObjectId(entry.id), flags: [] }));
        const { group } = started.host.context.models;
        await group.updateOne({ _id: new Types.ObjectId(id) }, { $set: { access: { users: entries, groups: [] } } });
        return id;
      },
      async job() {
        const userId = users.get('writer')!._id.toHexString();
        return (await started.host.jobs.create({ title: secret, type: 'test', userId, itemId: shared.item })).id;
      },
      upload: () => makeUpload(),
      uploadToDiscard: () => makeUpload(),
      async key() {
        const writer = new Client(started.url, tokens.get('writer full')!, null);
        return writer.create('/api_key', { name: secret });
      },
      user: async () => (await started.register(`target${++fileCount}`)).id!,
      list: async () => list,
    };

    async function makeFile() {
      const query = { parentType: 'folder', parentId: folder, name: `${secret} ${++fileCount}.png`, size: png.length };
      return admin.ok('POST', '/file', { query, body: png });
    }

    async function makeComment(): Promise<string> {
      const writer = new Client(started.url, tokens.get('writer full')!, null);
      return String((await writer.ok('POST', `/item/${shared.item}/comment`, { json: { text: secret } }))._id);
    }

    async function makeUpload(): Promise<string> {
      const writer = new Client(started.url, tokens.get('writer full')!, null);
      return writer.create('/file', { parentType: 'folder', parentId: folder, name: secret, size: 10 });
    }

    beforeAll(async () => {
      temporary = await mkdtemp(join(tmpdir(), 'rights-table-'));
      started = await startHost({
        checksAnswers: true,
        install: { configFile: join(temporary, 'server.cfg') },
        settings: { 'core.registrations_per_address': 0, 'core.user_default_folders': 'none' },
      });
      const { context } = started.host;
      admin = await started.register('admin');
      const ids: Partial<Record<Role, string>> = { admin: admin.id! };
      for (const role of ['owner', 'writer', 'reader', 'stranger'] as const) ids[role] = (await started.register(role)).id!;
      for (const [role, id] of Object.entries(ids))
        users.set(role as Role, (await context.models.user.findById(id).lean<UserDocument>())!);
      const grants = { owner: 2, writer: 1, reader: 0 } as const;
      list = JSON.stringify({
        users: Object.entries(grants).map(([role, level]) => ({ id: ids[role as Role], level })),
        groups: [],
      });
      collection = await admin.create('/collection', { name: secret, public: false });
      await admin.ok('PUT', `/collection/${collection}/access`, { query: { access: list, public: false } });
      folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: secret, public: false });
      await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: list, public: false } });
      for (const caller of rightsCallers) {
        const issued = await tokenOf(caller);
        if (issued !== null) tokens.set(`${caller.role} ${caller.token}`, issued);
      }
      png = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#808080' } })
        .png()
        .toBuffer();
      const things: Partial<Record<keyof Things, string>> = {};
      shared = things as Things;
      for (const kind of Object.keys(makers) as (keyof Things)[]) if (kind !== 'version') things[kind] = await makers[kind]();
      things.version = await makers.version();
      await admin.ok('PUT', `/item/${shared.item}`, { query: { name: `${secret}.png` } });
      await admin.ok('PUT', `/annotation/${shared.annotation}`, { json: { name: secret } });
    });
    afterAll(async () => {
      await started?.close();
      await rm(temporary, { recursive: true, force: true });
    });

    /** The required response: `admitted`, or the status of a refusal. */
    function verdictOf(route: RouteOutline, { kind, level, scope, denied }: Row, { role, token }: Caller): 'admitted' | number {
      const isValid = token !== 'none' && token !== 'expired' && token !== 'revoked';
      const hasScope = (expected: string) =>
        isValid && (token === 'full' ? !expected.startsWith('jobs.rest.create') : scopes[token].includes(expected));
      const isKnown =
        route.access === 'token'
          ? isValid && (route.scope === undefined || hasScope(route.scope))
          : hasScope(route.scope ?? 'core.user_auth');
      if (route.access !== 'public' && !isKnown) return 401;
      if (route.access === 'admin' && role !== 'admin') return 403;
      // Callers whose tokens lack the scope that the handler requires are refused as anonymous, unless it requires a full
      // sign-in.
      if (scope !== null && !hasScope(scope)) return token === 'full' ? 403 : 401;
      const caller = isKnown ? role : 'anonymous';
      if (kind === null || levels[kind][caller] >= level) return 'admitted';
      return denied ?? (isKnown ? 403 : 401);
    }

    const queryOf = ({ query = {} }: Sending) => new URLSearchParams(query as Record<string, string>).toString();

    /** The start of an endless response. */
    async function openStream(
      { url, token }: Client,
      path: string,
      sending: Sending,
    ): Promise<Pick<Answer, 'status' | 'headers' | 'bytes'>> {
      const headers = { ...(token !== null && { 'Girder-Token': token }) };
      const { status, headers: responseHeaders, body } = await fetch(`${url}/api/v1${path}?${queryOf(sending)}`, { headers });
      await body?.cancel();
      return { status, headers: responseHeaders, bytes: Buffer.alloc(0) };
    }

    async function send(
      route: RouteOutline,
      row: Row,
      caller: Caller,
      isAdmitted: boolean,
    ): Promise<{ status: number; isLeak: boolean }> {
      let things = shared;
      let token = caller.token === 'none' ? null : tokens.get(`${caller.role} ${caller.token}`)!;
      if (row.fresh && isAdmitted && row.kind === null) token = await tokenOf(caller);
      else if (row.fresh && isAdmitted) things = { ...shared, [row.kind!]: await makers[row.kind!]() };
      const path = pathFor(route.path, row, things);
      const sending = row.sending(things);
      const isStream = route.path.endsWith('/events') || route.path.endsWith('/stream');
      const client = new Client(started.url, token, null);
      const answer = isStream
        ? await openStream(client, path, sending)
        : await client.send(route.method.toUpperCase(), path, sending);
      const text = answer.bytes.toString();
      const isEcho = queryOf(sending).includes(secret);
      const isBlind = ['anonymous', 'stranger'].includes(caller.role) || ['weak', 'expired', 'revoked'].includes(caller.token);
      return {
        status: answer.status,
        isLeak: isBlind && !isEcho && (text + JSON.stringify([...answer.headers])).includes(secret),
      };
    }

    /** The problem with the response to one caller; `null` if there is none. */
    async function complaint(route: RouteOutline, row: Row, caller: Caller): Promise<string | null> {
      const verdict = verdictOf(route, row, caller);
      const { status, isLeak } = await send(route, row, caller, verdict === 'admitted');
      if (isLeak) return `${caller.role} with ${caller.token}: the response names what they may not see`;
      const isRefusal = status === 401 || status === 403 || status === 429;
      const isAdmitted = row.admitted.includes(status) || (status < 500 && !isRefusal);
      const isRight = verdict === 'admitted' ? isAdmitted : status === verdict;
      return isRight ? null : `${caller.role} with ${caller.token}: ${status} instead of ${verdict}`;
    }

    const routes = () => new Map(started.host.routes.map((route) => [nameOf(route), route]));

    it('has exactly one row per route', () => {
      expect(
        Object.keys(rightsRows)
          .filter((name) => routeOf(name) === name)
          .toSorted(),
      ).toEqual([...routes().keys()].toSorted());
    });

    it('includes all routes except those for operators', () => {
      const routeAccess = operationRoutes.map((route) => [nameOf(route), route.access]);
      expect(routeAccess).toEqual([
        ['GET /health/live', 'public'],
        ['GET /health/ready', 'public'],
        ['GET /metrics', 'public'],
      ]);
    });

    it('requires a scope for writing when it changes something', () => {
      const others = [...routes().values()]
        .filter(({ method, scope = 'core.user_auth' }) => method !== 'get' && !writing.includes(scope))
        .concat([...routes().values()].filter((route) => nameOf(route) in otherChanges))
        .map(nameOf);
      expect([...new Set(others)].toSorted()).toEqual(Object.keys(otherChanges).toSorted());
    });

    it('checks permissions before it reads a body, and again while it arrives', () => {
      const late = [...routes().values()].filter(
        (route) => (route.body ?? 'none') !== 'none' && route.access !== 'admin' && route.authorize === undefined,
      );
      expect(late.map(nameOf)).toEqual([]);
    });

    it.each(
      sampleOf(
        Object.keys(rightsRows).map((name, index) => [name, callersOf(index)] as const),
        100,
      ),
    )('%s', async (name, callers) => {
      const row = rightsRows[name]!;
      const route = routes().get(routeOf(name))!;
      const complaints: (string | null)[] = [];
      for (let i = 0; i < callers.length; i += 6) {
        complaints.push(...(await Promise.all(callers.slice(i, i + 6).map((caller) => complaint(route, row, caller)))));
      }
      expect(complaints.filter((each) => each !== null)).toEqual([]);
    });
  });
}
