import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, parseCentroids, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { recordedBody } from '../../../support/hosts/recorded-body.js';
import type { Answer, Client, Sending } from '../../../support/hosts/reference-host.js';

type Json = Record<string, unknown>;
type Ids = Record<string, string>;

/** A request to the established implementation, and its response. */
interface Example {
  name: string;
  request: {
    method: string;
    path: string;
    user: string | null;
    params?: Record<string, string>;
    json?: unknown;
    form?: Record<string, string>;
  };
  status: number;
  headers: Record<string, string>;
  body: { kind: 'json'; json: unknown } | { kind: 'centroids'; json: unknown; records: [string, ...number[]][] };
}

const file = '../shared/spec/examples.jsonl';
const noExamples = existsSync(file) ? null : `${file} is not there`;
const examples = (noExamples === null ? readFileSync(file, 'utf8').trim().split('\n') : [])
  .map((line) => JSON.parse(line) as Example)
  .filter(({ request }) => request.path.startsWith('/annotation'));
const recorded = new Map(examples.map((example) => [example.name, example]));
const recordedJson = (name: string) => recorded.get(name)!.body.json as never;

const prefix = "Validation Error: JSON doesn't follow schema (";
/** Names and times that differ from run to run. */
const placeholder = /<[^<>]+>/;

/** The expected answer for a recorded one. */
function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, expected(entry)]));
  }
  if (typeof value !== 'string' || !placeholder.test(value)) return value;
  if (value === '<version>') return expect.any(Number);
  const parts = value.split(placeholder).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return expect.stringMatching(new RegExp(`^${parts.join('.+')}$`));
}

/** Responses that differ from the recorded ones: why, and what is expected instead. */
const differences: Record<string, { why: string; instead: (json: never) => unknown }> = {
  'annot.delete.image': { why: 'a result of the driver is no response', instead: () => null },
  'annot.geojson.image_plain': {
    why: 'overlays are exported',
    instead: () => ({
      type: 'FeatureCollection',
      features: [expect.objectContaining({ geometry: { type: 'Point', coordinates: [0, 0, 0] } })],
    }),
  },
  'abad.itempost.list.get': {
    why: 'the level shown is that of the caller, who is an administrator',
    instead: (json: Json[]) => json.map((entry) => ({ ...(expected(entry) as Json), _accessLevel: 2 })),
  },
  'region.9.offset=abc': {
    why: 'no part of a response is sent before the numbers are read',
    instead: () => ({ type: 'rest', message: 'Invalid value for integer parameter offset: abc.' }),
  },
  'apatch.bad_op': { why: 'recorded as text', instead: () => ({ type: 'validation', message: 'patch has invalid op' }) },
  'aput.move.2': {
    why: 'recorded as text',
    instead: () => ({ type: 'validation', message: 'Invalid ObjectId: nosuch', field: 'id' }),
  },
  'ahist.get.v_prev': {
    why: 'the history shows no access lists',
    instead: ({ access: _access, ...json }: Json) => expected(json),
  },
  'aimages.8.None': {
    why: 'the items are made for this test, without files',
    instead: (json: Json[]) => json.map(({ name, lowerName }) => expect.objectContaining({ name, lowerName })),
  },
};
for (const { name, status } of examples) {
  if (status !== 400 || !name.startsWith('abad.')) continue;
  differences[name] = {
    why: 'the message names element and property',
    instead: ({ type }: Json) => ({ type, message: expect.stringContaining(prefix) }),
  };
}

describe.skipIf(noExamples !== null)(
  `recorded responses about annotations${noExamples === null ? '' : ` (skipped: ${noExamples})`}`,
  () => {
    let at: Annotated;
    let items: Ids;
    beforeAll(async () => {
      at = await startAnnotated({ checksAnswers: true });
      const folderId = at.publicFolder;
      items = {};
      for (const [key, name] of [
        ['svs', 'CMU-1-Small-Region.svs'],
        ['jpg', 'sample.jpg'],
        ['o1', 'o1'],
      ] as const) {
        items[key] = await at.admin.create('/item', { folderId, name });
      }
    });
    afterAll(() => at?.close());

    const annotate = async (json: unknown, on = 'jpg') => (await at.annotate(json, { on: items[on]! }))._id;
    const patch = (id: string, json: unknown) => at.admin.ok('PATCH', `/annotation/${id}`, { json });
    const setAccess = async (id: string, users: Json[], isPublic: boolean) =>
      at.admin.ok('PUT', `/annotation/${id}/access`, { query: { access: JSON.stringify({ users }), public: isPublic } });
    /** The document of a recorded answer. Its elements lack the ids that are placeholders. */
    const shown = ({ annotation }: { annotation: Json }): Json => ({
      ...annotation,
      elements: (annotation.elements as Json[]).map(({ id: _id, ...element }) => element),
    });
    /** A document whose record resembles a recorded one, in groups, number of elements and details. */
    const like = (entry: Json): Json => {
      const groups = entry.groups as (string | null)[];
      const [count, details] = [Number(entry._elementCount), Number(entry._detailsCount)];
      const line = { type: 'polyline', points: Array.from({ length: details - count + 1 }, (_, x) => [x, 0, 0]) };
      const elements = Array.from({ length: count }, (_, at) => {
        const group = groups[at % groups.length];
        return { ...(at === 0 ? line : point(at)), ...(group !== null && { group }) };
      });
      return { ...(entry.annotation as Json), elements };
    };

    let listed: Promise<void> | undefined;
    /** Creates everything in the recorded list, once. */
    const annotateList = async (): Promise<Ids> => {
      listed ??= (async () => {
        await at.admin.ok('DELETE', `/annotation/folder/${at.publicFolder}`);
        const entries = recordedJson('afind.0.user') as Json[];
        for (const [index, entry] of (recordedJson('afind.0.admin') as Json[]).entries()) {
          const id = await annotate(like(entry), String(entry.itemId).slice(1, -1));
          const level = Number(entries[index]!._accessLevel);
          const users = [{ id: at.admin.id, level: 2 }, ...(level < 0 ? [] : [{ id: at.stranger.id, level }])];
          await setAccess(id, users, true);
        }
      })();
      await listed;
      return {};
    };
    const polyline = () =>
      annotate({
        name: 'el polyline_two',
        elements: [
          {
            type: 'polyline',
            points: [
              [5, 6, 0],
              [7.5, 8.25, 0],
            ],
            closed: false,
          },
        ],
      });
    const edited = (json: Json) => annotate({ name: 'first', ...json }, 'svs');
    const privately = async () => {
      const id = await annotate({ name: 'private' });
      await setAccess(
        id,
        [
          { id: at.admin.id, level: 2 },
          { id: at.writer.id, level: 1 },
        ],
        false,
      );
      return { apriv: id };
    };

    /** Creates what a request is about. Returns the ids for its placeholders. */
    const prepare: Record<string, () => Promise<Ids>> = {
      'annot.centroids.point': async () => ({
        el_point: await annotate({ name: 'el point', elements: [{ type: 'point', center: [10.3, -40, 0] }] }),
      }),
      'annot.get.polyline_two': async () => ({ el_polyline_two: await polyline() }),
      'annot.centroids.polyline_two': async () => ({ el_polyline_two: await polyline() }),
      'annot.geojson.polyline_two': async () => ({ el_polyline_two: await polyline() }),
      'annot.delete.image': async () => ({ el_image: await annotate({ elements: [] }) }),
      'annot.geojson.image_plain': async () => ({
        el_image_plain: await annotate({ elements: [{ type: 'image', girderId: items.jpg }] }),
      }),
      'annot.geojsonin.c4.back': async () => {
        const { features } = recordedJson('annot.geojsonin.c4.back') as { features: { properties: Json }[] };
        const sent = features.map(({ properties: { id: _id, ...properties }, ...feature }) => ({ ...feature, properties }));
        return { gj_c4: await annotate({ type: 'FeatureCollection', features: sent }) };
      },
      'abad.itempost.list.get': async () => {
        const json = [
          { name: 'one', elements: [] },
          { name: 'two', elements: [{ type: 'point', center: [10.3, -40, 0] }] },
        ];
        await at.admin.ok('POST', `/annotation/item/${items.o1}`, { json });
        return {};
      },
      'region.9.offset=abc': async () => ({ amany: await annotate({ elements: [point(1)] }) }),
      'apatch.remove_description.get': async () => {
        const id = await edited({ ...shown(recordedJson('apatch.remove_description.get')), description: 'd' });
        await patch(id, [{ op: 'remove', path: 'description' }]);
        return { aed: id };
      },
      'apatch.bad_op': async () => ({ aed: await edited({}) }),
      'aput.move.2': async () => ({ aed: await edited({}) }),
      'ahist.get.v_prev': async () => {
        const annotation = await at.annotate(shown(recordedJson('ahist.get.v_prev')), { on: items.svs! });
        await patch(annotation._id, [{ op: 'replace', path: 'name', value: 'later' }]);
        return { aed: annotation._id, v_prev: String(annotation._version) };
      },
      'ameta.put.set': async () => ({
        aed2: await annotate({ ...like(recordedJson('ameta.put.set')), attributes: {} }, 'svs'),
      }),
      'aaccess.put.junk.asuser': async () => {
        const json = recordedJson('aaccess.put.junk.asuser') as Json;
        const { elements } = like({ ...json, _elementCount: 3, _detailsCount: 12 }) as { elements: Json[] };
        const [first] = shown(json as never).elements as Json[];
        return { aed2: await annotate({ ...(json.annotation as Json), elements: [first, ...elements] }, 'svs') };
      },
      'afind.0.admin': annotateList,
      'afind.0.user': annotateList,
      'afind.0.None': annotateList,
      'afind.9.user': annotateList,
      'aimages.8.None': async () => {
        for (const item of ['jpg', 'svs']) await annotate({ name: 'latest' }, item);
        return { admin: at.admin.id! };
      },
      'aplot.data.5': async () => {
        const { data } = recordedJson('aplot.data.5') as { data: [number, number][] };
        const boxes = data.map(([x, y]) => ({ type: 'rectangle', center: [x + 1, y + 1, 0], width: 2, height: 2, group: 'g' }));
        return { afew: await annotate({ name: 'few', elements: boxes }, 'svs') };
      },
      'aauth.user.apriv.GET': privately,
      'aauth.writer.apriv.GET/access': privately,
    };

    const clientOf = (user: string | null): Client =>
      user === null
        ? at.host.anonymous
        : (({ admin: at.admin, writer: at.writer } as Record<string, Client>)[user] ?? at.stranger);
    const fill = <T>(value: T, ids: Ids): T =>
      value === undefined
        ? value
        : (JSON.parse(JSON.stringify(value).replaceAll(/\{(\w+)\}/g, (_, key: string) => ids[key] ?? `{${key}}`)) as T);

    async function replay({ name, request }: Example): Promise<Answer> {
      const ids = { ...items, ...(await prepare[name]?.()) };
      const { method, path, user, params, json, form } = fill(request, ids);
      const sending: Sending = {
        ...(params !== undefined && { query: params }),
        ...(json !== undefined && { json }),
        ...(form !== undefined && { form }),
      };
      return clientOf(user).send(method, path, sending);
    }

    it.each(
      examples.map(
        (example) =>
          [
            `${example.name}${differences[example.name] ? `, otherwise: ${differences[example.name]!.why}` : ''}`,
            example,
          ] as const,
      ),
    )('%s', async (_title, example) => {
      const answer = await replay(example);
      expect(answer.status, answer.bytes.toString()).toBe(example.status);
      const total = example.headers['girder-total-count'];
      if (total !== undefined) expect(answer.headers.get('girder-total-count')).toBe(total);
      const { body } = example;
      if (body.kind === 'centroids') {
        const { json, records } = parseCentroids(answer);
        expect(json).toEqual(expected(body.json));
        expect(records).toEqual(body.records.map(([id, ...numbers]) => [expected(id), ...numbers]));
      } else {
        const difference = differences[example.name];
        expect(recordedBody(answer)).toEqual(difference ? difference.instead(body.json as never) : expected(body.json));
      }
    });
  },
);

describe('with the brand of the package', () => {
  it('names the item of overlays serviceId, and knows no other name', async () => {
    const at = await startAnnotated({ brand: 'service' });
    try {
      const schema = JSON.stringify(await at.host.anonymous.ok('GET', '/annotation/schema'));
      expect([schema.includes('serviceId'), schema.includes('girderId')]).toEqual([true, false]);
      const annotation = await at.annotate({ elements: [{ type: 'image', serviceId: at.item }, point(1)] });
      expect(elementsOf(annotation)[0]).toMatchObject({ serviceId: at.item });
      expect(await at.admin.ok('GET', '/annotation/counts', { query: { items: at.item } })).toMatchObject({
        referenced: { [at.item]: true },
      });
      const json = { elements: [{ type: 'image', girderId: at.item }] };
      expect((await at.admin.send('POST', '/annotation', { query: { itemId: at.item }, json })).status).toBe(400);
    } finally {
      await at.close();
    }
  });
});
