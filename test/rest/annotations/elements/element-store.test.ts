import fc from 'fast-check';
import type { Connection } from 'mongoose';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { boundingBox } from '../../../../src/annotation-format/bounding-box.js';
import { matchesConditions, parseElementQuery, type ElementQuery } from '../../../../src/annotation-format/element-query.js';
import type { StoredElements } from '../../../../src/features/annotations/elements/element-store.js';
import type { PackedElementStore } from '../../../../src/features/annotations/elements/store.js';
import { startElementStore } from '../../../support/annotations/element-store.js';
import { centroidsNaively, selectNaively, type Stored } from '../../../support/annotations/element-model.js';
import { anyElement } from '../../../unit/annotation-format/arbitraries.js';
import { casesOf } from '../../../support/run/sample.js';

vi.setConfig({ testTimeout: 120_000 });

let started: Awaited<ReturnType<typeof startElementStore>>;
let connection: Connection;
let store: PackedElementStore;

beforeAll(async () => {
  started = await startElementStore();
  ({ connection, store } = started);
});
afterAll(() => started?.close());

/** Every document that refers to elements. The sweep at the end of each test leaves nothing else. */
const documents = new Set<StoredElements>();
afterEach(async () => {
  documents.clear();
  await sweep();
  expect(await leftovers()).toEqual([0, 0, 0, 0]);
});

function sweep() {
  return store.sweep((family) => Promise.resolve([...documents].filter((document) => document.family === family)));
}

function leftovers(): Promise<number[]> {
  const names = ['pack', 'window', 'part', 'family'].map((name) => `large_image_annotation_element_${name}`);
  return Promise.all(names.map((name) => connection.collection(name).countDocuments({})));
}

async function publish(stored: StoredElements): Promise<StoredElements> {
  documents.add(stored);
  return Promise.resolve(stored);
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

async function readAll(stored: StoredElements, query: ElementQuery = parseElementQuery({})): Promise<Stored[]> {
  const { chunks } = await store.read(stored, query);
  return JSON.parse(`[${await textOf(chunks)}]`) as Stored[];
}

const someNumber = fc.integer({ min: -100, max: 100_000 }).map(String);
const queryParameters = fc.record(
  {
    left: someNumber,
    right: someNumber,
    top: someNumber,
    bottom: someNumber,
    low: someNumber,
    high: someNumber,
    minimumSize: fc.integer({ min: 0, max: 5000 }).map(String),
    limit: fc.integer({ min: 0, max: 60 }).map(String),
    offset: fc.integer({ min: 0, max: 90 }).map(String),
    maxDetails: fc.integer({ min: 0, max: 300 }).map(String),
    minElements: fc.integer({ min: 0, max: 20 }).map(String),
    sort: fc.constantFrom(
      '_id',
      'size',
      'details',
      'left',
      'top',
      'bbox.lowz',
      'element.type',
      'element.group',
      'element.lineWidth',
      'created',
    ),
    sortdir: fc.constantFrom('1', '-1'),
    bbox: fc.constantFrom('true', 'false'),
  },
  { requiredKeys: [] },
);

/** Elements without repeated ids. */
const elementList = fc.uniqueArray(anyElement, {
  maxLength: 120,
  selector: (element) => element.id ?? Symbol('none'),
  size: 'max',
});

/** A value as JSON transfers it. */
function asJson<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

async function expectSameAnswers(
  stored: StoredElements,
  model: readonly Stored[],
  parameters: Record<string, string | undefined>,
) {
  const query = parseElementQuery(parameters);
  const expected = selectNaively(model, query);
  const reading = await store.read(stored, query);
  const elements = JSON.parse(`[${await textOf(reading.chunks)}]`) as (Stored & { _bbox?: unknown })[];
  const matching = query.includesBoxes
    ? expected.elements.map((element) => ({ ...element, _bbox: asJson(boundingBox(element)) }))
    : expected.elements;
  expect(elements).toEqual(matching);
  expect(reading.budget).toMatchObject({ sentCount: expected.budget.sentCount, sentDetails: expected.budget.sentDetails });
  if (query.includesBoxes) expect(asJson(reading.box)).toEqual(asJson(expected.box));

  const centroidQuery = { ...query, asCentroids: true, includesBoxes: false };
  const chosen = selectNaively(model, centroidQuery).elements;
  const naive = centroidsNaively(chosen);
  const centroids = await store.readCentroids(stored, centroidQuery);
  const parts: Buffer[] = [];
  for await (const chunk of centroids.chunks) parts.push(chunk);
  expect(Buffer.concat(parts).equals(naive.bytes)).toBe(true);
  expect(centroids.props.rows).toEqual(naive.props.rows);
}

describe('stored elements', () => {
  it('answer every query like a scan of all of them', async () => {
    await fc.assert(
      fc.asyncProperty(elementList, fc.array(queryParameters, { minLength: 3, maxLength: 6 }), async (list, queries) => {
        const stored = await (await store.write(asJson(list))).commit(publish);
        const model = await readAll(stored);
        // Elements have their original order, and ids if they had none.
        expect(model.map(({ id: _id, ...rest }) => rest)).toEqual(asJson(list).map(({ id: _id, ...rest }) => rest));
        for (const [i, { id }] of list.entries()) if (id !== undefined) expect(model[i]!.id).toBe(id);
        expect(new Set(model.map(({ id }) => id)).size).toBe(list.length);
        expect(stored).toMatchObject({
          count: list.length,
          detailsCount: model.reduce((sum, element) => sum + boundingBox(element).details, 0),
        });
        for (const parameters of queries) await expectSameAnswers(stored, model, parameters);
      }),
      { numRuns: casesOf(10, 1 / 3), endOnFailure: true },
    );
  });

  it('are the same when scanned, found by id, or read from their packs', async () => {
    await fc.assert(
      fc.asyncProperty(elementList, queryParameters, async (list, parameters) => {
        const stored = await (await store.write(asJson(list))).commit(publish);
        const model = await readAll(stored);
        const { conditions } = parseElementQuery(parameters);
        const matching = model.filter((element) => matchesConditions(boundingBox(element), conditions));
        const scanned = [];
        let order = -1;
        for await (const entry of store.scan(stored, { conditions })) {
          expect(entry.order).toBeGreaterThan(order);
          order = entry.order;
          expect(asJson(entry.box)).toEqual(asJson(boundingBox(entry.element)));
          scanned.push(entry.element);
        }
        expect(scanned).toEqual(matching);
        const absent = 'f0f0f0f0f0f0f0f0f0f0f0f0';
        const elements = await store.find(stored, [...model.map(({ id }) => id), absent]);
        expect(model.map(({ id }) => elements.get(id))).toEqual(model);
        expect(elements.has(absent)).toBe(false);
        const groups = new Set(model.map(({ group }) => group ?? null));
        expect(new Set(stored.groups)).toEqual(groups);
        const summaries = await store.listPackSummaries(stored);
        expect(summaries.reduce((sum, { count }) => sum + count, 0)).toBe(model.length);
        let marks = 0;
        for await (const pack of store.loadPackMarks(stored)) {
          marks += pack.boxes.length / 4;
          for (const index of pack.appearanceIndices) expect(groups).toContain(pack.appearances[index]!.group);
        }
        expect(marks).toBe(model.length);
      }),
      { numRuns: casesOf(10, 1 / 3), endOnFailure: true },
    );
  });

  it('have orders by which the results of several requests are merged, and their packs are fetched once', async () => {
    // The regions overlap. The orders of both results together give the order of the whole list.
    const list = Array.from({ length: 60 }, (_, index) => ({ type: 'point', center: [index % 8, index % 5, 0] }));
    const stored = await (await store.write(asJson(list))).commit(publish);
    const model = await readAll(stored);
    const fetched = vi.spyOn(started.records, 'findPacks');
    const placed = new Map<number, string>();
    for (const [left, right] of [
      [0, 5],
      [3, 9],
    ] as const) {
      const region = { left: String(left), right: String(right), limit: '100', orders: 'true' };
      const reading = await store.read(stored, parseElementQuery(region));
      const elements = JSON.parse(`[${await textOf(reading.chunks)}]`) as Stored[];
      expect(reading.orders).toHaveLength(elements.length);
      for (const [at, { id }] of elements.entries()) placed.set(reading.orders[at]!, id);
    }
    const ids = [...placed].sort(([a], [b]) => a - b).map(([, id]) => id);
    expect(ids).toEqual(model.map(({ id }) => id));
    const loadedPacks = fetched.mock.calls.flatMap(([packs]) => packs);
    fetched.mockRestore();
    expect(loadedPacks.length).toBeGreaterThan(1);
    expect(new Set(loadedPacks).size).toBe(loadedPacks.length);
  });

  it('of a region in many windows are fetched with few queries', async () => {
    // Too many texts to be loaded before it is known which are in the region.
    const list = Array.from({ length: 700 }, (_, x) => ({ type: 'point', center: [x, x, 0], user: { text: 'x'.repeat(7000) } }));
    const stored = await (await store.write(asJson(list))).commit(publish);
    expect(stored.windows).toHaveLength(70);
    const fetched = vi.spyOn(started.records, 'findPacks');
    const elements = await readAll(stored, parseElementQuery({ left: '1', right: '699' }));
    const { length } = fetched.mock.calls;
    fetched.mockRestore();
    expect(elements).toHaveLength(699);
    // A query loads at most 128 packs.
    expect(length).toBeLessThanOrEqual(2 * Math.ceil(700 / 128) + 2);
  });

  it('are changed element by element as a list would be', async () => {
    const edit = fc.record({
      replace: fc.array(fc.tuple(fc.nat(), anyElement), { maxLength: 5 }),
      append: fc.array(anyElement, { maxLength: 30 }),
      remove: fc.oneof(fc.array(fc.nat(), { maxLength: 5 }), fc.array(fc.nat(), { minLength: 40, maxLength: 80 })),
    });
    await fc.assert(
      fc.asyncProperty(
        elementList,
        fc.array(edit, { minLength: 1, maxLength: 5 }),
        queryParameters,
        async (list, edits, parameters) => {
          let stored = await (await store.write(asJson(list))).commit(publish);
          let model = await readAll(stored);
          for (const { replace, append, remove } of edits) {
            const pick = (n: number) => model[n % Math.max(1, model.length)];
            const put = new Map<string, Stored>();
            for (const [n, element] of replace) {
              const target = pick(n);
              if (target !== undefined) put.set(target.id, { ...asJson(element), id: target.id });
            }
            for (const element of append)
              if (element.id !== undefined) put.set(element.id, { ...asJson(element), id: element.id });
            const unnamed = append.filter(({ id }) => id === undefined).map(asJson);
            const removed = new Set(remove.flatMap((n) => pick(n)?.id ?? []));
            const before = { stored, elements: model };
            const write = await store.change(stored, { put: [...put.values(), ...unnamed], remove: removed });
            const result = await write.commit(async (changed) => {
              documents.add(changed.stored);
              return Promise.resolve(changed);
            });
            const named = new Map(result.ids.map((id, i) => [id, { ...[...put.values(), ...unnamed][i]!, id } as Stored]));
            const remaining = model.filter(({ id }) => !removed.has(id));
            const keptIds = new Set(remaining.map(({ id }) => id));
            model = [
              ...remaining.map((element) => named.get(element.id) ?? element),
              ...[...named.values()].filter(({ id }) => !keptIds.has(id)),
            ];
            stored = result.stored;
            expect(await readAll(stored)).toEqual(model);
            expect(stored.count).toBe(model.length);
            expect(new Set(stored.groups)).toEqual(new Set(model.map(({ group }) => group ?? null)));
            // The former version is as it was.
            expect(await readAll(before.stored)).toEqual(before.elements);
          }
          await expectSameAnswers(stored, model, parameters);
          const elements = await store.find(
            stored,
            model.map(({ id }) => id),
          );
          expect(elements.size).toBe(model.length);
          // Elements that no version uses are removed; all others stay.
          documents.clear();
          documents.add(stored);
          await sweep();
          expect(await readAll(stored)).toEqual(model);
        },
      ),
      { numRuns: casesOf(8, 1 / 3), endOnFailure: true },
    );
  });

  it('are stored completely by a change that is larger than the buffer in memory', async () => {
    const list = (user: string) => Array.from({ length: 300 }, (_, i) => ({ type: 'point', center: [i, 1, 0], user: { user } }));
    const stored = await (await store.write(list('a'))).commit(publish);
    const ids = (await readAll(stored)).map(({ id }) => id);
    const replaced = list('b'.repeat(30_000)).map((element, i) => ({ ...element, id: ids[i] }));
    const put = [...replaced, ...list('c'.repeat(30_000))];
    const write = await store.change(stored, { put });
    const changed = await write.commit((result) => publish(result.stored));
    const expected = put.map((element) => expect.objectContaining({ center: element.center, user: element.user }) as unknown);
    expect(await readAll(changed)).toEqual(expected);
  });
});
