import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createReferenceHost } from '../../../src/reference-host/index.js';
import { elementId, elementsOf, point, startAnnotated, type Annotated } from '../../support/hosts/annotated.js';
import { Client } from '../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;

/** How two simultaneous changes may end: both are kept, one is refused, or the last one wins. */
interface Change {
  send(id: string): Promise<number>;
  /** Whether an annotation shows the effect of the change. */
  shows(annotation: Json): boolean;
}

describe('changes by two writers at the same time', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated();
  });
  afterAll(() => at?.close());

  const request = (method: string, path: (id: string) => string, sending: object) => async (id: string) =>
    (await at.admin.send(method, path(id), sending)).status;
  const lineWidth = (annotation: Json, n: number) => elementsOf(annotation).find(({ id }) => id === elementId(n))?.lineWidth;
  const headOf = (annotation: Json) => annotation.annotation as Json;

  const put = (name: string): Change => ({
    send: request('PUT', (id) => `/annotation/${id}`, { json: { name, elements: [point(9, { id: elementId(9) })] } }),
    shows: (annotation) => headOf(annotation).name === name,
  });
  const patch = (value: string): Change => ({
    send: request('PATCH', (id) => `/annotation/${id}`, { json: [{ op: 'add', path: 'description', value }] }),
    shows: (annotation) => headOf(annotation).description === value,
  });
  const element = (n: number, width: number): Change => ({
    send: request('PATCH', (id) => `/annotation/${id}/elements/${elementId(n)}`, { json: { lineWidth: width } }),
    shows: (annotation) => lineWidth(annotation, n) === width,
  });
  const added = (n: number): Change => ({
    send: request('POST', (id) => `/annotation/${id}/elements`, { json: point(n, { id: elementId(n) }) }),
    shows: (annotation) => elementsOf(annotation).some(({ id }) => id === elementId(n)),
  });
  const metadata = (key: string): Change => ({
    send: request('PUT', (id) => `/annotation/${id}/metadata`, { json: { [key]: 1 } }),
    shows: (annotation) => (headOf(annotation).attributes as Json | undefined)?.[key] === 1,
  });
  const access = (isPublic: boolean): Change => ({
    send: (id) => request('PUT', () => `/annotation/${id}/access`, { query: { access: '{}', public: isPublic } })(id),
    shows: (annotation) => annotation.public === isPublic,
  });
  /** The newest version of the annotation that {@link fresh} made last. */
  let second = 0;
  const revert: Change = {
    send: request('PUT', (id) => `/annotation/${id}/history/revert`, {}),
    // After another change, it restores the version before that.
    shows: (annotation) => Number(annotation._version) > second && ['first', 'second'].includes(String(headOf(annotation).name)),
  };

  /** An annotation with a former version, two elements and no description. */
  const fresh = async () => {
    const elements = [1, 2].map((n) => point(n, { id: elementId(n) }));
    const { _id } = await at.annotate({ name: 'first', elements });
    const { _version } = await at.admin.ok('PUT', `/annotation/${_id}`, { json: { name: 'second', elements } });
    second = Number(_version);
    return _id;
  };

  it.each([
    ['element and element', () => [element(1, 5), element(2, 6)]],
    ['added and added', () => [added(5), added(6)]],
    ['added and element', () => [added(5), element(1, 7)]],
    ['patch and element', () => [patch('both'), element(2, 8)]],
    ['metadata and element', () => [metadata('a'), element(1, 3)]],
    ['metadata and metadata', () => [metadata('a'), metadata('b')]],
    ['metadata and patch', () => [metadata('c'), patch('too')]],
    ['access and element', () => [access(false), element(1, 4)]],
    ['access and patch', () => [access(false), patch('open')]],
    ['access and put', () => [access(false), put('third')]],
    ['access and revert', () => [access(false), revert]],
  ] as const)('are both kept: %s', async (_what, changes) => {
    for (let round = 0; round < 3; round += 1) {
      const id = await fresh();
      const pair = changes();
      const statuses = await Promise.all(pair.map((change) => change.send(id)));
      for (const status of statuses) expect([200, 204]).toContain(status);
      const annotation = (await at.admin.ok('GET', `/annotation/${id}`)) as unknown as Json;
      expect(pair.map((change) => change.shows(annotation))).toEqual([true, true]);
    }
  });

  it.each([
    ['put and put', () => [put('left'), put('right')]],
    ['put and patch', () => [put('left'), patch('right')]],
    ['put and element', () => [put('left'), element(1, 5)]],
    ['put and metadata', () => [put('left'), metadata('a')]],
    ['revert and put', () => [revert, put('right')]],
    ['revert and element', () => [revert, element(1, 5)]],
  ] as const)('are never lost silently: %s', async (_what, changes) => {
    for (let round = 0; round < 3; round += 1) {
      const id = await fresh();
      const pair = changes();
      const statuses = await Promise.all(pair.map((change) => change.send(id)));
      // 404: the element was no longer in the document when its change was made.
      for (const status of statuses) expect([200, 204, 404, 409]).toContain(status);
      const accepted = pair.filter((_, i) => statuses[i]! < 300);
      expect(accepted.length).toBeGreaterThan(0);
      // An acknowledged change is in the current version or the one before it, because one change came after the other.
      const history = (await at.admin.ok('GET', `/annotation/${id}/history`)) as { _version: number }[];
      const versions = await Promise.all(
        history.map(
          async ({ _version }) => (await at.admin.ok('GET', `/annotation/${id}/history/${_version}`)) as unknown as Json,
        ),
      );
      for (const change of accepted) expect(versions.some((version) => change.shows(version))).toBe(true);
      expect(accepted.some((change) => change.shows(versions[0]!))).toBe(true);
      expect(versions).toHaveLength(2 + accepted.length);
    }
  });

  it('are all made when they concern different elements, with any number of writers and processes', async () => {
    const writerCount = 24;
    const editCount = 3;
    const elements = Array.from({ length: writerCount }, (_, n) => point(n, { id: elementId(n + 1) }));
    const { _id: id } = await at.annotate({ name: 'busy', elements });
    const { databaseUri: mongoUri, dataDirectory } = at.host;
    const other = await createReferenceHost({ mongoUri, dataDirectory, brand: 'girder', passwordMemoryKiB: 8 });
    try {
      const { url } = await other.listen();
      const clients = [at.admin, new Client(url, at.admin.token, at.admin.id)];
      const write = async (n: number) => {
        const statuses: number[] = [];
        for (let width = 1; width <= editCount; width += 1) {
          const path = `/annotation/${id}/elements/${elementId(n + 1)}`;
          statuses.push((await clients[n % clients.length]!.send('PATCH', path, { json: { lineWidth: width } })).status);
        }
        return statuses;
      };
      const statuses = await Promise.all(elements.map((_, n) => write(n)));
      expect(new Set(statuses.flat())).toEqual(new Set([200]));
    } finally {
      await other.close();
    }
    const stored = elementsOf(await at.admin.ok('GET', `/annotation/${id}`));
    expect(stored.map(({ lineWidth: width }) => width)).toEqual(elements.map(() => editCount));
    // Each change is a separate version.
    const history = await at.admin.ok('GET', `/annotation/${id}/history`);
    expect(history).toHaveLength(1 + writerCount * editCount);
  });

  it('are written together when they have to wait, each with its own version and answer', async () => {
    const elements = Array.from({ length: 40 }, (_, n) => point(n, { id: elementId(n + 1) }));
    const { _id: id } = await at.annotate({ name: 'together', elements });
    const { db } = at.host.host.host.models.item;
    const replaced = vi.spyOn(db.collection('large_image_annotation'), 'findOneAndUpdate');
    // The eighth concerns an element that does not exist, the ninth removes one.
    const path = (n: number) => `/annotation/${id}/elements/${elementId(n)}`;
    const change = (n: number) =>
      n === 8
        ? at.admin.send('DELETE', path(9))
        : at.admin.send('PATCH', path(n === 7 ? 99 : n + 1), { json: { lineWidth: n + 1 } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => change(n)));
    const writes = replaced.mock.calls.length;
    replaced.mockRestore();
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, n) => (n === 7 ? 404 : 200)));
    expect(answers[8]!.body).toMatchObject({ removed: 1, _elementCount: 39 });
    expect(writes).toBeLessThanOrEqual(6);
    const history = (await at.admin.ok('GET', `/annotation/${id}/history`)) as unknown as { _version: number }[];
    expect(history).toHaveLength(20);
    expect(history.map(({ _version }) => _version)).toContain(answers[8]!.body._version);
    // Each version has one change more than the previous one.
    let changed = 20;
    for (const { _version } of history) {
      const version = await at.admin.ok('GET', `/annotation/${id}/history/${_version}`);
      const elements = elementsOf(version);
      changed -= 1;
      expect(elements.filter(({ lineWidth: width }) => width !== undefined).length + 40 - elements.length).toBe(changed);
    }
    expect(new Set(answers.filter((_, n) => n !== 7).map(({ headers }) => headers.get('etag'))).size).toBe(19);
  });

  it('are refused once the annotation is deleted, and otherwise come before that', async () => {
    for (const change of [element(1, 5), patch('x'), put('y'), metadata('z')]) {
      const id = await fresh();
      const remove = request('DELETE', (which) => `/annotation/${which}`, {});
      const [removed, edited] = await Promise.all([remove(id), change.send(id)]);
      expect(removed).toBe(200);
      expect([200, 204, 404, 409]).toContain(edited);
      expect((await at.admin.send('GET', `/annotation/${id}`)).status).toBe(404);
    }
  });
});
