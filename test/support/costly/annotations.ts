import { json, list, mebibyte, repeated, type CostlyRow, type Send } from './place.js';
import type { Sending } from '../hosts/reference-host.js';

/** Vertices of a wavy ring. */
function ring(count: number): string {
  const at = (i: number) => {
    const [angle, radius] = [(i * 2 * Math.PI) / count, 400 + 9 * (i % 7)];
    return `[${(500 + radius * Math.cos(angle)).toFixed(2)},${(500 + radius * Math.sin(angle)).toFixed(2)},0]`;
  };
  return Array.from({ length: count }, (_, i) => at(i)).join();
}

function holes(count: number): string {
  return Array.from({ length: count }, (_, i) => `[[${i % 900},1,0],[${i % 900},5,0],[3,9,0]]`).join();
}

function annotationOf(slide: string, elements: string): Sending {
  return { query: { itemId: slide }, body: `{"name":"a","elements":[${elements}]}`, headers: json };
}

/** Stores elements and requests them in all forms. Returns the first response that is not 200, or the last one. */
function drawn(elements: string): Send {
  return async ({ slide }, send) => {
    let answer = await send('POST', '/annotation', annotationOf(slide, elements));
    const id = String(answer.body._id);
    for (const form of ['/tiles/zxy/0/0/0', '/tiles/mvt/0/0/0', '/geojson', '', '?centroids=true']) {
      if (answer.status !== 200) break;
      answer = await send('GET', `/annotation/${id}${form}`);
    }
    return answer;
  };
}

/** Merges members into the `user` member of an element. */
function mergedInto(members: string): Send {
  return async ({ slide }, send) => {
    const id = '0123456789abcdef01234567';
    const answer = await send('POST', '/annotation', annotationOf(slide, `{"type":"point","id":"${id}","center":[1,2,0]}`));
    const path = `/annotation/${String(answer.body._id)}/elements/${id}`;
    return send('PATCH', path, { body: `{"user":{${members}}}`, headers: json });
  };
}

/** Annotations of every kind, at their limits. */
export const costlyAnnotations: readonly CostlyRow[] = [
  [
    'annotations of which each has as many attributes as it may have',
    200,
    async ({ folder }, send) => {
      const itemId = String((await send('POST', '/item', { query: { folderId: folder, name: 'attributes' } })).body._id);
      const members = Array.from({ length: 9990 }, (_, i) => `"${i.toString(36)}":{}`);
      const body = `{"name":"a","elements":[],"attributes":{${members.join(',')}}}`;
      let answer = await send('POST', '/annotation', { query: { itemId }, body, headers: json });
      for (let i = 0; i < 11 && answer.status === 200; i += 1) {
        answer = await send('POST', '/annotation', { query: { itemId }, body, headers: json });
      }
      if (answer.status === 200) answer = await send('GET', '/annotation', { query: { itemId, limit: 0 } });
      return answer.status === 200 ? send('GET', `/annotation/item/${itemId}`) : answer;
    },
  ],
  [
    'keys of attributes that are not there',
    200,
    ({ annotation }, send) =>
      send('DELETE', `/annotation/${annotation}/metadata`, { body: list('"abcdef"', mebibyte - 100), headers: json }),
  ],
  [
    'a patch whose path is slashes',
    400,
    ({ annotation }, send) =>
      send('PATCH', `/annotation/${annotation}`, { json: [{ op: 'replace', path: `a${'/'.repeat(300_000)}x`, value: 1 }] }),
  ],
  [
    'a polygon of 300,000 points',
    200,
    drawn(`{"type":"polyline","closed":true,"fillColor":"#ff0000","points":[${ring(300_000)}]}`),
  ],
  [
    'a polygon of 20,000 holes',
    200,
    drawn(`{"type":"polyline","closed":true,"points":[[0,0,0],[900,0,0],[900,900,0]],"holes":[${holes(20_000)}]}`),
  ],
  [
    'large shapes over one another',
    200,
    drawn(
      repeated(
        '{"type":"rectangle","center":[500,500,0],"width":900,"height":800,"rotation":0.1,"fillColor":"rgba(255,0,0,0.1)"},',
        100_000,
      ).slice(0, -1),
    ),
  ],
  [
    'a grid of a million values',
    200,
    drawn(
      `{"type":"griddata","gridWidth":1000,"interpretation":"contour","values":[${Array.from({ length: 1_000_000 }, (_, i) => i % 97).join()}]}`,
    ),
  ],
  [
    'a heatmap of 200,000 points',
    200,
    drawn(
      `{"type":"heatmap","radius":40,"points":[${Array.from({ length: 200_000 }, (_, i) => `[${i % 900},${i % 777},0,1]`).join()}]}`,
    ),
  ],
  [
    'points sorted by their labels',
    200,
    async ({ slide }, send) => {
      const points = Array.from(
        { length: 100_000 },
        (_, i) => `{"type":"point","center":[${i % 999},${i % 777},0],"label":{"value":"${(i * 7919) % 99991}"}}`,
      );
      const answer = await send('POST', '/annotation', annotationOf(slide, points.join()));
      return send('GET', `/annotation/${String(answer.body._id)}`, { query: { sort: 'label.value', limit: 0 } });
    },
  ],
  [
    'points whose ids come in no order, of groups of which no two are alike',
    200,
    drawn(
      Array.from({ length: 60_000 }, (_, i) => {
        const id = ((i * 7919) % 100_003).toString(16).padStart(24, '0');
        return `{"type":"point","id":"${id}","group":"g${i}","center":[${i % 999},${i % 777},0]}`;
      }).join(),
    ),
  ],
  [
    'more groups than there may be',
    400,
    ({ slide }, send) => {
      const points = Array.from({ length: 70_000 }, (_, i) => `{"type":"point","group":"g${i}","center":[1,2,0]}`);
      return send('POST', '/annotation', annotationOf(slide, points.join()));
    },
  ],
  [
    'points of one feature',
    200,
    ({ slide }, send) => {
      const geometry = `{"type":"MultiPoint","coordinates":[${repeated('[1,2],', 1_000_000).slice(0, -1)}]}`;
      const body = `{"type":"FeatureCollection","features":[{"type":"Feature","properties":{},"geometry":${geometry}}]}`;
      return send('POST', '/annotation', { query: { itemId: slide }, body, headers: json });
    },
  ],
  [
    'a bare geometry that is long',
    200,
    ({ slide }, send) =>
      send('POST', '/annotation', {
        query: { itemId: slide },
        body: `{"type":"LineString","coordinates":[${repeated('[1,2],', 1_000_000).slice(0, -1)}]}`,
        headers: json,
      }),
  ],
  [
    'an element with many user fields',
    400,
    drawn(`{"type":"point","center":[1,2,0],"user":{${Array.from({ length: 300_000 }, (_, i) => `"k${i}":[]`).join()}}}`),
  ],
  [
    'annotations without end',
    400,
    ({ slide }, send) => send('POST', `/annotation/item/${slide}`, { body: list('{}', 8_000_000), headers: json }),
  ],
  [
    'elements without end',
    400,
    ({ slide }, send) => send('POST', '/annotation', annotationOf(slide, list('{}', 8_000_000).slice(1, -1))),
  ],
  [
    'attributes of four megabytes',
    413,
    ({ slide }, send) =>
      send('POST', '/annotation', {
        query: { itemId: slide },
        body: `{"name":"a","attributes":{"a":${list('1', 4_000_000)}}}`,
        headers: json,
      }),
  ],
  [
    'a patch that walks deep very often',
    400,
    ({ annotation }, send) => {
      const operation = { op: 'replace', path: `/attributes/${'a/'.repeat(59)}a`, value: 1 };
      return send('PATCH', `/annotation/${annotation}`, { json: Array.from({ length: 19_000 }, () => operation) });
    },
  ],
  [
    'elements to be removed that are not there',
    200,
    async ({ slide }, send) => {
      const ids = Array.from({ length: 300_000 }, (_, i) => `"${(i * 7919 + 1).toString(16).padStart(24, '0')}"`);
      const answer = await send('POST', '/annotation', annotationOf(slide, `{"type":"point","center":[1,2,0]}`));
      const body = `{"remove":[${ids.join()}]}`;
      return send('PATCH', `/annotation/${String(answer.body._id)}/elements`, { body, headers: json });
    },
  ],
  ['members of an element without end', 400, mergedInto(Array.from({ length: 600_000 }, (_, i) => `"k${i}":1`).join())],
  [
    'members of an element in many objects',
    400,
    mergedInto(Array.from({ length: 99_000 }, (_, i) => `"k${i}":{"a":1,"b":{"c":1,"d":2}}`).join()),
  ],
  [
    'a body of one object with many members',
    400,
    ({ annotation }, send) => {
      const members = Array.from({ length: 600_000 }, (_, i) => `"k${i}":1`);
      return send('PATCH', `/annotation/${annotation}/elements`, { body: `{${members.join()}}`, headers: json });
    },
  ],
];
