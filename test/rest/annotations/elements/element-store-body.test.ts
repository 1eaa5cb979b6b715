import { Readable } from 'node:stream';
import type { Connection } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parseElementQuery } from '../../../../src/annotation-format/element-query.js';
import { LargeImageError } from '../../../../src/errors.js';
import type { ReceivedBody, StoredElements } from '../../../../src/features/annotations/elements/element-store.js';
import { PackedElementStore } from '../../../../src/features/annotations/elements/store.js';
import type { MongoElementRecords } from '../../../../src/features/annotations/elements/element-records.model.js';
import { commitWrite, startElementStore } from '../../../support/annotations/element-store.js';
import { isFull } from '../../../support/run/sample.js';

vi.setConfig({ testTimeout: 120_000 });

let started: Awaited<ReturnType<typeof startElementStore>>;
let connection: Connection;
let records: MongoElementRecords;
let store: PackedElementStore;

beforeAll(async () => {
  started = await startElementStore();
  ({ connection, records, store } = started);
});
afterAll(() => started?.close());

function stored(): Promise<number[]> {
  const names = ['pack', 'window', 'part', 'family'].map((name) => `large_image_annotation_element_${name}`);
  return Promise.all(names.map((name) => connection.collection(name).countDocuments({})));
}

/** A body in chunks of this many bytes, as they arrive over a slow network. */
async function* inChunks(body: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let start = 0; start < body.length; start += size) yield await Promise.resolve(body.subarray(start, start + size));
}

const receive = (body: Buffer | AsyncIterable<Uint8Array>, signal?: AbortSignal) =>
  commitWrite(store.readBody(body, signal ? { signal } : {}));
const receiveText = (text: string) => receive(Buffer.from(text));

async function readAll(elements: StoredElements | null): Promise<{ id: string; [key: string]: unknown }[]> {
  if (elements === null) throw new Error('there are no elements');
  const parts: Buffer[] = [];
  for await (const chunk of (await store.read(elements, parseElementQuery({}))).chunks) parts.push(chunk);
  return JSON.parse(`[${Buffer.concat(parts).toString()}]`) as { id: string }[];
}

const withoutIds = (elements: readonly { id: string }[]) => elements.map(({ id: _id, ...rest }) => rest);
const elementsOf = ({ value, elementsOf: of }: ReceivedBody) => of(value);

const document = {
  name: 'zoë "[1]" {',
  description: 'elements: [',
  attributes: { elements: [1, { elements: [2] }], note: 'a\\"b' },
  elements: [
    { type: 'point', center: [1, 2, 0], label: { value: 'äöü ] } , \\ "' } },
    {
      type: 'polyline',
      points: [
        [1.5, 2.25, 0],
        [3, 4, 0],
      ],
      user: { a: [{ b: 1 }], c: 'x' },
    },
    { type: 'rectangle', center: [1, 2, 0], width: 3, height: 4.5, group: 'g', id: '0123456789abcdef01234567' },
    { type: 'circle', center: [-1, 0, 0], radius: 1e-3 },
  ],
};

describe('a body', () => {
  it('is read the same with any white space and in any chunks', async () => {
    const { elements, ...head } = document;
    for (const text of [JSON.stringify(document), JSON.stringify(document, null, 2), ` ${JSON.stringify(document)}\r\n\t`]) {
      const bytes = Buffer.from(text);
      for (const size of [1, 2, 3, 7, 64, bytes.length]) {
        const received = await receive(inChunks(bytes, size));
        expect(received.value).toEqual(head);
        const read = await readAll(elementsOf(received));
        expect(withoutIds(read)).toEqual(elements.map(({ id: _id, ...rest }) => rest));
        expect(read[2]!.id).toBe('0123456789abcdef01234567');
      }
    }
  });

  it('is stored in canonical form', async () => {
    const text =
      '{"elements":[{"type":"point","center":[1.0,2.50,-3e0]},{"type":"point","center":[1,2,3],"_bbox":{"lowx":0}},' +
      '{"type":"point","center":[1,2,3],"group":"a","group":"b"},{"type":"poi\\u006et","center":[1,2,3]}]}';
    const received = await receiveText(text);
    const chunks: Buffer[] = [];
    for await (const chunk of (await store.read(elementsOf(received)!, parseElementQuery({}))).chunks) chunks.push(chunk);
    const read = Buffer.concat(chunks).toString();
    expect(read).not.toMatch(/\s|_bbox|1\.0|-3e0/);
    expect(withoutIds(JSON.parse(`[${read}]`) as { id: string }[])).toEqual([
      { type: 'point', center: [1, 2.5, -3] },
      { type: 'point', center: [1, 2, 3] },
      { type: 'point', center: [1, 2, 3], group: 'b' },
      { type: 'point', center: [1, 2, 3] },
    ]);
    expect(read.match(/"group"/g)).toHaveLength(1);
  });

  it('may be a record, a list of documents, or GeoJSON', async () => {
    const point = { type: 'point', center: [1, 2, 0] };
    const record = await receiveText(JSON.stringify({ _id: 'x', annotation: { name: 'n', elements: [point] } }));
    expect(record.value).toEqual({ _id: 'x', annotation: { name: 'n' } });
    const { annotation } = record.value as { annotation: object };
    expect(withoutIds(await readAll(record.elementsOf(annotation)))).toEqual([point]);

    const list = await receiveText(
      JSON.stringify([{ name: 'a', elements: [point, point] }, { name: 'b' }, { annotation: { elements: [] } }]),
    );
    const [a, b, c] = list.value as [object, object, { annotation: object }];
    expect(list.elementsOf(a)).toMatchObject({ count: 2 });
    expect(list.elementsOf(b)).toBeNull();
    expect(list.elementsOf(c.annotation)).toMatchObject({ count: 0 });

    const feature = {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [5, 6] },
      properties: { annotation: { name: 'geo' } },
    };
    const geo = await receiveText(JSON.stringify({ type: 'FeatureCollection', features: [feature] }));
    expect(withoutIds(await readAll(elementsOf(geo)))).toEqual([{ type: 'point', center: [5, 6, 0] }]);
    expect(geo.annotationOf(geo.value)).toEqual({ name: 'geo' });
  });

  it('gets 400 if it is invalid, and nothing is stored', async () => {
    await store.sweep(() => Promise.resolve([]));
    expect(await stored()).toEqual([0, 0, 0, 0]);
    const point = '{"type":"point","center":[1,2,3]}';
    const many = Array.from({ length: 200 }, () => point).join(',');
    const id = '"id":"0123456789abcdef01234567"';
    const cases: [body: string, message: RegExp][] = [
      ['', /Invalid JSON/],
      ['{"elements":[', /Invalid JSON/],
      [`{"elements":[${many}`, /Invalid JSON/],
      [`{"elements":[${many}]`, /Invalid JSON/],
      [`{"elements":[${many},]}`, /Invalid JSON/],
      [`{"elements":[,${point}]}`, /Invalid JSON/],
      [`{"elements":[${point} ${point}]}`, /Invalid JSON/],
      [`{"elements":[${many},{"type":"point","center":[1,2,3}]]}`, /Invalid JSON/],
      [`{"elements":[${many}}`, /Invalid JSON/],
      [`{"elements":[${many}]}{`, /Invalid JSON/],
      [`{"elements":[{"type":"point","center":[1,2,NaN]}]}`, /"NaN" is not valid JSON/],
      [`{"elements":[${many},{"type":"point","center":[1,2,1e400]}]}`, /elements\[200\]\.center\[2\]: must be a finite number/],
      [`{"elements":[${many},7]}`, /elements\[200\]: must be an object, not 7/],
      [
        `{"elements":[{"type":"point",${id},"center":[1,2,3]},${many},{"type":"point",${id},"center":[1,2,3]}]}`,
        /not unique: elements\[201\]/,
      ],
      ['{"elements":{}}', /elements: must be an array, not an object/],
      ['{"elements":null}', /elements: must be an array, not null/],
      [`{"elements":[${point}],"elements":[${many}]}`, /is repeated/],
      [`[{"elements":[${many}]},{"elements":[{"type":"no"}]}]`, /elements\[0\]\.type: must be one of/],
      ['{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Cube"}}]}', /GeoJSON feature 0/],
      [
        `{"elements":[{"type":"point","center":[1,2,3],"user":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}]}`,
        /nested deeper than 64/,
      ],
      [`{"elements":[{"type":"point","center":[1,2,3],"user":{"__proto__":1}}]}`, /__proto__/],
      [`{"elements":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`, /nested deeper than 500 levels/],
    ];
    for (const [body, message] of cases) {
      const error = await receiveText(body).catch((reason: unknown) => reason);
      expect(error, body.slice(0, 80)).toMatchObject({ code: 'bad-parameter' });
      expect((error as Error).message).toMatch(message);
    }
    await expect(
      receive(Buffer.concat([Buffer.from('{"elements":[{"type":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}]}')])),
    ).rejects.toThrow(/must be UTF-8/);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it('cut or changed anywhere is stored whole or not at all', async () => {
    const text = Buffer.from(JSON.stringify(document));
    for (let length = 0; length < text.length; length += isFull ? 3 : 24) {
      await expect(receive(text.subarray(0, length)), String(length)).rejects.toMatchObject({ code: 'bad-parameter' });
    }
    for (let at = 0; at < text.length; at += isFull ? 7 : 70) {
      for (const byte of ['}', ',', '"']) {
        const broken = Buffer.from(text);
        broken.write(byte, at);
        let parsed: unknown;
        try {
          parsed = JSON.parse(broken.toString());
        } catch {
          await expect(receive(broken), `${byte} at ${at}`).rejects.toMatchObject({ code: 'bad-parameter' });
          continue;
        }
        // A text that is still JSON may be a valid document or not, but is never reported as broken JSON.
        const outcome = await receive(broken).catch((error: Error) => error.message);
        if (typeof outcome === 'string') expect(outcome).not.toMatch(/Invalid JSON/);
        else expect(outcome.elementsOf(outcome.value)?.count ?? 0).toBe((parsed as typeof document).elements?.length ?? 0);
      }
    }
  });

  it('that stops halfway, or is canceled, leaves nothing', async () => {
    await store.sweep(() => Promise.resolve([]));
    const point = '{"type":"point","center":[1,2,3]},';
    const stops = Readable.from(
      (async function* () {
        yield Buffer.from(`{"elements":[${point.repeat(500)}`);
        await Promise.resolve();
        throw new Error('aborted');
      })(),
    );
    await expect(receive(stops)).rejects.toThrow('The request body is incomplete.');
    const controller = new AbortController();
    const endless = (async function* () {
      yield Buffer.from('{"elements":[');
      for (let i = 0; ; i += 1) {
        if (i === 300) controller.abort(new Error('gone'));
        yield await Promise.resolve(Buffer.from(point.repeat(10)));
      }
    })();
    await expect(receive(endless, controller.signal)).rejects.toThrow('gone');
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it('is kept when publishing fails with an unknown outcome, and removed when it is refused', async () => {
    const write = async (error: Error) =>
      (await store.write([{ type: 'point', center: [1, 2, 3] }])).commit(() => Promise.reject(error));
    await expect(write(new LargeImageError('conflict', 'someone was first'))).rejects.toThrow('someone was first');
    expect(await stored()).toEqual([0, 0, 0, 0]);
    await expect(write(new Error('connection lost'))).rejects.toThrow('connection lost');
    expect(await stored()).toEqual([1, 1, 0, 1]);
    await store.sweep(() => Promise.resolve([]));
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });

  it.runIf(isFull)('of one huge element is stored in pieces, and one that is too long is refused', async () => {
    const plain = new PackedElementStore({
      records,
      brand: 'service',
      overlaySizes: () => Promise.resolve(null),
    });
    const points = Array.from({ length: 480_000 }, (_, i) => [Math.sin(i) * 1e5, Math.cos(i * i) * 1e5, i % 7]);
    const elements = [
      { type: 'polyline', points },
      { type: 'point', center: [1, 2, 3] },
    ];
    const received = await commitWrite(plain.readBody(Buffer.from(JSON.stringify({ elements }))));
    const read = await readAll(elementsOf(received)!);
    // Compared as text, because the report of a difference would be too long to read.
    expect(JSON.stringify(withoutIds(read)) === JSON.stringify(elements)).toBe(true);
    const long = Buffer.from(
      `{"elements":[{"type":"polyline","points":[[1,2,3]${',[1234567890,1234567890,1234567890]'.repeat(1_000_000)}]}]}`,
    );
    await expect(plain.readBody(long)).rejects.toThrow('elements[0] is longer than 33554432 bytes.');
    const { removed } = await store.sweep(() => Promise.resolve([]));
    expect(removed).toBeGreaterThan(3);
    expect(await stored()).toEqual([0, 0, 0, 0]);
  });
});
