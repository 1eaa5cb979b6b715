import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Types } from 'mongoose';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accessMatrix, kinds, type CallerName, type Subjects, type Verdict } from './access-matrix.js';
import { elementId } from '../hosts/annotated.js';
import { Client, startHost, type TestHost } from '../hosts/reference-host.js';
import { sampleOf } from '../run/sample.js';

/** Requests of every route of the plugin, each by the callers that are chosen for the route of this number. */
export function describeAccess(title: string, callersOf: (route: number) => readonly CallerName[]): void {
  describe(title, () => {
    let started: TestHost;
    let temporary: string;
    let folder: string;
    let png: Buffer;
    const clients = new Map<CallerName, Client>();
    let limitedAdmin: Client;
    const scoped = new Map<string, Client | null>(
      ['core.data.read', 'core.data.write', 'core.data.own', 'core.setting.read'].map((scope) => [scope, null]),
    );

    const routes = () => {
      const hostRoutes = new Set<unknown>(started.host.host.routes);
      return started.host.routes.filter((route) => !hostRoutes.has(route));
    };
    const nameOf = ({ method, path }: { method: string; path: string }) => `${method.toUpperCase()} ${path}`;
    const client = (name: CallerName) => clients.get(name)!;

    /** A client with the token of a key that is limited to one scope. */
    const limitTo = async (owner: Client, scope: string): Promise<Client> => {
      const key = await owner.ok('POST', '/api_key', { query: { name: scope, scope: JSON.stringify([scope]) } });
      const { authToken } = await started.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key) } });
      return new Client(started.url, (authToken as { token: string }).token, owner.id);
    };

    beforeAll(async () => {
      temporary = await mkdtemp(join(tmpdir(), 'access-matrix-'));
      started = await startHost({ checksAnswers: true, install: { configFile: join(temporary, 'server.cfg') } });
      const admin = await started.register('admin');
      clients.set('anonymous', started.anonymous).set('admin', admin);
      for (const name of ['stranger', 'reader', 'writer'] as const) clients.set(name, await started.register(name));
      const collection = await admin.create('/collection', { name: 'Images', public: false });
      folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Private', public: false });
      const access = {
        users: [
          { id: client('reader').id, level: 0 },
          { id: client('writer').id, level: 1 },
        ],
        groups: [],
      };
      await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(access), public: false } });
      clients.set('limited', await limitTo(client('writer'), 'core.user_info.read'));
      limitedAdmin = await limitTo(admin, 'core.user_info.read');
      for (const scope of scoped.keys()) scoped.set(scope, await limitTo(admin, scope));
      png = await sharp({ create: { width: 64, height: 64, channels: 3, background: '#808080' } })
        .png()
        .toBuffer();
    });
    afterAll(async () => {
      await started?.close();
      await rm(temporary, { recursive: true, force: true });
    });

    const makers = {
      async item() {
        const query = { parentType: 'folder', parentId: folder, name: 'a.png', size: png.length };
        return String((await client('admin').ok('POST', '/file', { query, body: png })).itemId);
      },
      job: async () => (await started.host.jobs.create({ title: 'A job', type: 'test', userId: client('writer').id! })).id,
      async annotation(item: string) {
        const json = { name: 'annotation', elements: [{ type: 'point', center: [1, 1, 0], id: elementId(1) }] };
        const { _id, _version } = await client('admin').ok('POST', '/annotation', { query: { itemId: item }, json });
        await client('admin').ok('PUT', `/annotation/${String(_id)}`, { json: { name: 'annotation' } });
        return { annotation: String(_id), version: String(_version) };
      },
    };

    /** Subjects that no request has changed yet. */
    const unchanged: { item?: string; job?: string; annotation?: { annotation: string; version: string } } = {};
    /** Whether the item has annotations other than this one. */
    let isCrowded = false;
    const subjectsFor = async (user: string | null, pattern: string): Promise<Subjects> => {
      if (isCrowded && !pattern.startsWith('/annotation/:id')) forgetItem();
      // Otherwise all images of the folder would be opened again and again.
      await started.host.context.models.item.collection.deleteMany({ _id: { $in: forgotten.splice(0) } });
      const item = (unchanged.item ??= await makers.item());
      const job = (unchanged.job ??= await makers.job());
      const annotation = (unchanged.annotation ??= await makers.annotation(item));
      return { folder, item, job, ...annotation, user: user ?? 'None' };
    };
    const forgotten: Types.ObjectId[] = [];
    function forgetItem(): void {
      if (unchanged.item !== undefined) forgotten.push(new Types.ObjectId(unchanged.item));
      delete unchanged.item;
      delete unchanged.annotation;
      isCrowded = false;
    }
    /** Forgets what a route changes, so that the next caller gets a new one. */
    const forgetWhatChanges = (pattern: string): void => {
      if (pattern.startsWith('/job')) delete unchanged.job;
      else if (pattern.startsWith('/annotation/:id')) {
        delete unchanged.annotation;
        isCrowded = true;
      } else if (/^\/(item|annotation|iiif|folder|large_image\/folder)\b/.test(pattern)) forgetItem();
    };

    /** Status and message of the response to a valid request. Streams of events are closed after their header. */
    const call = async (route: string, client: Client, subjects: Subjects): Promise<{ status: number; message?: unknown }> => {
      const { sending: sent = {}, params = {} } = accessMatrix[route]!;
      const sending = typeof sent === 'function' ? sent(subjects) : sent;
      const [method, pattern] = route.split(' ') as [string, string];
      const parameters: Record<string, string> = { itemId: subjects.item, identifier: subjects.item, folderId: subjects.folder };
      parameters.version = subjects.version;
      if (pattern.startsWith('/annotation/:id')) parameters.id = subjects.annotation;
      if (pattern.startsWith('/annotation/item/')) parameters.id = subjects.item;
      if (pattern.startsWith('/annotation/folder/')) parameters.id = subjects.folder;
      if (pattern.startsWith('/job/')) parameters.id = subjects.job;
      else if (pattern.startsWith('/folder/') || pattern.startsWith('/large_image/folder/')) parameters.id = subjects.folder;
      const path = pattern.replace(
        /:(\w+)|\*$/g,
        (rest: string, name = rest) => params[name] ?? parameters[name] ?? `no-${name}`,
      );
      if (!path.endsWith('/events')) {
        const onItem = pattern === '/annotation' || pattern.endsWith('/copy') ? { query: { itemId: subjects.item } } : {};
        const { status, body } = await client.send(method, path, { ...onItem, ...sending });
        return { status, message: body?.message };
      }
      const leaving = new AbortController();
      const headers: Record<string, string> = client.token === null ? {} : { 'Girder-Token': client.token };
      const query = new URLSearchParams();
      for (const [name, value] of Object.entries(sending.query ?? {})) query.set(name, String(value));
      const response = await fetch(`${client.url}/api/v1${path}?${query.toString()}`, { headers, signal: leaving.signal });
      const message = response.ok ? undefined : ((await response.json()) as { message: string }).message;
      leaving.abort();
      return { status: response.status, message };
    };

    it('covers every route, and no route that does not exist', () => {
      expect(routes().map(nameOf).toSorted()).toEqual(Object.keys(accessMatrix).toSorted());
      expect(routes().length).toBeGreaterThan(30);
    });

    it('agrees with the access and scope that the routes declare', () => {
      const declared = {
        annotationWrite: ['user'],
        annotationOwn: ['user'],
        annotationCreate: ['user'],
        annotationCopy: ['user'],
        annotationClear: ['user'],
        userRead: ['user'],
        copy: ['user'],
        admin: ['admin'],
        user: ['user'],
        write: ['user'],
        jobWrite: ['user'],
        jobOwn: ['user'],
      } as Record<string, string[]>;
      for (const route of routes()) {
        const { kind, scope } = accessMatrix[nameOf(route)]!;
        expect({ route: nameOf(route), scope: route.scope }).toEqual({ route: nameOf(route), scope });
        expect(declared[kind] ?? ['public', 'token'], nameOf(route)).toContain(route.access);
      }
    });

    describe.each(
      sampleOf(
        Object.entries(accessMatrix).map(([name, row], index) => [name, row, callersOf(index)] as const),
        50,
      ),
    )('%s', (name, { kind, scope, admitted = 200, alone = admitted }, chosen) => {
      const [method, pattern] = name.split(' ') as [string, string];
      const isRead = method === 'GET';
      it.each([...chosen])('answers %s as expected', async (caller) => {
        const sender = caller === 'limited' && kind === 'admin' ? limitedAdmin : client(caller);
        const user = caller === 'limited' ? null : sender.id;
        const verdictOn = (subjects: Subjects): Verdict => kinds[kind](subjects)[caller];
        const subjects = await subjectsFor(user, pattern);
        const verdict = verdictOn(subjects);
        if (verdict === null && !isRead) forgetWhatChanges(pattern);
        const answer = await call(name, sender, subjects);
        if (verdict === null) expect(answer.status, String(answer.message)).toBe(admitted);
        else expect([answer.status, answer.message]).toEqual(verdict);
      });

      if (scope === undefined || !scoped.has(scope)) return;
      it('admits an administrator whose token has just this scope', async () => {
        const subjects = await subjectsFor(client('admin').id, pattern);
        if (!isRead) forgetWhatChanges(pattern);
        expect((await call(name, scoped.get(scope)!, subjects)).status).toBe(alone);
      });
    });
  });
}
