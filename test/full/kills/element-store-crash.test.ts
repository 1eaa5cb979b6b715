import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { StoredElements } from '../../../src/features/annotations/elements/element-store.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { openElements } from '../../support/annotations/element-process.js';
import { builtProgram } from '../../support/run/programs.js';

let database: Awaited<ReturnType<typeof startTestDatabase>>;
let connection: Connection;
let elements: ReturnType<typeof openElements>;

beforeAll(async () => {
  database = await startTestDatabase();
  connection = await new Mongoose().createConnection(database.uri).asPromise();
  elements = openElements(connection);
  await elements.store.createIndexes();
});
afterAll(async () => {
  await connection.close();
  await database.stop();
});

const rounds = 4;

function countOf(kind: string): Promise<number> {
  return connection.collection(`large_image_annotation_element_${kind}`).countDocuments({});
}

async function elementsOf(family: string): Promise<StoredElements[]> {
  const docs = await elements.documents.find({ 'elements.family': family }).toArray();
  return docs.map((doc) => doc.elements);
}

/** Checks that every document can be read, and that all its elements have one version. @returns the number of documents. */
async function expectWholeVersions(): Promise<number> {
  const docs = await elements.documents.find({}).toArray();
  for (const { version, elements: stored } of docs) {
    let count = 0;
    for await (const { element } of elements.store.scan(stored)) {
      count += 1;
      expect((element as { lineWidth?: number }).lineWidth).toBe(version);
    }
    expect(count).toBe(stored.count);
  }
  return docs.length;
}

it('the store of elements hides a write or change that was killed at any moment, and sweeps its traces', async () => {
  let sawTraces = false;
  // A kill between two writes leaves nothing. Then there are more rounds.
  for (let round = 0; round < rounds || (!sawTraces && round < 10 * rounds); round += 1) {
    const child = spawn(process.execPath, [builtProgram('element-worker'), database.uri], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 1000));
    // The data of a running process are left alone, however long it is silent.
    child.kill('SIGSTOP');
    await elements.store.sweep(elementsOf);
    child.kill('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 500));
    child.kill('SIGKILL');
    await ended;
    await expectWholeVersions();
    const before = await countOf('pack');
    await elements.store.sweep(elementsOf);
    sawTraces ||= (await countOf('pack')) < before;
    // Only packs, windows and indexes to which documents refer are left.
    let packs = 0;
    let windows = 0;
    for (const { elements: stored } of await elements.documents.find({}).toArray()) {
      packs += (await elements.store.listPackSummaries(stored)).length;
      windows += stored.windows.length;
    }
    expect([await countOf('pack'), await countOf('window')]).toEqual([packs, windows]);
    await expectWholeVersions();
  }
  expect(await elements.documents.countDocuments({})).toBeGreaterThan(0);
  expect(sawTraces).toBe(true);
});

it('the store of elements accepts one of two simultaneous writers, and refuses the other', async () => {
  const { store, documents } = elements;
  const point = (lineWidth: number) => ({ type: 'point', center: [1, 2, 3], lineWidth });
  const base = await (
    await store.write([point(1)])
  ).commit(async (stored) => {
    const { insertedId } = await documents.insertOne({ version: 1, elements: stored });
    return { _id: insertedId, stored };
  });
  const change = async (lineWidth: number) =>
    (await store.change(base.stored, { put: [point(lineWidth)] })).commit(async ({ stored }) => {
      const changed = await documents.findOneAndUpdate({ _id: base._id, version: 1 }, { $set: { version: 2, elements: stored } });
      if (changed === null) throw new Error('conflict');
      return lineWidth;
    });
  const results = await Promise.allSettled([change(2), change(3)]);
  const winners = results.filter((result) => result.status === 'fulfilled');
  expect(winners).toHaveLength(1);
  const { elements: stored } = (await documents.findOne({ _id: base._id }))!;
  const widths: unknown[] = [];
  for await (const { element } of store.scan(stored)) widths.push((element as { lineWidth?: number }).lineWidth);
  expect(widths).toEqual([1, (winners[0] as PromiseFulfilledResult<number>).value]);
});

it('the store of elements keeps the sweeper away from shared data, and writers away from swept data', async () => {
  const { store, documents } = elements;
  const stored = await (
    await store.write([{ type: 'point', center: [1, 2, 3] }])
  ).commit((reference) => Promise.resolve(reference));
  // No document refers to the elements while the copy is made.
  await store.keepFamilyWhile(stored.family, async () => {
    expect(await store.sweep(elementsOf, { families: [stored.family] })).toEqual({ families: 0, removed: 0, abandoned: 0 });
    await documents.insertOne({ version: 1, elements: stored });
  });
  expect(await store.sweep(elementsOf, { families: [stored.family] })).toEqual({ families: 1, removed: 0, abandoned: 0 });
  let sharing: Promise<unknown> = Promise.resolve();
  const order: string[] = [];
  await store.sweep(
    async (family) => {
      sharing = store.keepFamilyWhile(family, () => Promise.resolve(order.push('shared')));
      await new Promise((resolve) => setTimeout(resolve, 300));
      order.push('swept');
      return elementsOf(family);
    },
    { families: [stored.family] },
  );
  await sharing;
  expect(order).toEqual(['swept', 'shared']);
});
