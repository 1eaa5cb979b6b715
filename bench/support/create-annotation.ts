/**
 * Stores the document of a file in a process of its own, whose memory nothing else has touched, and says how long it took and how
 * much memory it needed: `create-annotation.ts URI DATABASE FILE`, after storing a small one to have everything compiled.
 */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import mongoose from 'mongoose';
import type { StoredElements } from '../../src/annotation/store/contract.js';
import { PackedElementStore } from '../../src/annotation/store/store.js';
import { MongoElementRecords } from '../../src/models/element-records.js';
import { median, timed } from './measure.js';

/** What the process prints, as JSON. */
export interface Created {
  stored: StoredElements;
  createMs: number;
  /** Growth of the resident set, bytes. */
  grewBytes: number;
  /** JSON.parse of the same text. */
  parseMs: number;
}

const [uri, dbName, path, warmUp] = process.argv.slice(2) as [string, string, string, string];
const connection = await mongoose.createConnection(uri, { dbName }).asPromise();
const records = new MongoElementRecords(connection);
const store = new PackedElementStore({ records, brand: 'service', overlaySizes: () => Promise.resolve(null) });

async function create(file: string): Promise<StoredElements> {
  return store.readBody(createReadStream(file), async (received) => {
    const elements = received.elementsOf(received.value);
    if (elements === null) throw new Error('The body has no elements');
    await connection.collection('head').insertOne({ name: 'bench', _version: 1, elements });
    return elements;
  });
}

// Three times: the first one compiles for half a second.
for (let round = 0; round < 3; round += 1) await create(warmUp);
const before = process.memoryUsage().rss;
const [stored, firstMs] = await timed(() => create(path));
const times = [firstMs];
// Short ones vary: the median of five.
while (firstMs < 5000 && times.length < 5) times.push((await timed(() => create(path)))[1]);
const createMs = median(times);
// The most it ever was, in kilobytes.
const grewBytes = process.resourceUsage().maxRSS * 1024 - before;
const text = (await readFile(path)).toString('latin1');
const [, parseMs] = await timed(() => Promise.resolve(JSON.parse(text) as unknown));
console.log(JSON.stringify({ stored, createMs, grewBytes, parseMs } satisfies Created));
await connection.close();
