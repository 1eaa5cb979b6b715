import type { ArrayImage, AxisName } from './arrays.js';
import { shapeOf } from './arrays.js';
import type { Measurements } from './measure.js';
import type { ZarrNode, ZarrNodes } from './nodes.js';

const axisTypes: Readonly<Record<AxisName, string>> = { t: 'time', c: 'channel', z: 'space', y: 'space', x: 'space' };

/** Metadata of the arrays of an image, for its own group and for the groups of its labels. */
export function multiscaleMetadata(
  { axes, levels, metadata: { mmX, mmY, mmZ, secondsT } }: ArrayImage,
  name: string | null,
): Record<string, unknown> {
  const micrometers: Partial<Record<AxisName, number | null>> = {
    x: mmX && mmX * 1000,
    y: mmY && mmY * 1000,
    z: mmZ && mmZ * 1000,
  };
  return {
    ...(name !== null && { name }),
    axes: axes.map((axis) => ({
      name: axis,
      type: axisTypes[axis],
      ...(micrometers[axis] != null && { unit: 'micrometer' }),
      ...(axis === 't' && secondsT !== undefined && { unit: 'second' }),
    })),
    datasets: levels.map((_, level) => ({
      path: String(level),
      coordinateTransformations: [
        {
          type: 'scale',
          scale: axes.map((axis) => {
            const step = (axis === 't' ? secondsT : micrometers[axis]) ?? 1;
            return axis === 'x' || axis === 'y' ? 2 ** level * step : step;
          }),
        },
      ],
    })),
  };
}

/** Length of a chunk along each axis of an array. */
export function chunkShapeOf({ axes, chunkSide }: Pick<ArrayImage, 'axes' | 'chunkSide'>): number[] {
  return axes.map((axis) => (axis === 'y' || axis === 'x' ? chunkSide : 1));
}

/** The group of an image and its arrays. */
export function imageNodes(image: ArrayImage, { omero, codec }: Measurements, name: string): ZarrNodes {
  const { axes, metadata } = image;
  const nodes = new Map<string, ZarrNode>();
  nodes.set('', { kind: 'group', ome: { multiscales: [multiscaleMetadata(image, name)], omero } });
  for (const level of image.levels.keys()) {
    nodes.set(String(level), {
      kind: 'array',
      shape: shapeOf(image, level),
      chunkShape: chunkShapeOf(image),
      axes,
      dtype: metadata.dtype,
      codec,
    });
  }
  return nodes;
}
