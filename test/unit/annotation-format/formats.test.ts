import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BadParameterError } from '../../../src/errors.js';
import { rgbOf } from '../../../src/annotation-format/formats/color.js';
import { createGeoJsonReader, geoJsonToAnnotation } from '../../../src/annotation-format/formats/geojson-import.js';
import {
  writeCollectionEnd,
  collectionStart,
  elementToFeature,
  writeFeatures,
  type FeatureWriter,
} from '../../../src/annotation-format/formats/geojson.js';
import { parseWithoutPoints } from '../../../src/annotation-format/formats/points-text.js';
import { elementToQuPathFeature } from '../../../src/annotation-format/formats/qupath.js';
import type { AnnotationElement, AnnotationHead } from '../../../src/annotation-format/schema/document.js';
import { createDocumentValidator } from '../../../src/annotation-format/validate.js';
import { sampleFile } from '../../support/images/data.js';
import { allTypes, anyElement, elementOf } from './arbitraries.js';
import { fullElements } from './samples.js';
import { casesOf } from '../../support/run/sample.js';

type Json = Record<string, unknown>;
const check = createDocumentValidator('service');

function exported(head: AnnotationHead, elements: readonly AnnotationElement[], writeFeature?: FeatureWriter): Json {
  const { text, written } = writeFeatures(
    elements,
    { isEmpty: true, openFeature: null },
    head,
    writeFeature ? { writeFeature } : {},
  );
  return JSON.parse(`${collectionStart}${text}${writeCollectionEnd(written)}`) as Json;
}

/** The value after a round trip through JSON, in which negative zero becomes zero and `undefined` is removed. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const read = (feature: unknown): Json[] => createGeoJsonReader('service').read(feature, 0);
const feature = (geometry: unknown, properties: Json = {}) => ({ type: 'Feature', geometry, properties });
const pointGeometry = { type: 'Point', coordinates: [1, 2] };

describe.each([
  ['GeoJSON', elementToFeature],
  ['QuPath', elementToQuPathFeature],
])('%s', (_name, writeFeature: FeatureWriter) => {
  test.each(allTypes)('restores every %s exactly', (type) => {
    fc.assert(
      fc.property(elementOf(type), fc.option(fc.record({ width: fc.nat(999), height: fc.nat(999) })), (element, overlay) => {
        const back = read(plain(writeFeature(element, overlay)));
        expect(back).toEqual([plain(element)]);
      }),
      { numRuns: casesOf(150) },
    );
  });

  test('restores whole annotations with their head and order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyElement, { minLength: 1, maxLength: 8 }), async (elements) => {
        const head = { name: 'n', description: 'd', attributes: { a: [1] }, display: { visible: true } };
        const back = geoJsonToAnnotation(exported(head, elements, writeFeature), 'service').document;
        expect(back).toEqual(plain({ ...head, elements }));
      }),
    );
  });
});

describe('export', () => {
  test('points that are copied as text make the same text as points that are parsed', () => {
    const written = (elements: readonly AnnotationElement[], options = {}) =>
      writeFeatures(elements, { isEmpty: false, openFeature: null }, {}, options).text;
    const copied = (elements: readonly AnnotationElement[]) => {
      const { elements: rest, pointsOf } = parseWithoutPoints(JSON.stringify(elements));
      return written(rest, { pointsOf });
    };
    fc.assert(
      fc.property(fc.array(anyElement, { maxLength: 8 }), (elements) => {
        expect(copied(elements)).toBe(written(plain(elements)));
      }),
      { numRuns: casesOf(150) },
    );
    const points: [number, number, number][] = [
      [1, 2, 0],
      [3, 4.5, 0],
      [5, 6, 7],
    ];
    const line: AnnotationElement = { type: 'polyline', points, closed: true };
    // The key also occurs in `user`, before and after the element's own key, and in a text.
    const odd = [{ user: { points: [[8]] }, ...line }, { ...line, user: { points: [[8, 9]], text: '"points":[[1]]' } }, line];
    for (const elements of [odd, [line], [{ ...line, closed: false }], [{ ...line, holes: [points] }]]) {
      expect(copied(elements)).toBe(written(elements));
    }
  });

  test('an annotation without elements is an empty collection', async () => {
    expect(exported({ name: 'n' }, [])).toEqual({ type: 'FeatureCollection', features: [] });
  });

  test('an open line is a LineString with the head on the first feature only, as the established implementation sends it', async () => {
    const id = '0123456789abcdef01234567';
    const line: AnnotationElement = {
      type: 'polyline',
      points: [
        [5, 6, 0],
        [7.5, 8.25, 0],
      ],
      closed: false,
      id,
    };
    expect(exported({ name: 'el polyline_two' }, [line, line])).toEqual({
      type: 'FeatureCollection',
      features: [
        feature(
          {
            type: 'LineString',
            coordinates: [
              [5, 6, 0],
              [7.5, 8.25, 0],
            ],
          },
          { id, type: 'polyline', annotation: { name: 'el polyline_two' } },
        ),
        feature(
          {
            type: 'LineString',
            coordinates: [
              [5, 6, 0],
              [7.5, 8.25, 0],
            ],
          },
          { id, type: 'polyline' },
        ),
      ],
    });
  });

  test('circles and rectangles are the corners of their boxes, rotated', () => {
    expect(elementToFeature({ type: 'circle', center: [10, 20, 3], radius: 5, pattern: 'circle' })).toEqual(
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [5, 15, 3],
              [15, 15, 3],
              [15, 25, 3],
              [5, 25, 3],
              [5, 15, 3],
            ],
          ],
        },
        { radius: 5, pattern: 'circle', type: 'circle', annotationType: 'circle' },
      ),
    );
    const turned = elementToFeature({ type: 'rectangle', center: [0, 0, 0], width: 4, height: 2, rotation: Math.PI / 2 });
    const [ring] = turned.geometry.coordinates as number[][][];
    expect(ring?.[0]?.[0]).toBeCloseTo(1);
    expect(ring?.[0]?.[1]).toBeCloseTo(-2);
  });

  test('an overlay is its outline when the size of its image is known', () => {
    const element = fullElements.image as unknown as AnnotationElement;
    expect(elementToFeature(element, { width: 10, height: 20 }).geometry).toMatchObject({ type: 'Polygon' });
    expect(elementToFeature(element).geometry).toEqual({ type: 'Point', coordinates: [1, 2, 0] });
  });
});

describe('import', () => {
  test.each<[string, unknown, Json[]]>([
    ['a bare Point', pointGeometry, [{ type: 'point', center: [1, 2, 0] }]],
    [
      'positions of more than three numbers',
      { type: 'Point', coordinates: [1, 2, 3, 4] },
      [{ type: 'point', center: [1, 2, 3] }],
    ],
    [
      'a MultiPoint',
      {
        type: 'MultiPoint',
        coordinates: [
          [1, 2],
          [3, 4, 5],
        ],
      },
      [
        { type: 'point', center: [1, 2, 0] },
        { type: 'point', center: [3, 4, 5] },
      ],
    ],
    [
      'a LineString',
      {
        type: 'LineString',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      },
      [
        {
          type: 'polyline',
          closed: false,
          points: [
            [1, 2, 0],
            [3, 4, 0],
          ],
        },
      ],
    ],
    [
      'a Polygon with a hole',
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [9, 0],
            [9, 9],
            [0, 0],
          ],
          [
            [1, 1],
            [2, 1],
            [2, 2],
            [1, 1],
          ],
        ],
      },
      [
        {
          type: 'polyline',
          closed: true,
          points: [
            [0, 0, 0],
            [9, 0, 0],
            [9, 9, 0],
          ],
          holes: [
            [
              [1, 1, 0],
              [2, 1, 0],
              [2, 2, 0],
            ],
          ],
        },
      ],
    ],
    [
      'a ring that is not closed, which keeps its last vertex',
      {
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [9, 0],
            [9, 9],
          ],
        ],
      },
      [
        {
          type: 'polyline',
          closed: true,
          points: [
            [0, 0, 0],
            [9, 0, 0],
            [9, 9, 0],
          ],
        },
      ],
    ],
    [
      'an unknown properties.type',
      feature(pointGeometry, { type: 'marker', radius: 5, width: 3, fillColor: '#fff' }),
      [{ type: 'point', center: [1, 2, 0], fillColor: '#fff' }],
    ],
    [
      'properties that the type does not have, nulls and foreign ids',
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [9, 0],
              [9, 9],
              [0, 0],
            ],
          ],
        },
        { width: 3, radius: 5, lineColor: null, id: 'F-7', group: 'g' },
      ),
      [
        {
          type: 'polyline',
          closed: true,
          points: [
            [0, 0, 0],
            [9, 0, 0],
            [9, 9, 0],
          ],
          group: 'g',
        },
      ],
    ],
    [
      'labels that are texts or numbers',
      feature(pointGeometry, { label: 7 }),
      [{ type: 'point', center: [1, 2, 0], label: { value: '7' } }],
    ],
    [
      'an id on several parts, which only the first keeps',
      feature(
        {
          type: 'MultiPoint',
          coordinates: [
            [1, 2],
            [3, 4],
          ],
        },
        { id: 'a'.repeat(24) },
      ),
      [
        { type: 'point', center: [1, 2, 0], id: 'a'.repeat(24) },
        { type: 'point', center: [3, 4, 0] },
      ],
    ],
    [
      'a rectangle by its corners',
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [0, 4],
              [-2, 4],
              [-2, 0],
              [0, 0],
            ],
          ],
        },
        { type: 'rectangle' },
      ),
      [{ type: 'rectangle', center: [-1, 2, 0], width: 4, height: 2, rotation: Math.PI / 2 }],
    ],
    [
      'a rectangle that another program has moved: the geometry decides',
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [100, 0],
              [104, 0],
              [104, 2],
              [100, 2],
              [100, 0],
            ],
          ],
        },
        { type: 'rectangle', width: 8, height: 2, center: [0, 0, 0] },
      ),
      [{ type: 'rectangle', center: [102, 1, 0], width: 4, height: 2, rotation: 0 }],
    ],
    [
      'a circle by its square',
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0, 5],
              [4, 0, 5],
              [4, 4, 5],
              [0, 4, 5],
              [0, 0, 5],
            ],
          ],
        },
        { type: 'circle' },
      ),
      [{ type: 'circle', center: [2, 2, 5], radius: 2 }],
    ],
    [
      'a circle whose outline is not a square, by its geometry',
      feature(
        {
          type: 'Polygon',
          coordinates: [
            [
              [0, 0],
              [4, 0],
              [4, 4],
              [0, 0],
            ],
          ],
        },
        { type: 'circle' },
      ),
      [
        {
          type: 'polyline',
          closed: true,
          points: [
            [0, 0, 0],
            [4, 0, 0],
            [4, 4, 0],
          ],
        },
      ],
    ],
    [
      'a griddata without values, by its geometry',
      feature(pointGeometry, { type: 'griddata' }),
      [{ type: 'point', center: [1, 2, 0] }],
    ],
  ])('%s', (_name, value, expected) => {
    expect(read(value)).toEqual(expected);
    expect(check({ elements: read(value) }).elements).toHaveLength(expected.length);
  });

  test.each<[string, unknown, string]>([
    ['a geometry type of Object.prototype', feature({ type: 'constructor', coordinates: [] }), 'not "constructor"'],
    ['a number', 5, 'feature 1: must be an object, not 5'],
    [
      'too few numbers',
      feature({ type: 'Point', coordinates: [1] }),
      'geometry.coordinates must be a position of 2 or 3 numbers, not [1]',
    ],
    [
      'numbers that overflow',
      feature(JSON.parse('{"type":"Point","coordinates":[1,1e400]}')),
      'position of finite numbers, not [1, Infinity]',
    ],
    ['numeric text', feature({ type: 'Point', coordinates: ['1', 2] }), 'position of finite numbers, not ["1", 2]'],
    ['no coordinates', feature({ type: 'LineString' }), 'geometry.coordinates must be a list of positions, not undefined'],
    [
      'nesting too deep',
      feature({
        type: 'LineString',
        coordinates: [
          [
            [1, 2],
            [3, 4],
          ],
        ],
      }),
      'geometry.coordinates[0] must be a position of finite numbers',
    ],
    [
      'nesting too shallow',
      feature({
        type: 'Polygon',
        coordinates: [
          [1, 2],
          [3, 4],
        ],
      }),
      'geometry.coordinates[0][0] must be a position of 2 or 3 numbers, not 1',
    ],
    [
      'a hole of two vertices',
      feature({
        type: 'Polygon',
        coordinates: [
          [
            [0, 0],
            [9, 0],
            [9, 9],
          ],
          [
            [0, 0],
            [1, 1],
            [0, 0],
          ],
        ],
      }),
      'hole 0 of a polygon must have at least 3 vertices',
    ],
    ['a line of one position', feature({ type: 'LineString', coordinates: [[1, 2]] }), 'a line must have at least 2 positions'],
  ])('%s is refused, naming the feature', (_name, bad, expected) => {
    const run = () => geoJsonToAnnotation([pointGeometry, bad], 'service');
    expect(run).toThrow(BadParameterError);
    expect(run).toThrow(expected);
    expect(run).toThrow(/^GeoJSON feature 1: /);
  });

  test('features without a shape are skipped and counted, and collections are split', () => {
    const point = (x: number) => ({ type: 'Point', coordinates: [x, 1] });
    const ring = [
      [0, 0],
      [9, 0],
      [9, 9],
    ];
    const collection = (...geometries: unknown[]) => ({ type: 'GeometryCollection', geometries });
    const { document, skipped } = geoJsonToAnnotation(
      {
        type: 'FeatureCollection',
        features: [
          { type: 'Feature', geometry: null, properties: { label: 'nowhere' } },
          { type: 'Feature', geometry: point(1), properties: null },
          { type: 'Feature', properties: {} },
          feature({ type: 'Polygon', coordinates: [] }),
          feature({ type: 'Polygon', coordinates: [[]] }),
          feature({
            type: 'MultiLineString',
            coordinates: [
              [],
              [
                [1, 1],
                [2, 2],
              ],
            ],
          }),
          feature({ type: 'Point', coordinates: [] }),
          feature(
            collection(point(2), collection({ type: 'Polygon', coordinates: [ring, []] }), {
              type: 'LineString',
              coordinates: [],
            }),
            {
              id: '0123456789abcdef01234567',
            },
          ),
          feature(collection()),
          collection(point(3)),
        ],
      },
      'service',
    );
    expect(skipped).toBe(6);
    expect(document.elements.map(({ type }) => type)).toEqual(['point', 'polyline', 'point', 'polyline', 'point']);
    expect(document.elements.map(({ id }) => id)).toEqual([
      undefined,
      undefined,
      '0123456789abcdef01234567',
      undefined,
      undefined,
    ]);
  });

  test.each([
    [
      'geometries that are not a list',
      { type: 'GeometryCollection', geometries: 5 },
      'geometries of a collection must be a list, not 5',
    ],
    [
      'collections of values that are not geometries',
      { type: 'GeometryCollection', geometries: [7] },
      'geometry must be an object, not 7',
    ],
    [
      'collections nested too deep',
      Array.from({ length: 20 }).reduce((inner) => ({ type: 'GeometryCollection', geometries: [inner] }), null),
      'collections can be nested at most 16 times',
    ],
  ])('%s are refused', (_name, geometry, message) => {
    expect(() => geoJsonToAnnotation([pointGeometry, feature(geometry)], 'service')).toThrow(`GeoJSON feature 1: ${message}`);
  });

  test('a collection without an element is refused', () => {
    for (const value of [
      { type: 'FeatureCollection', features: [] },
      { type: 'MultiPoint', coordinates: [] },
    ]) {
      expect(() => geoJsonToAnnotation(value, 'service')).toThrow(
        /^(?:The GeoJSON has no features|None of the 1 features of the GeoJSON has a shape)\.$/,
      );
    }
    expect(() => geoJsonToAnnotation({ type: 'FeatureCollection', features: 5 }, 'service')).toThrow(
      'features must be a list, not 5',
    );
  });

  test('the head is gathered from the features, without elements', () => {
    const annotation = { name: 'n', attributes: { a: 1 }, elements: [1], extra: 2 };
    const { document: result } = geoJsonToAnnotation(
      [feature(pointGeometry, { annotation }), feature(pointGeometry, { annotation: { name: 'm' } })],
      'service',
    );
    expect(result).toMatchObject({ name: 'm', attributes: { a: 1 } });
    expect(Object.keys(result)).toEqual(['name', 'attributes', 'elements']);
  });

  test('any JSON is read or refused with a clear error', () => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.record({
        type: fc.constantFrom('Feature', 'FeatureCollection', 'Point', 'Polygon', 'MultiPolygon'),
        geometry: fc.record({ type: fc.constantFrom('Point', 'Polygon', 'LineString'), coordinates: fc.jsonValue() }),
        coordinates: fc.jsonValue(),
        properties: fc.record({
          type: fc.constantFrom(...allTypes),
          values: fc.jsonValue(),
          label: fc.jsonValue(),
          objectType: fc.jsonValue(),
        }),
      }),
    );
    fc.assert(
      fc.property(value, (input) => {
        try {
          geoJsonToAnnotation(input, 'service');
        } catch (error) {
          expect(error).toBeInstanceOf(BadParameterError);
        }
      }),
      { numRuns: casesOf(1000) },
    );
  });

  test('the sample of the established implementation is read, valid, and written as it was', async () => {
    const path = sampleFile('sample.geojson');
    if (path === null) return;
    const sample = JSON.parse(readFileSync(path, 'utf8')) as { features: Json[] };
    const { elements, ...head } = geoJsonToAnnotation(sample, 'service').document;
    expect(elements).toHaveLength(10);
    expect(elements.every(({ type, closed }) => type === 'polyline' && closed === true)).toBe(true);
    const document = check({ ...head, elements });
    expect(head.name).toBe('Detects Nuclei-outputNucleiAnnotationFile-nuclei-boundary');
    expect(exported(head, document.elements ?? [])).toEqual(sample);
  });
});

describe('QuPath', () => {
  const ring = [
    [0, 0],
    [9, 0],
    [9, 9],
    [0, 0],
  ];
  const cell = {
    type: 'Feature',
    id: '2f1a7d54-6b0e-4b8f-9d0a-2b1b2c3d4e5f',
    geometry: { type: 'Polygon', coordinates: [ring], plane: { c: -1, z: 2, t: 0 } },
    nucleusGeometry: {
      type: 'Polygon',
      coordinates: [
        [
          [1, 1],
          [2, 1],
          [2, 2],
          [1, 1],
        ],
      ],
    },
    properties: {
      objectType: 'cell',
      name: 'Cell 7',
      isLocked: true,
      classification: { name: 'Tumor: Positive', color: [200, 0, 10] },
      measurements: { 'Nucleus: Area': 12.5, 'Cell: Area': 40 },
      metadata: { source: 'run 1' },
    },
  };

  test('classification, name, measurements and other properties are imported', () => {
    const [element] = read(cell);
    expect(element).toEqual({
      type: 'polyline',
      closed: true,
      points: [
        [0, 0, 0],
        [9, 0, 0],
        [9, 9, 0],
      ],
      group: 'Tumor: Positive',
      lineColor: 'rgb(200, 0, 10)',
      label: { value: 'Cell 7' },
      user: {
        measurements: { 'Nucleus: Area': 12.5, 'Cell: Area': 40 },
        qupath: {
          objectType: 'cell',
          isLocked: true,
          classification: { name: 'Tumor: Positive', color: [200, 0, 10] },
          metadata: { source: 'run 1' },
          id: cell.id,
          nucleusGeometry: cell.nucleusGeometry,
          plane: { c: -1, z: 2, t: 0 },
        },
      },
    });
    expect(check({ elements: [element] }).elements).toHaveLength(1);
  });

  test("exports QuPath's data unchanged", () => {
    const [element] = read(cell);
    const back = elementToQuPathFeature(element as unknown as AnnotationElement);
    expect(back).toMatchObject({ id: cell.id, nucleusGeometry: cell.nucleusGeometry, properties: cell.properties });
    expect(back.geometry).toMatchObject({
      type: 'Polygon',
      plane: cell.geometry.plane,
      coordinates: [ring],
    });
    expect(back.properties).not.toHaveProperty('user');
    expect(read(plain(back))).toEqual([element]);
    // Values without a member in QuPath still need `user`.
    const more = { ...element, user: { ...(element!.user as Json), note: 'ours' } };
    expect(read(plain(elementToQuPathFeature(more as unknown as AnnotationElement)))).toEqual([more]);
  });

  test('a changed group or color replaces the imported classification', () => {
    const [element] = read(cell);
    const changed = { ...element, group: 'Stroma', lineColor: '#00ff00' } as unknown as AnnotationElement;
    expect(elementToQuPathFeature(changed).properties.classification).toEqual({ name: 'Stroma', color: [0, 255, 0] });
  });

  test('the older form: integer colors, lists of measurements, object names as ids', () => {
    const old = {
      type: 'Feature',
      id: 'PathDetectionObject',
      geometry: { type: 'Point', coordinates: [1, 2] },
      properties: {
        classification: { name: 'A', colorRGB: -65536 },
        isLocked: false,
        measurements: [{ name: 'm', value: 1.5 }, { bad: 1 }],
      },
    };
    expect(read(old)).toMatchObject([
      { type: 'point', group: 'A', lineColor: 'rgb(255, 0, 0)', fillColor: 'rgb(255, 0, 0)', user: { measurements: { m: 1.5 } } },
    ]);
  });

  test('an ellipse is recognized by its flag, and written with its outline', () => {
    const coordinates = [
      Array.from({ length: 97 }, (_, at) => [50 + 40 * Math.cos((at * Math.PI) / 48), 30 + 20 * Math.sin((at * Math.PI) / 48)]),
    ];
    const [element] = read({
      type: 'Feature',
      geometry: { type: 'Polygon', coordinates, isEllipse: true },
      properties: { objectType: 'annotation' },
    });
    expect(element?.type).toBe('ellipse');
    expect(element?.width).toBeCloseTo(80, 6);
    expect(element?.height).toBeCloseTo(40, 6);
    const back = elementToQuPathFeature({ type: 'ellipse', center: [50, 30, 0], width: 80, height: 40 });
    expect(back.geometry).toMatchObject({ isEllipse: true });
    // The average of 96 vertices is not exactly the center, so the center is always written.
    expect(back.properties.center).toEqual([50, 30, 0]);
    expect(back.geometry.coordinates[0]).toHaveLength(97);
    expect(
      elementToQuPathFeature({ type: 'ellipse', center: [0, 0, 0], width: 8, height: 4, rotation: 1 }).geometry,
    ).not.toHaveProperty('isEllipse');
  });

  test('colors are read from every form that annotations allow', () => {
    expect(['#abc', '#abcd', '#0a0B0c', '#0a0b0cff', 'rgb(1, 2, 300)', 'rgba(1,2,3,.5)', 'red'].map(rgbOf)).toEqual([
      [170, 187, 204],
      [170, 187, 204],
      [10, 11, 12],
      [10, 11, 12],
      [1, 2, 255],
      [1, 2, 3],
      null,
    ]);
  });
});

test.each([
  ['circle', 'circle'],
  ['ellipse', 'ellipse'],
  ['rectangle', 'rectangle'],
  ['square', 'rectangle'],
  ['polygon', 'polyline'],
])('a %s of a geojs annotation layer becomes a %s, and geojs recognizes its type in an export', (annotationType, type) => {
  const ring = [[10, 20], [50, 20], [50, 60], [10, 60], [10, 20]]; // prettier-ignore
  const feature = {
    type: 'Feature',
    geometry: { type: 'Polygon', coordinates: [ring] },
    properties: { annotationType, annotationId: 1 },
  };
  const [element] = geoJsonToAnnotation(feature, 'service').document.elements;
  expect(element?.type).toBe(type);
  const { properties } = elementToFeature(element as unknown as AnnotationElement);
  expect(properties.annotationType).toBe(type === 'polyline' ? undefined : type);
});

test('colors and widths of a geojs annotation layer are those of the element', () => {
  const feature = {
    type: 'Feature',
    geometry: { type: 'LineString', coordinates: [[1, 2], [3, 4]] }, // prettier-ignore
    properties: {
      annotationType: 'line',
      fill: false,
      fillColor: '#00ff00',
      strokeColor: '#123456',
      strokeOpacity: 0.25,
      strokeWidth: 3,
    },
  };
  const expected = { fillColor: 'rgba(0, 255, 0, 0.000)', lineColor: 'rgba(18, 52, 86, 0.250)', lineWidth: 3 };
  const { elements } = geoJsonToAnnotation(feature, 'service').document;
  expect(elements).toMatchObject([{ type: 'polyline', ...expected }]);
  expect(check({ elements }).elements).toHaveLength(1);
});
