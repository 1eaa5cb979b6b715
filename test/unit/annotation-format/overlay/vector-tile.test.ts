import { VectorTile as DecodedTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import { describe, expect, it } from 'vitest';
import { VectorTile } from '../../../../src/features/annotations/overlay/draw/vector-tile.js';
import { colorOfGroup } from '../../../../src/features/annotations/overlay/draw/shape.js';
import type { AnnotationElement } from '../../../../src/annotation-format/schema/document.js';

const view = { left: 1024, top: 2048, scale: 4, width: 256, height: 256 };

function decoded(elements: AnnotationElement[], mode: 'element' | 'group' = 'element') {
  const tile = new VectorTile(view);
  for (const element of elements) tile.addElement(element, colorOfGroup(element.group ?? null, { mode, groupColors: new Map() }));
  tile.addDensity({ x: 1536, y: 2560, coverage: 0.25, group: 'g', color: [255, 0, 0, 0.5] });
  return new DecodedTile(new PbfReader(tile.encode()));
}

function geometries(elements: AnnotationElement[]) {
  const layer = decoded(elements).layers.elements;
  return Array.from({ length: layer?.length ?? 0 }, (_, i) => {
    const feature = layer!.feature(i);
    return { type: feature.type, rings: feature.loadGeometry().map((ring) => ring.map(({ x, y }) => [x, y])) };
  });
}

describe('vector tiles', () => {
  it('hold elements with their properties in coordinates of the tile', () => {
    const id = 'a'.repeat(24);
    const layer = decoded([
      {
        type: 'rectangle',
        id,
        center: [1536, 2560, 0],
        width: 512,
        height: 256,
        group: 'tumor',
        label: { value: 'T 1' },
        fillColor: 'rgba(255, 0, 0, 0.25)',
        lineColor: '#00ff00',
        lineWidth: 3,
      },
    ]).layers.elements!;
    expect([layer.version, layer.extent, layer.length]).toEqual([2, 4096, 1]);
    const feature = layer.feature(0);
    expect(feature.properties).toEqual({
      id,
      type: 'rectangle',
      group: 'tumor',
      label: 'T 1',
      fillColor: '#ff0000',
      fillOpacity: 0.25,
      lineColor: '#00ff00',
      lineOpacity: 1,
      lineWidth: 3,
    });
    const [ring] = feature.loadGeometry();
    expect(new Set(ring!.map(({ x, y }) => `${x},${y}`))).toEqual(new Set(['1024,1536', '3072,1536', '3072,2560', '1024,2560']));
  });

  it('turn outer rings clockwise and holes the other way, in whatever order they came', () => {
    const square = (low: number, high: number): [number, number, number][] => [
      [1024 + low, 2048 + low, 0],
      [1024 + high, 2048 + low, 0],
      [1024 + high, 2048 + high, 0],
      [1024 + low, 2048 + high, 0],
    ];
    for (const [outer, hole] of [
      [square(100, 900), square(300, 600)],
      [square(100, 900).toReversed(), square(300, 600)],
    ]) {
      const layer = decoded([{ type: 'polyline', closed: true, points: outer!, holes: [hole!] }]).layers.elements!;
      const geojson = layer.feature(0).toGeoJSON(0, 0, 0).geometry as { type: string; coordinates: unknown[][] };
      // The decoder sorts rings into polygons by their direction.
      expect([geojson.type, geojson.coordinates.length]).toEqual(['Polygon', 2]);
    }
  });

  it('cut shapes a little outside of the tile', () => {
    const [polygon, line] = geometries([
      { type: 'rectangle', center: [1536, 2560, 0], width: 1e6, height: 1e6 },
      {
        type: 'polyline',
        points: [
          [-1e6, 2560, 0],
          [1e6, 2560, 0],
        ],
      },
    ]);
    expect(polygon).toMatchObject({ type: 3 });
    expect(new Set(polygon!.rings.flat(2))).toEqual(new Set([-128, 4224]));
    expect(line).toEqual({
      type: 2,
      rings: [
        [
          [-128, 2048],
          [4224, 2048],
        ],
      ],
    });
  });

  it('keep the last segment of an open line that ends where it begins', () => {
    const corners: [number, number, number][] = [
      [1124, 2148, 0],
      [1524, 2148, 0],
      [1524, 2548, 0],
      [1124, 2148, 0],
    ];
    const [line] = geometries([{ type: 'polyline', points: corners }]);
    expect(line!.rings).toEqual([
      [
        [400, 400],
        [2000, 400],
        [2000, 2000],
        [400, 400],
      ],
    ]);
  });

  it('leave out elements outside the view, or without an outline', () => {
    const image = { type: 'image', serviceId: 'a'.repeat(24) } as AnnotationElement;
    expect(
      geometries([
        { type: 'circle', center: [0, 0, 0], radius: 10 },
        { type: 'point', center: [0, 0, 0] },
        { type: 'heatmap', points: [[1536, 2560, 0, 1]] },
        image,
      ]),
    ).toEqual([]);
  });

  it('hold points, arrows and densities', () => {
    const tile = decoded([
      { type: 'point', center: [1536, 2560, 0], fillColor: '#123456' },
      {
        type: 'arrow',
        points: [
          [1200, 2200, 0],
          [1400, 2400, 0],
        ],
      },
    ]);
    expect([1, 2]).toEqual([0, 1].map((i) => tile.layers.elements!.feature(i).type));
    const density = tile.layers.density!.feature(0);
    expect(density.properties).toEqual({ type: 'density', coverage: 0.25, group: 'g', fillColor: '#ff0000', fillOpacity: 0.5 });
    expect(density.loadGeometry()[0]![0]).toMatchObject({ x: 2048, y: 2048 });
  });

  it('drop vertices that cannot be seen', () => {
    const points = Array.from({ length: 100_000 }, (_, i): [number, number, number] => [
      1500 + 100 * Math.cos(i / 15_915),
      2500 + 100 * Math.sin(i / 15_915),
      0,
    ]);
    const [circle] = geometries([{ type: 'polyline', closed: true, points }]);
    expect(circle!.rings[0]!.length).toBeLessThan(700);
    expect(circle!.rings[0]!.length).toBeGreaterThan(200);
  });
});
