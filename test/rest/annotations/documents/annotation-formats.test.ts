import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { pyramid, uploadItem } from '../../../support/images/images.js';
import { until } from '../../../support/run/until.js';
import { fullElements } from '../../../unit/annotation-format/samples.js';

type Json = Record<string, unknown>;
interface Collection {
  features: { geometry: { type: string; coordinates: number[][][] }; properties: Json }[];
}

describe('the conversion of annotations to and from other formats', () => {
  let at: Annotated;
  let shown: string;
  let secret: string;
  beforeAll(async () => {
    at = await startAnnotated({ brand: 'service' });
    shown = await uploadItem(at.admin, at.publicFolder, 'shown.tif', await pyramid(600, 400));
    secret = await uploadItem(at.admin, at.privateFolder, 'secret.tif', await pyramid(300, 200));
    for (const item of [shown, secret]) {
      await until(
        `${item} to be a large image`,
        async () => (await at.admin.ok('GET', `/item/${item}`)).largeImage !== undefined,
      );
    }
  });
  afterAll(() => at?.close());

  const get = (id: string, format: string, as = at.admin) => as.send('GET', `/annotation/${id}/${format}`);
  const overlay = (serviceId: string) => ({ type: 'image', serviceId, transform: { xoffset: 10, yoffset: 20 } });
  const outlines = (body: unknown) => (body as Collection).features.map(({ geometry }) => geometry.coordinates);
  const outline = (width: number, height: number) => [
    [
      [10, 20, 0],
      [10, 20 + height, 0],
      [10 + width, 20 + height, 0],
      [10 + width, 20, 0],
      [10, 20, 0],
    ],
  ];

  it('counts features of GeoJSON that have no shape; a header, which the API description names, says how many', async () => {
    const features = [
      { type: 'Feature', geometry: null, properties: {} },
      { type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: null },
      { type: 'Feature', geometry: { type: 'GeometryCollection', geometries: [] }, properties: {} },
    ];
    const collection = { type: 'FeatureCollection', features };
    const name = 'Large-Image-Skipped-Features';
    const post = (path: string, json: unknown) => at.admin.send('POST', path, { query: { itemId: shown }, json });
    expect((await post('/annotation', collection)).headers.get(name)).toBe('2');
    expect((await post(`/annotation/item/${shown}`, [collection])).headers.get(name)).toBe('2');
    expect((await post('/annotation', { type: 'FeatureCollection', features: [features[1]] })).headers.get(name)).toBeNull();
    const { paths } = (await at.admin.ok('GET', '/describe/openapi.json')) as unknown as {
      paths: Record<string, { post: { responses: Record<string, { headers?: Json }> } }>;
    };
    for (const path of ['/annotation', '/annotation/item/{id}']) {
      expect(paths[path]!.post.responses['200']!.headers).toHaveProperty([name]);
    }
  });

  it.each(['geojson', 'qupath'])('%s restores every element that it exported', async (format) => {
    const more = { label: { value: 'a' }, group: 'g', user: { a: [1] } };
    const elements = Object.values(fullElements).map((element) => ({ ...element, ...more }));
    const overlaid = elements.map((element) => ('serviceId' in element ? { ...element, serviceId: shown } : element));
    const head = { name: 'all', description: 'd', attributes: { a: { b: null } }, display: { visible: false } };
    const annotation = await at.annotate({ ...head, elements: overlaid });
    const exported = await get(annotation._id, format);
    expect(exported.headers.get('content-type')).toMatch(/^application\/json/);
    const back = await at.annotate(exported.body);
    expect(elementsOf(back)).toEqual(elementsOf(annotation));
    expect(back.annotation).toEqual(annotation.annotation);
  });

  it('outlines overlays by the sizes of their images, if the caller can see these', async () => {
    const elements = [overlay(shown), point(1), overlay(secret), overlay(at.item), { ...overlay(shown), transform: {} }];
    const annotation = await at.annotate({ elements });
    const mine = await get(annotation._id, 'geojson');
    expect(outlines(mine.body).slice(0, 4)).toEqual([outline(600, 400), [1, 1, 0], outline(300, 200), [10, 20, 0]]);
    const theirs = await get(annotation._id, 'geojson', at.stranger);
    expect(outlines(theirs.body).slice(0, 4)).toEqual([outline(600, 400), [1, 1, 0], [10, 20, 0], [10, 20, 0]]);
    expect(theirs.headers.get('etag')).not.toBe(mine.headers.get('etag'));
    const headers = { 'If-None-Match': mine.headers.get('etag')! };
    const getGeoJson = () => at.admin.send('GET', `/annotation/${annotation._id}/geojson`, { headers });
    expect((await getGeoJson()).status).toBe(304);
    await at.admin.ok('DELETE', `/item/${secret}/tiles`);
    const changed = await getGeoJson();
    expect([changed.status, outlines(changed.body)[2]]).toEqual([200, [10, 20, 0]]);
  });

  it("imports QuPath's exports, and exports them unchanged", async () => {
    const ring = [
      [100.5, 10],
      [140, 12.25],
      [120, 60],
      [100.5, 10],
    ];
    const feature = (properties: Json, geometry: Json = { type: 'Polygon', coordinates: [ring] }, more: Json = {}) => ({
      type: 'Feature',
      id: '2f1a7d54-6b0e-4b8f-9d0a-2b1b2c3d4e5f',
      geometry,
      ...more,
      properties,
    });
    const measurements = { 'Area µm^2': 812.25, 'Nucleus: Hematoxylin OD mean': 0.431, 'Num Detections': 12 };
    const sent = {
      type: 'FeatureCollection',
      crs: { type: 'name', properties: { name: 'urn:ogc:def:crs:OGC:1.3:CRS84' } },
      bbox: [0, 0, 200, 100],
      features: [
        feature({
          objectType: 'annotation',
          name: 'Region 1',
          classification: { name: 'Tumor', color: [200, 0, 0] },
          isLocked: true,
          measurements,
          metadata: { ANNOTATION_DESCRIPTION: 'found by hand' },
        }),
        feature({ objectType: 'annotation', color: [1, 2, 3] }, { type: 'MultiPolygon', coordinates: [[ring], [ring]] }),
        feature({ objectType: 'cell', measurements }, undefined, { nucleusGeometry: { type: 'Polygon', coordinates: [ring] } }),
        feature({ objectType: 'annotation' }, { type: 'LineString', coordinates: ring }),
        feature(
          { objectType: 'annotation', classification: { names: ['Immune', 'CD3'], color: [0, 0, 255] } },
          { type: 'MultiPoint', coordinates: ring },
        ),
      ],
    };
    const annotation = await at.annotate(sent);
    expect(elementsOf(annotation)).toMatchObject([
      { type: 'polyline', closed: true, group: 'Tumor', lineColor: 'rgb(200, 0, 0)', user: { measurements } },
      { type: 'polyline', lineColor: 'rgb(1, 2, 3)' },
      { type: 'polyline', lineColor: 'rgb(1, 2, 3)' },
      { type: 'polyline', user: { measurements, qupath: { objectType: 'cell' } } },
      { type: 'polyline', closed: false },
      ...ring.map(([x, y]) => ({ type: 'point', center: [x, y, 0], group: 'Immune: CD3', fillColor: 'rgb(0, 0, 255)' })),
    ]);
    const answer = await get(annotation._id, 'qupath');
    const { features } = answer.body as unknown as Collection;
    expect(features[0]).toMatchObject({ properties: sent.features[0]!.properties });
    expect(features[2]).toMatchObject({
      nucleusGeometry: { coordinates: [ring] },
      properties: { objectType: 'cell', measurements },
    });
    expect(features.map(({ geometry }) => geometry.type)).toEqual(sent.features.map(({ geometry }) => geometry.type));
    expect(features[1]).toMatchObject({ id: sent.features[1]!.id, geometry: { coordinates: [[ring], [ring]] } });
    expect(features[4]).toMatchObject({ geometry: { coordinates: ring }, properties: sent.features[4]!.properties });
    const back = await at.annotate(answer.body);
    expect(elementsOf(back)).toEqual(elementsOf(annotation));

    // A part that was changed becomes a separate feature. One of the features keeps the id.
    const [, first, second] = elementsOf(annotation);
    const operation = { op: 'replace', path: `elements/id:${String(second!.id)}/lineColor`, value: 'rgb(9, 9, 9)' };
    await at.admin.ok('PATCH', `/annotation/${annotation._id}`, { json: [operation] });
    const changed = ((await get(annotation._id, 'qupath')).body as unknown as Collection).features;
    expect(changed.slice(1, 3)).toMatchObject([
      { id: sent.features[1]!.id, geometry: { type: 'MultiPolygon' }, properties: { elementIds: [first!.id] } },
      { geometry: { type: 'MultiPolygon' }, properties: { color: [9, 9, 9], elementIds: [second!.id] } },
    ]);
    expect(changed[2]).not.toHaveProperty('id');
  });

  it('writes a feature of many parts as one, with long attributes of the annotation', async () => {
    const polygons = Array.from({ length: 3000 }, (_, i) => [
      Array.from({ length: 20 }, (_point, at) => [i * 10 + at, i + (at % 19) ** 2]).map((position, at, all) =>
        at === 19 ? all[0]! : position,
      ),
    ]);
    const geometry = { type: 'MultiPolygon', coordinates: polygons };
    const feature = { type: 'Feature', id: 'a', geometry, properties: { objectType: 'annotation', name: 'many' } };
    const annotation = await at.annotate({ type: 'FeatureCollection', features: [feature, { ...feature, id: 'b' }] });
    const attributes = { long: 'x'.repeat(100_000) };
    await at.admin.ok('PUT', `/annotation/${annotation._id}`, { json: { name: 'n', attributes } });
    const { features } = (await get(annotation._id, 'qupath')).body as unknown as Collection;
    expect(features.map(({ geometry: { type, coordinates } }) => [type, coordinates.length])).toEqual([
      ['MultiPolygon', 3000],
      ['MultiPolygon', 3000],
    ]);
    expect(features[1]!.geometry.coordinates).toEqual(polygons);
    expect(features[0]!.properties.annotation).toEqual({ name: 'n', attributes });
    expect(features[1]!.properties).not.toHaveProperty('annotation');
  });

  it.each<[string, unknown, RegExp]>([
    ['a feature that is null', { type: 'FeatureCollection', features: [null] }, /GeoJSON feature 0: must be an object, not null/],
    [
      'an unknown geometry in the second feature',
      {
        type: 'FeatureCollection',
        features: [
          { type: 'Point', coordinates: [1, 2] },
          { type: 'Feature', geometry: { type: 'Circle' }, properties: {} },
        ],
      },
      /GeoJSON feature 1: geometry type must be one of Point, .*not "Circle"/,
    ],
    [
      'a feature without a geometry',
      { type: 'Feature', geometry: null, properties: {} },
      /None of the 1 features of the GeoJSON has a shape/,
    ],
    [
      'a collection of geometries',
      {
        type: 'FeatureCollection',
        features: [{ type: 'Feature', geometry: { type: 'GeometryCollection', geometries: [] }, properties: {} }],
      },
      /None of the 1 features of the GeoJSON has a shape/,
    ],
    ['a position with null', { type: 'Point', coordinates: [1, null] }, /position of finite numbers/],
    [
      'another format',
      { type: 'Topology', objects: {} },
      /Additional properties are not allowed \("type", "objects" were unexpected/,
    ],
    ['features in an unknown type of collection', { type: 'Collection', features: [] }, /"type", "features" were unexpected/],
    ['features that are not a list', { type: 'FeatureCollection', features: {} }, /features: must be an array/],
  ])('refuses %s', async (_what, json, message) => {
    const answer = await at.admin.fails('POST', '/annotation', { query: { itemId: at.item }, json });
    expect(answer).toMatchObject({ status: 400, message: expect.stringMatching(message) });
  });
});
