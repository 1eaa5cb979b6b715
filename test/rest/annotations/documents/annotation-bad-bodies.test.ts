import { request } from 'node:http';
import { gzipSync } from 'node:zlib';
import mongoose from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { randomNumbers } from '../../../support/annotations/marks.js';
import { until } from '../../../support/run/until.js';
import { sampleOf } from '../../../support/run/sample.js';

/** Number of requests that are sent at the same time. */
const atOnce = 8;

describe('unusual and invalid bodies of annotations', () => {
  let at: Annotated;
  let connection: mongoose.Connection;
  let id: string;
  beforeAll(async () => {
    at = await startAnnotated();
    connection = await mongoose.createConnection(at.host.databaseUri).asPromise();
    ({ _id: id } = await at.annotate({ name: 'stays', elements: [point(1, { id: elementId(1) })] }));
  });
  afterAll(async () => {
    await connection?.close();
    await at?.close();
  });

  /** The number of documents of annotations and their elements. */
  const stored = async () => {
    const names = [
      'large_image_annotation',
      'large_image_annotation_version',
      'large_image_annotation_element_pack',
      'large_image_annotation_element_window',
      'large_image_annotation_element_family',
    ];
    return Promise.all(names.map((name) => connection.collection(name).countDocuments({})));
  };
  const post = (body: Uint8Array | string, headers: Record<string, string> = {}) =>
    at.admin.send('POST', '/annotation', { query: { itemId: at.item }, body, headers });

  it('with unpaired surrogates are stored unchanged, and all answers about them list the same groups', async () => {
    const annotation = await at.annotate({ name: 'n', elements: ['\ud800', '\udc00', 'a'].map((group) => point(1, { group })) });
    const read = await at.admin.ok('GET', `/annotation/${annotation._id}`);
    expect(read.annotation).toEqual(annotation.annotation);
    expect([annotation.groups, read.groups]).toEqual([
      ['a', '\ufffd'],
      ['a', '\ufffd'],
    ]);
  });

  it('are refused when cut at any byte, and leave nothing', async () => {
    const before = await stored();
    const element = { type: 'point', center: [-1.5, 2e3, 0], label: { value: 'é"\\' }, user: { a: [null, true] } };
    const complete = Buffer.from(JSON.stringify({ name: 'cut ä', elements: [element], attributes: { b: {} } }));
    const bodies = sampleOf(
      Array.from({ length: complete.length - 1 }, (_, i) => i + 1),
      50,
    );
    for (let start = 0; start < bodies.length; start += atOnce) {
      const lengths = bodies.slice(start, start + atOnce);
      const answers = await Promise.all(lengths.map((length) => post(complete.subarray(0, length))));
      for (const [i, { status, body }] of answers.entries()) {
        expect([lengths[i], status, typeof body.message]).toEqual([lengths[i], 400, 'string']);
      }
    }
    expect(await stored()).toEqual(before);
  });

  it('are refused or understood, but never crash the server, whichever byte is wrong', async () => {
    const random = randomNumbers(5);
    const points = Array.from({ length: 300 }, (_, i) => point(i, { group: `g${i % 3}` }));
    const texts = [
      JSON.stringify({ name: 'small', elements: [point(1)] }),
      JSON.stringify({ name: 'large', attributes: { a: [1] }, elements: points }),
      JSON.stringify({
        type: 'FeatureCollection',
        features: [{ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] } }],
      }),
    ];
    for (let round = 0; round < 30; round += 1) {
      const bytes = Buffer.from(texts[round % texts.length]!);
      const place = Math.floor(random() * bytes.length);
      bytes[place] = Math.floor(random() * 256);
      const { status, bytes: answer } = await post(bytes);
      expect(
        [200, 400],
        `${place}: ${bytes.toString('latin1', Math.max(0, place - 20), place + 20)} ${answer.toString()}`,
      ).toContain(status);
    }
  });

  it.each([
    ['gzip', gzipSync('{"name":"a"}'), { 'Content-Encoding': 'gzip' }, 415, 'without Content-Encoding gzip'],
    ['an unknown coding', Buffer.from('{"name":"a"}'), { 'Content-Encoding': 'x-own' }, 415, 'without Content-Encoding x-own'],
    ['gzip that is not declared', gzipSync('{"name":"a"}'), {}, 400, 'must be UTF-8'],
    ['a byte order mark', Buffer.from('\ufeff{"name":"a"}'), {}, 400, 'byte order mark'],
    ['UTF-16', Buffer.from('{"name":"a"}', 'utf16le'), {}, 400, 'UTF-16'],
    ['UTF-16 the other way round', Buffer.from('{"name":"a"}', 'utf16le').swap16(), {}, 400, 'UTF-16'],
    ['Latin-1', Buffer.from('{"name":"\xe9"}', 'latin1'), {}, 400, 'must be UTF-8'],
    [
      'a form',
      Buffer.from('{"name":"a"}'),
      { 'Content-Type': 'application/x-www-form-urlencoded' },
      400,
      'with its Content-Type',
    ],
    [
      'a multipart form without a boundary',
      Buffer.from('{"name":"a"}'),
      { 'Content-Type': 'multipart/form-data' },
      400,
      'boundary',
    ],
  ])('are refused on every route: %s', async (_what, body, headers, status, words) => {
    const before = await stored();
    const routes = [
      ['POST', '/annotation', { itemId: at.item }],
      ['POST', `/annotation/item/${at.item}`, {}],
      ['PUT', `/annotation/${id}`, {}],
      ['PATCH', `/annotation/${id}`, {}],
      ['POST', `/annotation/${id}/elements`, {}],
      ['PATCH', `/annotation/${id}/elements`, {}],
      ['PUT', `/annotation/${id}/elements/${elementId(1)}`, {}],
      ['PUT', `/annotation/${id}/metadata`, {}],
    ] as const;
    for (const [method, path, query] of routes) {
      const answer = await at.admin.send(method, path, { query, body, headers });
      expect([path, answer.status]).toEqual([path, status]);
      expect(JSON.stringify(answer.body)).toContain(words);
    }
    expect(await stored()).toEqual(before);
  });

  /**
   * Sends a body in pieces, without a length, as fast as they are accepted. @returns the response, and how many characters were
   * sent before it.
   */
  const sendPieces = (pieces: Iterable<string>, path = `/annotation?itemId=${at.item}`) =>
    new Promise<{ status: number; text: string; sent: number }>((resolve, reject) => {
      const sending = request(`${at.host.url}/api/v1${path}`, { method: 'POST', headers: { 'Girder-Token': at.admin.token! } });
      let sent = 0;
      let answered = false;
      sending.once('error', reject).once('response', (response) => {
        answered = true;
        const before = sent;
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          sending.destroy();
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), sent: before });
        });
      });
      const iterator = pieces[Symbol.iterator]();
      const next = () => {
        for (let piece = iterator.next(); !answered; piece = iterator.next()) {
          if (piece.done === true) return sending.end();
          sent += piece.value.length;
          if (!sending.write(piece.value)) return sending.once('drain', next);
        }
      };
      next();
    });

  it('may arrive in pieces of any length without a declared length', async () => {
    const text = JSON.stringify({ name: 'pieces', elements: [point(1), point(2)] });
    const { status, text: answer } = await sendPieces(text);
    expect([status, (JSON.parse(answer) as { _elementCount: number })._elementCount]).toEqual([200, 2]);
  });

  it.each([
    ['an element', (text: string) => `{"elements":[{"type":"point","center":[1,2,0],"label":{"value":"${text}"}}]}`],
    [
      'a feature',
      (text: string) =>
        `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":"${text}"},"geometry":{"type":"Point","coordinates":[1,2]}}]}`,
    ],
  ])('are refused as invalid JSON when %s is, even if it is long', async (_what, body) => {
    for (const length of [1, 2_000_000]) {
      const answer = await at.admin.send('POST', '/annotation', {
        query: { itemId: at.item },
        body: body(`${'x'.repeat(length)}\\ud8`),
        headers: { 'Content-Type': 'application/json' },
      });
      expect([length, answer.status, answer.body.message]).toEqual([length, 400, 'Invalid JSON passed in request body.']);
    }
  });

  it('are refused long before their end when they are too long or begin with a fault', async () => {
    const before = await stored();
    function* polygon() {
      yield '{"elements":[{"type":"polyline","points":[[1,2,0]';
      // Ten million points.
      for (let i = 0; i < 10_000; i += 1) yield ',[1234.5,6789.5,0]'.repeat(1000);
      yield ']}]}';
    }
    const long = await sendPieces(polygon());
    expect([long.status, long.text]).toEqual([400, expect.stringMatching(/elements\[0\] is longer than/)]);
    expect(long.sent).toBeLessThan(150_000_000);
    function* faulty() {
      yield '{"elements":[{"type":"nope"}';
      for (let i = 0; i < 3000; i += 1) yield ',{"type":"point","center":[1,2,0]}'.repeat(1000);
      yield ']}';
    }
    const refused = await sendPieces(faulty());
    expect([refused.status, refused.text]).toEqual([400, expect.stringMatching(/elements\[0\]\.type/)]);
    expect(refused.sent).toBeLessThan(90_000_000);
    // Elements that were stored before the error was found are removed.
    await until('nothing is left', async () => JSON.stringify(await stored()) === JSON.stringify(before));
  });
});
