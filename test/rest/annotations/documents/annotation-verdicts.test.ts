import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { mutants, type Mutant } from '../../../support/annotations/annotation-mutants.js';
import { oracle } from '../../../support/annotations/annotation-oracle.js';
import { fullElements } from '../../../unit/annotation-format/samples.js';
import { isFull } from '../../../support/run/sample.js';

type Json = Record<string, unknown>;
/** One of this many mutants is sent. The number has no common factor with the number of routes, so every route is used. */
const step = isFull ? 149 : 307;

describe('every route that takes elements', () => {
  let at: Annotated;
  let annotation: string;
  beforeAll(async () => {
    at = await startAnnotated({ brand: 'service' });
    annotation = (await at.annotate({ name: 'n', elements: [point(1)] }))._id;
  });
  afterAll(() => at?.close());

  let sent = 0;
  const nextId = () => elementId((sent += 1));
  const item = () => ({ itemId: at.item });
  const send = (method: string, path: string, json: unknown, query: Record<string, string> = {}) =>
    at.admin.send(method, `/annotation${path}`, { json, query });
  type Way = { name: string; place: string; givesId?: boolean; send: (element: Json) => ReturnType<typeof send> };
  const requests: Way[] = [
    { name: 'create', place: 'elements[1]', send: (element) => send('POST', '', { elements: [point(1), element] }, item()) },
    {
      name: 'replace',
      place: 'elements[0]',
      send: (element) => send('PUT', `/${annotation}`, { elements: [element, point(1)] }),
    },
    {
      name: 'list',
      place: 'elements[0]',
      send: (element) => send('POST', `/item/${at.item}`, [{ name: 'a' }, { elements: [element] }]),
    },
    { name: 'append', place: 'elements[0]', send: (element) => send('POST', `/${annotation}/elements`, element) },
    {
      name: 'bulk',
      place: 'elements[1]',
      send: (element) => send('PATCH', `/${annotation}/elements`, { put: [point(1), element] }),
    },
    { name: 'put one', place: 'elements[0]', givesId: true, send: (e) => send('PUT', `/${annotation}/elements/${nextId()}`, e) },
    {
      name: 'patch',
      place: `elements/id:${'0'.repeat(18)}`,
      givesId: true,
      send: (value) => send('PATCH', `/${annotation}`, [{ op: 'add', path: `elements/id:${nextId()}`, value }]),
    },
  ];

  it('accepts and refuses them, of all types, as the tables of the format say', async () => {
    const differences: string[] = [];
    const verdicts = { accepted: 0, refused: 0 };
    let number = 0;
    async function judge(type: string, { what: description, member, element }: Mutant): Promise<void> {
      const way = requests[number % requests.length]!;
      number += 1;
      if (way.givesId === true && member === 'id') return;
      // Appended elements stay: ids must be new.
      const { id, ...unnamed } = JSON.parse(JSON.stringify(element)) as Json;
      const wire = member === 'id' ? { ...unnamed, id } : unnamed;
      const expected = oracle({ elements: [wire] }).all;
      const { status, body } = await way.send(wire);
      verdicts[expected ? 'accepted' : 'refused'] += 1;
      const message = String((body as Json | null)?.message);
      const isRight = expected ? status < 300 : status === 400 && message.includes(way.place);
      if (!isRight) differences.push(`${way.name}: ${type}, ${description}: ${status} ${message}`);
    }
    for (const [type, full] of Object.entries(fullElements)) {
      const chosen = mutants(full, Object.keys(full)).filter((_, index) => index % step === 0);
      for (const mutated of chosen) await judge(type, mutated);
    }
    expect(differences).toEqual([]);
    expect(Math.min(verdicts.accepted, verdicts.refused)).toBeGreaterThan(isFull ? 10 : 2);
  });

  it('does not treat control characters as white space', async () => {
    const text = JSON.stringify({ elements: [point(1), point(2)] });
    for (const place of ['[{', '},{', '}]}'] as const) {
      for (const control of ['\v', '\f', '\0', '\u00a0', '\ufeff']) {
        const cut = text.indexOf(place) + 1;
        const body = text.slice(0, cut) + control + text.slice(cut);
        expect(await at.admin.fails('POST', '/annotation', { query: item(), body }), JSON.stringify(body)).toMatchObject({
          status: 400,
        });
      }
    }
    const spaced = text.replaceAll(/[[\]{},:]/g, ' \t\r\n$& \n\r\t');
    expect((await at.admin.send('POST', '/annotation', { query: item(), body: spaced })).status).toBe(200);
  });
});
