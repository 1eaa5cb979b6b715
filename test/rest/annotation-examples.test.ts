import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, parseCentroids, point, startAnnotated, type Annotated } from '../support/annotated.js';

type Json = Record<string, unknown>;
const prefix = "Validation Error: JSON doesn't follow schema (";

/** Documents that the established implementation was asked to create, and the status it answered. `{item}` is the item. */
const recorded: [name: string, element: Json, status: number][] = [
  ['point.center_list', { type: 'point', center: [] }, 400],
  ['circle.pattern_list', { type: 'circle', center: [10.3, -40, 0], radius: 5.3, lineColor: 'rgb(3, 6, 8)', pattern: [] }, 400],
  [
    'rectanglegrid.center_number',
    { type: 'rectanglegrid', center: 7.5, width: 5.3, height: 17.3, widthSubdivisions: 3, heightSubdivisions: 4 },
    400,
  ],
  ['ellipse.height_null', { type: 'ellipse', center: [3.53, 4.8, 0], width: 15.7, height: null, rotation: 0.34 }, 400],
  ['heatmap.normalizeRange_object', { type: 'heatmap', points: [[10, 20, 0, 1.5]], radius: 20, normalizeRange: {} }, 400],
  ['griddata.colorRange_number', { type: 'griddata', gridWidth: 3, values: [0.5, 0.8, 0.3], colorRange: 7.5 }, 400],
  ['image.transform_number', { type: 'image', girderId: '{item}', opacity: 0.5, transform: 7.5 }, 400],
  [
    'ellipse.width_zero',
    { type: 'ellipse', center: [3.53, 4.8, 0], width: 0, height: 7.1, rotation: 0.34, normal: [0, 0, 1] },
    200,
  ],
  ['label.6', { type: 'point', center: [10.3, -40, 0], label: { value: 'a', fontSize: 0 } }, 400],
  ['heatmap.kw_2', { type: 'heatmap', points: [[1, 2, 3, 'a']], radius: 20 }, 400],
];

describe('recorded answers about annotations', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated();
  });
  afterAll(() => at?.close());

  it.each(recorded)('create: %s', async (_name, element, status) => {
    const json = { name: 'bad', elements: [JSON.parse(JSON.stringify(element).replace('{item}', at.item)) as Json] };
    const answer = await at.admin.send('POST', '/annotation', { query: { itemId: at.item }, json });
    expect(answer.status, answer.bytes.toString()).toBe(status);
    if (status === 400) expect(answer.body).toEqual({ type: 'rest', message: expect.stringContaining(prefix) });
  });

  it('an open polyline: record, centroids, GeoJSON', async () => {
    const points = [
      [5, 6, 0],
      [7.5, 8.25, 0],
    ];
    const { _id } = await at.annotate({ name: 'el polyline_two', elements: [{ type: 'polyline', points, closed: false }] });
    const got = await at.admin.send('GET', `/annotation/${_id}`);
    expect(got.bytes.toString()).toContain('"points":[[5,6,0],[7.5,8.25,0]]');
    const id = String(elementsOf(got.body)[0]!.id);
    expect(got.body).toMatchObject({
      _detailsCount: 2,
      _elementCount: 1,
      groups: [null],
      _elementQuery: { count: 1, details: 2, offset: 0, returned: 1, sort: ['_id', 1] },
    });
    const { json, records } = parseCentroids(await at.admin.send('GET', `/annotation/${_id}`, { query: { centroids: 'true' } }));
    expect(records).toEqual([[id, 6.25, 7.125, expect.closeTo(3.36340594291687, 5), 0]]);
    expect(json._elementQuery).toMatchObject({
      centroids: true,
      details: 1,
      props: [['polyline', 'rgba(0,0,0,0)', 'rgb(0,0,0)', 2, false]],
      propskeys: ['type', 'fillColor', 'lineColor', 'lineWidth', 'closed'],
    });
    expect(await at.admin.ok('GET', `/annotation/${_id}/geojson`)).toEqual({
      type: 'FeatureCollection',
      features: [
        {
          type: 'Feature',
          geometry: { type: 'LineString', coordinates: points },
          properties: { id, type: 'polyline', annotation: { name: 'el polyline_two' } },
        },
      ],
    });
  });

  it('a point: size of its centroid', async () => {
    const { _id } = await at.annotate({ elements: [{ type: 'point', center: [10.3, -40, 0] }] });
    const { records } = parseCentroids(await at.admin.send('GET', `/annotation/${_id}`, { query: { centroids: 'TRUE' } }));
    expect(records[0]!.slice(1)).toEqual([expect.closeTo(10.300000190734863, 5), -40, expect.closeTo(1.4142135381698608, 5), 0]);
  });
});

describe('with the brand of the package', () => {
  it('names the item of overlays serviceId, and knows no other name', async () => {
    const at = await startAnnotated({ brand: 'service' });
    try {
      const schema = JSON.stringify(await at.host.anonymous.ok('GET', '/annotation/schema'));
      expect([schema.includes('serviceId'), schema.includes('girderId')]).toEqual([true, false]);
      const made = await at.annotate({ elements: [{ type: 'image', serviceId: at.item }, point(1)] });
      expect(elementsOf(made)[0]).toMatchObject({ serviceId: at.item });
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
